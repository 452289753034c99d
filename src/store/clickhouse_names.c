// SPDX-License-Identifier: MIT
//
// The names that a slice needs: its blocks, nodes, metrics and labels. They are sent once: the
// store is asked which it has, and what it has is remembered while it is open. All of them go to
// every shard.

#include "clickhouse.h"

#include "keys.h"

#include <stdlib.h>
#include <string.h>

enum { ANCESTORS = 15, KNOWN_MOST = 1 << 21 };

// ---------------------------------------------------------------- what the store knows

static uint32_t hash_of(key k) { return ouro__hash_bytes(k.bytes, sizeof k.bytes); }

static bool is_known(const clickhouse *c, key k) {
    uint32_t row, hash = hash_of(k);
    for (uint64_t i = ouro__lookup_first(&c->known_lookup, hash);
         (row = ouro__lookup_next(&c->known_lookup, hash, &i)) != NO_ROW;) {
        if (memcmp(c->known[row].bytes, k.bytes, sizeof k.bytes) == 0) return true;
    }
    return false;
}

void ouro__clickhouse_forget_names(clickhouse *c) {
    ouro__lookup_free(&c->known_lookup);
    c->known_lookup = (lookup){0};
    c->known_count = 0;
}

static bool remember(clickhouse *c, key k) {
    if (is_known(c, k)) return true;
    if (c->known_count == c->known_room) {
        uint32_t room = c->known_room * 2 + 1024;
        key *known = realloc(c->known, room * sizeof *known);
        if (!known) return false;
        c->known = known;
        c->known_room = room;
    }
    c->known[c->known_count] = k;
    return ouro__lookup_add(&c->known_lookup, hash_of(k), c->known_count++);
}

// ---------------------------------------------------------------- what is wanted

static void mark_used(written_slice *w) {
    const profile *p = w->s->profile;
    for (uint32_t n = 1; n < p->node_count; n++) {
        if (w->needed[n]) w->used[p->block[n]] = 1;
    }
}

static void want(clickhouse_writer *w, key k) {
    if (!is_known(w->c, k)) w->wanted[w->wanted_count++] = k;
}

// An earlier slice of the same profile had the node.
static bool is_sent(const written_slice *o, uint32_t n) { return o->s->known && o->s->known[n]; }

static void want_nodes(clickhouse_writer *w, const written_slice *o) {
    for (uint32_t n = 1; n < o->s->profile->node_count; n++) {
        if (o->needed[n] && !is_sent(o, n)) want(w, o->s->keys->nodes[n]);
    }
}

static void want_others(clickhouse_writer *w, const written_slice *o) {
    const profile *p = o->s->profile;
    for (uint32_t b = 0; b < p->block_count; b++) {
        if (o->used[b]) want(w, o->s->keys->blocks[b]);
    }
    for (uint32_t m = 0; m < p->metric_count; m++) want(w, ouro__metric_key_of(p, m));
    want(w, o->labels);
}

static int by_key(const void *a, const void *b) { return memcmp(a, b, sizeof(key)); }

static void drop_doubles(clickhouse_writer *w) {
    size_t kept = 0;
    if (w->wanted_count) qsort(w->wanted, w->wanted_count, sizeof *w->wanted, by_key);
    for (size_t i = 0; i < w->wanted_count; i++) {
        if (!kept || by_key(&w->wanted[kept - 1], &w->wanted[i])) w->wanted[kept++] = w->wanted[i];
    }
    w->wanted_count = kept;
}

// Which of the wanted keys the store has, by a statement. All shards have the same names.
static bool ask_for(clickhouse_writer *w, const char *sql, error *e) {
    http_answer a;
    drop_doubles(w);
    statement s = {.sql = sql, .keys = w->wanted, .key_count = w->wanted_count};
    if (!w->wanted_count) return true;
    w->wanted_count = 0;
    if (!ouro__clickhouse_run(w->c, &s, &a, e)) return false;
    row_reader r = ouro__binary_of(&a);
    bool ok = true;
    while (ok && ouro__binary_left(&r)) {
        key k = ouro__binary_get_key(&r);
        if (!r.damaged) ok = remember(w->c, k) || ouro__fail_memory(e);
    }
    ouro__http_answer_free(&a);
    return ok && (!r.damaged || ouro__clickhouse_damaged(e));
}

// ---------------------------------------------------------------- rows

// Is the name to be sent? From now on it is known, so that the slices of one writer send it once.
static bool is_new(const clickhouse_writer *w, key k, row_writer *rows) {
    if (is_known(w->c, k)) return false;
    rows->failed = rows->failed || !remember(w->c, k);
    return true;
}

// The nearest ancestors above the parent, so that many of a path are found at once.
static void put_node(row_writer *rows, uint32_t copy, const slice *s, uint32_t n) {
    const profile *p = s->profile;
    uint32_t up[ANCESTORS], count = 0;
    for (uint32_t a = p->parent[p->parent[n]]; a && count < ANCESTORS; a = p->parent[a])
        up[count++] = a;
    ouro__binary_u16(rows, (uint16_t)copy);
    ouro__binary_key(rows, s->keys->nodes[n]);
    ouro__binary_key(rows, s->keys->nodes[p->parent[n]]);
    ouro__binary_key(rows, s->keys->blocks[p->block[n]]);
    ouro__binary_length(rows, count);
    for (uint32_t i = 0; i < count; i++) ouro__binary_key(rows, s->keys->nodes[up[i]]);
}

