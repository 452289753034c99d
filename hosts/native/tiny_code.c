// SPDX-License-Identifier: MIT
//
// A walk over all ways through a function: a loop is a way to an instruction that the walk stands
// in. The code of a function ends where the next one begins; to leave it is a tail call, which no
// tiny function makes. When the walk leaves an instruction, it knows the longest way from there.

#include "tiny_code.h"

#include "instruction.h"

enum { PADDING_MOST = 15, BYTES_MOST = TINY_CODE_BYTES + PADDING_MOST };
enum { NEW, OPEN, DONE };

typedef struct {
    const tiny_code *function;
    tiny_find *find; // NULL: it may not call
    const void *user;
    unsigned char state[BYTES_MOST]; // of the instruction that begins at a byte
    uint32_t steps[BYTES_MOST];      // from there to the end, if it is done
    struct {
        size_t at, next[2];
        unsigned char left;    // of the two
        uint32_t steps, after; // its own, with its callee's; the most that follow
    } way[BYTES_MOST];
    size_t depth;
} walk;

static uint32_t steps_of(const tiny_code *function, tiny_find *find, const void *user);

// 0: it is not one that may be called.
static uint32_t steps_of_callee(const walk *w, size_t to) {
    tiny_code callee;
    if (!w->find || !w->find(w->user, w->function->address + to, &callee)) return 0;
    return steps_of(&callee, NULL, NULL);
}

static void note_steps(walk *w, uint32_t steps) {
    if (w->depth && w->way[w->depth - 1].after < steps) w->way[w->depth - 1].after = steps;
}

// False: it is no instruction of a tiny function.
static bool enter(walk *w, size_t at) {
    const tiny_code *f = w->function;
    if (at >= f->size || w->state[at] == OPEN) return false;
    if (w->state[at] == DONE) return note_steps(w, w->steps[at]), true;
    instruction i = ouro_native_instruction(f->code + at, f->size - at);
    size_t after = at + i.size, to = after + (size_t)(ptrdiff_t)i.distance;
    bool calls = i.kind == INSTRUCTION_CALL;
    uint32_t callee = calls ? steps_of_callee(w, to) : 0;
    if (i.kind == INSTRUCTION_UNKNOWN || (calls && !callee)) return false;
    w->state[at] = OPEN;
    w->way[w->depth].at = at;
    w->way[w->depth].left = i.kind == INSTRUCTION_BRANCH ? 2 : i.kind != INSTRUCTION_END;
    w->way[w->depth].next[0] = calls || i.kind == INSTRUCTION_PLAIN ? after : to;
    w->way[w->depth].next[1] = after;
    w->way[w->depth].steps = 1 + callee;
    w->way[w->depth].after = 0;
    w->depth++;
    return true;
}

static void leave(walk *w) {
    size_t top = --w->depth, at = w->way[top].at;
    w->state[at] = DONE;
    w->steps[at] = w->way[top].steps + w->way[top].after;
    note_steps(w, w->steps[at]);
}

static bool is_straight(walk *w) {
    if (!enter(w, 0)) return false;
    while (w->depth) {
        size_t top = w->depth - 1;
        if (!w->way[top].left)
            leave(w);
        else if (!enter(w, w->way[top].next[--w->way[top].left]))
            return false;
    }
    return true;
}

// Code that is not optimised keeps %rbp; nobody asks what a call costs there.
static bool is_plain(const unsigned char *code) { return !memcmp(code, "\x55\x48\x89\xe5", 4); }

// Of the longest way through a function that is straight and short. Else 0.
static uint32_t steps_of(const tiny_code *function, tiny_find *find, const void *user) {
    tiny_code f = *function;
    if (f.size > LANDING_BYTES && is_landing(f.code + f.size - LANDING_BYTES))
        f.size -= LANDING_BYTES; // of the next one
    if (f.size < 4 || f.size > BYTES_MOST || is_plain(f.code)) return 0;
    walk w = {.function = &f, .find = find, .user = user};
    return is_straight(&w) ? w.steps[0] : 0;
}

bool ouro_native_is_tiny(const tiny_code *function, tiny_find *find, const void *user) {
    uint32_t steps = steps_of(function, find, user);
    return steps > 0 && steps <= TINY_CODE_STEPS;
}

bool ouro_native_is_sled(const unsigned char *code) {
    return !memcmp(code, "\x90\x90\x90\x90\x90", SLED_BYTES) ||
           !memcmp(code, "\x0f\x1f\x44\x00", SLED_BYTES - 1);
}
