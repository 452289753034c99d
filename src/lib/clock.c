// SPDX-License-Identifier: MIT
//
// The clock: a timer that sends a signal to the OS thread that runs a profile thread, and a handler
// that adds to the position of that thread.
//
// The handler may run between any two instructions, also inside a growth or a pruning. It reads
// `position` once, every position that was ever stored is memory of the lane, the lane never
// moves, and what a thread stands on is never evicted. It takes no lock, calls nothing but what the
// host may have given it for that (ouro_clock_options.charge), and leaves errno alone.
//
// A clock is a slot of a fixed table, not memory of its own: a signal that is still on its way when
// the clock is stopped finds a slot without a thread, or one of a later generation.

#include "internal.h"
#include "tick_signal.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { CLOCKS_MAX = 4096, HZ_DEFAULT = 997, HZ_MAX = 100000 };

typedef struct ouro_clock_ {
    _Atomic(ouro_thread *) thread; // charged; NULL: none. Stored after what it is charged
    bool is_taken;
    ouro_metric metric;
    uint64_t per_tick;
    void (*charge)(ouro_thread *, ouro_metric, uint64_t, const void *); // NULL: we charge
    timer_t timer;
    int signal; // that the timer sends; 0: there is no timer
    pid_t os_thread;
    bool cpu;
    unsigned hz;
    _Atomic uintptr_t ticket; // generation and index: what the signal carries
} ouro__clock;

static ouro__clock clocks[CLOCKS_MAX];
static pthread_mutex_t clocks_lock = PTHREAD_MUTEX_INITIALIZER;

// Where the thread stands, as its host says.
static ouro_node_ *node_of(const ouro_thread *thread) {
    ouro_here *const *watched = __atomic_load_n(&thread->lane_->watched, __ATOMIC_RELAXED);
    const ouro_here *here = watched ? __atomic_load_n(watched, __ATOMIC_RELAXED) : NULL;
    if (here) return here->node;
    return ouro_node_at_(thread, __atomic_load_n(&thread->position_, __ATOMIC_RELAXED));
}

static void on_tick(int signal_number, siginfo_t *info, void *context) {
    uintptr_t ticket = (uintptr_t)info->si_value.sival_ptr;
    ouro__clock *clock = &clocks[ticket % CLOCKS_MAX];
    if (info->si_code != SI_TIMER) {
        if (signal_number >= SIGRTMIN) ouro__obey_default(signal_number);
        return;
    }
    ouro_thread *thread = atomic_load_explicit(&clock->thread, memory_order_acquire);
    if (!thread || atomic_load_explicit(&clock->ticket, memory_order_relaxed) != ticket) return;
    uint64_t ticks = 1 + (uint64_t)(info->si_overrun > 0 ? info->si_overrun : 0);
    if (clock->charge)
        clock->charge(thread, clock->metric, ticks * clock->per_tick, context);
    else
        ouro_add_(&node_of(thread)->metrics[clock->metric], ticks * clock->per_tick);
}

// The signal that the host has chosen, unless the program handles it, or one that is free. 0 with
// errno if there is none.
static int signal_take(int chosen) {
    struct sigaction before;
    if (!chosen) return ouro__take_tick_signal(on_tick, 0);
    if (sigaction(chosen, NULL, &before)) return 0;
    if ((before.sa_flags & SA_SIGINFO) && before.sa_sigaction == on_tick) return chosen;
    bool is_free = !(before.sa_flags & SA_SIGINFO) &&
                   (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN);
    errno = EBUSY;
    return is_free && ouro__install_tick_handler(chosen, on_tick) ? chosen : 0;
}

static ouro__clock *clock_take(void) {
    for (int i = 0; i < CLOCKS_MAX; i++) {
        if (clocks[i].is_taken) continue;
        clocks[i].is_taken = true;
        clocks[i].ticket += clocks[i].ticket ? CLOCKS_MAX : CLOCKS_MAX + (uintptr_t)i;
        return &clocks[i];
    }
    errno = EAGAIN;
    return NULL;
}

// The processor time of a thread, as the kernel numbers its clock.
static clockid_t cpu_clock(pid_t thread) {
    enum { PER_THREAD = 4, SCHEDULED = 2 };
    return (clockid_t)(~(unsigned)thread << 3 | PER_THREAD | SCHEDULED);
}

