// SPDX-License-Identifier: MIT
//
// Two files compared by block. Filters are applied to both sides before; a block that only one of
// them has is no mistake there.

#include "api.h"

#include "format.h"

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

// ---------------------------------------------------------------- rows

static int64_t key_of(const difference *d, const char *column) {
    int64_t self = d->self_after - d->self_before;
    if (strcmp(column, "self") == 0) return self;
    if (strcmp(column, "overall") == 0) return d->overall_after - d->overall_before;
    if (strcmp(column, "self_before") == 0) return d->self_before;
    if (strcmp(column, "self_after") == 0) return d->self_after;
    if (strcmp(column, "overall_before") == 0) return d->overall_before;
    if (strcmp(column, "overall_after") == 0) return d->overall_after;
    if (strcmp(column, "state") == 0) return state_of(d);
    return self < 0 ? -self : self; // not asked: the largest change either way
}

static int by_name(const void *a, const void *b, void *user) {
    const difference *rows = user, *x = &rows[*(const uint32_t *)a],
                     *y = &rows[*(const uint32_t *)b];
    int way = strcmp(x->name, y->name);
    return way ? way : strcmp(x->file, y->file);
}

static bool make_keys(const comparison *c, const char *column, int64_t *keys) {
    for (uint32_t i = 0; i < c->count; i++) keys[i] = key_of(&c->rows[i], column);
    if (strcmp(column, "name") != 0) return true;
    uint32_t *sorted = malloc(((size_t)c->count + 1) * sizeof *sorted);
    if (!sorted) return false;
    for (uint32_t i = 0; i < c->count; i++) sorted[i] = i;
    qsort_r(sorted, c->count, sizeof *sorted, by_name, c->rows);
    for (uint32_t i = 0; i < c->count; i++) keys[sorted[i]] = i;
    free(sorted);
    return true;
}

static const char *file_of(const pair *p, const difference *d) {
    bool after = d->block_after != NO_BLOCK;
    uint32_t b = after ? d->block_after : d->block_before;
    return b == NO_BLOCK ? d->file : ouro__block_file(p->views[after]->profile, b);
}

static void put_difference(question *q, const pair *p, const difference *d, uint32_t place) {
    bool known = d->block_after != NO_BLOCK || d->block_before != NO_BLOCK;
    if (known) ouro__print(q->out, "{\"block\":%u", place);
    if (!known) ouro__put_text(q->out, "{\"block\":null");
    ouro__put_text_member(q, "name", d->name);
    ouro__put_text_member(q, "file", file_of(p, d));
    ouro__put_member(q, "self_before", d->self_before);
    ouro__put_member(q, "self_after", d->self_after);
    ouro__put_member(q, "overall_before", d->overall_before);
    ouro__put_member(q, "overall_after", d->overall_after);
    ouro__put_text_member(q, "state", state_names[state_of(d)]);
    ouro__put_text(q->out, "}");
}

static void csv_difference(question *q, const pair *p, const difference *d) {
    const int64_t values[] = {d->self_before, d->self_after, d->overall_before, d->overall_after};
    char number[48];
    ouro__put_csv(q->out, d->name);
    ouro__put_text(q->out, ",");
    ouro__put_csv(q->out, file_of(p, d));
    for (size_t i = 0; i < 4; i++)
        ouro__print(q->out, ",%s", ouro__decimal(number, values[i], p->decimals));
    ouro__print(q->out, ",%s\n", state_names[state_of(d)]);
}

static void put_block_info(question *q, const pair *p, const difference *d) {
    bool after = d->block_after != NO_BLOCK;
    uint32_t b = after ? d->block_after : d->block_before;
    const profile *of = p->views[after]->profile;
    char *label = ouro__view_label(q->generation->sides[after], of, b);
    ouro__put_text(q->out, "{\"label\":");
    ouro__put_json(q->out, label ? label : "");
    ouro__put_text_member(q, "name", ouro__block_name(of, b));
    ouro__put_text_member(q, "file", ouro__block_file(of, b));
    ouro__put_member(q, "line", of->blocks[b].line);
    ouro__put_member(q, "column", of->blocks[b].column);
    ouro__print(q->out, ",\"mark\":null,\"side\":\"%s\"}", after ? "after" : "before");
    free(label);
}

