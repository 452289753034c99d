// SPDX-License-Identifier: MIT
//
// Slices against a naive model: a copy of the whole profile at each slice, and their differences.
// Random programs, all rules, with and without a cap, with resets; then what is kept of them, the
// edges of it, several OS threads, and what has no memory.

#include "contexts.h"
#include "lane_check.h"
#include "ouro.h"
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { METRICS = 2, VALUES = 3 + METRICS, PATH = 32, DEPTH = 12, BLOCKS = 7 };

// ---------------------------------------------------------------- copies of a profile

typedef struct {
    ouro_block path[PATH];
    size_t length; // with [pruned] as a block
    uint64_t values[VALUES];
} row;

typedef struct {
    row *rows;
    size_t count, room;
} copy;

static void values_of(const ouro_visit *visit, uint64_t *values) {
    values[0] = visit->calls;
    values[1] = visit->recursions;
    values[2] = visit->direct;
    memcpy(values + 3, visit->metrics, METRICS * sizeof *values);
}

static void copy_path(void *user, const ouro_visit *visit) {
    copy *c = user;
    if (c->count == c->room) {
        c->room = c->room ? 2 * c->room : 64;
        c->rows = realloc(c->rows, c->room * sizeof *c->rows);
    }
    row *r = &c->rows[c->count++];
    memset(r, 0, sizeof *r);
    if (!CHECK(visit->length < PATH)) return;
    memcpy(r->path, visit->path, visit->length * sizeof *r->path);
    r->length = visit->length;
    if (visit->pruned) r->path[r->length++] = OURO_PRUNED;
    values_of(visit, r->values);
}

static int by_path(const void *a, const void *b) {
    const row *x = a, *y = b;
    if (x->length != y->length) return x->length < y->length ? -1 : 1;
    return memcmp(x->path, y->path, x->length * sizeof *x->path);
}

static copy take_copy(ouro_profile *profile) {
    copy c = {0};
    CHECK_EQUAL(ouro_profile_visit(profile, copy_path, &c), 0);
    if (c.count) qsort(c.rows, c.count, sizeof *c.rows, by_path);
    return c;
}

static row *find_row(const copy *c, const row *r) {
    return c->count ? bsearch(r, c->rows, c->count, sizeof *r, by_path) : NULL;
}

// What changed: rows of zeros are left out. With a cap some differences are below zero.
static copy difference(const copy *before, const copy *after) {
    copy d = {calloc(after->count + before->count + 1, sizeof(row)), 0, 0};
    for (size_t i = 0; i < after->count; i++) {
        row r = after->rows[i];
        const row *was = find_row(before, &r);
        uint64_t any = 0;
        for (int v = 0; v < VALUES; v++) any |= r.values[v] -= was ? was->values[v] : 0;
        if (any) d.rows[d.count++] = r;
    }
    for (size_t i = 0; i < before->count; i++) {
        row r = before->rows[i];
        if (find_row(after, &r)) continue;
        for (int v = 0; v < VALUES; v++) r.values[v] = -r.values[v];
        d.rows[d.count++] = r;
    }
    qsort(d.rows, d.count, sizeof *d.rows, by_path);
    return d;
}

static void add_rows(const copy *c, uint64_t *sums) {
    for (size_t i = 0; i < c->count; i++) {
        for (int v = 0; v < VALUES; v++) sums[v] += c->rows[i].values[v];
    }
}

// ---------------------------------------------------------------- random programs

typedef struct {
    ouro_profile *profile;
    ouro_thread *threads[3]; // green threads of one lane
    ouro_position tokens[3][DEPTH];
    int depth[3], replaced[3];
    ouro_block first;
} program;

static const ouro_metric_info two_metrics[METRICS] = {{"samples", "count"}, {"bytes", "bytes"}};

