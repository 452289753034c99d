// SPDX-License-Identifier: MIT
//
// Streams of events, replayed into a new profile:
//
//     bench_stream STREAM RULE CAP REPLAYS ROUNDS [LIVE_FILE]
//
// STREAM is `-` (a trace on standard input), diamonds:WALKS or word:DEPTH; RULE is loops, cycles,
// edges1 or edges2; CAP 0 is the default. In each round the stream is replayed REPLAYS times into
// one profile. Times are the best of all rounds: of the first replay, of any later one, and of the
// loop without the recorder, which runs in every round as well. Memory is measured in the first
// round only.

#include "stream.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    uint64_t first, again, decode; // nanoseconds
} times;

static stream stream_make(const char *name) {
    if (strcmp(name, "-") == 0) return stream_read();
    if (strncmp(name, "diamonds:", 9) == 0) return stream_diamonds(bench_number(name + 9));
    if (strncmp(name, "word:", 5) == 0) return stream_word(bench_number(name + 5));
    bench_fail("no such stream");
}

static ouro_options options_make(const char *rule, const char *cap, const char *live) {
    ouro_options options = {.path = live, .max_nodes = (uint32_t)bench_number(cap)};
    if (strcmp(rule, "loops") == 0) return options;
    options.compaction = OURO_EDGES;
    options.edge_length = 1;
    if (strcmp(rule, "edges1") == 0) return options;
    options.edge_length = 2;
    if (strcmp(rule, "edges2") == 0) return options;
    options.compaction = OURO_CYCLES;
    if (strcmp(rule, "cycles") == 0) return options;
    bench_fail("no such rule");
}

typedef void replayer(ouro_thread *, const stream *, ouro_block, ouro_position *);

static void timed(replayer *run, ouro_thread *thread, const stream *events, ouro_block first,
                  ouro_position *tokens, uint64_t *best) {
    uint64_t start = bench_now();
    run(thread, events, first, tokens);
    uint64_t time = bench_now() - start;
    if (time < *best) *best = time;
}

static void print(const char *name, uint64_t value) { printf("%s %ju\n", name, (uintmax_t)value); }

// `grown` is the growth of peak resident memory since the end of the first replay.
static void print_memory(const ouro_profile *profile, uint64_t resident, uint64_t first,
                         uint64_t peak) {
    ouro_stats stats = ouro_profile_stats(profile);
    print("nodes", stats.nodes);
    print("pruned", stats.pruned);
    print("bytes", stats.bytes);
    print("resident", first - resident);
    print("grown", bench_resident_peak() - peak);
}

static void round_run(const stream *events, const ouro_options *options, uint64_t replays,
                      ouro_position *tokens, bool report, times *best) {
    uint64_t resident = bench_resident(), after_first = 0, peak = 0;
    ouro_profile *profile = ouro_profile_new(options);
    if (!profile) bench_fail("ouro_profile_new");
    ouro_block first = bench_add_blocks(profile, events->blocks);
    ouro_thread *thread = ouro_thread_new(profile);
    if (!thread) bench_fail("ouro_thread_new");
    timed(replay_decode, thread, events, first, tokens, &best->decode);
    for (uint64_t i = 0; i < replays; i++) {
        timed(replay_record, thread, events, first, tokens, i ? &best->again : &best->first);
        if (i > 0) continue;
        after_first = bench_resident();
        peak = bench_resident_peak();
    }
    if (report) print_memory(profile, resident, after_first, peak);
    ouro_thread_free(thread);
    ouro_profile_free(profile);
}

int main(int argc, char **argv) {
    if (argc != 6 && argc != 7)
        bench_usage("bench_stream STREAM RULE CAP REPLAYS ROUNDS [LIVE_FILE]");
    ouro_options options = options_make(argv[2], argv[3], argc == 7 ? argv[6] : NULL);
    uint64_t replays = bench_number(argv[4]), rounds = bench_number(argv[5]);
    stream events = stream_make(argv[1]);
    ouro_position *tokens = bench_alloc((events.depth + 1) * sizeof *tokens);
    memset(tokens, 0xff, (events.depth + 1) * sizeof *tokens);

    print("events", events.count);
    times best = {UINT64_MAX, UINT64_MAX, UINT64_MAX};
    for (uint64_t i = 0; i < rounds; i++)
        round_run(&events, &options, replays, tokens, i == 0, &best);
    print("decode_ns", best.decode);
    print("first_ns", best.first - best.decode);
    if (replays > 1) print("again_ns", best.again - best.decode);
    free(tokens);
    stream_free(&events);
    return 0;
}
