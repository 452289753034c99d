// SPDX-License-Identifier: MIT
//
// What a slice costs: `bench_slices NODES CHANGED SLICES` makes a tree of NODES paths, then ends
// SLICES slices, in each of which CHANGED paths are entered once. Prints the nanoseconds of a
// slice, without its paths. bench/run counts the instructions of SLICES and of twice as many.

#include "support.h"

#include <stdio.h>
#include <stdlib.h>

enum { FAN = 100 }; // paths below each of NODES / FAN blocks

typedef struct {
    ouro_thread *thread;
    ouro_block first;
    uint64_t nodes;
} tree;

static NOINLINE void visit(const tree *t, uint64_t path) {
    ouro_position outer = ouro_enter(t->thread, t->first + (ouro_block)(path / FAN));
    ouro_position inner = ouro_enter(t->thread, t->first + (ouro_block)(path % FAN));
    ouro_sample(t->thread, 1);
    ouro_exit(t->thread, inner);
    ouro_exit(t->thread, outer);
}

// Every n-th slice changes other paths, as frames do.
static uint64_t run(const tree *t, uint64_t changed, uint64_t slices) {
    uint64_t spent = 0, path = 0;
    for (uint64_t i = 0; i < slices; i++) {
        for (uint64_t k = 0; k < changed; k++, path++) visit(t, path % t->nodes);
        uint64_t start = bench_now();
        ouro_slice(t->thread);
        spent += bench_now() - start;
    }
    return spent;
}

int main(int argc, char **argv) {
    if (argc != 4) bench_usage("bench_slices NODES CHANGED SLICES");
    uint64_t nodes = bench_number(argv[1]), changed = bench_number(argv[2]);
    uint64_t slices = bench_number(argv[3]);
    ouro_profile *profile = ouro_profile_new(&(ouro_options){.compaction = OURO_NONE});
    if (!profile) bench_fail("ouro_profile_new");
    tree t = {ouro_thread_new(profile), bench_add_blocks(profile, nodes / FAN + FAN), nodes};
    for (uint64_t i = 0; i < nodes; i++) visit(&t, i);
    run(&t, changed, 200); // table and trees have grown
    printf("nodes %llu\n", (unsigned long long)ouro_profile_stats(profile).nodes);
    printf("slice %.1f\n", slices ? (double)run(&t, changed, slices) / (double)slices : 0);
    ouro_thread_free(t.thread);
    ouro_profile_free(profile);
    return 0;
}
