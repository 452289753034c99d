// SPDX-License-Identifier: MIT
//
// ouro push --follow: rounds of sending what live files have more than before, until a signal asks
// to stop. Then there is a last round. Prints a line when something changes, and on a terminal a
// line of what is going on.

#include "follow.h"
#include "cli.h"
#include "heap.h"

#include "printable.h"

#include <errno.h>
#include <libgen.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { EVERY_DEFAULT = 10000, PATIENCE_LEAST = 100, PATIENCE_MOST = 30000 }; // milliseconds

// ---------------------------------------------------------------- what is said

static bool has_status; // a line that is written over

static void end_status(void) {
    if (has_status) fprintf(stderr, "\r\033[K");
    has_status = false;
}

static void say_event(void *user, follow_event event, const char *path, const char *text) {
    const options *o = user;
    end_status();
    switch (event) {
    case FOLLOW_BEGAN:
        ouro__say("ouro: %s: following", path);
        break;
    case FOLLOW_ENDED:
        ouro__say("ouro: %s: ended, all of it is in the store", path);
        break;
    case FOLLOW_BUSY:
        ouro__say("ouro: %s: another ouro push follows it; it is taken over when that one ends",
                  path);
        break;
    case FOLLOW_TROUBLE:
        ouro__say("ouro: %s: %s", path, text);
        break;
    case FOLLOW_OUTAGE:
        ouro__say("ouro: %s: %s; nothing is lost, it is tried again", o->store, text);
        break;
    case FOLLOW_BACK:
        ouro__say("ouro: %s: the store is back", o->store);
        break;
    }
}

static void show_status(const follow *f) {
    follow_counts c = ouro__follow_counts(f);
    char slices[GROUPED_ROOM];
    if (!isatty(STDERR_FILENO)) return;
    fprintf(stderr, "\r%u files, %s slices sent%s\033[K", c.followed,
            ouro__grouped(slices, c.slices), c.waiting ? ", waiting for the store" : "");
    has_status = true;
}

// ---------------------------------------------------------------- signals

// false: a signal asked to stop.
static bool wait_until(const struct timespec *when) {
    sigset_t set = ending_signals();
    for (;;) {
        struct timespec at, left = {0, 0};
        clock_gettime(CLOCK_MONOTONIC, &at);
        int64_t nanoseconds =
            (int64_t)(when->tv_sec - at.tv_sec) * 1000000000 + when->tv_nsec - at.tv_nsec;
        if (nanoseconds > 0)
            left = (struct timespec){nanoseconds / 1000000000, nanoseconds % 1000000000};
        if (sigtimedwait(&set, NULL, &left) > 0) return false;
        if (errno != EINTR) return true;
    }
}

static struct timespec later(struct timespec t, uint64_t milliseconds) {
    uint64_t nanoseconds = (uint64_t)t.tv_nsec + milliseconds % 1000 * 1000000;
    return (struct timespec){t.tv_sec + (time_t)(milliseconds / 1000 + nanoseconds / 1000000000),
                             (long)(nanoseconds % 1000000000)};
}

// ---------------------------------------------------------------- rounds

// A round that takes too long is followed by a pause, not by a burst.
static void run_rounds(follow *f, uint64_t every) {
    struct timespec next;
    do {
        clock_gettime(CLOCK_MONOTONIC, &next);
        next = later(next, every);
        ouro__follow_round(f);
        show_status(f);
    } while (wait_until(&next));
}

// A file stays open as long as it is followed. Memory is given back by no system call per round.
static void set_limits(void) {
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    ouro__heap_keeps(32 << 20);
}

static uint32_t patience_of(uint64_t every) {
    return (uint32_t)(every < PATIENCE_LEAST  ? PATIENCE_LEAST
                      : every > PATIENCE_MOST ? PATIENCE_MOST
                                              : every);
}

static bool has_folder(const char *path) {
    char *copy = strdup(path);
    if (!copy) fail_memory();
    bool there = access(dirname(copy), F_OK) == 0;
    free(copy);
    return there;
}

// A path that is not there yet may come, unless its folder is missing: then it is mistyped.
static void check_place(const options *o, const char *path) {
    error e = {0};
    if (access(path, F_OK) == 0) return;
    int problem = errno;
    bool missing = problem == ENOENT;
    if (missing && !o->once && has_folder(path)) return;
    ouro__error_set(&e, problem, "%s%s", strerror(problem),
                    o->once   ? "; with --once the file or folder must be there"
                    : missing ? "; make its folder first, then the push waits for it"
                              : "");
    fail_with(path, &e);
}

int follow_files(const options *o, const label_set *labels) {
    error e = {0};
    uint64_t every = o->every ? o->every : EVERY_DEFAULT;
    if (!ouro__store_follows(o->store, &e)) fail_with(o->store, &e);
    follow_options how = {.store = o->store,
                          .labels = labels,
                          .root = o->root,
                          .patience = patience_of(every),
                          .say = say_event,
                          .user = (void *)(uintptr_t)o};
    sigset_t set = ending_signals();
    follow *f = ouro__follow_new(&how);
    if (!f) fail_memory();
    for (size_t i = 0; i < o->inputs.count; i++) {
        check_place(o, o->inputs.items[i]);
        if (!ouro__follow_add(f, o->inputs.items[i])) fail_memory();
    }
    set_limits();
    sigprocmask(SIG_BLOCK, &set, NULL);
    if (!o->once) run_rounds(f, every);
    sigprocmask(SIG_UNBLOCK, &set, NULL); // a second one ends the last round
    bool all = ouro__follow_round(f);
    end_status();
    if (!all) ouro__say("ouro: not all is in the store; the next `ouro push` sends the rest");
    ouro__follow_free(f);
    return all ? EXIT_GOOD : EXIT_FAILED;
}
