// SPDX-License-Identifier: MIT
//
// Choices among slices against a look at each of them: random slices of several lanes, whose tables
// have all of them or only the first. The grid has every slice once. Damaged bytes are an error or
// a profile that answers, never a crash.

#include "format.h"
#include "ouro.h"
#include "slice_choice.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLICES_MOST = 400, LANES = 3, WIDTH = 4 };

typedef struct {
    uint32_t lane;
    uint64_t number, start, duration, value;
} one;

typedef struct {
    profile *profile;
    one all[SLICES_MOST];
    uint32_t count;
    bool by_value, whole;
} model;

static uint32_t bucket_of(uint64_t value) {
    uint32_t b = 0;
    while (b + 1 < SLICE_BUCKETS && ouro__bucket_least(b + 1) <= value) b++;
    return b;
}

static uint32_t heat_row(uint64_t duration) {
    uint32_t row = 0;
    while (row + 1 < SLICE_HEAT_ROWS &&
           (UINT64_C(4) + (row + 1) % 4) << ((row + 1) / 4 + 6) <= duration)
        row++;
    return row;
}

static void keep(profile *p, lane_slices *l, const one *o, unsigned why) {
    char text[48];
    l->kept = realloc(l->kept, (l->kept_count + 1) * sizeof *l->kept);
    kept_slice *k = &l->kept[l->kept_count++];
    *k = (kept_slice){.number = o->number,
                      .start = o->start,
                      .duration = o->duration,
                      .why = why,
                      .totals = calloc(WIDTH, sizeof *k->totals),
                      .rest = calloc(WIDTH, sizeof *k->rest)};
    k->totals[3] = o->value;
    k->rest[3] = 1;
    snprintf(text, sizeof text, l->lane ? "%llu/%u" : "%llu", (unsigned long long)o->number,
             l->lane);
    ouro__tags_put(p, ouro__profile_add_text(p, "slice"), ouro__profile_add_text(p, text));
    uint32_t set = ouro__tags_close(p);
    ouro__charge(p, 0, 1, (int64_t)o->value - 1);
    ouro__tags_charge(p, 0, 1, set, (int64_t)o->value - 1);
}

static void add_one(model *m, lane_slices *l, one o) {
    l->count++;
    if (m->whole || l->row_count < 20) {
        l->table = realloc(l->table, (l->row_count + 1) * (2 + WIDTH) * sizeof *l->table);
        uint64_t *row = l->table + l->row_count++ * (2 + WIDTH);
        memcpy(row, (uint64_t[]){o.start, o.duration, 0, 0, 0, o.value}, 6 * sizeof *row);
    }
    uint64_t weight = m->by_value ? o.value : o.duration;
    if (weight > l->slowest) l->slowest = weight;
    l->durations[bucket_of(o.duration)]++;
    l->values[bucket_of(o.value)]++;
    uint64_t column = (o.start - l->heat_start) / l->heat_step;
    l->heat[column * SLICE_HEAT_ROWS + heat_row(o.duration)]++;
    // The last one of a lane is always kept, as the library does.
    m->all[m->count++] = o;
}

static void fill_lane(model *m, uint32_t lane, uint32_t count) {
    lane_slices *l = ouro__slices_add_lane(m->profile->slices);
    l->lane = lane;
    l->name = strdup("frame");
    l->by = m->by_value;
    l->values = calloc(SLICE_BUCKETS, sizeof *l->values);
    uint64_t at = random_below(1000000);
    l->heat_start = at;
    l->heat_step = 200000000;
    for (uint32_t i = 1; i <= count; i++) {
        one o = {lane, i, at, 1 + random_below(100000000) % (random_below(9) ? 20000 : 100000000),
                 1 + random_below(random_below(5) ? 10 : 100000)};
        add_one(m, l, o);
        at += o.duration + random_below(2) * random_below(90000000);
        unsigned why = random_below(8) == 0 ? 1 + random_below(7) : 0;
        if (i == count) why |= SLICE_LAST;
        if (why) keep(m->profile, l, &o, why);
    }
}

static model *model_new(void) {
    model *m = calloc(1, sizeof *m);
    profile *p = m->profile = ouro__profile_new();
    m->by_value = random_below(2);
    m->whole = random_below(2);
    ouro__profile_add_metric(p, "time", "nanoseconds");
    p->slices = ouro__slices_new(1, 0);
    ouro__profile_add_node(p, 0, ouro__profile_add_named(p, "main", 4));
    uint32_t lanes = 1 + random_below(LANES);
    for (uint32_t i = 0; i < lanes; i++) fill_lane(m, i * 2, 1 + random_below(SLICES_MOST / LANES));
    m->whole = true; // by chance, perhaps
    for (uint32_t i = 0; i < lanes; i++)
        m->whole &= p->slices->lanes[i].row_count == p->slices->lanes[i].count;
    error e;
    CHECK(ouro__profile_finish(p, &e));
    return m;
}

static void model_free(model *m) {
    ouro__profile_free(m->profile);
    free(m);
}

