// SPDX-License-Identifier: MIT
//
// Ouro: a call-path profiler for language runtimes.
//
// A runtime tells Ouro when the program enters a block, leaves it, or replaces it (a tail call),
// and charges what it likes to the place where the program stands. Ouro keeps a tree of canonical
// paths: recursion is compacted while the program runs, so the tree follows the code and not the
// running time.
//
//     ouro_profile *profile = ouro_profile_new(NULL);
//     ouro_block body = ouro_add_block(profile, &(ouro_block_info){"main", "main.x", 1, 1});
//     ouro_thread *thread = ouro_thread_new(profile);
//
//     ouro_position caller = ouro_enter(thread, body);     // keep `caller` in your own frame
//     ouro_sample(thread, 1);
//     ouro_exit(thread, caller);                           // and give it back
//
//     ouro_thread_free(thread);
//     ouro_profile_write(profile, "main.pb");              // go tool pprof main.pb
//     ouro_profile_free(profile);
//
// WORDS
//   block     a place in the program that is charged: a function, a let binding, a branch
//   position  where a thread stands: one node of the tree
//   path      the blocks from the root to a position; canonical: with its recursion compacted
//   metric    a thing that is counted
//   lane      the part of a profile that one OS thread writes, without locks
//
// THREADS AND SIGNALS, in general
//   A function that takes a profile may be called from any OS thread at any time, also while other
//   OS threads record. A function that takes a thread belongs to the OS thread that runs it: the
//   thread, its forks and their forks form one lane, and a lane is used by one OS thread at a time.
//   Nothing here may be called from a signal handler but sample and count. The library installs one
//   signal handler, in ouro_clock_start, and that is async-signal-safe at every moment.
//
// OFF MEANS OFF
//   An `ouro_thread *` or `ouro_profile *` may be NULL everywhere. Then nothing is recorded, and
//   enter, exit, replace, sample and count cost one predictable branch.
//
// FAILURE
//   Creating functions return NULL or -1 and set errno. Recording cannot fail: what finds no memory
//   is charged to the block `[lost]`, what the cap removed to `[pruned]`, and both are shown.
//
// MISUSE (an exit without an enter, a token of another thread of the same profile, a block id that
// was never given out) does not corrupt memory. Builds with assertions stop; others charge `[lost]`
// or ignore it, as each function says. A freed object must not be used.

#ifndef OURO_H
#define OURO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OURO_VERSION "0.1.0"

#if defined(__GNUC__)
#define OURO_API __attribute__((visibility("default")))
#define OURO_LIKELY_(x) __builtin_expect(!!(x), 1)
// In a program that is itself instrumented (hosts/native), recording is not to be recorded.
#if defined(__clang__)
#define OURO_QUIET_ __attribute__((no_instrument_function, xray_never_instrument))
#else
#define OURO_QUIET_ __attribute__((no_instrument_function))
#endif
#define OURO_INLINE_ static inline OURO_QUIET_
#else
#error "ouro.h needs GCC or Clang"
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ouro_profile ouro_profile;
typedef struct ouro_thread ouro_thread;
typedef uint32_t ouro_block;
typedef uint32_t ouro_position;
typedef uint32_t ouro_metric;

// ---------------------------------------------------------------- blocks that are always there

// Entering OURO_PHANTOM keeps the position and charges nothing, not even a call: for code that does
// not want to be profiled in the middle of code that does. It is 0, so a zeroed field is phantom.
#define OURO_PHANTOM ((ouro_block)0)
// What could not be recorded for want of memory, and entries with a block id that does not exist.
// Stands directly under the root. Not for entering.
#define OURO_LOST ((ouro_block)1)
// The account of what the cap removed below a path. Not for entering.
#define OURO_PRUNED ((ouro_block)2)

// ---------------------------------------------------------------- profiles

// The four compaction rules; docs/algorithm.md says what each keeps exact.
enum {
    OURO_LOOPS = 0,  // a step may be repeated only after something new: every number exact
    OURO_CYCLES = 1, // a repeated tail of the path is dropped
    OURO_EDGES = 2,  // no `edge_length` adjacent blocks twice on a path
    OURO_NONE = 3    // the plain calling context tree
};

