// SPDX-License-Identifier: MIT
//
// The run-time part of the native host: what all its files share.
//
// Instrumented code calls a hook when a function is entered and when it is left. The hooks have no
// frame of their own to keep a token in, so each machine stack has an array of frames beside it.
//
//   frame     an instrumented function that was entered: the token to leave it with, which function
//             it is (key), and its address on the machine stack (height)
//   stack     a machine stack: of an OS thread, or of a coroutine, with its array of frames
//   self      the state of one OS thread, with the stack that it is on; the hot fields first
//   session   the profile of this process; another one after fork(2)
//   function  an address that was entered, and its block
//   sp        the stack pointer when the hook was called
//
// Height: bytes from the low end of the machine stack to sp. A callee is lower than its caller, or,
// inlined, at the same height. So:
//   - a function that is entered higher than the frame on top: the frames below it were abandoned
//     (longjmp, an exception) and are left now
//   - a height beyond the size of the stack: the program has changed its stack
//
// Signals. A handler may run between any two instructions of a hook. During an enter, all bits of
// the highest byte of `top` are set (no address has any there), which is above every limit. A hook
// that is called then puts its event into a queue, and the next event takes it from there. Leaving
// needs no such care: see hooks.c. The slow paths block all signals. An event during a slow path
// comes from a function that the slow path itself calls (the program's own malloc, instrumented),
// and is dropped.

#ifndef OURO_NATIVE_INTERNAL_H
#define OURO_NATIVE_INTERNAL_H

#include "ouro.h"

#include <signal.h>
#include <time.h>

typedef struct {
    uint64_t height;
    uint32_t key; // of the function: the low half of its address
    ouro_position token;
} native_frame;

typedef struct native_stack {
    uintptr_t low, size;
    native_frame *frames; // [0] is a sentinel: its height is `size`, its key 0
    native_frame *top;    // valid unless the stack is current; then it is in `self`
    native_frame *end;
    size_t reserved; // bytes from `frames` on, see stacks.c
    size_t unsaved;  // frames on top without memory
    ouro_thread *thread;
    ouro_position root;  // the token of the thread's name, see by_thread
    uint64_t generation; // of the session that `thread` belongs to
    uint64_t owner;      // the number of the OS thread whose lane it is
    bool coroutine;
    bool mirrored; // has a mirror, see sleds.c
} native_stack;

typedef struct {
    uintptr_t function;
    uintptr_t sp;
    int kind;
} native_event;

// Ticks in a function that has no block yet; see uncounted.c.
typedef struct {
    uintptr_t at;     // the function, or an instruction of a module that is not known
    ouro_block block; // they were charged to, below the caller; OURO_PHANTOM: to the caller
    uint32_t count;
    uint64_t time;
} native_tick;
enum { NATIVE_TICKS = 16 };

// Of an OS thread, see clock.c.
typedef struct {
    long thread;    // 0: it does not run
    uint64_t last;  // what the thread's time was at the last tick
    void *event;    // NULL: timers
    int descriptor; // that the signals of the event name
    int timers;     // 2: of elapsed time, and
    bool waits;     // while the thread waits, the other one
    timer_t timer, processor;
} native_clock;

typedef struct native_self {
    native_frame *top;   // the next free frame; marked during an enter
    native_frame *limit; // the end of the array; NULL: take the slow path
    uintptr_t low, size; // of the machine stack
    ouro_thread *thread;
    struct ouro_place *places; // the thread's
    uintptr_t mirror;          // what is added to an address of this stack, see mirror_of
    native_stack *stack;       // the current one
    bool busy;                 // on a slow path
    bool slow;                 // on a slow path, or at its end, where ticks come that waited
    bool dead;                 // the OS thread is ending and has no keys any more
    bool started;
    int endings;
    uint64_t number; // of the OS thread, never reused
    native_event *queue;
    size_t queued, queue_room;
    native_tick ticks[NATIVE_TICKS]; // that wait for the next event
    size_t tick_count;
    native_stack own;
    native_clock clock;
    native_stack *slice_stack; // the open slice ends with a frame of this one; NULL: it does not
    size_t slice_frame;        // its number
    struct native_self *next;  // of all OS threads
} native_self;

// Initial-exec: one load and no call. That is allowed because the library is loaded at the start.
extern __thread native_self ouro_native_self
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

