// SPDX-License-Identifier: MIT
//
// Runs the program: as a child that is told where its live files go, and that waits until sampling
// has begun.

#include "start.h"

#include "children.h"
#include "folders.h"
#include "printable.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HZ_DEFAULT = 997 };

static void set(const char *name, const char *value) {
    if (value) setenv(name, value, 1);
}

static void set_or_remove(const char *name, const char *value) {
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

// In the child. Keeps libraries that are preloaded already.
static void preload(const char *name) {
    char library[PATH_MAX], list[PATH_MAX * 2];
    const char *before = secure_getenv("LD_PRELOAD");
    if (!find_library(name, library)) return;
    snprintf(list, sizeof list, "%s%s%s", library, before && *before ? ":" : "",
             before ? before : "");
    setenv("LD_PRELOAD", list, 1);
}

// A program with gcc's address sanitizer refuses to run if another library is loaded before it.
// Such a program must be linked with ours, by `ouro cc`.
static bool must_come_first(const char *program) {
    int fd = open(program, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (fd < 0) return false;
    bool found = false;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
        size_t size = (size_t)status.st_size;
        void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
        found = bytes != MAP_FAILED && memmem(bytes, size, "libasan.so.", 11) != NULL;
        if (bytes != MAP_FAILED) munmap(bytes, size);
    }
    close(fd);
    return found;
}

static int start_pipe[2]; // its end is closed by exec; an errno comes through it if that fails
static int gate[2];       // the program starts when it is closed

static _Noreturn void become_program(const options *o, const folders *f) {
    char none;
    close(gate[1]);
    // Where perf events are forbidden, the program samples itself, and is told so through the gate.
    bool ticks = read(gate[0], &none, 1) == 1;
    if (ticks) set("OURO_NATIVE_TICKS", o->hz ? o->hz : "997");
    if (!must_come_first(o->rest[0]) && (ticks || !o->sample)) {
        preload("libouro-native.so");
        if (o->memory) preload("libouro-native-memory.so");
    }
    unsetenv("OURO_NATIVE_NAMES");
    // Else an instrumented program would count its calls, which samples are asked for in place of.
    set_or_remove("OURO_NATIVE", ticks || !o->sample ? f->live : NULL);
    set_or_remove("OURO_NATIVE_RUN", f->mark);
    set("OURO_NATIVE_NODES", o->nodes);
    set("OURO_NATIVE_COMPACT", o->rule);
    set("OURO_NATIVE_CLOCK", o->clock);
    set("OURO_NATIVE_HZ", o->hz);
    set("OURO_NATIVE_MEMORY", o->memory ? "1" : NULL);
    set("OURO_NATIVE_TINY", o->tiny ? "1" : NULL);
    set("OURO_NATIVE_WITHOUT", o->without);
    set("OURO_NATIVE_OFF", o->off ? "1" : NULL);
    set("OURO_NATIVE_BY", o->by_thread ? "thread" : NULL);
    set("OURO_NATIVE_SLICE", o->slice);
    set("OURO_NATIVE_SLICE_BY", o->slice_by);
    execvp(o->rest[0], o->rest);
    int error = errno;
    ouro__say("ouro run: cannot run %s: %s", o->rest[0], strerror(error));
    if (write(start_pipe[1], &error, sizeof error) < 0) _exit(126);
    _exit(error == ENOENT ? 127 : 126);
}

const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

sampling *start_sampling(const options *o, const folders *f, const char *name, pid_t pid,
                         bool on_exec, bool by_timer) {
    sampling_options so = {.folder = f->live,
                           .name = name,
                           .mark = f->mark,
                           .rule = o->rule,
                           .nodes = o->nodes,
                           .debug_folders = o->debug_folders,
                           .hz = o->hz ? (unsigned)atoi(o->hz) : HZ_DEFAULT,
                           .waits = o->clock && strcmp(o->clock, "wall") == 0,
                           .by_thread = o->by_thread,
                           .by_timer = by_timer,
                           .off = o->off};
    return sampling_start(&so, pid, on_exec);
}

bool wants_sampling(const options *o) {
    if (o->sample) return true;
    bool timeless = o->memory || (o->clock && strcmp(o->clock, "off") == 0);
    return !timeless && !is_instrumented(o->rest[0]);
}

// Ctrl-C ends the program, not us: its profile up to then is still to be written.
int run_program(const options *o, const folders *f, bool *started, bool *sampled_too) {
    static const int never = 0;
    int error;
    if (pipe2(start_pipe, O_CLOEXEC) || pipe2(gate, O_CLOEXEC)) fail("cannot run", o->rest[0]);
    pid_t pid = start_child();
    if (pid < 0) fail("cannot run", o->rest[0]);
    if (pid == 0) become_program(o, f);
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    close(start_pipe[1]);
    sampling *s = NULL;
    const char *name = base_name(o->rest[0]);
    if (*sampled_too && !o->timer) {
        s = start_sampling(o, f, name, pid, true, false);
        if (!s) tell_not_permitted(errno, true);
    }
    if (*sampled_too && !s) {
        s = start_sampling(o, f, name, pid, true, true);
        if (s && write(gate[1], "t", 1) < 0) fail("cannot run", o->rest[0]);
    }
    close(gate[0]);
    close(gate[1]);
    *started = read(start_pipe[0], &error, sizeof error) <= 0;
    close(start_pipe[0]);
    if (s) sampling_run(s, &never, duration_of(o));
    if (s) *sampled_too = sampling_end(s, o->quiet) > 0;
    return wait_for_child();
}
