// SPDX-License-Identifier: MIT
//
// Sums over slices. Nodes are numbered, so a sum is an array by number; then each node that has a
// value is told, with what is above it.

#include "sqlite.h"

#include "packed.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------- sums

typedef struct {
    int64_t parent, block; // numbers
    key key;
    bool needed; // it has a value, or a node below it
} node_row;

typedef struct {
    sqlite_store *f;
    answer *a;
    sums sums;
    int64_t metric_ids[METRICS_MAX]; // by column
    uint32_t numbers[METRICS_MAX];   // in the answer
    node_row *nodes;                 // by number
    key *blocks;                     // by number; told if it is not zero
    int64_t block_count;
} reader;

static bool read_metrics(reader *r, error *e) {
    sqlite3_stmt *s = ouro__sqlite_prepared(r->f, METRICS, e);
    bool row, ok = s && ouro__sqlite_next(r->f, s, &row, e);
    for (; ok && row; ok = ouro__sqlite_next(r->f, s, &row, e)) {
        size_t m = r->sums.metric_count;
        if (m == METRICS_MAX)
            return ouro__fail(e, E2BIG, "the store has more than %d metrics", METRICS_MAX);
        r->metric_ids[m] = sqlite3_column_int64(s, 0);
        if (!ouro__answer_metric(r->a, ouro__sqlite_text(s, 1), ouro__sqlite_text(s, 2),
                                 (uint32_t)sqlite3_column_int64(s, 3), &r->numbers[m]))
            return ouro__fail_memory(e);
        r->sums.metric_count++;
    }
    return ok;
}

static bool reader_init(reader *r, sqlite_store *f, answer *a, error *e) {
    int64_t last_node, last_block;
    *r = (reader){.f = f, .a = a};
    if (!read_metrics(r, e) ||
        !ouro__sqlite_find(f, ouro__sqlite_prepared(f, LAST_NODE, e), &last_node, e) ||
        !ouro__sqlite_find(f, ouro__sqlite_prepared(f, LAST_BLOCK, e), &last_block, e))
        return false;
    ouro__answer_budget(a, &f->budget);
    size_t node_bytes = sizeof *r->nodes + (r->sums.metric_count + 1) * sizeof *r->sums.values;
    if (!ouro__sqlite_rows(f, last_node, node_bytes, e) ||
        !ouro__sqlite_rows(f, last_block, sizeof *r->blocks, e))
        return false;
    r->block_count = last_block + 1;
    bool ok = ouro__sums_init(&r->sums, last_node + 1, r->sums.metric_count);
    r->nodes = calloc((size_t)r->sums.node_count, sizeof *r->nodes);
    r->blocks = calloc((size_t)r->block_count, sizeof *r->blocks);
    return (ok && r->nodes && r->blocks) || ouro__fail_memory(e);
}

static void reader_free(reader *r) {
    ouro__sums_free(&r->sums);
    free(r->nodes);
    free(r->blocks);
}

// Rows of a metric and its packed values.
static bool add_samples_of(reader *r, sqlite3_stmt *s, error *e) {
    bool row, ok = ouro__sqlite_next(r->f, s, &row, e);
    for (; ok && row; ok = ok && ouro__sqlite_next(r->f, s, &row, e)) {
        size_t m = 0;
        while (m < r->sums.metric_count && r->metric_ids[m] != sqlite3_column_int64(s, 0)) m++;
        if (m == r->sums.metric_count) continue; // newer than our list
        ok = ouro__sums_add(&r->sums, m, sqlite3_column_blob(s, 1),
                            (size_t)sqlite3_column_bytes(s, 1), e);
    }
    sqlite3_reset(s);
    return ok;
}

static bool add_slice_to(reader *r, int64_t id, error *e) {
    sqlite3_stmt *s = ouro__sqlite_prepared(r->f, SAMPLES_OF, e);
    if (!s) return false;
    sqlite3_bind_int64(s, 1, id);
    return add_samples_of(r, s, e);
}

static bool add_forgotten(reader *r, const key *recording, error *e) {
    sqlite3_stmt *s = ouro__sqlite_prepared(r->f, FORGOTTEN_OF, e);
    if (!s) return false;
    ouro__sqlite_bind_key(s, 1, recording);
    return add_samples_of(r, s, e);
}

static bool damaged(error *e, const char *what, int64_t id) {
    return ouro__fail(e, EILSEQ, "the store is damaged: there is no %s %lld", what, (long long)id);
}

static bool tell_block(reader *r, int64_t id, error *e) {
    sqlite3_stmt *s = ouro__sqlite_prepared(r->f, BLOCK, e);
    bool row;
    if (!s) return false;
    sqlite3_bind_int64(s, 1, id);
    if (!ouro__sqlite_next(r->f, s, &row, e)) return false;
    if (!row || !ouro__sqlite_key(s, 0, &r->blocks[id])) return damaged(e, "block", id);
    bool ok = ouro__answer_block(r->a, r->blocks[id], ouro__sqlite_text(s, 1),
                                 ouro__sqlite_text(s, 2), (uint32_t)sqlite3_column_int64(s, 3),
                                 (uint32_t)sqlite3_column_int64(s, 4));
    sqlite3_reset(s);
    return ok || ouro__fail_memory(e);
}

