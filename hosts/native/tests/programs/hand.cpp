// SPDX-License-Identifier: MIT
// Blocks by hand, in C++ and in C's way, among instrumented functions; left by an exception too.
// want: main 1
// want: main;work(int) 10
// want: main;work(int);phase one 10
// want: main;work(int);phase one;leaf() 10
// want: main;work(int);phase one;phase two 10
// want: main;work(int);phase one;phase two;leaf() 10
// want: main;work(int);leaf() 10
#include <ouro-native.h>
#include <ouro.hpp>

#define NOINLINE __attribute__((noinline))
NOINLINE static void leaf() { asm volatile(""); }
NOINLINE static void work(int i) {
    static const ouro_block one = ouro::add_block(ouro_native_profile(), "phase one", __FILE__, 1);
    static const ouro_block two = ouro::add_block(ouro_native_profile(), "phase two", __FILE__, 2);
    ouro_thread *thread = ouro_native_thread();
    try {
        ouro::block outer(thread, one);
        leaf();
        ouro_position caller = ouro_enter(thread, two);
        leaf();
        ouro_exit(thread, caller);
        if (i % 2) throw i;
    } catch (int) {
    }
    leaf();
}
int main() {
    for (int i = 0; i < 10; i++) work(i);
    return 0;
}