static program program_new(ouro_options options) {
    options.metrics = two_metrics;
    options.metric_count = METRICS;
    program p = {.profile = ouro_profile_new(&options)};
    ouro_block_info infos[BLOCKS] = {{0}};
    for (int i = 0; i < BLOCKS; i++) infos[i] = (ouro_block_info){"block", "file", 1u + i, 1};
    p.first = ouro_add_blocks(p.profile, infos, BLOCKS);
    p.threads[0] = ouro_thread_new(p.profile);
    p.threads[1] = ouro_thread_fork(p.threads[0]);
    p.threads[2] = ouro_thread_fork(p.threads[0]);
    return p;
}

static void program_free(program *p) {
    for (int t = 0; t < 3; t++) {
        while (p->depth[t]) ouro_exit(p->threads[t], p->tokens[t][--p->depth[t]]);
        ouro_thread_free(p->threads[t]);
    }
    ouro_profile_free(p->profile);
}

static void play(program *p, uint32_t events) {
    for (uint32_t i = 0; i < events; i++) {
        uint32_t t = random_below(8) < 6 ? 0 : 1 + random_below(2);
        ouro_block block = p->first + random_below(BLOCKS);
        uint32_t dice = random_below(10);
        if (dice < 4 && p->depth[t] < DEPTH) {
            p->tokens[t][p->depth[t]++] = ouro_enter(p->threads[t], block);
        } else if (dice < 7 && p->depth[t]) {
            ouro_exit(p->threads[t], p->tokens[t][--p->depth[t]]);
            if (!p->depth[t]) p->replaced[t] = 0;
        } else if (dice < 8 && p->depth[t] && p->replaced[t] < DEPTH) {
            p->replaced[t]++; // a path grows by it
            ouro_replace(p->threads[t], block);
        } else {
            ouro_count(p->threads[t], random_below(METRICS), random_below(1000));
        }
    }
}

// ---------------------------------------------------------------- what is kept

enum { SLICES = 300 };

// By the number of a slice; 0 is what was outside.
typedef struct {
    copy differences[SLICES + 2];
    uint64_t totals[SLICES + 2][VALUES];
    uint64_t count;
} model;

typedef struct {
    const model *model;
    ouro_slice_options options;
    bool exact;      // there is no cap: the differences are those of paths
    bool everything; // the trees have room for all paths
    ouro_slice_summary summary;
    uint64_t sums[VALUES], rows, starts, durations;
    uint64_t hist[OURO_SLICE_BUCKETS];
    uint64_t kept[3], weights[3][SLICES];
    uint64_t numbers[3][SLICES];
    const copy *tree; // of the model,
    uint64_t number;  // and its slice
    uint64_t tree_sums[VALUES], tree_totals[VALUES];
    size_t tree_rows;
} kept;

static void info_values(const ouro_slice_info *info, uint64_t *values) {
    ouro_visit visit = {.calls = info->calls,
                        .recursions = info->recursions,
                        .direct = info->direct,
                        .metrics = info->metrics};
    values_of(&visit, values);
}

static void check_values(const uint64_t *is, const uint64_t *should) {
    for (int v = 0; v < VALUES; v++) CHECK_EQUAL(is[v], should[v]);
}

static void see_lane(void *user, const ouro_slice_summary *summary) {
    kept *k = user;
    uint64_t values[VALUES];
    k->summary = *summary;
    CHECK_EQUAL(summary->count, k->model->count);
    CHECK_TEXT(summary->name, k->options.name ? k->options.name : "slice");
    info_values(&summary->outside, values);
    check_values(values, k->model->totals[0]);
    for (int v = 0; v < VALUES; v++) k->sums[v] += values[v];
    CHECK(summary->is_open);
    info_values(&summary->open, values);
    check_values(values, k->model->totals[k->model->count + 1]);
    for (int v = 0; v < VALUES; v++) k->sums[v] += values[v];
    uint64_t durations = 0, slices = 0, heat = 0;
    for (uint32_t b = 0; b < OURO_SLICE_BUCKETS; b++) {
        durations += summary->durations[b];
        slices += summary->values[b];
    }
    for (uint32_t c = 0; c < OURO_SLICE_HEAT_COLUMNS * OURO_SLICE_HEAT_ROWS; c++)
        heat += summary->heat[c];
    CHECK_EQUAL(durations, summary->count);
    CHECK_EQUAL(slices, summary->count);
    CHECK_EQUAL(heat, summary->count);
    memcpy(k->hist, summary->durations, sizeof k->hist);
}

