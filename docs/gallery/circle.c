// Two functions call each other, a thousand deep. even asks for a quarter of the work.
#include <stdio.h>
#include <stdlib.h>
static volatile long turns;
static long for_even, for_odd;
__attribute__((noinline)) static void work(long n) {
    for (long i = 0; i < n; i++) turns++;
}
static void odd(int n);
__attribute__((noinline)) static void even(int n) {
    work(500), for_even += 500;
    if (n) odd(n - 1);
    turns++;
}
__attribute__((noinline)) static void odd(int n) {
    work(1500), for_odd += 1500;
    if (n) even(n - 1);
    turns++;
}
int main(int argc, char **argv) {
    for (int i = 0; i < atoi(argv[argc - 1]); i++) even(999);
    printf("%.1f %.1f\n", 100.0 * for_even / (for_even + for_odd),
           100.0 * for_odd / (for_even + for_odd));
}
