// SPDX-License-Identifier: MIT
//
// The streams of stream.h. Memory is allocated once, as large as needed, so that it does not move
// under a measurement.

#include "stream.h"

#include "support.h"

#include <stdio.h>
#include <stdlib.h>

enum { DIAMONDS = 24, READ_FIRST = 1 << 20 };

static void emit(stream *events, uint32_t op, uint32_t argument) {
    events->words[events->count++] = op << OP_SHIFT | argument;
}

// Sets `blocks` and `depth`, and checks that no exit is without its enter.
static void survey(stream *events) {
    size_t depth = 0;
    for (size_t i = 0; i < events->count; i++) {
        uint32_t op = events->words[i] >> OP_SHIFT, argument = events->words[i] & ARGUMENT_MASK;
        if (op <= OP_REPLACE && argument >= events->blocks) events->blocks = argument + 1;
        if (op == OP_ENTER && ++depth > events->depth) events->depth = depth;
        if (op != OP_EXIT) continue;
        if (argument == FRESH_THREAD) {
            depth = 0;
        } else if (depth-- == 0) {
            bench_fail("reading the trace: an exit without an enter");
        }
    }
}

stream stream_read(void) {
    stream events = {0};
    size_t room = READ_FIRST, n;
    events.words = bench_alloc(room * sizeof *events.words);
    while ((n = fread(events.words + events.count, sizeof *events.words, room - events.count,
                      stdin)) > 0) {
        events.count += n;
        if (events.count < room) continue;
        room *= 2;
        events.words = realloc(events.words, room * sizeof *events.words);
        if (!events.words) bench_fail("realloc");
    }
    if (events.count == 0) bench_fail("reading the trace");
    survey(&events);
    return events;
}

// Block 3i is the head of diamond i, 3i + 1 and 3i + 2 are its sides.
stream stream_diamonds(uint64_t walks) {
    stream events = {.blocks = 3 * DIAMONDS, .depth = 2 * DIAMONDS};
    events.words = bench_alloc(walks * (4 * DIAMONDS + 1) * sizeof *events.words);
    uint64_t state = 1;
    for (uint64_t walk = 0; walk < walks; walk++) {
        uint64_t sides = bench_random(&state);
        for (uint32_t i = 0; i < DIAMONDS; i++) {
            emit(&events, OP_ENTER, 3 * i);
            emit(&events, OP_ENTER, 3 * i + 1 + (sides >> i & 1));
        }
        emit(&events, OP_SAMPLE, 1);
        for (uint32_t i = 0; i < 2 * DIAMONDS; i++) emit(&events, OP_EXIT, 0);
    }
    return events;
}

static uint32_t parity(uint64_t n) { return (uint32_t)__builtin_popcountll(n) & 1; }

// Thue: the differences of neighbours in the Thue-Morse word, as letters 0, 1 and 2.
stream stream_word(uint64_t depth) {
    stream events = {.blocks = 3, .depth = depth};
    events.words = bench_alloc(2 * depth * sizeof *events.words);
    for (uint64_t i = 0; i < depth; i++) emit(&events, OP_ENTER, 1 + parity(i + 1) - parity(i));
    for (uint64_t i = 0; i < depth; i++) emit(&events, OP_EXIT, 0);
    return events;
}

void stream_free(stream *events) { free(events->words); }