static uint32_t bucket_of(uint64_t value) {
    uint32_t b = 0; // the last that is not above
    while (b + 1 < OURO_SLICE_BUCKETS && ouro_slice_bucket_least(b + 1) <= value) b++;
    return b;
}

static void see_slice(void *user, const ouro_slice_info *slice) {
    kept *k = user;
    uint64_t values[VALUES];
    CHECK_EQUAL(slice->number, ++k->rows);
    CHECK(slice->start >= k->starts);
    k->starts = slice->start + slice->duration;
    info_values(slice, values);
    check_values(values, k->model->totals[slice->number]);
    for (int v = 0; v < VALUES; v++) k->sums[v] += values[v];
    k->hist[bucket_of(slice->duration)]--;
}

static void tree_end(kept *k) {
    if (!k->tree) return;
    check_values(k->tree_sums, k->tree_totals);
    if (k->exact && k->everything) CHECK_EQUAL(k->tree_rows, k->tree->count);
    k->tree = NULL;
}

static void see_kept(void *user, const ouro_slice_info *slice, unsigned why,
                     const ouro_slice_info *rest) {
    kept *k = user;
    tree_end(k);
    CHECK(slice->number > k->number && slice->number <= k->model->count);
    k->number = slice->number;
    info_values(slice, k->tree_totals);
    check_values(k->tree_totals, k->model->totals[slice->number]);
    info_values(rest, k->tree_sums);
    if (k->everything) check_values(k->tree_sums, (uint64_t[VALUES]){0});
    k->tree = &k->model->differences[slice->number];
    k->tree_rows = 0;
    for (int i = 0; i < 3; i++) {
        if (!(why >> i & 1)) continue;
        k->weights[i][k->kept[i]] = k->tree_totals[3];
        k->numbers[i][k->kept[i]++] = slice->number;
    }
}

static void see_path(void *user, const ouro_visit *visit) {
    kept *k = user;
    copy one = {0};
    copy_path(&one, visit);
    uint64_t any = 0;
    for (int v = 0; v < VALUES; v++) any |= one.rows[0].values[v];
    for (int v = 0; v < VALUES; v++) k->tree_sums[v] += one.rows[0].values[v];
    k->tree_rows += any != 0;
    if (k->exact && any) {
        const row *should = find_row(k->tree, &one.rows[0]);
        if (CHECK(should != NULL)) check_values(one.rows[0].values, should->values);
    }
    free(one.rows);
}

static const ouro_slice_visitor see_all = {see_lane, see_slice, see_kept, see_path};

static int descending(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x > y ? -1 : x < y;
}

// The K slowest by metric 0, the K last, and K others.
static void check_choice(kept *k, uint64_t slots) {
    uint64_t n = k->model->count, expected = n < slots ? n : slots;
    uint64_t all[SLICES + 1];
    for (uint64_t i = 0; i < n; i++) all[i] = k->model->totals[i + 1][3];
    qsort(all, n, sizeof *all, descending);
    qsort(k->weights[0], k->kept[0], sizeof *all, descending);
    for (int i = 0; i < 3; i++) CHECK_EQUAL(k->kept[i], expected);
    for (uint64_t i = 0; k->options.by && i < k->kept[0]; i++)
        CHECK_EQUAL(k->weights[0][i], all[i]);
    for (uint64_t i = 0; i < k->kept[1]; i++) CHECK_EQUAL(k->numbers[1][i], n - expected + 1 + i);
    if (n && k->options.by) CHECK_EQUAL(k->summary.slowest, all[0]);
}

