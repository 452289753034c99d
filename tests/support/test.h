// SPDX-License-Identifier: MIT
//
// A test is a sentence: TEST(tail_call_returns_to_the_callers_caller) { CHECK(...); } One
// executable per module. Output is one line per case, `ok NAME` or `not ok NAME`, with what went
// wrong before it on stderr. A word on the command line runs only the cases whose names contain it.
// Randomness comes from random_below, seeded by OURO_SEED or by the clock; the seed is printed.

#ifndef OURO_TEST_H
#define OURO_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void test_register(const char *name, void (*run)(void));
bool test_check(bool good, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#define TEST(name)                                                                                 \
    static void name(void);                                                                        \
    __attribute__((constructor)) static void register_##name(void) { test_register(#name, name); } \
    static void name(void)

// Each gives its condition back, so that a test can stop where it makes no sense to go on.
#define CHECK(condition) test_check((condition), __FILE__, __LINE__, "%s", #condition)
#define CHECK_EQUAL(a, b) \
    test_check_equal((unsigned long long)(a), (unsigned long long)(b), #a, #b, __FILE__, __LINE__)
#define CHECK_TEXT(a, b) test_check_text((a), (b), __FILE__, __LINE__)

bool test_check_equal(unsigned long long a, unsigned long long b, const char *a_text,
                      const char *b_text, const char *file, int line);
bool test_check_text(const char *a, const char *b, const char *file, int line);

// Failures of the running case so far.
int test_failures(void);

uint64_t random_next(void);
uint32_t random_below(uint32_t n);
// Seeds anew, for a case that must be repeatable whatever ran before it.
void random_seed(uint64_t seed);
uint64_t test_seed(void);

// A name in a private folder that is removed at the end.
const char *test_path(const char *name);

#endif
