// SPDX-License-Identifier: MIT
//
// The memory of green threads: `bench_threads THREADS POSITIONS` makes a profile with that many
// positions, forks threads at them in turn, lets each record once, keeps them all, and prints how
// much the heap and the resident pages grew. The array of threads is allocated and touched before.

#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 100 }; // positions are a tree of two levels: below the root, groups of this many

static ouro_position group_enter(ouro_thread *thread, ouro_block first, uint64_t index) {
    return ouro_enter(thread, first + WIDTH + (ouro_block)(index / WIDTH));
}

// Visits the position `index` of the tree; forks there if `forked` is not NULL.
static void visit(ouro_thread *thread, ouro_block first, uint64_t index, ouro_thread **forked) {
    ouro_position root = group_enter(thread, first, index);
    ouro_position group = ouro_enter(thread, first + (ouro_block)(index % WIDTH));
    if (forked) {
        *forked = ouro_thread_fork(thread);
        if (!*forked) bench_fail("ouro_thread_fork");
        ouro_sample(*forked, 1);
    }
    ouro_exit(thread, group);
    ouro_exit(thread, root);
}

int main(int argc, char **argv) {
    if (argc != 3) bench_usage("bench_threads THREADS POSITIONS");
    uint64_t threads = bench_number(argv[1]), positions = bench_number(argv[2]);
    ouro_thread **forked = bench_alloc(threads * sizeof *forked);
    memset(forked, 0xff, threads * sizeof *forked);
    ouro_profile *profile = ouro_profile_new(NULL);
    ouro_block first = bench_add_blocks(profile, WIDTH + positions / WIDTH + 1);
    ouro_thread *thread = ouro_thread_new(profile);
    if (!thread) bench_fail("making a thread");
    for (uint64_t i = 0; i < positions; i++) visit(thread, first, i, NULL);

    uint64_t heap = bench_heap(), resident = bench_resident();
    for (uint64_t i = 0; i < threads; i++) visit(thread, first, i % positions, &forked[i]);
    printf("heap %ju\n", (uintmax_t)(bench_heap() - heap));
    printf("resident %ju\n", (uintmax_t)(bench_resident() - resident));
    printf("nodes %ju\n", (uintmax_t)ouro_profile_stats(profile).nodes);

    for (uint64_t i = 0; i < threads; i++) ouro_thread_free(forked[i]);
    ouro_thread_free(thread);
    ouro_profile_free(profile);
    free(forked);
    return 0;
}