static void check_profile(program *p, kept *k, uint64_t slots) {
    CHECK_EQUAL(ouro_slices_visit(p->profile, &see_all, k), 0);
    tree_end(k);
    CHECK_EQUAL(k->summary.rows, k->rows);
    uint64_t profile[VALUES] = {0}, left = 0;
    copy now = take_copy(p->profile);
    add_rows(&now, profile);
    free(now.rows);
    if (k->rows == k->model->count) check_values(k->sums, profile);
    for (uint32_t b = 0; b < OURO_SLICE_BUCKETS; b++) left += k->hist[b];
    CHECK_EQUAL(left, k->model->count - k->rows);
    check_choice(k, slots);
}

static void model_take(model *m, uint64_t number, ouro_profile *profile, copy *before) {
    copy now = take_copy(profile), d = difference(before, &now);
    free(m->differences[number].rows);
    m->differences[number] = d;
    memset(m->totals[number], 0, sizeof m->totals[number]);
    add_rows(&d, m->totals[number]);
    free(before->rows);
    *before = now;
}

static void model_clear(model *m) {
    for (int i = 0; i < SLICES + 2; i++) free(m->differences[i].rows);
    memset(m, 0, sizeof *m);
}

typedef struct {
    ouro_options options;
    uint32_t slices, events;
    uint64_t slots;    // trees of each kind that must be there
    bool everything;   // they have all paths
    uint32_t reset_at; // 0: never
} plan;

static void run_plan(const plan *run) {
    program p = program_new(run->options);
    model *m = calloc(1, sizeof *m);
    copy before = {0};
    play(&p, random_below(50));
    ouro_slice(p.threads[0]);
    model_take(m, 0, p.profile, &before);
    for (uint32_t i = 1; i <= run->slices; i++) {
        play(&p, random_below(4) ? random_below(run->events) : 0);
        ouro_slice(p.threads[random_below(3)]); // all of one lane
        model_take(m, ++m->count, p.profile, &before);
        if (i != run->reset_at) continue;
        model_clear(m);
        play(&p, 20);
        CHECK_EQUAL(ouro_profile_reset(p.profile), 0);
        free(before.rows);
        before = take_copy(p.profile);
        play(&p, 20);
        ouro_slice(p.threads[0]);
        model_take(m, 0, p.profile, &before);
    }
    play(&p, random_below(run->events));
    model_take(m, m->count + 1, p.profile, &before);
    kept *k = calloc(1, sizeof *k);
    k->model = m;
    k->options = run->options.slices;
    k->exact = run->options.max_nodes == 0;
    k->everything = run->everything;
    check_profile(&p, k, run->slots);
    free(k);
    free(before.rows);
    model_clear(m);
    free(m);
    program_free(&p);
}

TEST(all_slices_together_are_the_profile_by_every_rule) {
    for (int rule = OURO_LOOPS; rule <= OURO_NONE; rule++) {
        plan run = {.options = {.compaction = rule, .slices = {.by = 1, .kept = 5}},
                    .slices = 60 + random_below(SLICES - 60),
                    .events = 40,
                    .slots = 5,
                    .everything = true};
        run_plan(&run);
        run.options.slices = (ouro_slice_options){.name = "frame"};
        run.slots = 32;
        run_plan(&run);
    }
}

TEST(slices_begin_again_after_a_reset) {
    for (int rule = OURO_LOOPS; rule <= OURO_NONE; rule++) {
        plan run = {.options = {.compaction = rule, .slices = {.by = 1, .kept = 4}},
                    .slices = 100,
                    .events = 40,
                    .slots = 4,
                    .everything = true,
                    .reset_at = 1 + random_below(80)};
        run_plan(&run);
    }
}

