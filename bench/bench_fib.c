// SPDX-License-Identifier: MIT
//
// What profiling adds to a call: fib(32), about 7 million calls, in three builds of one body.
//
//   bare      without profiling
//   tokens    ouro_enter and ouro_exit, the token in a C local
//   shadow    a shadow stack: the block is pushed and popped, and nothing is counted. The least
//             that a sampler needs, so the floor for any profiler that follows calls
//
// The builds take turns, so that a slow moment of the machine hits all three; the best time of each
// counts. BARRIER before the return stops the compiler from turning one of the two calls into a
// loop in one build and not in the others.

#include "support.h"

#include <stdio.h>
#include <stdlib.h>

enum { N = 32, FRAMES = 1024 };

typedef struct {
    uint32_t depth;
    ouro_block frames[FRAMES];
} shadow_stack;

static NOINLINE uint64_t fib_bare(void *none, ouro_block block, unsigned n) {
    uint64_t result = n < 2 ? n : fib_bare(none, block, n - 1) + fib_bare(none, block, n - 2);
    BARRIER(none);
    return result;
}

static NOINLINE uint64_t fib_tokens(ouro_thread *thread, ouro_block block, unsigned n) {
    ouro_position caller = ouro_enter(thread, block);
    uint64_t result =
        n < 2 ? n : fib_tokens(thread, block, n - 1) + fib_tokens(thread, block, n - 2);
    BARRIER(thread);
    ouro_exit(thread, caller);
    return result;
}

static inline void shadow_push(shadow_stack *stack, ouro_block block) {
    if (!stack) return;
    uint32_t depth = stack->depth;
    if (depth < FRAMES) stack->frames[depth] = block;
    __atomic_store_n(&stack->depth, depth + 1, __ATOMIC_RELAXED);
}

static inline void shadow_pop(shadow_stack *stack) {
    if (!stack) return;
    __atomic_store_n(&stack->depth, stack->depth - 1, __ATOMIC_RELAXED);
}

static NOINLINE uint64_t fib_shadow(shadow_stack *stack, ouro_block block, unsigned n) {
    shadow_push(stack, block);
    uint64_t result = n < 2 ? n : fib_shadow(stack, block, n - 1) + fib_shadow(stack, block, n - 2);
    BARRIER(stack);
    shadow_pop(stack);
    return result;
}

static uint64_t call(int build, void *with, ouro_block block) {
    switch (build) {
    case 0:
        return fib_bare(with, block, N);
    case 1:
        return fib_tokens(with, block, N);
    default:
        return fib_shadow(with, block, N);
    }
}

int main(int argc, char **argv) {
    if (argc != 2) bench_usage("bench_fib ROUNDS");
    static shadow_stack stack;
    ouro_profile *profile = ouro_profile_new(NULL);
    ouro_block block = bench_add_blocks(profile, 1);
    ouro_thread *thread = ouro_thread_new(profile);
    if (!thread) bench_fail("making a thread");
    void *with[3] = {NULL, thread, &stack};
    uint64_t best[3] = {UINT64_MAX, UINT64_MAX, UINT64_MAX};
    uint64_t rounds = bench_number(argv[1]), fib = 0;
    for (uint64_t round = 0; round < rounds; round++) {
        for (int build = 0; build < 3; build++) {
            uint64_t start = bench_now();
            fib = call(build, with[build], block);
            uint64_t time = bench_now() - start;
            if (time < best[build]) best[build] = time;
        }
    }
    uint64_t calls = ouro_profile_stats(profile).calls / rounds;
    printf("fib %ju\ncalls %ju\n", (uintmax_t)fib, (uintmax_t)calls);
    printf("bare %.3f\n", (double)best[0] / (double)calls);
    printf("tokens %.3f\n", (double)best[1] / (double)calls);
    printf("shadow %.3f\n", (double)best[2] / (double)calls);
    ouro_thread_free(thread);
    ouro_profile_free(profile);
    return 0;
}
