// SPDX-License-Identifier: MIT
//
// Forgetting what is old. Of recordings that go on, the sum of what goes is kept: who follows one
// asks for its whole sum.

#include "sqlite.h"

#include "packed.h"

#include <sqlite3.h>
#include <stdlib.h>

static bool drop(sqlite_store *f, sqlite_statement s, uint64_t since, error *e) {
    sqlite3_stmt *p = ouro__sqlite_prepared(f, s, e);
    if (!p) return false;
    sqlite3_bind_int64(p, 1, (sqlite3_int64)since);
    return ouro__sqlite_run(f, p, e);
}

// The keys or numbers of a statement's rows, in a list that the caller frees.
static bool list_keys(sqlite_store *f, sqlite3_stmt *s, key **list, size_t *count, error *e) {
    size_t room = 0;
    bool row, ok = s && ouro__sqlite_next(f, s, &row, e);
    for (; ok && row; ok = ok && ouro__sqlite_next(f, s, &row, e)) {
        if (*count == room) {
            room = room ? room * 2 : 64;
            key *more = realloc(*list, room * sizeof **list);
            if (!more) return ouro__fail_memory(e);
            *list = more;
        }
        if (ouro__sqlite_key(s, 0, &(*list)[*count])) ++*count;
    }
    return ok;
}

static bool list_metrics(sqlite_store *f, const key *recording, uint64_t since, int64_t *list,
                         size_t *count, error *e) {
    sqlite3_stmt *s = ouro__sqlite_prepared(f, CUT_METRICS, e);
    if (!s) return false;
    sqlite3_bind_int64(s, 1, (sqlite3_int64)since);
    ouro__sqlite_bind_key(s, 2, recording);
    bool row, ok = ouro__sqlite_next(f, s, &row, e);
    for (; ok && row && *count < METRICS_MAX; ok = ouro__sqlite_next(f, s, &row, e))
        list[(*count)++] = sqlite3_column_int64(s, 0);
    sqlite3_reset(s);
    return ok;
}

static bool sum_cut(sqlite_store *f, const key *recording, uint64_t since, int64_t of, sums *to,
                    error *e) {
    sqlite3_stmt *s = ouro__sqlite_prepared(f, CUT_SAMPLES, e);
    if (!s) return false;
    sqlite3_bind_int64(s, 1, (sqlite3_int64)since);
    ouro__sqlite_bind_key(s, 2, recording);
    sqlite3_bind_int64(s, 3, of);
    bool row, ok = ouro__sqlite_next(f, s, &row, e);
    for (; ok && row; ok = ok && ouro__sqlite_next(f, s, &row, e))
        ok =
            ouro__sums_add(to, 0, sqlite3_column_blob(s, 0), (size_t)sqlite3_column_bytes(s, 0), e);
    sqlite3_reset(s);
    return ok;
}

static bool put_forgotten(sqlite_store *f, const key *recording, int64_t of, const packed *p,
                          error *e) {
    sqlite3_stmt *s = ouro__sqlite_prepared(f, FORGET, e);
    if (!s) return false;
    ouro__sqlite_bind_key(s, 1, recording);
    sqlite3_bind_int64(s, 2, of);
    sqlite3_bind_blob64(s, 3, p->bytes ? p->bytes : (const unsigned char *)"", p->used,
                        SQLITE_STATIC);
    return ouro__sqlite_run(f, s, e);
}

// Keeps the sum of what goes of one metric of a recording.
static bool forget_metric(sqlite_store *f, const key *recording, uint64_t since, int64_t of,
                          int64_t nodes, error *e) {
    sums all;
    packed p = {0};
    bool ok = ouro__sums_init(&all, nodes, 1) || ouro__fail_memory(e);
    ok = ok && sum_cut(f, recording, since, of, &all, e) && ouro__sums_pack(&all, 0, &p, e) &&
         put_forgotten(f, recording, of, &p, e);
    ouro__sums_free(&all);
    free(p.bytes);
    return ok;
}

static bool forget_recording(sqlite_store *f, const key *recording, uint64_t since, int64_t nodes,
                             error *e) {
    int64_t metrics[METRICS_MAX];
    size_t count = 0;
    bool ok = list_metrics(f, recording, since, metrics, &count, e);
    for (size_t i = 0; ok && i < count; i++)
        ok = forget_metric(f, recording, since, metrics[i], nodes, e);
    return ok;
}

// Recordings that go on lose some of their slices, and keep the sum of these.
static bool forget_parts(sqlite_store *f, uint64_t since, error *e) {
    key *list = NULL;
    size_t count = 0;
    int64_t last;
    sqlite3_stmt *s = ouro__sqlite_prepared(f, CUT_RECORDINGS, e);
    if (s) sqlite3_bind_int64(s, 1, (sqlite3_int64)since);
    bool ok = s && list_keys(f, s, &list, &count, e) &&
              ouro__sqlite_find(f, ouro__sqlite_prepared(f, LAST_NODE, e), &last, e) &&
              ouro__sqlite_rows(f, last, 2 * sizeof(int64_t), e);
    for (size_t i = 0; ok && i < count; i++) ok = forget_recording(f, &list[i], since, last + 1, e);
    free(list);
    return ok;
}

// Nodes and blocks stay: they are few, and the next slices have the same.
bool ouro__sqlite_keep(void *opened, uint64_t since, uint64_t *slices, error *e) {
    sqlite_store *f = opened;
    if (!ouro__sqlite_run_alone(f, BEGIN, e)) return false;
    bool ok = ouro__sqlite_make_forgotten(f, e) && forget_parts(f, since, e) &&
              drop(f, DROP_SAMPLES, since, e) && drop(f, DROP_SLICES, since, e);
    *slices = ok ? (uint64_t)sqlite3_changes64(f->db) : 0;
    ok = ok && ouro__sqlite_run_alone(f, DROP_FORGOTTEN, e) && ouro__sqlite_run_alone(f, COMMIT, e);
    if (!ok) ouro__sqlite_run_alone(f, ROLLBACK, NULL);
    return ok;
}