enum { OURO_METRICS_MAX = 8 };

typedef struct {
    const char *name, *file; // UTF-8, copied; NULL is taken as ""
    uint32_t line, column;   // from 1; 0 = not known
} ouro_block_info;

typedef struct {
    const char *name, *unit; // copied; a metric needs a name
} ouro_metric_info;

// Zero is the default, in every field: `(ouro_options){0}` is a good start, and so is NULL.
typedef struct {
    int compaction;                  // OURO_LOOPS ...
    int edge_length;                 // OURO_EDGES: 1, 2 or 3; 0 = 2
    uint32_t max_nodes;              // the cap; 0 = 1,000,000; from 2 to 134,000,000
    const ouro_metric_info *metrics; // NULL = one metric, samples/count
    size_t metric_count;             // at most OURO_METRICS_MAX
    const char *path;                // the live file; NULL = memory only; see below
    bool disabled;                   // begin disabled, see ouro_profile_enable
    int clock_signal;                // signal of ouro_clock_start; 0 = SIGPROF
    bool cpu_clock;                  // the clock measures processor time of its OS thread
} ouro_options;

// Makes a profile. Options and all they point to are copied.
// NULL with errno: EINVAL (an option out of range), ENOMEM, or what creating the live file gave.
//
// The live file. With `path`, the tree stands in a shared mapping of that file, so that `ouro view`
// can read it while the program runs, and after it was killed. Its space is reserved here (about
// 1 MB, and 130 bytes per node of the cap for one metric), so that a full disk is ENOSPC now and
// not a SIGBUS later. Put it on a tmpfs (/dev/shm, /run/user/UID): the kernel then never writes it
// out. An existing file of that name is replaced, and a process that still writes to the old one is
// not disturbed. A child of fork(2) has its own copy of the profile in memory and leaves the file
// to its parent.
//
// Memory: each OS thread that records reserves address space for the whole cap (128 MB with the
// defaults), of which only what is used is ever touched. Set max_nodes lower where `ulimit -v` or a
// strict overcommit policy makes address space dear.
OURO_API ouro_profile *ouro_profile_new(const ouro_options *options);

// Frees the profile, its blocks and its lanes; a live file stays, marked as finished.
// Free all its threads first.
OURO_API void ouro_profile_free(ouro_profile *profile);

// While disabled, ouro_thread_new, _fork and _spawn return NULL, so what starts then pays one
// branch per call, also a green thread of a thread that records. Threads that exist go on
// recording. Any OS thread, O(1).
OURO_API void ouro_profile_enable(ouro_profile *profile, bool enabled);

// Adds one block, or n blocks with consecutive ids, and returns the first id. Never merges: two
// calls with the same text give two blocks. n = 0 returns the id that would come next. Any OS
// thread, also while threads record. O(length of the text).
// On failure OURO_PHANTOM, with errno: use OURO_PHANTOM itself for all n blocks then, and the code
// is simply not profiled.
OURO_API ouro_block ouro_add_block(ouro_profile *profile, const ouro_block_info *info);
OURO_API ouro_block ouro_add_blocks(ouro_profile *profile, const ouro_block_info *infos, size_t n);

// Fills *info with the profile's own copy of a block, which lives as long as the profile. Returns
// false, and leaves *info alone, if there is no such block. The three blocks above are blocks.
OURO_API bool ouro_block_get(const ouro_profile *profile, ouro_block block, ouro_block_info *info);

// ---------------------------------------------------------------- threads

// A new thread that stands at the root, in a lane of its own (a lane whose threads have all been
// freed is used again). NULL while disabled, or with errno ENOMEM (a live file: ENOSPC). It may be
// made by one OS thread and used by another.
OURO_API ouro_thread *ouro_thread_new(ouro_profile *profile);

// A green thread: starts where `parent` stands and shares its lane, so it must run on the same OS
// thread. The frames that are open there are its parent's to exit, not its own. O(1), a malloc of 48
// bytes. NULL as ouro_thread_new.
OURO_API ouro_thread *ouro_thread_fork(ouro_thread *parent);