// A node was added after its parent, so its number is larger: no path goes round.
static bool read_node(reader *r, int64_t id, error *e) {
    sqlite3_stmt *s = ouro__sqlite_prepared(r->f, NODE, e);
    node_row *n = &r->nodes[id];
    bool row;
    if (!s) return false;
    sqlite3_bind_int64(s, 1, id);
    if (!ouro__sqlite_next(r->f, s, &row, e)) return false;
    if (!row || !ouro__sqlite_key(s, 0, &n->key)) return damaged(e, "node", id);
    n->parent = sqlite3_column_int64(s, 1);
    n->block = sqlite3_column_int64(s, 2);
    sqlite3_reset(s);
    if (n->parent < 0 || n->parent >= id) return damaged(e, "parent of node", id);
    if (n->block < 1 || n->block >= r->block_count) return damaged(e, "block of node", id);
    r->nodes[n->parent].needed = true;
    return true;
}

static bool tell_node(reader *r, int64_t id, error *e) {
    const node_row *n = &r->nodes[id];
    key none = {{0}};
    if (memcmp(&r->blocks[n->block], &none, sizeof none) == 0 && !tell_block(r, n->block, e))
        return false;
    bool ok = ouro__answer_node(r->a, n->key, r->nodes[n->parent].key, r->blocks[n->block]);
    for (size_t m = 0; ok && m < r->sums.metric_count; m++) {
        int64_t value = *ouro__sums_at(&r->sums, m, id);
        ok = !value || ouro__answer_value(r->a, r->numbers[m], n->key, value);
    }
    return ok || ouro__fail_memory(e);
}

// From the last node to the first, so that it is known which parents are needed; then from the
// first to the last.
static bool tell_sums(reader *r, error *e) {
    bool ok = true;
    for (int64_t id = r->sums.node_count - 1; ok && id > 0; id--) {
        r->nodes[id].needed |= ouro__sums_has(&r->sums, id);
        if (r->nodes[id].needed) ok = read_node(r, id, e);
    }
    for (int64_t id = 1; ok && id < r->sums.node_count; id++)
        ok = !r->nodes[id].needed || tell_node(r, id, e);
    return ok;
}

// More paths than were asked for: the smallest become one block, so that all totals stay.
static bool cut_small(reader *r, uint32_t most, error *e) {
    int64_t small[METRICS_MAX] = {0};
    bool cut = false;
    if (!most) return true;
    if (!ouro__sums_cut(&r->sums, most, small, &cut, e)) return false;
    return !cut || ouro__answer_small(r->a, r->numbers, small, r->sums.metric_count) ||
           ouro__fail_memory(e);
}

// ---------------------------------------------------------------- asking

static bool add_chosen(reader *r, const chosen *sets, error *e) {
    const choice *c = sets->choice;
    sqlite3_stmt *s = ouro__sqlite_between(r->f, SLICES_BETWEEN, c, e);
    if (!s) return false;
    bool row, ok = ouro__sqlite_next(r->f, s, &row, e);
    for (; ok && row; ok = ok && ouro__sqlite_next(r->f, s, &row, e)) {
        bool fits = c->term_count == 0 || ouro__sqlite_is_chosen(sets, sqlite3_column_int64(s, 1));
        if (fits) ok = add_slice_to(r, sqlite3_column_int64(s, 0), e);
    }
    sqlite3_reset(s);
    return ok;
}

// One transaction, so that a slice that comes meanwhile is seen whole or not at all.
bool ouro__sqlite_ask(void *opened, const choice *c, answer *a, error *e) {
    sqlite_store *f = opened;
    reader r = {0};
    chosen sets = {.choice = c};
    if (!ouro__sqlite_execute(f, "BEGIN", e)) return false;
    bool ok = reader_init(&r, f, a, e) && (!c->term_count || ouro__sqlite_choose(f, &sets, e)) &&
              add_chosen(&r, &sets, e) && cut_small(&r, c->paths_most, e) && tell_sums(&r, e);
    ouro__sqlite_chosen_free(&sets);
    reader_free(&r);
    ouro__sqlite_execute(f, "COMMIT", NULL);
    return ok;
}

bool ouro__sqlite_recorded(void *opened, key recording, uint64_t *next, answer *a, error *e) {
    sqlite_store *f = opened;
    reader r = {0};
    *next = 0;
    if (!ouro__sqlite_execute(f, "BEGIN", e)) return false;
    sqlite3_stmt *s = ouro__sqlite_prepared(f, SLICES_OF, e);
    if (s) ouro__sqlite_bind_key(s, 1, &recording);
    bool row, ok = s && reader_init(&r, f, a, e) && ouro__sqlite_next(f, s, &row, e);
    for (; ok && row; ok = ok && ouro__sqlite_next(f, s, &row, e)) {
        *next = (uint64_t)sqlite3_column_int64(s, 1) + 1;
        ok = add_slice_to(&r, sqlite3_column_int64(s, 0), e);
    }
    ok = ok && add_forgotten(&r, &recording, e) && tell_sums(&r, e);
    reader_free(&r);
    ouro__sqlite_execute(f, "COMMIT", NULL);
    return ok;
}
