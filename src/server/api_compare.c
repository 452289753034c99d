// SPDX-License-Identifier: MIT
//
// Two files compared by block. Filters are applied to both sides before; a block that only one of
// them has is no mistake there.

#include "pattern.h"
#include "table.h"

#include <stdlib.h>
#include <string.h>

typedef enum { SLOWER, FASTER, SAME, NEW, GONE, STATES } state;

static const char *const state_names[] = {"slower", "faster", "same", "new", "gone"};

typedef struct {
    view *views[2];
    uint32_t metrics[2];
    comparison comparison;
    int64_t whole[2]; // totals without filters
    uint32_t decimals;
    uint32_t *place; // by row: its block in the answer's `blocks`
} pair;

// By what it was charged itself; what only calls something slower has changed too, but less.
static state state_of(const difference *d) {
    if (!d->in_before) return NEW;
    if (!d->in_after) return GONE;
    int64_t self = d->self_after - d->self_before, overall = d->overall_after - d->overall_before;
    int64_t change = self ? self : overall;
    return change > 0 ? SLOWER : change < 0 ? FASTER : SAME;
}

// ---------------------------------------------------------------- both in the same unit

static bool times_ten(int64_t *value) { return !__builtin_mul_overflow(*value, 10, value); }

static bool rescale(pair *p, unsigned which, uint32_t by) {
    comparison *c = &p->comparison;
    bool ok = true;
    for (; by > 0; by--) {
        ok = ok && times_ten(which ? &c->total_after : &c->total_before) &&
             times_ten(&p->whole[which]);
        for (uint32_t i = 0; ok && i < c->count; i++) {
            difference *d = &c->rows[i];
            ok = times_ten(which ? &d->self_after : &d->self_before) &&
                 times_ten(which ? &d->overall_after : &d->overall_before);
        }
    }
    return ok;
}

static bool same_decimals(pair *p) {
    uint32_t a = p->views[0]->profile->metrics[p->metrics[0]].decimals,
             b = p->views[1]->profile->metrics[p->metrics[1]].decimals;
    p->decimals = a > b ? a : b;
    return rescale(p, 0, p->decimals - a) && rescale(p, 1, p->decimals - b);
}

// ---------------------------------------------------------------- columns

// A row is labelled by its block on the side after, or else on the side before.
static bool is_after(const difference *d) { return d->block_after != NO_BLOCK; }

// NO_BLOCK: no block has the name.
static uint32_t block_of(const difference *d) {
    return is_after(d) ? d->block_after : d->block_before;
}

static const char *file_of(const pair *p, const difference *d) {
    uint32_t b = block_of(d);
    return b == NO_BLOCK ? d->file : ouro__block_file(p->views[is_after(d)]->profile, b);
}

static const difference *row_of(void *of, uint32_t i) { return &((pair *)of)->comparison.rows[i]; }

static int64_t row_block(void *of, uint32_t i) {
    return block_of(row_of(of, i)) == NO_BLOCK ? NOT_KNOWN : ((pair *)of)->place[i];
}
static const char *row_name(void *of, uint32_t i) { return row_of(of, i)->name; }
static const char *row_file(void *of, uint32_t i) { return file_of(of, row_of(of, i)); }
static int64_t row_self_before(void *of, uint32_t i) { return row_of(of, i)->self_before; }
static int64_t row_self_after(void *of, uint32_t i) { return row_of(of, i)->self_after; }
static int64_t row_overall_before(void *of, uint32_t i) { return row_of(of, i)->overall_before; }
static int64_t row_overall_after(void *of, uint32_t i) { return row_of(of, i)->overall_after; }
static const char *row_state(void *of, uint32_t i) { return state_names[state_of(row_of(of, i))]; }
static int64_t row_self_change(void *of, uint32_t i) {
    return row_of(of, i)->self_after - row_of(of, i)->self_before;
}
static int64_t row_overall_change(void *of, uint32_t i) {
    return row_of(of, i)->overall_after - row_of(of, i)->overall_before;
}
static int64_t row_state_number(void *of, uint32_t i) { return state_of(row_of(of, i)); }
static int64_t row_size_of_change(void *of, uint32_t i) {
    int64_t change = row_self_change(of, i);
    return change < 0 ? -change : change;
}