// A thread that may run on another OS thread: it gets a lane of its own, in which the path of
// `parent` is re-entered (without counting calls). Call it on the parent's OS thread. O(length of
// the path). NULL as ouro_thread_new.
OURO_API ouro_thread *ouro_thread_spawn(ouro_thread *parent);

// Ends a thread. What it charged stays. Leave the blocks first: what is still entered counts as
// open for the cap and can never be pruned. Call it on the OS thread that uses the lane, or when
// that is through with it; a running clock is stopped, so then stop it there first.
OURO_API void ouro_thread_free(ouro_thread *thread);

// ---------------------------------------------------------------- recording: private parts

// One node of the tree. A position is the offset of its node in the lane's array of words.
// Everything but the counters changes only on the slow path; see src/lib/internal.h.
typedef struct {
    uint64_t entries[3];  // by tree edge, by back edge, by back edge to itself
    uint64_t balance;     // phantom entries - exits; entries + balance = how often it is open
    uint32_t memo_block;  // the transition that was taken last: block entered,
    uint32_t memo_slot;   // counter to increment,
    uint32_t memo_target; // position to go to
    uint32_t block;       // 0: this node is not in use
    uint32_t parent;      // position
    uint32_t reserved;
    uint64_t metrics[1]; // really the profile's number of metrics
} ouro_node_;

// Transitions of a lane that were taken lately, by a hash of source and block: from | slot << 32.
// The entry is the right one if its source is, and its target has the block.
typedef struct {
    uint32_t shift;      // of the hash: there are 1 << (32 - shift) entries
    uint64_t entries[2]; // at least
} ouro_shortcuts_;

struct ouro_lane_;
struct ouro_clock_;

struct ouro_thread {
    uint64_t *nodes_;        // the lane's array of words
    ouro_position position_; // always a node of that array; read by the clock's handler
    uint32_t metric_count_;
    struct ouro_lane_ *lane_;
    ouro_shortcuts_ **shortcuts_; // the lane's
    struct ouro_clock_ *clock_;
    ouro_thread *next_, *previous_; // of the same lane
};

// Counters have one writer, but readers and a signal handler look on. On x86-64 one instruction
// does it, which no signal can split; elsewhere relaxed atomics, which cost a little more.
#if defined(__SANITIZE_THREAD__)
#define OURO_ATOMIC_ADD_ 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define OURO_ATOMIC_ADD_ 1
#endif
#endif
#if !defined(OURO_ATOMIC_ADD_) && !defined(__x86_64__)
#define OURO_ATOMIC_ADD_ 1
#endif

OURO_INLINE_ void ouro_increment_(uint64_t *counter) {
#ifdef OURO_ATOMIC_ADD_
    __atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
#else
    __asm__("incq %0" : "+m"(*counter) : : "cc");
#endif
}

OURO_INLINE_ void ouro_decrement_(uint64_t *counter) {
#ifdef OURO_ATOMIC_ADD_
    __atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) - 1, __ATOMIC_RELAXED);
#else
    __asm__("decq %0" : "+m"(*counter) : : "cc");
#endif
}

// The clock's handler may add to the same counter between any two instructions.
OURO_INLINE_ void ouro_add_(uint64_t *counter, uint64_t n) {
#ifdef OURO_ATOMIC_ADD_
    __atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
#else
    __asm__("addq %1, %0" : "+m"(*counter) : "er"(n) : "cc");
#endif
}

OURO_INLINE_ ouro_node_ *ouro_node_at_(const ouro_thread *thread, ouro_position position) {
    return (ouro_node_ *)(void *)(thread->nodes_ + position);
}

// One plain store; atomic only so that the compiler does not keep it back from the clock's handler.
OURO_INLINE_ void ouro_move_(ouro_thread *thread, ouro_position position) {
    __atomic_store_n(&thread->position_, position, __ATOMIC_RELAXED);
}

OURO_INLINE_ uint32_t ouro_shortcut_hash_(ouro_position from, ouro_block block) {
    return (from ^ block * UINT32_C(0x85EBCA6B)) * UINT32_C(0x9E3779B1);
}

