// SPDX-License-Identifier: MIT
//
// Which slices a choice means. The sets of labels that slices have are few; each is judged once.

#include "sqlite.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

static bool room_for_set(chosen *to, int64_t id) {
    if (id < to->count) return true;
    int64_t count = (id + 1) * 2;
    unsigned char *fits = realloc(to->fits, (size_t)count);
    if (fits) to->fits = fits;
    uint32_t *values = to->chart ? realloc(to->values, (size_t)count * sizeof *values) : NULL;
    if (values) to->values = values;
    if (!fits || (to->chart && !values)) return false;
    memset(fits + to->count, 0, (size_t)(count - to->count));
    to->count = count;
    return true;
}

static bool judge(sqlite_store *f, chosen *to, int64_t id, const label_set *l, error *e) {
    enum { BYTES = 2 * (1 + sizeof *to->values) };
    if (!ouro__sqlite_rows(f, id, BYTES, e)) return false;
    if (!room_for_set(to, id)) return ouro__fail_memory(e);
    choice labels = *to->choice;
    labels.since = labels.until = 0;
    to->fits[id] = ouro__choice_holds(&labels, l, 0);
    if (!to->chart || !to->fits[id]) return true;
    const char *value = to->label ? ouro__label_set_get(l, to->label) : NULL;
    return ouro__charting_value(to->chart, value, &to->values[id]) || ouro__fail_memory(e);
}

// Labels come set by set; a set without labels is one row without a name.
bool ouro__sqlite_choose(sqlite_store *f, chosen *to, error *e) {
    sqlite3_stmt *s = ouro__sqlite_prepared(f, LABELS, e);
    label_set l = {0};
    int64_t at = 0;
    bool row, ok = s && ouro__sqlite_next(f, s, &row, e);
    while (ok) {
        int64_t id = row ? sqlite3_column_int64(s, 0) : 0;
        if (at && id != at) {
            ok = judge(f, to, at, &l, e);
            ouro__label_set_free(&l);
        }
        if (!row || !ok) break;
        at = id;
        if (sqlite3_column_type(s, 1) != SQLITE_NULL)
            ok = ouro__label_set_put(&l, ouro__sqlite_text(s, 1), ouro__sqlite_text(s, 2)) ||
                 ouro__fail_memory(e);
        ok = ok && ouro__sqlite_next(f, s, &row, e);
    }
    ouro__label_set_free(&l);
    if (s) sqlite3_reset(s);
    return ok;
}

void ouro__sqlite_chosen_free(chosen *c) {
    free(c->fits);
    free(c->values);
}

bool ouro__sqlite_is_chosen(const chosen *sets, int64_t set) {
    return set >= 0 && set < sets->count && sets->fits[set];
}

sqlite3_stmt *ouro__sqlite_between(sqlite_store *f, sqlite_statement which, const choice *c,
                                   error *e) {
    sqlite3_stmt *s = ouro__sqlite_prepared(f, which, e);
    if (!s) return NULL;
    sqlite3_bind_int64(s, 1, (sqlite3_int64)c->since);
    sqlite3_bind_int64(s, 2, c->until ? (sqlite3_int64)c->until : INT64_MAX);
    return s;
}
