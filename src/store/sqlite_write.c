// SPDX-License-Identifier: MIT
//
// A slice is written in one transaction: its blocks and nodes that are new, one row for the slice,
// and for each metric one row with the values of its nodes.

#include "sqlite.h"

#include "keys.h"
#include "packed.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    sqlite_store *f;
    const slice *s;
    int64_t *blocks;       // their numbers here; 0: not asked for yet
    uint64_t *nodes;       // the same; the slice may know some
    unsigned char *needed; // by node: has a value, or a node below it
} writer;

static bool block_id(writer *w, uint32_t b, int64_t *id, error *e) {
    const profile *p = w->s->profile;
    const keys *k = w->s->keys;
    sqlite3_stmt *s;
    if (w->blocks[b]) {
        *id = w->blocks[b];
        return true;
    }
    if (!(s = ouro__sqlite_prepared(w->f, FIND_BLOCK, e))) return false;
    ouro__sqlite_bind_key(s, 1, &k->blocks[b]);
    if (!ouro__sqlite_find(w->f, s, id, e)) return false;
    if (!*id) {
        if (!(s = ouro__sqlite_prepared(w->f, ADD_BLOCK, e))) return false;
        ouro__sqlite_bind_key(s, 1, &k->blocks[b]);
        ouro__sqlite_bind_text(s, 2, ouro__block_name(p, b));
        ouro__sqlite_bind_text(s, 3, ouro__block_file(p, b));
        sqlite3_bind_int64(s, 4, p->blocks[b].line);
        sqlite3_bind_int64(s, 5, p->blocks[b].column);
        if (!ouro__sqlite_add(w->f, s, id, e)) return false;
    }
    w->blocks[b] = *id;
    return true;
}

// Its parent has a number, or is the root.
static bool node_id(writer *w, uint32_t n, error *e) {
    const profile *p = w->s->profile;
    sqlite3_stmt *s = ouro__sqlite_prepared(w->f, FIND_NODE, e);
    int64_t id, block;
    if (!s) return false;
    ouro__sqlite_bind_key(s, 1, &w->s->keys->nodes[n]);
    if (!ouro__sqlite_find(w->f, s, &id, e)) return false;
    w->nodes[n] = (uint64_t)id;
    if (id) return true;
    if (!block_id(w, p->block[n], &block, e) || !(s = ouro__sqlite_prepared(w->f, ADD_NODE, e)))
        return false;
    ouro__sqlite_bind_key(s, 1, &w->s->keys->nodes[n]);
    sqlite3_bind_int64(s, 2, (sqlite3_int64)w->nodes[p->parent[n]]);
    sqlite3_bind_int64(s, 3, block);
    if (!ouro__sqlite_add(w->f, s, &id, e)) return false;
    w->nodes[n] = (uint64_t)id;
    return true;
}

static bool put_nodes(writer *w, error *e) {
    const profile *p = w->s->profile;
    ouro__mark_needed(p, w->needed);
    for (uint32_t n = 1; n < p->node_count; n++) {
        if (w->needed[n] && !w->nodes[n] && !node_id(w, n, e)) return false;
    }
    return true;
}

static bool metric_id(writer *w, uint32_t m, int64_t *id, error *e) {
    const profile *p = w->s->profile;
    for (int i = 0; i < 2; i++) {
        sqlite3_stmt *s = ouro__sqlite_prepared(w->f, i ? ADD_METRIC : FIND_METRIC, e);
        if (!s) return false;
        ouro__sqlite_bind_text(s, 1, ouro__metric_name(p, m));
        ouro__sqlite_bind_text(s, 2, ouro__metric_unit(p, m));
        sqlite3_bind_int64(s, 3, p->metrics[m].decimals);
        if (!(i ? ouro__sqlite_add(w->f, s, id, e) : ouro__sqlite_find(w->f, s, id, e)))
            return false;
        if (*id) break;
    }
    return true;
}

static bool add_samples(writer *w, int64_t slice_id, int64_t metric_number, const packed *p,
                        size_t count, error *e) {
    sqlite3_stmt *s = ouro__sqlite_prepared(w->f, ADD_SAMPLES, e);
    if (!s) return false;
    sqlite3_bind_int64(s, 1, slice_id);
    sqlite3_bind_int64(s, 2, metric_number);
    sqlite3_bind_int64(s, 3, (sqlite3_int64)count);
    sqlite3_bind_blob64(s, 4, p->bytes, p->used, SQLITE_STATIC);
    return ouro__sqlite_run(w->f, s, e);
}

static bool pack_metric(const writer *w, uint32_t m, const order *o, packed *p, size_t *count) {
    const int64_t *values = w->s->profile->values[m];
    int64_t last = 0;
    for (size_t i = 0; i < o->count; i++) {
        uint32_t n = o->nodes[i];
        if (!values[n]) continue;
        int64_t number = (int64_t)w->nodes[n];
        if (!ouro__packed_put(p, number - last, values[n])) return false;
        last = number;
        ++*count;
    }
    return true;
}