// Finds the slot of a transition, if it is among them. An empty entry leads to the root, whose block
// is none that can be entered.
OURO_INLINE_ bool ouro_shortcut_(const ouro_thread *thread, ouro_position from, ouro_block block,
                                 uint32_t *slot) {
    const ouro_shortcuts_ *shortcuts = __atomic_load_n(thread->shortcuts_, __ATOMIC_RELAXED);
    const uint64_t *entries = shortcuts->entries;
    uint64_t entry = entries[ouro_shortcut_hash_(from, block) >> shortcuts->shift];
    *slot = (uint32_t)(entry >> 32);
    uint32_t target_block = ouro_node_at_(thread, *slot & ~UINT32_C(3))->block;
    return (((uint32_t)entry ^ from) | (target_block ^ block)) == 0;
}

OURO_API void ouro_enter_miss_(ouro_thread *thread, ouro_block block);
OURO_API void ouro_replace_miss_(ouro_thread *thread, ouro_block block);

// ---------------------------------------------------------------- recording

// Enters a block: one call is counted, and the thread moves to the path that has `block` added, or
// back to an earlier position where the compaction rule says so. Returns the caller's position:
// keep it in the caller's or callee's frame, and give it to ouro_exit. 12 instructions when the
// same block was entered from here the last time, 37 or more when it was ever entered from here; the
// first time costs a walk up the path (at most 4,096 nodes).
// Misuse: a block id that does not exist, or is not for entering, is charged to [lost].
OURO_INLINE_ ouro_position ouro_enter(ouro_thread *thread, ouro_block block) {
    if (!thread) return 0;
    ouro_position caller = thread->position_;
    ouro_node_ *node = ouro_node_at_(thread, caller);
    if (OURO_LIKELY_(node->memo_block == block)) {
        ouro_increment_(&thread->nodes_[node->memo_slot]);
        ouro_move_(thread, node->memo_target);
    } else {
        ouro_enter_miss_(thread, block);
    }
    return caller;
}

// Enters a block if that needs no search. False, and nothing has happened: call ouro_enter. For code
// that has its slow path elsewhere, as hooks do. ouro_thread_position before it is what ouro_enter
// would return. The thread must not be NULL.
OURO_INLINE_ bool ouro_try_enter(ouro_thread *thread, ouro_block block) {
    ouro_position caller = thread->position_;
    const ouro_node_ *node = ouro_node_at_(thread, caller);
    if (node->memo_block == block) {
        ouro_increment_(&thread->nodes_[node->memo_slot]);
        ouro_move_(thread, node->memo_target);
        return true;
    }
    // The memo stays: whoever goes to and fro is easier to guess for the processor then.
    uint32_t slot;
    if (!ouro_shortcut_(thread, caller, block, &slot)) return false;
    ouro_increment_(&thread->nodes_[slot]);
    ouro_move_(thread, slot & ~UINT32_C(3));
    return true;
}

// As ouro_enter, but no call is counted: for a path that the host lays out again. A stack that was
// sampled, frames that were open before recording began or in another profile (a child of fork(2)),
// a green thread that goes on below another caller. Left with ouro_exit. 20 to 80 instructions.
OURO_API ouro_position ouro_reenter(ouro_thread *thread, ouro_block block);

// Where a thread stands: equal as long as it is the same path. 0 for NULL.
OURO_INLINE_ ouro_position ouro_thread_position(const ouro_thread *thread) {
    return thread ? thread->position_ : 0;
}

// A tail call: leaves the current block and enters `block` in one go, on the path of the block that
// is left: after A calls B and B tail calls C, the path is A/B/C, and the exit with A's token leads
// back to A. The token of the enter before it stays valid and is the one to give to ouro_exit. At
// the root it is an enter. Cost and misuse as ouro_enter.
OURO_INLINE_ void ouro_replace(ouro_thread *thread, ouro_block block) {
    if (!thread) return;
    ouro_node_ *node = ouro_node_at_(thread, thread->position_);
    if (OURO_LIKELY_(node->memo_block == block)) {
        ouro_decrement_(&node->balance);
        ouro_increment_(&thread->nodes_[node->memo_slot]);
        ouro_move_(thread, node->memo_target);
    } else {
        ouro_replace_miss_(thread, block);
    }
}

