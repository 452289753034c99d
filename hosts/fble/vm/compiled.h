// SPDX-License-Identifier: MIT
//
// What C that was made from Fble is written in, and the runtime's part of it (compiled.c).
//
// Steps. Each function of Fble becomes one step for its beginning and one for what comes after each
// call; a step ends by jumping to another, so the C stack never grows. With an attribute musttail
// the compiler promises that. gcc of today does it under most flags but does not promise, so it is
// only relied on where FBLE_DIRECT says that the flags are good (fble compile looks at them).
// Everywhere else a step returns its successor to the trampoline in machine.c.
//
// A step calls nothing that comes back, but in rare cases: what is slow is jumped to and jumps back
// to the beginning of the step. So values stay in registers and steps have no prologue.
//
// Slots. Within a step, slot 5 is the local s5; it is stored to fp[5] where a call or the collector
// needs it, and loaded from there where it is first used.
//
// Profiles. With FBLE_PROFILED the same text records calls and instructions; fble compile makes
// both versions, and the program uses one or the other. See the host's bench page for why. Then `c`
// of every step is the thread's place. A step charges all it has run at its end, in one addition.
// Each call site has a way (ouro.h) of its own; if that does not fit, the step of the slow path
// finds most in one table of ways for all sites, before it asks the library.

#ifndef FBLE_VM_COMPILED_H
#define FBLE_VM_COMPILED_H

#if defined(__has_attribute)
#if __has_attribute(musttail)
#define FBLE_MUSTTAIL __attribute__((musttail))
#endif
#endif
#if !defined(FBLE_MUSTTAIL) && defined(FBLE_DIRECT) && defined(__OPTIMIZE__)
#pragma GCC optimize("optimize-sibling-calls")
#define FBLE_MUSTTAIL
#endif

#include "machine.h"

#define FBLE_STEP_PARAMETERS \
    struct fble_machine *m, uint64_t *fp, char *hp, fble_value a, fble_value b, fble_value c

#ifdef FBLE_MUSTTAIL
#define FBLE_JUMP(step, fp, hp, a, b, c) FBLE_MUSTTAIL return (step)(m, fp, hp, a, b, c)
#else
#define FBLE_JUMP(step, fp, hp, a, b, c) \
    return fble_bounce(m, fp, hp, a, b, c, (fble_any_step)(step))
static inline fble_any_step fble_bounce(FBLE_STEP_PARAMETERS, fble_any_step step) {
    m->fp = fp;
    m->hp = hp;
    m->value = a;
    m->second = b;
    m->third = c;
    return step;
}
#endif

#define FBLE_LIKELY(x) __builtin_expect(!!(x), 1)
#define FBLE_RARELY(x) __builtin_expect(!!(x), 0)

// Symbols are called as the functions are in Fble, for debuggers and perf.
#ifdef __clang__
#define FBLE_SYMBOL(text) __asm__(text)
#else
#define FBLE_SYMBOL(text) __asm__("\"" text "\"")
#endif
#define FBLE_STEP(name, symbol) static fble_any_step name(FBLE_STEP_PARAMETERS) FBLE_SYMBOL(symbol)

// ---------------------------------------------------------------- tables

#define FBLE_COMPILED_FORMAT 3

// The words around a return pc, which is the address of `op`.
struct fble_return {
    uint64_t word;
    const struct fble_site *site;
    fble_step *step;
    uint64_t op;
};

// The same, of a code's start.
struct fble_entry {
    struct fble_return words;
    const struct fble_code *code;
};

#define FBLE_RETURN_WORDS(dst, slots, site, step) \
    { (uint64_t)(dst) | (uint64_t)(slots) << 16, site, step, FBLE_OP_COMPILED }
#define FBLE_ENTRY_WORDS(code) \
    { {0, 0, fble_enter_compiled, FBLE_OP_COMPILED}, code }

struct fble_compiled_module {
    const char *path, *source; // and the hash of what it was made from
    struct fble_code *codes;   // the first evaluates the module
    uint32_t code_count, block_count;
    const ouro_block_info *blocks;
    ouro_block *first_block;
    ouro_ways *ways; // of code that records
    struct fble_foreign_use *foreign;
    const uint32_t *foreign_labels;
    fble_value *globals; // the first is the module's value
    uint32_t foreign_count, global_count;
};

// A program or library: the modules in the order of dependence, the last of a program is its main
// one; a second list has them with FBLE_PROFILED, or is NULL.
struct fble_compiled {
    uint32_t format, count;
    const struct fble_compiled_module *const *modules, *const *profiled;
    bool evaluates;  // a program that only evaluates its main module
    bool all_blocks; // profiles have blocks of lets and branches
};