// max_nodes / 8 records for each kind, and 16 for a tree at least.
TEST(the_sum_of_slices_is_the_profile_with_a_cap) {
    for (int rule = OURO_LOOPS; rule <= OURO_NONE; rule++) {
        for (int round = 0; round < 4; round++) {
            uint32_t cap = 40 + random_below(300);
            plan run = {
                .options = {.compaction = rule, .max_nodes = cap, .slices = {.by = 1, .kept = 3}},
                .slices = 200,
                .events = 80,
                .slots = cap / 8 / 16 < 1   ? 1
                         : cap / 8 / 16 < 3 ? cap / 8 / 16
                                            : 3,
                .reset_at = round % 2 ? 1 + random_below(150) : 0};
            run_plan(&run);
        }
    }
}

// Each metric alone would fit: the paths that are left out are the small ones.
TEST(a_tree_without_room_keeps_its_largest_paths_and_exact_totals) {
    program p = program_new(
        (ouro_options){.compaction = OURO_NONE, .max_nodes = 600, .slices = {.by = 1, .kept = 1}});
    ouro_slice(p.threads[0]);
    // 75 records at most. Two heavy paths among several hundred light ones.
    ouro_position outer = ouro_enter(p.threads[0], p.first), tokens[3];
    ouro_count(p.threads[0], 0, 1000000);
    for (uint32_t i = 0; i < 343; i++) {
        for (uint32_t d = 0, at = i; d < 3; d++, at /= 7)
            tokens[d] = ouro_enter(p.threads[0], p.first + at % 7);
        ouro_count(p.threads[0], 0, i == 342 ? 500000 : 1);
        for (uint32_t d = 3; d-- > 0;) ouro_exit(p.threads[0], tokens[d]);
    }
    ouro_exit(p.threads[0], outer);
    ouro_slice(p.threads[0]);
    copy tree = {0};
    CHECK_EQUAL(ouro_slices_visit(p.profile, &(ouro_slice_visitor){.path = copy_path}, &tree), 0);
    uint64_t sums[VALUES] = {0};
    add_rows(&tree, sums);
    CHECK(tree.count > 40 && tree.count <= 75);
    CHECK(sums[3] >= 1500000 && sums[3] < 1500000 + 342);
    free(tree.rows);
    program_free(&p);
}

typedef struct {
    ouro_slice_summary summary;
    uint64_t lanes, rows, sum, outside, open;
} seen;

static void count_lane(void *user, const ouro_slice_summary *summary) {
    seen *s = user;
    s->summary = *summary;
    s->lanes++;
    s->outside += summary->outside.metrics[0];
    s->open += summary->open.metrics[0];
}

static void count_row(void *user, const ouro_slice_info *slice) {
    seen *s = user;
    s->rows++;
    s->sum += slice->metrics[0];
}

static seen see(ouro_profile *profile) {
    seen s = {0};
    CHECK_EQUAL(ouro_slices_visit(
                    profile, &(ouro_slice_visitor){.lane = count_lane, .slice = count_row}, &s),
                0);
    return s;
}

TEST(a_table_that_is_full_keeps_its_first_rows) {
    program p = program_new((ouro_options){.slices = {.rows = 300, .by = 1}});
    for (uint32_t i = 0; i < 1001; i++) {
        ouro_slice(p.threads[0]);
        ouro_count(p.threads[0], 0, i);
    }
    seen s = see(p.profile);
    CHECK_EQUAL(s.summary.count, 1000);
    CHECK_EQUAL(s.rows, 300);
    CHECK_EQUAL(s.sum, 299 * 300 / 2);
    CHECK_EQUAL(s.summary.slowest, 999);
    CHECK_EQUAL(s.open, 1000);
    program_free(&p);
}

TEST(what_is_recorded_after_a_stop_is_outside_of_slices) {
    program p = program_new((ouro_options){0});
    ouro_slice_stop(p.threads[0]); // there is none: nothing happens
    for (int i = 0; i < 10; i++) {
        ouro_count(p.threads[0], 0, 1);
        ouro_slice(p.threads[0]);
        ouro_count(p.threads[0], 0, 100);
        ouro_slice_stop(p.threads[0]);
    }
    ouro_count(p.threads[0], 0, 1);
    seen s = see(p.profile);
    CHECK_EQUAL(s.summary.count, 10);
    CHECK(!s.summary.is_open);
    CHECK_EQUAL(s.sum, 1000);
    CHECK_EQUAL(s.outside, 11);
    CHECK_EQUAL(s.open, 0);
    program_free(&p);
}