// Leaves the current block; `caller` is what ouro_enter returned. An outer frame's token is as good
// (longjmp, exceptions): the thread is then where that frame was. The frames in between then count
// as open, that is, the cap never evicts their nodes; call exit for each where you can. 6
// instructions. Misuse: an exit too many has no effect; a token of another thread of the same
// profile leads to some position of this thread's lane or to [lost], never outside.
OURO_INLINE_ void ouro_exit(ouro_thread *thread, ouro_position caller) {
    if (!thread) return;
    ouro_decrement_(&ouro_node_at_(thread, thread->position_)->balance);
    ouro_move_(thread, caller);
}

// Charges n to the current position: metric 0, or any metric of the profile. 5 and 7 instructions.
// Misuse: a metric that does not exist is ignored (metric 0 is, if the profile has no metrics).
OURO_INLINE_ void ouro_count(ouro_thread *thread, ouro_metric metric, uint64_t n) {
    if (!thread || metric >= thread->metric_count_) return;
    ouro_add_(ouro_node_at_(thread, thread->position_)->metrics + metric, n);
}

OURO_INLINE_ void ouro_sample(ouro_thread *thread, uint64_t n) {
    if (!thread) return;
    // A node has room for metric 0 even if the profile has none.
    ouro_add_(ouro_node_at_(thread, thread->position_)->metrics, n);
}

// ---------------------------------------------------------------- recording from a loop

// What the functions above load each time, an interpreter's loop can hold in registers: a cursor is
// a copy of where a thread stands. While it is in use, the thread must be moved by it alone; make a
// new one after anything else may have recorded (a native that runs code, a switch of threads). The
// thread itself is always up to date, so the clock and ouro_count work as ever.
typedef struct {
    ouro_thread *thread;
    uint64_t *nodes_;
    ouro_position position_;
} ouro_cursor;

// What a place in the code remembers of the last time: one per call site, 0 at first, for the
// threads of one lane. That of another site is as safe, but not as fast.
typedef uint32_t ouro_hint;

// The thread must not be NULL.
OURO_INLINE_ ouro_cursor ouro_cursor_new(ouro_thread *thread) {
    ouro_cursor cursor = {thread, thread->nodes_, thread->position_};
    return cursor;
}

OURO_INLINE_ void ouro_cursor_move_(ouro_cursor *cursor, ouro_position position) {
    cursor->position_ = position;
    ouro_move_(cursor->thread, position);
}

// Does the hint name the node of `block` below the cursor? A node is what its parent and its block
// say, so a hint that is out of date cannot lead astray. OURO_PHANTOM has no nodes: 0 is the block
// of those that are not in use.
OURO_INLINE_ ouro_node_ *ouro_cursor_hinted_(const ouro_cursor *cursor, ouro_block block,
                                             ouro_hint hint) {
    ouro_node_ *node = (ouro_node_ *)(void *)(cursor->nodes_ + hint);
    return block && node->parent == cursor->position_ && node->block == block ? node : NULL;
}

OURO_INLINE_ void ouro_cursor_missed_(ouro_cursor *cursor, ouro_hint *hint) {
    ouro_position before = cursor->position_;
    cursor->position_ = cursor->thread->position_;
    if (ouro_node_at_(cursor->thread, cursor->position_)->parent == before)
        *hint = cursor->position_;
}

// As ouro_enter, ouro_replace, ouro_exit and ouro_sample.
OURO_INLINE_ ouro_position ouro_cursor_enter(ouro_cursor *cursor, ouro_block block,
                                             ouro_hint *hint) {
    ouro_position caller = cursor->position_;
    ouro_node_ *node = (ouro_node_ *)(void *)(cursor->nodes_ + caller);
    if (OURO_LIKELY_(node->memo_block == block)) {
        ouro_increment_(&cursor->nodes_[node->memo_slot]);
        ouro_cursor_move_(cursor, node->memo_target);
    } else if ((node = ouro_cursor_hinted_(cursor, block, *hint))) {
        ouro_increment_(&node->entries[0]);
        ouro_cursor_move_(cursor, *hint);
    } else {
        ouro_enter_miss_(cursor->thread, block);
        ouro_cursor_missed_(cursor, hint);
    }
    return caller;
}

