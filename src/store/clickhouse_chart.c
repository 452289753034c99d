// SPDX-License-Identifier: MIT
//
// Charts. The row of a slice knows the sums of its metrics, so samples are not read. Which value of
// the label a set of labels has is judged here; the server gets a table with a number for each set.
// One statement asks for the sums by value and step. If there would be too many of them, the totals
// are asked for first, and then the server adds up the values that have no row of their own.

#include "clickhouse.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUMS_AT_ONCE = 200000 };

typedef struct {
    clickhouse *c;
    const series_question *question;
    charting *to;
    selection s;
    uint32_t *numbers;    // by set: the number of its value of the label
    uint32_t value_count; // of the label
    bool *told;           // by number: it has a total
} charter;

// Sets are no more than their values, so a number is below the number of sets.
static bool number_values(charter *k, error *e) {
    size_t count = k->s.set_count + 1;
    k->numbers = calloc(count, sizeof *k->numbers);
    k->told = calloc(count, sizeof *k->told);
    bool ok = k->numbers && k->told;
    for (size_t i = 0; ok && i < k->s.set_count; i++) {
        const char *label = k->question->label;
        const char *value = label ? ouro__label_set_get(&k->s.sets[i].labels, label) : NULL;
        ok = ouro__charting_value(k->to, value, &k->numbers[i]);
        if (ok && k->numbers[i] >= k->value_count) k->value_count = k->numbers[i] + 1;
    }
    return ok || ouro__fail_memory(e);
}

// Sums by the number of a value, and by step if there are steps.
static bool run_chart(charter *k, bool by_step, http_answer *a, error *e) {
    const series_question *q = k->question;
    statement how = {
        .keys = k->s.keys, .numbers = k->numbers, .key_count = k->s.key_count, .skip = k->s.skip};
    return ouro__clickhouse_runf(
        k->c, how, a, e,
        "SELECT n, toUInt64(step) AS at, sum(value), sum(toFloat64(value)) FROM"
        " (SELECT labels AS k, %d * intDiv(last - 1 - toUInt64(%llu), toUInt64(%llu)) AS step,"
        " value FROM (%s)) AS steps ALL INNER JOIN (SELECT k, n FROM keys) AS numbers USING k"
        " GROUP BY n, at FORMAT RowBinary",
        by_step, (unsigned long long)q->from, (unsigned long long)q->step, k->s.slices);
}

static bool take_row(charter *k, bool total, row_reader *r, error *e) {
    uint32_t number = ouro__binary_get_u32(r);
    uint64_t step = ouro__binary_get_u64(r);
    int64_t sum = (int64_t)ouro__binary_get_u64(r);
    double about = ouro__binary_get_double(r);
    if (r->damaged || number >= k->s.set_count) return ouro__clickhouse_damaged(e);
    if (!(fabs(about) < 9.2e18)) return ouro__fail(e, EOVERFLOW, "the sum needs more than 63 bits");
    if (!total) return ouro__charting_add(k->to, number, step, sum, e);
    k->told[number] = true;
    return ouro__charting_total(k->to, number, sum, e);
}

static bool take_rows(charter *k, const http_answer *a, bool total, error *e) {
    row_reader r = ouro__binary_of(a);
    bool ok = true;
    while (ok && ouro__binary_left(&r)) ok = take_row(k, total, &r, e);
    return ok;
}

// For the second pass: values without a row have the number of one of them, and values whose first
// slice came after the first pass are left out.
static void number_rows(charter *k) {
    uint32_t other = NO_ROW;
    size_t kept = 0;
    for (size_t i = 0; i < k->s.set_count; i++) {
        uint32_t number = k->numbers[i];
        if (!k->told[number]) continue;
        if (!ouro__charting_has_row(k->to, number)) {
            if (other == NO_ROW) other = number;
            number = other;
        }
        k->s.keys[kept] = k->s.keys[i];
        k->numbers[kept++] = number;
    }
    k->s.key_count = kept;
}

static bool chart_at_once(charter *k, error *e) {
    http_answer a;
    if (!run_chart(k, true, &a, e)) return false;
    bool ok =
        take_rows(k, &a, true, e) && ouro__charting_rank(k->to, e) && take_rows(k, &a, false, e);
    ouro__http_answer_free(&a);
    return ok;
}

static bool chart_in_two_passes(charter *k, error *e) {
    http_answer a;
    if (!run_chart(k, false, &a, e)) return false;
    bool ok = take_rows(k, &a, true, e) && ouro__charting_rank(k->to, e);
    ouro__http_answer_free(&a);
    if (!ok) return false;
    number_rows(k);
    if (!run_chart(k, true, &a, e)) return false;
    ok = take_rows(k, &a, false, e);
    ouro__http_answer_free(&a);
    return ok;
}

static bool make_chart(charter *k, error *e) {
    if (!number_values(k, e)) return false;
    bool few = (uint64_t)k->value_count * k->question->steps <= SUMS_AT_ONCE;
    return few ? chart_at_once(k, e) : chart_in_two_passes(k, e);
}

static bool try_chart(clickhouse *c, const choice *of, const series_question *q, bool skip,
                      charting *to, error *e) {
    choice narrow = ouro__series_within(of, q);
    charter k = {.c = c, .question = q, .to = to};
    const store_metric *m = q->metric;
    unsigned long long id = ouro__short_id(ouro__metric_key(m->name, m->unit, m->decimals));
    char sum[160];
    snprintf(sum, sizeof sum,
             "if(has(metrics, toUInt64(%llu)), totals[indexOf(metrics, toUInt64(%llu))],"
             " toInt64(0))",
             id, id);
    if (!ouro__select(c, &narrow, sum, true, skip, &k.s, e)) return false;
    bool ok = make_chart(&k, e);
    ouro__selection_free(&k.s);
    free(k.numbers);
    free(k.told);
    return ok;
}

// Whether all shards answer is asked first, because a chart cannot be begun twice.
bool ouro__clickhouse_series(void *opened, const choice *of, const series_question *q, charting *to,
                             error *e) {
    error first = {0};
    char *missing = ouro__clickhouse_missing(opened, &first);
    bool ok = !first.code;
    if (ok && missing && of->strict)
        ok = ouro__fail(&first, EHOSTUNREACH, "%s, and --strict wants all", missing);
    ok = ok && try_chart(opened, of, q, missing != NULL, to, &first);
    if (ok && missing) ok = ouro__charting_missing(to, missing) || ouro__fail_memory(&first);
    free(missing);
    if (!ok && e) *e = first;
    return ok;
}
