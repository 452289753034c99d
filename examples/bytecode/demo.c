// SPDX-License-Identifier: MIT
//
// The program to profile, and its expected answers. The text is assembled when the example
// starts; its lines are the lines of this file, so `go tool pprof -list fib` shows them.

#include "bytecode.h"

#include <stdio.h>

const char demo_file[] = "examples/bytecode/demo.c";

const uint32_t demo_line = __LINE__ + 2;
const char demo_text[] = //
    "fn main                                ; four programs in one                        \n"
    "    push 24 call fib out                                                             \n"
    "    push 1000000 call is_even out                                                    \n"
    "    call careful out                                                                 \n"
    "    call pipeline ret                                                                \n"
    "                                                                                     \n"
    "fn fib n                               ; calls itself twice                          \n"
    "    get n push 2 less ifzero recurse                                                 \n"
    "    get n ret                                                                        \n"
    "recurse:                                                                             \n"
    "    get n push 1 sub call fib                                                        \n"
    "    get n push 2 sub call fib                                                        \n"
    "    add ret                                                                          \n"
    "                                                                                     \n"
    "fn is_even n                           ; a million steps in one frame                \n"
    "    get n ifzero yes                                                                 \n"
    "    get n push 1 sub tail is_odd                                                     \n"
    "yes:                                                                                 \n"
    "    push 1 ret                                                                       \n"
    "                                                                                     \n"
    "fn is_odd n                                                                          \n"
    "    get n ifzero no                                                                  \n"
    "    get n push 1 sub tail is_even                                                    \n"
    "no:                                                                                  \n"
    "    push 0 ret                                                                       \n"
    "                                                                                     \n"
    "fn careful                             ; catches an error from far below             \n"
    "    push 10000 try descend ret                                                       \n"
    "                                                                                     \n"
    "fn descend n                           ; 10,000 frames deep                          \n"
    "    get n ifzero bottom                                                              \n"
    "    get n push 1 sub call descend ret                                                \n"
    "bottom:                                                                              \n"
    "    push 42 call fail ret                                                            \n"
    "                                                                                     \n"
    "fn fail code                                                                         \n"
    "    get code throw                                                                   \n"
    "                                                                                     \n"
    "fn pipeline                            ; three green threads, two channels           \n"
    "    push 1 push 1500 spawn producer                                                  \n"
    "    push 1501 push 3000 spawn producer                                               \n"
    "    push 2 push 0 push 0 spawn consumer                                              \n"
    "    recv results out recv results out                                                \n"
    "    push 0 ret                                                                       \n"
    "                                                                                     \n"
    "fn producer first last                                                               \n"
    "next:                                                                                \n"
    "    get last get first less ifzero more                                              \n"
    "    push 0 send lengths                ; 0 says: no more from here                   \n"
    "    push 0 ret                                                                       \n"
    "more:                                                                                \n"
    "    get first push 1 call collatz send lengths                                       \n"
    "    get first push 1 add set first                                                   \n"
    "    yield jump next                                                                  \n"
    "                                                                                     \n"
    "fn collatz n length                    ; a loop, written as a tail call to itself    \n"
    "    get n push 1 sub ifzero one                                                      \n"
    "    get n push 2 mod ifzero even                                                     \n"
    "    get n push 3 mul push 1 add get length push 1 add tail collatz                   \n"
    "even:                                                                                \n"
    "    get n push 2 div get length push 1 add tail collatz                              \n"
    "one:                                                                                 \n"
    "    get length ret                                                                   \n"
    "                                                                                     \n"
    "fn consumer open longest digest                                                      \n"
    "next:                                                                                \n"
    "    get open ifzero done                                                             \n"
    "    recv lengths dup ifzero ended                                                    \n"
    "    dup get longest native max set longest                                           \n"
    "    native hash get digest add set digest                                            \n"
    "    jump next                                                                        \n"
    "ended:                                                                               \n"
    "    drop get open push 1 sub set open jump next                                      \n"
    "done:                                                                                \n"
    "    get longest send results get digest send results                                 \n"
    "    push 0 ret                                                                       \n";

static int64_t native_max(const int64_t *a) { return a[0] > a[1] ? a[0] : a[1]; }

// Small results, so that a sum of them stays far from overflow.
static int64_t native_hash(const int64_t *a) {
    uint64_t h = (uint64_t)a[0];
    for (int i = 0; i < 8; i++) h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9u + 1;
    return (int64_t)(h >> 44);
}

native natives[] = {
    {.name = "hash", .parameters = 1, .function = native_hash, .cost = 24, .has_block = true},
    {.name = "max", .parameters = 2, .function = native_max, .cost = 1},
};
const int native_count = sizeof natives / sizeof *natives;

static int64_t collatz(int64_t n) {
    int64_t length = 1;
    for (; n != 1; n = n % 2 ? 3 * n + 1 : n / 2) length++;
    return length;
}

static bool answer_is(const result *result, int i, const char *what, int64_t want) {
    bool right = i < result->answer_count && result->answers[i] == want;
    if (!right) fprintf(stderr, "bytecode: %s is not %lld\n", what, (long long)want);
    return right;
}

bool demo_check(const result *result) {
    int64_t longest = 0, digest = 0;
    for (int64_t n = 1; n <= 3000; n++) {
        int64_t length = collatz(n);
        longest = native_max((int64_t[]){length, longest});
        digest += native_hash(&length);
    }
    bool right = answer_is(result, 0, "fib(24)", 46368);
    right &= answer_is(result, 1, "is_even(1000000)", 1);
    right &= answer_is(result, 2, "the error that careful caught", 42);
    right &= answer_is(result, 3, "the longest sequence below 3000", longest);
    right &= answer_is(result, 4, "the digest of all sequences", digest);
    return right;
}
