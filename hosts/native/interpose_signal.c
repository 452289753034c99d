// SPDX-License-Identifier: MIT
//
// The program's own business with the signals of signals.c: what it wishes for is noted, and
// nothing of ours comes to it. A program that makes these system calls itself is not seen.

#include "interpose.h"

#include <sys/signalfd.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" // sigset, sigignore

__sighandler_t __sysv_signal(int number, __sighandler_t handler);

PART(signal)
DECLARE(sigaction);
DECLARE(signal);
DECLARE(__sysv_signal);
DECLARE(sigset);
DECLARE(sigignore);
DECLARE(sigwait);
DECLARE(sigwaitinfo);
DECLARE(sigtimedwait);
DECLARE(signalfd);
REAL_OF(sigaction)
REAL_OF(signal)
REAL_OF(__sysv_signal)
REAL_OF(sigset)
REAL_OF(sigignore)
REAL_OF(sigwait)
REAL_OF(sigwaitinfo)
REAL_OF(sigtimedwait)
REAL_OF(signalfd)

int ouro_native_real_sigaction(int number, const struct sigaction *action,
                               struct sigaction *before) {
    return real_sigaction()(number, action, before);
}

#ifndef OURO_NATIVE_WRAP
// A constructor, because signal handlers call some of these.
__attribute__((constructor)) static void find(void) {
    real_sigaction();
    real_signal();
    real___sysv_signal();
}
#endif

int OURS(sigaction)(int number, const struct sigaction *action, struct sigaction *before) {
    if (ouro_native_signal_action(number, action, before)) return 0;
    return real_sigaction()(number, action, before);
}

static bool wishes(int number, __sighandler_t handler, int flags, __sighandler_t *before) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, old;
    bool ours = ouro_native_signal_action(number, &action, &old);
    if (ours) *before = old.sa_handler;
    return ours;
}

__sighandler_t OURS(signal)(int number, __sighandler_t handler) {
    __sighandler_t before;
    return wishes(number, handler, SA_RESTART, &before) ? before : real_signal()(number, handler);
}

__sighandler_t OURS(__sysv_signal)(int number, __sighandler_t handler) {
    __sighandler_t before;
    if (wishes(number, handler, (int)(SA_RESETHAND | SA_NODEFER), &before)) return before;
    return real___sysv_signal()(number, handler);
}

// SIG_HOLD blocks the signal, which needs no help.
__sighandler_t OURS(sigset)(int number, __sighandler_t handler) {
    __sighandler_t before;
    bool ours = handler != SIG_HOLD && wishes(number, handler, 0, &before);
    return ours ? before : real_sigset()(number, handler);
}

int OURS(sigignore)(int number) {
    __sighandler_t before;
    return wishes(number, SIG_IGN, 0, &before) ? 0 : real_sigignore()(number);
}

int OURS(sigwait)(const sigset_t *set, int *number) {
    sigset_t others = ouro_native_signals_without(set);
    return real_sigwait()(&others, number);
}

int OURS(sigwaitinfo)(const sigset_t *set, siginfo_t *info) {
    sigset_t others = ouro_native_signals_without(set);
    return real_sigwaitinfo()(&others, info);
}

int OURS(sigtimedwait)(const sigset_t *set, siginfo_t *info, const struct timespec *time) {
    sigset_t others = ouro_native_signals_without(set);
    return real_sigtimedwait()(&others, info, time);
}

int OURS(signalfd)(int fd, const sigset_t *set, int flags) {
    sigset_t others = ouro_native_signals_without(set);
    return real_signalfd()(fd, &others, flags);
}
