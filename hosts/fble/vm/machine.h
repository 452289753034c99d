// SPDX-License-Identifier: MIT
//
// The machine: heap, green threads, and what the parts of the runtime know of each other. Code
// that runs keeps pc, fp and hp in registers; they are in the machine whenever anybody else looks,
// that is in natives, the collector, and between steps.

#ifndef FBLE_VM_MACHINE_H
#define FBLE_VM_MACHINE_H

#include "code.h"
#include "fble.h"

#include <signal.h>
#include <stdio.h>

// ---------------------------------------------------------------- stacks

// A chunk of a stack. Its first frame returns through `stub`, the words of a return pc that look
// like the real one and end in UNDERFLOW.
struct fble_stack_chunk {
    struct fble_stack_chunk *older;
    uint64_t *limit, *end; // a frame with more than a few slots must end below the limit
    uint64_t stub[5];      // return word, site, step, UNDERFLOW, the real return pc
    uint64_t slots[];
};

enum { FBLE_STUB_PC = 3, FBLE_STUB_REAL = 4 };
// Slots between limit and end: room for a header, the arguments of any call, and a little more.
enum { FBLE_STACK_RESERVE = 300 };

enum fble_thread_state { FBLE_THREAD_READY, FBLE_THREAD_WAITING, FBLE_THREAD_DONE };

struct fble_thread {
    struct fble_thread *next;                   // in the queue of the ready, or of those that wait
    struct fble_thread *newer, *older;          // of all threads
    struct fble_thread *waiters, **last_waiter; // for this thread's end
    struct fble_stack_chunk *chunk, *spare;
    uint64_t *fp; // while it does not run: it goes on at pc, in this frame
    const uint64_t *pc;
    const struct fble_site *site; // and what it needs of the frame
    fble_value value;             // the result of what it waited for; in the end, its own
    struct fble_object *object;   // the THREAD, NULL: nobody has it any more
    // The frame above which the last collection left nothing unseen, see stack.c.
    uint64_t *barrier_fp;
    uint64_t barrier[5];
    ouro_thread *profile;
    enum fble_thread_state state;
    bool touched; // ran since the last collection
    bool marked;
};

// ---------------------------------------------------------------- heap

struct fble_block {
    struct fble_block *next;
    size_t size, used; // bytes, of data
    char data[];
};

struct fble_blocks {
    struct fble_block *first, *last, *spare;
    size_t bytes; // in objects
    uint32_t spares;
};

struct fble_vector {
    void **at;
    size_t count, capacity;
};

struct fble_handle {
    struct fble_object *object;
    void *data;
    void (*free)(void *data);
};

// ---------------------------------------------------------------- the machine

enum fble_entering { FBLE_BY_CALL, FBLE_BY_TAIL };

// The interpreter: goes on where the machine stands, gives the step that goes on elsewhere.
typedef fble_any_step fble_loop(struct fble_machine *machine);

struct fble_machine {
    // Where the running thread stands, when the interpreter does not hold it in registers.
    const uint64_t *pc;
    uint64_t *fp;
    char *hp;
    const struct fble_site *site; // what is live in fp
    fble_value value;             // result of a run; `a` of a step that is to be jumped to,
    fble_value second, third;     // and its `b` and `c`
    // A signal handler may set this to NULL, so that the next call takes the slow path.
    uint64_t *volatile stack_limit;
    char *heap_limit;
    ouro_thread *recorder; // of the running thread; NULL: no profile
    // Where compiled code that records stands, for the clock; NULL: where the recorder does.
    ouro_here *here;
    // Calls and returns of compiled code that records go through compiled.c: the profile has
    // metrics that are charged there.
    bool stepwise;
    ouro_aside aside;     // where compiled code stands then
    ouro_site call_site;  // of compiled code that takes a slow path
    uint32_t call_charge; // what it has run, and only charges if it follows the site
    ouro_key call_key;    // and what its call is known by
    fble_loop *interpret; // the one that this machine uses

    // Results of fble_apply_args, besides the frame.
    const struct fble_code *applied;
    enum fble_entering entering;
    uint32_t argument_count; // of the frame at fp, while the arguments are not yet the callee's
    fble_value *scratch;     // for moving arguments
    uint32_t scratch_size;

