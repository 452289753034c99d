// SPDX-License-Identifier: MIT
//
// Which signal the timers of a recorder send. Programs use SIGPROF and SIGVTALRM themselves, and
// setting them to default while our timer runs would end the program. So ticks come by SIGURG,
// which is ignored by default: code that sets it to default without asking us ends nothing. If the
// program uses SIGURG, ticks come by a real-time signal that the program leaves alone.

#ifndef OURO_TICK_SIGNAL_H
#define OURO_TICK_SIGNAL_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

typedef void ouro__tick_handler(int number, siginfo_t *info, void *context);

static inline bool ouro__install_tick_handler(int number, ouro__tick_handler *handler) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    return sigaction(number, &action, NULL) == 0;
}

// SIGURG, then the real-time signals. The native host and ouro-lua have signals of their own near
// SIGRTMAX, so these come last.
static inline int ouro__tick_candidate(int i, int real_time) {
    return i == 0 ? SIGURG : SIGRTMIN + (2 * real_time - 4 - i) % real_time;
}

// Installs the handler for the first signal that is free or has this handler already, other than
// `but`. Returns its number, or 0 with errno EBUSY: the program uses all of them.
static inline int ouro__take_tick_signal(ouro__tick_handler *handler, int but) {
    for (int i = 0, real_time = SIGRTMAX - SIGRTMIN + 1; i <= real_time; i++) {
        int number = ouro__tick_candidate(i, real_time);
        struct sigaction before;
        if (number == but || sigaction(number, NULL, &before)) continue;
        bool ours = (before.sa_flags & SA_SIGINFO) && before.sa_sigaction == handler;
        bool is_free = !(before.sa_flags & SA_SIGINFO) && before.sa_handler == SIG_DFL;
        if (ours || (is_free && ouro__install_tick_handler(number, handler))) return number;
    }
    errno = EBUSY;
    return 0;
}

// For a signal that is no tick: unless it is SIGURG, it ends the program, as it would without us.
// In a handler; the signal arrives when that returns.
static inline void ouro__obey_default(int number) {
    if (number == SIGURG) return;
    signal(number, SIG_DFL);
    raise(number);
}

#endif
