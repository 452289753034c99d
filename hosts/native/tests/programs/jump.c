// SPDX-License-Identifier: MIT
// longjmp over frames, from depth 0 to 4, also out of a signal handler.
// want: main 1
// want: main;catcher 1000
// want: main;catcher;thrower 3000
// want: main;catcher;after 1000
// want: main;after 2
// want: main;interrupted 100
// want: main;interrupted;waiter 100
// want: main;interrupted;waiter;handler 100
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline))
#define STAY __asm__ volatile("" ::: "memory")
static jmp_buf env;
static sigjmp_buf out;

NOINLINE static void thrower(int n) {
    if (n == 0) longjmp(env, 1);
    thrower(n - 1);
    STAY;
}
NOINLINE static void after(void) { STAY; }
NOINLINE static void catcher(int i) {
    if (!setjmp(env)) thrower(i % 5);
    after();
}
NOINLINE static void handler(int signal_number) {
    (void)signal_number;
    STAY;
    siglongjmp(out, 1);
}
NOINLINE static void waiter(void) {
    raise(SIGUSR1);
    STAY;
}
NOINLINE static void interrupted(void) {
    if (!sigsetjmp(out, 1)) waiter();
    STAY;
}

int main(void) {
    for (int i = 0; i < 1000; i++) catcher(i);
    after();
    signal(SIGUSR1, handler);
    for (int i = 0; i < 100; i++) interrupted();
    after();
    return 0;
}
