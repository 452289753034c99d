// SPDX-License-Identifier: MIT
//
// Records a tree into a live file: record FILE. The input has the number of blocks, their names,
// and a line for each node, parents before children: depth (0 is the first level), block, value.

#include <ouro.h>

#include <stdio.h>
#include <stdlib.h>

enum { MOST = 1 << 20 };

static void add_blocks(ouro_profile *profile, unsigned count, ouro_block *blocks) {
    static char name[MOST];
    for (unsigned i = 0; i < count && scanf("%1048575s", name) == 1; i++)
        blocks[i] = ouro_add_block(profile, &(ouro_block_info){.name = name});
}

int main(int argc, char **argv) {
    static ouro_position callers[MOST];
    static ouro_block blocks[MOST];
    unsigned count, depth, block, above = 0;
    unsigned long long value;
    ouro_options options = {.path = argv[1], .compaction = OURO_NONE, .max_nodes = MOST};
    ouro_profile *profile = argc == 2 ? ouro_profile_new(&options) : NULL;
    ouro_thread *thread = profile ? ouro_thread_new(profile) : NULL;
    if (!thread || scanf("%u", &count) != 1 || count > MOST) return 1;
    add_blocks(profile, count, blocks);
    while (scanf("%u %u %llu", &depth, &block, &value) == 3 && depth <= above && block < count) {
        while (above > depth) ouro_exit(thread, callers[--above]);
        callers[above++] = ouro_enter(thread, blocks[block]);
        ouro_sample(thread, value);
    }
    while (above > 0) ouro_exit(thread, callers[--above]);
    ouro_thread_free(thread);
    ouro_profile_free(profile);
    return 0;
}
