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
// MISUSE (an exit without an enter, a token of another thread of the same profile or of a path that
// was pruned meanwhile, a block id that was never given out) does not corrupt memory, and what is
// charged stays in the totals: at some path, or in `[pruned]` or `[lost]`. Builds with assertions
// stop; others charge `[lost]` or ignore it, as each function says.
// A freed object must not be used.
//
// VERSIONS. A program that was built with this header runs with every later library of the same
// soname, libouro.so.1. New fields of ouro_options and ouro_stats come at the end, and the library
// is given their size. What else is laid out here, the private parts included, only changes
// together with the soname.

#ifndef OURO_H
#define OURO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OURO_VERSION "0.2.0"

#if defined(__GNUC__)
#define OURO_API __attribute__((visibility("default")))
#define OURO_LIKELY_(x) __builtin_expect(!!(x), 1)
// In a program that is itself instrumented (hosts/native), recording is not to be recorded.
#define OURO_QUIET_ __attribute__((no_instrument_function, patchable_function_entry(0)))
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

// The largest cap: positions are 32-bit numbers.
#define OURO_MAX_NODES_MOST UINT32_C(134000000)

typedef struct {
    const char *name, *file; // UTF-8, copied; NULL is taken as ""
    uint32_t line, column;   // from 1; 0 = not known
} ouro_block_info;

typedef struct {
    const char *name, *unit; // copied; each metric of a profile needs a name of its own
} ouro_metric_info;

// What a clock measures; see ouro_clock_start.
enum {
    OURO_CLOCK_WALL = 0, // time as it passes, also while the OS thread waits
    OURO_CLOCK_CPU = 1   // processor time of the OS thread
};

typedef struct {
    int measures; // OURO_CLOCK_WALL ...
    int signal;   // the timer's signal; 0: SIGURG, else a real-time signal, if it is free
    // Charges a tick in place of the clock, by ouro_count: for a host that tells ticks apart.
    // Called in the signal handler, whose third argument is `context`. NULL: the clock charges.
    void (*charge)(ouro_thread *thread, ouro_metric metric, uint64_t amount, const void *context);
} ouro_clock_options;

// What is kept of slices; see ouro_slice.
typedef struct {
    const char *name; // of one slice: "frame", "request"; copied, at most 31 bytes; NULL = "slice"
    uint32_t kept;    // trees of the slowest, the last and of some chosen evenly; 0 = 32 of each
    uint32_t rows;    // slices in the table; 0 = 65,536
    uint32_t by;      // what slow means: 0 = the duration, 1 + m = metric m
} ouro_slice_options;

enum { OURO_SLICES_KEPT_MOST = 1024 };

// Zero is the default, in every field: `(ouro_options){0}` is a good start, and so is NULL. A field
// that the library does not know must be zero.
typedef struct {
    int compaction;                  // OURO_LOOPS ...
    int edge_length;                 // OURO_EDGES: 1, 2 or 3; 0 = 2
    uint32_t max_nodes;              // the cap; 0 = 1,000,000; from 2 to OURO_MAX_NODES_MOST
    const ouro_metric_info *metrics; // NULL = one metric, samples/count
    size_t metric_count;             // at most OURO_METRICS_MAX
    const char *path;                // the live file; NULL = memory only; see below
    bool disabled;                   // begin disabled, see ouro_profile_enable
    ouro_clock_options clock;        // of ouro_clock_start, for all threads of the profile
    ouro_metric shown_metric;        // what readers of ouro_profile_write show first
    ouro_slice_options slices;       // of every thread that calls ouro_slice
} ouro_options;

// Sets compaction and edge_length by the name of a rule, as a user writes it: "loops", "cycles",
// "edges" (that is edges:2), "edges:1", "edges:2", "edges:3" or "none". 0, or -1 with EINVAL for
// any other name and for NULL; the options are then left as they are. Any OS thread, any time.
OURO_API int ouro_compaction_from_name(const char *name, ouro_options *options);

