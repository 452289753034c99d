// SPDX-License-Identifier: MIT
// Tail calls are jumps. R calls A; A calls B, which tail calls C; then A calls D. C is
// instrumented, and then not: D must not become B's callee in either case. Then tail calls in a
// circle, and one through a pointer.
// want: main 1
// want: main;R 10
// want: main;R;A 10
// want: main;R;A;B 20
// want: main;R;A;B;C 10
// want: main;R;A;D 20
// want: main;even 1
// want: main;even;odd 1
// want: main;even;odd;even 50
// want: main;even;odd;even;odd 50
// want: main;by_pointer 5
// want: main;by_pointer;C 5
#define NOINLINE __attribute__((noinline))
#define STAY __asm__ volatile("" ::: "memory")
volatile int sink;
void (*volatile pointer)(int);
NOINLINE void C(int n) { sink = n; }
__attribute__((patchable_function_entry(0))) NOINLINE void uninstrumented(int n) { sink = n; }
NOINLINE void B(int n) {
    sink = n;
    if (n > 5) {
        C(n);
    } else {
        uninstrumented(n);
    }
}
NOINLINE void D(int n) { sink = n; }
NOINLINE void A(int n) {
    B(10);
    D(n);
    B(1);
    D(n);
    STAY;
}
NOINLINE void R(int n) {
    A(n);
    STAY;
}
NOINLINE void even(int n);
NOINLINE void odd(int n) {
    sink = n;
    if (n > 0) even(n - 1);
}
NOINLINE void even(int n) {
    sink = n;
    odd(n);
}
NOINLINE void by_pointer(int n) {
    sink = n;
    pointer(n);
}
int main(void) {
    pointer = C;
    for (int i = 0; i < 10; i++) R(i);
    even(50);
    for (int i = 0; i < 5; i++) by_pointer(i);
    STAY;
    return 0;
}
