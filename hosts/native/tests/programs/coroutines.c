// SPDX-License-Identifier: MIT
// Coroutines by ucontext: two generators take turns, are left in the middle, begin again on old
// stacks, and run deep in their own stacks while the main stack runs its own functions.
// want: main 1
// want: main;resume 210
// want: main;resume;generator 12
// want: main;resume;generator;deeper 2200
// want: main;resume;generator;deeper;yield 200
// want: main;own 210
#include <stdlib.h>
#include <ucontext.h>

#define NOINLINE __attribute__((noinline))
#define QUIET __attribute__((no_instrument_function, patchable_function_entry(0), noinline))
#define STAY __asm__ volatile("" ::: "memory")
enum { STACK = 65536 };
static ucontext_t scheduler, contexts[2];
static int current;

NOINLINE static void yield(void) {
    swapcontext(&contexts[current], &scheduler);
    STAY;
}
NOINLINE static void deeper(int n) {
    if (n == 0) {
        yield();
    } else {
        deeper(n - 1);
    }
    STAY;
}
static void generator(int times) {
    for (int i = 0; i < times; i++) deeper(10);
    STAY;
}
NOINLINE static void resume(int which) {
    current = which;
    swapcontext(&scheduler, &contexts[which]);
    STAY;
}
NOINLINE static void own(void) { STAY; }

QUIET static void make(int which, void *stack, int times) {
    getcontext(&contexts[which]);
    contexts[which].uc_stack.ss_sp = stack;
    contexts[which].uc_stack.ss_size = STACK;
    contexts[which].uc_link = &scheduler;
    makecontext(&contexts[which], (void (*)(void))generator, 1, times);
}

int main(void) {
    void *stacks[2] = {malloc(STACK), malloc(STACK)};
    // Ends: 10 times on the same stack, 10 yields each and one more to come to the end.
    for (int round = 0; round < 10; round++) {
        make(0, stacks[0], 10);
        for (int i = 0; i < 11; i++) {
            resume(0);
            own();
        }
    }
    // In turn, and left in the middle.
    make(0, stacks[0], 1000);
    make(1, stacks[1], 1000);
    for (int i = 0; i < 100; i++) {
        resume(i % 2);
        own();
    }
    return 0;
}
