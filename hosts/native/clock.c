// SPDX-License-Identifier: MIT
//
// The clock: each OS thread gets a signal as often as the session says, and is charged for all the
// time since the last one. Ticks of processor time come from the first of these that works:
//
//   - a perf event of the thread, which counts while it runs. The kernel must permit one that also
//     sees the kernel. Only its mapping is kept: a program may close descriptors that it does not
//     know
//   - if the user has asked for a rate: a timer of elapsed time. Its signals end waiting system
//     calls, so a thread that waits gets one. Then it has a timer of processor time, until it runs
//   - a timer of processor time, at which kernels look 100 to 1,000 times a second only
//
// The handler runs between any two instructions of the thread. It makes system calls only.

#include "native.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#if __has_include(<linux/perf_event.h>)
#include <linux/perf_event.h>
#define HAS_EVENTS true
#else
#define HAS_EVENTS false
#endif

enum { SECOND = 1000000000, PAGE = 4096 };

static uint64_t period(void) { return SECOND / ouro_native_session.hz; }

// Of the thread: what is charged.
static uint64_t time_now(void) {
    struct timespec t;
    clock_gettime(ouro_native_session.wall ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

// ---------------------------------------------------------------- perf events

#if HAS_EVENTS
static bool open_event(native_clock *clock) {
    struct perf_event_attr about = {.type = PERF_TYPE_SOFTWARE,
                                    .size = sizeof about,
                                    .config = PERF_COUNT_SW_TASK_CLOCK,
                                    .sample_period = period(),
                                    .exclude_hv = 1};
    struct f_owner_ex owner = {F_OWNER_TID, (pid_t)clock->thread};
    int fd = (int)syscall(SYS_perf_event_open, &about, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0) return false;
    clock->descriptor = fd;
    bool sends = fcntl(fd, F_SETOWN_EX, &owner) == 0 && fcntl(fd, F_SETSIG, TICK_SIGNAL) == 0 &&
                 fcntl(fd, F_SETFL, O_ASYNC) == 0;
    void *at = sends ? mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    close(fd);
    if (at != MAP_FAILED) clock->event = at;
    return at != MAP_FAILED;
}
#else
static bool open_event(native_clock *clock) { return (void)clock, false; }
#endif

// ---------------------------------------------------------------- timers

static bool make_timer(native_clock *clock, clockid_t measures, timer_t *timer) {
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = TICK_SIGNAL;
    event.sigev_value.sival_ptr = clock;
#ifdef sigev_notify_thread_id
    event.sigev_notify_thread_id = (pid_t)clock->thread;
#else
    event._sigev_un._tid = (pid_t)clock->thread;
#endif
    return timer_create(measures, &event, timer) == 0;
}

static struct timespec in_time(uint64_t ns) {
    return (struct timespec){(time_t)(ns / SECOND), (long)(ns % SECOND)};
}

static void run_timer(timer_t timer, uint64_t ns) {
    struct itimerspec often = {in_time(ns), in_time(ns)};
    timer_settime(timer, 0, &often, NULL);
}

static bool start_timer(native_clock *clock, clockid_t measures) {
    if (!make_timer(clock, measures, &clock->timer)) return false;
    clock->timers = 1;
    run_timer(clock->timer, period());
    return true;
}

#if defined(__x86_64__)
#define KNOWS_WAITING true
// Has the signal interrupted a system call that waits? It fails with EINTR, or is about to be made
// once more.
static bool was_waiting(const void *context) {
    const greg_t *registers = ((const ucontext_t *)context)->uc_mcontext.gregs;
    const unsigned char *at = (const unsigned char *)(uintptr_t)registers[REG_RIP];
    bool ended = registers[REG_RAX] == -EINTR && at[-2] == 0x0f && at[-1] == 0x05;
    return ended || (at[0] == 0x0f && at[1] == 0x05);
}
#else
#define KNOWS_WAITING false
static bool was_waiting(const void *context) { return (void)context, false; }
#endif

// A thread that waits is charged nothing now: where it runs next it is charged for what it ran.
static bool waits(native_clock *clock, const void *context) {
    if (clock->timers != 2) return false;
    bool waiting = !clock->waits && was_waiting(context);
    if (waiting == clock->waits) return false;
    clock->waits = waiting;
    run_timer(clock->timer, waiting ? 0 : period());
    run_timer(clock->processor, waiting ? period() : 0);
    return waiting;
}

static bool start_both_timers(native_clock *clock) {
    if (!KNOWS_WAITING || !make_timer(clock, CLOCK_THREAD_CPUTIME_ID, &clock->processor))
        return false;
    if (start_timer(clock, CLOCK_MONOTONIC)) return clock->timers = 2, true;
    timer_delete(clock->processor);
    return false;
}

// ---------------------------------------------------------------- ticks

static bool is_ours(const native_clock *clock, const siginfo_t *info) {
    if (info->si_code == SI_TIMER) return info->si_value.sival_ptr == clock;
    return info->si_code == POLL_IN && clock->descriptor && info->si_fd == clock->descriptor;
}

// Nothing is charged while recording is switched off, or about to be.
static bool is_recording(const native_self *self) {
    return self->thread && !ouro_native_switch_waits() &&
           ouro_native_session.profile == ouro_native_session.counted;
}

static bool take_tick(const siginfo_t *info, void *context) {
    native_self *self = &ouro_native_self;
    native_clock *clock = &self->clock;
    if (!is_ours(clock, info)) return false;
    if (waits(clock, context)) return true;
    uint64_t now = time_now(), passed = now - clock->last;
    clock->last = now;
    if (is_recording(self)) ouro_native_charge(self->thread, METRIC_TIME, passed, context);
    return true;
}

// ---------------------------------------------------------------- start and stop

// How often the kernel looks at timers of processor time.
static uint64_t kernel_period(void) {
    struct timespec tick = {0};
    clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
    return (uint64_t)tick.tv_nsec;
}

static void start_without_events(native_clock *clock) {
    bool often = period() < kernel_period();
    bool both = often && ouro_native_session.hz_asked && start_both_timers(clock);
    if (often) ouro_native_note(both ? ".waits" : ".rare");
    if (!both) start_timer(clock, CLOCK_THREAD_CPUTIME_ID);
}

void ouro_native_clock_start(native_self *self) {
    native_clock *clock = &self->clock;
    if (!ouro_native_session.hz || clock->thread ||
        !ouro_native_signal_take(TICK_SIGNAL, take_tick))
        return;
    *clock = (native_clock){.thread = syscall(SYS_gettid), .last = time_now()};
    if (ouro_native_session.wall)
        start_timer(clock, CLOCK_MONOTONIC);
    else if (!open_event(clock))
        start_without_events(clock);
}

void ouro_native_clock_stop(native_self *self) {
    native_clock *clock = &self->clock;
    if (clock->event) munmap(clock->event, PAGE);
    clock->event = NULL;
    if (clock->timers > 0) timer_delete(clock->timer);
    if (clock->timers > 1) timer_delete(clock->processor);
    clock->timers = 0;
    clock->thread = 0;
}
