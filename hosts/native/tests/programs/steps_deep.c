// SPDX-License-Identifier: MIT
// A handler that goes deep, at each instruction of gates and hooks: it makes the array of frames of
// a new thread grow, while a hook has the address of its top. Prints how many calls there were of
// each function.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <ucontext.h>
#define NOINLINE __attribute__((noinline, noclone))
#define BARE __attribute__((noinline, no_instrument_function, patchable_function_entry(0)))
enum { TRAP_FLAG = 0x100, TURNS = 150, DEPTH = 2500 };
static volatile int left, handlers, sum;

NOINLINE static void leaf(int n) { sum += n; }
NOINLINE static int down(int n) {
    if (n > 0) sum += down(n - 1);
    return sum & 1;
}
NOINLINE static void turn(int n) {
    leaf(n);
    leaf(n);
}

BARE static void on_step(int number, siginfo_t *info, void *context) {
    (void)number, (void)info;
    if (--left > 0) return;
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
    handlers++;
    down(DEPTH - 1);
}
BARE static void step(void) {
    __asm__ volatile("pushf; orl $0x100, (%%rsp); popf" ::: "memory", "cc");
}

static void *run(void *user) {
    int n = (int)(intptr_t)user;
    left = n + 1;
    turn(n); // the places know the way
    step();
    turn(n);
    while (left > 0) sum++;
    return NULL;
}

int main(void) {
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, NULL);
    for (int i = 0; i < TURNS; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, run, (void *)(intptr_t)i)) return 1;
        pthread_join(thread, NULL);
    }
    printf("turn %d\nleaf %d\ndown %d\n", 2 * TURNS, 4 * TURNS, DEPTH * handlers);
    return handlers != TURNS;
}
