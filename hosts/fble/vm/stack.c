// SPDX-License-Identifier: MIT
//
// Stacks of green threads. A stack is a list of chunks, so it grows without moving, and is as deep
// as there is memory. The first frame of a chunk returns through the chunk's stub, which has the
// words of the real return pc before it but the instruction UNDERFLOW at it: so results go where
// they belong, the collector and error messages see the real site, and only the instruction knows.
//
// The same trick makes the barrier: after a collection one frame returns through its thread's stub
// to BARRIER. As long as that does not run, nothing below that frame has run either, so nothing
// there can refer to the nursery.

#include "compiled.h"

#include <stdlib.h>
#include <string.h>

enum {
    LARGEST_CHUNK = 1 << 15, // slots, unless one frame needs more
    BARRIER_STEP = 32,       // frames that the barrier goes down at a time
};

static const struct fble_site end_site;
static fble_step at_underflow, at_barrier;

// No return pc, but the words before one: the bottom of a stack.
static uint64_t bottom[5];

__attribute__((constructor)) static void make_bottom(void) { bottom[1] = fble_pointer(&end_site); }

void fble_make_stub(uint64_t *stub, const uint64_t *real, unsigned op, fble_step *step) {
    stub[0] = real[-3];
    stub[1] = real[-2];
    stub[2] = (uint64_t)(uintptr_t)step;
    stub[FBLE_STUB_PC] = fble_instruction(op, 0, 0, 0, 0);
    stub[FBLE_STUB_REAL] = fble_pointer(real);
}

static size_t chunk_bytes(const struct fble_stack_chunk *chunk) {
    return 8 * (size_t)(chunk->limit - chunk->slots);
}

static struct fble_stack_chunk *chunk_new(size_t slots) {
    size_t all = slots + FBLE_STACK_RESERVE;
    struct fble_stack_chunk *chunk = fble_take(sizeof *chunk + 8 * all);
    chunk->older = NULL;
    chunk->limit = chunk->slots + slots;
    chunk->end = chunk->slots + all;
    return chunk;
}

void fble_stack_start(struct fble_machine *machine, struct fble_thread *thread, size_t slots) {
    thread->chunk = chunk_new(slots);
    thread->fp = thread->chunk->slots;
    thread->fp[FBLE_FP_RETURN] = fble_pointer(bottom + FBLE_STUB_PC);
    thread->fp[FBLE_FP_CALLER] = 0;
    thread->site = &end_site;
    thread->pc = NULL;
    machine->stack_bytes += chunk_bytes(thread->chunk);
}

void fble_stack_free(struct fble_machine *machine, struct fble_thread *thread) {
    for (struct fble_stack_chunk *older, *c = thread->chunk; c; c = older) {
        older = c->older;
        machine->stack_bytes -= chunk_bytes(c);
        free(c);
    }
    free(thread->spare);
    thread->chunk = thread->spare = NULL;
    thread->barrier_fp = NULL;
}

static struct fble_stack_chunk *next_chunk(struct fble_machine *m, struct fble_thread *t,
                                           size_t slots) {
    size_t usual = 2 * (size_t)(t->chunk->limit - t->chunk->slots);
    if (usual > LARGEST_CHUNK) usual = LARGEST_CHUNK;
    if (m->step) usual = m->first_chunk; // measuring: small ones
    struct fble_stack_chunk *spare = t->spare;
    t->spare = NULL;
    if (spare && (size_t)(spare->limit - spare->slots) >= slots) return spare;
    free(spare);
    return chunk_new(slots > usual ? slots : usual);
}

