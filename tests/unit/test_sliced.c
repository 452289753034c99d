// SPDX-License-Identifier: MIT
//
// Slices as the tools read them: a pprof file of the library says what the library says, by another
// way; questions against naive answers; and damaged bytes are an error or a profile, never a crash.

#include "format.h"
#include "ouro.h"
#include "questions.h"
#include "sliced.h"
#include "test.h"
#include "valid.h"

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
        CHECK_EQUAL(d.typical_charged, d.typical_count);
        for (uint32_t b = 0; b < p->block_count; b++) {
            if (strcmp(ouro__block_name(p, b), "collect") != 0) continue;
            CHECK(d.slow[b] == 50000 && d.typical[b] == 0);
        }
        ouro__slice_difference_free(&d);
        // Nothing recurses in this game.
        if (CHECK(ouro__slice_difference(p, p->slices, 1, &d))) {
            CHECK(d.typical_count > 0 && d.typical_charged == 0);
            ouro__slice_difference_free(&d);
        }
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

// ---------------------------------------------------------------- sums and filters

// What a slice has of a metric in a block; the text is that of its label.
static int64_t has_of(const profile *p, const char *slice, const char *metric, const char *block) {
    uint32_t key = ouro__texts_find(&p->texts, "slice", 5),
             value = ouro__texts_find(&p->texts, slice, strlen(slice)), m = 0;
    while (m < p->metric_count && strcmp(ouro__metric_name(p, m), metric) != 0) m++;
    if (!CHECK(m < p->metric_count) || !p->tags || value == NO_ROW) return 0;
    if (m >= p->tags->metric_count) return 0;
    const tags *t = p->tags;
    int64_t sum = 0;
    for (uint32_t row = 0; row < t->row_count; row++) {
        uint32_t set = t->row_set[row], b = p->block[t->row_node[row]];
        if (b == NO_BLOCK || strcmp(ouro__block_name(p, b), block) != 0) continue;
        for (uint32_t i = ouro__set_first(t, set); i < t->set_end[set]; i++) {
            const tag_info *tag = &t->tags[t->set_tags[i]];
            if (t->keys[tag->key] == key && tag->value == value && t->row_values[m])
                sum += t->row_values[m][row];
        }
    }
    return sum;
}

static const char *label_of(char text[48], const kept_slice *k, uint32_t lane) {
    snprintf(text, 48, lane ? "%llu/%u" : "%llu", (unsigned long long)k->number, lane);
    return text;
}

// Every kept slice of a part is in the sum, in a lane that is higher by `lanes`.
static void check_part(const profile *sum, const profile *p, uint32_t lanes) {
    static const char *const metrics[] = {"calls", "time", "bytes"};
    static const char *const blocks[] = {"draw", "think", "collect"};
    for (uint32_t i = 0; i < p->slices->count; i++) {
        const lane_slices *l = &p->slices->lanes[i];
        for (uint32_t k = 0; k < l->kept_count; k++) {
            char is[48], was[48];
            label_of(was, &l->kept[k], l->lane);
            label_of(is, &l->kept[k], l->lane + lanes);
            for (int m = 0; m < 3; m++) {
                for (int b = 0; b < 3; b++)
                    CHECK_EQUAL(has_of(sum, is, metrics[m], blocks[b]),
                                has_of(p, was, metrics[m], blocks[b]));
            }
        }
    }
}

static profile *sum_of(profile *const *parts, int n, bool *lost) {
    error e = {0};
    merger *m = ouro__merger_new(RULE_AS_IT_IS, 0);
    for (int i = 0; i < n; i++) CHECK(ouro__merger_add(m, parts[i], &e));
    *lost = ouro__merger_lost_slices(m);
    return ouro__merger_end(m, &e);
}

// Written and read again.
static profile *through_pprof(const profile *p) {
    const char *path = test_path("again.pb");
    error e = {0};
    CHECK(ouro__profile_write(p, path, ouro__format_named("pprof"), &(write_options){0}, &e));
    profile *again = ouro__profile_read(path, NULL, &(read_options){.rule = RULE_DEFAULT}, &e);
    CHECK(again != NULL);
    return again;
}

