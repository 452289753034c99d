// SPDX-License-Identifier: MIT
// A C program that loads a library in C++, which throws through functions of both.
// want: main 1
// want: main;call_back 200
// want: main;call_back;throws 200
// want: main;call_back;throws;in_c 200
// want: main;call_back;throws;in_c;thrower 200
// want: main;after 200
#include <dlfcn.h>
#include <stdio.h>
#define NOINLINE __attribute__((noinline, noclone))
#define STAY __asm__ volatile("" ::: "memory")
static volatile int sink;
static void (*thrower)(int);

NOINLINE static void after(int n) { sink = n; }
NOINLINE static void in_c(int n) {
    thrower(n);
    STAY;
}
NOINLINE static int call_back(int (*f)(int, void (*)(int)), int n) {
    int got = f(n, in_c);
    STAY;
    return got;
}

int main(int argc, char **argv) {
    void *library = dlopen(argv[argc - 1], RTLD_NOW | RTLD_LOCAL);
    if (!library) return puts(dlerror()), 1;
    int (*f)(int, void (*)(int));
    *(void **)&f = dlsym(library, "throws");
    *(void **)&thrower = dlsym(library, "thrower");
    for (int i = 0; i < 200; i++) {
        if (call_back(f, i) != i + 1) return puts("it was not caught"), 1;
        after(i);
    }
    return 0;
}
