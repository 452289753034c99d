// SPDX-License-Identifier: MIT
// Exceptions through frames with and without cleanups; names are demangled.
// want: main 1
// want: main;catcher(int) 1000
// want: main;catcher(int);thrower(int) 3000
// want: main;catcher(int);thrower(int);guard::~guard() 3000
// want: main;catcher(int);after() 2000
// want: main;after() 1
#include <stdexcept>

#define NOINLINE __attribute__((noinline))
struct guard {
    NOINLINE ~guard() { asm volatile(""); }
};
NOINLINE void thrower(int n) {
    guard g;
    if (n == 0) throw std::runtime_error("x");
    thrower(n - 1);
    asm volatile("");
}
NOINLINE void after() { asm volatile(""); }
NOINLINE void catcher(int i) {
    try {
        thrower(i % 5);
    } catch (const std::exception &) {
        after();
    }
    after();
}
int main() {
    for (int i = 0; i < 1000; i++) catcher(i);
    after();
    return 0;
}