    // Heap: collect.c.
    char *nursery, *nursery_end;
    size_t nursery_size; // usual
    char *counted;       // up to here a profile knows what natives and compiled code have allocated
    struct fble_blocks old;
    size_t full_at;                // collect everything when the old part has this many bytes
    size_t since_full, patience;   // bytes allocated since that was done, see collect.c
    struct fble_vector remembered; // old objects that were changed
    struct fble_vector handles;    // struct fble_handle *
    struct fble_vector roots;      // fble_value *, arrays of globals: (array, count) pairs
    size_t roots_seen;             // those before were seen by a collection and do not change
    fble_value *refs;              // of the C API
    uint32_t ref_count, ref_capacity;
    size_t step;        // 0, or: collect everything after this many bytes
    size_t stack_bytes; // of all chunks
    size_t peak;
    uint64_t collections, full_collections;
    bool collecting; // `site` says for which place

    // Green threads: green.c.
    struct fble_thread *thread, *main_thread, *threads;
    struct fble_thread *ready, **last_ready;
    uint32_t runs;        // nested fble_run
    uint32_t first_chunk; // slots

    // Errors.
    bool failed;
    char *error; // text, with a trace
    volatile sig_atomic_t interrupted;

    // Profile.
    ouro_profile *profile;
    unsigned metric_instructions, metric_objects, metric_bytes;
    uint64_t period;             // instructions per charge
    uint64_t executed;           // instructions, counted one by one, in builds that do that
    uint64_t underflow_frame[2]; // see stack.c
    struct fble_vector link_blocks;

    // Foreign values by module and name.
    struct fble_vector foreign; // struct fble_foreign_value *
    struct fble_vector codes;   // struct fble_code *
    struct fble_vector natives; // struct fble_native_code *, freed with the machine

    // Slices by calls: slices.c.
    const char *slice;               // the name of the blocks whose calls they are; NULL: none
    struct fble_vector slice_blocks; // ouro_block
    uint64_t slice_stub[5];          // as of a chunk: the frame whose return ends the slice
    bool slice_open;                 // returns through it
    uint64_t slices;                 // that have begun
};

static inline void fble_set_running(struct fble_machine *machine, struct fble_thread *thread) {
    machine->thread = thread;
    machine->recorder = thread->profile;
}

// Instructions that are not charged yet.
static inline uint64_t *fble_pending(struct fble_machine *machine) {
    return ouro_aside_sampled(&machine->aside);
}

// ---------------------------------------------------------------- heap.c, collect.c

// Memory or the end: see fble_no_memory.
void *fble_take(size_t size);
void *fble_take_more(void *old, size_t size);
extern void (*fble_no_memory)(void);
void fble_vector_add(struct fble_vector *vector, void *item);

void fble_heap_start(struct fble_machine *machine);
void fble_heap_end(struct fble_machine *machine);
void fble_heap_drop(struct fble_machine *machine); // frees all objects
struct fble_block *fble_block_new(size_t size);
void fble_blocks_free(struct fble_blocks *blocks);
// Puts `fresh` in the place of `old`, some of whose blocks become spare ones if `keep`.
void fble_blocks_replace(struct fble_blocks *old, struct fble_blocks *fresh, bool keep);
// A new last block, with room for that many bytes.
struct fble_block *fble_blocks_add(struct fble_blocks *blocks, size_t bytes);
void fble_nursery_new(struct fble_machine *machine, size_t size);
void fble_nursery_free(struct fble_machine *machine);

// What must hold after a collection, of the objects from there on; see heap_valid.c.
bool fble_heap_is_valid(const struct fble_machine *machine, const struct fble_block *block,
                        size_t from);

// Makes room for that many bytes. Objects move: what is to be kept must be in a live slot, a
// global, or a reference of the API.
void fble_collect(struct fble_machine *machine, size_t bytes);
void fble_collect_all(struct fble_machine *machine);

static inline void fble_reserve(struct fble_machine *machine, size_t bytes) {
    if ((size_t)(machine->heap_limit - machine->hp) < bytes) fble_collect(machine, bytes);
}

static inline bool fble_in_nursery(const struct fble_machine *machine, const void *p) {
    return (uintptr_t)p - (uintptr_t)machine->nursery <
           (uintptr_t)machine->nursery_end - (uintptr_t)machine->nursery;
}

// After fble_reserve.
static inline struct fble_object *fble_new(struct fble_machine *machine, uint64_t header) {
    struct fble_object *object = (struct fble_object *)(void *)machine->hp;
    object->header = header;
    machine->hp += fble_object_bytes(header);
    return object;
}

// Whoever changes an object that may be old says so.
static inline void fble_changed(struct fble_machine *machine, struct fble_object *object) {
    if (!fble_in_nursery(machine, object)) fble_vector_add(&machine->remembered, object);
}

