// SPDX-License-Identifier: MIT
//
// Charts: an engine tells sums, here they get their rows. A label may have more values than a chart
// can show, so the totals of all come first. Then the largest values have a row each, and one row
// more takes all others: memory for steps is that of the rows, however many values there are.

#include "engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    char *text; // NULL: slices without the label
    int64_t total;
    uint32_t row; // in the answer, when they are ranked; NO_ROW: with the others
    bool told;    // it has a total
} chart_value;

struct charting {
    const series_question *question;
    series *to;
    chart_value *values;
    uint32_t value_count, value_room;
    lookup lookup; // of values, by text
};

choice ouro__series_within(const choice *of, const series_question *q) {
    choice c = *of;
    uint64_t end;
    if (__builtin_mul_overflow(q->step, q->steps, &end) ||
        __builtin_add_overflow(end, q->from, &end) || end > INT64_MAX)
        end = INT64_MAX;
    if (c.since < q->from) c.since = q->from;
    if (!c.until || c.until > end) c.until = end;
    return c;
}

// A text and the lack of one differ.
static bool same_text(const char *a, const char *b) { return a && b ? strcmp(a, b) == 0 : a == b; }

static uint32_t hash_of(const char *text) {
    return text ? ouro__hash_bytes(text, strlen(text)) : 0;
}

static bool add_value(charting *c, const char *text) {
    if (c->value_count == c->value_room) {
        uint32_t room = c->value_room * 2 + 16;
        chart_value *values = realloc(c->values, room * sizeof *values);
        if (!values) return false;
        c->values = values;
        c->value_room = room;
    }
    char *copy = text ? strdup(text) : NULL;
    if (text && !copy) return false;
    c->values[c->value_count++] = (chart_value){.text = copy, .row = NO_ROW};
    return ouro__lookup_add(&c->lookup, hash_of(text), c->value_count - 1);
}

bool ouro__charting_value(charting *c, const char *text, uint32_t *number) {
    uint32_t row, hash = hash_of(text);
    for (uint64_t i = ouro__lookup_first(&c->lookup, hash);
         (row = ouro__lookup_next(&c->lookup, hash, &i)) != NO_ROW;) {
        if (!same_text(c->values[row].text, text)) continue;
        *number = row;
        return true;
    }
    *number = c->value_count;
    return add_value(c, text);
}

static bool add_to(int64_t *sum, int64_t value, error *e) {
    return !__builtin_add_overflow(*sum, value, sum) ||
           ouro__fail(e, EOVERFLOW, "the sum needs more than 63 bits");
}

static bool fail_value(error *e) {
    return ouro__fail(e, EILSEQ, "the store is damaged: a sum of a value that is not there");
}

bool ouro__charting_total(charting *c, uint32_t number, int64_t sum, error *e) {
    if (number >= c->value_count) return fail_value(e);
    c->values[number].told = true;
    return add_to(&c->values[number].total, sum, e);
}

// ---------------------------------------------------------------- rows

static double size_of(int64_t total) { return total < 0 ? -(double)total : (double)total; }

static int by_size(const void *a, const void *b) {
    const chart_value *x = *(chart_value *const *)a, *y = *(chart_value *const *)b;
    double by = size_of(y->total) - size_of(x->total);
    if (by != 0) return by > 0 ? 1 : -1;
    if (!x->text || !y->text) return x->text ? 1 : -1;
    return strcmp(x->text, y->text);
}

static bool start_row(const charting *c, series_row *row, const char *text, int64_t total) {
    *row = (series_row){.value = text ? strdup(text) : NULL,
                        .total = total,
                        .sums = calloc(c->question->steps, sizeof *row->sums)};
    return row->sums && (row->value || !text);
}

static bool start_rows(charting *c, chart_value **sorted, uint32_t count, error *e) {
    series *to = c->to;
    uint32_t most = c->question->most < count ? c->question->most : count;
    to->rows = calloc((size_t)most + 1, sizeof *to->rows);
    if (!to->rows) return ouro__fail_memory(e);
    for (; to->row_count < most; to->row_count++) {
        chart_value *v = sorted[to->row_count];
        v->row = to->row_count;
        if (!start_row(c, &to->rows[v->row], v->text, v->total)) {
            to->row_count++;
            return ouro__fail_memory(e);
        }
    }
    to->others = count - most;
    if (to->others && !start_row(c, &to->other, NULL, 0)) return ouro__fail_memory(e);
    for (uint32_t i = most; i < count; i++) {
        if (!add_to(&to->other.total, sorted[i]->total, e)) return false;
    }
    return true;
}

bool ouro__charting_rank(charting *c, error *e) {
    chart_value **sorted = malloc(((size_t)c->value_count + 1) * sizeof *sorted);
    if (!sorted) return ouro__fail_memory(e);
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->value_count; i++) {
        if (c->values[i].told) sorted[count++] = &c->values[i];
    }
    qsort(sorted, count, sizeof *sorted, by_size);
    bool ok = start_rows(c, sorted, count, e);
    free(sorted);
    return ok;
}

bool ouro__charting_has_row(const charting *c, uint32_t number) {
    return c->values[number].row != NO_ROW;
}

bool ouro__charting_add(charting *c, uint32_t number, uint64_t step, int64_t sum, error *e) {
    if (number >= c->value_count || !c->values[number].told) return fail_value(e);
    uint32_t row = c->values[number].row;
    int64_t *sums = row == NO_ROW ? c->to->other.sums : c->to->rows[row].sums;
    return step >= c->question->steps || add_to(&sums[step], sum, e);
}

bool ouro__charting_missing(charting *c, const char *words) {
    free(c->to->missing);
    return (c->to->missing = strdup(words)) != NULL;
}

// ---------------------------------------------------------------- the whole

bool ouro__series_make(const engine *how, void *opened, const choice *c, const series_question *q,
                       series *to, error *e) {
    charting chart = {.question = q, .to = to};
    *to = (series){.steps = q->steps};
    bool ok = how->series(opened, c, q, &chart, e);
    for (uint32_t i = 0; i < chart.value_count; i++) free(chart.values[i].text);
    free(chart.values);
    ouro__lookup_free(&chart.lookup);
    if (!ok) ouro__series_free(to);
    return ok;
}

void ouro__series_free(series *s) {
    for (uint32_t i = 0; i < s->row_count; i++) {
        free(s->rows[i].value);
        free(s->rows[i].sums);
    }
    free(s->rows);
    free(s->other.sums);
    free(s->missing);
    *s = (series){0};
}
