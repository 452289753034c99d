// SPDX-License-Identifier: MIT
//
// The clock of a session: a timer whose signal counts ticks and arms a hook of Lua.
//
// The handler may run between any two instructions. lua_sethook is made for that. Everything else
// that the handler touches is one word, and where two words must change together, `busy` stops it
// from arming.
//
// Arming and charging walk the stack (lua_sethook does so, too), so their cost grows with its
// depth. After each of them the next one waits until the program has had a hundred times as much
// processor time, and charges the ticks of that time together. A program that sleeps has none; then
// it waits for ten times as many ticks, so that the sleep is charged to who slept.
//
// One instruction of the virtual machine takes nanoseconds, the return from a signal 1 to 2 us, and
// a step of the collector 10 to some 100 us. So a tick is charged to `(gc)` if the interrupted
// instruction took LATE nanoseconds or more. This is an inference: an instruction that copies a
// very large string or table looks the same, and the last microseconds of a step do not show.

#include "ticker.h"

#include "session.h"
#include "tick_signal.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TICKERS = 256, LATE = 15000, SHARE = 100, ASLEEP = 10, HZ = 251 };

static ticker tickers[TICKERS];

static uint64_t read_clock(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t ticker_now(void) { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

uint64_t ticker_process_time(void) { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }

ticker *ticker_of_ticket(const void *ticket) {
    ticker *t = &tickers[(uintptr_t)ticket % TICKERS];
    return t->ticket == (uintptr_t)ticket && t->session ? t : NULL;
}

static void rest_after(ticker *t, uint64_t now, uint64_t cost, uint32_t ticks) {
    t->rest = now + cost * SHARE;
    t->wait = ticks + 1 + (uint32_t)(cost * SHARE * ASLEEP / t->period);
}

static void on_tick(int signal_number, siginfo_t *info, void *context) {
    (void)context;
    int error = errno;
    if (info->si_code != SI_TIMER) ouro__obey_default(signal_number);
    ticker *t = ticker_of_ticket(info->si_value.sival_ptr);
    if (info->si_code == SI_TIMER && t) {
        t->ticks = t->ticks + 1 + (uint32_t)(info->si_overrun > 0 ? info->si_overrun : 0);
        uint64_t now = ticker_now();
        if (!t->busy && (now >= t->rest || t->ticks >= t->wait)) {
            t->armed_at = now;
            t->due = 1;
            t->session->arm(t->session, t);
            t->arm_cost = ticker_now() - t->armed_at;
            // If no hook charges them: a handler that takes as long as a period must not run at
            // every period, or the program would make no progress.
            rest_after(t, now, t->arm_cost, t->ticks);
        }
    }
    errno = error;
}

uint32_t ticker_take(ticker *t) {
    t->due = 0;
    return __atomic_exchange_n(&t->ticks, 0, __ATOMIC_RELAXED);
}

void ticker_rest(ticker *t, uint64_t start) {
    uint64_t now = ticker_now();
    rest_after(t, now, now - start + t->arm_cost, 0);
}

bool ticker_was_late(const ticker *t, uint64_t now) {
    return now - t->armed_at > t->arm_cost + LATE;
}

// ---------------------------------------------------------------- start and stop

static bool timer_begin(ticker *t, int signal_number, unsigned hz, bool cpu) {
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = signal_number;
    event.sigev_value.sival_ptr = (void *)t->ticket;
#ifdef sigev_notify_thread_id
    event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
#else
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
#endif
    t->period = 1000000000u / hz;
    if (timer_create(cpu ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &event, &t->timer))
        return false;
    t->started = true;
    struct itimerspec times = {.it_interval = {.tv_sec = (time_t)(t->period / 1000000000u),
                                               .tv_nsec = (long)(t->period % 1000000000u)}};
    times.it_value = times.it_interval;
    return timer_settime(t->timer, 0, &times, NULL) == 0;
}

static ticker *ticker_new(session *s) {
    for (int i = 0; i < TICKERS; i++) {
        ticker *t = &tickers[i];
        session *nobody = NULL;
        if (!__atomic_compare_exchange_n(&t->session, &nobody, s, false, __ATOMIC_ACQ_REL,
                                         __ATOMIC_RELAXED))
            continue;
        t->ticket = t->ticket ? t->ticket + TICKERS : (uintptr_t)(TICKERS + i);
        t->busy = 0;
        t->ticks = 0;
        t->due = 0;
        t->wait = 1;
        t->rest = 0;
        t->started = false;
        return t;
    }
    errno = EAGAIN;
    return NULL;
}

ticker *ticker_start(session *s, unsigned hz, bool cpu) {
    int signal_number = ouro__take_tick_signal(on_tick, 0);
    ticker *t = signal_number ? ticker_new(s) : NULL;
    if (!t || timer_begin(t, signal_number, hz ? hz : HZ, cpu)) return t;
    int error = errno;
    ticker_stop(t);
    errno = error;
    return NULL;
}

uint64_t ticker_stop(ticker *t) {
    if (!t) return 0;
    t->busy = 1;
    if (t->started) timer_delete(t->timer);
    uint64_t rest = ticker_take(t) * t->period;
    __atomic_store_n(&t->session, NULL, __ATOMIC_RELEASE);
    return rest;
}
