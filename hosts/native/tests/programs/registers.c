// SPDX-License-Identifier: MIT
// Arguments and results in every kind of register. Events come between a call and the function's
// first instruction, and between its last one and the caller's next: nothing may be lost there, on
// hot paths (the second turn and all others) and on slow ones (the first).
#include <immintrin.h>
#include <stdarg.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))
#define AVX __attribute__((target("avx"), noinline))
#define AVX512 __attribute__((target("avx512f"), noinline))

typedef struct {
    long a, b;
} two_numbers;
typedef struct {
    double a, b;
} two_doubles;

static volatile double eight[8] = {1, 2, 3, 4, 5, 6, 7, 8};

NOINLINE two_numbers numbers(long a, long b, long c, long d, long e, long f, long g) {
    return (two_numbers){a + 2 * b + 3 * c + 4 * d, 5 * e + 6 * f + 7 * g};
}
NOINLINE two_doubles doubles(double a, double b, double c, double d, double e, double f, double g,
                             double h) {
    return (two_doubles){a + 2 * b + 3 * c + 4 * d, 5 * e + 6 * f + 7 * g + 8 * h};
}
NOINLINE two_doubles by_tail_call(double a, double b, double c, double d, double e, double f,
                                  double g, double h) {
    return doubles(h, g, f, e, d, c, b, a);
}
NOINLINE long double long_double(long double a, int n) { return a * n; }
NOINLINE double variadic(int n, ...) {
    double sum = 0;
    va_list list;
    va_start(list, n);
    for (int i = 1; i <= n; i++) sum += i * va_arg(list, double);
    va_end(list);
    return sum;
}
AVX __m256d wide(__m256d a, __m256d b) { return _mm256_add_pd(a, b); }
AVX512 __m512d wider(__m512d a, __m512d b) { return _mm512_add_pd(a, b); }

#define CHECK(what, condition)                                                 \
    do {                                                                       \
        if (!(condition)) return printf("%s is wrong, turn %d\n", what, n), 1; \
    } while (0)

AVX int check_wide(int n) {
    const double *e = (const double *)eight;
    double sums[4];
    _mm256_storeu_pd(sums, wide(_mm256_loadu_pd(e), _mm256_loadu_pd(e + 4)));
    for (int i = 0; i < 4; i++) CHECK("wide", sums[i] == e[i] + e[i + 4]);
    return 0;
}

AVX512 int check_wider(int n) {
    const double *e = (const double *)eight;
    double sums[8];
    _mm512_storeu_pd(sums, wider(_mm512_loadu_pd(e), _mm512_loadu_pd(e)));
    for (int i = 0; i < 8; i++) CHECK("wider", sums[i] == 2 * e[i]);
    return 0;
}

#ifdef SLEDS
// A function that touches nothing: the registers are as they were, also after a tail call, but
// for %r11 and, at the end of a function by gcc, those that hold neither a result nor what a
// function must keep. At its beginning a function finds them all, but %r11, and keeps them here.
NOINLINE void nothing(void) { __asm__ volatile(""); }
NOINLINE void nothing_by_tail_call(void) { nothing(); }

#define PUT(n, name) "mov $" #n ", %%" #name "\n"
#define GET(n, name) "mov %%" #name ", 8*" #n "(%%rbx)\n"
#define KEEP(n, name) "mov %" #name ", 8*13+8*" #n "(%rbx)\n"
#define EACH(DO) \
    DO(0, rax)   \
    DO(1, rdx)   \
    DO(2, r12)   \
    DO(3, r13)   \
    DO(4, r14)   \
    DO(5, r15) DO(6, rcx) DO(7, rsi) DO(8, rdi) DO(9, r8) DO(10, r9) DO(11, r10) DO(12, r11)
#ifdef __clang__
enum { KEPT = 12 };
#else
enum { KEPT = 6 };
#endif

__attribute__((naked)) NOINLINE void everything(void) { __asm__(EACH(KEEP) "ret"); }
__attribute__((naked)) NOINLINE void everything_by_tail_call(void) { __asm__("jmp everything"); }
#define CALL(function)                                                                            \
    __asm__ volatile("sub $128, %%rsp\n" EACH(PUT) "call " #function                              \
                                                   "\n" EACH(GET) "add $128, %%rsp\n"             \
                     :                                                                            \
                     : "b"(after)                                                                 \
                     : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", \
                       "r14", "r15", "memory", "cc")

NOINLINE int check_all(int n) {
    long after[26], *inside = after + 13;
    CALL(nothing);
    for (int i = 0; i < KEPT; i++) CHECK("a register", after[i] == i);
    CALL(nothing_by_tail_call);
    for (int i = 0; i < KEPT; i++) CHECK("a register of a tail call", after[i] == i);
    CALL(everything);
    for (int i = 0; i < 12; i++) CHECK("a register inside", inside[i] == i);
    CALL(everything_by_tail_call);
    for (int i = 0; i < 12; i++) CHECK("a register inside a tail call", inside[i] == i);
    return 0;
}
#else
static int check_all(int n) { return n < 0; }
#endif

NOINLINE int check(int n) {
    const volatile double *e = eight;
    two_numbers i = numbers(n, 2, 3, 4, 5, 6, 7);
    CHECK("numbers", i.a == n + 29 && i.b == 110);
    two_doubles d = doubles(e[0], e[1], e[2], e[3], e[4], e[5], e[6], e[7]);
    CHECK("doubles", d.a == 30 && d.b == 174);
    d = by_tail_call(e[7], e[6], e[5], e[4], e[3], e[2], e[1], e[0]);
    CHECK("by_tail_call", d.a == 30 && d.b == 174);
    CHECK("long_double", long_double(e[2], n) == 3.0L * n);
    CHECK("variadic", variadic(5, e[0], e[1], e[2], e[3], e[4]) == 55);
    if (check_all(n)) return 1;
    if (__builtin_cpu_supports("avx") && check_wide(n)) return 1;
    return __builtin_cpu_supports("avx512f") && check_wider(n);
}

int main(void) {
    for (int n = 1; n <= 1000; n++) {
        if (check(n)) return 1;
    }
    return 0;
}