enum { NATIVE_ENTER, NATIVE_EXIT, NATIVE_SLED_ENTER, NATIVE_SLED_TAIL, NATIVE_SLED_LEAVE };

// The mirror of an address, see sleds.c: far away, and at another place in its page. Of two
// addresses with the same place in a page a processor believes that they are one, and waits.
#define NATIVE_MIRROR_BIT 44
#define NATIVE_MIRROR_SHIFT 0x840
static inline uintptr_t mirror_of(uintptr_t at) {
    return (at ^ (uintptr_t)(UINT64_C(1) << NATIVE_MIRROR_BIT)) + NATIVE_MIRROR_SHIFT;
}

// A function's address in the upper 47 bits, its block in the lower 17: one word, so that a thread
// can read it while another writes.
enum { CACHE_BITS = 14, CACHE_BLOCK_BITS = 17 };
extern uint64_t ouro_native_cache[1 << CACHE_BITS] __attribute__((visibility("hidden")));

static inline uint64_t *cache_place(uintptr_t function) {
    return &ouro_native_cache[(function >> 4) & ((1 << CACHE_BITS) - 1)];
}

// An enter has begun: the mark.
#define NATIVE_ENTERING (UINT64_C(255) << 56)
static inline bool is_entering(const native_self *self) { return (intptr_t)self->top < 0; }
static inline native_frame *unmarked(native_frame *top) {
    return (native_frame *)((uintptr_t)top & ~(uintptr_t)NATIVE_ENTERING);
}

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define NATIVE_COLD __attribute__((noinline, cold))
#define HOOK_SECTION __attribute__((section("ouro_hooks"))) // see charge.c
#define APART __attribute__((noinline)) HOOK_SECTION // so that the hook saves fewer registers

// events.c: everything that is not the hot path of hooks.c
void ouro_native_event(uintptr_t function, uintptr_t sp, int kind);
bool ouro_native_sled_entered(uintptr_t function, uintptr_t sp, bool tail); // false: not recorded
void ouro_native_unwind(uintptr_t sp);
void ouro_native_settle(uintptr_t sp);
ouro_thread *ouro_native_thread_now(void);

// A slow path. begin returns false if nothing is to be done; signals are blocked until end.
typedef struct {
    sigset_t before;
    int error;
} native_section;
bool ouro_native_section_begin(native_section *section);
void ouro_native_section_end(const native_section *section);

// stacks.c
bool ouro_native_stack_init(native_stack *stack, uintptr_t low, uintptr_t size);
bool ouro_native_stack_grow(native_stack *stack);
void ouro_native_stack_drop(native_stack *stack);
void ouro_native_stack_of_thread(uintptr_t *low, uintptr_t *size);
bool ouro_native_on_signal_stack(uintptr_t sp, uintptr_t *low, uintptr_t *size);

// interpose_dlclose.c: a function of the unwinder, which is loaded for it; NULL if there is none.
void *ouro_native_unwinder(const char *name);

// mirror.c: makes sure of the mirror of a stack; gives its memory back.
bool ouro_native_mirror(uintptr_t low, uintptr_t size);
void ouro_native_mirror_clear(uintptr_t low, uintptr_t size);
void ouro_native_mirror_lock(bool lock);
native_stack *ouro_native_stack_known(uintptr_t sp); // a coroutine's, or NULL
native_stack *ouro_native_stack_find(uintptr_t sp);
void ouro_native_stack_add(uintptr_t low, uintptr_t size);
void ouro_native_stacks_lock(bool lock);

// session.c
typedef struct {
    ouro_profile *profile; // NULL: not begun, or failed
    ouro_profile *counted; // the live file; `profile`, unless recording is switched off
    uint64_t generation;   // counts fork(2), and how often recording was switched on or off
    uint64_t forked;       // the generation after the last fork(2)
    bool off;
    bool memory;    // count allocations
    bool by_thread; // names of threads are roots
    bool wall;      // the clock measures elapsed time
    bool hz_asked;  // the user has named the rate
    unsigned hz;    // 0: no clock
} native_session;
extern native_session ouro_native_session __attribute__((visibility("hidden")));
bool ouro_native_session_begin(void);
bool ouro_native_thread_begin(void);
// A note for `ouro run`: the file PID.MARK with this ending. `.deep`: a stack has very many frames.
// `.rare` and `.waits`: see tell.c.
void ouro_native_note(const char *ending);
// In the names of this process's files: .MARK of the run that started it, "" if it has none.
const char *ouro_native_mark(void);

