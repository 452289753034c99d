// SPDX-License-Identifier: MIT
//
// Streams of events: little-endian words of 32 bits, the operation in the top two bits, its
// argument below. This is the format of the recorded trace, and the adversarial streams are made in
// it as well, so that one loop replays them all.

#ifndef BENCH_STREAM_H
#define BENCH_STREAM_H

#include <ouro.h>

#include <stddef.h>
#include <stdint.h>

enum { OP_ENTER = 0, OP_REPLACE = 1, OP_EXIT = 2, OP_SAMPLE = 3, OP_SHIFT = 30 };
#define ARGUMENT_MASK ((UINT32_C(1) << OP_SHIFT) - 1)
#define FRESH_THREAD 1 // argument of OP_EXIT: the thread begins again at the root

typedef struct {
    uint32_t *words;
    size_t count;
    uint32_t blocks; // arguments of enter and replace are below this
    size_t depth;    // the most tokens that are open at once
} stream;

// A trace, unpacked, from standard input.
stream stream_read(void);

// A random walk through a chain of 24 diamonds: at each, one of two blocks leads to the next. There
// are 2^24 paths, and no walk predicts the next.
stream stream_diamonds(uint64_t walks);

// The square-free word of three letters, nested `depth` deep and left again: a recursion in which
// nothing is repeated at once, so `cycles` can compact nothing.
stream stream_word(uint64_t depth);

void stream_free(stream *events);

// Replays a stream from and to depth 0. `first` is the id of block 0. `tokens` has room for
// events->depth tokens.
void replay_record(ouro_thread *thread, const stream *events, ouro_block first,
                   ouro_position *tokens);

// The same loop without the recorder: the cost of reading the stream.
void replay_decode(ouro_thread *thread, const stream *events, ouro_block first,
                   ouro_position *tokens);

#endif