static bool timer_begin(ouro__clock *clock, int signal_number) {
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = signal_number;
    event.sigev_value.sival_ptr = (void *)clock->ticket;
#ifdef sigev_notify_thread_id
    event.sigev_notify_thread_id = clock->os_thread;
#else
    event._sigev_un._tid = clock->os_thread;
#endif
    clockid_t measured = clock->cpu ? cpu_clock(clock->os_thread) : CLOCK_MONOTONIC;
    if (timer_create(measured, &event, &clock->timer)) return false;
    uint64_t period = 1000000000u / clock->hz;
    struct itimerspec times;
    times.it_interval.tv_sec = (time_t)(period / 1000000000u);
    times.it_interval.tv_nsec = (long)(period % 1000000000u);
    times.it_value = times.it_interval;
    clock->signal = signal_number;
    if (timer_settime(clock->timer, 0, &times, NULL) == 0) return true;
    int error = errno;
    timer_delete(clock->timer);
    clock->signal = 0;
    errno = error;
    return false;
}

static void clock_release(ouro__clock *clock) {
    atomic_store_explicit(&clock->thread, NULL, memory_order_release);
    clock->is_taken = false;
}

static int clock_begin(ouro_thread *thread, ouro_metric metric, unsigned hz) {
    ouro_profile *profile = lane_of(thread)->profile;
    int signal_number = signal_take(profile->clock.signal);
    if (!signal_number) return -1;
    ouro__clock *clock = clock_take();
    if (!clock) return -1;
    bool in_time = strcmp(profile->metrics[metric].unit, "nanoseconds") == 0;
    clock->metric = metric;
    clock->charge = profile->clock.charge;
    clock->cpu = profile->clock.measures == OURO_CLOCK_CPU;
    clock->hz = hz;
    clock->os_thread = (pid_t)syscall(SYS_gettid);
    clock->per_tick = in_time ? 1000000000u / hz : 1;
    atomic_store_explicit(&clock->thread, thread, memory_order_release);
    if (!timer_begin(clock, signal_number)) {
        clock_release(clock);
        return -1;
    }
    thread->clock_ = clock;
    return 0;
}

int ouro_clock_start(ouro_thread *thread, ouro_metric metric, unsigned hz) {
    if (!thread) return 0;
    if (hz == 0) hz = HZ_DEFAULT;
    if (metric >= thread->metric_count_ || hz > HZ_MAX) {
        errno = EINVAL;
        return -1;
    }
    if (thread->clock_) {
        errno = EBUSY;
        return -1;
    }
    pthread_mutex_lock(&clocks_lock);
    int result = clock_begin(thread, metric, hz);
    pthread_mutex_unlock(&clocks_lock);
    return result;
}

void ouro_clock_move(ouro_thread *from, ouro_thread *to) {
    if (!from || !from->clock_) return;
    ouro__clock *clock = from->clock_;
    if (to && to != from) {
        if (to->lane_ != from->lane_) {
            MISUSE("a clock is moved to another lane");
            return;
        }
        if (to->clock_) return;
        from->clock_ = NULL;
        to->clock_ = clock;
    }
    atomic_store_explicit(&clock->thread, to, memory_order_release);
}

void ouro_clock_stop(ouro_thread *thread) {
    if (!thread || !thread->clock_) return;
    pthread_mutex_lock(&clocks_lock);
    if (thread->clock_->signal) timer_delete(thread->clock_->timer);
    clock_release(thread->clock_);
    thread->clock_ = NULL;
    pthread_mutex_unlock(&clocks_lock);
}

int ouro_clock_leave(int signal_number) {
    int now = signal_number;
    pthread_mutex_lock(&clocks_lock);
    for (int i = 0; i < CLOCKS_MAX; i++) {
        ouro__clock *clock = &clocks[i];
        if (!clock->is_taken || clock->signal != signal_number || !signal_number) continue;
        timer_delete(clock->timer);
        clock->signal = 0;
        if (now == signal_number) now = ouro__take_tick_signal(on_tick, signal_number);
        if (now) timer_begin(clock, now);
    }
    pthread_mutex_unlock(&clocks_lock);
    return now;
}

// For fork(2): the child's table must not be in the middle of a change.
void ouro__clocks_lock(bool lock) {
    if (lock) {
        pthread_mutex_lock(&clocks_lock);
    } else {
        pthread_mutex_unlock(&clocks_lock);
    }
}

// In the child of fork(2), which has none of the timers.
void ouro__clocks_forget(void) {
    for (int i = 0; i < CLOCKS_MAX; i++) {
        if (clocks[i].is_taken) clock_release(&clocks[i]);
    }
}
