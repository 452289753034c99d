// SPDX-License-Identifier: MIT
//
// Slices as the tools read them: a pprof file of the library says what the library says, by another
// way; questions against naive answers; and damaged bytes are an error or a profile, never a crash.

#include "format.h"
#include "ouro.h"
#include "questions.h"
#include "sliced.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES = 200, METRICS = 2, WIDTH = 3 + METRICS };

typedef struct {
    ouro_profile *profile;
    ouro_thread *thread;
    ouro_block first;
    uint64_t durations[FRAMES], values[FRAMES]; // of each slice
    char path[512];
} game;

static game game_new(uint32_t rows, uint32_t by) {
    static const ouro_metric_info metrics[METRICS] = {{"time", "nanoseconds"}, {"bytes", "bytes"}};
    game g = {.profile = ouro_profile_new(
                  &(ouro_options){.metrics = metrics,
                                  .metric_count = METRICS,
                                  .slices = {.name = "frame", .kept = 4, .rows = rows, .by = by}})};
    ouro_block_info infos[4] = {
        {"draw", "g.c", 1, 1}, {"think", "g.c", 2, 1}, {"collect", "g.c", 3, 1}};
    g.first = ouro_add_blocks(g.profile, infos, 4);
    g.thread = ouro_thread_new(g.profile);
    snprintf(g.path, sizeof g.path, "%s", test_path("sliced.pb"));
    return g;
}

static void spend(game *g, uint32_t block, uint64_t n) {
    ouro_position caller = ouro_enter(g->thread, g->first + block);
    ouro_count(g->thread, 0, n);
    ouro_exit(g->thread, caller);
}

// Every tenth frame collects.
static void play(game *g) {
    for (uint32_t i = 0; i < FRAMES; i++) {
        ouro_slice(g->thread);
        uint64_t n = 1000 + random_below(500);
        spend(g, i % 2, n);
        if (i % 10 == 9) spend(g, 2, 50000);
        g->values[i] = n + (i % 10 == 9 ? 50000 : 0);
    }
    ouro_slice(g->thread);
    CHECK_EQUAL(ouro_profile_write(g->profile, g->path), 0);
}

static void game_free(game *g) {
    ouro_thread_free(g->thread);
    ouro_profile_free(g->profile);
}

static profile *read_game(const char *path, error *e) {
    return ouro__profile_read(path, NULL,
                              &(read_options){.rule = RULE_DEFAULT, .keep_labels = true}, e);
}

