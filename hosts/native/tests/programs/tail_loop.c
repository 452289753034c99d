// SPDX-License-Identifier: MIT
//
// Two functions that tail call each other, as often as the argument says.

#include <stdlib.h>

int odd(long n);

__attribute__((noinline)) int even(long n) {
    __asm__ volatile("" : "+r"(n));
    return n ? odd(n - 1) : 0;
}

__attribute__((noinline)) int odd(long n) {
    __asm__ volatile("" : "+r"(n));
    return n ? even(n - 1) : 0;
}

int main(int argc, char **argv) { return even(atol(argv[argc - 1])); }
