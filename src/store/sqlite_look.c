// SPDX-License-Identifier: MIT
//
// What a store has: what can be chosen, and counts.

#include "sqlite.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------- what can be chosen

// *counts: how many slices of the choice have a label set, by its number.
static bool count_slices(sqlite_store *f, const chosen *sets, uint64_t *counts, offering *to,
                         error *e) {
    sqlite3_stmt *s = ouro__sqlite_between(f, COUNTS_BETWEEN, sets->choice, e);
    bool row, ok = s && ouro__sqlite_next(f, s, &row, e);
    for (; ok && row; ok = ouro__sqlite_next(f, s, &row, e)) {
        int64_t set = sqlite3_column_int64(s, 0);
        if (!ouro__sqlite_is_chosen(sets, set)) continue;
        counts[set] = (uint64_t)sqlite3_column_int64(s, 1);
        ouro__offering_slices(to, counts[set], (uint64_t)sqlite3_column_int64(s, 2),
                              (uint64_t)sqlite3_column_int64(s, 3));
    }
    return ok;
}

static bool offer_labels(sqlite_store *f, const chosen *sets, const uint64_t *counts, offering *to,
                         error *e) {
    sqlite3_stmt *s = ouro__sqlite_prepared(f, LABELS, e);
    bool row, ok = s && ouro__sqlite_next(f, s, &row, e);
    for (; ok && row; ok = ok && ouro__sqlite_next(f, s, &row, e)) {
        int64_t set = sqlite3_column_int64(s, 0);
        if (!ouro__sqlite_is_chosen(sets, set) || !counts[set]) continue;
        if (sqlite3_column_type(s, 1) == SQLITE_NULL) continue;
        ok = ouro__offering_label(to, ouro__sqlite_text(s, 1), ouro__sqlite_text(s, 2),
                                  counts[set]) ||
             ouro__fail_memory(e);
    }
    if (s) sqlite3_reset(s);
    return ok;
}

bool ouro__sqlite_metrics(void *opened, offering *to, error *e) {
    sqlite_store *f = opened;
    sqlite3_stmt *s = ouro__sqlite_prepared(f, METRICS, e);
    bool row, ok = s && ouro__sqlite_next(f, s, &row, e);
    for (; ok && row; ok = ok && ouro__sqlite_next(f, s, &row, e))
        ok = ouro__offering_metric(to, ouro__sqlite_text(s, 1), ouro__sqlite_text(s, 2),
                                   (uint32_t)sqlite3_column_int64(s, 3)) ||
             ouro__fail_memory(e);
    if (s) sqlite3_reset(s);
    return ok;
}

bool ouro__sqlite_offer(void *opened, const choice *c, offering *to, error *e) {
    sqlite_store *f = opened;
    chosen sets = {.choice = c};
    uint64_t *counts = NULL;
    if (!ouro__sqlite_execute(f, "BEGIN", e)) return false;
    bool ok = ouro__sqlite_choose(f, &sets, e);
    if (ok && !(counts = calloc((size_t)sets.count + 1, sizeof *counts))) ok = ouro__fail_memory(e);
    ok = ok && count_slices(f, &sets, counts, to, e) && offer_labels(f, &sets, counts, to, e);
    free(counts);
    ouro__sqlite_chosen_free(&sets);
    ouro__sqlite_execute(f, "COMMIT", NULL);
    return ok;
}

// ---------------------------------------------------------------- counts

static bool list_label(store_summary *to, sqlite3_stmt *s, error *e) {
    label_count *labels = realloc(to->labels, (to->label_count + 1) * sizeof *labels);
    if (!labels) return ouro__fail_memory(e);
    to->labels = labels;
    label_count *l = &labels[to->label_count];
    *l = (label_count){strdup(ouro__sqlite_text(s, 0)), strdup(ouro__sqlite_text(s, 1)),
                       (uint64_t)sqlite3_column_int64(s, 2)};
    to->label_count++;
    return (l->name && l->value) || ouro__fail_memory(e);
}

static bool list_labels(sqlite_store *f, store_summary *to, error *e) {
    sqlite3_stmt *s = ouro__sqlite_prepared(f, LABEL_COUNTS, e);
    size_t of_name = 0;
    bool row, ok = s && ouro__sqlite_next(f, s, &row, e);
    for (; ok && row; ok = ok && ouro__sqlite_next(f, s, &row, e)) {
        const label_count *last = to->label_count ? &to->labels[to->label_count - 1] : NULL;
        of_name = last && strcmp(last->name, ouro__sqlite_text(s, 0)) == 0 ? of_name + 1 : 1;
        if (of_name <= LABELS_LISTED) ok = list_label(to, s, e);
    }
    if (s) sqlite3_reset(s);
    return ok;
}

// A file is there as a whole.
bool ouro__sqlite_summary(void *opened, bool strict, store_summary *to, error *e) {
    (void)strict;
    sqlite_store *f = opened;
    int64_t values;
    sqlite3_stmt *s = ouro__sqlite_prepared(f, COUNTS, e);
    bool row;
    if (!s || !ouro__sqlite_next(f, s, &row, e)) return false;
    uint64_t *fields[] = {&to->recordings, &to->slices, &to->rows,  &to->paths,
                          &to->blocks,     &to->from,   &to->until, &to->bytes};
    for (int i = 0; i < 8; i++) *fields[i] = (uint64_t)sqlite3_column_int64(s, i);
    sqlite3_reset(s);
    if (!ouro__sqlite_find(f, ouro__sqlite_prepared(f, LABEL_VALUES, e), &values, e)) return false;
    to->label_values = (uint64_t)values;
    return list_labels(f, to, e);
}