// The name of that in a shared object.
#define FBLE_COMPILED_LIBRARY "fble_compiled_library"

#ifdef FBLE_PROFILED
#define FBLE_NAME(name) name##_profiled
#else
#define FBLE_NAME(name) name
#endif

// ---------------------------------------------------------------- compiled.c

// Adds a module to the machine; it is evaluated by running its first code. False: a foreign value
// failed.
bool fble_compiled_load(struct fble_machine *machine, const struct fble_compiled_module *module);
FBLE_API int fble_compiled_main(int argc, char **argv, const struct fble_compiled *program);

// Steps. fble_enter_compiled is what the interpreter goes to, for a pc with a code behind it.
fble_step fble_enter_compiled, fble_enter_native;
fble_step fble_rest_enter, fble_rest_tail;
// More stack for machine->applied, then enters it.
fble_step fble_more_stack;
// Collects with the site `a`, then jumps to step `b` with slots from number c & 0xffff on as its
// arguments and fp + (c >> 16 & 0xffff) as its frame; c >> 32 is how many bytes it needs.
fble_step fble_collect_step;
// Applies as fble_apply_args does, a arguments; b is a place for errors of a tail call.
fble_step fble_call_slowly, fble_tail_slowly;
// Records entering machine->applied, and enters it.
fble_step fble_enter_slowly, fble_replace_slowly;
// Returns `a` from a frame, and records that.
fble_step fble_return_slowly;
// Fails with message a (enum fble_failure) at the place b.
fble_step fble_fail_step;

enum fble_failure {
    FBLE_NO_STRUCT,
    FBLE_NO_SELECT,
    FBLE_NO_COPY,
    FBLE_WRONG_TAG,
    FBLE_NO_FOREIGN,
};

// Functions that come back.
char *fble_collect_now(struct fble_machine *m, uint64_t *fp, char *hp, const struct fble_site *site,
                       size_t bytes);
bool fble_resolve_now(struct fble_machine *m, uint64_t *fp, const uint16_t *list, uint32_t count,
                      const uint64_t *place);
uint64_t fble_block_enter(struct fble_machine *m, char *hp, ouro_block block, ouro_way *way);
void fble_block_exit(struct fble_machine *m, char *hp, uint64_t token);
// `c` of a step, in code that records; and for the thread to know it.
ouro_place fble_place(const struct fble_machine *m);
static inline void fble_publish(struct fble_machine *m, fble_value c) {
    if (m->recorder) ouro_thread_move(m->recorder, c);
}
void fble_block_replace(struct fble_machine *m, char *hp, ouro_block block, ouro_way *way);

// ---------------------------------------------------------------- instructions

#define FBLE_WORD(value, i) (fble_object(value)->words[i])
#define FBLE_SHAPE_OF(value) (fble_object(value)->header & FBLE_SHAPE_MASK)

// The instructions up to here, which the step has not charged yet, are charged first.
#define FBLE_FAIL(failure, place, charge, more)                         \
    do {                                                                \
        FBLE_CHARGE(charge);                                            \
        FBLE_PUBLISH;                                                   \
        FBLE_JUMP(fble_fail_step, fp, hp, failure, fble_pointer(place), \
                  (fble_value)(uintptr_t)(more));                       \
    } while (0)

// A new object at hp, its header written; the words are the caller's to write.
#define FBLE_NEW(value, head)                \
    do {                                     \
        (value) = (fble_value)(uintptr_t)hp; \
        fble_object(value)->header = (head); \
        hp += fble_object_bytes(head);       \
    } while (0)

// The struct must be one: a placeholder is seen through for good.
#define FBLE_NEED_STRUCT(value, place, charge)                                   \
    do {                                                                         \
        if (FBLE_RARELY(fble_kind(fble_object(value)->header) != FBLE_STRUCT)) { \
            (value) = fble_force(value);                                         \
            if (fble_kind(fble_object(value)->header) != FBLE_STRUCT)            \
                FBLE_FAIL(FBLE_NO_STRUCT, place, charge, 0);                     \
        }                                                                        \
    } while (0)

#define FBLE_FIELD_ONLY(to, value, place, charge)                                     \
    do {                                                                              \
        (to) = (value);                                                               \
        if (!fble_is_immediate(to)) {                                                 \
            (to) = fble_force(to);                                                    \
            if (fble_is_placeholder(to)) FBLE_FAIL(FBLE_NO_STRUCT, place, charge, 0); \
            if (!fble_is_immediate(to)) (to) = FBLE_WORD(to, 0);                      \
        }                                                                             \
    } while (0)

