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

static void forget_known(clickhouse *c) {
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

// ---------------------------------------------------------------- names

static void mark_used(const profile *p, const unsigned char *needed, unsigned char *used) {
    for (uint32_t n = 1; n < p->node_count; n++) {
        if (needed[n]) used[p->block[n]] = 1;
    }
}

static void want(clickhouse_writer *w, key k) {
    if (!is_known(w->c, k)) w->wanted[w->wanted_count++] = k;
}

// An earlier slice of the same profile had the node.
static bool is_sent(const clickhouse_writer *w, uint32_t n) {
    return w->s->known && w->s->known[n];
}

static void want_nodes(clickhouse_writer *w) {
    const profile *p = w->s->profile;
    for (uint32_t n = 1; n < p->node_count; n++) {
        if (w->needed[n] && !is_sent(w, n)) want(w, w->s->keys->nodes[n]);
    }
}

static void want_others(clickhouse_writer *w) {
    const profile *p = w->s->profile;
    for (uint32_t b = 0; b < p->block_count; b++) {
        if (w->used[b]) want(w, w->s->keys->blocks[b]);
    }
    for (uint32_t m = 0; m < p->metric_count; m++) want(w, ouro__metric_key_of(p, m));
    want(w, w->labels);
}

// Which of the wanted keys the store has, by a statement. All shards have the same names.
static bool ask_for(clickhouse_writer *w, const char *sql, error *e) {
    statement s = {.sql = sql, .keys = w->wanted, .key_count = w->wanted_count};
    http_answer a;
    if (!w->wanted_count) return true;
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

static bool insert_nodes(clickhouse_writer *w, error *e) {
    const profile *p = w->s->profile;
    row_writer rows = {0};
    for (uint32_t n = 1; n < p->node_count; n++) {
        if (!w->needed[n] || is_sent(w, n) || is_known(w->c, w->s->keys->nodes[n])) continue;
        for (uint32_t copy = 0; copy < w->c->copies; copy++) put_node(&rows, copy, w->s, n);
    }
    return ouro__clickhouse_insert(w->c, "nodes", "copy, node, parent, block, up", &rows, false, e);
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

static bool insert_blocks(clickhouse_writer *w, error *e) {
    const profile *p = w->s->profile;
    row_writer rows = {0};
    for (uint32_t b = 0; b < p->block_count; b++) {
        if (!w->used[b] || is_known(w->c, w->s->keys->blocks[b])) continue;
        for (uint32_t copy = 0; copy < w->c->copies; copy++) put_block(&rows, copy, w->s, b);
    }
    return ouro__clickhouse_insert(w->c, "blocks", "copy, block, name, file, line, col", &rows,
                                   false, e);
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

static bool insert_metrics(clickhouse_writer *w, error *e) {
    const profile *p = w->s->profile;
    row_writer rows = {0};
    for (uint32_t m = 0; m < p->metric_count; m++) {
        if (is_known(w->c, ouro__metric_key_of(p, m))) continue;
        for (uint32_t copy = 0; copy < w->c->copies; copy++) put_metric(&rows, copy, p, m);
    }
    return ouro__clickhouse_insert(
        w->c, "metrics", "copy, metric_key, metric, name, unit, decimals", &rows, false, e);
}

static void put_labels(row_writer *rows, uint32_t copy, key k, const label_set *l) {
    ouro__binary_u16(rows, (uint16_t)copy);
    ouro__binary_key(rows, k);
    ouro__binary_length(rows, l->count);
    for (size_t i = 0; i < l->count; i++) ouro__binary_text(rows, l->items[i].name);
    ouro__binary_length(rows, l->count);
    for (size_t i = 0; i < l->count; i++) ouro__binary_text(rows, l->items[i].value);
}

static bool insert_labels(clickhouse_writer *w, error *e) {
    row_writer rows = {0};
    if (is_known(w->c, w->labels)) return true;
    for (uint32_t copy = 0; copy < w->c->copies; copy++)
        put_labels(&rows, copy, w->labels, w->s->labels);
    return ouro__clickhouse_insert(w->c, "label_sets", "copy, label_set, names, texts", &rows,
                                   false, e);
}

static bool remember_wanted(clickhouse_writer *w, error *e) {
    bool ok = true;
    for (size_t i = 0; ok && i < w->wanted_count; i++) ok = remember(w->c, w->wanted[i]);
    w->wanted_count = 0;
    return ok || ouro__fail_memory(e);
}

// Names that were sent are not asked for again. Blocks come before the nodes that need them.
static bool send_names(clickhouse_writer *w, error *e) {
    want_others(w);
    bool ok = ask_for(w,
                      "SELECT block AS known FROM ouro_blocks WHERE block IN keys"
                      " UNION ALL SELECT metric_key AS known FROM ouro_metrics"
                      " WHERE metric_key IN keys"
                      " UNION ALL SELECT label_set AS known FROM ouro_label_sets"
                      " WHERE label_set IN keys FORMAT RowBinary",
                      e) &&
              insert_blocks(w, e) && insert_metrics(w, e) && insert_labels(w, e) &&
              remember_wanted(w, e);
    if (!ok) return false;
    want_nodes(w);
    return ask_for(w, "SELECT node FROM ouro_nodes WHERE node IN keys FORMAT RowBinary", e) &&
           insert_nodes(w, e) && remember_wanted(w, e);
}

static void mark_sent(const clickhouse_writer *w) {
    for (uint32_t n = 1; w->s->known && n < w->s->profile->node_count; n++)
        w->s->known[n] |= w->needed[n];
}

bool ouro__clickhouse_send_names(clickhouse_writer *w, error *e) {
    const profile *p = w->s->profile;
    size_t most = (size_t)p->node_count + p->block_count + p->metric_count + 1;
    if (w->c->known_count > KNOWN_MOST) forget_known(w->c);
    w->wanted = malloc(most * sizeof *w->wanted);
    if (!w->wanted) return ouro__fail_memory(e);
    w->wanted_count = 0;
    mark_used(p, w->needed, w->used);
    bool ok = send_names(w, e);
    if (ok) mark_sent(w);
    free(w->wanted);
    return ok;
}
