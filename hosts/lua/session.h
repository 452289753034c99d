// SPDX-License-Identifier: MIT
//
// A session: one recording of one Lua state, from start to stop, and its profile afterwards.
//
// WORDS
//   session    the recording between ouro.start and ouro.stop; at most one runs per Lua state
//   coroutine  our record of a lua_State, also of the main one; precise mode only
//   frame      our record of a Lua call frame, identified by lua_Debug's field i_ci: see frames.h.
//              It identifies a frame as long as the frame lives; afterwards another frame may have
//              the same one.
//   mark       a block that the program opened with ouro.block
//   chain      the program's own hook, which ours calls
//
// WHO CALLS WHOM
//   module, main -> session -> precise -> coroutines, memory, hooks
//                           -> sample -> resume
//                           -> jit -> sample
//   precise, sample, jit -> names -> blocks, source

#ifndef OURO_LUA_SESSION_H
#define OURO_LUA_SESSION_H

#include "blocks.h"
#include "frames.h"
#include "lua_api.h"
#include "ouro.h"
#include "output.h"
#include "source.h"
#include "ticker.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIKELY(x) __builtin_expect(!!(x), 1)

typedef struct session session;
typedef struct coroutine coroutine;

typedef struct {
    bool precise, instructions, memory;
    bool cpu;           // processor time of the OS thread instead of time as it passes
    unsigned hz;        // ticks per second; 0 = 251; LuaJIT: 1000
    int period;         // of the instruction count
    uint32_t max_nodes; // 0 = the library's default
    int compaction, edge_length;
    output_file *output;  // NULL = none
    const char *live;     // NULL = beside the output
    const char *slice;    // the function whose calls are slices; NULL = none
    const char *slice_by; // what slow ones have more of: a metric; NULL = the duration
} settings;

typedef struct {
    lua_Hook hook;
    int mask, count;
} chain;

typedef struct {
    void *ci;            // of a mark: the frame that it is in
    ouro_position token; // what to give to ouro_exit
    ouro_block block;
    uint64_t mark; // 0: a call
} frame;

struct coroutine {
    lua_State *L;
    session *session;
    ouro_thread *thread; // NULL: no memory for it
    frame *frames;
    size_t depth, capacity; // of frames; those that have returned since the last call included
    ouro_position base;     // where it was resumed
    size_t sliced;          // the open slice ends with this frame, counted from 1; 0: it does not
    bool running;           // or waiting for a coroutine that it resumed
    coroutine *resumer;     // while running
    chain chain;
    int owed;        // instructions not yet reported to the chain's count hook
    coroutine *next; // in its bucket
};

// The function that stood at this address when it was last called.
typedef struct {
    const void *function;
    ouro_block block;
    bool resumes;  // coroutines
    bool sliced;   // its calls are slices
    uint32_t walk; // sampling: only during this walk, because functions are collected between two
} cached;

enum { CACHE_BITS = 13, BUCKETS = 1024 };

static inline size_t cache_index(const void *function) {
    return (size_t)(((uint64_t)(uintptr_t)function * UINT64_C(0x9e3779b97f4a7c15)) >>
                    (64 - CACHE_BITS));
}

// A new coroutine is a handful of blocks.
enum { RECENT = 8 };
typedef struct {
    const void *block;
    size_t size;
} allocated;

// Outlives its session if the program has installed another allocator that calls it.
typedef struct {
    lua_Alloc next;
    void *next_ud;
    session *session;   // NULL: only pass on
    bool idle;          // Lua has its own again
    size_t thread_size; // 0: not known yet
    allocated recent[RECENT];
    unsigned made;
} allocator;

struct sampler; // sample.c

struct session {
    int references;
    uint64_t number; // no other session of the process has it
    lua_State *main; // NULL once the state is closed
    bool running;
    settings settings;
    ouro_profile *profile;
    ouro_metric time, instructions, allocations, allocated, freed; // UINT32_MAX: not asked for
    ouro_metric samples; // of LuaJIT, whose times are no ticks
    ouro_thread *root;   // stands at the root
    ouro_block gc, anonymous;
    block_table blocks;
    source_cache sources;
    uint64_t next_mark;
    bool quiet; // allocations are ours now, not the program's
    // precise
    coroutine *current;
    coroutine *buckets[BUCKETS];
    chain foreign; // the main state's hook before the session
    allocator *allocator;
    lua_CFunction resume, close;
    bool returns;       // the hook is called for returns as well
    coroutine *slicing; // where the open slice began; NULL: none is
    uint64_t slices;    // that have begun
    // sampling
    struct sampler *sampler;
    uint32_t walk;                 // number of the walk that is going on, or was last
    unsigned jit_interval;         // milliseconds; 0: LuaJIT's profiler does not run
    uint64_t jit_now, jit_charged; // processor time of the process: of this charge, of the last one
    // both
    bool frames_known; // frames.h may be used
    ticker *ticker;
    ticker_arm *arm;
    lua_Hook volatile urgent; // set by a signal handler: call it before the next instruction
    cached cache[1 << CACHE_BITS];
};