static int ascending(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static bool near(uint64_t is, uint64_t should) {
    return is <= should && should - is <= should / 100;
}

static void check_times(uint32_t rows) {
    game g = game_new(rows, 1);
    play(&g);
    error e = {0};
    profile *p = read_game(g.path, &e);
    slice_times t;
    if (CHECK(p && p->slices) && CHECK(ouro__slice_times(p->slices, &t))) {
        uint64_t *v = g.values;
        qsort(v, FRAMES, sizeof *v, ascending);
        CHECK_EQUAL(t.count, FRAMES);
        CHECK_EQUAL(t.slowest, v[FRAMES - 1]);
        CHECK_EQUAL(t.exact, rows == 0);
        CHECK(rows || (t.median == v[99] && t.p90 == v[179] && t.p99 == v[197]));
        CHECK(near(t.median, v[99]) && near(t.p90, v[179]) && near(t.p99, v[197]));
    }
    ouro__profile_free(p);
    game_free(&g);
}

TEST(percentiles_of_a_whole_table_are_exact) { check_times(0); }
TEST(percentiles_beyond_the_table_are_within_one_percent) { check_times(10); }

TEST(slow_slices_do_what_typical_ones_do_not) {
    game g = game_new(0, 1);
    play(&g);
    error e = {0};
    profile *p = read_game(g.path, &e);
    slice_difference d;
    if (CHECK(p && p->slices) && CHECK(ouro__slice_difference(p, p->slices, 2, &d))) {
        CHECK_EQUAL(d.slow_count, 4);
        CHECK(d.typical_count <= 4);
        for (uint32_t b = 0; b < p->block_count; b++) {
            if (strcmp(ouro__block_name(p, b), "collect") != 0) continue;
            CHECK(d.slow[b] == 50000 && d.typical[b] == 0);
        }
        ouro__slice_difference_free(&d);
    }
    ouro__profile_free(p);
    game_free(&g);
}

// ---------------------------------------------------------------- the library says the same

static const profile *read_back;

static void same_lane(void *user, const ouro_slice_summary *s) {
    const lane_slices *l = &read_back->slices->lanes[0];
    (void)user;
    CHECK(l->count == s->count && l->row_count == s->rows && l->slowest == s->slowest);
    CHECK(l->by == s->by && l->is_open == s->is_open && l->open_start == s->open.start);
    CHECK(l->heat_start == s->heat_start && l->heat_step == s->heat_step);
    CHECK_TEXT(l->name, s->name);
    CHECK(!memcmp(l->durations, s->durations, SLICE_BUCKETS * sizeof *l->durations));
    CHECK(!memcmp(l->heat, s->heat, sizeof *l->heat * SLICE_HEAT_COLUMNS * SLICE_HEAT_ROWS));
    if (s->by) CHECK(!memcmp(l->values, s->values, SLICE_BUCKETS * sizeof *l->values));
    for (uint32_t b = 0; b < SLICE_BUCKETS; b++)
        CHECK(ouro__bucket_least(b) == ouro_slice_bucket_least(b));
}

static void same_row(void *user, const ouro_slice_info *s) {
    const uint64_t *row = read_back->slices->lanes[0].table + (s->number - 1) * (2 + WIDTH);
    (void)user;
    CHECK(row[0] == s->start && row[1] == s->duration && row[2] == s->calls);
    CHECK(row[5] == s->metrics[0] && row[6] == s->metrics[1]);
}

static void same_kept(void *user, const ouro_slice_info *s, unsigned why,
                      const ouro_slice_info *rest) {
    const kept_slice *k = &read_back->slices->lanes[0].kept[(*(uint32_t *)user)++];
    CHECK(k->number == s->number && k->start == s->start && k->duration == s->duration);
    CHECK(k->why == why && k->totals[3] == s->metrics[0] && k->rest[3] == rest->metrics[0]);
}

TEST(a_pprof_file_has_what_the_library_keeps) {
    for (uint32_t by = 0; by <= METRICS; by++) {
        static const ouro_slice_visitor same = {
            .lane = same_lane, .slice = same_row, .kept = same_kept};
        game g = game_new(150, by);
        play(&g);
        error e = {0};
        profile *p = read_game(g.path, &e);
        uint32_t kept = 0;
        if (CHECK(p && p->slices && p->slices->count == 1)) {
            read_back = p;
            CHECK_EQUAL(ouro_slices_visit(g.profile, &same, &kept), 0);
            CHECK_EQUAL(kept, p->slices->lanes[0].kept_count);
        }
        ouro__profile_free(p);
        game_free(&g);
    }
}

// ---------------------------------------------------------------- damaged

static unsigned char *read_bytes(const char *path, size_t *size) {
    FILE *f = fopen(path, "rb");
    unsigned char *bytes = malloc(1 << 20);
    *size = f ? fread(bytes, 1, 1 << 20, f) : 0;
    if (f) fclose(f);
    return bytes;
}

// The library writes the field last. Changes of its second half are within it.
TEST(damaged_slices_are_refused_with_a_position_or_read) {
    game g = game_new(0, 1);
    play(&g);
    size_t size, refused = 0;
    unsigned char *bytes = read_bytes(g.path, &size);
    const char *path = test_path("damaged.pb");
    for (int i = 0; i < 1500; i++) {
        size_t at = size - 1 - random_below((uint32_t)size / 2), cut = random_below(4) ? size : at;
        unsigned char was = bytes[at];
        bytes[at] = (unsigned char)random_next();
        FILE *f = fopen(path, "wb");
        CHECK(fwrite(bytes, 1, cut, f) == cut);
        fclose(f);
        bytes[at] = was;
        error e = {0};
        profile *p = read_game(path, &e);
        slice_difference d;
        slice_times t;
        if (p && p->slices) {
            CHECK(ouro__slice_times(p->slices, &t));
            if (CHECK(ouro__slice_difference(p, p->slices, 2, &d))) ouro__slice_difference_free(&d);
        }
        refused += !p;
        CHECK(p || e.message[0]);
        ouro__profile_free(p);
    }
    CHECK(refused > 0);
    free(bytes);
    game_free(&g);
}
