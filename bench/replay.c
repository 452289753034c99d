// SPDX-License-Identifier: MIT
//
// Replaying a stream: one loop, compiled twice, with the recorder and without. Alone in its file,
// so that each is one function with one symbol, which `callgrind --toggle-collect` can name. Both
// keep the tokens in the same array; no field of the thread stays in a register between events.

#include "stream.h"

#include "support.h"

static inline __attribute__((always_inline)) void replay(ouro_thread *thread, const stream *events,
                                                         ouro_block first, ouro_position *tokens,
                                                         bool record) {
    size_t depth = 0;
    const uint32_t *end = events->words + events->count;
    for (const uint32_t *word = events->words; word < end; word++) {
        uint32_t argument = *word & ARGUMENT_MASK, token = argument + first;
        BARRIER(thread);
        switch (*word >> OP_SHIFT) {
        case OP_ENTER:
            if (record) token = ouro_enter(thread, token);
            tokens[depth++] = token;
            break;
        case OP_REPLACE:
            OPAQUE(token);
            if (record) ouro_replace(thread, token);
            break;
        case OP_EXIT:
            // A thread that begins again first leaves all its open blocks.
            do {
                if (depth == 0) break;
                token = tokens[--depth];
                OPAQUE(token);
                if (record) ouro_exit(thread, token);
            } while (argument == FRESH_THREAD);
            break;
        case OP_SAMPLE:
            OPAQUE(argument);
            if (record) ouro_sample(thread, argument);
            break;
        }
    }
}

void replay_record(ouro_thread *thread, const stream *events, ouro_block first,
                   ouro_position *tokens) {
    replay(thread, events, first, tokens, true);
}

void replay_decode(ouro_thread *thread, const stream *events, ouro_block first,
                   ouro_position *tokens) {
    replay(thread, events, first, tokens, false);
}
