// SPDX-License-Identifier: MIT
// A program that is hostile to a signal: the arguments say how, by words. Prints how it went.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define OWN __attribute__((unused, no_instrument_function))

static volatile sig_atomic_t handled, other;

OWN static void on_signal(int number) {
    handled++;
    if (number != SIGUSR1 && number != SIGUSR2) other = number;
}
OWN static void on_more(int number, siginfo_t *info, void *context) {
    (void)info, (void)context;
    on_signal(number);
}

NOINLINE static unsigned step(unsigned n) {
    for (int i = 0; i < 2000; i++) n = n * 1664525 + 1013904223;
    return n;
}

// Until the thread has used so much processor time.
NOINLINE static void work(int ms) {
    struct timespec from, now;
    volatile unsigned n = 1;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    do {
        n = step(n);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((now.tv_sec - from.tv_sec) * 1000 + (now.tv_nsec - from.tv_nsec) / 1000000 < ms);
}

// All signals that can have an action, as shells and daemons do.
static void for_each_signal(void (*handler)(int), int flags) {
    for (int number = 1; number < NSIG; number++) {
        struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
        if (flags & SA_SIGINFO) action.sa_sigaction = on_more;
        if (flags)
            sigaction(number, &action, NULL);
        else
            signal(number, handler);
    }
}

// A thread that blocks everything, uses some time, and then takes the signals that wait.
static void *wait_for_signals(void *descriptor) {
    sigset_t every;
    sigfillset(&every);
    sigdelset(&every, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &every, NULL);
    work(30);
    struct timespec moment = {.tv_nsec = 1000000};
    int number = sigtimedwait(&every, NULL, &moment);
    if (number > 0) other = number;
    int fd = signalfd(-1, &every, SFD_NONBLOCK);
    struct signalfd_siginfo info;
    if (read(fd, &info, sizeof info) > 0) other = (int)info.ssi_signo;
    return descriptor;
}

static void sleep_often(int times) {
    int ended = 0;
    for (int i = 0; i < times; i++) {
        struct timespec time = {.tv_nsec = 5000000};
        work(3);
        ended += nanosleep(&time, NULL) && errno == EINTR;
        ended += poll(NULL, 0, 5) < 0 && errno == EINTR;
    }
    printf("ended early: %d\n", ended);
}

NOINLINE static void again(char **argv, int left) {
    char number[16];
    snprintf(number, sizeof number, "%d", left - 1);
    work(3);
    if (left % 2) execl(argv[0], argv[0], "exec", number, NULL);
    execv(argv[0], (char *[]){argv[0], "exec", number, NULL});
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *how = argv[i];
        int ms = atoi(how);
        if (ms) work(ms);
        if (!strcmp(how, "default")) for_each_signal(SIG_DFL, 0);
        if (!strcmp(how, "ignore")) for_each_signal(SIG_IGN, SA_RESTART);
        if (!strcmp(how, "handler")) for_each_signal(on_signal, 0);
        if (!strcmp(how, "siginfo")) for_each_signal(on_signal, SA_SIGINFO);
        if (!strcmp(how, "own")) {
            for_each_signal(on_signal, 0);
            for (int number = 1; number < NSIG; number++)
                if (number != SIGKILL && number != SIGSTOP && number != 32 && number != 33)
                    raise(number);
        }
        if (!strcmp(how, "die")) raise(SIGRTMAX - 3);
        if (!strcmp(how, "sleep")) sleep_often(20);
        if (!strcmp(how, "exec") && atoi(argv[i + 1]) > 0) again(argv, atoi(argv[i + 1]));
        if (!strcmp(how, "close"))
            for (int fd = 3; fd < 1024; fd++) close(fd);
        if (!strcmp(how, "wait")) {
            pthread_t thread;
            pthread_create(&thread, NULL, wait_for_signals, NULL);
            pthread_join(thread, NULL);
        }
    }
    printf("handled %d, last of ours %d\n", (int)handled, (int)other);
    return 0;
}
