// SPDX-License-Identifier: MIT
//
// The slices of a profile: how many there are, how long they took, when, and of which the trees
// were kept. Times are in nanoseconds since the recording began.

#include "api.h"

#include "slice_choice.h"

#include <stdio.h>

static void write_time(question *q, const char *name, uint64_t time) {
    if (time > INT64_MAX) return ouro__write_null(&q->json, name);
    ouro__write_integer(&q->json, name, (int64_t)time);
}

static const lane_slices *first_lane(const slices *s) { return s->count ? s->lanes : NULL; }

static void write_measure(question *q, const profile *p, const slices *s) {
    const lane_slices *l = first_lane(s);
    bool metered = l && l->by && s->own + l->by - 1 < p->metric_count;
    uint32_t m = metered ? (uint32_t)(s->own + l->by - 1) : 0;
    ouro__write_text(&q->json, "name", l ? l->name : "slice");
    ouro__write_text(&q->json, "by", metered ? ouro__metric_name(p, m) : "duration");
    ouro__write_text(&q->json, "unit", metered ? ouro__metric_unit(p, m) : "nanoseconds");
}

static bool write_times(question *q, const slices *s) {
    slice_times t;
    uint64_t open = 0;
    if (!ouro__slice_times(s, &t)) return false;
    for (uint32_t i = 0; i < s->count; i++) open += s->lanes[i].is_open;
    ouro__write_integer(&q->json, "count", (int64_t)t.count);
    ouro__write_integer(&q->json, "open", (int64_t)open);
    ouro__write_integer(&q->json, "lanes", s->count);
    write_time(q, "median", t.median);
    write_time(q, "p90", t.p90);
    write_time(q, "p99", t.p99);
    write_time(q, "slowest", t.slowest);
    ouro__write_bool(&q->json, "exact", t.exact);
    return true;
}

// ---------------------------------------------------------------- pictures

static void write_cells(question *q, const slice_grid *g) {
    ouro__write_rows(&q->json, "cells");
    for (uint32_t c = 0; c < g->columns * g->rows; c++) {
        if (!g->cells[c]) continue;
        ouro__write_array(&q->json, NULL);
        ouro__write_integer(&q->json, NULL, c / g->rows);
        ouro__write_integer(&q->json, NULL, c % g->rows);
        ouro__write_integer(&q->json, NULL, (int64_t)g->cells[c]);
        ouro__write_end(&q->json);
    }
    ouro__write_end(&q->json);
}

static bool write_heat(question *q, const slices *s) {
    slice_grid g;
    if (!ouro__slice_grid(s, &g)) return false;
    ouro__write_object(&q->json, "heat");
    write_time(q, "from", g.from);
    write_time(q, "step", g.step);
    ouro__write_integer(&q->json, "columns", g.columns);
    ouro__write_array(&q->json, "least"); // of each row, and what is above the last
    for (uint32_t r = 0; g.rows && r <= g.rows; r++) write_time(q, NULL, ouro__grid_least(&g, r));
    ouro__write_end(&q->json);
    ouro__write_array(&q->json, "sums");
    for (uint32_t r = 0; r < g.rows; r++) ouro__write_integer(&q->json, NULL, (int64_t)g.sums[r]);
    ouro__write_end(&q->json);
    write_cells(q, &g);
    ouro__write_end(&q->json);
    ouro__grid_free(&g);
    return true;
}

static void write_histogram(question *q, const slices *s) {
    ouro__write_rows(&q->json, "histogram");
    for (uint32_t b = 0; b < SLICE_BUCKETS; b++) {
        uint64_t sum = 0;
        for (uint32_t i = 0; i < s->count; i++) sum += s->lanes[i].durations[b];
        if (!sum) continue;
        ouro__write_array(&q->json, NULL);
        write_time(q, NULL, ouro__bucket_least(b));
        ouro__write_integer(&q->json, NULL, (int64_t)sum);
        ouro__write_end(&q->json);
    }
    ouro__write_end(&q->json);
}

// ---------------------------------------------------------------- trees

static void write_kept(question *q, const lane_slices *l, const kept_slice *k) {
    static const char *const whys[] = {"slowest", "last", "evenly"};
    char name[48];
    snprintf(name, sizeof name, l->lane ? "%llu/%u" : "%llu", (unsigned long long)k->number,
             l->lane);
    ouro__write_object(&q->json, NULL);
    ouro__write_text(&q->json, "slice", name);
    write_time(q, "start", k->start);
    write_time(q, "duration", k->duration);
    write_time(q, "weight", ouro__slice_weight(l, k->duration, k->totals));
    ouro__write_array(&q->json, "why");
    for (unsigned i = 0; i < 3; i++) {
        if (k->why >> i & 1) ouro__write_text(&q->json, NULL, whys[i]);
    }
    ouro__write_end(&q->json);
    ouro__write_end(&q->json);
}

static void write_trees(question *q, const slices *s) {
    ouro__write_rows(&q->json, "kept");
    for (uint32_t i = 0; i < s->count; i++) {
        const lane_slices *l = &s->lanes[i];
        for (uint32_t k = 0; k < l->kept_count; k++) write_kept(q, l, &l->kept[k]);
    }
    ouro__write_end(&q->json);
}

// ---------------------------------------------------------------- choices

static bool write_choice(question *q, const char *name, const char *text) {
    const profile *p = q->side->profile;
    slice_choice choice;
    chosen_slices c;
    error e = {0};
    if (!text) {
        ouro__write_null(&q->json, name);
        return true;
    }
    if (!ouro__slice_choice_parse(text, &choice, &e))
        return ouro__refuse_error(q, 400, "bad-slices", &e);
    if (!ouro__choose_slices(p, &choice, &c)) return false;
    ouro__write_object(&q->json, name);
    ouro__write_integer(&q->json, "count", (int64_t)c.count);
    ouro__write_bool(&q->json, "exact", c.exact);
    ouro__write_integer(&q->json, "kept", (int64_t)c.kept);
    write_time(q, "from", c.from);
    write_time(q, "until", c.until);
    write_time(q, "least", c.least);
    write_time(q, "most", c.most);
    ouro__write_end(&q->json);
    ouro__chosen_free(&c);
    return true;
}

static bool write_choices(question *q) {
    static const char *const names[] = {"slowest", "typical", "last"};
    bool ok = true;
    ouro__write_object(&q->json, "choices");
    for (int i = 0; ok && i < 3; i++) ok = write_choice(q, names[i], names[i]);
    ouro__write_end(&q->json);
    return ok;
}

bool ouro__api_slices(question *q) {
    const profile *p = q->side->profile;
    const slices *s = p->slices;
    if (!s) return ouro__refuse(q, 404, "no-slices", "the profile has no slices");
    write_measure(q, p, s);
    if (!write_times(q, s) || !write_heat(q, s)) return false;
    write_histogram(q, s);
    write_trees(q, s);
    return write_choices(q) &&
           write_choice(q, "chosen", ouro__request_value(q->request, "slices")) &&
           write_choice(q, "against", ouro__request_value(q->request, "against"));
}
