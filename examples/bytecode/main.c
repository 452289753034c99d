// SPDX-License-Identifier: MIT
//
// Runs the demo program with a profiler in it, or without (--off), and prints the profile. If a
// file name is given, the profile is written there in pprof's format. The exit status is not zero
// if an answer of the program is wrong, or if the profile disagrees with the machine's own counts.

#include "bytecode.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    bool off;
    uint32_t cap;
    const char *output;
} arguments;

static bool parse_arguments(int argc, char **argv, arguments *to) {
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--off")) {
            to->off = true;
        } else if (!strcmp(argv[i], "--cap") && i + 1 < argc) {
            to->cap = (uint32_t)strtoul(argv[++i], NULL, 10);
        } else if (argv[i][0] != '-' && !to->output) {
            to->output = argv[i];
        } else {
            fprintf(stderr, "usage: bytecode [--off] [--cap NODES] [OUT.pb]\n");
            return false;
        }
    }
    return true;
}

static void print_answers(const result *r) {
    static const char *const names[] = {"fib(24)", "is_even(1000000)", "caught", "longest",
                                        "digest"};
    for (int i = 0; i < r->answer_count && i < 5; i++)
        printf("%s%s = %lld", i ? ", " : "  ", names[i], (long long)r->answers[i]);
    printf("\n");
}

// Recording is exact, so the profile must agree with the machine.
static bool books_agree(const ouro_stats *stats, const result *result) {
    if (stats->calls == result->calls && stats->totals[0] == result->instructions) return true;
    fprintf(stderr, "bytecode: the profile and the machine do not agree\n");
    return false;
}

static void print_totals(const ouro_stats *stats, const result *result) {
    char a[32], b[32];
    printf("\n  %s of the calls were tail calls, one error left %s frames, %d green threads ran.\n",
           grouped(result->tail_calls, a), grouped(result->unwound, b), result->green_threads);
    printf("  %s calls made a profile of %s nodes and a root: it follows the code, not the time.\n",
           grouped(stats->calls, a), grouped(stats->nodes - 1, b));
    if (stats->pruned || stats->overflow)
        printf("  Nodes evicted by the cap: %s; calls that found it full: %s; see [pruned].\n",
               grouped(stats->pruned, a), grouped(stats->overflow, b));
    if (stats->lost) printf("  %s calls found no memory: [lost].\n", grouped(stats->lost, a));
}

static bool write_profile(ouro_profile *profile, const char *path) {
    if (ouro_profile_write(profile, path) != 0) {
        fprintf(stderr, "bytecode: %s: %s\n", path, strerror(errno));
        return false;
    }
    printf("\n  Wrote %s; to open it: go tool pprof -http=: %s\n", path, path);
    return true;
}

static bool show(ouro_profile *profile, const result *result, const char *output) {
    ouro_stats stats = ouro_profile_stats(profile);
    printf("\n");
    bool ok = report_print(profile) && books_agree(&stats, result);
    print_totals(&stats, result);
    if (output) ok &= write_profile(profile, output);
    return ok;
}

static ouro_profile *make_profile(uint32_t cap) {
    ouro_metric_info metric = {"instructions", "count"};
    ouro_options options = {.metrics = &metric, .metric_count = 1, .max_nodes = cap};
    ouro_profile *profile = ouro_profile_new(&options);
    if (!profile) perror("bytecode: no profile");
    return profile;
}

int main(int argc, char **argv) {
    static program program;
    arguments given = {0};
    result result = {0};
    if (!parse_arguments(argc, argv, &given)) return 2;
    if (!assemble(&program, demo_file, demo_line, demo_text)) return 1;
    ouro_profile *profile = given.off ? NULL : make_profile(given.cap);
    if (!profile && !given.off) return 1;

    bool ok = machine_run(&program, profile, &result) && demo_check(&result);
    printf("A bytecode interpreter with Ouro in it has run four small programs: recursion, a\n"
           "million tail calls, an error 10,000 frames deep, a pipeline of green threads.\n\n");
    print_answers(&result);
    if (given.off) {
        printf("  Profiling was off: the same answers, and nothing recorded.\n");
    } else {
        ok &= show(profile, &result, given.output);
    }
    ouro_profile_free(profile);
    return ok ? 0 : 1;
}