static const column compare_columns[] = {
    {"block", COLUMN_COUNT, IN_JSON, .number = row_block},
    {"name", COLUMN_TEXT, IN_JSON | IN_CSV | SORTS, .text = row_name},
    {"file", COLUMN_TEXT, IN_JSON | IN_CSV, .text = row_file},
    {"self_before", COLUMN_VALUE, IN_JSON | IN_CSV | SORTS, .number = row_self_before},
    {"self_after", COLUMN_VALUE, IN_JSON | IN_CSV | SORTS, .number = row_self_after},
    {"overall_before", COLUMN_VALUE, IN_JSON | IN_CSV | SORTS, .number = row_overall_before},
    {"overall_after", COLUMN_VALUE, IN_JSON | IN_CSV | SORTS, .number = row_overall_after},
    {"state", COLUMN_TEXT, IN_JSON | IN_CSV, .text = row_state},
    {"self", COLUMN_VALUE, SORTS, .number = row_self_change},
    {"overall", COLUMN_VALUE, SORTS, .number = row_overall_change},
    {"state", COLUMN_COUNT, SORTS, .number = row_state_number},
    {0},
};

// The usual order, which has no name in the API: the largest changes first, either way.
static const column size_of_change = {"", COLUMN_VALUE, SORTS, .number = row_size_of_change};

// ---------------------------------------------------------------- writing

static void write_summary(question *q, const pair *p, const uint32_t counts[STATES]) {
    json_writer *w = &q->json;
    ouro__write_metric(q, "metric", p->views[0]->profile, p->metrics[0], p->decimals);
    ouro__write_integer(w, "total", p->whole[0]);
    ouro__write_integer(w, "left", p->comparison.total_before);
    ouro__write_integer(w, "total_before", p->whole[0]);
    ouro__write_integer(w, "total_after", p->whole[1]);
    ouro__write_integer(w, "left_before", p->comparison.total_before);
    ouro__write_integer(w, "left_after", p->comparison.total_after);
    ouro__write_object(w, "states");
    for (int s = 0; s < STATES; s++) ouro__write_integer(w, state_names[s], counts[s]);
    ouro__write_end(w);
}

// Rows name blocks of two profiles, so this answer has a list of blocks of its own.
static void write_blocks(question *q, pair *p, const page *rows) {
    ouro__write_rows(&q->json, "blocks");
    for (uint32_t i = 0; i < rows->count; i++) {
        const difference *d = row_of(p, rows->rows[i]);
        bool after = is_after(d);
        if (block_of(d) == NO_BLOCK) continue;
        ouro__write_object(&q->json, NULL);
        ouro__write_block_info(q, q->generation->sides[after], p->views[after]->profile,
                               block_of(d));
        ouro__write_text(&q->json, "side", after ? "after" : "before");
        ouro__write_end(&q->json);
    }
    ouro__write_end(&q->json);
}

static void place_blocks(pair *p, const page *rows) {
    uint32_t place = 0;
    for (uint32_t i = 0; i < rows->count; i++) {
        p->place[rows->rows[i]] = place;
        place += block_of(row_of(p, rows->rows[i])) != NO_BLOCK;
    }
}

// ---------------------------------------------------------------- the question

// By the `state` parameters; without any, all.
static bool state_is_wanted(const request *r, state s) {
    bool asked = false;
    for (size_t i = 0; i < r->count; i++) {
        if (strcmp(r->parameters[i].name, "state") != 0) continue;
        if (strcmp(r->parameters[i].value, state_names[s]) == 0) return true;
        asked = true;
    }
    return !asked;
}

