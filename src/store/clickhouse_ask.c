// SPDX-License-Identifier: MIT
//
// Sums over slices, made by the server: what comes back is a row per metric and path. Then the
// paths that are not known yet are asked for, many ancestors at once, and then their blocks.
//
// All is asked of all shards first. Only if one does not answer, and the caller did not ask for all
// or nothing, it is asked once more without that shard, and the answer says so.

#include "clickhouse.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    clickhouse *c;
    answer *a;
    uint64_t ids[METRICS_MAX]; // of metrics, as samples have them
    uint32_t numbers[METRICS_MAX];
    uint32_t metric_count;
    int64_t small[METRICS_MAX];
    bool any_small;
    uint64_t taken; // bytes of the answers about paths; a round counts as ROUND_BYTES more
} asker;

enum { ROUND_BYTES = 4096 };

// ---------------------------------------------------------------- metrics

static bool tell_metric(asker *k, row_reader *r, error *e) {
    uint64_t id = ouro__binary_get_u64(r);
    char *name = ouro__binary_get_text(r), *unit = ouro__binary_get_text(r);
    uint32_t m = k->metric_count, decimals = ouro__binary_get_u32(r);
    bool ok = !r->damaged || ouro__clickhouse_damaged(e);
    if (ok && m == METRICS_MAX)
        ok = ouro__fail(e, E2BIG, "the store has more than %d metrics", METRICS_MAX);
    ok = ok && ((name && unit) || ouro__fail_memory(e));
    ok = ok &&
         (ouro__answer_metric(k->a, name, unit, decimals, &k->numbers[m]) || ouro__fail_memory(e));
    if (ok) k->ids[k->metric_count++] = id;
    free(name);
    free(unit);
    return ok;
}

static bool read_metrics(asker *k, error *e) {
    http_answer a;
    bool ok = ouro__clickhouse_runf(k->c, (statement){0}, &a, e,
                                    "SELECT metric, name, unit, decimals FROM ouro_metrics"
                                    " ORDER BY name, unit, decimals LIMIT 1 BY metric"
                                    " FORMAT RowBinary");
    if (!ok) return false;
    row_reader r = ouro__binary_of(&a);
    while (ok && ouro__binary_left(&r)) ok = tell_metric(k, &r, e);
    ouro__http_answer_free(&a);
    return ok;
}

// ---------------------------------------------------------------- values

static bool is_zero(key k) { return memcmp(k.bytes, (key){{0}}.bytes, sizeof k.bytes) == 0; }

// A sum that left 63 bits shows in the sum of the same as floating point numbers.
static bool tell_value(asker *k, row_reader *r, error *e) {
    uint64_t id = ouro__binary_get_u64(r);
    key node = ouro__binary_get_key(r);
    int64_t value = (int64_t)ouro__binary_get_u64(r);
    double about = ouro__binary_get_double(r);
    uint32_t m = 0;
    if (r->damaged) return ouro__clickhouse_damaged(e);
    if (!(fabs(about) < 9.2e18)) return ouro__fail(e, EOVERFLOW, "the sum needs more than 63 bits");
    while (m < k->metric_count && k->ids[m] != id) m++;
    if (m == k->metric_count || !value) return true; // newer than our list
    if (!is_zero(node))
        return ouro__answer_value(k->a, k->numbers[m], node, value) || ouro__fail_memory(e);
    k->small[m] = value;
    k->any_small = true;
    return true;
}

static bool tell_values(asker *k, const http_answer *a, error *e) {
    if (!a->size) return true;
    row_reader r = ouro__binary_of(a);
    bool ok = true;
    while (ok && ouro__binary_left(&r)) ok = tell_value(k, &r, e);
    return ok;
}

static bool tell_small(asker *k, error *e) {
    return !k->any_small || ouro__answer_small(k->a, k->numbers, k->small, k->metric_count) ||
           ouro__fail_memory(e);
}

// ---------------------------------------------------------------- sums

// A row per metric and node.
static char *sums_select(const clickhouse *c, const selection *s) {
    char *sql = NULL;
    if (asprintf(&sql,
                 "SELECT metric, node, sum(value) AS total, sum(toFloat64(value)) AS about"
                 " FROM ouro_samples%s WHERE %s AND slice GLOBAL IN (SELECT first FROM (%s))"
                 " GROUP BY metric, node",
                 ouro__clickhouse_suffix(c), s->samples_where, s->slices) < 0)
        return NULL;
    return sql;
}

static statement with_sets(const selection *s) {
    return s->all ? (statement){.skip = s->skip}
                  : (statement){.skip = s->skip, .keys = s->keys, .key_count = s->key_count};
}

enum { ROW_BYTES = 40, ROWS_OF_PATH = 4 };

static uint64_t rows_in(const http_answer *a) { return a->size / ROW_BYTES; }