static bool put_metric(writer *w, int64_t slice_id, uint32_t m, const order *o, error *e) {
    packed p = {0};
    int64_t metric_number;
    size_t count = 0;
    bool ok = pack_metric(w, m, o, &p, &count) || ouro__fail_memory(e);
    ok = ok && metric_id(w, m, &metric_number, e);
    ok = ok && (!count || add_samples(w, slice_id, metric_number, &p, count, e));
    free(p.bytes);
    return ok;
}

static bool add_label(sqlite_store *f, int64_t set, const label_pair *l, error *e) {
    sqlite3_stmt *s = ouro__sqlite_prepared(f, ADD_LABEL, e);
    if (!s) return false;
    sqlite3_bind_int64(s, 1, set);
    ouro__sqlite_bind_text(s, 2, l->name);
    ouro__sqlite_bind_text(s, 3, l->value);
    return ouro__sqlite_run(f, s, e);
}

static bool label_set_id(sqlite_store *f, const label_set *l, int64_t *id, error *e) {
    key k = ouro__label_set_key(l);
    sqlite3_stmt *s = ouro__sqlite_prepared(f, FIND_LABEL_SET, e);
    if (!s) return false;
    ouro__sqlite_bind_key(s, 1, &k);
    if (!ouro__sqlite_find(f, s, id, e)) return false;
    if (*id) return true;
    if (!(s = ouro__sqlite_prepared(f, ADD_LABEL_SET, e))) return false;
    ouro__sqlite_bind_key(s, 1, &k);
    bool ok = ouro__sqlite_add(f, s, id, e);
    for (size_t i = 0; ok && i < l->count; i++) ok = add_label(f, *id, &l->items[i], e);
    return ok;
}

static bool add_slice(sqlite_store *f, const slice *s, int64_t *id, error *e) {
    int64_t labels;
    if (!label_set_id(f, s->labels, &labels, e)) return false;
    sqlite3_stmt *add = ouro__sqlite_prepared(f, ADD_SLICE, e);
    if (!add) return false;
    ouro__sqlite_bind_key(add, 1, &s->recording);
    sqlite3_bind_int64(add, 2, (sqlite3_int64)s->number);
    sqlite3_bind_int64(add, 3, labels);
    sqlite3_bind_int64(add, 4, (sqlite3_int64)s->from);
    sqlite3_bind_int64(add, 5, (sqlite3_int64)s->until);
    return ouro__sqlite_add(f, add, id, e);
}

static bool put_all(writer *w, error *e) {
    const profile *p = w->s->profile;
    int64_t id;
    order o = {0};
    bool ok = add_slice(w->f, w->s, &id, e) && put_nodes(w, e);
    ok = ok && (ouro__order_make(&o, w->needed, w->nodes, p->node_count) || ouro__fail_memory(e));
    for (uint32_t m = 0; ok && m < p->metric_count; m++) ok = put_metric(w, id, m, &o, e);
    ouro__order_free(&o);
    return ok;
}

static bool is_known(sqlite_store *f, const slice *s, bool *known, error *e) {
    sqlite3_stmt *find = ouro__sqlite_prepared(f, FIND_SLICE, e);
    int64_t id;
    if (!find) return false;
    ouro__sqlite_bind_key(find, 1, &s->recording);
    sqlite3_bind_int64(find, 2, (sqlite3_int64)s->number);
    bool ok = ouro__sqlite_find(f, find, &id, e);
    *known = ok && id;
    return ok;
}

// What is written to a file that has no name any more is lost.
static bool is_in_place(sqlite_store *f, error *e) {
    int moved = 0;
    sqlite3_file_control(f->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    return !moved || ouro__fail(e, ENOENT, "the file was moved or removed while it was open");
}

bool ouro__sqlite_put(void *opened, const slice *s, bool *known, error *e) {
    size_t nodes = s->profile->node_count;
    writer w = {.f = opened,
                .s = s,
                .blocks = calloc((size_t)s->profile->block_count + 1, sizeof *w.blocks),
                .nodes = s->known ? s->known : calloc(nodes, sizeof *w.nodes),
                .needed = calloc(nodes, sizeof *w.needed)};
    bool ok = (w.blocks && w.nodes && w.needed) || ouro__fail_memory(e);
    ok = ok && is_in_place(w.f, e) && ouro__sqlite_run_alone(w.f, BEGIN, e);
    if (ok) {
        ok = is_known(w.f, s, known, e) && (*known || put_all(&w, e)) &&
             ouro__sqlite_run_alone(w.f, COMMIT, e);
        if (!ok) ouro__sqlite_run_alone(w.f, ROLLBACK, NULL);
    }
    if (!ok && s->known) memset(s->known, 0, nodes * sizeof *s->known);
    free(w.blocks);
    free(w.needed);
    if (!s->known) free(w.nodes);
    return ok;
}
