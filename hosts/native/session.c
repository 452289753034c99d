// SPDX-License-Identifier: MIT
//
// The profile of this process, made when the first function is entered. It is a live file in the
// folder that OURO_NATIVE names, so nothing has to be done when the program ends, however it ends.
// Without that variable everything is off. `ouro run` sets it, and reads the files afterwards.
// A program that runs with other rights than its caller's (setuid, capabilities) must not obey the
// caller's environment: secure_getenv sees no variable there, so nothing is recorded.
//
//   OURO_NATIVE          the folder
//   OURO_NATIVE_RUN      a mark in the names of the files, if the folder has those of other runs
//   OURO_NATIVE_NODES    the cap
//   OURO_NATIVE_COMPACT  loops, cycles, edges, edges:1 to edges:3, none
//   OURO_NATIVE_CLOCK    cpu, wall or off
//   OURO_NATIVE_HZ       ticks of the clock per second
//   OURO_NATIVE_MEMORY   1: count allocations
//   OURO_NATIVE_OFF      1: begin switched off, see switch.c
//   OURO_NATIVE_BY       thread: the names of threads are roots
//   OURO_NATIVE_TINY     1: tiny functions, too, see tiny_code.h
//   OURO_NATIVE_WITHOUT  functions that are not recorded, with commas, see sleds.c
//   OURO_NATIVE_SLICE    the function whose calls are slices
//   OURO_NATIVE_SLICE_BY the metric that slow slices have most of
//
// A child of fork(2) makes a profile of its own when it enters or leaves its first function. It
// gets the same blocks with the same numbers, so the cache of functions stays valid.

#include "native.h"

#include "descriptors.h"
#include "own_path.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NODES_DEFAULT = 1 << 18, NAME_CUT = 200 };

native_session ouro_native_session;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ouro_profile *parent; // before the last fork(2)
static uint64_t threads;
static pthread_key_t thread_key;
static bool watching;

// ---------------------------------------------------------------- options

static void read_compaction(ouro_options *options) {
    const char *rule = secure_getenv("OURO_NATIVE_COMPACT");
    if (rule) ouro_compaction_from_name(rule, options);
}

static void read_clock(void) {
    const char *clock = secure_getenv("OURO_NATIVE_CLOCK"), *hz = secure_getenv("OURO_NATIVE_HZ");
    ouro_native_session.wall = clock && strcmp(clock, "wall") == 0;
    ouro_native_session.hz = hz ? (unsigned)atoi(hz) : 0;
    ouro_native_session.hz_asked = ouro_native_session.hz > 0;
    if (!ouro_native_session.hz) ouro_native_session.hz = 997;
    if (clock && strcmp(clock, "off") == 0) ouro_native_session.hz = 0;
}

const char *ouro_native_mark(void) {
    static char mark[20];
    const char *run = secure_getenv("OURO_NATIVE_RUN");
    if (!run || !*run) return "";
    snprintf(mark, sizeof mark, ".%.16s", run);
    return mark;
}

// PROGRAM.PID.ouro, with a number if this process ran another program before (exec), and the mark.
// The program's name is cut, so that the whole is a name that file systems take. false with errno.
// The buffers are static, and used under the lock, because the stack may be small.
static bool name_file(char path[static PATH_MAX], const char *folder) {
    static char program[PATH_MAX];
    ouro__own_path(program);
    const char *slash = strrchr(program, '/');
    const char *name = slash ? slash + 1 : "program";
    for (int again = 1; again < 1000; again++) {
        char number[16] = "";
        if (again > 1) snprintf(number, sizeof number, ".%d", again);
        int n = snprintf(path, PATH_MAX, "%s/%.*s.%d%s%s.ouro", folder, NAME_CUT, name, getpid(),
                         number, ouro_native_mark());
        errno = n >= PATH_MAX ? ENAMETOOLONG : EEXIST;
        if (n >= PATH_MAX) return false;
        if (access(path, F_OK)) return true;
    }
    return false;
}

// ---------------------------------------------------------------- the profile

static void copy_blocks(ouro_profile *to, const ouro_profile *from) {
    ouro_block_info info;
    for (ouro_block b = OURO_PRUNED + 1; ouro_block_get(from, b, &info); b++)
        ouro_add_block(to, &info);
}

// A library does not print. The reason is the name of an empty file, PID.ERRNO.failed, which `ouro
// run` reads: that takes no room in a full file system.
static void leave_note(const char *note, int length) {
    if (length >= PATH_MAX) return;
    int fd = ouro__open(note, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd >= 0) close(fd);
}

static void give_up(const char *folder, int error) {
    static char note[PATH_MAX];
    leave_note(note, snprintf(note, sizeof note, "%s/%d.%d%s.failed", folder, getpid(), error,
                              ouro_native_mark()));
}

void ouro_native_note(const char *ending) {
    static char note[PATH_MAX];
    const char *folder = secure_getenv("OURO_NATIVE");
    int error = errno;
    if (!folder) return;
    pthread_mutex_lock(&lock);
    leave_note(note, snprintf(note, sizeof note, "%s/%d%s%s", folder, getpid(), ouro_native_mark(),
                              ending));
    pthread_mutex_unlock(&lock);
    errno = error;
}