// ---------------------------------------------------------------- stack.c

void fble_stack_start(struct fble_machine *machine, struct fble_thread *thread, size_t slots);
void fble_stack_free(struct fble_machine *machine, struct fble_thread *thread);
// Moves the frame at machine->fp, of which `used` slots count, to where it can have `slots`.
void fble_stack_grow(struct fble_machine *machine, uint32_t used, uint32_t slots);
// The words around a return pc that look like the real one but for the instruction and its step.
void fble_make_stub(uint64_t *stub, const uint64_t *real, unsigned op, fble_step *step);
// What UNDERFLOW and BARRIER do; they give the real return pc.
const uint64_t *fble_stack_underflow(struct fble_machine *machine);
const uint64_t *fble_stack_barrier(struct fble_machine *machine);
void fble_barrier_set(struct fble_thread *thread, uint64_t *fp);
void fble_barrier_clear(struct fble_thread *thread);

// Frames from the newest to the oldest: `site` says what the frame at fp needs.
struct fble_frame {
    uint64_t *fp;
    const struct fble_site *site;
};
// False: it was the last.
bool fble_frame_next(struct fble_frame *frame);

// A signal may come at any moment: it must not be overwritten.
static inline void fble_set_stack_limit(struct fble_machine *machine, uint64_t *limit) {
    machine->stack_limit = limit;
    if (machine->interrupted) machine->stack_limit = NULL;
}

// ---------------------------------------------------------------- apply.c

// Applies fp[2] to machine->argument_count arguments from fp[4] on. True: machine->applied is the
// code to enter in machine->fp, machine->entering says by call or by tail call. False: it failed,
// or machine->value is the result, which has to be returned as from a frame that was entered (by
// tail) or never was. The recorder may stand elsewhere then; all that was allocated or charged
// before must have been counted.
bool fble_apply_args(struct fble_machine *machine, enum fble_entering how);
// The words around the pc of a frame that is to be called with the arguments that fp[4] counts, by
// call or by tail call; see apply.c.
enum { FBLE_REST_PC = 3 };
extern uint64_t fble_rests[2][FBLE_REST_PC + 1];
extern const uint64_t fble_resume_code[], fble_apply_code[];

bool fble_resolve(struct fble_machine *machine, uint64_t *fp, const uint16_t *list, uint32_t count,
                  uint32_t *vacuous);

// ---------------------------------------------------------------- machine.c, errors.c

fble_loop fble_interpret_plain, fble_interpret_profiled, fble_interpret_metered;
// `c` of a step of compiled code that records.
fble_value fble_here(struct fble_machine *machine);
// Where the caller of a frame stands.
static inline ouro_here *fble_caller_here(const uint64_t *fp) {
    const uint64_t *caller = (const uint64_t *)(uintptr_t)fp[FBLE_FP_CALLER];
    return (ouro_here *)(uintptr_t)caller[FBLE_FP_HERE];
}
static inline void fble_keep_here(const uint64_t *fp, fble_value here) {
    ((uint64_t *)(uintptr_t)fp[FBLE_FP_CALLER])[FBLE_FP_HERE] = here;
}
// Steps of bytecode: going on after a call, and entering.
fble_step fble_interpret, fble_interpret_enter;

// One per instruction: 1 if it counts as one.
extern const uint8_t fble_counts[FBLE_OPCODE_COUNT];

