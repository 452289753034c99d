// SPDX-License-Identifier: MIT
// A library that is loaded, called, unloaded and loaded again; see loader.c. NAME is its function.
#define NOINLINE __attribute__((noinline))
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
NOINLINE static void JOIN(inner_, NAME)(void) { __asm__ volatile(""); }
void plugin(void);
void plugin(void) {
    for (int i = 0; i < TIMES; i++) JOIN(inner_, NAME)();
}
__attribute__((destructor)) static void JOIN(ending_, NAME)(void) { __asm__ volatile(""); }
