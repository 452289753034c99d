// SPDX-License-Identifier: MIT
// Others read the stack while functions return to their gates: backtrace(), pthread_exit,
// pthread_cancel, a nested function that is called through its chain, arguments on the stack, a
// child of vfork.
// want: main 1
// want: main;trace 3
// want: main;trace;deepest 3
// want: main;leaves 1
// want: main;cancels 1
// want: main;chained 1
// want: main;chained;each 1
// want: main;chained;each;inner 10
// want: main;many 10
// want: main;vforks 5
// want: leaving 1
// want: leaving;leave_now 1
// want: leaving;leave_now;cleaned 1
// want: waiting 1
// want: waiting;wait_here 1
// want: waiting;wait_here;cleaned 1
#define _GNU_SOURCE
#include <execinfo.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#define NOINLINE __attribute__((noinline, noclone))
#define STAY __asm__ volatile("" ::: "memory")
static volatile int clean;
static int frames, first;

NOINLINE static void deepest(void) {
    void *found[64];
    frames = backtrace(found, 64);
    STAY;
}
NOINLINE static void trace(void) {
    deepest();
    STAY;
}

NOINLINE static void cleaned(void *unused) {
    (void)unused;
    clean++;
}
NOINLINE static void leave_now(void) {
    pthread_cleanup_push(cleaned, NULL);
    pthread_exit(NULL);
    pthread_cleanup_pop(0);
}
NOINLINE static void *leaving(void *unused) {
    leave_now();
    STAY;
    return unused;
}
NOINLINE static void wait_here(void) {
    pthread_cleanup_push(cleaned, NULL);
    for (;;) pause();
    pthread_cleanup_pop(0);
}
NOINLINE static void *waiting(void *unused) {
    wait_here();
    STAY;
    return unused;
}
NOINLINE static void leaves(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, leaving, NULL);
    pthread_join(thread, NULL);
}
NOINLINE static void cancels(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, waiting, NULL);
    usleep(100000);
    pthread_cancel(thread);
    pthread_join(thread, NULL);
}

NOINLINE static int each(int (*call)(int), int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) sum += call(i);
    return sum;
}
NOINLINE static int chained(int n) {
    __attribute__((noinline, noclone)) int inner(int i) { return i * n; }
    return each(inner, 10);
}

NOINLINE static long many(long a, long b, long c, long d, long e, long f, long g, long h, long i) {
    STAY;
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i;
}

NOINLINE static int vforks(void) {
    int status;
    pid_t child = vfork();
    if (child == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    waitpid(child, &status, 0);
    return status;
}

int main(void) {
    for (int i = 0; i < 3; i++) {
        trace();
        if (!first) first = frames;
        if (frames != first || frames < 4) return printf("%d frames, not %d\n", frames, first), 1;
    }
    leaves();
    cancels();
    if (clean != 2) return printf("%d cleanups\n", clean), 1;
    if (chained(3) != 135) return puts("chained is wrong"), 1;
    for (int i = 0; i < 10; i++)
        if (many(1, 2, 3, 4, 5, 6, 7, 8, 9) != 285) return puts("many is wrong"), 1;
    for (int i = 0; i < 5; i++)
        if (vforks() != 0) return puts("vforks is wrong"), 1;
    return 0;
}