#define FBLE_STRUCT_ONE(to, value)                        \
    do {                                                  \
        fble_value only_ = (value);                       \
        if (!fble_is_immediate(only_)) {                  \
            FBLE_NEW(to, FBLE_HEADER(FBLE_STRUCT, 0, 1)); \
            FBLE_WORD(to, 0) = only_;                     \
        } else {                                          \
            (to) = only_;                                 \
        }                                                 \
    } while (0)

#define FBLE_MAKE_UNION(to, value, tag, bits)                \
    do {                                                     \
        fble_value payload_ = (value);                       \
        if (FBLE_LIKELY(fble_wraps(payload_, bits))) {       \
            (to) = fble_wrap_immediate(payload_, tag, bits); \
        } else {                                             \
            FBLE_NEW(to, FBLE_HEADER(FBLE_UNION, tag, 1));   \
            FBLE_WORD(to, 0) = payload_;                     \
        }                                                    \
    } while (0)

// What is in a union whose tag is known to be right.
static inline fble_value fble_payload(fble_value value, unsigned bits) {
    if (fble_is_immediate(value)) return fble_immediate_payload(value, bits);
    return fble_kind(fble_object(value)->header) == FBLE_STRUCT ? value : FBLE_WORD(value, 0);
}

static inline uint32_t fble_tag_of(fble_value value, unsigned bits) {
    return fble_is_immediate(value) ? fble_immediate_tag(value, bits)
                                    : fble_tag(fble_object(value)->header);
}

// Sees through a placeholder for good.
#define FBLE_NEED_UNION(value, failure, place, charge)                            \
    do {                                                                          \
        if (FBLE_RARELY(fble_is_placeholder(value))) {                            \
            (value) = fble_force(value);                                          \
            if (fble_is_placeholder(value)) FBLE_FAIL(failure, place, charge, 0); \
        }                                                                         \
    } while (0)

#define FBLE_PAYLOAD(to, value, tag, bits, place, charge)      \
    do {                                                       \
        FBLE_NEED_UNION(value, FBLE_NO_STRUCT, place, charge); \
        if (FBLE_RARELY(fble_tag_of(value, bits) != (tag)))    \
            FBLE_FAIL(FBLE_WRONG_TAG, place, charge, 0);       \
        (to) = fble_payload(value, bits);                      \
    } while (0)

// The letters of a literal as a list; the first cell is the newest object.
static inline char *fble_letters(char *hp, const struct fble_literal *literal) {
    fble_value list = fble_wrap_immediate(FBLE_UNIT, 1, 1);
    for (uint32_t i = literal->count; i-- > 0;) {
        uint64_t *cell = (uint64_t *)(void *)hp;
        cell[0] = FBLE_HEADER(FBLE_STRUCT, 0, 2);
        cell[1] = literal->letters[i];
        cell[2] = list;
        list = fble_pointer(cell);
        hp += 24;
    }
    return hp;
}

// A copy of a struct, before fields are replaced.
static inline char *fble_copy_struct(char *hp, fble_value source) {
    uint64_t *copy = (uint64_t *)(void *)hp;
    uint32_t count = fble_count(fble_object(source)->header);
    copy[0] = FBLE_HEADER(FBLE_STRUCT, 0, count);
    for (uint32_t i = 0; i < count; i++) copy[1 + i] = FBLE_WORD(source, i);
    return hp + 8 + 8 * (size_t)count;
}

// ---------------------------------------------------------------- control

// A step that goes on after a call gets the frame that has returned; its own is below, at a distance
// that it knows, so that it need not wait for a load.
#define FBLE_CALLER_OF(frame) ((uint64_t *)(uintptr_t)(frame)[FBLE_FP_CALLER])

#define FBLE_NEED_STACK(code_, slots)                     \
    do {                                                  \
        if (FBLE_RARELY(fp + (slots) > m->stack_limit)) { \
            m->applied = (code_);                         \
            FBLE_JUMP(fble_more_stack, fp, hp, a, b, c);  \
        }                                                 \
    } while (0)

#define FBLE_FULL(bytes) FBLE_RARELY((size_t)(m->heap_limit - hp) < (bytes))
#define FBLE_COLLECT(site, step, first, slots, bytes)                                           \
    do {                                                                                        \
        FBLE_PUBLISH;                                                                           \
        FBLE_JUMP(fble_collect_step, fp, hp, fble_pointer(site), (fble_value)(uintptr_t)(step), \
                  (fble_value)(first) | (fble_value)(slots) << 16 | (fble_value)(bytes) << 32); \
    } while (0)

