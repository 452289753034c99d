// SPDX-License-Identifier: MIT
//
// Slices by calls: every call of some functions is a slice of the profile. Calls and returns that
// have nothing to do with it pay nothing.
//
// A call is noticed where its call site does not know it, and for these functions none ever does:
// sites learn another key than the one that they ask for. A return is noticed by the trick of
// stack.c: the frame returns through a stub, to SLICE_END. The slice is that of the frame. What the
// function tail-calls is part of it; a tail call of the function itself begins the next slice. A
// call from a frame above belongs to the slice that is open, and so does a call of another green
// thread meanwhile.

#include "compiled.h"

#include <string.h>

static fble_step at_slice_end;

void fble_slice_blocks(struct fble_machine *m, ouro_block first, const ouro_block_info *infos,
                       uint32_t count) {
    if (!m->slice || !first) return;
    for (uint32_t i = 0; i < count; i++)
        if (!strcmp(infos[i].name, m->slice))
            fble_vector_add(&m->slice_blocks, (void *)(uintptr_t)(first + i));
}

static const uint64_t *real_of(const uint64_t *stub_pc) {
    return (const uint64_t *)(uintptr_t)stub_pc[FBLE_STUB_REAL - FBLE_STUB_PC];
}

// Is it the frame whose return ends the slice that is open? Other stubs may come before.
static bool ends_here(const struct fble_machine *m, const uint64_t *fp) {
    const uint64_t *pc = (const uint64_t *)(uintptr_t)fp[FBLE_FP_RETURN];
    while (fble_op(*pc) == FBLE_OP_UNDERFLOW || fble_op(*pc) == FBLE_OP_BARRIER) pc = real_of(pc);
    return pc == m->slice_stub + FBLE_STUB_PC;
}

// The barrier is the first of all stubs.
static void watch_return(struct fble_machine *m, uint64_t *fp) {
    bool barrier = m->thread->barrier_fp == fp;
    if (barrier) fble_barrier_clear(m->thread);
    fble_make_stub(m->slice_stub, (const uint64_t *)(uintptr_t)fp[FBLE_FP_RETURN],
                   FBLE_OP_SLICE_END, at_slice_end);
    fp[FBLE_FP_RETURN] = fble_pointer(m->slice_stub + FBLE_STUB_PC);
    if (barrier) fble_barrier_set(m->thread, fp);
}

void fble_slice_call(struct fble_machine *m, uint64_t *fp) {
    if (m->slice_open && !ends_here(m, fp)) return;
    if (!m->slice_open) watch_return(m, fp);
    m->slice_open = true;
    m->slices++;
    ouro_slice(m->recorder);
}

const uint64_t *fble_slice_end(struct fble_machine *m) {
    m->slice_open = false;
    ouro_slice_stop(m->recorder);
    return (const uint64_t *)(uintptr_t)m->slice_stub[FBLE_STUB_REAL];
}

// For compiled code. The frame that returned may be in a chunk that is gone: see at_underflow.
static fble_any_step at_slice_end(FBLE_STEP_PARAMETERS) {
    uint64_t *caller = FBLE_CALLER_OF(fp);
    const uint64_t *real = fble_slice_end(m);
    if (fble_op(*real) == FBLE_OP_COMPILED) fp = caller + fble_return_frame(real);
    FBLE_JUMP(fble_return_step(real), fp, hp, a, fble_pointer(real), c);
    (void)b;
}

ouro_key fble_call_key(struct fble_machine *m, uint64_t *fp, const struct fble_code *code) {
    if (!fble_is_sliced(m, code->block)) return fble_key(code);
    fble_slice_call(m, fp);
    return fble_key(code) + 2; // 1 is taken, see calls.c
}

ouro_here *fble_enter_miss(struct fble_machine *m, uint64_t *fp, ouro_here *here, ouro_site site,
                           const struct fble_code *code) {
    ouro_key key = fble_call_key(m, fp, code);
    const ouro_here *found = ouro_site_find(here, site, key);
    if (found) return ouro_site_follow(found, 0);
    ouro_here *to = ouro_site_recall(m->recorder, here, key);
    return to ? to : ouro_site_search(m->recorder, here, site, key, code->block);
}

// What the command line asks for goes before what the program says.
void fble_slice(fble_machine *m) {
    if (m->slice) return;
    m->slices++;
    ouro_slice(m->recorder);
}

void fble_slice_stop(fble_machine *m) {
    if (!m->slice) ouro_slice_stop(m->recorder);
}
