// SPDX-License-Identifier: MIT
// A million frames, on the stack of a thread and on the main one, whose limit is raised first.
// want: main 1
// want: main;dive 1000001
// want: diver 1
// want: diver;dive 1000001
#include <pthread.h>
#include <sys/resource.h>

__attribute__((noinline)) static int dive(int n) {
    int below = n > 0 ? dive(n - 1) : 0;
    __asm__ volatile("" : "+r"(below));
    return below + 1;
}
static void *diver(void *unused) {
    dive(1000000);
    __asm__ volatile("");
    return unused;
}
int main(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_STACK, &limit);
    limit.rlim_cur = (rlim_t)118 << 20;
    setrlimit(RLIMIT_STACK, &limit);
    dive(1000000);
    pthread_attr_t large;
    pthread_t id;
    pthread_attr_init(&large);
    pthread_attr_setstacksize(&large, (size_t)512 << 20);
    pthread_create(&id, &large, diver, NULL);
    pthread_join(id, NULL);
    return 0;
}
