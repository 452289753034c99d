// SPDX-License-Identifier: MIT
//
// A walk over all ways through a function: a loop is a way to an instruction that the walk stands
// in. The code of a function ends where the next one begins; to leave it is a tail call.

#include "tiny_code.h"

#include "instruction.h"

enum { PADDING_MOST = 15, BYTES_MOST = TINY_CODE_BYTES + PADDING_MOST };
enum { NEW, OPEN, DONE };

typedef struct {
    const unsigned char *code;
    size_t size;
    unsigned char state[BYTES_MOST]; // of the instruction that begins at a byte
    struct {
        size_t at, next[2];
        unsigned char left; // of the two
    } way[BYTES_MOST];
    size_t depth;
} walk;

// False: it is no instruction of a tiny function.
static bool enter(walk *w, size_t at) {
    if (at >= w->size || w->state[at] == OPEN) return false;
    if (w->state[at] == DONE) return true;
    instruction i = ouro_native_instruction(w->code + at, w->size - at);
    size_t after = at + i.size, to = after + (size_t)(ptrdiff_t)i.distance;
    if (i.kind == INSTRUCTION_UNKNOWN) return false;
    w->state[at] = OPEN;
    w->way[w->depth].at = at;
    w->way[w->depth].left = i.kind == INSTRUCTION_BRANCH ? 2 : i.kind != INSTRUCTION_END;
    w->way[w->depth].next[0] = i.kind == INSTRUCTION_PLAIN ? after : to;
    w->way[w->depth].next[1] = after;
    w->depth++;
    return true;
}

static bool is_straight(walk *w) {
    if (!enter(w, 0)) return false;
    while (w->depth) {
        size_t top = w->depth - 1;
        if (!w->way[top].left) {
            w->state[w->way[top].at] = DONE;
            w->depth--;
        } else if (!enter(w, w->way[top].next[--w->way[top].left])) {
            return false;
        }
    }
    return true;
}

// Code that is not optimised keeps %rbp; nobody asks what a call costs there.
static bool is_plain(const unsigned char *code) { return !memcmp(code, "\x55\x48\x89\xe5", 4); }

bool ouro_native_is_tiny(const unsigned char *code, size_t size) {
    if (size > LANDING_BYTES && is_landing(code + size - LANDING_BYTES))
        size -= LANDING_BYTES; // of the next one
    if (size < 4 || size > BYTES_MOST || is_plain(code)) return false;
    walk w = {.code = code, .size = size};
    return is_straight(&w);
}

bool ouro_native_is_sled(const unsigned char *code) {
    return !memcmp(code, "\x90\x90\x90\x90\x90", SLED_BYTES) ||
           !memcmp(code, "\x0f\x1f\x44\x00", SLED_BYTES - 1);
}
