// SPDX-License-Identifier: MIT
//
// A machine from its start to its end, and running: a run puts a function and its arguments on top
// of the stack, below a place where HALT waits for the result, and goes from step to step until
// that is reached or something failed.

#include "machine.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CHUNK = 4096, FIRST_CHUNK_SMALL = 64, NURSERY_SMALL = 4096, BASE_SLOTS = 5 };

#define NAME(name, ...) #name,
const char *const fble_opcode_names[FBLE_OPCODE_COUNT] = {FBLE_OPCODES(NAME)};
#undef NAME

// Not those that only serve the machine or the profile.
const uint8_t fble_counts[FBLE_OPCODE_COUNT] = {
    [FBLE_OP_MOVE] = 1,       [FBLE_OP_CONST] = 1,     [FBLE_OP_GLOBAL] = 1,
    [FBLE_OP_SET_GLOBAL] = 1, [FBLE_OP_CAPTURE] = 1,   [FBLE_OP_FIELD] = 1,
    [FBLE_OP_FIELD_ONLY] = 1, [FBLE_OP_STRUCT] = 1,    [FBLE_OP_STRUCT_ONE] = 1,
    [FBLE_OP_UNION] = 1,      [FBLE_OP_CELL] = 1,      [FBLE_OP_PAYLOAD] = 1,
    [FBLE_OP_COPY] = 1,       [FBLE_OP_SWITCH] = 1,    [FBLE_OP_JUMP] = 1,
    [FBLE_OP_RETURN] = 1,     [FBLE_OP_CALL] = 1,      [FBLE_OP_CALL_CODE] = 1,
    [FBLE_OP_TAIL] = 1,       [FBLE_OP_TAIL_CODE] = 1, [FBLE_OP_FUNC] = 1,
    [FBLE_OP_FUNC_ALLOC] = 1, [FBLE_OP_FUNC_FILL] = 1, [FBLE_OP_PLACEHOLDER] = 1,
    [FBLE_OP_RESOLVE] = 1,    [FBLE_OP_FOREIGN] = 1,   [FBLE_OP_LIST] = 1,
    [FBLE_OP_LITERAL] = 1,    [FBLE_OP_HEAP] = 1,      [FBLE_OP_NATIVE] = 1,
};

static const struct fble_site halt_site;
static uint64_t halt[4];

__attribute__((constructor)) static void make_halt(void) {
    halt[0] = fble_return_word(FBLE_FP_SELF, 0, 0);
    halt[1] = fble_pointer(&halt_site);
    halt[2] = (uint64_t)(uintptr_t)fble_interpret;
    halt[3] = FBLE_OP_HALT;
}

#define NO_METRIC UINT32_MAX // of no profile, so that counting it does nothing

// Which loop: the plain one, the one for the usual profile, or the one for everything.
static void choose_loop(struct fble_machine *m) {
    m->interpret = fble_interpret_plain;
#ifndef FBLE_NO_PROFILE
    if (m->profile) {
        bool usual = m->metric_instructions == 0 && m->period == 1 &&
                     m->metric_objects == NO_METRIC && m->metric_bytes == NO_METRIC;
        m->interpret = usual ? fble_interpret_profiled : fble_interpret_metered;
        m->stepwise = !usual;
    }
#endif
}

fble_machine *fble_machine_new(const fble_machine_options *options) {
    static const fble_machine_options none;
    if (!options) options = &none;
    struct fble_machine *m = fble_take(sizeof *m);
    *m = (struct fble_machine){.profile = options->profile,
                               .period = options->period ? options->period : 1,
                               .metric_instructions = options->instructions - 1,
                               .metric_objects = options->objects - 1,
                               .metric_bytes = options->bytes - 1,
                               .nursery_size = options->nursery,
                               .step = options->collect_after,
                               .slice = options->slice,
                               .first_chunk = FIRST_CHUNK};
    m->last_ready = &m->ready;
    if (m->step) {
        m->first_chunk = FIRST_CHUNK_SMALL;
        m->nursery_size = NURSERY_SMALL;
    }
    fble_heap_start(m);
    choose_loop(m);
    ouro_aside_start(&m->aside);
    m->main_thread = fble_thread_new(m, m->first_chunk);
    m->main_thread->profile = ouro_thread_new(m->profile);
    ouro_thread_watch(m->main_thread->profile, &m->here);
    fble_set_running(m, m->main_thread);
    m->fp = m->thread->fp;
    m->site = m->thread->site;
    m->stack_limit = m->thread->chunk->limit;
    fble_register_std(m);
    fble_register_threads(m, "/Std/Io/Thread%");
    return m;
}

