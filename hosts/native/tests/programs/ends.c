// SPDX-License-Identifier: MIT
// The ways to end: the argument says which. Constructors, destructors and atexit functions are
// called where the C library calls them.
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define STAY __asm__ volatile("")
NOINLINE static void leaf(void) { STAY; }
static void at_exit(void) {
    leaf();
    STAY;
}
__attribute__((constructor)) static void first(void) { STAY; }
__attribute__((destructor)) static void last(void) {
    leaf();
    STAY;
}
NOINLINE int overflow(int n) {
    volatile char room[1000] = {0};
    room[n % 1000] = 1;
    return overflow(n + 1) + room[0];
}
NOINLINE static void end(const char *how) {
    for (int i = 0; i < 1000; i++) leaf();
    if (strcmp(how, "exit") == 0) exit(3);
    if (strcmp(how, "_exit") == 0) _exit(4);
    if (strcmp(how, "abort") == 0) abort();
    if (strcmp(how, "quick_exit") == 0) quick_exit(5);
    if (strcmp(how, "kill") == 0) kill(getpid(), SIGKILL);
    if (strcmp(how, "crash") == 0) *(volatile int *)8 = 1;
    if (strcmp(how, "exec") == 0) execl("/bin/true", "true", NULL);
    if (strcmp(how, "overflow") == 0) overflow(0);
    if (atoi(how) > 0) raise(atoi(how));
    STAY;
}
int main(int argc, char **argv) {
    atexit(at_exit);
    end(argc > 1 ? argv[1] : "return");
    STAY;
    return 0;
}
