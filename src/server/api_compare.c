// SPDX-License-Identifier: MIT
//
// Two files compared by block, as a table and in a sentence. Filters are applied to both sides
// before; a block that only one of them has is no mistake there.

#include "compare.h"
#include "pattern.h"
#include "table.h"

#include <stdlib.h>
#include <string.h>

typedef enum { SLOWER, FASTER, SAME, NEW, GONE, STATES } state;

static const char *const state_names[] = {"slower", "faster", "same", "new", "gone"};
static const char *const how_names[] = {NULL, "name", "path", "line"};

typedef struct {
    compared sides;
    comparison comparison;
    // Rows name blocks of two profiles, so this answer has a list of blocks of its own: rows in the
    // order of their first mention, and by row its place there.
    uint32_t *named, named_count, *place;
} pair;

// By what it was charged itself; what only calls something slower has changed too, but less.
static state state_of(const difference *d) {
    if (!d->in_before) return NEW;
    if (!d->in_after) return GONE;
    int64_t self = d->self_after - d->self_before, overall = d->overall_after - d->overall_before;
    int64_t change = self ? self : overall;
    return change > 0 ? SLOWER : change < 0 ? FASTER : SAME;
}

// ---------------------------------------------------------------- the two sides

bool ouro__find_common(question *q, uint32_t metrics[2]) {
    if (q->generation->side_count != 2 && !q->versus)
        return ouro__refuse(q, 404, "no-comparison", "only one file is open");
    const profile *a = q->generation->sides[0]->profile,
                  *b = q->generation->sides[ouro__question_file(q, 1)]->profile;
    if (!ouro__request_value(q->request, "metric"))
        return ouro__common_metric(a, b, &metrics[0], &metrics[1]) ||
               ouro__refuse(q, 404, "no-such-metric", "the two files have no metric in common");
    if (!ouro__question_metric(q, a, &metrics[0]) || !ouro__question_metric(q, b, &metrics[1]))
        return false;
    return ouro__comparable(a, metrics[0], b, metrics[1]) ||
           ouro__refuse(q, 404, "no-such-metric", "%s counts %s before and %s after",
                        ouro__metric_name(a, metrics[0]), ouro__metric_unit(a, metrics[0]),
                        ouro__metric_unit(b, metrics[1]));
}

static uint32_t decimals_of(const compared *c, unsigned i) {
    return c->views[i]->profile->metrics[c->metrics[i]].decimals;
}

static bool find_totals(question *q, compared *c) {
    bool fits = true;
    c->decimals = decimals_of(c, 0) > decimals_of(c, 1) ? decimals_of(c, 0) : decimals_of(c, 1);
    for (unsigned i = 0; i < 2; i++) {
        c->scale[i] = 1;
        for (uint32_t d = decimals_of(c, i); d < c->decimals; d++)
            fits = fits && !__builtin_mul_overflow(c->scale[i], 10, &c->scale[i]);
        int64_t whole = ouro__view_all(c->views[i])[c->metrics[i]];
        fits = fits && !__builtin_mul_overflow(whole, c->scale[i], &c->whole[i]);
    }
    return fits ||
           ouro__refuse(q, 500, "too-large", "the values do not fit with the decimals of both");
}

bool ouro__find_compared(question *q, compared *c) {
    *c = (compared){0};
    if (!ouro__find_common(q, c->metrics)) return false;
    uint32_t own = q->metric;
    for (unsigned i = 0; i < 2; i++) {
        q->metric = c->metrics[i];
        if (!(c->views[i] = ouro__question_view(q, i))) return false;
    }
    q->metric = own;
    return find_totals(q, c);
}

void ouro__release_compared(question *q, compared *c) {
    for (unsigned i = 0; i < 2; i++) {
        if (c->views[i]) ouro__cache_release(q->api->cache, c->views[i]);
    }
}

void ouro__write_sides(question *q, const compared *c, const int64_t left[2]) {
    json_writer *w = &q->json;
    ouro__write_integer(w, "total_before", c->whole[0]);
    ouro__write_integer(w, "total_after", c->whole[1]);
    ouro__write_integer(w, "left_before", left[0]);
    ouro__write_integer(w, "left_after", left[1]);
    ouro__write_slice_counts(q, "slices_before", &q->slices[0]);
    ouro__write_slice_counts(q, "slices_after", &q->slices[1]);
    ouro__write_bool(w, "per_slice", q->versus);
}

// ---------------------------------------------------------------- columns

static const difference *row_of(void *of, uint32_t i) { return &((pair *)of)->comparison.rows[i]; }

static int64_t row_block(void *of, uint32_t i) {
    pair *p = of;
    if (p->place[i] == NO_ROW) {
        p->place[i] = p->named_count;
        p->named[p->named_count++] = i;
    }
    return p->place[i];
}
static const char *row_name(void *of, uint32_t i) { return row_of(of, i)->name; }
static const char *row_file(void *of, uint32_t i) { return row_of(of, i)->file; }
static int64_t row_line(void *of, uint32_t i) { return row_of(of, i)->line; }
static uint32_t block_before(void *of, uint32_t i) {
    return row_of(of, i)->in_before ? row_of(of, i)->block_before : NO_BLOCK;
}
static const char *row_file_before(void *of, uint32_t i) {
    uint32_t b = block_before(of, i);
    const profile *p = ((pair *)of)->sides.views[0]->profile;
    return b == NO_BLOCK ? NULL : ouro__block_file(p, b);
}
static int64_t row_line_before(void *of, uint32_t i) {
    uint32_t b = block_before(of, i);
    const profile *p = ((pair *)of)->sides.views[0]->profile;
    return b == NO_BLOCK ? NOT_KNOWN : p->blocks[b].line;
}
static int64_t row_self_before(void *of, uint32_t i) { return row_of(of, i)->self_before; }
static int64_t row_self_after(void *of, uint32_t i) { return row_of(of, i)->self_after; }
static int64_t row_overall_before(void *of, uint32_t i) { return row_of(of, i)->overall_before; }
static int64_t row_overall_after(void *of, uint32_t i) { return row_of(of, i)->overall_after; }
static const char *row_state(void *of, uint32_t i) { return state_names[state_of(row_of(of, i))]; }
static const char *row_matched(void *of, uint32_t i) { return how_names[row_of(of, i)->how]; }
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
    {"matched", COLUMN_TEXT, IN_JSON | IN_CSV, .text = row_matched},
    {"line", COLUMN_COUNT, IN_CSV, .number = row_line},
    {"file_before", COLUMN_TEXT, IN_JSON, .text = row_file_before},
    {"line_before", COLUMN_COUNT, IN_JSON, .number = row_line_before},
    {"self", COLUMN_VALUE, SORTS, .number = row_self_change},
    {"overall", COLUMN_VALUE, SORTS, .number = row_overall_change},
    {"state", COLUMN_COUNT, SORTS, .number = row_state_number},
    {0},
};