// Makes a profile. Options and all they point to are copied.
// NULL with errno: EINVAL (an option out of range, or newer than the library; two metrics of one
// name), ENOMEM, or what creating the live file gave.
//
// The live file. With `path`, the tree stands in a shared mapping of that file, so that `ouro view`
// can read it while the program runs, and after it was killed. It begins with some 90 KB and grows
// with what is in use, about 160 bytes per node for one metric. Space is reserved before it is
// used, so a full disk is never a SIGBUS, and no write of Ouro raises SIGXFSZ (`ulimit -f`): both
// are an error here (ENOSPC, EFBIG), and later the cap stays where it is (ouro_stats.no_space). Put
// it on a tmpfs (/dev/shm, /run/user/UID): the kernel then never writes it out. An existing file of
// that name is replaced, and a process that still writes to the old one is not disturbed. A child
// of fork(2) has its own copy of the profile in memory and leaves the file to its parent.
//
// Memory: each OS thread that records reserves address space for the whole cap (165 MB with the
// defaults), of which only what is used is ever touched. Where `ulimit -v` is set when the profile
// is made, it reserves 0.7 MB at first, and all threads get twice as much whenever one needs more,
// as far as the limit goes; then the cap stands where it is (ouro_stats.no_space). Set max_nodes
// lower where a strict overcommit policy makes address space dear.
OURO_INLINE_ ouro_profile *ouro_profile_new(const ouro_options *options);

// Frees the profile, its blocks and its lanes; a live file stays, marked as finished.
// Free all its threads first.
OURO_API void ouro_profile_free(ouro_profile *profile);

// For a child process that was made without the handlers of fork(2), as _Fork makes it, while no
// other thread of the parent records: from now on the child's profile is its own, in memory, and
// the live file is left as the parent has it. After fork(2) that is so already. Async-signal-safe
// there. O(segments of the live file).
OURO_API void ouro_profile_detach(ouro_profile *profile);

// While disabled, ouro_thread_new, _fork and _spawn return NULL: threads that start then record
// nothing and pay one branch per call, also green threads of a thread that records. Threads that
// exist go on recording. Any OS thread, O(1).
OURO_API void ouro_profile_enable(ouro_profile *profile, bool enabled);

// Counts again from zero: calls, metrics, and what was pruned, has overflowed or was lost. The
// profile's time begins again, too. Slices are forgotten, and the next one begins at the next
// ouro_slice. Blocks, threads, positions and paths stay: threads go on
// recording where they stand, what is open stays open, and a path without new counts is visited
// with zeros. What other OS threads record during the call is counted after the reset or not at
// all. A reader of a live file sees all lanes before the reset or all after it, also if the program
// is killed in the middle.
//
// 0, or -1 with errno: ENOMEM, or what growing the live file gave; then nothing has changed. The
// first reset takes as much address space again as the lanes have, and as much memory, or space in
// the live file, as the nodes that are in use. Any OS thread, any time, O(nodes); recording threads
// wait only if they take a new path.
OURO_API int ouro_profile_reset(ouro_profile *profile);

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
// thread. The frames that are open there are its parent's to exit, not its own. O(1), a malloc of
// 48 bytes. NULL as ouro_thread_new.
OURO_API ouro_thread *ouro_thread_fork(ouro_thread *parent);

// A thread that may run on another OS thread: it gets a lane of its own, in which the path of
// `parent` is re-entered (without counting calls). Call it on the parent's OS thread. O(length of
// the path). NULL as ouro_thread_new.
OURO_API ouro_thread *ouro_thread_spawn(ouro_thread *parent);

// Ends a thread. What it charged stays. Leave the blocks first: what is still entered counts as
// open for the cap and can never be pruned. Call it on the OS thread that uses the lane, or after
// that OS thread has finished with the lane. In the second case, first call ouro_clock_stop on the
// OS thread that started the clock; else this function stops the clock itself.
OURO_API void ouro_thread_free(ouro_thread *thread);

// ---------------------------------------------------------------- recording

// Enters a block: one call is counted, and the thread moves to the path that has `block` added, or
// back to an earlier position where the compaction rule says so. Returns the caller's position:
// keep it in the caller's or callee's frame, and give it to ouro_exit. 12 instructions when the
// same block was entered from here the last time, 37 or more when it was ever entered from here;
// the first time costs a walk up the path (at most 4,096 nodes). ouro_site.h is faster, for code
// that knows its call sites. Misuse: a block id that does not exist, or is not for entering, is
// charged to [lost].
OURO_INLINE_ ouro_position ouro_enter(ouro_thread *thread, ouro_block block);

// As ouro_enter, but no call is counted: for a path that the host lays out again. A stack that was
// sampled, frames that were open before recording began or in another profile (a child of fork(2)),
// a green thread that goes on below another caller. Left with ouro_exit. 20 to 80 instructions.
OURO_API ouro_position ouro_reenter(ouro_thread *thread, ouro_block block);

