// SPDX-License-Identifier: MIT
//
// A game whose frames stutter, with a cause: every 25th frame collects, one in a hundred loads a
// level. What a frame takes is a metric, so each run is the same. A small cap evicts paths that
// slices still have. Writes OUT.pb, and LIVE.ouro if it is given; prints what it charged, by block:
// name, self and calls. A third argument kills it at the end.

#include "ouro.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { FRAME, DRAW, SHADOWS, COLLECT, LOAD, SPARKS, BLOCKS = SPARKS + 40, FRAMES = 1000 };

static ouro_thread *thread;
static ouro_block first;
static unsigned long long self[BLOCKS], calls[BLOCKS];

static ouro_position enter(int block) {
    calls[block]++;
    return ouro_enter(thread, first + (ouro_block)block);
}

static void spend(int block, unsigned long long nanoseconds) {
    ouro_position caller = enter(block);
    self[block] += nanoseconds;
    ouro_count(thread, 0, nanoseconds);
    ouro_count(thread, 1, 1);
    ouro_exit(thread, caller);
}

static void frame(int i) {
    ouro_slice(thread);
    ouro_position caller = enter(FRAME);
    spend(DRAW, 4000000 + (unsigned long long)(i * 7919 % 1000) * 100);
    if (i % 3 == 0) spend(SHADOWS, 1500000);
    for (int k = 0; k < 3; k++) {
        ouro_position spark = enter(SPARKS + (i * 7 + k) % 40); // many paths, each rarely
        spend(SPARKS + (i * 3 + i / 40 + k) % 40, 1000);
        ouro_exit(thread, spark);
    }
    if (i % 25 == 24) spend(COLLECT, 30000000);
    if (i % 100 == 50) spend(LOAD, 90000000);
    ouro_exit(thread, caller);
}

int main(int argc, char **argv) {
    static char names[BLOCKS][32] = {"frame", "draw", "shadows", "collect", "load"};
    ouro_metric_info metrics[] = {{"time", "nanoseconds"}, {"events", "count"}};
    ouro_profile *profile = ouro_profile_new(&(ouro_options){
        .metrics = metrics,
        .metric_count = 2,
        .max_nodes = 1200,
        .path = argc > 2 ? argv[2] : NULL,
        .slices = {.name = "frame", .kept = 8, .by = 1},
    });
    ouro_block_info infos[BLOCKS];
    for (int b = 0; b < BLOCKS; b++) {
        if (b >= SPARKS) snprintf(names[b], sizeof names[b], "spark%d", b - SPARKS);
        infos[b] = (ouro_block_info){names[b], "game.c", (uint32_t)b + 1, 1};
    }
    if (!profile) return 1;
    first = ouro_add_blocks(profile, infos, BLOCKS);
    thread = ouro_thread_new(profile);
    for (int i = 0; i < FRAMES; i++) frame(i);
    ouro_slice(thread);
    if (ouro_profile_write(profile, argv[1])) return 1;
    for (int b = 0; b < BLOCKS; b++) printf("%s\t%llu\t%llu\n", names[b], self[b], calls[b]);
    printf("pruned\t%llu\n", (unsigned long long)ouro_profile_stats(profile).pruned);
    fflush(stdout);
    if (argc > 3) raise(SIGKILL);
    ouro_thread_free(thread);
    ouro_profile_free(profile);
    return 0;
}
