// SPDX-License-Identifier: MIT
// A handler that is recorded, at each instruction of gates and hooks: turn n is interrupted after n
// instructions, by the processor's trap flag. One call leads elsewhere each time. Prints how often
// each function was called.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <ucontext.h>
#define NOINLINE __attribute__((noinline, noclone))
#define BARE __attribute__((noinline, no_instrument_function, patchable_function_entry(0)))
enum { TRAP_FLAG = 0x100, BEFORE = 300, TURNS = 400 };
static volatile int left, handlers, sum, turns;

NOINLINE static void leaf(int n) { sum += n; }
NOINLINE static void handled(void) {
    handlers++;
    leaf(1);
}
NOINLINE static int tailed(int n) { return sum + n; }
NOINLINE static int tails(int n) {
    sum++;
    return tailed(n);
}
NOINLINE static void one(int n) { sum -= n; }
NOINLINE static void other(int n) { sum ^= n; }
static void (*volatile either[2])(int) = {one, other};
NOINLINE static void turn(int n) {
    either[turns++ % 2](n);
    leaf(n);
    sum += tails(n);
}

BARE static void on_step(int number, siginfo_t *info, void *context) {
    (void)number, (void)info;
    if (--left > 0) return;
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
    handled();
}
BARE static void step(void) {
    __asm__ volatile("pushf; orl $0x100, (%%rsp); popf" ::: "memory", "cc");
}

int main(void) {
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, NULL);
    for (int i = -BEFORE; i < TURNS; i++) {
        left = i + 1;
        turn(i); // the places know the way again
        if (i >= 0) step();
        turn(i);
        while (i >= 0 && left > 0) sum++;
    }
    printf("turn %d\none %d\nother %d\ntails %d\ntailed %d\nleaf %d\nhandled %d\n", turns,
           turns / 2, turns / 2, turns, turns, turns + handlers, handlers);
    return handlers != TURNS;
}
