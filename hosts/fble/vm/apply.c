// SPDX-License-Identifier: MIT
//
// Calls that are not plain: of partial applications, with too few or too many arguments, of
// placeholders, or with too little room on the stack. The interpreter puts the callee into fp[2]
// and the arguments from fp[4] on, of a frame of its own (a call) or of the frame that ends (a tail
// call), and asks here what to do.
//
// Arguments that are too many wait in a frame that belongs to no function: fp[4] is their number,
// as an immediate, and they follow. The callee runs above it and returns to REST, which applies
// the result to them as a tail call. Such a frame does not show in profiles: after a plain call the
// function that was returned is entered from the caller (REST_ENTER), after a tail call it
// replaces the function that made it (REST_TAIL).
//
// A tail call with too few arguments that would return to such a frame takes the arguments that
// wait there, so the partial application is never made.
//
// Also here: what happens when a recursive let is done.

#include "compiled.h"

#include <string.h>

const uint64_t fble_resume_code[] = {FBLE_OP_RESUME};
const uint64_t fble_apply_code[] = {FBLE_OP_APPLY};

static const struct fble_site rest_site = {.slots = FBLE_SITE_REST};
static const struct fble_site args_site = {.slots = FBLE_SITE_ARGS};

// The result goes to fp[2], where it is about to be called.
uint64_t fble_rests[2][FBLE_REST_PC + 1];

static void make_rest(uint64_t *rest, fble_step *step, unsigned op) {
    rest[0] = fble_return_word(FBLE_FP_SELF, 0, 0);
    rest[1] = fble_pointer(&rest_site);
    rest[2] = (uint64_t)(uintptr_t)step;
    rest[FBLE_REST_PC] = op;
}

__attribute__((constructor)) static void make_rests(void) {
    make_rest(fble_rests[FBLE_BY_CALL], fble_rest_enter, FBLE_OP_REST_ENTER);
    make_rest(fble_rests[FBLE_BY_TAIL], fble_rest_tail, FBLE_OP_REST_TAIL);
}

static fble_value *scratch(struct fble_machine *m, uint32_t count) {
    if (m->scratch_size < count) {
        m->scratch = fble_take_more(m->scratch, 8 * (size_t)count);
        m->scratch_size = count;
    }
    return m->scratch;
}

static void need_slots(struct fble_machine *m, uint32_t used, uint32_t slots) {
    if (m->fp + slots > m->thread->chunk->end) fble_stack_grow(m, used, slots);
}

// The arguments of a partial application come before the others.
static void unfold_partial(struct fble_machine *m, struct fble_object *partial) {
    uint32_t more = fble_count(partial->header) - 1, n = m->argument_count;
    need_slots(m, FBLE_FP_ARGS + n, FBLE_FP_ARGS + n + more);
    memmove(m->fp + FBLE_FP_ARGS + more, m->fp + FBLE_FP_ARGS, 8 * (size_t)n);
    memcpy(m->fp + FBLE_FP_ARGS, partial->words + 1, 8 * (size_t)more);
    m->fp[FBLE_FP_SELF] = partial->words[0];
    m->argument_count = n + more;
}

static void make_partial(struct fble_machine *m) {
    uint32_t n = m->argument_count;
    m->site = &args_site;
    fble_reserve(m, 8 * (size_t)(n + 2));
    struct fble_object *partial = fble_new(m, FBLE_HEADER(FBLE_PARTIAL, 0, n + 1));
    partial->words[0] = m->fp[FBLE_FP_SELF];
    memcpy(partial->words + 1, m->fp + FBLE_FP_ARGS, 8 * (size_t)n);
    m->value = fble_pointer(partial);
}

static void leave_rest(struct fble_machine *m, uint32_t arity, enum fble_entering how) {
    uint32_t n = m->argument_count, rest = n - arity;
    uint32_t frame = FBLE_FP_ARGS + 1 + rest;
    need_slots(m, FBLE_FP_ARGS + n, frame + FBLE_FP_ARGS + arity);
    fble_value function = m->fp[FBLE_FP_SELF], *arguments = scratch(m, n);
    memcpy(arguments, m->fp + FBLE_FP_ARGS, 8 * (size_t)n);
    m->fp[FBLE_FP_ARGS] = (fble_value)rest << 1 | 1;
    memcpy(m->fp + FBLE_FP_ARGS + 1, arguments + arity, 8 * (size_t)rest);
    uint64_t *callee = m->fp + frame;
    callee[FBLE_FP_RETURN] = fble_pointer(fble_rests[how] + FBLE_REST_PC);
    callee[FBLE_FP_CALLER] = fble_pointer(m->fp);
    callee[FBLE_FP_SELF] = function;
    memcpy(callee + FBLE_FP_ARGS, arguments, 8 * (size_t)arity);
    m->fp = callee;
    m->argument_count = arity;
}

static bool arguments_wait(const struct fble_machine *m) {
    return fble_site_of((const uint64_t *)(uintptr_t)m->fp[FBLE_FP_RETURN]) == &rest_site;
}