// Goes on where the frame at fp returns to.
#define FBLE_JUMP_BACK(value, place)                                                         \
    do {                                                                                     \
        const uint64_t *pc_ = (const uint64_t *)(uintptr_t)fp[FBLE_FP_RETURN];               \
        FBLE_JUMP((fble_step *)(uintptr_t)pc_[-1], fp, hp, value, fble_pointer(pc_), place); \
    } while (0)

#ifdef FBLE_PROFILED

// `c` is where the thread stands, which the thread itself does not know while such code runs; the
// third argument is in the frame.
#define FBLE_HERE c
#define FBLE_THIRD fp[FBLE_FP_ARGS + 2]
#define FBLE_PASS_THIRD(frame, n, z) ((n) > 2 ? (void)((frame)[FBLE_FP_ARGS + 2] = (z)) : (void)0)
#define FBLE_SPILL_THIRD(n) ((void)0)
#define FBLE_WAY(n) ways[n]
// Most steps after a call have nothing to charge.
#define FBLE_CHARGE(n) ((n) ? ouro_place_sample(c, n) : (void)0)
#define FBLE_PUBLISH fble_publish(m, c)

// What the step has run is charged before the position changes.
#define FBLE_ENTER_BY(way, fits, step, code_, frame, n, x, y, z) \
    do {                                                         \
        FBLE_PASS_THIRD(frame, n, z);                            \
        if (FBLE_LIKELY(fits)) {                                 \
            (frame)[FBLE_FP_TOKEN] = c;                          \
            c = ouro_way_follow(&(way));                         \
            FBLE_JUMP(step, frame, hp, x, y, c);                 \
        }                                                        \
        m->applied = (code_);                                    \
        m->way_at = &(way);                                      \
        FBLE_JUMP(fble_enter_slowly, frame, hp, x, y, c);        \
    } while (0)

#define FBLE_REPLACE_BY(way, fits, step, code_, n, x, y, z) \
    do {                                                    \
        FBLE_PASS_THIRD(fp, n, z);                          \
        if (FBLE_LIKELY(fits)) {                            \
            ouro_place_leave(c);                            \
            c = ouro_way_follow(&(way));                    \
            FBLE_JUMP(step, fp, hp, x, y, c);               \
        }                                                   \
        m->applied = (code_);                               \
        m->way_at = &(way);                                 \
        FBLE_JUMP(fble_replace_slowly, fp, hp, x, y, c);    \
    } while (0)

#define FBLE_JUMP_ENTERING(step, code_, way, charge, frame, n, x, y, z)               \
    do {                                                                              \
        FBLE_CHARGE(charge);                                                          \
        FBLE_ENTER_BY(way, ouro_way_fits(&(way), c), step, code_, frame, n, x, y, z); \
    } while (0)

#define FBLE_JUMP_REPLACING(step, code_, way, charge, n, x, y, z)                \
    do {                                                                         \
        FBLE_CHARGE(charge);                                                     \
        FBLE_REPLACE_BY(way, ouro_way_fits(&(way), c), step, code_, n, x, y, z); \
    } while (0)

// Of all that may be in place of a function, only a function has code as its first word. If it is
// that of the way, it takes n arguments.
#define FBLE_CALL_KNOWN(function, way, charge, frame, n, x, y, z)                                  \
    do {                                                                                           \
        FBLE_CHARGE(charge);                                                                       \
        const struct fble_code *code_ = FBLE_CODE_OF(function);                                    \
        if (FBLE_LIKELY(FBLE_WAY_FITS(way, code_)) || FBLE_IS_FUNCTION(function, n))               \
            FBLE_ENTER_BY(way, FBLE_WAY_FITS(way, code_), code_->enter, code_, frame, n, x, y, z); \
    } while (0)

#define FBLE_TAIL_KNOWN(function, way, charge, n, x, y, z)                                    \
    do {                                                                                      \
        FBLE_CHARGE(charge);                                                                  \
        const struct fble_code *code_ = FBLE_CODE_OF(function);                               \
        if (FBLE_LIKELY(FBLE_WAY_FITS(way, code_)) || FBLE_IS_FUNCTION(function, n))          \
            FBLE_REPLACE_BY(way, FBLE_WAY_FITS(way, code_), code_->enter, code_, n, x, y, z); \
    } while (0)

#define FBLE_WAY_FITS(way, code_) \
    ((way).callee == (const void *)(code_) && ouro_way_fits(&(way), c))