OURO_INLINE_ void ouro_cursor_replace(ouro_cursor *cursor, ouro_block block, ouro_hint *hint) {
    ouro_node_ *here = (ouro_node_ *)(void *)(cursor->nodes_ + cursor->position_), *node;
    if (OURO_LIKELY_(here->memo_block == block)) {
        ouro_decrement_(&here->balance);
        ouro_increment_(&cursor->nodes_[here->memo_slot]);
        ouro_cursor_move_(cursor, here->memo_target);
    } else if ((node = ouro_cursor_hinted_(cursor, block, *hint))) {
        ouro_decrement_(&here->balance);
        ouro_increment_(&node->entries[0]);
        ouro_cursor_move_(cursor, *hint);
    } else {
        ouro_replace_miss_(cursor->thread, block);
        ouro_cursor_missed_(cursor, hint);
    }
}

OURO_INLINE_ void ouro_cursor_exit(ouro_cursor *cursor, ouro_position caller) {
    ouro_node_ *node = (ouro_node_ *)(void *)(cursor->nodes_ + cursor->position_);
    ouro_decrement_(&node->balance);
    ouro_cursor_move_(cursor, caller);
}

OURO_INLINE_ void ouro_cursor_sample(const ouro_cursor *cursor, uint64_t n) {
    ouro_add_(((ouro_node_ *)(void *)(cursor->nodes_ + cursor->position_))->metrics, n);
}

// ---------------------------------------------------------------- recording from compiled code

// Where a thread stands, as compiled code holds it in a register: the address of its node.
typedef uintptr_t ouro_place;

OURO_INLINE_ ouro_place ouro_place_of(const uint64_t *nodes, ouro_position position) {
    return (ouro_place)(nodes + position);
}

OURO_INLINE_ ouro_position ouro_place_position(const uint64_t *nodes, ouro_place place) {
    return (ouro_position)((const uint64_t *)place - nodes);
}

// The thread does not follow such code: whoever calls anything else of this library for the thread
// (also ouro_way_enter and ouro_way_replace) first says where it stands. For threads without a
// clock, which looks at any time.
OURO_INLINE_ ouro_place ouro_thread_place(const ouro_thread *thread) {
    return ouro_place_of(thread->nodes_, thread->position_);
}

OURO_INLINE_ void ouro_thread_move(ouro_thread *thread, ouro_place place) {
    ouro_move_(thread, ouro_place_position(thread->nodes_, place));
}

// What a call site remembers: from where it entered what, and where that led to. So entering it again
// from there is a compare, an increment and two loads. Zero: nothing.
typedef struct {
    const void *callee; // the host's: what a site entered that enters several things
    uint64_t *counter_;
    ouro_place from_, to_;
} ouro_way;

// Tables of ways, for the threads of one lane. The cap empties them when it removes something.
typedef struct ouro_ways {
    ouro_way *at;
    size_t count;
    struct ouro_ways *next_;
} ouro_ways;

// Empties a table and makes it known to the lane of `thread`, on the OS thread that uses it. Table
// and ways are the caller's, and must stay until the last thread of the lane is freed.
OURO_API void ouro_ways_add(ouro_thread *thread, ouro_ways *ways);

// Does the way begin here? Then it may be followed, if it is that of what is to be entered, and leads
// to the place that is given back; the old one is the token. For a tail call, ouro_place_leave comes
// first, as it does when a function returns; its token is then the place.
OURO_INLINE_ bool ouro_way_fits(const ouro_way *way, ouro_place place) {
    return OURO_LIKELY_(way->from_ == place);
}

OURO_INLINE_ ouro_place ouro_way_follow(const ouro_way *way) {
    ouro_increment_(way->counter_);
    return way->to_;
}

OURO_INLINE_ void ouro_place_leave(ouro_place place) {
    ouro_decrement_(&((ouro_node_ *)place)->balance);
}