static void put_rows(question *q, const pair *p, const uint32_t *order, uint32_t rows,
                     uint32_t count, uint32_t offset) {
    uint32_t place = 0;
    if (q->csv)
        ouro__put_text(q->out,
                       "name,file,self_before,self_after,overall_before,overall_after,state\n");
    if (!q->csv) ouro__put_rows_open(q);
    for (uint32_t i = 0; i < rows; i++) {
        const difference *d = &p->comparison.rows[order[i]];
        if (q->csv) {
            csv_difference(q, p, d);
            continue;
        }
        if (i) ouro__put_text(q->out, ",\n");
        put_difference(q, p, d, place);
        place += d->block_after != NO_BLOCK || d->block_before != NO_BLOCK;
    }
    if (q->csv) return;
    ouro__put_rows_close(q, count, offset);
    ouro__put_text(q->out, ",\"blocks\":[");
    for (uint32_t i = 0, shown = 0; i < rows; i++) {
        const difference *d = &p->comparison.rows[order[i]];
        if (d->block_after == NO_BLOCK && d->block_before == NO_BLOCK) continue;
        if (shown++) ouro__put_text(q->out, ",\n");
        put_block_info(q, p, d);
    }
    ouro__put_text(q->out, "]");
}

// ---------------------------------------------------------------- the question

static void put_summary(question *q, const pair *p, const uint32_t counts[STATES]) {
    const profile *before = p->views[0]->profile;
    ouro__put_text_member(q, "metric", ouro__metric_name(before, p->metrics[0]));
    ouro__put_text_member(q, "unit", ouro__metric_unit(before, p->metrics[0]));
    ouro__put_member(q, "decimals", p->decimals);
    ouro__put_member(q, "total", p->whole[0]);
    ouro__put_member(q, "left", p->comparison.total_before);
    ouro__put_member(q, "total_before", p->whole[0]);
    ouro__put_member(q, "total_after", p->whole[1]);
    ouro__put_member(q, "left_before", p->comparison.total_before);
    ouro__put_member(q, "left_after", p->comparison.total_after);
    ouro__put_text(q->out, ",\"states\":{");
    for (int s = 0; s < STATES; s++)
        ouro__print(q->out, "%s\"%s\":%u", s ? "," : "", state_names[s], counts[s]);
    ouro__put_text(q->out, "}");
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
static uint32_t keep_rows(const question *q, const pair *p, uint8_t *keep,
                          uint32_t counts[STATES]) {
    const char *search = ouro__request_value(q->request, "search");
    uint32_t kept = 0;
    for (uint32_t i = 0; i < p->comparison.count; i++) {
        const difference *d = &p->comparison.rows[i];
        bool found =
            !search || ouro__contains(d->name, search) || ouro__contains(file_of(p, d), search);
        if (found) counts[state_of(d)]++;
        keep[i] = found && state_is_wanted(q->request, state_of(d));
        kept += keep[i];
    }
    return kept;
}

static bool put_comparison(question *q, pair *p, const paging *page) {
    const comparison *c = &p->comparison;
    uint32_t counts[STATES] = {0};
    int64_t *keys = malloc(((size_t)c->count + 1) * sizeof *keys);
    uint8_t *keep = malloc((size_t)c->count + 1);
    bool ok = keys && keep &&
              make_keys(c, ouro__request_value(q->request, "sort") ? page->column : "", keys);
    uint32_t rows, kept = 0, *order = NULL;
    if (ok) kept = keep_rows(q, p, keep, counts);
    ok = ok && (order = ouro__question_page(q, keys, c->count, keep, page, &rows));
    if (ok && !q->csv) put_summary(q, p, counts);
    if (ok) put_rows(q, p, order, rows, kept, page->offset);
    free(keys);
    free(keep);
    free(order);
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
    filter none = {0};
    error e;
    if (!find_metrics(q, p->metrics)) return false;
    for (unsigned i = 0; i < 2; i++) {
        if (!(p->views[i] = ouro__question_view(q, i))) return false;
        view *all = ouro__cache_view(q->api->cache, q->generation, i, &none, false, &e);
        const totals *t = all ? ouro__view_totals(all, p->metrics[i]) : NULL;
        if (t) p->whole[i] = t->total;
        if (all) ouro__cache_release(q->api->cache, all);
        if (!t) return ouro__refuse_memory(q);
    }
    return true;
}

bool ouro__api_compare(question *q) {
    paging page;
    pair p = {0};
    if (q->generation->side_count != 2)
        return ouro__refuse(q, 404, "no-comparison", "only one file is open");
    if (!ouro__question_paging(q,
                               "self overall name self_before self_after overall_before "
                               "overall_after state ",
                               "", &page))
        return false;
    bool ok = find_pair(q, &p) && ouro__compare(p.views[0]->profile, p.metrics[0],
                                                p.views[1]->profile, p.metrics[1], &p.comparison);
    if (ok && !same_decimals(&p))
        ok = ouro__refuse(q, 500, "too-large", "the values do not fit with the decimals of both");
    ok = ok && put_comparison(q, &p, &page);
    ouro__comparison_free(&p.comparison);
    for (unsigned i = 0; i < 2; i++) {
        if (p.views[i]) ouro__cache_release(q->api->cache, p.views[i]);
    }
    return ok;
}
