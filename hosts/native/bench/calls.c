// SPDX-License-Identifier: MIT
//
// Nothing but calls. `fib N`: one function that calls itself, N rounds of fib(25). `walk N`: four
// functions that all call each other, so that a position never enters the same function twice in a
// row: the worst case for a recorder that caches the last transition.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

NOINLINE static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

NOINLINE static unsigned leaf(unsigned x) { return x * 2654435761u; }
typedef unsigned walker(unsigned x, int depth);
static walker a, b, c;
NOINLINE static unsigned a(unsigned x, int depth) {
    return depth ? b(x + 1, depth - 1) ^ c(x, depth - 1) ^ leaf(x) : leaf(x);
}
NOINLINE static unsigned b(unsigned x, int depth) {
    return depth ? c(x + 3, depth - 1) + a(x, depth - 1) : leaf(x);
}
NOINLINE static unsigned c(unsigned x, int depth) {
    return depth ? leaf(x) + a(x + 5, depth - 1) - b(x, depth - 1) : leaf(x);
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    int rounds = atoi(argv[2]);
    unsigned sum = 0;
    for (int i = 0; i < rounds; i++)
        sum += strcmp(argv[1], "fib") == 0 ? (unsigned)fib(25) : a((unsigned)i, 15);
    printf("%u\n", sum);
    return 0;
}
