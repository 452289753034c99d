// SPDX-License-Identifier: MIT
//
// Two coroutines on stacks of their own, resumed in turn: each has its path in the profile, below
// the function that started it.

#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

enum { STACK = 65536, ROUNDS = 100000 };
static ucontext_t main_context, contexts[2];
static unsigned long value;

static void give(int which, unsigned long v) {
    value = v;
    swapcontext(&contexts[which], &main_context);
}

static unsigned long square(unsigned long n) { return n * n; }

static void squares(void) {
    for (unsigned long n = 0;; n++) give(0, square(n));
}

static void powers(void) {
    for (unsigned long n = 1;; n *= 2) give(1, n);
}

static void start(int which, void (*function)(void)) {
    getcontext(&contexts[which]);
    contexts[which].uc_stack.ss_sp = malloc(STACK);
    contexts[which].uc_stack.ss_size = STACK;
    contexts[which].uc_link = &main_context;
    makecontext(&contexts[which], function, 0);
}

static unsigned long next(int which) {
    swapcontext(&main_context, &contexts[which]);
    return value;
}

int main(void) {
    unsigned long sum = 0;
    start(0, squares);
    start(1, powers);
    for (int i = 0; i < ROUNDS; i++) sum += next(0) ^ next(1);
    printf("%lu\n", sum);
    return 0;
}
