// SPDX-License-Identifier: MIT
//
// A slice is written under a new random id: first the names that the store does not have, then the
// samples, then the one row that makes them count. Until then nobody sees them, and what a push
// that failed left behind goes with its day. A commit may be sent twice; samples are never sent
// twice under one id.

#include "clickhouse.h"

#include "keys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { ATTEMPTS = 6, ANCESTORS = 15, KNOWN_MOST = 1 << 21 };

// ---------------------------------------------------------------- ids

uint64_t ouro__short_id(key k) {
    uint64_t id = 0;
    for (int i = 7; i >= 0; i--) id = id << 8 | k.bytes[i];
    return id;
}

static key text_key(const char *text) {
    sha256 s;
    ouro__sha256_init(&s);
    ouro__sha256_add(&s, text, strlen(text));
    return ouro__key_end(&s);
}

uint64_t ouro__service_id(const label_set *l) {
    const char *service = ouro__label_set_get(l, "service");
    return ouro__short_id(text_key(service ? service : ""));
}

key ouro__metric_key(const char *name, const char *unit, uint32_t decimals) {
    sha256 s;
    unsigned char number[4] = {(unsigned char)decimals, (unsigned char)(decimals >> 8),
                               (unsigned char)(decimals >> 16), (unsigned char)(decimals >> 24)};
    ouro__sha256_init(&s);
    ouro__sha256_add(&s, name, strlen(name) + 1);
    ouro__sha256_add(&s, unit, strlen(unit) + 1);
    ouro__sha256_add(&s, number, sizeof number);
    return ouro__key_end(&s);
}

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

typedef struct {
    clickhouse *c;
    const slice *s;
    unsigned char *needed; // by node: it has a value, or one below it has
    unsigned char *used;   // by block: a needed node has it
    key labels;
    key *wanted; // keys to ask the store for
    size_t wanted_count;
} writer;

static void mark_used(const profile *p, const unsigned char *needed, unsigned char *used) {
    for (uint32_t n = 1; n < p->node_count; n++) {
        if (needed[n]) used[p->block[n]] = 1;
    }
}

static key metric_key_of(const profile *p, uint32_t m) {
    return ouro__metric_key(ouro__metric_name(p, m), ouro__metric_unit(p, m),
                            p->metrics[m].decimals);
}

static void want(writer *w, key k) {
    if (!is_known(w->c, k)) w->wanted[w->wanted_count++] = k;
}

static void want_nodes(writer *w) {
    const profile *p = w->s->profile;
    for (uint32_t n = 1; n < p->node_count; n++) {
        if (w->needed[n]) want(w, w->s->keys->nodes[n]);
    }
}

static void want_others(writer *w) {
    const profile *p = w->s->profile;
    for (uint32_t b = 0; b < p->block_count; b++) {
        if (w->used[b]) want(w, w->s->keys->blocks[b]);
    }
    for (uint32_t m = 0; m < p->metric_count; m++) want(w, metric_key_of(p, m));
    want(w, w->labels);
}

