// SPDX-License-Identifier: MIT
//
// Records a random, recursive stream, writes it as pprof, and prints what is true of the
// uncompacted stacks: one line per block, `NAME<tab>SELF<tab>OVERALL<tab>CALLS`, then
// `CALLER<tab>CALLEE<tab>CALLS` behind a line `--`.
//     record OUT.pb SEED

#include <ouro.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 12, DEPTH = 60, EVENTS = 60000 };

static const char *names[BLOCKS] = {"main",      "even",        "odd",   "std::vector<int>",
                                    "operator<", "with spaces", "größe", "λ",
                                    "a.b.c",     "(anonymous)", "f[0]",  "x::{closure#0}"};

static uint64_t self[BLOCKS], overall[BLOCKS], calls[BLOCKS], pairs[BLOCKS + 1][BLOCKS];

static uint32_t below(uint64_t *state, uint32_t n) {
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % n;
}

static void charge(const int *path, int length, uint64_t n) {
    bool seen[BLOCKS] = {0};
    self[path[length - 1]] += n;
    for (int i = 0; i < length; i++) {
        if (!seen[path[i]]) overall[path[i]] += n;
        seen[path[i]] = true;
    }
}

static void record(ouro_thread *thread, ouro_block first, uint64_t seed) {
    int path[DEPTH], length = 0;
    ouro_position tokens[DEPTH];
    for (int e = 0; e < EVENTS; e++) {
        uint32_t dice = below(&seed, 10);
        if (dice < 4 && length < DEPTH) {
            int block = (int)below(&seed, BLOCKS);
            tokens[length] = ouro_enter(thread, first + (ouro_block)block);
            calls[block]++;
            pairs[length ? path[length - 1] : BLOCKS][block]++;
            path[length++] = block;
        } else if (dice < 8 && length) {
            ouro_exit(thread, tokens[--length]);
        } else if (length) {
            uint64_t n = below(&seed, 1000);
            ouro_sample(thread, n);
            charge(path, length, n);
        }
    }
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    ouro_profile *profile = ouro_profile_new(NULL);
    ouro_block_info infos[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        infos[i] = (ouro_block_info){names[i], "dir/file.x", (uint32_t)i + 1, 5};
    ouro_block first = ouro_add_blocks(profile, infos, BLOCKS);
    ouro_thread *thread = ouro_thread_new(profile);
    record(thread, first, strtoull(argv[2], NULL, 10));
    ouro_thread_free(thread);
    if (ouro_profile_write(profile, argv[1])) return 1;
    for (int i = 0; i < BLOCKS; i++)
        printf("%s\t%llu\t%llu\t%llu\n", names[i], (unsigned long long)self[i],
               (unsigned long long)overall[i], (unsigned long long)calls[i]);
    puts("--");
    for (int a = 0; a < BLOCKS; a++) {
        for (int b = 0; b < BLOCKS; b++)
            if (pairs[a][b])
                printf("%s\t%s\t%llu\n", names[a], names[b], (unsigned long long)pairs[a][b]);
    }
    ouro_profile_free(profile);
    return 0;
}
