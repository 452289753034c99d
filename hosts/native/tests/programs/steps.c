// SPDX-License-Identifier: MIT
// A signal at each instruction of gates and hooks: the stack can be read there. The processor stops
// after each one (the trap flag), and the handler looks for main. First without, because slow paths
// block signals. One call leads elsewhere each time; what it may lead to is remembered after more
// than 128 of them.
// want: main 1
// want: main;turn 420
// want: main;turn;leaf 420
// want: main;turn;one 210
// want: main;turn;other 210
// want: main;turn;tails 420
// want: main;turn;tails;tailed 420
// want: main;turn;tails;tailed;leaf 420
#define _GNU_SOURCE
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <ucontext.h>
#define NOINLINE __attribute__((noinline, noclone))
#define BARE __attribute__((noinline, no_instrument_function, patchable_function_entry(0)))
enum { TRAP_FLAG = 0x100 };
static volatile int stop, seen, missed, sum;
static char *first, *last; // of main

BARE static void on_step(int number, siginfo_t *info, void *context) {
    void *found[64];
    (void)number, (void)info;
    if (stop) {
        ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
        return;
    }
    int count = backtrace(found, 64), i = 0;
    while (i < count && ((char *)found[i] < first || (char *)found[i] > last)) i++;
    seen++;
    if (i == count) missed++;
}

NOINLINE static void leaf(int n) { sum += n; }
NOINLINE static int tailed(int n) {
    leaf(n);
    return sum;
}
NOINLINE static int tails(int n) {
    sum++;
    return tailed(n);
}
NOINLINE static void one(int n) { sum -= n; }
NOINLINE static void other(int n) { sum ^= n; }
static void (*volatile either[2])(int) = {one, other};
NOINLINE static void turn(int n) {
    leaf(n);
    either[n % 2](n);
    sum += tails(n);
}
// The first instruction that is stopped after is the return.
BARE static void step(void) {
    stop = 0;
    __asm__ volatile("pushf; orl $0x100, (%%rsp); popf" ::: "memory", "cc");
}

int main(void) {
    void *found[2];
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    backtrace(found, 2); // loads the unwinder
    first = (char *)&main, last = first + 512;
    sigaction(SIGTRAP, &action, NULL);
    for (int i = 0; i < 420; i++) {
        if (i >= 410) step();
        turn(i);
        stop = 1;
    }
    printf("%d steps, %d without main\n", seen, missed);
    return missed || seen < 1000;
}