// Called after setting a hook of ours, so that a signal that came just before is not lost.
static inline void session_urgent(const session *s, lua_State *L) {
    int mask = LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT;
    if (__builtin_expect(s->urgent != NULL, 0)) lua_sethook(L, s->urgent, mask, 1);
}

// The session of a state, running or the last one; NULL if there was none.
session *session_of(lua_State *L);
// Called when the module is loaded.
void session_note_main(lua_State *L);
// Begins to record. NULL, with a message on the stack.
session *session_start(lua_State *L, const settings *wanted);
void session_stop(session *s);
// Charges the time since the last tick that a hook has seen. For a copy of a process: it looks at
// Lua's stack whatever the process was doing, and nothing can go on afterwards.
void session_charge_rest(session *s);
session *session_keep(session *s);
void session_release(session *s);
// Writes pprof, gzipped if the path ends in .gz. 0, or -1 with errno.
int session_write(session *s, const char *path);

// The block of a function that is on top of the stack and runs in the frame `ar`.
ouro_block names_block(session *s, lua_State *L, lua_Debug *ar, bool *resumes);
// The same by what Lua tells about the frame alone: nothing is pushed.
ouro_block names_block_of_frame(session *s, lua_State *L, lua_Debug *ar);
// Functions of this module are not shown.
extern const luaL_Reg ouro_module_functions[];

// These may raise errors of Lua; session_stop then cleans up. False: errno says why.
bool precise_start(session *s, lua_State *L);
void precise_stop(session *s);
void precise_hook(lua_State *L, lua_Debug *ar);
void precise_rehook(const coroutine *co);
uint64_t precise_mark(session *s, lua_State *L, ouro_block block);
void precise_unmark(session *s, lua_State *L, uint64_t mark);

// Whether the calls of this block are slices.
bool slices_name(const session *s, ouro_block block);
// A call that is a slice, or a tail call, in the frame with this number, is about to be recorded.
void slices_call(coroutine *co, size_t depth);
void slices_end(coroutine *co);
// The recording ends, but not the slice.
void slices_leave_open(session *s);
// The program itself says that a slice has ended, and whether another begins.
void slices_say(session *s, bool next);
// Names of functions like the one that was not found, to be freed. NULL: no memory.
char *slices_near(const session *s);

coroutine *coroutine_find(const session *s, const lua_State *L);
coroutine *coroutine_add(session *s, lua_State *L);
// Makes L the one that runs. NULL: there is no session, or no memory.
coroutine *coroutine_arrive(lua_State *L);
// Neither suspended nor ended. Async-signal-safe.
bool coroutine_is_active(lua_State *L);
void coroutine_forget(session *s, const lua_State *L);
void coroutines_free(session *s);
void coroutine_push(coroutine *co, void *ci, ouro_block block, bool counted);
static inline void coroutine_unwind(coroutine *co, size_t depth) {
    while (co->depth > depth) ouro_exit(co->thread, co->frames[--co->depth].token);
    if (__builtin_expect(depth < co->sliced, 0)) slices_end(co);
}

bool memory_watch(session *s);
void memory_learn(session *s, lua_State *L);
void memory_unwatch(session *s);

bool sample_start(session *s, lua_State *L);
void sample_stop(session *s);
void sample_charge_rest(session *s);
uint64_t sample_mark(session *s, lua_State *L, ouro_block block);
void sample_unmark(session *s, uint64_t mark);

// LuaJIT's own profiler. sample_stop ends what is left of it.
bool jit_start(session *s, lua_State *L);
void jit_stop(session *s);
void jit_charge_rest(session *s);

// While a session runs, debug.sethook and debug.gethook know that our hook is not the program's.
void hooks_install(lua_State *L);
void hooks_remove(lua_State *L);
void hooks_call(coroutine *co, lua_State *L, lua_Debug *ar);

#define NOWHERE UINT32_MAX

#endif
