// SPDX-License-Identifier: MIT
//
// A program that is recorded into a live file and does what its input says: recorder FILE
// [MAX_NODES [RULE [METRIC...]]]. Each line is a command, answered by `done`:
//
//   step PATH N       enters the blocks of PATH (a.b.c), charges N to the first metric, leaves them
//   many COUNT N      the same with COUNT paths of a tree, from the first to the last
//   random SEED N     N random steps in a small tree
//   run SEED          random steps until it is killed; says `done` when they have begun
//   reset             counts again from zero
//   end               closes the profile; so does the end of the input

#include <ouro.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 64, FAN = 8, NAMES = 64 };

static ouro_profile *profile;
static ouro_thread *thread;
static ouro_block numbered[NAMES]; // f0, f1, ...

static ouro_block block_of(const char *name) {
    return ouro_add_block(profile,
                          &(ouro_block_info){.name = name, .file = "/srv/web/x.c", .line = 1});
}

static void step(char *path, uint64_t n) {
    ouro_position callers[DEEPEST];
    int depth = 0;
    for (char *name = strtok(path, "."); name && depth < DEEPEST; name = strtok(NULL, "."))
        callers[depth++] = ouro_enter(thread, block_of(name));
    ouro_sample(thread, n);
    while (depth > 0) ouro_exit(thread, callers[--depth]);
}

// Path number i: its digits to the base of the fan are the blocks, another set on every level, so
// that no two paths are the same and nothing recurses.
static void numbered_step(uint64_t i, uint64_t n) {
    ouro_position callers[DEEPEST];
    int depth = 0;
    for (i++; i; i = (i - 1) / FAN)
        callers[depth] = ouro_enter(thread, numbered[(uint64_t)depth % FAN * FAN + (i - 1) % FAN]),
        depth++;
    ouro_sample(thread, n);
    while (depth > 0) ouro_exit(thread, callers[--depth]);
}

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

// Few paths are hot, many are cold, and some recurse.
static void random_step(uint64_t *state) {
    ouro_position callers[DEEPEST];
    uint64_t dice = next_random(state);
    int depth = (int)(dice % 12) + 1;
    for (int i = 0; i < depth; i++) {
        uint64_t r = next_random(state);
        callers[i] = ouro_enter(thread, numbered[r % 4 ? r / 4 % 6 : r / 4 % NAMES]);
    }
    ouro_sample(thread, dice >> 40);
    while (depth > 0) ouro_exit(thread, callers[--depth]);
}

static void command(char *line) {
    char path[4096];
    unsigned long long a, b;
    if (sscanf(line, "step %4095s %llu", path, &a) == 2) {
        step(path, a);
    } else if (sscanf(line, "many %llu %llu", &a, &b) == 2) {
        for (uint64_t i = 0; i < a; i++) numbered_step(i, b);
    } else if (sscanf(line, "random %llu %llu", &a, &b) == 2) {
        uint64_t state = a * 2 + 1;
        for (uint64_t i = 0; i < b; i++) random_step(&state);
    } else if (sscanf(line, "run %llu", &a) == 1) {
        puts("done");
        fflush(stdout);
        for (uint64_t state = a * 2 + 1;;) random_step(&state);
    } else if (strncmp(line, "reset", 5) == 0) {
        ouro_profile_reset(profile);
    }
}

int main(int argc, char **argv) {
    static char line[8192];
    char name[16];
    ouro_options options = {0};
    if (argc < 2) return 2;
    if (argc > 3 && ouro_compaction_from_name(argv[3], &options)) return 2;
    options.path = argv[1];
    options.max_nodes = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
    ouro_metric_info metrics[OURO_METRICS_MAX];
    for (int i = 4; i < argc && i < 4 + OURO_METRICS_MAX; i++)
        metrics[options.metric_count++] = (ouro_metric_info){argv[i], "count"};
    if (options.metric_count) options.metrics = metrics;
    profile = ouro_profile_new(&options);
    thread = profile ? ouro_thread_new(profile) : NULL;
    if (!thread) return 1;
    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "f%d", i);
        numbered[i] = block_of(name);
    }
    puts("done");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) && strncmp(line, "end", 3) != 0) {
        command(line);
        puts("done");
        fflush(stdout);
    }
    ouro_thread_free(thread);
    ouro_profile_free(profile);
    return 0;
}