OURO_INLINE_ void ouro_place_sample(ouro_place place, uint64_t n) {
    ouro_add_(((ouro_node_ *)place)->metrics, n);
}

// A way that leaves the tree, for want of room, is not learned.
OURO_INLINE_ void ouro_way_learn_(ouro_way *way, const ouro_thread *thread, ouro_position from,
                                  ouro_block block, const void *callee) {
    const ouro_node_ *node = ouro_node_at_(thread, from);
    if (node->memo_block != block) return;
    way->callee = callee;
    way->counter_ = thread->nodes_ + node->memo_slot;
    way->from_ = ouro_place_of(thread->nodes_, from);
    way->to_ = ouro_place_of(thread->nodes_, node->memo_target);
}

// As ouro_enter and ouro_replace; the way learns. `callee` must stand for `block`.
OURO_INLINE_ ouro_position ouro_way_enter(ouro_way *way, ouro_thread *thread, ouro_block block,
                                          const void *callee) {
    ouro_position caller = ouro_enter(thread, block);
    ouro_way_learn_(way, thread, caller, block, callee);
    return caller;
}

OURO_INLINE_ void ouro_way_replace(ouro_way *way, ouro_thread *thread, ouro_block block,
                                   const void *callee) {
    ouro_position from = thread->position_;
    ouro_replace(thread, block);
    ouro_way_learn_(way, thread, from, block, callee);
}

// ---------------------------------------------------------------- the clock

// Starts a timer (CLOCK_MONOTONIC) that charges the position of `thread` hz times a second: the
// number of nanoseconds since the last tick if the metric's unit is "nanoseconds", else the number
// of ticks. hz = 0 is 997. Call it on the OS thread that runs `thread`: the signal comes to that OS
// thread. Recording costs nothing more while it runs; system calls may end early with EINTR
// (SA_RESTART is set; with ouro_options.cpu_clock a thread that waits gets no signal, and the time
// that it waits is not charged). A child of fork(2) has no clock. One clock per thread. 0, or -1
// with errno: EINVAL (no such metric, hz above 100,000), EBUSY (this thread has a clock, or the
// program handles the signal itself: choose another, ouro_options.clock_signal), EAGAIN (too many
// timers).
OURO_API int ouro_clock_start(ouro_thread *thread, ouro_metric metric, unsigned hz);

// Lets the clock of `from` charge `to` from now on: for a scheduler that switches green threads.
// Without a system call. Both must be of one lane; if `to` has a clock already, or `from` has none,
// nothing happens. `to` NULL: the clock charges nobody and stays with `from`, until it is moved on.
OURO_API void ouro_clock_move(ouro_thread *from, ouro_thread *to);

// Stops the clock, if there is one: on the OS thread that started it, or when that has ended.
OURO_API void ouro_clock_stop(ouro_thread *thread);

// ---------------------------------------------------------------- reading

typedef struct {
    const ouro_block *path;  // root first, the root itself not included
    size_t length;           // 0: the root, visited only if something was charged to it
    uint64_t calls;          // all entries,
    uint64_t recursions;     // of these through a back edge,
    uint64_t direct;         // of these from the block to itself
    const uint64_t *metrics; // self, one per metric of the profile
    bool pruned;             // the [pruned] account of `path`: what the cap removed below it
    // What the path and all below it may have lost to the cap before it came back, at most: calls,
    // then one per metric. All zero unless something was pruned or overflowed.
    const uint64_t *missing;
} ouro_visit;

// The visit and all it points to are valid during the call.
typedef void ouro_visitor(void *user, const ouro_visit *visit);

// Calls `visitor` for every canonical path, parents before children, children by block id, the
// [pruned] account of a path last of its children; lanes merged by path. The numbers are those of
// one moment per lane; what running threads add meanwhile is in or not. May be called at any time
// from any OS thread; recording threads wait at most while their lane is copied, and only if they
// take a new path. The visitor may call anything. Returns 0, or -1 with ENOMEM before the first
// call.
OURO_API int ouro_profile_visit(ouro_profile *profile, ouro_visitor *visitor, void *user);