// Notes what a sampled stack shows of recursion: which blocks occur on it twice or more, how often
// at most, and whether directly below themselves. Nothing else can tell: paths are compacted, and
// samples count no calls. `blocks` begins at the root; ids that do not exist are skipped. Without
// memory nothing is noted. Any OS thread, any time, but not in a signal handler. Takes the
// profile's lock; 10 instructions per block.
OURO_API void ouro_note_stack(ouro_profile *profile, const ouro_block *blocks, size_t n);

// Where a thread stands: equal as long as it is the same path. 0 for NULL.
OURO_INLINE_ ouro_position ouro_thread_position(const ouro_thread *thread);

// A tail call: leaves the current block and enters `block`, below the block that is left. After A
// calls B and B tail calls C, the path is A/B/C. There is no new token: give ouro_exit the token
// that entering B returned, and it leads back to A. At the root it is an enter. Cost and misuse
// as ouro_enter.
OURO_INLINE_ void ouro_replace(ouro_thread *thread, ouro_block block);

// Leaves the current block; `caller` is what ouro_enter returned. An outer frame's token moves the
// thread to where that frame was, but the frames in between then count as open: ouro_unwind is for
// that. 6 instructions. Misuse: an exit too many changes no count and moves the thread to `caller`;
// a token of another thread of the same profile leads to some position of this thread's lane, or to
// a place of the lane where no path is, never outside. What is charged at such a place is [lost].
OURO_INLINE_ void ouro_exit(ouro_thread *thread, ouro_position caller);

// Charges n to the current position: ouro_sample of metric 0 (5 instructions), ouro_count of any
// metric (7). A metric that the profile does not have is ignored.
OURO_INLINE_ void ouro_sample(ouro_thread *thread, uint64_t n);
OURO_INLINE_ void ouro_count(ouro_thread *thread, ouro_metric metric, uint64_t n);

// ---------------------------------------------------------------- leaving many frames at once

// Stands again at `position`, where a frame of this thread stood that goes on: for setjmp points,
// caught errors, coroutines that are cut short. The frames that were entered since are abandoned,
// and their exits must not come.
//
//     ouro_position here = ouro_thread_position(thread); // together with setjmp
//     ...
//     ouro_unwind(thread, here);                         // together with longjmp
//
// No count changes. What is abandoned should not count as open, or the cap can never evict it:
// - The block where the thread stands is left, as by ouro_exit, unless that is `position` itself.
// - All blocks on the path from there up to `position` are left if no other frame can stand on
//   them. That is so if no other thread of the lane stands below `position` or in [lost], and if
//   recursion never led back to `position` or above (under OURO_NONE it never does).
// - Else the blocks between stay open. These stay open, too: blocks between the two that a
//   recursion jumped back from, and `position`, if a recursion or OURO_PHANTOM was entered there.
//   Call ouro_exit for each frame, if you can, and nothing stays open.
//
// O(length of the path), and a look at 4,096 nodes of other threads of the lane at most. Waits
// while a reader copies the lane. Misuse: a position of another thread of the same profile leads to
// some position of this lane or to [lost]; a number that is no position of this lane is [lost].
OURO_API void ouro_unwind(ouro_thread *thread, ouro_position position);

// ---------------------------------------------------------------- slices

// A slice is a stretch of a lane's run that the program names: a frame, a request, a turn of a
// loop. This ends the lane's current slice, if there is one, and begins the next. Green threads of
// one lane share its slices. What is recorded before the first slice, and after ouro_slice_stop, is
// outside of slices: the sum of all slices and of that is the profile, for every metric.
//
//     for (;;) { ouro_slice(thread); draw_a_frame(); }
//
// Kept, per lane and within bounds: start, duration and totals of every slice while the table has
// room; a histogram of the durations, in steps of 1%; a heat map of duration by time; and whole
// trees of the slowest slices, the last ones, and some chosen evenly. All trees of a lane together
// have 3/8 of max_nodes records at most; the smallest paths of a tree that is too large are added
// up in one sum. Recording pays nothing: a slice costs one pass over the lane's nodes in use (some
// 5 ns each), here. Waits while a reader copies the lane. Without memory, or space in the live
// file, nothing is a slice until there is some. NULL costs a branch. Not for signal handlers.
OURO_INLINE_ void ouro_slice(ouro_thread *thread);

// Ends the current slice and begins none, for slices with something between them.
OURO_INLINE_ void ouro_slice_stop(ouro_thread *thread);