// clock.c: of the calling OS thread.
void ouro_native_clock_start(native_self *self);
void ouro_native_clock_stop(native_self *self);

// signals.c. A handler returns whether the signal was for it. SIGURG is for ticks: programs without
// a handler for it ignore it, also after exec; the kernel does not queue it, so ticks do not pile
// up where they are blocked; and debuggers pass it on.
#define TICK_SIGNAL SIGURG
#define SWITCH_SIGNAL (SIGRTMAX - 3)
typedef bool native_signal_handler(const siginfo_t *info, void *context);
bool ouro_native_signal_take(int number, native_signal_handler *handler);
// What sigaction does, for the program. False: it is no signal of ours.
bool ouro_native_signal_action(int number, const struct sigaction *action,
                               struct sigaction *before);
sigset_t ouro_native_signals_without(const sigset_t *set);

// interpose_signal.c: the C library's.
int ouro_native_real_sigaction(int number, const struct sigaction *action,
                               struct sigaction *before);

// switch.c: recording is switched on and off by a signal. While it is off, events go to a profile
// that nobody reads, so that frames stay true and the hot path stays as it is.
void ouro_native_switch_start(bool off);
void ouro_native_switch_now(void); // on a slow path: does what was asked for
bool ouro_native_switch_waits(void);
void ouro_native_switch_block(ouro_block block); // was added to the counted profile
void ouro_native_switch_add(native_self *self);
void ouro_native_switch_remove(native_self *self);
void ouro_native_switch_in_child(native_self *self);
void ouro_native_switch_lock(bool lock);
void ouro_native_switch_rename(void); // some thread has another name
void ouro_native_switch_slow(void);   // all take the slow path at their next event

// functions.c: of a function that is entered; of one that is not, for its time. False: no memory.
// *block is OURO_PHANTOM if it was ever entered.
ouro_block ouro_native_block_of(uintptr_t function);
bool ouro_native_block_of_uncounted(uintptr_t function, ouro_block *block);
ouro_block ouro_native_block_by_key(uint32_t key);
ouro_block ouro_native_block_of_name(const char *name); // of a thread
void ouro_native_forget_unloaded(void);
void ouro_native_functions_lock(bool lock);

// uncounted.c
void ouro_native_uncounted_start(void);
// In the handler of the clock: false if the tick is for where the thread stands.
bool ouro_native_uncounted_tick(uintptr_t at, ouro_thread *thread, uint64_t time);
void ouro_native_uncounted_settle(native_self *self);   // moves the ticks that wait
void ouro_native_uncounted_entered(uintptr_t function); // under the lock of functions.c
void ouro_native_uncounted_forget(bool (*is_loaded)(const void *user, uintptr_t at),
                                  const void *user); // under that lock

// named.c: how many there are; at most `most`.
size_t ouro_native_functions_named(uintptr_t base, const char *path, const char *name,
                                   uintptr_t *functions, size_t most);
// The name of the function at an address as the file counts, by symbols for the loader; or NULL.
const char *ouro_native_name_in_memory(const void *bytes, size_t size, uintptr_t function);

// slices.c
void ouro_native_slice_module(uintptr_t base, const char *path); // looks for the function there
bool ouro_native_is_sliced(uintptr_t function);
// A function is about to be entered: the key of its frame. A slice begins if it is its turn.
uint32_t ouro_native_slice_enter(native_self *self, uintptr_t function);
void ouro_native_slice_exit(native_self *self);
ouro_slice_options ouro_native_slice_options(const ouro_metric_info *metrics, size_t count);

// sleds.c: the sleds of a module, by sled_table.c.
OURO_API void ouro_native_sleds_(const uintptr_t *from, const uintptr_t *to);

// charge.c
enum { METRIC_TIME, METRIC_RECORDING, METRIC_SAMPLES, METRIC_ALLOCATED, METRIC_ALLOCATIONS };
void ouro_native_count_tick(ouro_thread *thread, ouro_metric metric, uint64_t amount);
void ouro_native_charge(ouro_thread *thread, ouro_metric metric, uint64_t amount,
                        const void *context);

#endif
