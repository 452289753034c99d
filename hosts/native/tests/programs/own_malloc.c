// SPDX-License-Identifier: MIT
// A program with a malloc of its own, instrumented: what the recorder allocates with it must not
// come back to the recorder. Prints how often it called malloc itself.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))
static char pool[64 << 20] __attribute__((aligned(64)));
static size_t used;
NOINLINE static size_t round_up(size_t n) { return (n + 31) & ~(size_t)15; }
void *malloc(size_t size) {
    size_t whole = round_up(size);
    size_t at = __atomic_fetch_add(&used, whole, __ATOMIC_RELAXED);
    if (at + whole > sizeof pool) return NULL;
    memcpy(pool + at, &size, sizeof size);
    return pool + at + 16;
}
void free(void *p) { (void)p; }
void *calloc(size_t n, size_t size) { return malloc(n * size); }
void *realloc(void *p, size_t size) {
    void *fresh = malloc(size);
    size_t old = 0;
    if (p) memcpy(&old, (char *)p - 16, sizeof old);
    if (p && fresh) memcpy(fresh, p, old < size ? old : size);
    return fresh;
}
static void *volatile keep;
#define F(n) \
    NOINLINE static void f##n(void) { keep = malloc(n); }
F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) int main(void) {
    void (*all[])(void) = {f1, f2, f3, f4, f5, f6, f7, f8};
    for (int i = 0; i < 8000; i++) all[i % 8]();
    puts("f1 1000\nf8 1000");
    return 0;
}