// ---------------------------------------------------------------- the clock

// Starts a timer that charges the position of `thread` hz times a second: the number of nanoseconds
// since the last tick if the metric's unit is "nanoseconds", else the number of ticks. hz = 0 is
// 997. ouro_options.clock says what the timer measures and which signal it sends. Call it on the OS
// thread that runs `thread`: the signal comes to that OS thread. Recording costs nothing more while
// it runs. System calls may end early with EINTR, although SA_RESTART is set; under OURO_CLOCK_CPU
// a thread that waits gets no signal, and its waiting is not charged. A child of fork(2) has no
// clock. One clock per thread. 0, or -1 with errno: EINVAL (no such metric, hz above 100,000),
// EBUSY (this thread has a clock, or the program handles the chosen signal, or each that would do),
// EAGAIN (too many timers).
OURO_API int ouro_clock_start(ouro_thread *thread, ouro_metric metric, unsigned hz);

// Lets the clock of `from` charge `to` from now on: for a scheduler that switches green threads.
// Without a system call. Both must be of one lane; if `to` has a clock already, or `from` has none,
// nothing happens. `to` NULL: the clock charges nobody and stays with `from`, until it is moved on.
OURO_API void ouro_clock_move(ouro_thread *from, ouro_thread *to);

// The program is about to use this signal itself: clocks that send it change to another one.
// Returns the signal that they send now, `signal_number` if no clock sends it, or 0 if none is
// free; the clocks stand still then. A tick may be on its way to other threads. Not for signal
// handlers, as it takes locks.
OURO_API int ouro_clock_leave(int signal_number);

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
    // Upper bounds on what was counted for this path and all below it before the path was evicted
    // and made again; that part is in [pruned] accounts. Calls, then one per metric. All zero
    // unless something was pruned or overflowed.
    const uint64_t *missing;
} ouro_visit;

// The visit and all it points to are valid during the call.
typedef void ouro_visitor(void *user, const ouro_visit *visit);

// Calls `visitor` for every canonical path, parents before children, children by block id, the
// [pruned] account of a path last of its children; lanes merged by path. The numbers are those
// of one moment per lane; what running threads add meanwhile is in or not. May be called at any
// time from any OS thread; recording threads wait at most while their lane is copied, and only
// if they take a new path. The visitor may call anything. Returns 0, or -1 with ENOMEM before
// the first call.
OURO_API int ouro_profile_visit(ouro_profile *profile, ouro_visitor *visitor, void *user);

// Writes the profile in pprof's format, uncompressed: `go tool pprof FILE` reads it. Sample types
// are calls/count, recursions/count, then the metrics. Complete or not at all, also after a power
// loss: written beside `path`, put on the disk and then renamed. When it returns 0 the file is on
// the disk; that takes about 10 ms on an SSD, and nothing on a tmpfs. Paths of more than 4,096
// blocks are cut, under a [truncated] root. Any OS thread, any time. 0, or -1 with errno.
OURO_API int ouro_profile_write(ouro_profile *profile, const char *path);

// One slice. `start` is in nanoseconds since the profile began, or was reset.
typedef struct {
    uint32_t lane;
    uint64_t number; // from 1 in each lane
    uint64_t start, duration;
    uint64_t calls, recursions, direct;
    const uint64_t *metrics; // one per metric of the profile
} ouro_slice_info;

// Values below 128 have a bucket each; 128 buckets for every power of two above.
enum { OURO_SLICE_BUCKETS = 7424, OURO_SLICE_HEAT_COLUMNS = 128, OURO_SLICE_HEAT_ROWS = 128 };
// The smallest value of a bucket.
OURO_API uint64_t ouro_slice_bucket_least(uint32_t bucket);
// The smallest duration of a row of the heat map: four rows for every power of two from 256 ns on.
OURO_API uint64_t ouro_slice_heat_least(uint32_t row);

// All that is kept of the slices of one lane, but the table and the trees.
typedef struct {
    uint32_t lane;
    const char *name;
    uint32_t by;               // as in the options
    uint64_t count;            // slices that have ended
    uint64_t rows;             // of them in the table: the first ones
    uint64_t slowest;          // the largest duration, or value of metric `by - 1`
    ouro_slice_info outside;   // recorded outside of slices; number, start and duration are 0
    bool is_open;              // a slice has begun:
    ouro_slice_info open;      // what it has so far
    const uint64_t *durations; // OURO_SLICE_BUCKETS of them: how many slices took so long
    const uint64_t *values;    // the same by what slow means
    uint64_t heat_start;       // of column 0,
    uint64_t heat_step;        // of each column, in nanoseconds
    const uint32_t *heat;      // columns of OURO_SLICE_HEAT_ROWS: slices that began then
} ouro_slice_summary;

