// SPDX-License-Identifier: MIT
//
// What every release can do: records with all options that it has, and prints what was counted.

#include <ouro.h>

#include <stdio.h>
#include <string.h>

static uint64_t visited;

static void add(void *user, const ouro_visit *v) {
    (void)user;
    visited += v->calls + v->recursions + v->metrics[0] + v->metrics[1];
}

static void countdown(ouro_thread *t, ouro_block f, int n) {
    ouro_position caller = ouro_enter(t, f);
    ouro_sample(t, 1);
    ouro_count(t, 1, 10);
    if (n > 0) countdown(t, f, n - 1);
    ouro_exit(t, caller);
}

// A guard on both sides: what the library writes beyond the struct of this header is noticed.
static int stats_overflow(ouro_profile *profile, unsigned long long *calls) {
    struct {
        char before[64];
        ouro_stats stats;
        char after[64];
    } guarded;
    memset(&guarded, 0x5a, sizeof guarded);
    guarded.stats = ouro_profile_stats(profile);
    *calls = guarded.stats.calls;
    for (int i = 0; i < 64; i++) {
        if (guarded.before[i] != 0x5a || guarded.after[i] != 0x5a) return 1;
    }
    return guarded.stats.totals[1] != 10 * guarded.stats.totals[0];
}

static int record(const ouro_options *options) {
    ouro_profile *profile = ouro_profile_new(options);
    if (!profile) return printf("no profile\n"), 1;
    ouro_block_info info = {"countdown", "program.c", 1, 1};
    ouro_block f = ouro_add_block(profile, &info);
    ouro_thread *thread = ouro_thread_new(profile), *green = ouro_thread_fork(thread);
    countdown(thread, f, 1000);
    countdown(green, f, 1000);
    ouro_thread_free(green);
    ouro_thread_free(thread);
    unsigned long long calls;
    int bad = stats_overflow(profile, &calls);
    printf("%llu calls%s\n", calls, bad ? ", the struct does not fit" : "");
    if (options && options->metrics) ouro_profile_visit(profile, add, NULL);
    ouro_profile_free(profile);
    return bad;
}

int main(void) {
    ouro_metric_info metrics[] = {{"samples", "count"}, {"bytes", "bytes"}};
    ouro_options none, all;
    memset(&none, 0, sizeof none);
    memset(&all, 0, sizeof all);
    all.max_nodes = 100;
    all.compaction = OURO_EDGES;
    all.edge_length = 1;
    all.metrics = metrics;
    all.metric_count = 2;
#ifdef NEW_FIELD
    all.NEW_FIELD = NEW_VALUE;
#endif
    none.metrics = metrics;
    none.metric_count = 2;
    int bad = record(&none) | record(&all);
    printf("%llu\n", (unsigned long long)visited);
    ouro_profile_free(ouro_profile_new(NULL));
    return bad;
}
