// SPDX-License-Identifier: MIT
//
// Writing files of ours in a program that is not ours, under RLIMIT_FSIZE (`ulimit -f`). A write
// beyond the limit fails with EFBIG, and the kernel also sends SIGXFSZ to the thread, which kills
// most programs. Here the error is all that is left of it.

#ifndef OURO_FILE_LIMIT_H
#define OURO_FILE_LIMIT_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    sigset_t mask;   // of the thread, before
    bool is_pending; // a signal of the program's own, which stays
} ouro__held_limit;

static inline sigset_t ouro__limit_signal(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    return set;
}

// Blocks SIGXFSZ in this thread until ouro__limit_release. Safe in a signal handler, as all here.
static inline ouro__held_limit ouro__limit_hold(void) {
    ouro__held_limit held;
    sigset_t limit = ouro__limit_signal(), pending;
    pthread_sigmask(SIG_BLOCK, &limit, &held.mask);
    held.is_pending = sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
    return held;
}

// Takes the signal that a write of this thread caused, and restores the mask. Keeps errno.
static inline void ouro__limit_release(const ouro__held_limit *held) {
    int code = errno;
    sigset_t limit = ouro__limit_signal();
    struct timespec at_once = {0, 0};
    while (!held->is_pending && sigtimedwait(&limit, NULL, &at_once) < 0 && errno == EINTR)
        continue;
    pthread_sigmask(SIG_SETMASK, &held->mask, NULL);
    errno = code;
}

// Writes all bytes. Returns 0 or an errno.
static inline int ouro__write_all(int fd, const void *bytes, size_t size) {
    const char *at = (const char *)bytes, *end = at + size;
    int code = 0;
    ouro__held_limit held = ouro__limit_hold();
    while (at < end && !code) {
        ssize_t n = write(fd, at, (size_t)(end - at));
        if (n >= 0) at += n;
        if (n < 0 && errno != EINTR) code = errno;
    }
    ouro__limit_release(&held);
    return code;
}

#endif