// Why a tree is kept.
enum { OURO_SLICE_SLOWEST = 1, OURO_SLICE_LAST = 2, OURO_SLICE_EVENLY = 4 };

// Each may be NULL. Called lane by lane: the summary, the table by number, then each tree that is
// kept, by number, and its paths as ouro_profile_visit would give them. `rest` is what the tree
// has no paths for: they were too many.
typedef struct {
    void (*lane)(void *user, const ouro_slice_summary *summary);
    void (*slice)(void *user, const ouro_slice_info *slice);
    void (*kept)(void *user, const ouro_slice_info *slice, unsigned why,
                 const ouro_slice_info *rest);
    ouro_visitor *path;
} ouro_slice_visitor;

// Any OS thread, any time, as ouro_profile_visit. Lanes without slices are left out. Returns 0, or
// -1 with ENOMEM before the first call.
OURO_API int ouro_slices_visit(ouro_profile *profile, const ouro_slice_visitor *visitor,
                               void *user);

typedef struct {
    uint64_t nodes;     // positions in memory, over all lanes, with one root; at most max_nodes
    uint64_t max_nodes; // the cap
    bool no_space;      // the live file, or address space under `ulimit -v`, cannot grow: the nodes
                        // that there are, are the cap
    uint64_t bytes;     // memory in use for nodes, memos, blocks and texts
    uint64_t pruned;    // positions evicted since the last reset, over and over
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

// Any OS thread, any time. O(nodes), and a system call per lane or two.
OURO_INLINE_ ouro_stats ouro_profile_stats(const ouro_profile *profile);

// ---------------------------------------------------------------- a stack, for hosts with hooks

// Keeps the tokens for hosts that have only hooks and no frames of their own. One per green thread,
// used like its thread. `thread` may be NULL: then nothing is recorded but the depth is still kept.
typedef struct {
    ouro_thread *thread;
    ouro_position *tokens_;
    size_t depth, capacity_;
    size_t unsaved_; // frames on top whose tokens found no memory
} ouro_stack;

OURO_INLINE_ void ouro_stack_init(ouro_stack *stack, ouro_thread *thread);

// Frees the stack's memory after leaving all that is open on it. The thread stays the caller's.
OURO_API void ouro_stack_clear(ouro_stack *stack);

OURO_API bool ouro_stack_grow_(ouro_stack *stack);

// Enters a block. If there is no memory for the token, the frame is counted but not recorded.
OURO_INLINE_ void ouro_stack_push(ouro_stack *stack, ouro_block block);

// A tail call of the block on top. On an empty stack: a push.
OURO_INLINE_ void ouro_stack_replace(ouro_stack *stack, ouro_block block);

// Leaves the block on top. On an empty stack: nothing.
OURO_INLINE_ void ouro_stack_pop(ouro_stack *stack);

// The number of blocks that were pushed and not popped.
OURO_INLINE_ size_t ouro_stack_depth(const ouro_stack *stack);

// Pops until the depth is `depth`: after an error, a longjmp, a coroutine that was closed. Every
// frame is left, so nothing stays open.
OURO_INLINE_ void ouro_stack_unwind(ouro_stack *stack, size_t depth);

// ---------------------------------------------------------------- private from here on

OURO_API ouro_profile *ouro_profile_new_(const ouro_options *options, size_t size);
OURO_API void ouro_profile_stats_(const ouro_profile *profile, ouro_stats *stats, size_t size);

OURO_INLINE_ ouro_profile *ouro_profile_new(const ouro_options *given) {
    return ouro_profile_new_(given, sizeof *given);
}

OURO_INLINE_ ouro_stats ouro_profile_stats(const ouro_profile *profile) {
    ouro_stats all;
    ouro_profile_stats_(profile, &all, sizeof all);
    return all;
}

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

// Transitions of a lane that were taken lately: a direct-mapped cache, by a hash of source and
// block. An entry is from | slot << 32; it fits if its source does, and its target has the block.
typedef struct {
    uint32_t shift;      // of the hash: there are 1 << (32 - shift) entries
    uint64_t entries[2]; // at least
} ouro_shortcuts_;

// The beginning of a lane.
typedef struct {
    ouro_shortcuts_ *shortcuts;
    struct ouro_turn_ *turns;          // of ouro_site.h
    uint64_t recalls;                  // until a site learns another of them
    struct ouro_here_ *const *watched; // where its threads stand, for a clock; NULL: at position_
    struct ouro_place *places;         // of ouro_place_at
    bool has_places;                   // its own, that is
} ouro_lane_;
struct ouro_clock_;

struct ouro_thread {
    uint64_t *nodes_;        // the lane's array of words
    ouro_position position_; // always a node of that array; read by the clock's handler
    uint32_t metric_count_;
    ouro_lane_ *lane_;
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

// Finds the slot of a transition, if the cache has it. The source of an empty entry is no position.
OURO_INLINE_ bool ouro_shortcut_(const ouro_thread *thread, ouro_position from, ouro_block block,
                                 uint32_t *slot) {
    const ouro_shortcuts_ *shortcuts = __atomic_load_n(&thread->lane_->shortcuts, __ATOMIC_RELAXED);
    const uint64_t *entries = shortcuts->entries;
    uint64_t entry = entries[ouro_shortcut_hash_(from, block) >> shortcuts->shift];
    *slot = (uint32_t)(entry >> 32);
    uint32_t target_block = ouro_node_at_(thread, *slot & ~UINT32_C(3))->block;
    return (((uint32_t)entry ^ from) | (target_block ^ block)) == 0;
}

OURO_API void ouro_enter_miss_(ouro_thread *thread, ouro_block block);
OURO_API void ouro_replace_miss_(ouro_thread *thread, ouro_block block);

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

OURO_INLINE_ ouro_position ouro_thread_position(const ouro_thread *thread) {
    return thread ? thread->position_ : 0;
}

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

OURO_INLINE_ void ouro_exit(ouro_thread *thread, ouro_position caller) {
    if (!thread) return;
    ouro_decrement_(&ouro_node_at_(thread, thread->position_)->balance);
    ouro_move_(thread, caller);
}

OURO_INLINE_ void ouro_count(ouro_thread *thread, ouro_metric metric, uint64_t n) {
    if (!thread || metric >= thread->metric_count_) return;
    ouro_add_(ouro_node_at_(thread, thread->position_)->metrics + metric, n);
}

OURO_INLINE_ void ouro_sample(ouro_thread *thread, uint64_t n) {
    if (!thread) return;
    // A node has room for metric 0 even if the profile has none.
    ouro_add_(ouro_node_at_(thread, thread->position_)->metrics, n);
}

OURO_API void ouro_slice_(ouro_thread *thread, bool begin);

OURO_INLINE_ void ouro_slice(ouro_thread *thread) {
    if (thread) ouro_slice_(thread, true);
}

OURO_INLINE_ void ouro_slice_stop(ouro_thread *thread) {
    if (thread) ouro_slice_(thread, false);
}

OURO_INLINE_ void ouro_stack_init(ouro_stack *stack, ouro_thread *thread) {
    stack->thread = thread;
    stack->tokens_ = NULL;
    stack->depth = stack->capacity_ = stack->unsaved_ = 0;
}

OURO_INLINE_ void ouro_stack_push(ouro_stack *stack, ouro_block block) {
    if (stack->depth == stack->capacity_ && !ouro_stack_grow_(stack)) {
        stack->unsaved_++;
        return;
    }
    stack->tokens_[stack->depth++] = ouro_enter(stack->thread, block);
}

OURO_INLINE_ void ouro_stack_replace(ouro_stack *stack, ouro_block block) {
    if (stack->unsaved_) return;
    if (stack->depth == 0) {
        ouro_stack_push(stack, block);
    } else {
        ouro_replace(stack->thread, block);
    }
}

OURO_INLINE_ void ouro_stack_pop(ouro_stack *stack) {
    if (stack->unsaved_) {
        stack->unsaved_--;
    } else if (stack->depth) {
        ouro_exit(stack->thread, stack->tokens_[--stack->depth]);
    }
}

OURO_INLINE_ size_t ouro_stack_depth(const ouro_stack *stack) {
    return stack->depth + stack->unsaved_;
}

OURO_INLINE_ void ouro_stack_unwind(ouro_stack *stack, size_t depth) {
    while (ouro_stack_depth(stack) > depth) ouro_stack_pop(stack);
}

#ifdef __cplusplus
}
#endif

#endif