// keep[i]: the search and the states leave the row; counts are those before the states.
static bool keep_rows(question *q, const pair *p, uint8_t *keep, uint32_t counts[STATES]) {
    const char *search = ouro__request_value(q->request, "search");
    error e = {0};
    name_pattern *what = ouro__pattern_of_search(search ? search : "", &e);
    if (!what) return ouro__refuse_error(q, 400, "bad-pattern", &e);
    for (uint32_t i = 0; i < p->comparison.count; i++) {
        const difference *d = &p->comparison.rows[i];
        bool found =
            ouro__pattern_matches(what, d->name) || ouro__pattern_matches(what, file_of(p, d));
        if (found) counts[state_of(d)]++;
        keep[i] = found && state_is_wanted(q->request, state_of(d));
    }
    bool gave_up = ouro__pattern_gave_up(what, &e);
    ouro__pattern_free(what);
    return !gave_up || ouro__refuse_error(q, 400, "bad-pattern", &e);
}

static bool write_comparison(question *q, pair *p) {
    uint32_t counts[STATES] = {0}, count = p->comparison.count;
    uint8_t *keep = malloc((size_t)count + 1);
    table t = {.columns = compare_columns,
               .usual = &size_of_change,
               .of = p,
               .count = count,
               .keep = keep,
               .decimals = p->decimals};
    page rows = {0};
    p->place = malloc(((size_t)count + 1) * sizeof *p->place);
    bool ok = keep && p->place;
    ok = ok && keep_rows(q, p, keep, counts);
    ok = ok && ouro__table_page(q, &t, "", &rows);
    if (ok) {
        place_blocks(p, &rows);
        if (!q->csv) write_summary(q, p, counts);
        ouro__table_head(q, t.columns);
        ouro__table_rows(q, "rows", &t, rows.rows, rows.count);
        ouro__table_foot(q, rows.kept, rows.offset);
        if (!q->csv) write_blocks(q, p, &rows);
    }
    free(keep);
    free(rows.rows);
    return ok;
}

// Without a choice both sides show the metric that the first one would, or else the first that
// both have.
static bool find_metrics(question *q, uint32_t metrics[2]) {
    const profile *first = q->generation->sides[0]->profile,
                  *second = q->generation->sides[1]->profile;
    if (!ouro__question_metric(q, first, &metrics[0])) return false;
    if (ouro__request_value(q->request, "metric"))
        return ouro__question_metric(q, second, &metrics[1]);
    metrics[1] = ouro__profile_find_metric(second, ouro__metric_name(first, metrics[0]));
    for (uint32_t m = 0; metrics[1] == NO_ROW && m < first->metric_count; m++) {
        metrics[0] = m;
        metrics[1] = ouro__profile_find_metric(second, ouro__metric_name(first, m));
    }
    return metrics[1] != NO_ROW ||
           ouro__refuse(q, 404, "no-such-metric", "the two files have no metric in common");
}

static bool find_pair(question *q, pair *p) {
    if (!find_metrics(q, p->metrics)) return false;
    for (unsigned i = 0; i < 2; i++) {
        if (!(p->views[i] = ouro__question_view(q, i))) return false;
        p->whole[i] = q->generation->sides[i]->totals[p->metrics[i]];
    }
    return true;
}

bool ouro__api_compare(question *q) {
    pair p = {0};
    if (q->generation->side_count != 2)
        return ouro__refuse(q, 404, "no-comparison", "only one file is open");
    bool ok = find_pair(q, &p) && ouro__compare(p.views[0]->profile, p.metrics[0],
                                                p.views[1]->profile, p.metrics[1], &p.comparison);
    if (ok && !same_decimals(&p))
        ok = ouro__refuse(q, 500, "too-large", "the values do not fit with the decimals of both");
    ok = ok && write_comparison(q, &p);
    ouro__comparison_free(&p.comparison);
    free(p.place);
    for (unsigned i = 0; i < 2; i++) {
        if (p.views[i]) ouro__cache_release(q->api->cache, p.views[i]);
    }
    return ok;
}