// Which of the wanted keys the store has, by a statement. All shards have the same names.
static bool ask_for(writer *w, const char *sql, error *e) {
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

// Sends rows, if there are any; takes them.
static bool insert(clickhouse *c, const char *table, const char *columns, row_writer *rows,
                   bool once, error *e) {
    http_answer a;
    bool ok = !rows->failed || ouro__fail_memory(e);
    if (ok && rows->used) {
        statement s = {.rows = rows, .once = once};
        ok = ouro__clickhouse_runf(c, s, &a, e, "INSERT INTO ouro_%s%s (%s) FORMAT RowBinary",
                                   table, ouro__clickhouse_suffix(c), columns);
        if (ok) ouro__http_answer_free(&a);
    }
    ouro__binary_free(rows);
    return ok;
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

static bool insert_nodes(writer *w, error *e) {
    const profile *p = w->s->profile;
    row_writer rows = {0};
    for (uint32_t n = 1; n < p->node_count; n++) {
        if (!w->needed[n] || is_known(w->c, w->s->keys->nodes[n])) continue;
        for (uint32_t copy = 0; copy < w->c->copies; copy++) put_node(&rows, copy, w->s, n);
    }
    return insert(w->c, "nodes", "copy, node, parent, block, up", &rows, false, e);
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

static bool insert_blocks(writer *w, error *e) {
    const profile *p = w->s->profile;
    row_writer rows = {0};
    for (uint32_t b = 0; b < p->block_count; b++) {
        if (!w->used[b] || is_known(w->c, w->s->keys->blocks[b])) continue;
        for (uint32_t copy = 0; copy < w->c->copies; copy++) put_block(&rows, copy, w->s, b);
    }
    return insert(w->c, "blocks", "copy, block, name, file, line, col", &rows, false, e);
}

static void put_metric(row_writer *rows, uint32_t copy, const profile *p, uint32_t m) {
    key k = metric_key_of(p, m);
    ouro__binary_u16(rows, (uint16_t)copy);
    ouro__binary_key(rows, k);
    ouro__binary_u64(rows, ouro__short_id(k));
    ouro__binary_text(rows, ouro__metric_name(p, m));
    ouro__binary_text(rows, ouro__metric_unit(p, m));
    ouro__binary_u32(rows, p->metrics[m].decimals);
}

static bool insert_metrics(writer *w, error *e) {
    const profile *p = w->s->profile;
    row_writer rows = {0};
    for (uint32_t m = 0; m < p->metric_count; m++) {
        if (is_known(w->c, metric_key_of(p, m))) continue;
        for (uint32_t copy = 0; copy < w->c->copies; copy++) put_metric(&rows, copy, p, m);
    }
    return insert(w->c, "metrics", "copy, metric_key, metric, name, unit, decimals", &rows, false,
                  e);
}

static void put_labels(row_writer *rows, uint32_t copy, key k, const label_set *l) {
    ouro__binary_u16(rows, (uint16_t)copy);
    ouro__binary_key(rows, k);
    ouro__binary_length(rows, l->count);
    for (size_t i = 0; i < l->count; i++) ouro__binary_text(rows, l->items[i].name);
    ouro__binary_length(rows, l->count);
    for (size_t i = 0; i < l->count; i++) ouro__binary_text(rows, l->items[i].value);
}

static bool insert_labels(writer *w, error *e) {
    row_writer rows = {0};
    if (is_known(w->c, w->labels)) return true;
    for (uint32_t copy = 0; copy < w->c->copies; copy++)
        put_labels(&rows, copy, w->labels, w->s->labels);
    return insert(w->c, "label_sets", "copy, label_set, names, texts", &rows, false, e);
}

static bool remember_wanted(writer *w, error *e) {
    bool ok = true;
    for (size_t i = 0; ok && i < w->wanted_count; i++) ok = remember(w->c, w->wanted[i]);
    w->wanted_count = 0;
    return ok || ouro__fail_memory(e);
}

// Names that were sent are not asked for again. Blocks come before the nodes that need them.
static bool send_names(writer *w, error *e) {
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

static bool insert_names(writer *w, error *e) {
    const profile *p = w->s->profile;
    size_t most = (size_t)p->node_count + p->block_count + p->metric_count + 1;
    if (w->c->known_count > KNOWN_MOST) forget_known(w->c);
    w->wanted = malloc(most * sizeof *w->wanted);
    if (!w->wanted) return ouro__fail_memory(e);
    w->wanted_count = 0;
    bool ok = send_names(w, e);
    free(w->wanted);
    return ok;
}

// ---------------------------------------------------------------- samples

static uint32_t hour_of(const slice *s) {
    uint64_t hour = s->until / MILLISECONDS_OF_HOUR;
    return hour < UINT32_MAX ? (uint32_t)hour : UINT32_MAX;
}

static bool insert_samples(writer *w, uint64_t id, uint64_t *count, error *e) {
    const profile *p = w->s->profile;
    row_writer rows = {0};
    uint64_t service = ouro__service_id(w->s->labels);
    *count = 0;
    for (uint32_t m = 0; m < p->metric_count; m++) {
        uint64_t metric_id = ouro__short_id(metric_key_of(p, m));
        for (uint32_t n = 1; n < p->node_count; n++) {
            if (!p->values[m][n]) continue;
            ouro__binary_u64(&rows, service);
            ouro__binary_u64(&rows, metric_id);
            ouro__binary_u32(&rows, hour_of(w->s));
            ouro__binary_key(&rows, w->s->keys->nodes[n]);
            ouro__binary_u64(&rows, id);
            ouro__binary_u64(&rows, (uint64_t)p->values[m][n]);
            ++*count;
        }
    }
    return insert(w->c, "samples", "service, metric, hour, node, slice, value", &rows, true, e);
}

// The sum of a metric is in the row, so that charts need no samples.
static void put_totals(row_writer *rows, const profile *p) {
    ouro__binary_length(rows, p->metric_count);
    for (uint32_t m = 0; m < p->metric_count; m++)
        ouro__binary_u64(rows, ouro__short_id(metric_key_of(p, m)));
    ouro__binary_length(rows, p->metric_count);
    for (uint32_t m = 0; m < p->metric_count; m++) {
        int64_t total = 0;
        for (uint32_t n = 1; n < p->node_count; n++) total += p->values[m][n];
        ouro__binary_u64(rows, (uint64_t)total);
    }
}

static bool commit(writer *w, uint64_t id, uint64_t count, error *e) {
    const slice *s = w->s;
    row_writer rows = {0};
    ouro__binary_key(&rows, s->recording);
    ouro__binary_u64(&rows, s->number);
    ouro__binary_u64(&rows, id);
    ouro__binary_u32(&rows, hour_of(s));
    ouro__binary_u64(&rows, s->from);
    ouro__binary_u64(&rows, s->until);
    ouro__binary_u64(&rows, ouro__service_id(s->labels));
    ouro__binary_key(&rows, w->labels);
    ouro__binary_u64(&rows, count);
    put_totals(&rows, s->profile);
    return insert(w->c, "slices",
                  "recording, number, slice, hour, began, ended, service, label_set, samples,"
                  " metrics, totals",
                  &rows, false, e);
}

// ---------------------------------------------------------------- slices

static bool is_committed(clickhouse *c, const slice *s, bool *known, error *e) {
    char hex[33];
    http_answer a;
    for (int i = 0; i < 16; i++) snprintf(hex + 2 * i, 3, "%02X", (unsigned)s->recording.bytes[i]);
    if (!ouro__clickhouse_runf(c, (statement){0}, &a, e,
                               "SELECT count() FROM ouro_slices%s WHERE recording ="
                               " toFixedString(unhex('%s'), 16) AND number = %llu FORMAT RowBinary",
                               ouro__clickhouse_suffix(c), hex, (unsigned long long)s->number))
        return false;
    row_reader r = ouro__binary_of(&a);
    *known = ouro__binary_get_u64(&r) > 0;
    ouro__http_answer_free(&a);
    return !r.damaged || ouro__clickhouse_damaged(e);
}

// The smallest id of two commits counts, so an id is nothing that anybody can choose to be first.
static bool new_id(uint64_t *id, error *e) {
    return getrandom(id, sizeof *id, 0) == sizeof *id ||
           ouro__fail(e, EIO, "the system gives no random numbers");
}

static bool put_once(writer *w, bool *known, error *e) {
    uint64_t id, count;
    if (!is_committed(w->c, w->s, known, e)) return false;
    return *known || (insert_names(w, e) && new_id(&id, e) && insert_samples(w, id, &count, e) &&
                      commit(w, id, count, e));
}

// What passes by itself is tried again, under another id. A commit that arrived although its answer
// did not is found by the question that comes first.
bool ouro__clickhouse_put(void *opened, const slice *s, bool *known, error *e) {
    error last = {0};
    bool was_there = false;
    writer w = {.c = opened,
                .s = s,
                .needed = calloc(s->profile->node_count, 1),
                .used = calloc((size_t)s->profile->block_count + 1, 1)};
    bool ok = (w.needed && w.used) || ouro__fail_memory(&last);
    if (ok) {
        w.labels = ouro__label_set_key(s->labels);
        ouro__mark_needed(s->profile, w.needed);
        mark_used(s->profile, w.needed, w.used);
        ok = put_once(&w, &was_there, &last);
    }
    *known = was_there;
    for (unsigned i = 1; !ok && i < ATTEMPTS && ouro__clickhouse_passing(last.code); i++) {
        ouro__clickhouse_pause(i);
        ok = put_once(&w, &was_there, &last); // there now: by the attempt before
    }
    free(w.needed);
    free(w.used);
    if (!ok && e) *e = last;
    return ok;
}
