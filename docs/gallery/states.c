// A machine of three states: each ends by calling the next, which takes its place on the stack.
#include <stdio.h>
#include <stdlib.h>
static volatile long turns;
static long reads, parses, emits;
__attribute__((noinline)) static void work(long n) {
    for (long i = 0; i < n; i++) turns++;
}
static void parse(long n), emit(long n);
__attribute__((noinline)) static void reader(long n) {
    reads++, work(100);
    if (n) parse(n - 1);
}
__attribute__((noinline)) static void parse(long n) {
    parses++, work(600);
    emit(n);
}
__attribute__((noinline)) static void emit(long n) {
    emits++, work(300);
    reader(n);
}
int main(int argc, char **argv) {
    reader(atol(argv[argc - 1]));
    printf("%ld %.1f\n", parses,
           100.0 * parses * 600 / (reads * 100.0 + parses * 600.0 + emits * 300.0));
}