// The frame at fp is left, as by a return, for the one where arguments wait.
static const uint64_t *leave_frame(struct fble_machine *m) {
    const uint64_t *pc = (const uint64_t *)(uintptr_t)m->fp[FBLE_FP_RETURN];
    if (m->recorder) {
        ouro_here_leave(ouro_thread_here(m->recorder));
        ouro_thread_stand(m->recorder, fble_caller_here(m->fp));
    }
    m->fp = (uint64_t *)(uintptr_t)m->fp[FBLE_FP_CALLER];
    for (;;) {
        if (fble_op(*pc) == FBLE_OP_UNDERFLOW)
            pc = fble_stack_underflow(m);
        else if (fble_op(*pc) == FBLE_OP_BARRIER)
            pc = fble_stack_barrier(m);
        else if (fble_op(*pc) == FBLE_OP_SLICE_END)
            pc = fble_slice_end(m);
        else
            return pc;
    }
}

// The arguments so far come before those that wait. Gives how these are to be applied.
static enum fble_entering take_waiting(struct fble_machine *m) {
    uint32_t n = m->argument_count;
    fble_value function = m->fp[FBLE_FP_SELF], *arguments = scratch(m, n);
    memcpy(arguments, m->fp + FBLE_FP_ARGS, 8 * (size_t)n);
    m->pc = leave_frame(m);
    uint32_t rest = (uint32_t)(m->fp[FBLE_FP_ARGS] >> 1);
    need_slots(m, FBLE_FP_ARGS + 1 + rest, FBLE_FP_ARGS + n + rest);
    memmove(m->fp + FBLE_FP_ARGS + n, m->fp + FBLE_FP_ARGS + 1, 8 * (size_t)rest);
    memcpy(m->fp + FBLE_FP_ARGS, arguments, 8 * (size_t)n);
    m->fp[FBLE_FP_SELF] = function;
    m->argument_count = n + rest;
    return m->pc == fble_rests[FBLE_BY_CALL] + FBLE_REST_PC ? FBLE_BY_CALL : FBLE_BY_TAIL;
}

static bool enter(struct fble_machine *m, const struct fble_object *function,
                  enum fble_entering how) {
    const struct fble_code *code = (const struct fble_code *)(uintptr_t)function->words[0];
    if (m->fp + code->frame_slots > m->stack_limit)
        fble_stack_grow(m, FBLE_FP_ARGS + m->argument_count, code->frame_slots);
    m->applied = code;
    m->entering = how;
    return true;
}

static void fail_call(struct fble_machine *m, enum fble_entering how) {
    static const char text[] = "the function is not there yet: its let is being evaluated";
    if (how == FBLE_BY_CALL)
        fble_fail_native(m, "%s", text);
    else
        fble_fail_here(m, "%s", text);
}

bool fble_apply_args(struct fble_machine *m, enum fble_entering how) {
    if (m->interrupted) {
        fble_fail_native(m, "interrupted");
        return false;
    }
    for (;;) {
        fble_value function = m->fp[FBLE_FP_SELF] = fble_force(m->fp[FBLE_FP_SELF]);
        struct fble_object *object = fble_object(function);
        if (fble_kind(object->header) == FBLE_PARTIAL) {
            unfold_partial(m, object);
            continue;
        }
        if (fble_kind(object->header) != FBLE_CLOSURE) {
            fail_call(m, how);
            return false;
        }
        uint32_t arity = fble_tag(object->header);
        if (arity == m->argument_count) return enter(m, object, how);
        if (arity > m->argument_count && how == FBLE_BY_TAIL && arguments_wait(m)) {
            how = take_waiting(m);
            continue;
        }
        if (arity > m->argument_count) {
            make_partial(m);
            m->entering = how;
            return false;
        }
        leave_rest(m, arity, how);
        how = FBLE_BY_CALL;
    }
}

// Follows aliases among the variables of one let. Their placeholders hold their numbers from 1 on,
// as immediates, and those of the lets around this one FBLE_NOT_YET, which looks like the number 0.
// Returns 0 if the aliases form a cycle.
static fble_value follow(const fble_value *values, uint32_t count, fble_value value) {
    for (uint32_t steps = 0; steps <= count; steps++) {
        if (!fble_is_placeholder(value) || fble_object(value)->words[0] == FBLE_NOT_YET)
            return value;
        value = values[(fble_object(value)->words[0] >> 1) - 1];
    }
    return 0;
}

// The list has count pairs: the slot of a placeholder, and the slot of what it stands for.
bool fble_resolve(struct fble_machine *m, uint64_t *fp, const uint16_t *list, uint32_t count,
                  uint32_t *vacuous) {
    fble_value *values = scratch(m, count);
    for (uint32_t i = 0; i < count; i++) values[i] = fble_force(fp[list[2 * i + 1]]);
    for (uint32_t i = 0; i < count; i++)
        fble_object(fp[list[2 * i]])->words[0] = (fble_value)(i + 1) << 1 | 1;
    for (uint32_t i = count; i-- > 0;) {
        fble_value value = follow(values, count, values[i]);
        if (!value) {
            *vacuous = i;
            return false;
        }
        values[i] = value;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct fble_object *placeholder = fble_object(fp[list[2 * i]]);
        placeholder->words[0] = fp[list[2 * i + 1]] = values[i];
        fble_changed(m, placeholder);
    }
    return true;
}