// The lane of a thread that has ended is used again.
TEST(a_slice_that_a_thread_left_open_is_not_ended_by_the_next_thread) {
    ouro_profile *profile = ouro_profile_new(NULL);
    for (int i = 0; i < 3; i++) {
        ouro_thread *thread = ouro_thread_new(profile);
        ouro_slice(thread);
        ouro_sample(thread, 10);
        ouro_slice(thread);
        ouro_sample(thread, 1);
        ouro_thread_free(thread);
    }
    seen s = see(profile);
    CHECK_EQUAL(s.lanes, 1);
    CHECK_EQUAL(s.summary.count, 3);
    CHECK_EQUAL(s.sum, 30);
    CHECK_EQUAL(s.outside + s.open, 3);
    CHECK(s.summary.is_open);
    ouro_profile_free(profile);
}

static void count_kept(void *user, const ouro_slice_info *slice, unsigned why,
                       const ouro_slice_info *rest) {
    uint64_t *counts = user;
    (void)rest;
    if (why & OURO_SLICE_EVENLY) counts[(slice->number - 1) * 10 / 1000]++;
}

// 32 of 1,000, 100 times: 320 in each tenth. Four standard deviations are 70.
TEST(slices_that_are_chosen_evenly_are_from_the_whole_run) {
    uint64_t counts[10] = {0};
    for (int run = 0; run < 100; run++) {
        ouro_profile *profile = ouro_profile_new(NULL);
        ouro_thread *thread = ouro_thread_new(profile);
        for (int i = 0; i <= 1000; i++) ouro_slice(thread);
        ouro_slices_visit(profile, &(ouro_slice_visitor){.kept = count_kept}, counts);
        ouro_thread_free(thread);
        ouro_profile_free(profile);
    }
    uint64_t sum = 0;
    for (int i = 0; i < 10; i++) {
        CHECK(counts[i] > 320 - 110 && counts[i] < 320 + 110);
        sum += counts[i];
    }
    CHECK_EQUAL(sum, 3200);
}

TEST(buckets_are_within_one_percent_and_in_order) {
    for (uint32_t b = 0; b + 1 < OURO_SLICE_BUCKETS; b++) {
        uint64_t least = ouro_slice_bucket_least(b), next = ouro_slice_bucket_least(b + 1);
        CHECK(least < next && (next - least == 1 || next - least <= least / 100));
    }
    for (uint32_t r = 0; r + 1 < OURO_SLICE_HEAT_ROWS; r++)
        CHECK(ouro_slice_heat_least(r) < ouro_slice_heat_least(r + 1));
}

TEST(a_thread_that_is_null_has_no_slices) {
    ouro_slice(NULL);
    ouro_slice_stop(NULL);
    CHECK_EQUAL(ouro_slices_visit(NULL, &see_all, NULL), 0);
    ouro_profile *profile = ouro_profile_new(NULL);
    CHECK_EQUAL(ouro_slices_visit(profile, &see_all, NULL), 0); // calls nobody
    ouro_profile_free(profile);
}

TEST(options_of_slices_out_of_range_are_refused) {
    ouro_slice_options wrong[] = {{.by = 2},
                                  {.kept = OURO_SLICES_KEPT_MOST + 1},
                                  {.name = "a name of thirty-two bytes, in all"}};
    for (int i = 0; i < 3; i++) {
        errno = 0;
        CHECK(ouro_profile_new(&(ouro_options){.slices = wrong[i]}) == NULL);
        CHECK_EQUAL(errno, EINVAL);
    }
}
