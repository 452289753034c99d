// SPDX-License-Identifier: MIT
//
// What C that was made from Fble is written in, and the runtime's part of it (compiled.c, calls.c).
//
// Steps. Each function of Fble becomes one step for its beginning and one for what comes after each
// call; a step ends by jumping to another, so the C stack never grows. With an attribute musttail
// the compiler promises that. gcc of today does it under most flags but does not promise, so it is
// only relied on where FBLE_DIRECT says that the flags are good (fble compile tries them out).
// Elsewhere, or with FBLE_TRAMPOLINE, a step returns its successor to the trampoline of machine.c.
//
// A step calls nothing that comes back, but in rare cases: what is slow is jumped to and jumps back
// to the beginning of the step. So values stay in registers and steps have no prologue.
//
// Slots. Within a step, slot 5 is the local s5; it is stored to fp[5] where a call or the collector
// needs it, and loaded from there where it is first used.
//
// Leaves. A function that calls nothing is also there as a C function that gives its value, and a
// call of it need not be one: see to_c/leaf.c.
//
// Profiles. With FBLE_PROFILED the same text records calls and instructions; with --profile, fble
// compile makes both versions, and the program uses one or the other. See the host's bench page
// for why. Then `c` of every step is where the thread stands. What was run up to a call or a return
// is a constant of that place in the C. So most places are call sites of their own (ouro_site.h),
// and going by one is one increment, which counts the call, charges and leaves: see to_c/place.c. A
// call whose site does not know it takes a slow path, which charges machine->call_charge.

#ifndef FBLE_VM_COMPILED_H
#define FBLE_VM_COMPILED_H

#if defined(__has_attribute) && !defined(FBLE_TRAMPOLINE)
#if __has_attribute(musttail)
#define FBLE_MUSTTAIL __attribute__((musttail))
#endif
#endif
#if !defined(FBLE_MUSTTAIL) && defined(FBLE_DIRECT) && defined(__OPTIMIZE__)
#pragma GCC optimize("optimize-sibling-calls")
#define FBLE_MUSTTAIL
#endif

// The symbol of a cold part would be the quoted one (FBLE_SYMBOL) with .cold behind it.
#if !defined(__clang__) && (defined(FBLE_DIRECT) || defined(FBLE_TRAMPOLINE))
#pragma GCC optimize("no-reorder-blocks-and-partition")
#endif
// Of what -O2 has and -O1 does not, these make code faster: one tail for equal ends of steps, an
// order of blocks in which the likely ones follow one another, and places that are jumped to where
// the processor begins to read. Steps begin a cache line for the same reason.
#if !defined(__clang__) && defined(__OPTIMIZE__)
#pragma GCC optimize("crossjumping", "reorder-blocks-algorithm=stc", "align-jumps=16", \
                     "align-loops=32")
#endif
#define FBLE_STEP_ALIGNED __attribute__((aligned(64)))

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

// What a step does not look at: whatever is in the register. The trampoline keeps such values, and
// the collector looks at some of them.
#ifdef FBLE_MUSTTAIL
static inline fble_value fble_anything(void) {
    fble_value anything;
    __asm__("" : "=r"(anything));
    return anything;
}
#define FBLE_ANYTHING fble_anything()
#else
#define FBLE_ANYTHING 0
#endif

#define FBLE_LIKELY(x) __builtin_expect(!!(x), 1)
#define FBLE_RARELY(x) __builtin_expect(!!(x), 0)

// Symbols are called as the functions are in Fble, for debuggers and perf. For the assembler of gcc
// they are quoted, so gcc must not make clones, whose symbols have something after the quotes.
// Flags that make symbols of symbols in other ways get FBLE_PLAIN_SYMBOLS.
#if defined(FBLE_PLAIN_SYMBOLS)
#define FBLE_SYMBOL(text)
#define FBLE_NO_CLONES
#elif defined(__clang__)
#define FBLE_SYMBOL(text) __asm__(text)
#define FBLE_NO_CLONES
#else
#define FBLE_SYMBOL(text) __asm__("\"" text "\"")
#define FBLE_NO_CLONES __attribute__((noclone))
#endif
#define FBLE_STEP(name, symbol)                                                      \
    static FBLE_NO_CLONES FBLE_STEP_ALIGNED fble_any_step name(FBLE_STEP_PARAMETERS) \
        FBLE_SYMBOL(symbol)