// Fails at the instruction that machine->pc is at, in the frame machine->fp.
void fble_fail_here(struct fble_machine *machine, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// Fails at the n-th spot of that instruction.
void fble_fail_spot(struct fble_machine *machine, uint32_t n, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Fails at the place that called the function whose frame is machine->fp.
void fble_fail_native(struct fble_machine *machine, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// Fails where memory has run out. The machine can only be asked for its error after that.
void fble_fail_no_memory(struct fble_machine *machine);

// A function in C, as code: natives are called, return and are charged like any other function.
// They are called as values, so fp[2] is theirs.
struct fble_native_code {
    struct fble_code code;
    fble_function *function; // of the C API
    uint64_t words[7];
    struct fble_site *site;
};

struct fble_native_code *fble_native_code(struct fble_machine *machine, const char *name,
                                          fble_native *native, uint32_t arity, ouro_block block);
void fble_code_own_value(struct fble_code *code); // sets code->self
// All code that can fail is known to the machine, to find the place of a pc.
void fble_add_code(struct fble_machine *machine, struct fble_code *code);

// Foreign functions of the runtime itself.
void fble_register_native(struct fble_machine *machine, const char *module, const char *name,
                          uint32_t arity, fble_native *native);
// Finds the value of a declaration; calls of it are charged to `block`. False: a function of no
// arguments failed.
bool fble_find_foreign(struct fble_machine *machine, struct fble_foreign_use *use,
                       ouro_block block);
fble_native fble_call_function, fble_native_do;
// The frame and the code of `do`, and its call sites.
enum { FBLE_DO_M = FBLE_FP_ARGS, FBLE_DO_F, FBLE_DO_UNIT, FBLE_DO_X, FBLE_DO_SLOTS };
enum { FBLE_DO_PC = 4, FBLE_DO_FIRST = 0, FBLE_DO_SECOND };
void fble_make_do(struct fble_machine *machine, struct fble_native_code *native);
fble_ref fble_ref_new(struct fble_machine *machine, fble_value value);
fble_value fble_run(struct fble_machine *machine, fble_value function, const fble_value *arguments,
                    uint32_t count);
void fble_add_root(struct fble_machine *machine, fble_value *values, size_t count);

// ---------------------------------------------------------------- std_values.c, std_natives.c

#define FBLE_EMPTY_LIST fble_wrap_immediate(FBLE_UNIT, 1, 1)
enum { FBLE_INT_BYTES = 66 * 16 }; // most that an int64_t takes

// Those that make values need room that was reserved before, but for strings and handles.
fble_value fble_union_value(struct fble_machine *machine, uint32_t tag, unsigned bits,
                            fble_value payload);
fble_value fble_int_value(struct fble_machine *machine, int64_t n);
fble_value fble_maybe(struct fble_machine *machine, fble_value value); // 0: nothing
fble_value fble_cons(struct fble_machine *machine, fble_value head, fble_value tail);
fble_value fble_string_value(struct fble_machine *machine, const char *utf8, size_t length);
fble_value fble_handle_value(struct fble_machine *machine, void *data, void (*release)(void *));

uint32_t fble_union_tag(fble_value value, unsigned bits);
fble_value fble_union_payload(fble_value value, unsigned bits);
bool fble_value_int(fble_value value, int64_t *n);
bool fble_value_char(fble_value value, int64_t *point);
char *fble_value_string(fble_value value, size_t *length);
fble_value fble_next_item(fble_value *list);
void *fble_handle_data(fble_value value);

void fble_register_std(struct fble_machine *machine);
// The arguments of a Main@: the monad, the record of io, both as natives.
fble_value fble_monad_value(struct fble_machine *machine);
fble_value fble_io_value(struct fble_machine *machine);

// ---------------------------------------------------------------- green.c

struct fble_thread *fble_thread_new(struct fble_machine *machine, size_t slots);
void fble_thread_free(struct fble_machine *machine, struct fble_thread *thread);
void fble_thread_ended(struct fble_machine *machine);
// As foreign values of that module: Fork, Wait, Link, Yield.
void fble_register_threads(struct fble_machine *machine, const char *module);

static inline struct fble_thread *fble_thread_of(const struct fble_object *object) {
    return (struct fble_thread *)(uintptr_t)(object->words[0] & ~(fble_value)1);
}

// ---------------------------------------------------------------- slices.c

// Remembers which of a module's blocks have the name whose calls are slices.
void fble_slice_blocks(struct fble_machine *machine, ouro_block first, const ouro_block_info *infos,
                       uint32_t count);
static inline bool fble_is_sliced(const struct fble_machine *machine, ouro_block block) {
    for (size_t i = 0; i < machine->slice_blocks.count; i++)
        if (machine->slice_blocks.at[i] == (void *)(uintptr_t)block) return true;
    return false;
}
// A call or tail call of such a block is about to be recorded, in this frame.
void fble_slice_call(struct fble_machine *machine, uint64_t *fp);
// What SLICE_END does; gives the real return pc.
const uint64_t *fble_slice_end(struct fble_machine *machine);
// A call of the code is about to be recorded: by what its site may know it. If calls are slices,
// nobody asks for that key, so that each is noticed.
ouro_key fble_call_key(struct fble_machine *machine, uint64_t *fp, const struct fble_code *code);
// Records a call that its site does not know, and gives where the thread stands then.
ouro_here *fble_enter_miss(struct fble_machine *machine, uint64_t *fp, ouro_here *here,
                           ouro_site site, const struct fble_code *code);

#endif