static int ascending(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static uint64_t weight_of(const model *m, const one *o) {
    return m->by_value ? o->value : o->duration;
}

// The smallest weight that so many hundredths do not exceed.
static uint64_t percentile(const model *m, unsigned part) {
    uint64_t all[SLICES_MOST];
    for (uint32_t i = 0; i < m->count; i++) all[i] = weight_of(m, &m->all[i]);
    qsort(all, m->count, sizeof *all, ascending);
    uint32_t rank = (uint32_t)ceil(m->count * part / 100.0);
    return all[rank ? rank - 1 : 0];
}

static uint64_t end_of(const model *m) {
    uint64_t end = 0;
    for (uint32_t i = 0; i < m->count; i++) {
        if (m->all[i].start + m->all[i].duration > end) end = m->all[i].start + m->all[i].duration;
    }
    return end;
}

static bool is_meant(const model *m, const slice_choice *c, const one *o) {
    uint64_t p99 = percentile(m, 99), most = percentile(m, 100), end = end_of(m);
    if (c->kind == CHOICE_SLOWEST)
        return most == p99 ? weight_of(m, o) >= p99 : weight_of(m, o) > p99;
    if (c->kind == CHOICE_TYPICAL) return weight_of(m, o) <= percentile(m, 90);
    if (c->kind == CHOICE_LAST) return o->start + LAST_NANOSECONDS >= end;
    if (c->kind == CHOICE_ONE) return o->lane == c->lane && o->number == c->number;
    return o->start >= c->from && o->start < c->until && o->duration >= c->least &&
           o->duration < c->most;
}

static const kept_slice *kept_of(const model *m, const one *o) {
    const slices *s = m->profile->slices;
    for (uint32_t i = 0; i < s->count; i++) {
        for (uint32_t k = 0; s->lanes[i].lane == o->lane && k < s->lanes[i].kept_count; k++) {
            if (s->lanes[i].kept[k].number == o->number) return &s->lanes[i].kept[k];
        }
    }
    return NULL;
}

static int64_t left_of(profile *p, const chosen_slices *c) {
    error e;
    filter f = {.labels = c->labels, .label_count = c->label_count};
    profile *left = ouro__filter(p, &f, &e);
    int64_t total = left ? ouro__total(left, 0) : -1;
    ouro__profile_free(left);
    return total;
}

static void check_choice(const model *m, const char *text) {
    slice_choice c;
    chosen_slices got;
    error e = {0};
    uint64_t count = 0, kept = 0;
    int64_t value = 0;
    if (!CHECK(ouro__slice_choice_parse(text, &c, &e))) return;
    if (!CHECK(ouro__choose_slices(m->profile, &c, &got))) return;
    for (uint32_t i = 0; i < m->count; i++) {
        const kept_slice *k = kept_of(m, &m->all[i]);
        if (!is_meant(m, &c, &m->all[i])) continue;
        count++;
        if (!k || (c.kind == CHOICE_TYPICAL && !(k->why & SLICE_EVENLY))) continue;
        kept++;
        value += (int64_t)m->all[i].value - 1;
    }
    // Beyond the table, percentiles end at buckets.
    bool ranked = c.kind == CHOICE_SLOWEST || c.kind == CHOICE_TYPICAL;
    CHECK_EQUAL(got.exact, m->whole || ranked || c.kind == CHOICE_ONE);
    if (m->whole || c.kind == CHOICE_ONE) CHECK_EQUAL(got.count, count);
    if (m->whole || !ranked) {
        CHECK_EQUAL(got.kept, kept);
        CHECK_EQUAL(got.rest[3], kept);
        CHECK_EQUAL(left_of(m->profile, &got), value);
    }
    if (ranked) CHECK(got.count >= 1 && got.count <= m->count);
    ouro__chosen_free(&got);
}

TEST(a_choice_has_the_slices_that_a_look_at_each_finds) {
    for (int round = 0; round < 12; round++) {
        model *m = model_new();
        char text[120];
        check_choice(m, "slowest");
        check_choice(m, "typical");
        check_choice(m, "last");
        snprintf(text, sizeof text, "%u/2", random_below(150));
        check_choice(m, text);
        check_choice(m, text + strlen(text) - 1);
        check_choice(m, "0.5-2.25");
        check_choice(m, "-1,0.00001-");
        check_choice(m, ",0.000005-0.02");
        check_choice(m, "1-,-0.01");
        model_free(m);
    }
}

TEST(a_grid_has_every_slice_once) {
    for (int round = 0; round < 12; round++) {
        model *m = model_new();
        slice_grid g;
        uint64_t cells = 0, sums = 0;
        if (!CHECK(ouro__slice_grid(m->profile->slices, &g))) return;
        for (uint32_t c = 0; c < g.columns * g.rows; c++) cells += g.cells[c];
        for (uint32_t r = 0; r < g.rows; r++) sums += g.sums[r];
        CHECK_EQUAL(cells, m->count);
        CHECK_EQUAL(sums, m->count);
        for (uint32_t i = 0; m->whole && i < m->count; i++) {
            const one *o = &m->all[i];
            uint64_t column = (o->start - g.from) / g.step;
            uint32_t row = 0;
            while (row + 1 < g.rows && ouro__grid_least(&g, row + 1) <= o->duration) row++;
            CHECK(column < g.columns && o->duration < ouro__grid_least(&g, g.rows));
            CHECK(g.cells[column * g.rows + row]-- > 0);
        }
        ouro__grid_free(&g);
        model_free(m);
    }
}

TEST(what_is_no_choice_is_refused) {
    static const char *const bad[] = {"",
                                      "slow",
                                      "slowest ",
                                      "1.5",
                                      "12/",
                                      "/3",
                                      "12/x",
                                      "-",
                                      "5-2",
                                      "5-5",
                                      "1-2,",
                                      "1-2,3",
                                      "1-2,3-4,",
                                      "a-b",
                                      "1e3-2",
                                      "99999999999999999999",
                                      "1-2 ",
                                      "1.1234567891-",
                                      ",",
                                      ",-",
                                      "99999999999999-",
                                      "12/99999999999",
                                      "1--2",
                                      "٣"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        slice_choice c;
        error e = {0};
        bool ok = ouro__slice_choice_parse(bad[i], &c, &e);
        // A range without bounds has everything, which is fine.
        if (strcmp(bad[i], "-") == 0 || strcmp(bad[i], ",-") == 0)
            CHECK(ok);
        else
            CHECK(!ok && e.code && *e.message);
    }
}

TEST(values_per_slice_are_divided_with_decimals) {
    profile *p = ouro__profile_new();
    error e;
    ouro__profile_add_metric(p, "time", "nanoseconds");
    ouro__profile_add_metric(p, "large", "count");
    uint32_t a = ouro__profile_add_node(p, 0, ouro__profile_add_named(p, "a", 1));
    ouro__charge(p, 0, a, 10);
    ouro__charge(p, 0, 0, -7);
    ouro__charge(p, 1, a, INT64_MAX / 20);
    CHECK(ouro__profile_finish(p, &e));
    ouro__per_slice(p, 3);
    CHECK_EQUAL(p->values[0][a], 3333);
    CHECK_EQUAL(p->values[0][0], -2333);
    CHECK_EQUAL(p->metrics[0].decimals, 3);
    CHECK_EQUAL(p->metrics[1].decimals, 1);
    CHECK_EQUAL(p->values[1][a], (INT64_MAX / 20 * 10 + 1) / 3);
    ouro__profile_free(p);
}

// ---------------------------------------------------------------- damaged bytes

static size_t written(char *bytes, size_t room) {
    ouro_metric_info metric = {"time", "nanoseconds"};
    ouro_profile *p = ouro_profile_new(
        &(ouro_options){.metrics = &metric, .metric_count = 1, .slices = {.kept = 3, .rows = 20}});
    ouro_block block = ouro_add_block(p, &(ouro_block_info){"draw", "g.c", 1, 1});
    ouro_thread *t = ouro_thread_new(p);
    for (int i = 0; i < 40; i++) {
        ouro_slice(t);
        ouro_position caller = ouro_enter(t, block);
        ouro_count(t, 0, 100 + random_below(100));
        ouro_exit(t, caller);
    }
    const char *path = test_path("choice.pb");
    CHECK_EQUAL(ouro_profile_write(p, path), 0);
    ouro_thread_free(t);
    ouro_profile_free(p);
    FILE *f = fopen(path, "rb");
    size_t size = f ? fread(bytes, 1, room, f) : 0;
    if (f) fclose(f);
    return size;
}

static void ask_all(profile *p) {
    static const char *const all[] = {"slowest", "typical", "last", "3", "0.1-0.2,0.0001-"};
    slice_grid g;
    if (!p->slices) return;
    CHECK(ouro__slice_grid(p->slices, &g));
    for (uint32_t r = 0; r <= g.rows; r++) ouro__grid_least(&g, r);
    ouro__grid_free(&g);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        slice_choice c;
        chosen_slices got;
        error e;
        CHECK(ouro__slice_choice_parse(all[i], &c, &e) && ouro__choose_slices(p, &c, &got));
        filter f = {.labels = got.labels, .label_count = got.label_count};
        ouro__profile_free(ouro__filter(p, &f, &e));
        ouro__chosen_free(&got);
    }
}

TEST(damaged_slices_are_an_error_or_answer) {
    static char good[1 << 16], bytes[1 << 16];
    size_t size = written(good, sizeof good);
    const format *f = ouro__format_named("pprof");
    for (int round = 0; round < 3000; round++) {
        error e = {0};
        memcpy(bytes, good, size);
        for (uint32_t n = 1 + random_below(4); n; n--)
            bytes[random_below((uint32_t)size)] = (char)random_below(256);
        input in = {.bytes = (const unsigned char *)bytes, .size = size, .fd = -1};
        profile *p = f->read(&in, &(read_options){.rule = RULE_DEFAULT, .keep_labels = true}, &e);
        if (p) ask_all(p);
        ouro__profile_free(p);
    }
}