// ---------------------------------------------------------------- tables

#define FBLE_COMPILED_FORMAT 8

// The words around a return pc, which is the address of `op`.
struct fble_return {
    uint64_t word;
    const struct fble_site *site;
    fble_step *step;
    uint64_t op;
};

// Of a return whose result is wrapped in a union and returned: its tag and by which place it
// returns, for the step that does it, and the step of this return alone, where memory is full.
struct fble_wrap {
    struct fble_return words;
    fble_step *own;
    uint32_t tag, place;
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

// The places of a block where code calls or returns: what its call sites mean.
struct fble_places {
    const ouro_site_info *infos;
    uint32_t count;
};

struct fble_compiled_module {
    const char *path, *source; // and the hash of what it was made from
    struct fble_code *codes;   // the first evaluates the module
    uint32_t code_count, block_count;
    const ouro_block_info *blocks;
    const struct fble_places *places; // of each block; NULL: the module does not record
    ouro_block *first_block;
    struct fble_foreign_use *foreign;
    const uint32_t *foreign_labels;
    fble_value *globals; // the first is the module's value
    uint32_t foreign_count, global_count;
    // Of each field of the module's value: where the function stands that it is known to be; NULL:
    // it is not known.
    const struct fble_code *const *const *exports;
    uint32_t export_count;
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

// ---------------------------------------------------------------- compiled.c, calls.c

// Adds a module to the machine; it is evaluated by running its first code. False: a foreign
// value failed.
bool fble_compiled_load(struct fble_machine *machine, const struct fble_compiled_module *module);
FBLE_API int fble_compiled_main(int argc, char **argv, const struct fble_compiled *program);

// Steps. fble_enter_compiled is what the interpreter goes to, for a pc with a code behind it.
fble_step fble_enter_compiled, fble_enter_native;
fble_step fble_rest_enter, fble_rest_tail;
fble_step fble_do_enter, fble_do_go_on;
// More stack for machine->applied, then enters it.
fble_step fble_more_stack;
// Collects with the site `a`, then jumps to step `b` with slots from number c & 0xffff on as its
// arguments and fp + (c >> 16 & 0xffff) as its frame; c >> 32 is how many bytes it needs.
fble_step fble_collect_step;
// Applies machine->argument_count arguments as fble_apply_args does, but the first two are a and b;
// machine->call_site, machine->call_charge and, of a tail call, machine->pc are set.
fble_step fble_call_slowly, fble_tail_slowly;
// Records entering machine->applied, by the same site and charge, and enters it.
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

// Functions that come back. The first two charge instructions, and everything that is not charged
// yet, to where the thread stands.
void fble_charge(struct fble_machine *m, uint64_t n);
void fble_flush(struct fble_machine *m);
// `c` of a step that is entered, whose third argument is in the frame.
fble_value fble_third(struct fble_machine *m, const uint64_t *fp);
char *fble_collect_now(struct fble_machine *m, uint64_t *fp, char *hp, const struct fble_site *site,
                       size_t bytes);
bool fble_resolve_now(struct fble_machine *m, uint64_t *fp, const uint16_t *list, uint32_t count,
                      const uint64_t *place);
fble_value fble_block_enter(struct fble_machine *m, char *hp, ouro_site site, ouro_block block);
void fble_block_exit(struct fble_machine *m, char *hp, fble_value token);
void fble_block_replace(struct fble_machine *m, char *hp, ouro_site site, ouro_block block);
// Code that records goes there. The clock's handler may look between any two instructions.
static inline void fble_move(struct fble_machine *m, ouro_here *to) {
    __atomic_store_n(&m->here, to, __ATOMIC_RELAXED);
}

// The thread stands where code that records is: `c` of its steps, which is in machine->here as long
// as that is not NULL. Not for a step that is to need no stack frame: it has a call.
static inline void fble_settle(struct fble_machine *m) {
    if (!m->here) return;
    ouro_thread_stand(m->recorder, m->here);
    fble_move(m, NULL);
}

// ---------------------------------------------------------------- instructions

#define FBLE_WORD(value, i) (fble_object(value)->words[i])
#define FBLE_SHAPE_OF(value) (fble_object(value)->header & FBLE_SHAPE_MASK)

// The instructions up to here, which the step has not charged yet, are charged first.
#define FBLE_FAIL(failure, place, charge, more)                         \
    do {                                                                \
        FBLE_CHARGE(charge);                                            \
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

// Objects with many words are filled from slots of the frame.
#define FBLE_FILL(object, first, fp, list, n) \
    for (uint32_t i_ = 0; i_ < (n); i_++) FBLE_WORD(object, (first) + i_) = (fp)[(list)[i_]]
#define FBLE_REPLACE_FIELDS(object, fp, list, n) \
    for (uint32_t i_ = 0; i_ < (n); i_++)        \
    FBLE_WORD(object, (list)[2 * i_]) = (fp)[(list)[2 * i_ + 1]]
// Puts cells before the list `to`.
#define FBLE_CELLS(to, fp, list, n)                      \
    for (uint32_t i_ = (n); i_-- > 0;) {                 \
        fble_value cell_;                                \
        FBLE_NEW(cell_, FBLE_HEADER(FBLE_STRUCT, 0, 2)); \
        FBLE_WORD(cell_, 0) = (fp)[(list)[i_]];          \
        FBLE_WORD(cell_, 1) = (to);                      \
        (to) = cell_;                                    \
    }

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

// Of an object. A placeholder has the last tag that the bits allow.
static inline uint32_t fble_object_tag(fble_value value, unsigned bits) {
    uint64_t header = fble_object(value)->header;
    return fble_kind(header) == FBLE_PLACEHOLDER ? (1u << bits) - 1 : fble_tag(header);
}

// Sees through a placeholder for good.
#define FBLE_NEED_UNION(value, failure, place, charge)                            \
    do {                                                                          \
        if (FBLE_RARELY(fble_is_placeholder(value))) {                            \
            (value) = fble_force(value);                                          \
            if (fble_is_placeholder(value)) FBLE_FAIL(failure, place, charge, 0); \
        }                                                                         \
    } while (0)

// The tag of a union, as FBLE_NEED_UNION and fble_tag_of would find it.
#define FBLE_TAG(tag, value, bits, failure, place, charge)                            \
    do {                                                                              \
        if (fble_is_immediate(value)) {                                               \
            (tag) = fble_immediate_tag(value, bits);                                  \
        } else {                                                                      \
            uint64_t header_ = fble_object(value)->header;                            \
            (tag) = fble_tag(header_);                                                \
            if (FBLE_RARELY(fble_kind(header_) == FBLE_PLACEHOLDER)) {                \
                (value) = fble_force(value);                                          \
                if (fble_is_placeholder(value)) FBLE_FAIL(failure, place, charge, 0); \
                (tag) = fble_tag_of(value, bits);                                     \
            }                                                                         \
        }                                                                             \
    } while (0)

#define FBLE_PAYLOAD(to, value, tag, bits, place, charge)                            \
    do {                                                                             \
        uint32_t tag_;                                                               \
        FBLE_TAG(tag_, value, bits, FBLE_NO_STRUCT, place, charge);                  \
        if (FBLE_RARELY(tag_ != (tag))) FBLE_FAIL(FBLE_WRONG_TAG, place, charge, 0); \
        (to) = fble_payload(value, bits);                                            \
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
        hp += FBLE_LIST_CELL_BYTES;
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

// A step that goes on after a call gets the frame that has returned; its own is below, at a
// distance that it knows, so that it need not wait for a load.
#define FBLE_CALLER_OF(frame) ((uint64_t *)(uintptr_t)(frame)[FBLE_FP_CALLER])

// A branch of a select that is a step of its own, and what its stretch charges.
struct fble_branch {
    fble_step *step;
    uint32_t charge;
};

#define FBLE_BRANCH(branch)                             \
    do {                                                \
        const struct fble_branch *const to_ = (branch); \
        FBLE_CHARGE(to_->charge);                       \
        FBLE_JUMP(to_->step, fp, hp, 0, 0, c);          \
    } while (0)

#define FBLE_NEED_STACK(code_, slots)                     \
    do {                                                  \
        if (FBLE_RARELY(fp + (slots) > m->stack_limit)) { \
            m->applied = (code_);                         \
            FBLE_JUMP(fble_more_stack, fp, hp, a, b, c);  \
        }                                                 \
    } while (0)

#define FBLE_FULL(bytes) FBLE_RARELY(hp + (bytes) > m->heap_limit)
#define FBLE_COLLECT(site, step, first, slots, bytes)                                           \
    do {                                                                                        \
        FBLE_JUMP(fble_collect_step, fp, hp, fble_pointer(site), (fble_value)(uintptr_t)(step), \
                  (fble_value)(first) | (fble_value)(slots) << 16 | (fble_value)(bytes) << 32); \
    } while (0)

// Goes on where the frame at fp returns to.
#define FBLE_JUMP_BACK(value)                                                              \
    do {                                                                                   \
        const uint64_t *pc_ = (const uint64_t *)(uintptr_t)fp[FBLE_FP_RETURN];             \
        FBLE_JUMP(fble_return_step(pc_), fp, hp, value, fble_pointer(pc_), FBLE_ANYTHING); \
    } while (0)

// Where a leaf stands, and what the place by which it returns does not charge.
struct fble_leaf_run {
    const ouro_here *here;
    uint32_t charge;
};

// A leaf, see compiled_leaf.h. It takes memory from *top.
#define FBLE_LEAF(name)                                                                            \
    static inline __attribute__((always_inline)) fble_value name(                                  \
        struct fble_machine *m, char **top, struct fble_leaf_run *run, fble_value a, fble_value b, \
        fble_value c)

#ifdef FBLE_PROFILED

// `c` is where the thread stands; the third argument is in the frame.
#define FBLE_HERE c
#define FBLE_THIRD fp[FBLE_FP_ARGS + 2]
#define FBLE_PASS_THIRD(frame, n, z) ((n) > 2 ? (void)((frame)[FBLE_FP_ARGS + 2] = (z)) : (void)0)
#define FBLE_SPILL_THIRD(n) ((void)0)
#define FBLE_STANDS ((ouro_here *)(uintptr_t)c)
// Where places of calls and returns do not say it. Most steps after a call have none to charge.
#define FBLE_CHARGE(n) \
    (!__builtin_constant_p(n) || (n) ? ouro_here_sample(FBLE_STANDS, n) : (void)0)
#define FBLE_CALL_CHARGE(n) (m->call_charge = (n))

// A frame keeps where it stands while it waits for a callee. The steps that go on after that find
// it there, so it stays there for their own calls.
#define FBLE_BEGIN bool kept_ = false
#define FBLE_GO_ON(slots)      \
    fp -= (slots);             \
    c = fp[FBLE_FP_HERE];      \
    fble_move(m, FBLE_STANDS); \
    bool kept_ = true
#define FBLE_KEEP (kept_ ? (void)0 : (void)(fp[FBLE_FP_HERE] = c))

// A known function has a fixed site, but for those that have no number of their own.
static inline bool fble_may_go(const ouro_here *here, ouro_site site, const void *code) {
    return site < FBLE_SHARED_SITES || ouro_site_knows(here, site, fble_key(code));
}
static inline bool fble_goes(const ouro_here *here, ouro_site site) {
    if (site < FBLE_SHARED_SITES) return ouro_site_go(here, site);
    ouro_site_follow(here, site);
    return true;
}

// The site means what the step has run, and that a tail call leaves. The step is read before that
// is counted: counting is assembly, after which the compiler would read more again. Where the call
// leads to is read after it: else two positions would be in registers at once, and the compiler
// moves all the others for that.
#define FBLE_GO(step, to, frame, x, y)                       \
    do {                                                     \
        ouro_here *const to_ = (to);                         \
        fble_move(m, to_);                                   \
        FBLE_JUMP(step, frame, hp, x, y, fble_pointer(to_)); \
    } while (0)
#define FBLE_RECORD_CODE(step, code_, site, frame, n, x, y, z)                                  \
    do {                                                                                        \
        FBLE_PASS_THIRD(frame, n, z);                                                           \
        fble_step *const step_ = (step);                                                        \
        if (fble_may_go(FBLE_STANDS, site, code_) && FBLE_LIKELY(fble_goes(FBLE_STANDS, site))) \
            FBLE_GO(step_, ouro_site_leads(FBLE_STANDS, site), frame, x, y);                    \
    } while (0)
#define FBLE_RECORD_VALUE(code_, site, frame, n, x, y, z)                     \
    do {                                                                      \
        FBLE_PASS_THIRD(frame, n, z);                                         \
        if (ouro_site_knows(FBLE_STANDS, site, fble_key(code_))) {            \
            fble_step *const step_ = (code_)->enter;                          \
            FBLE_GO(step_, ouro_site_follow(FBLE_STANDS, site), frame, x, y); \
        }                                                                     \
    } while (0)
#define FBLE_SLOWLY(slowly, code_, site, charge, frame, x, y) \
    do {                                                      \
        m->applied = (code_);                                 \
        m->call_site = (site);                                \
        FBLE_CALL_CHARGE(charge);                             \
        FBLE_JUMP(slowly, frame, hp, x, y, c);                \
    } while (0)
#define FBLE_JUMP_ENTERING(step, code_, site, charge, frame, n, x, y, z)  \
    do {                                                                  \
        FBLE_KEEP;                                                        \
        FBLE_RECORD_CODE(step, code_, site, frame, n, x, y, z);           \
        FBLE_SLOWLY(fble_enter_slowly, code_, site, charge, frame, x, y); \
    } while (0)
#define FBLE_JUMP_REPLACING(step, code_, site, charge, n, x, y, z)       \
    do {                                                                 \
        FBLE_RECORD_CODE(step, code_, site, fp, n, x, y, z);             \
        FBLE_SLOWLY(fble_replace_slowly, code_, site, charge, fp, x, y); \
    } while (0)

// Of all that may be in place of a function, only a function has code as its first word, and none
// has 0 (FBLE_NOT_YET). If the site knows the word, the function takes n arguments.
#define FBLE_CALL_KNOWN(function, site, charge, frame, n, x, y, z)            \
    do {                                                                      \
        const struct fble_code *const code_ = FBLE_CODE_OF(function);         \
        FBLE_RECORD_VALUE(code_, site, frame, n, x, y, z);                    \
        if (FBLE_IS_FUNCTION(function, n))                                    \
            FBLE_SLOWLY(fble_enter_slowly, code_, site, charge, frame, x, y); \
    } while (0)
#define FBLE_TAIL_KNOWN(function, site, charge, n, x, y, z)                  \
    do {                                                                     \
        const struct fble_code *const code_ = FBLE_CODE_OF(function);        \
        FBLE_RECORD_VALUE(code_, site, fp, n, x, y, z);                      \
        if (FBLE_IS_FUNCTION(function, n))                                   \
            FBLE_SLOWLY(fble_replace_slowly, code_, site, charge, fp, x, y); \
    } while (0)

// Without a value the call of a leaf is taken back, to be made.
static inline bool fble_is_taken_back(fble_value value, const ouro_here *here, ouro_site site) {
    if (FBLE_LIKELY(value)) return false;
    ouro_site_stay(here, site);
    return true;
}

// Entered and left at once: the site charges what the caller has run, and of a tail call leaves it.
// Meanwhile the clock sees the leaf.
#define FBLE_LEAF_VALUE(value, leaf, code_, site, x, y, z)        \
    if (!fble_may_go(FBLE_STANDS, site, code_)) break;            \
    char *top_ = hp;                                              \
    ouro_here *const leads_ = ouro_site_leads(FBLE_STANDS, site); \
    struct fble_leaf_run run_ = {leads_, 0};                      \
    if (!FBLE_LIKELY(fble_goes(FBLE_STANDS, site))) break;        \
    fble_move(m, leads_);                                         \
    const fble_value value = leaf(m, &top_, &run_, x, y, z);      \
    fble_move(m, FBLE_STANDS);                                    \
    if (fble_is_taken_back(value, FBLE_STANDS, site)) break
#define FBLE_LEAF_HERE(to, after, leaf, code_, site, x, y, z) \
    do {                                                      \
        FBLE_LEAF_VALUE(value_, leaf, code_, site, x, y, z);  \
        hp = top_;                                            \
        (to) = value_;                                        \
        goto after;                                           \
    } while (0)
#define FBLE_CALL_LEAF(leaf, code_, site, step, frame, x, y, z)             \
    do {                                                                    \
        FBLE_LEAF_VALUE(value_, leaf, code_, site, x, y, z);                \
        FBLE_KEEP;                                                          \
        FBLE_JUMP(step, frame, top_, value_, FBLE_ANYTHING, FBLE_ANYTHING); \
    } while (0)
#define FBLE_TAIL_LEAF(leaf, code_, site, x, y, z)           \
    do {                                                     \
        FBLE_LEAF_VALUE(value_, leaf, code_, site, x, y, z); \
        hp = top_;                                           \
        FBLE_JUMP_BACK(value_);                              \
    } while (0)

// The place of a return counts only where the block is its own. It is not where a profile is
// recorded step by step, either: the thread stands aside then.
#define FBLE_RETURN(site, value, charge)                                        \
    do {                                                                        \
        const fble_value back_ = (value);                                       \
        if (FBLE_RARELY(!ouro_here_leave_by(FBLE_STANDS, (ouro_site)(site)))) { \
            FBLE_CHARGE(charge);                                                \
            FBLE_JUMP(fble_return_slowly, fp, hp, back_, 0, c);                 \
        }                                                                       \
        FBLE_JUMP_BACK(back_);                                                  \
    } while (0)

// A site that leads to a block leads to where sites count.
#define FBLE_LEAVE_LEAF(site)                                  \
    do {                                                       \
        if (!__builtin_constant_p(run->charge) || run->charge) \
            ouro_here_sample(run->here, run->charge);          \
        ouro_here_leave_by(run->here, (ouro_site)(site));      \
    } while (0)

#define FBLE_BLOCK_ENTER(to, block, site) \
    ((to) = fble_block_enter(m, hp, site, block), c = fble_here(m), kept_ = false)
#define FBLE_BLOCK_EXIT(token) (fble_block_exit(m, hp, token), c = fble_here(m), kept_ = false)
#define FBLE_BLOCK_REPLACE(block, site) \
    (fble_block_replace(m, hp, site, block), c = fble_here(m), kept_ = false)

#else

#define FBLE_HERE FBLE_ANYTHING
#define FBLE_THIRD c
#define FBLE_SPILL_THIRD(n) ((n) > 2 ? (void)(fp[FBLE_FP_ARGS + 2] = c) : (void)0)
#define FBLE_BEGIN
#define FBLE_GO_ON(slots) fp -= (slots)
#define FBLE_KEEP ((void)0)
#define FBLE_CHARGE(n) ((void)0)
#define FBLE_CALL_CHARGE(n) ((void)0)
#define FBLE_JUMP_ENTERING(step, code_, site, charge, frame, n, x, y, z) \
    FBLE_JUMP(step, frame, hp, x, y, z)
#define FBLE_JUMP_REPLACING(step, code_, site, charge, n, x, y, z) FBLE_JUMP(step, fp, hp, x, y, z)
#define FBLE_CALL_KNOWN(function, site, charge, frame, n, x, y, z) \
    if (FBLE_IS_FUNCTION(function, n)) FBLE_JUMP(FBLE_CODE_OF(function)->enter, frame, hp, x, y, z)
#define FBLE_TAIL_KNOWN(function, site, charge, n, x, y, z) \
    if (FBLE_IS_FUNCTION(function, n)) FBLE_JUMP(FBLE_CODE_OF(function)->enter, fp, hp, x, y, z)
#define FBLE_LEAF_VALUE(value, leaf, x, y, z)                \
    char *top_ = hp;                                         \
    struct fble_leaf_run run_ = {NULL, 0};                   \
    const fble_value value = leaf(m, &top_, &run_, x, y, z); \
    if (FBLE_RARELY(!value)) break
#define FBLE_LEAF_HERE(to, after, leaf, code_, site, x, y, z) \
    do {                                                      \
        FBLE_LEAF_VALUE(value_, leaf, x, y, z);               \
        hp = top_;                                            \
        (to) = value_;                                        \
        goto after;                                           \
    } while (0)
#define FBLE_CALL_LEAF(leaf, code_, site, step, frame, x, y, z)             \
    do {                                                                    \
        FBLE_LEAF_VALUE(value_, leaf, x, y, z);                             \
        FBLE_JUMP(step, frame, top_, value_, FBLE_ANYTHING, FBLE_ANYTHING); \
    } while (0)
#define FBLE_TAIL_LEAF(leaf, code_, site, x, y, z) \
    do {                                           \
        FBLE_LEAF_VALUE(value_, leaf, x, y, z);    \
        hp = top_;                                 \
        FBLE_JUMP_BACK(value_);                    \
    } while (0)
#define FBLE_RETURN(site, value, charge) FBLE_JUMP_BACK(value)
#define FBLE_LEAVE_LEAF(site) ((void)run)
#define FBLE_BLOCK_ENTER(to, block, site) ((to) = 1)
#define FBLE_BLOCK_EXIT(token) ((void)0)
#define FBLE_BLOCK_REPLACE(block, site) ((void)0)

#endif

// What a tree of selects returns for some tags, and what that charges.
struct fble_choice {
    const fble_value *value;
    uint32_t charge;
};

// Returns what is in the table, if all are immediates.
#define FBLE_CHOOSE(site, charge, all, table, index) \
    if (FBLE_LIKELY(fble_is_immediate(all))) FBLE_RETURN(site, *(table)[index].value, charge)
// The same, where the place charges nothing.
#define FBLE_CHOOSE_CHARGING(site, all, table, index)            \
    if (FBLE_LIKELY(fble_is_immediate(all))) {                   \
        const struct fble_choice *const to_ = (table) + (index); \
        const fble_value chosen_ = *to_->value;                  \
        FBLE_CHARGE(to_->charge);                                \
        FBLE_RETURN(site, chosen_, 0);                           \
    }

// The step of returns with a struct fble_wrap, from a frame below by `slots`. `b` is their pc.
#define FBLE_WRAP(slots, bits)                                                           \
    const struct fble_wrap *const wrap_ =                                                \
        (const struct fble_wrap *)(uintptr_t)(b - offsetof(struct fble_wrap, words.op)); \
    if (FBLE_FULL(fble_bytes_of_words(1))) FBLE_JUMP(wrap_->own, fp, hp, a, b, c);       \
    FBLE_GO_ON(slots);                                                                   \
    FBLE_MAKE_UNION(a, a, wrap_->tag, bits);                                             \
    FBLE_RETURN(wrap_->place, a, 0)

// The arguments of a step that is entered, to where the collector finds them.
#define FBLE_SPILL_ARGUMENTS(n)                \
    do {                                       \
        fp[FBLE_FP_ARGS] = a;                  \
        if ((n) > 1) fp[FBLE_FP_ARGS + 1] = b; \
        FBLE_SPILL_THIRD(n);                   \
    } while (0)

#define FBLE_IS_FUNCTION(value, n) FBLE_LIKELY(FBLE_SHAPE_OF(value) == FBLE_SHAPE(FBLE_CLOSURE, n))
#define FBLE_CODE_OF(value) ((const struct fble_code *)(uintptr_t)FBLE_WORD(value, 0))

// The frame to be called is at `frame`, but for its first three arguments.
#define FBLE_CALL_VALUE(function, site, charge, frame, n, x, y, z)  \
    do {                                                            \
        FBLE_KEEP;                                                  \
        (frame)[FBLE_FP_SELF] = (function);                         \
        FBLE_CALL_KNOWN(function, site, charge, frame, n, x, y, z); \
        if ((n) > 2) (frame)[FBLE_FP_ARGS + 2] = (z);               \
        m->argument_count = (n);                                    \
        m->call_site = (site);                                      \
        FBLE_CALL_CHARGE(charge);                                   \
        FBLE_JUMP(fble_call_slowly, frame, hp, x, y, FBLE_HERE);    \
    } while (0)

#define FBLE_TAIL_VALUE(function, site, charge, place, n, x, y, z) \
    do {                                                           \
        fp[FBLE_FP_SELF] = (function);                             \
        FBLE_TAIL_KNOWN(function, site, charge, n, x, y, z);       \
        if ((n) > 2) fp[FBLE_FP_ARGS + 2] = (z);                   \
        m->argument_count = (n);                                   \
        m->call_site = (site);                                     \
        FBLE_CALL_CHARGE(charge);                                  \
        m->pc = (place);                                           \
        FBLE_JUMP(fble_tail_slowly, fp, hp, x, y, FBLE_HERE);      \
    } while (0)

#endif