static uint64_t count_of(const profile *p) {
    slice_times t = {0};
    if (p && p->slices) CHECK(ouro__slice_times(p->slices, &t));
    return t.count;
}

TEST(a_sum_has_the_slices_of_its_parts) {
    enum { PARTS = 3 };
    profile *parts[PARTS];
    error e = {0};
    bool lost;
    for (int i = 0; i < PARTS; i++) {
        game g = game_new(0, 1);
        play(&g);
        parts[i] = read_game(g.path, &e);
        game_free(&g);
    }
    // One was made of another pprof file: its metrics are the same in another order.
    profile *again = through_pprof(parts[1]);
    ouro__profile_free(parts[1]);
    parts[1] = again;
    profile *sum = sum_of(parts, PARTS, &lost), *read = through_pprof(sum);
    CHECK(!lost && ouro__profile_is_valid(read));
    CHECK_EQUAL(count_of(sum), PARTS * FRAMES);
    CHECK_EQUAL(count_of(read), PARTS * FRAMES);
    for (uint32_t i = 0; i < PARTS; i++) {
        check_part(sum, parts[i], i);
        check_part(read, parts[i], i);
    }
    for (int i = 0; i < PARTS; i++) ouro__profile_free(parts[i]);
    ouro__profile_free(sum);
    ouro__profile_free(read);
}

TEST(a_sum_with_other_metrics_says_that_slices_are_lost) {
    static const ouro_metric_info other = {"cycles", "count"};
    error e = {0};
    bool lost;
    game g = game_new(0, 1);
    play(&g);
    const char *path = test_path("other.pb");
    ouro_profile *profile_of_others =
        ouro_profile_new(&(ouro_options){.metrics = &other, .metric_count = 1});
    ouro_thread *thread = ouro_thread_new(profile_of_others);
    ouro_slice(thread);
    ouro_sample(thread, 1);
    ouro_slice(thread);
    CHECK_EQUAL(ouro_profile_write(profile_of_others, path), 0);
    profile *parts[] = {read_game(g.path, &e), read_game(path, &e)};
    profile *sum = sum_of(parts, 2, &lost);
    CHECK(lost);
    CHECK_EQUAL(count_of(sum), FRAMES);
    check_part(sum, parts[0], 0);
    ouro__profile_free(sum);
    sum = sum_of(parts, 1, &lost);
    CHECK(!lost);
    ouro__profile_free(sum);
    for (int i = 0; i < 2; i++) ouro__profile_free(parts[i]);
    ouro_thread_free(thread);
    ouro_profile_free(profile_of_others);
    game_free(&g);
}

// What is left of a slice is what is left of its paths. The rest of what is known stays.
TEST(filters_keep_the_slices_of_what_they_leave) {
    game g = game_new(0, 1);
    play(&g);
    error e = {0};
    profile *p = read_game(g.path, &e);
    uint32_t collect = 0, draw = 0;
    for (uint32_t b = 0; b < p->block_count; b++) {
        if (strcmp(ouro__block_name(p, b), "collect") == 0) collect = b;
        if (strcmp(ouro__block_name(p, b), "draw") == 0) draw = b;
    }
    profile *left =
        ouro__filter(p, &(filter){.exclude = &draw, .exclude_count = 1, .keep_labels = true}, &e);
    profile *small = left ? ouro__pruned(left, 0.001, &e) : NULL;
    profile *read = small ? through_pprof(small) : NULL;
    if (CHECK(read && read->slices)) {
        CHECK_EQUAL(count_of(read), FRAMES);
        const lane_slices *l = &p->slices->lanes[0];
        for (uint32_t k = 0; k < l->kept_count; k++) {
            char text[48];
            label_of(text, &l->kept[k], 0);
            CHECK_EQUAL(has_of(read, text, "time", "draw"), 0);
            CHECK_EQUAL(has_of(read, text, "time", "collect"),
                        has_of(p, text, "time", ouro__block_name(p, collect)));
        }
    }
    profile *all[] = {p, left, small, read};
    for (int i = 0; i < 4; i++) ouro__profile_free(all[i]);
    game_free(&g);
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
