// Two functions that call one of the two, by chance: every stack is another one.
#include <stdio.h>
#include <stdlib.h>
static volatile long turns;
static long lefts, rights;
static void left(int n), right(int n);
static void next(int n) {
    for (int i = 0; i < 300; i++) turns++;
    if (n) (rand() % 2 ? left : right)(n - 1);
}
__attribute__((noinline)) static void left(int n) { lefts++, next(n), turns++; }
__attribute__((noinline)) static void right(int n) { rights++, next(n), turns++; }
int main(int argc, char **argv) {
    for (int i = 0; i < atoi(argv[argc - 1]); i++) left(60);
    printf("%ld %ld\n", lefts, rights);
}