#define FBLE_RETURN(value, charge)                                                         \
    do {                                                                                   \
        FBLE_CHARGE(charge);                                                               \
        if (FBLE_RARELY(!m->recorder)) FBLE_JUMP(fble_return_slowly, fp, hp, value, 0, c); \
        ouro_place_leave(c);                                                               \
        c = fp[FBLE_FP_TOKEN];                                                             \
        FBLE_JUMP_BACK(value, c);                                                          \
    } while (0)

#define FBLE_BLOCK_ENTER(to, block, way) \
    (FBLE_PUBLISH, (to) = fble_block_enter(m, hp, block, &(way)), c = fble_place(m))
#define FBLE_BLOCK_EXIT(token) (FBLE_PUBLISH, fble_block_exit(m, hp, token), c = fble_place(m))
#define FBLE_BLOCK_REPLACE(block, way) \
    (FBLE_PUBLISH, fble_block_replace(m, hp, block, &(way)), c = fble_place(m))

#else

#define FBLE_HERE 0
#define FBLE_THIRD c
#define FBLE_SPILL_THIRD(n) ((n) > 2 ? (void)(fp[FBLE_FP_ARGS + 2] = c) : (void)0)
#define FBLE_CHARGE(n) ((void)0)
#define FBLE_PUBLISH ((void)0)
#define FBLE_JUMP_ENTERING(step, code_, way, charge, frame, n, x, y, z) \
    FBLE_JUMP(step, frame, hp, x, y, z)
#define FBLE_JUMP_REPLACING(step, code_, way, charge, n, x, y, z) FBLE_JUMP(step, fp, hp, x, y, z)
#define FBLE_CALL_KNOWN(function, way, charge, frame, n, x, y, z) \
    if (FBLE_IS_FUNCTION(function, n)) FBLE_JUMP(FBLE_CODE_OF(function)->enter, frame, hp, x, y, z)
#define FBLE_TAIL_KNOWN(function, way, charge, n, x, y, z) \
    if (FBLE_IS_FUNCTION(function, n)) FBLE_JUMP(FBLE_CODE_OF(function)->enter, fp, hp, x, y, z)
#define FBLE_RETURN(value, charge) FBLE_JUMP_BACK(value, 0)
#define FBLE_BLOCK_ENTER(to, block, way) ((to) = 1)
#define FBLE_BLOCK_EXIT(token) ((void)0)
#define FBLE_BLOCK_REPLACE(block, way) ((void)0)

#endif

// The arguments of a step that is entered, to where the collector finds them.
#define FBLE_SPILL_ARGUMENTS(n)                \
    do {                                       \
        fp[FBLE_FP_ARGS] = a;                  \
        if ((n) > 1) fp[FBLE_FP_ARGS + 1] = b; \
        FBLE_SPILL_THIRD(n);                   \
    } while (0)

#define FBLE_IS_FUNCTION(value, n) FBLE_LIKELY(FBLE_SHAPE_OF(value) == FBLE_SHAPE(FBLE_CLOSURE, n))
#define FBLE_CODE_OF(value) ((const struct fble_code *)(uintptr_t)FBLE_WORD(value, 0))

#define FBLE_SPILL(frame, n, x, y, z)                 \
    do {                                              \
        (frame)[FBLE_FP_ARGS] = (x);                  \
        if ((n) > 1) (frame)[FBLE_FP_ARGS + 1] = (y); \
        if ((n) > 2) (frame)[FBLE_FP_ARGS + 2] = (z); \
    } while (0)

// The frame to be called is at `frame`, but for its first three arguments.
#define FBLE_CALL_VALUE(function, way, charge, frame, n, x, y, z)  \
    do {                                                           \
        (frame)[FBLE_FP_SELF] = (function);                        \
        FBLE_CALL_KNOWN(function, way, charge, frame, n, x, y, z); \
        FBLE_SPILL(frame, n, x, y, z);                             \
        FBLE_JUMP(fble_call_slowly, frame, hp, n, 0, FBLE_HERE);   \
    } while (0)

#define FBLE_TAIL_VALUE(function, way, charge, place, n, x, y, z)               \
    do {                                                                        \
        fp[FBLE_FP_SELF] = (function);                                          \
        FBLE_TAIL_KNOWN(function, way, charge, n, x, y, z);                     \
        FBLE_SPILL(fp, n, x, y, z);                                             \
        FBLE_JUMP(fble_tail_slowly, fp, hp, n, fble_pointer(place), FBLE_HERE); \
    } while (0)

#endif