// Writes the profile in pprof's format, uncompressed: `go tool pprof FILE` reads it. Sample types
// are calls/count, recursions/count, then the metrics. Complete or not at all: written beside
// `path` and then renamed. Paths of more than 4,096 blocks are cut, under a [truncated] root. Any
// OS thread, any time. 0, or -1 with errno.
OURO_API int ouro_profile_write(ouro_profile *profile, const char *path);

typedef struct {
    uint64_t
        nodes; // positions in memory, over all lanes, the root (once) included; at most max_nodes
    uint64_t max_nodes; // the cap
    uint64_t bytes;     // memory in use for nodes, memos, blocks and texts
    uint64_t pruned;    // positions evicted so far, over and over
    // Calls that found the cap full of open nodes and were charged to an account at once. If a
    // program recurses from there to blocks above, nodes in between have what belongs further up,
    // and recursions are counted as plain calls. 0 for any sensible cap.
    uint64_t overflow;
    // Every context whose share of any metric (or of the calls) is above this has a position.
    // 0 until something is pruned or overflows.
    double threshold;
    uint64_t lanes;                     // OS threads' parts, ended ones included
    uint64_t blocks;                    // with the three that are always there
    uint64_t lost;                      // calls charged to [lost]
    uint64_t calls, recursions, direct; // totals; what was pruned or lost is in them
    uint64_t totals[OURO_METRICS_MAX];  // one per metric
} ouro_stats;

// Any OS thread, any time. O(nodes).
OURO_API ouro_stats ouro_profile_stats(const ouro_profile *profile);

// ---------------------------------------------------------------- a stack, for hosts that have
// only hooks

// Keeps the tokens for hosts that cannot put them into frames of their own. One per green thread,
// used like its thread. `thread` may be NULL: then nothing is recorded but the depth is still kept.
typedef struct {
    ouro_thread *thread;
    ouro_position *tokens_;
    size_t depth, capacity_;
    size_t unsaved_; // frames on top whose tokens found no memory
} ouro_stack;

OURO_INLINE_ void ouro_stack_init(ouro_stack *stack, ouro_thread *thread) {
    stack->thread = thread;
    stack->tokens_ = NULL;
    stack->depth = stack->capacity_ = stack->unsaved_ = 0;
}

// Frees the stack's memory after leaving all that is open on it. The thread stays the caller's.
OURO_API void ouro_stack_clear(ouro_stack *stack);

OURO_API bool ouro_stack_grow_(ouro_stack *stack);

// Enters a block. If there is no memory for the token, the frame is counted but not recorded.
OURO_INLINE_ void ouro_stack_push(ouro_stack *stack, ouro_block block) {
    if (stack->depth == stack->capacity_ && !ouro_stack_grow_(stack)) {
        stack->unsaved_++;
        return;
    }
    stack->tokens_[stack->depth++] = ouro_enter(stack->thread, block);
}

// A tail call of the block on top. On an empty stack: a push.
OURO_INLINE_ void ouro_stack_replace(ouro_stack *stack, ouro_block block) {
    if (stack->unsaved_) return;
    if (stack->depth == 0) {
        ouro_stack_push(stack, block);
    } else {
        ouro_replace(stack->thread, block);
    }
}

// Leaves the block on top. On an empty stack: nothing.
OURO_INLINE_ void ouro_stack_pop(ouro_stack *stack) {
    if (stack->unsaved_) {
        stack->unsaved_--;
    } else if (stack->depth) {
        ouro_exit(stack->thread, stack->tokens_[--stack->depth]);
    }
}

// The number of blocks that were pushed and not popped.
OURO_INLINE_ size_t ouro_stack_depth(const ouro_stack *stack) {
    return stack->depth + stack->unsaved_;
}

// Pops until the depth is `depth`: after an error, a longjmp, a coroutine that was closed. Every
// frame is left, so nothing stays open.
OURO_INLINE_ void ouro_stack_unwind(ouro_stack *stack, size_t depth) {
    while (ouro_stack_depth(stack) > depth) ouro_stack_pop(stack);
}

#ifdef __cplusplus
}
#endif

#endif