// Per metric the sum of what all paths have, for their shares of it: an expression.
static bool read_weights(clickhouse *c, const selection *s, const char *sums, char **text,
                         error *e) {
    http_answer a;
    size_t size;
    if (!ouro__clickhouse_runf(c, with_sets(s), &a, e,
                               "SELECT metric, sum(abs(total)) FROM (%s) GROUP BY metric"
                               " FORMAT RowBinary",
                               sums))
        return false;
    row_reader r = ouro__binary_of(&a);
    FILE *to = open_memstream(text, &size);
    if (to) fprintf(to, "multiIf(");
    while (to && ouro__binary_left(&r)) {
        uint64_t id = ouro__binary_get_u64(&r), total = ouro__binary_get_u64(&r);
        fprintf(to, "metric = %llu, %llu, ", (unsigned long long)id,
                (unsigned long long)(total ? total : 1));
    }
    if (to) fprintf(to, "0 = 1, 1, 1)");
    ouro__http_answer_free(&a);
    if (r.damaged) ouro__clickhouse_damaged(e);
    bool ok = to && fclose(to) == 0;
    return !r.damaged && (ok || ouro__fail_memory(e));
}

// The largest paths by their largest share of a metric; all others are summed up under the key of
// zeros, in the same pass, so that totals are exact.
static bool run_cut(clickhouse *c, const selection *s, const char *sums, http_answer *a, error *e) {
    char *weights = NULL;
    bool ok = read_weights(c, s, sums, &weights, e);
    ok = ok &&
         ouro__clickhouse_runf(c, with_sets(s), a, e,
                               "SELECT metric, kept, sum(t), sum(b) FROM (SELECT metric, if(node IN"
                               " (SELECT node FROM (%s) GROUP BY node"
                               " ORDER BY max(abs(total) / %s) DESC, node LIMIT %u), node,"
                               " toFixedString('', 16)) AS kept, total AS t, about AS b FROM (%s))"
                               " GROUP BY metric, kept FORMAT RowBinary",
                               sums, weights, s->choice->paths_most, sums);
    free(weights);
    return ok;
}

// A path has a row per metric. Are there more paths than wanted? If there may be, they are counted.
static bool has_too_many(clickhouse *c, const selection *s, const char *sums, uint64_t rows,
                         bool *too_many, error *e) {
    uint64_t most = s->choice->paths_most, count = 0;
    *too_many = most && rows > ROWS_OF_PATH * most;
    if (!most || *too_many || rows <= most) return true;
    bool ok = ouro__clickhouse_number(
        c, with_sets(s), &count, e,
        "SELECT uniqExact(node) FROM (%s) WHERE total != 0 FORMAT RowBinary", sums);
    *too_many = count > most;
    return ok;
}

// Only where there are more paths than wanted they are ranked.
static bool run_sums(clickhouse *c, const selection *s, http_answer *a, error *e) {
    char *sums = sums_select(c, s), limit[64] = "";
    uint64_t most = ROWS_OF_PATH * (uint64_t)s->choice->paths_most;
    bool too_many = false;
    if (!sums) return ouro__fail_memory(e);
    if (most) snprintf(limit, sizeof limit, " LIMIT %llu", (unsigned long long)most + 1);
    bool ok = ouro__clickhouse_runf(c, with_sets(s), a, e, "%s%s FORMAT RowBinary", sums, limit);
    if (ok) {
        ok = has_too_many(c, s, sums, rows_in(a), &too_many, e);
        if (!ok || too_many) ouro__http_answer_free(a);
        if (ok && too_many) ok = run_cut(c, s, sums, a, e);
    }
    free(sums);
    return ok;
}

// ---------------------------------------------------------------- nodes and blocks

typedef struct {
    key *items;
    size_t count, room;
} key_list;

static bool add_key(key_list *l, key k) {
    if (l->count == l->room) {
        size_t room = l->room * 2 + 1024;
        key *items = realloc(l->items, room * sizeof *items);
        if (!items) return false;
        l->items = items;
        l->room = room;
    }
    l->items[l->count++] = k;
    return true;
}

static int by_key(const void *a, const void *b) { return memcmp(a, b, sizeof(key)); }

static void drop_doubles(key_list *l) {
    size_t kept = 0;
    if (l->count) qsort(l->items, l->count, sizeof *l->items, by_key);
    for (size_t i = 0; i < l->count; i++) {
        if (!kept || by_key(&l->items[kept - 1], &l->items[i])) l->items[kept++] = l->items[i];
    }
    l->count = kept;
}

// A node and its ancestors: all are wanted.
static bool tell_node(asker *k, row_reader *r, key_list *blocks, error *e) {
    key node = ouro__binary_get_key(r), parent = ouro__binary_get_key(r),
        block = ouro__binary_get_key(r);
    uint64_t count = ouro__binary_get_length(r);
    bool ok = true;
    for (uint64_t i = 0; ok && i < count; i++) {
        key up = ouro__binary_get_key(r);
        if (!r->damaged) ok = ouro__answer_wants(k->a, up);
    }
    if (r->damaged) return ouro__clickhouse_damaged(e);
    ok = ok && ouro__answer_node(k->a, node, parent, block) && add_key(blocks, block);
    return ok || ouro__fail_memory(e);
}

// Every shard has all names, so the one that is asked is enough; if it was added later, the others
// know the rest.
static const char *names_suffix(const clickhouse *c, bool here) {
    return here ? "" : ouro__clickhouse_suffix(c);
}