static void put_nodes(const clickhouse_writer *w, const written_slice *o, row_writer *rows) {
    for (uint32_t n = 1; n < o->s->profile->node_count; n++) {
        if (!o->needed[n] || is_sent(o, n) || !is_new(w, o->s->keys->nodes[n], rows)) continue;
        for (uint32_t copy = 0; copy < w->c->copies; copy++) put_node(rows, copy, o->s, n);
    }
}

static void put_block(row_writer *rows, uint32_t copy, const slice *s, uint32_t b) {
    const profile *p = s->profile;
    ouro__binary_u16(rows, (uint16_t)copy);
    ouro__binary_key(rows, s->keys->blocks[b]);
    ouro__binary_text(rows, ouro__block_name(p, b));
    ouro__binary_text(rows, ouro__block_file(p, b));
    ouro__binary_u32(rows, p->blocks[b].line);
    ouro__binary_u32(rows, p->blocks[b].column);
}

static void put_blocks(const clickhouse_writer *w, const written_slice *o, row_writer *rows) {
    for (uint32_t b = 0; b < o->s->profile->block_count; b++) {
        if (!o->used[b] || !is_new(w, o->s->keys->blocks[b], rows)) continue;
        for (uint32_t copy = 0; copy < w->c->copies; copy++) put_block(rows, copy, o->s, b);
    }
}

static void put_metric(row_writer *rows, uint32_t copy, const profile *p, uint32_t m) {
    key k = ouro__metric_key_of(p, m);
    ouro__binary_u16(rows, (uint16_t)copy);
    ouro__binary_key(rows, k);
    ouro__binary_u64(rows, ouro__short_id(k));
    ouro__binary_text(rows, ouro__metric_name(p, m));
    ouro__binary_text(rows, ouro__metric_unit(p, m));
    ouro__binary_u32(rows, p->metrics[m].decimals);
}

static void put_metrics(const clickhouse_writer *w, const written_slice *o, row_writer *rows) {
    const profile *p = o->s->profile;
    for (uint32_t m = 0; m < p->metric_count; m++) {
        if (!is_new(w, ouro__metric_key_of(p, m), rows)) continue;
        for (uint32_t copy = 0; copy < w->c->copies; copy++) put_metric(rows, copy, p, m);
    }
}

static void put_labels(const clickhouse_writer *w, const written_slice *o, row_writer *rows) {
    const label_set *l = o->s->labels;
    if (!is_new(w, o->labels, rows)) return;
    for (uint32_t copy = 0; copy < w->c->copies; copy++) {
        ouro__binary_u16(rows, (uint16_t)copy);
        ouro__binary_key(rows, o->labels);
        ouro__binary_length(rows, l->count);
        for (size_t i = 0; i < l->count; i++) ouro__binary_text(rows, l->items[i].name);
        ouro__binary_length(rows, l->count);
        for (size_t i = 0; i < l->count; i++) ouro__binary_text(rows, l->items[i].value);
    }
}

typedef void putting(const clickhouse_writer *w, const written_slice *o, row_writer *rows);

static bool insert(clickhouse_writer *w, const char *table, const char *columns, putting *put,
                   error *e) {
    row_writer rows = {0};
    for (size_t i = 0; i < w->count; i++) {
        if (!w->slices[i].there) put(w, &w->slices[i], &rows);
    }
    return ouro__clickhouse_insert(w->c, table, columns, &rows, false, e);
}

static bool send_others(clickhouse_writer *w, error *e) {
    for (size_t i = 0; i < w->count; i++) {
        if (!w->slices[i].there) want_others(w, &w->slices[i]);
    }
    return ask_for(w,
                   "SELECT block AS known FROM ouro_blocks WHERE block IN keys"
                   " UNION ALL SELECT metric_key AS known FROM ouro_metrics"
                   " WHERE metric_key IN keys"
                   " UNION ALL SELECT label_set AS known FROM ouro_label_sets"
                   " WHERE label_set IN keys FORMAT RowBinary",
                   e) &&
           insert(w, "blocks", "copy, block, name, file, line, col", put_blocks, e) &&
           insert(w, "metrics", "copy, metric_key, metric, name, unit, decimals", put_metrics, e) &&
           insert(w, "label_sets", "copy, label_set, names, texts", put_labels, e);
}

static bool send_nodes(clickhouse_writer *w, error *e) {
    for (size_t i = 0; i < w->count; i++) {
        if (!w->slices[i].there) want_nodes(w, &w->slices[i]);
    }
    return ask_for(w, "SELECT node FROM ouro_nodes WHERE node IN keys FORMAT RowBinary", e) &&
           insert(w, "nodes", "copy, node, parent, block, up", put_nodes, e);
}

static void mark_sent(const written_slice *o) {
    for (uint32_t n = 1; o->s->known && n < o->s->profile->node_count; n++)
        o->s->known[n] |= o->needed[n];
}

// Names that were sent are not asked for again. Blocks come before the nodes that need them.
bool ouro__clickhouse_send_names(clickhouse_writer *w, error *e) {
    size_t most = 0;
    if (w->c->known_count > KNOWN_MOST) ouro__clickhouse_forget_names(w->c);
    for (size_t i = 0; i < w->count; i++) {
        const profile *p = w->slices[i].s->profile;
        mark_used(&w->slices[i]);
        most += (size_t)p->node_count + p->block_count + p->metric_count + 1;
    }
    w->wanted = malloc(most * sizeof *w->wanted);
    w->wanted_count = 0;
    bool ok = w->wanted ? send_others(w, e) && send_nodes(w, e) : ouro__fail_memory(e);
    for (size_t i = 0; ok && i < w->count; i++) mark_sent(&w->slices[i]);
    free(w->wanted);
    return ok;
}
