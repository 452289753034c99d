// SPDX-License-Identifier: MIT
//
// The keeper: a native thread that sleeps on a semaphore. Signal handlers wake it for two things.
// It takes samples, and it writes the profile when a signal is about to end the process: the
// library may be asked for a profile by any thread at any time, so what the interrupted threads
// do, or which lock of Python they hold, does not matter.
//
// After SIGTERM and its like the keeper sends the signal again, with its default action. A thread
// that crashes waits in the handler until the keeper has written, for five seconds at most, and
// then crashes as it would have.

#include "session.h"

#include "printable.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct {
    pthread_t thread;
    sem_t wake;
    bool has_wake, runs, guards;
    pid_t pid;
    unsigned users; // sampling, guarding
    _Atomic bool ends;
    _Atomic int ended_by; // a signal that ends the process
    _Atomic int crashed;
    _Atomic bool written;
} keeper;

static const int ending[] = {SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGXCPU};
static const int crashing[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
enum { ENDING = sizeof ending / sizeof *ending, CRASHING = 5, PATIENCE_MS = 5000, ENDING_MS = 200 };
static struct sigaction before_ending[ENDING], before_crashing[CRASHING];
static struct sigaction ours_ending, ours_crashing;

void keeper_wake(void) {
    int error = errno;
    sem_post(&keeper.wake);
    errno = error;
}

static void write_now(void) {
    const char *live = the_session.output.live;
    if (!keeper.written && session_write()) {
        ouro__say("ouro: cannot write the profile: %s", strerror(errno));
        if (live) ouro__say("The recording is in %s.", live);
    }
    keeper.written = true;
}

static void end_process(int number) {
    write_now();
    signal(number, SIG_DFL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    kill(getpid(), number);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static void *run(void *unused) {
    (void)unused;
    while (!keeper.ends) {
        if (sem_wait(&keeper.wake)) continue;
        if (!the_session.settings.precise) sample_consume();
        if (keeper.ended_by) end_process(keeper.ended_by);
        if (keeper.crashed) write_now();
    }
    return NULL;
}

// All signals are the program's.
static bool spawn(void) {
    sigset_t every, before;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    int error = pthread_create(&keeper.thread, NULL, run, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return error == 0;
}

static bool keeper_begin(void) {
    if (keeper.runs && keeper.pid == getpid()) return true;
    if (!keeper.has_wake || keeper.pid != getpid()) keeper.has_wake = !sem_init(&keeper.wake, 0, 0);
    keeper.ends = keeper.written = false;
    keeper.ended_by = keeper.crashed = 0;
    keeper.pid = getpid();
    keeper.runs = keeper.has_wake && spawn();
    return keeper.runs;
}

bool keeper_start(void) {
    bool child = keeper.pid != getpid();
    if (!keeper_begin()) return false;
    if (!child || !keeper.users) keeper.users++;
    return true;
}

void keeper_stop(void) {
    if (!keeper.users || --keeper.users || !keeper.runs) return;
    keeper.ends = true;
    sem_post(&keeper.wake);
    if (keeper.pid == getpid()) pthread_join(keeper.thread, NULL);
    keeper.runs = false;
}

// ---------------------------------------------------------------- signals that end the process

// The thread waits a little, so that the program does not go on while the profile is written. Not
// for long, because it may hold a lock that writing needs.
static void on_ending(int number) {
    int error = errno;
    struct timespec pause = {.tv_nsec = 1000000};
    keeper.ended_by = number;
    keeper_wake();
    for (int i = 0; i < ENDING_MS; i++) nanosleep(&pause, NULL);
    errno = error;
}

static void on_crash(int number, siginfo_t *info, void *context) {
    (void)context;
    keeper.crashed = number;
    keeper_wake();
    struct timespec pause = {.tv_nsec = 1000000};
    for (int i = 0; i < PATIENCE_MS && !keeper.written; i++) nanosleep(&pause, NULL);
    signal(number, SIG_DFL); // a faulting instruction is executed again
    bool was_sent = info->si_code <= 0;
    if (was_sent) raise(number);
}

static void take(int number, const struct sigaction *ours, struct sigaction *before) {
    if (sigaction(number, NULL, before)) return;
    if (before->sa_handler == SIG_DFL) sigaction(number, ours, NULL);
}

static void give_back(int number, const struct sigaction *ours, const struct sigaction *before) {
    struct sigaction now;
    if (sigaction(number, NULL, &now)) return;
    if (now.sa_handler == ours->sa_handler) sigaction(number, before, NULL);
}

static void take_signals(void) {
    ours_ending = (struct sigaction){.sa_handler = on_ending, .sa_flags = SA_RESTART | SA_ONSTACK};
    ours_crashing =
        (struct sigaction){.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    for (int i = 0; i < ENDING; i++) take(ending[i], &ours_ending, &before_ending[i]);
    for (int i = 0; i < CRASHING; i++) take(crashing[i], &ours_crashing, &before_crashing[i]);
}

void keeper_guard(void) {
    if (keeper.guards) {
        keeper_begin(); // a child of fork has the handlers, but not the thread
    } else if (keeper_start()) {
        keeper.guards = true;
        take_signals();
    }
}

void keeper_unguard(void) {
    if (!keeper.guards) return;
    keeper.guards = false;
    for (int i = 0; i < ENDING; i++) give_back(ending[i], &ours_ending, &before_ending[i]);
    for (int i = 0; i < CRASHING; i++) give_back(crashing[i], &ours_crashing, &before_crashing[i]);
    keeper_stop();
}