static bool read_nodes(asker *k, const key_list *wanted, bool here, key_list *blocks, error *e) {
    http_answer a;
    statement s = {.keys = wanted->items, .key_count = wanted->count, .skip = true};
    bool ok = ouro__clickhouse_runf(k->c, s, &a, e,
                                    "SELECT node, parent, block, up FROM ouro_nodes%s"
                                    " WHERE node IN keys LIMIT 1 BY node FORMAT RowBinary",
                                    names_suffix(k->c, here));
    if (!ok) return false;
    row_reader r = ouro__binary_of(&a);
    while (ok && ouro__binary_left(&r)) ok = tell_node(k, &r, blocks, e);
    k->taken += a.size + ROUND_BYTES;
    ouro__http_answer_free(&a);
    return ok && (k->taken <= k->c->answer_most || ouro__clickhouse_too_long(k->c, e));
}

static bool list_unknown(const answer *a, key_list *l, error *e) {
    size_t next = 0;
    key node;
    l->count = 0;
    while (ouro__answer_unknown(a, &next, &node)) {
        if (!add_key(l, node)) return ouro__fail_memory(e);
    }
    return true;
}

// Round by round, until nothing is unknown or nothing new is found. What is left then is damage,
// which is told when the profile is built. A server could have new ancestors in every round, so the
// rounds together may not take more than an answer.
static bool tell_nodes(asker *k, key_list *blocks, error *e) {
    key_list wanted = {0};
    bool here = true, ok = list_unknown(k->a, &wanted, e);
    while (ok && wanted.count) {
        size_t before = blocks->count;
        ok = read_nodes(k, &wanted, here, blocks, e);
        if (blocks->count == before && !here) break;
        here = blocks->count != before;
        ok = ok && list_unknown(k->a, &wanted, e);
    }
    free(wanted.items);
    return ok;
}

static bool tell_block(asker *k, row_reader *r, error *e) {
    key block = ouro__binary_get_key(r);
    char *name = ouro__binary_get_text(r), *file = ouro__binary_get_text(r);
    uint32_t line = ouro__binary_get_u32(r), column = ouro__binary_get_u32(r);
    bool ok = !r->damaged || ouro__clickhouse_damaged(e);
    ok = ok && ((name && file && ouro__answer_block(k->a, block, name, file, line, column)) ||
                ouro__fail_memory(e));
    free(name);
    free(file);
    return ok;
}

static bool tell_blocks(asker *k, key_list *blocks, error *e) {
    http_answer a;
    drop_doubles(blocks);
    for (int everywhere = 0; everywhere < 2 && blocks->count; everywhere++) {
        statement s = {.keys = blocks->items, .key_count = blocks->count, .skip = true};
        bool ok = ouro__clickhouse_runf(k->c, s, &a, e,
                                        "SELECT block, name, file, line, col FROM ouro_blocks%s"
                                        " WHERE block IN keys LIMIT 1 BY block FORMAT RowBinary",
                                        names_suffix(k->c, !everywhere));
        if (!ok) return false;
        row_reader r = ouro__binary_of(&a);
        size_t told = 0;
        for (; ok && ouro__binary_left(&r); told++) ok = tell_block(k, &r, e);
        ouro__http_answer_free(&a);
        if (!ok || told == blocks->count) return ok;
    }
    return true;
}

bool ouro__clickhouse_tell(clickhouse *c, answer *to, const http_answer values[2], error *e) {
    asker k = {.c = c, .a = to};
    key_list blocks = {0};
    if (c->limit) {
        budget b = ouro__budget_of(values[0].size + values[1].size, 0, c->limit);
        ouro__answer_budget(to, &b);
    }
    bool ok = read_metrics(&k, e) && tell_values(&k, &values[0], e) &&
              tell_values(&k, &values[1], e) && tell_small(&k, e) && tell_nodes(&k, &blocks, e) &&
              tell_blocks(&k, &blocks, e);
    free(blocks.items);
    return ok;
}

// ---------------------------------------------------------------- asking

static bool run_choice(clickhouse *c, const choice *of, bool skip, http_answer *a, error *e) {
    selection s;
    if (!ouro__select(c, of, NULL, false, skip, &s, e)) return false;
    bool ok = run_sums(c, &s, a, e);
    ouro__selection_free(&s);
    return ok;
}

bool ouro__clickhouse_ask(void *opened, const choice *of, answer *to, error *e) {
    clickhouse *c = opened;
    error first = {0};
    http_answer a[2] = {0};
    char *missing = NULL;
    bool ok = run_choice(c, of, false, a, &first);
    if (!ok && ouro__clickhouse_goes_without(c, of->strict, &missing, &first))
        ok = run_choice(c, of, true, a, &first);
    if (ok && missing) ok = ouro__answer_missing(to, missing) || ouro__fail_memory(&first);
    ok = ok && ouro__clickhouse_tell(c, to, a, &first);
    ouro__http_answer_free(a);
    free(missing);
    if (!ok && e) *e = first;
    return ok;
}