void fble_machine_free(fble_machine *m) {
    while (m->threads) fble_thread_free(m, m->threads);
    fble_heap_end(m);
    for (size_t i = 0; i < m->natives.count; i++) {
        free(((struct fble_native_code *)m->natives.at[i])->site);
        free(m->natives.at[i]);
    }
    for (size_t i = 0; i < m->foreign.count; i++) free(m->foreign.at[i]);
    for (size_t i = 0; i < m->link_blocks.count; i++) free(m->link_blocks.at[i]);
    free(m->link_blocks.at);
    free(m->natives.at);
    free(m->foreign.at);
    free(m->codes.at);
    free(m->slice_blocks.at);
    free(m->scratch);
    free(m->error);
    free(m);
}

// The oldest frame's token is good for all of them.
static void leave_all(struct fble_thread *t) {
    uint64_t *oldest = t->fp;
    for (struct fble_frame frame = {t->fp, NULL}; fble_frame_next(&frame);)
        if (frame.site != &halt_site) oldest = frame.fp;
    ouro_exit(t->profile, ouro_here_position(t->profile, fble_caller_here(oldest)));
}

// After an error nothing of the stacks is needed.
static void unwind(struct fble_machine *m) {
    while (m->threads != m->main_thread || m->main_thread->older)
        fble_thread_free(m, m->threads != m->main_thread ? m->threads : m->main_thread->older);
    struct fble_thread *t = m->main_thread;
    if (m->thread == t) t->fp = m->fp;
    if (t->profile) leave_all(t);
    fble_stack_free(m, t);
    fble_stack_start(m, t, m->first_chunk);
    m->ready = NULL;
    m->last_ready = &m->ready;
    m->slice_open = false; // in the profile it stays open
    fble_set_running(m, t);
    m->fp = t->fp;
    m->site = t->site;
    fble_set_stack_limit(m, t->chunk->limit);
    m->runs = 0;
}

// Runs within runs are on the C stack; each takes up to 16 kB of it.
enum { DEEPEST_RUN = 400 };

// The frame that waits for HALT. Above the frame of a native, if one asks for the run.
static uint64_t *base_frame(struct fble_machine *m) {
    if (!m->runs) return m->fp;
    const struct fble_object *self = fble_object(m->fp[FBLE_FP_SELF]);
    const struct fble_native_code *native =
        (const struct fble_native_code *)(uintptr_t)self->words[0];
    uint64_t *base = m->fp + native->code.frame_slots;
    base[FBLE_FP_RETURN] = fble_pointer(native->words + 6);
    base[FBLE_FP_CALLER] = fble_pointer(m->fp);
    return base;
}

// From step to step. What a step gets is no root while it runs.
static void go(struct fble_machine *m) {
    for (fble_any_step step = m->interpret(m); step;) {
        fble_value a = m->value;
        m->value = 0;
        step = ((fble_step *)step)(m, m->fp, m->hp, a, m->second, m->third);
    }
}

fble_value fble_run(struct fble_machine *m, fble_value function, const fble_value *arguments,
                    uint32_t count) {
    if (m->runs == DEEPEST_RUN) {
        fble_fail_native(m, "functions in C have called back %d levels deep", DEEPEST_RUN);
        return 0;
    }
    uint64_t *outer_fp = m->fp, *base = base_frame(m), *callee = base + BASE_SLOTS;
    const uint64_t *outer_pc = m->pc;
    const struct fble_site *outer_site = m->site;
    callee[FBLE_FP_RETURN] = fble_pointer(halt + 3);
    callee[FBLE_FP_CALLER] = fble_pointer(base);
    if (m->profile) base[FBLE_FP_HERE] = fble_pointer(ouro_thread_here(m->recorder));
    callee[FBLE_FP_SELF] = function;
    callee[FBLE_FP_ARGS] = (fble_value)count << 1 | 1;
    if (count) memcpy(callee + FBLE_FP_ARGS + 1, arguments, 8 * (size_t)count);
    m->fp = callee;
    m->pc = fble_rests[FBLE_BY_CALL] + FBLE_REST_PC;
    m->runs++;
    go(m);
    if (m->failed) {
        if (m->runs == 1)
            unwind(m);
        else
            m->runs--;
        return 0;
    }
    m->runs--;
    fble_value result = m->value;
    m->value = 0;
    m->fp = outer_fp;
    m->pc = outer_pc;
    m->site = outer_site;
    return result;
}

void fble_interrupt(fble_machine *machine) {
    machine->interrupted = 1;
    machine->stack_limit = NULL;
}
