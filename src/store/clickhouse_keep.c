// SPDX-License-Identifier: MIT
//
// Forgetting what is old. Days are partitions, which are dropped whole at no cost; what is left of
// the day at the edge is deleted, which the server does by rewriting that day. Slices go before
// their samples: a sample without a slice does not count. Every shard is told by itself. Before
// that the sums of recordings that go on are remembered, see clickhouse_forget.c.

#include "clickhouse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { HOURS_OF_DAY = 24, PAUSES_MOST = 100 };

typedef struct {
    clickhouse *c;
    unsigned long long since, edge_hour, edge_day;
    remembered sums;
} forgetting;

static bool count_old(const forgetting *f, uint64_t *slices, error *e) {
    return ouro__clickhouse_number(
        f->c, (statement){0}, slices, e,
        "SELECT count() FROM (SELECT argMin(ended, slice) AS last FROM ouro_slices%s"
        " WHERE hour <= %llu GROUP BY recording, number) WHERE last < %llu FORMAT RowBinary",
        ouro__clickhouse_suffix(f->c), f->edge_hour + HOURS_OF_DAY, f->since);
}

static bool drop_partition(const forgetting *f, const char *table, const char *name, error *e) {
    http_answer a;
    if (name[strspn(name, "0123456789")] || !*name) return ouro__clickhouse_damaged(e);
    if (!ouro__clickhouse_runf(f->c, (statement){.this_host = true}, &a, e,
                               "ALTER TABLE ouro_%s DROP PARTITION %s", table, name))
        return false;
    ouro__http_answer_free(&a);
    return true;
}

// Those below a number, and those of a list. "0" is a list of none.
static bool drop_partitions(const forgetting *f, const char *table, uint64_t below,
                            const char *list, error *e) {
    http_answer a;
    bool ok = ouro__clickhouse_runf(
        f->c, (statement){.this_host = true}, &a, e,
        "SELECT DISTINCT partition FROM system.parts WHERE active AND database = '%s'"
        " AND table = 'ouro_%s' AND (toUInt64OrZero(partition) < %llu"
        " OR toUInt64OrZero(partition) IN (%s)) FORMAT RowBinary",
        f->c->url.database, table, (unsigned long long)below, list);
    if (!ok) return false;
    row_reader r = ouro__binary_of(&a);
    while (ok && ouro__binary_left(&r)) {
        char *name = ouro__binary_get_text(&r);
        ok = name ? drop_partition(f, table, name, e) : ouro__clickhouse_damaged(e);
        free(name);
    }
    ouro__http_answer_free(&a);
    return ok;
}

static bool drop_days(const forgetting *f, const char *table, error *e) {
    return drop_partitions(f, table, f->edge_day, "0", e);
}

static bool drop_sums(const forgetting *f, error *e) {
    return !f->sums.part || drop_partitions(f, "forgotten", ouro__clickhouse_stale_part(&f->sums),
                                            f->sums.before, e);
}

// A deletion is only begun where there is something to delete.
static bool delete_edge(const forgetting *f, const char *table, const char *column,
                        unsigned long long below, error *e) {
    http_answer a;
    uint64_t rows = 0;
    statement here = {.this_host = true};
    if (!ouro__clickhouse_number(f->c, here, &rows, e,
                                 "SELECT count() FROM ouro_%s WHERE hour <= %llu AND %s < %llu"
                                 " FORMAT RowBinary",
                                 table, f->edge_hour, column, below))
        return false;
    if (!rows) return true;
    if (!ouro__clickhouse_runf(f->c, here, &a, e, "ALTER TABLE ouro_%s DELETE WHERE %s < %llu",
                               table, column, below))
        return false;
    ouro__http_answer_free(&a);
    return true;
}

// Deletions run on their own; their end is waited for, within reason.
static bool wait_for_deletions(const forgetting *f, error *e) {
    uint64_t open = 1;
    for (unsigned i = 0; open && i < PAUSES_MOST; i++) {
        if (!ouro__clickhouse_number(f->c, (statement){.this_host = true}, &open, e,
                                     "SELECT count() FROM system.mutations WHERE NOT is_done"
                                     " AND database = '%s' AND table IN ('ouro_slices',"
                                     " 'ouro_samples') FORMAT RowBinary",
                                     f->c->url.database))
            return false;
        if (open) ouro__clickhouse_pause(0);
    }
    return true;
}

static bool forget_here(const forgetting *f, error *e) {
    return drop_days(f, "slices", e) && delete_edge(f, "slices", "ended", f->since, e) &&
           drop_days(f, "samples", e) && delete_edge(f, "samples", "hour", f->edge_hour, e) &&
           drop_sums(f, e) && wait_for_deletions(f, e);
}

static bool remember(forgetting *f, error *e) {
    return ouro__clickhouse_make_table(f->c, "forgotten", e) &&
           ouro__clickhouse_remember(f->c, f->since, &f->sums, e);
}

bool ouro__clickhouse_keep(void *opened, uint64_t since, uint64_t *slices, error *e) {
    clickhouse *c = opened;
    size_t first = c->host, count = c->url.cluster ? c->url.host_count : 1;
    uint64_t hour = since / MILLISECONDS_OF_HOUR, left = 0;
    forgetting f = {c, since, hour, hour / HOURS_OF_DAY, {0}};
    bool ok = count_old(&f, slices, e) && (!*slices || remember(&f, e));
    for (size_t i = 0; ok && i < count; i++) {
        c->host = c->url.cluster ? i : first;
        ok = forget_here(&f, e);
    }
    c->host = first;
    free(f.sums.before);
    ok = ok && count_old(&f, &left, e);
    if (ok && left)
        return ouro__fail(e, EBUSY,
                          "%llu old slices are still there: the server deletes them later, or a "
                          "shard's host is not in the URL",
                          (unsigned long long)left);
    return ok;
}
