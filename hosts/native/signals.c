// SPDX-License-Identifier: MIT
//
// Signals of our own in a program that does not know of them: ticks, and switching on and off. The
// kernel sends both to our handler, which tells them apart from others of the same number by their
// code and value. The program sees such a number as if it were free: sigaction and the like
// (interpose_signal.c) only note the action that it wishes for. That action handles the others.

#include "native.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <ucontext.h>

enum { SIGNALS = 2, HANDLERS = 2 };

typedef struct {
    int number;                                // 0: free
    native_signal_handler *handlers[HANDLERS]; // NULL: none
    struct sigaction wished[2];                // by the program; the handler may run meanwhile
    unsigned turn;                             // which of these
} own_signal;

static own_signal signals[SIGNALS];

static own_signal *find(int number) {
    for (own_signal *s = signals; s < signals + SIGNALS; s++)
        if (__atomic_load_n(&s->number, __ATOMIC_ACQUIRE) == number) return s;
    return NULL;
}

static const struct sigaction *wish_of(const own_signal *s) {
    return &s->wished[__atomic_load_n(&s->turn, __ATOMIC_ACQUIRE)];
}

static void wish(own_signal *s, struct sigaction action) {
    unsigned other = 1 - s->turn;
    s->wished[other] = action;
    __atomic_store_n(&s->turn, other, __ATOMIC_RELEASE);
}

// By default a program ignores SIGURG, and the others end it: when the handler returns, because
// they are blocked in it.
static void do_default(int number) {
    struct sigaction ends = {.sa_handler = SIG_DFL};
    if (number == SIGURG) return;
    ouro_native_real_sigaction(number, &ends, NULL);
    raise(number);
}

static void give_to_program(own_signal *s, int number, siginfo_t *info, void *context) {
    struct sigaction action = *wish_of(s);
    sigset_t before, during = ((ucontext_t *)context)->uc_sigmask;
    if (action.sa_handler == SIG_DFL) do_default(number);
    if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) return;
    if (action.sa_flags & (int)SA_RESETHAND) wish(s, (struct sigaction){.sa_handler = SIG_DFL});
    sigorset(&during, &during, &action.sa_mask);
    if (!(action.sa_flags & SA_NODEFER)) sigaddset(&during, number);
    pthread_sigmask(SIG_SETMASK, &during, &before);
    if (action.sa_flags & SA_SIGINFO)
        action.sa_sigaction(number, info, context);
    else
        action.sa_handler(number);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void on_signal(int number, siginfo_t *info, void *context) {
    own_signal *s = find(number);
    int error = errno;
    bool ours = false;
    for (int i = 0; s && i < HANDLERS && !ours; i++) {
        native_signal_handler *handler = __atomic_load_n(&s->handlers[i], __ATOMIC_RELAXED);
        ours = handler && handler(info, context);
    }
    if (s && !ours) give_to_program(s, number, info, context);
    errno = error;
}

static bool add_handler(own_signal *s, native_signal_handler *handler) {
    int i = 0;
    while (i < HANDLERS && s->handlers[i] && s->handlers[i] != handler) i++;
    if (i < HANDLERS) __atomic_store_n(&s->handlers[i], handler, __ATOMIC_RELAXED);
    return i < HANDLERS;
}

bool ouro_native_signal_take(int number, native_signal_handler *handler) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct sigaction ours = {.sa_sigaction = on_signal,
                             .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    sigfillset(&ours.sa_mask);
    pthread_mutex_lock(&lock);
    own_signal *s = find(number), *fresh = s ? NULL : find(0);
    bool taken = (s || fresh) && add_handler(s ? s : fresh, handler);
    if (taken && fresh) {
        ouro_native_real_sigaction(number, NULL, &fresh->wished[0]);
        __atomic_store_n(&fresh->number, number, __ATOMIC_RELEASE);
        taken = ouro_native_real_sigaction(number, &ours, NULL) == 0;
    }
    pthread_mutex_unlock(&lock);
    return taken;
}

// ---------------------------------------------------------------- what the program asks for

bool ouro_native_signal_action(int number, const struct sigaction *action,
                               struct sigaction *before) {
    own_signal *s = number ? find(number) : NULL;
    if (!s) return false;
    struct sigaction old = *wish_of(s);
    if (action) wish(s, *action);
    if (before) *before = old;
    return true;
}

sigset_t ouro_native_signals_without(const sigset_t *set) {
    sigset_t others = *set;
    for (own_signal *s = signals; s < signals + SIGNALS; s++)
        if (s->number) sigdelset(&others, s->number);
    return others;
}
