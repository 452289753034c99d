// SPDX-License-Identifier: MIT
// Signal handlers, on the thread's stack and on one of their own, at any moment of a call-heavy
// loop. Prints how often each function was called.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NOINLINE __attribute__((noinline))
#define QUIET __attribute__((no_instrument_function, patchable_function_entry(0), noinline))
static atomic_int handled, helped, recursed, sent;
static atomic_bool over;

NOINLINE static void helper(void) { helped++; }
NOINLINE static void handler(int signal_number) {
    (void)signal_number;
    handled++;
    helper();
}
NOINLINE static int recurse(int n) {
    recursed++;
    int below = n > 0 ? recurse(n - 1) : 0;
    __asm__ volatile("" : "+r"(below));
    return below + 1;
}
QUIET static void *send(void *to) {
    pthread_t target = *(pthread_t *)to;
    // Who sleeps gets the processor from who computes, wherever that is, also if there is only one.
    struct timespec a_moment = {.tv_nsec = 10000};
    while (!over) {
        int before = handled;
        pthread_kill(target, sent++ % 2 ? SIGUSR1 : SIGUSR2);
        do nanosleep(&a_moment, NULL);
        while (handled == before && !over);
    }
    return NULL;
}
QUIET static void install(int number, int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigaction(number, &action, NULL);
}
int main(void) {
    pthread_t self = pthread_self(), sender;
    stack_t alternate = {.ss_sp = malloc(65536), .ss_size = 65536};
    sigaltstack(&alternate, NULL);
    install(SIGUSR1, 0);
    install(SIGUSR2, SA_ONSTACK);
    pthread_create(&sender, NULL, send, &self);
    while (handled < 3000) recurse(40);
    over = true;
    pthread_join(sender, NULL);
    int last = handled; // one may still have come
    recurse(0);
    printf("handler %d\nhelper %d\nrecurse %d\nmain 1\n", last, helped, recursed);
    return 0;
}
