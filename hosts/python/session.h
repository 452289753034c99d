// SPDX-License-Identifier: MIT
//
// A session: one recording of this process, from start to stop, and its profile afterwards.
//
// WORDS
//   session  the recording between ouro.start and ouro.stop; at most one runs per process
//   track    our record of one Python thread: where it stands (precise), its timer (sampling)
//   keeper   a native thread of ours, which never runs Python: it takes samples from the signal
//            handlers, and writes the profile when a signal ends the process
//
// WHO CALLS WHOM
//   module -> session -> precise -> names -> blocks
//                     -> sample -> keeper
//                     -> threads (Python threads that begin), memory, greenlets

#ifndef OURO_PYTHON_SESSION_H
#define OURO_PYTHON_SESSION_H

#include "python_api.h"

#include "blocks.h"
#include "ouro.h"
#include "output.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

enum { FIRST_BLOCK = 3 }; // of the blocks that are not the library's own

typedef struct {
    bool precise, memory, gil, cpu;
    unsigned hz;        // ticks per second; 0 = 251
    uint32_t max_nodes; // 0 = the library's default
    int compaction, edge_length;
    const char *output;   // where session_write writes; NULL = nowhere
    const char *live;     // NULL = beside the output
    const char *slice;    // the function whose calls are slices; NULL = none
    const char *slice_by; // what slow ones have more of: a metric; NULL = the duration
} settings;

struct sampler; // sample.c

typedef struct {
    ouro_position token; // what to give to ouro_exit
    uint32_t tag;        // of a frame of Python: a part of its address; of a C function: 0
} open_call;

// What a Python thread stands on. Greenlets have a stack each, and the thread swaps them.
typedef struct {
    open_call *calls;
    size_t depth, capacity;
    size_t unsaved; // frames on top whose tokens found no memory
    size_t sliced;  // the open slice ends with this call, counted from 1; 0: it does not
} token_stack;

typedef struct track {
    PyObject_HEAD;
    ouro_thread *thread; // NULL: nothing is recorded any more
    token_stack stack;
    PyObject *chained;          // the program's own function of sys.setprofile, or NULL
    bool slice_open;            // began by a call, of this greenlet or another
    bool chain_waits;           // it has just been set: the next event is not for it
    bool greenlets;             // it tells us of the switches of its greenlets
    const void *last_allocated; // by this thread; see memory.c
    ouro_position last_position;
    size_t last_size;
    size_t waits; // frames that are open before the program begins; see precise_wait
    uint64_t tstate_id;
    struct sampler *sampler;
    struct track *next;
} track;

typedef struct session {
    uint32_t number; // no other session of the process has it
    bool running;
    pid_t pid;
    settings settings;
    ouro_profile *profile;
    output_file output;
    ouro_metric time, resumes, native, gil_wait, allocations, allocated, samples;
    block_map by_text;
    track *tracks;
    char *package;      // the folder of our own Python code, which is not shown
    uint64_t taken;     // threads whose hook another profiler has replaced
    uint64_t slices;    // that have begun
    uint64_t clockless; // threads whose clock could not be started
    int left, sends;    // the program took the signal `left`, and ticks come by this one; 0: none
} session;

extern session the_session;
extern PyTypeObject track_type;

// 0, or -1 with an exception of Python.
int session_start(const settings *wanted, const char *package, bool waits);
void session_stop(void);
void session_free(void);
// Writes the output, if there is one. 0, or -1 with errno.
int session_write(void);
// `path`: the child's own output.
void session_after_fork(const char *path);

// A track for a thread, with the frames that are open on it. NULL without memory.
track *track_new(PyThreadState *tstate);
track *track_of(const PyThreadState *tstate);
void track_end(track *t);

// The block of a Python or C function, made if it is new.
ouro_block names_of_code(PyCodeObject *code);
ouro_block names_of_c(PyObject *function);
// Names without Python: sampling defines blocks from copied text.
ouro_block names_of_text(const ouro_block_info *info);

int precise_setup(void); // once per process
int precise_attach(track *t, PyThreadState *tstate);
void precise_detach(PyThreadState *tstate);
bool precise_is_attached(const PyThreadState *tstate);
void precise_open_frames(track *t, PyThreadState *tstate);
void precise_forget(void);
// Records nothing until the program's first frame begins: `ouro python` starts before it.
int precise_wait(track *t, PyThreadState *tstate);
// (sys.setprofile, sys.getprofile) in, what stands in for them out.
PyObject *precise_stand_ins(PyObject *self, PyObject *arguments);

void stack_clear(track *t);

// Whether the calls of this block are slices.
bool slices_name(ouro_block block);
// A call that is a slice is about to be recorded, or the one that was a slice is over.
void slices_call(track *t);
void slices_end(track *t);
PyObject *slices_say(PyObject *self, PyObject *arguments);
PyObject *slices_near(PyObject *self, PyObject *unused);

// `function`: what the thread begins with; NULL: it has begun.
int sample_attach(track *t, PyThreadState *tstate, PyObject *function);
void sample_detach(track *t);
bool sample_begin(void);
void sample_end(void);
void sample_forget(void);
// As ouro_clock_leave.
int sample_leave(int number);
void sample_consume(void);
ouro_thread *sample_thread(void);
// Around fork: the keeper is not in the middle of a sample.
void sample_hold(void);
void sample_release(void);

bool keeper_start(void);
void keeper_stop(void);
void keeper_wake(void); // async-signal-safe
// When one of the fatal signals arrives, the output is written first.
void keeper_guard(void);
void keeper_unguard(void);

PyObject *threads_starter(PyObject *function);
extern PyTypeObject starter_type;

bool memory_watch(void);
void memory_unwatch(void);
// Whom this OS thread's allocations are charged to, and in which session.
extern _Thread_local __attribute__((tls_model("initial-exec"))) track *memory_track;
extern _Thread_local __attribute__((tls_model("initial-exec"))) uint32_t memory_session;
// What the interpreter allocates in order to call our hook is not the program's.
void memory_forget(track *t, const void *object);

void greenlets_look(void);
void greenlets_forget(track *t);
PyObject *greenlets_switched(PyObject *self, PyObject *arguments);

#endif