// The usual order, which has no name in the API: the largest changes first, either way.
static const column size_of_change = {"", COLUMN_VALUE, SORTS, .number = row_size_of_change};

// ---------------------------------------------------------------- writing

// The blocks that tell most of the change, whatever the search, the states and the page.
static void write_leading(question *q, pair *p) {
    ouro__write_array(&q->json, "leading");
    for (uint32_t i = 0; i < p->comparison.leading; i++) {
        ouro__write_object(&q->json, NULL);
        ouro__write_integer(&q->json, "block", row_block(p, i));
        ouro__write_integer(&q->json, "change", row_self_change(p, i));
        ouro__write_text(&q->json, "state", row_state(p, i));
        ouro__write_end(&q->json);
    }
    ouro__write_end(&q->json);
    ouro__write_integer(&q->json, "changed", p->comparison.changed);
}

static void write_summary(question *q, pair *p, const uint32_t counts[STATES]) {
    const int64_t left[2] = {p->comparison.total_before, p->comparison.total_after};
    ouro__write_metric(q, "metric", p->sides.views[0]->profile, p->sides.metrics[0],
                       p->sides.decimals);
    ouro__write_integer(&q->json, "total", p->sides.whole[0]);
    ouro__write_integer(&q->json, "left", left[0]);
    ouro__write_sides(q, &p->sides, left);
    ouro__write_object(&q->json, "states");
    for (int s = 0; s < STATES; s++) ouro__write_integer(&q->json, state_names[s], counts[s]);
    ouro__write_end(&q->json);
    write_leading(q, p);
}

static void write_blocks(question *q, pair *p) {
    ouro__write_rows(&q->json, "blocks");
    for (uint32_t i = 0; i < p->named_count; i++) {
        const difference *d = row_of(p, p->named[i]);
        bool after = d->in_after;
        ouro__write_object(&q->json, NULL);
        ouro__write_block_info(q, p->sides.views[after]->side, p->sides.views[after]->profile,
                               after ? d->block_after : d->block_before);
        ouro__write_text(&q->json, "side", after ? "after" : "before");
        ouro__write_end(&q->json);
    }
    ouro__write_end(&q->json);
}

// ---------------------------------------------------------------- the question

static bool states_make_sense(question *q) {
    const request *r = q->request;
    for (size_t i = 0; i < r->count; i++) {
        if (strcmp(r->parameters[i].name, "state") != 0) continue;
        unsigned s = 0;
        while (s < STATES && strcmp(r->parameters[i].value, state_names[s]) != 0) s++;
        if (s == STATES)
            return ouro__refuse(q, 400, "bad-state", "state is slower, faster, same, new or gone");
    }
    return true;
}

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
        bool found = ouro__pattern_matches(what, d->name) || ouro__pattern_matches(what, d->file);
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
               .decimals = p->sides.decimals};
    page rows = {0};
    p->place = malloc(((size_t)count + 1) * sizeof *p->place);
    p->named = malloc(((size_t)count + 1) * sizeof *p->named);
    bool ok = keep && p->place && p->named;
    for (uint32_t i = 0; ok && i < count; i++) p->place[i] = NO_ROW;
    ok = ok && keep_rows(q, p, keep, counts);
    ok = ok && ouro__table_page(q, &t, "", &rows);
    if (ok) {
        if (!q->csv) write_summary(q, p, counts);
        ouro__table_head(q, t.columns);
        ouro__table_rows(q, "rows", &t, rows.rows, rows.count);
        ouro__table_foot(q, rows.kept, rows.offset);
        if (!q->csv) write_blocks(q, p);
    }
    free(keep);
    free(rows.rows);
    return ok;
}

static bool compare(question *q, pair *p) {
    error e = {0};
    measured sides[2];
    for (unsigned i = 0; i < 2; i++) {
        view *v = p->sides.views[i];
        uint32_t m = p->sides.metrics[i];
        sides[i] = (measured){v->profile, m, ouro__view_totals(v, m), ouro__view_present(v)};
        if (!sides[i].totals || !sides[i].present) return false;
    }
    return ouro__compare_measured(&sides[0], &sides[1], &p->comparison, &e) ||
           ouro__refuse_error(q, 500, "too-large", &e);
}

bool ouro__api_compare(question *q) {
    pair p = {0};
    bool ok = states_make_sense(q) && ouro__find_compared(q, &p.sides) && compare(q, &p) &&
              write_comparison(q, &p);
    ouro__comparison_free(&p.comparison);
    free(p.place);
    free(p.named);
    ouro__release_compared(q, &p.sides);
    return ok;
}