static ouro_profile *open_profile(const char *folder) {
    static const ouro_metric_info metrics[] = {{"time", "nanoseconds"},
                                               {"recording", "nanoseconds"},
                                               {"samples", "count"},
                                               {"allocated", "bytes"},
                                               {"allocations", "count"}};
    const char *nodes = secure_getenv("OURO_NATIVE_NODES"),
               *memory = secure_getenv("OURO_NATIVE_MEMORY");
    static char path[PATH_MAX];
    if (!name_file(path, folder)) return NULL;
    ouro_native_session.memory = memory && *memory == '1';
    ouro_options options = {.path = path,
                            .metrics = metrics,
                            .max_nodes = nodes ? (uint32_t)strtoul(nodes, NULL, 10) : 0};
    if (!options.max_nodes) options.max_nodes = NODES_DEFAULT;
    read_compaction(&options);
    read_clock();
    options.metric_count = ouro_native_session.memory ? 5 : ouro_native_session.hz ? 3 : 1;
    options.slices = ouro_native_slice_options(metrics, options.metric_count);
    return ouro_profile_new(&options);
}

// ---------------------------------------------------------------- fork(2)

static sigset_t mask_before_fork; // the handler of switch.c takes one of the locks

static void before_fork(void) {
    sigset_t every, before;
    sigfillset(&every);
    pthread_sigmask(SIG_BLOCK, &every, &before);
    pthread_mutex_lock(&lock);
    ouro_native_functions_lock(true);
    ouro_native_switch_lock(true);
    ouro_native_stacks_lock(true);
    ouro_native_mirror_lock(true);
    mask_before_fork = before;
}

static void in_parent(void) {
    sigset_t before = mask_before_fork;
    ouro_native_mirror_lock(false);
    ouro_native_stacks_lock(false);
    ouro_native_switch_lock(false);
    ouro_native_functions_lock(false);
    pthread_mutex_unlock(&lock);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

// The library's own handler was registered earlier and has made the profile private to this
// process. From now on the profile is only read.
static void in_child(void) {
    native_self *self = &ouro_native_self;
    in_parent();
    if (!ouro_native_session.profile) return;
    parent = ouro_native_session.counted;
    ouro_native_session.profile = ouro_native_session.counted = NULL;
    ouro_native_session.forked = ++ouro_native_session.generation;
    ouro_native_switch_in_child(self);
    self->tick_count = 0;
    self->clock = (native_clock){0}; // not inherited
    self->limit = NULL;
}

// ---------------------------------------------------------------- threads

// Of ThreadSanitizer, if the program has it. It frees a thread's state in the last round of the
// destructors of keys, and its pthread functions crash after that.
extern void __tsan_init(void) __attribute__((weak));

// Other keys' destructors may enter functions, so ours waits for the last round that it can.
static void thread_end(void *pointer) {
    native_self *self = pointer;
    native_section section;
    if (self->endings++ < (__tsan_init ? 2 : 3)) {
        pthread_setspecific(thread_key, self);
        return;
    }
    ouro_native_clock_stop(self);
    ouro_native_switch_remove(self);
    bool open = ouro_native_section_begin(&section);
    self->dead = true;
    self->limit = NULL;
    if (!open) return;
    if (self->stack == &self->own) self->own.top = self->top;
    for (native_frame *f = self->own.top - 1; f > self->own.frames; f--)
        ouro_exit(self->own.thread, f->token);
    if (ouro_native_session.by_thread) ouro_exit(self->own.thread, self->own.root);
    ouro_thread_free(self->own.thread);
    ouro_native_stack_drop(&self->own);
    self->thread = NULL;
    self->busy = false;
    pthread_sigmask(SIG_SETMASK, &section.before, NULL);
}

bool ouro_native_thread_begin(void) {
    native_self *self = &ouro_native_self;
    uintptr_t low, size;
    ouro_native_stack_of_thread(&low, &size);
    if (!ouro_native_stack_init(&self->own, low, size)) return false;
    self->number = __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
    self->stack = &self->own;
    self->top = self->own.top;
    self->low = low;
    self->size = size;
    pthread_setspecific(thread_key, self);
    self->started = true;
    ouro_native_switch_add(self);
    if (self->number == 1) ouro_native_uncounted_start();
    return true;
}

// ---------------------------------------------------------------- the beginning

static bool begin(void) {
    const char *folder = secure_getenv("OURO_NATIVE");
    if (!folder || !*folder) return false;
    int error = watching ? 0 : pthread_key_create(&thread_key, thread_end);
    ouro_profile *profile = error ? NULL : open_profile(folder);
    if (!profile) give_up(folder, error ? error : errno);
    if (!profile) return false;
    // After ouro_profile_new: the child's handlers run in the order of their registration.
    if (!watching) watching = pthread_atfork(before_fork, in_parent, in_child) == 0;
    if (parent) copy_blocks(profile, parent);
    const char *off = secure_getenv("OURO_NATIVE_OFF"), *by = secure_getenv("OURO_NATIVE_BY");
    ouro_native_session.by_thread = by && strcmp(by, "thread") == 0;
    ouro_native_session.counted = profile;
    ouro_native_switch_start(off && *off == '1');
    __atomic_store_n(&ouro_native_session.profile, profile, __ATOMIC_RELEASE);
    return true;
}

bool ouro_native_session_begin(void) {
    pthread_mutex_lock(&lock);
    if (!ouro_native_session.profile && !ouro_native_session.off && !begin())
        ouro_native_session.off = true;
    pthread_mutex_unlock(&lock);
    return ouro_native_session.profile != NULL;
}
