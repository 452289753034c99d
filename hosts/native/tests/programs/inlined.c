// SPDX-License-Identifier: MIT
// Functions that the compiler inlines are functions; static functions in headers too.
// want: main 1
// want: main;outer 100
// want: main;outer;middle 100
// want: main;outer;middle;inner 300
volatile int sink;
static inline __attribute__((always_inline)) void inner(int i) { sink = i; }
static inline __attribute__((always_inline)) void middle(int i) {
    inner(i);
    inner(i + 1);
    inner(i + 2);
}
__attribute__((noinline)) static void outer(int i) { middle(i); }
int main(void) {
    for (int i = 0; i < 100; i++) outer(i);
    return 0;
}
