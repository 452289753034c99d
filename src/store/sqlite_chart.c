// SPDX-License-Identifier: MIT
//
// Charts: the sum of each slice, added to its step.

#include "sqlite.h"

#include "packed.h"

#include <sqlite3.h>

typedef struct {
    sqlite_store *f;
    const series_question *question;
    int64_t metric;
    chosen sets;
    bool by_step; // the second pass
} charter;

static bool slice_sum(charter *c, int64_t id, int64_t *sum, error *e) {
    sqlite3_stmt *s = ouro__sqlite_prepared(c->f, METRIC_OF, e);
    bool row;
    *sum = 0;
    if (!s) return false;
    sqlite3_bind_int64(s, 1, id);
    sqlite3_bind_int64(s, 2, c->metric);
    bool ok = ouro__sqlite_next(c->f, s, &row, e);
    if (ok && row)
        ok =
            ouro__packed_sum(sqlite3_column_blob(s, 0), (size_t)sqlite3_column_bytes(s, 0), sum, e);
    sqlite3_reset(s);
    return ok;
}

static bool chart_slice(charter *c, int64_t id, int64_t set, uint64_t ended, error *e) {
    const series_question *q = c->question;
    int64_t sum;
    if (ended <= q->from || !ouro__sqlite_is_chosen(&c->sets, set)) return true;
    uint64_t step = (ended - q->from - 1) / q->step;
    if (step >= q->steps) return true;
    if (!slice_sum(c, id, &sum, e)) return false;
    uint32_t value = c->sets.values[set];
    return c->by_step ? ouro__charting_add(c->sets.chart, value, step, sum, e)
                      : ouro__charting_total(c->sets.chart, value, sum, e);
}

// Only what is in the chart is read.
static bool chart_slices(charter *c, error *e) {
    choice within = ouro__series_within(c->sets.choice, c->question);
    sqlite3_stmt *s = ouro__sqlite_between(c->f, SLICES_BETWEEN, &within, e);
    bool row, ok = s && ouro__sqlite_next(c->f, s, &row, e);
    for (; ok && row; ok = ok && ouro__sqlite_next(c->f, s, &row, e))
        ok = chart_slice(c, sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1),
                         (uint64_t)sqlite3_column_int64(s, 2), e);
    if (s) sqlite3_reset(s);
    return ok;
}

static bool find_metric(charter *c, error *e) {
    const store_metric *m = c->question->metric;
    sqlite3_stmt *s = ouro__sqlite_prepared(c->f, FIND_METRIC, e);
    if (!s) return false;
    ouro__sqlite_bind_text(s, 1, m->name);
    ouro__sqlite_bind_text(s, 2, m->unit);
    sqlite3_bind_int64(s, 3, m->decimals);
    return ouro__sqlite_find(c->f, s, &c->metric, e);
}

bool ouro__sqlite_series(void *opened, const choice *of, const series_question *q, charting *to,
                         error *e) {
    sqlite_store *f = opened;
    charter c = {.f = f, .question = q, .sets = {.choice = of, .chart = to, .label = q->label}};
    if (!ouro__sqlite_execute(f, "BEGIN", e)) return false;
    bool ok = find_metric(&c, e) && ouro__sqlite_choose(f, &c.sets, e) && chart_slices(&c, e) &&
              ouro__charting_rank(to, e);
    c.by_step = true;
    ok = ok && chart_slices(&c, e);
    ouro__sqlite_chosen_free(&c.sets);
    ouro__sqlite_execute(f, "COMMIT", NULL);
    return ok;
}