void fble_stack_grow(struct fble_machine *m, uint32_t used, uint32_t slots) {
    struct fble_thread *t = m->thread;
    struct fble_stack_chunk *chunk = next_chunk(m, t, slots);
    bool barrier = t->barrier_fp == m->fp;
    if (barrier) fble_barrier_clear(t);
    memcpy(chunk->slots, m->fp, 8 * (size_t)used);
    fble_make_stub(chunk->stub, (const uint64_t *)(uintptr_t)m->fp[FBLE_FP_RETURN],
                   FBLE_OP_UNDERFLOW, at_underflow);
    chunk->slots[FBLE_FP_RETURN] = fble_pointer(chunk->stub + FBLE_STUB_PC);
    if (barrier) fble_barrier_set(t, chunk->slots);
    chunk->older = t->chunk;
    t->chunk = chunk;
    m->fp = chunk->slots;
    fble_set_stack_limit(m, chunk->limit);
    m->stack_bytes += chunk_bytes(chunk);
}

// One chunk is kept, for a program that goes up and down just there.
const uint64_t *fble_stack_underflow(struct fble_machine *m) {
    struct fble_thread *t = m->thread;
    struct fble_stack_chunk *chunk = t->chunk;
    const uint64_t *real = (const uint64_t *)(uintptr_t)chunk->stub[FBLE_STUB_REAL];
    t->chunk = chunk->older;
    m->stack_bytes -= chunk_bytes(chunk);
    free(t->spare);
    t->spare = chunk;
    if (m->step) {
        free(chunk);
        t->spare = NULL;
    }
    fble_set_stack_limit(m, t->chunk->limit);
    return real;
}

void fble_barrier_clear(struct fble_thread *thread) {
    if (thread->barrier_fp) thread->barrier_fp[FBLE_FP_RETURN] = thread->barrier[FBLE_STUB_REAL];
    thread->barrier_fp = NULL;
}

void fble_barrier_set(struct fble_thread *thread, uint64_t *fp) {
    const uint64_t *real = (const uint64_t *)(uintptr_t)fp[FBLE_FP_RETURN];
    if (fble_site_of(real) == &end_site) return;
    fble_make_stub(thread->barrier, real, FBLE_OP_BARRIER, at_barrier);
    fp[FBLE_FP_RETURN] = fble_pointer(thread->barrier + FBLE_STUB_PC);
    thread->barrier_fp = fp;
}

// The frame at m->fp has just been returned to.
const uint64_t *fble_stack_barrier(struct fble_machine *m) {
    struct fble_thread *t = m->thread;
    const uint64_t *real = (const uint64_t *)(uintptr_t)t->barrier[FBLE_STUB_REAL];
    struct fble_frame frame = {m->fp, NULL};
    t->barrier_fp = NULL;
    for (int i = 0; i < BARRIER_STEP && fble_frame_next(&frame);) i++;
    fble_barrier_set(t, frame.fp);
    return real;
}

// For compiled code: the real step goes on. It finds its frame either from the one that returned,
// or by its caller (compiled.h); that frame's chunk is gone, so another stands for it.
static fble_any_step at_underflow(FBLE_STEP_PARAMETERS) {
    uint64_t *caller = FBLE_CALLER_OF(fp);
    const uint64_t *real = fble_stack_underflow(m);
    m->underflow_frame[FBLE_FP_CALLER] = fble_pointer(caller);
    fp = fble_op(*real) == FBLE_OP_COMPILED ? caller + fble_return_frame(real) : m->underflow_frame;
    FBLE_JUMP(fble_return_step(real), fp, hp, a, fble_pointer(real), c);
    (void)b;
}

static fble_any_step at_barrier(FBLE_STEP_PARAMETERS) {
    m->fp = FBLE_CALLER_OF(fp);
    const uint64_t *real = fble_stack_barrier(m);
    FBLE_JUMP(fble_return_step(real), fp, hp, a, fble_pointer(real), c);
    (void)b;
}

bool fble_frame_next(struct fble_frame *frame) {
    const uint64_t *pc = (const uint64_t *)(uintptr_t)frame->fp[FBLE_FP_RETURN];
    const struct fble_site *site = fble_site_of(pc);
    if (site == &end_site) return false;
    frame->site = site;
    frame->fp = (uint64_t *)(uintptr_t)frame->fp[FBLE_FP_CALLER];
    return true;
}
