// SPDX-License-Identifier: MIT
//
// The store in one file, by SQLite. Several processes may write; readers do not wait (WAL).
//
//   blocks, nodes   numbered here; their keys are what other machines know
//   label_sets      every set of labels that slices have, with a key of its own
//   slices          one row each, which says when and with which labels
//   samples         per slice and metric one row: the values of its nodes, packed
//   forgotten       the same of slices that are gone, for each recording that goes on
//
// Packed: for each node with a value, in the order of numbers, the difference to the number before
// and the value, both as varints, the value in zigzag. A sample takes some three bytes, and a sum
// over millions of them is a loop, not a query.

#include "engine.h"

#include "keys.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

enum { SCHEMA_VERSION = 1, APPLICATION_ID = 0x4f75726f, BUSY_MILLISECONDS = 30000 }; // "Ouro"

static const char schema[] =
    "CREATE TABLE blocks (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, name TEXT NOT NULL,"
    "  file TEXT NOT NULL, line INTEGER NOT NULL, column INTEGER NOT NULL);"
    "CREATE TABLE nodes (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE,"
    "  parent INTEGER NOT NULL, block INTEGER NOT NULL);" // parent 0: the root
    "CREATE TABLE metrics (id INTEGER PRIMARY KEY, name TEXT NOT NULL, unit TEXT NOT NULL,"
    "  decimals INTEGER NOT NULL, UNIQUE (name, unit, decimals));"
    "CREATE TABLE label_sets (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE);"
    "CREATE TABLE labels (label_set INTEGER NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,"
    "  PRIMARY KEY (label_set, name)) WITHOUT ROWID;"
    "CREATE TABLE slices (id INTEGER PRIMARY KEY, recording BLOB NOT NULL, number INTEGER NOT NULL,"
    "  label_set INTEGER NOT NULL, began INTEGER NOT NULL, ended INTEGER NOT NULL,"
    "  UNIQUE (recording, number));"
    "CREATE INDEX slices_by_time ON slices (ended, label_set);"
    "CREATE TABLE samples (slice INTEGER NOT NULL, metric INTEGER NOT NULL,"
    "  count INTEGER NOT NULL, packed BLOB NOT NULL, PRIMARY KEY (slice, metric)) WITHOUT ROWID;";

// What was forgotten of recordings that go on: who follows one asks for its whole sum.
static const char make_forgotten[] =
    "CREATE TABLE IF NOT EXISTS forgotten (recording BLOB NOT NULL, metric INTEGER NOT NULL,"
    "  packed BLOB NOT NULL, PRIMARY KEY (recording, metric)) WITHOUT ROWID;";

// Statements are prepared when they are first needed.
typedef enum {
    BEGIN,
    COMMIT,
    ROLLBACK,
    FIND_SLICE,
    FIND_BLOCK,
    ADD_BLOCK,
    FIND_NODE,
    ADD_NODE,
    FIND_METRIC,
    ADD_METRIC,
    FIND_LABEL_SET,
    ADD_LABEL_SET,
    ADD_LABEL,
    ADD_SLICE,
    ADD_SAMPLES,
    METRICS,
    LABELS,
    SLICES_BETWEEN,
    COUNTS_BETWEEN,
    SLICES_OF,
    SAMPLES_OF,
    METRIC_OF,
    NODE,
    BLOCK,
    LAST_NODE,
    LAST_BLOCK,
    COUNTS,
    LABEL_COUNTS,
    LABEL_VALUES,
    DROP_SAMPLES,
    DROP_SLICES,
    FORGOTTEN_OF,
    CUT_RECORDINGS,
    CUT_METRICS,
    CUT_SAMPLES,
    FORGET,
    DROP_FORGOTTEN,
    STATEMENTS
} statement;

static const char *const texts_of[STATEMENTS] = {
    [BEGIN] = "BEGIN IMMEDIATE",
    [COMMIT] = "COMMIT",
    [ROLLBACK] = "ROLLBACK",
    [FIND_SLICE] = "SELECT id FROM slices WHERE recording = ? AND number = ?",
    [FIND_BLOCK] = "SELECT id FROM blocks WHERE key = ?",
    [ADD_BLOCK] = "INSERT INTO blocks (key, name, file, line, column) VALUES (?, ?, ?, ?, ?)",
    [FIND_NODE] = "SELECT id FROM nodes WHERE key = ?",
    [ADD_NODE] = "INSERT INTO nodes (key, parent, block) VALUES (?, ?, ?)",
    [FIND_METRIC] = "SELECT id FROM metrics WHERE name = ? AND unit = ? AND decimals = ?",
    [ADD_METRIC] = "INSERT INTO metrics (name, unit, decimals) VALUES (?, ?, ?)",
    [FIND_LABEL_SET] = "SELECT id FROM label_sets WHERE key = ?",
    [ADD_LABEL_SET] = "INSERT INTO label_sets (key) VALUES (?)",
    [ADD_LABEL] = "INSERT INTO labels (label_set, name, value) VALUES (?, ?, ?)",
    [ADD_SLICE] = "INSERT INTO slices (recording, number, label_set, began, ended)"
                  " VALUES (?, ?, ?, ?, ?)",
    [ADD_SAMPLES] = "INSERT INTO samples (slice, metric, count, packed) VALUES (?, ?, ?, ?)",
    [METRICS] = "SELECT id, name, unit, decimals FROM metrics ORDER BY id",
    [LABELS] = "SELECT id, name, value FROM label_sets LEFT JOIN labels ON label_set = id"
               " ORDER BY id",
    [SLICES_BETWEEN] = "SELECT id, label_set, ended FROM slices"
                       " WHERE ended > ? AND ended <= ? ORDER BY id",
    [COUNTS_BETWEEN] = "SELECT label_set, count(*), min(ended), max(ended) FROM slices"
                       " WHERE ended > ? AND ended <= ? GROUP BY label_set",
    [SLICES_OF] = "SELECT id, number FROM slices WHERE recording = ? ORDER BY number",
    [SAMPLES_OF] = "SELECT metric, packed FROM samples WHERE slice = ?",
    [METRIC_OF] = "SELECT packed FROM samples WHERE slice = ? AND metric = ?",
    [NODE] = "SELECT key, parent, block FROM nodes WHERE id = ?",
    [BLOCK] = "SELECT key, name, file, line, column FROM blocks WHERE id = ?",
    [LAST_NODE] = "SELECT max(id) FROM nodes",
    [LAST_BLOCK] = "SELECT max(id) FROM blocks",
    [COUNTS] =
        "SELECT (SELECT count(DISTINCT recording) FROM slices), (SELECT count(*) FROM slices),"
        " (SELECT total(count) FROM samples), (SELECT count(*) FROM nodes),"
        " (SELECT count(*) FROM blocks), (SELECT min(began) FROM slices),"
        " (SELECT max(ended) FROM slices), (SELECT page_count * page_size FROM"
        " pragma_page_count, pragma_page_size)",
    [LABEL_COUNTS] = "SELECT name, value, sum(n) FROM (SELECT label_set, count(*) AS n FROM slices"
                     " GROUP BY label_set) JOIN labels USING (label_set) GROUP BY name, value"
                     " ORDER BY name, sum(n) DESC, value",
    [LABEL_VALUES] = "SELECT count(*) FROM (SELECT DISTINCT name, value FROM labels)",
    [DROP_SAMPLES] = "DELETE FROM samples WHERE slice IN (SELECT id FROM slices WHERE ended < ?)",
    [DROP_SLICES] = "DELETE FROM slices WHERE ended < ?",
    [FORGOTTEN_OF] = "SELECT metric, packed FROM forgotten WHERE recording = ?",
    [CUT_RECORDINGS] = "SELECT DISTINCT recording FROM slices WHERE ended < ?1 AND recording IN"
                       " (SELECT recording FROM slices WHERE ended >= ?1)",
    [CUT_METRICS] = "SELECT DISTINCT metric FROM samples JOIN slices ON id = slice"
                    " WHERE recording = ?2 AND ended < ?1",
    [CUT_SAMPLES] = "SELECT packed FROM samples JOIN slices ON id = slice"
                    " WHERE recording = ?2 AND ended < ?1 AND metric = ?3 UNION ALL"
                    " SELECT packed FROM forgotten WHERE recording = ?2 AND metric = ?3",
    [FORGET] = "INSERT OR REPLACE INTO forgotten (recording, metric, packed) VALUES (?, ?, ?)",
    [DROP_FORGOTTEN] = "DELETE FROM forgotten WHERE recording NOT IN"
                       " (SELECT recording FROM slices)",
};

typedef struct {
    sqlite3 *db;
    sqlite3_stmt *prepared[STATEMENTS];
} file_store;

// ---------------------------------------------------------------- statements

static bool failed(const file_store *f, error *e) {
    int code = sqlite3_errcode(f->db);
    const char *hint = code == SQLITE_BUSY ? "; another process keeps it locked" : "";
    return ouro__fail(e, code == SQLITE_FULL ? ENOSPC : EIO, "%s%s", sqlite3_errmsg(f->db), hint);
}

// Ready for new parameters. NULL: failed.
static sqlite3_stmt *prepared(file_store *f, statement s, error *e) {
    sqlite3_stmt **p = &f->prepared[s];
    if (!*p && sqlite3_prepare_v3(f->db, texts_of[s], -1, SQLITE_PREPARE_PERSISTENT, p, NULL)) {
        failed(f, e);
        return NULL;
    }
    sqlite3_reset(*p);
    return *p;
}

// Goes to the next row. *row: there is one. After the last, the statement is reset.
static bool next_row(const file_store *f, sqlite3_stmt *s, bool *row, error *e) {
    int result = sqlite3_step(s);
    *row = result == SQLITE_ROW;
    if (*row) return true;
    bool ok = result == SQLITE_DONE || failed(f, e);
    sqlite3_reset(s);
    return ok;
}

// For statements without rows.
static bool run(file_store *f, sqlite3_stmt *s, error *e) {
    bool row = false;
    return s && next_row(f, s, &row, e);
}

static bool run_alone(file_store *f, statement s, error *e) { return run(f, prepared(f, s, e), e); }

static void bind_key(sqlite3_stmt *s, int at, const key *k) {
    sqlite3_bind_blob(s, at, k->bytes, sizeof k->bytes, SQLITE_STATIC);
}

// Texts may hold anything, a NUL is their end.
static void bind_text(sqlite3_stmt *s, int at, const char *text) {
    sqlite3_bind_text(s, at, text, -1, SQLITE_STATIC);
}

static const char *text_at(sqlite3_stmt *s, int at) {
    const char *text = (const char *)sqlite3_column_text(s, at);
    return text ? text : "";
}

static bool key_at(sqlite3_stmt *s, int at, key *k) {
    if (sqlite3_column_bytes(s, at) != sizeof k->bytes) return false;
    memcpy(k->bytes, sqlite3_column_blob(s, at), sizeof k->bytes);
    return true;
}

// The first column of the only row; 0: there is none.
static bool find_id(file_store *f, sqlite3_stmt *s, int64_t *id, error *e) {
    bool row;
    if (!s || !next_row(f, s, &row, e)) return false;
    *id = row ? sqlite3_column_int64(s, 0) : 0;
    if (row) sqlite3_reset(s);
    return true;
}

static bool add_row(file_store *f, sqlite3_stmt *s, int64_t *id, error *e) {
    if (!run(f, s, e)) return false;
    *id = sqlite3_last_insert_rowid(f->db);
    return true;
}

// ---------------------------------------------------------------- opening

static void close_file(void *opened) {
    file_store *f = opened;
    for (int i = 0; i < STATEMENTS; i++) sqlite3_finalize(f->prepared[i]);
    sqlite3_close(f->db);
    free(f);
}

static void patience(void *opened, uint32_t milliseconds) {
    sqlite3_busy_timeout(((file_store *)opened)->db, (int)milliseconds);
}

static bool pragma(file_store *f, const char *text, int64_t *value, error *e) {
    sqlite3_stmt *s = NULL;
    if (sqlite3_prepare_v2(f->db, text, -1, &s, NULL)) return failed(f, e);
    bool ok = find_id(f, s, value, e);
    sqlite3_finalize(s);
    return ok;
}

static bool execute(file_store *f, const char *text, error *e) {
    return sqlite3_exec(f->db, text, NULL, NULL, NULL) == SQLITE_OK || failed(f, e);
}

// Two processes may begin the same file: the second finds it made.
static bool make_schema(file_store *f, error *e) {
    int64_t version = 0;
    char finish[96];
    sqlite3_snprintf(sizeof finish, finish, "PRAGMA user_version=%d; PRAGMA application_id=%d;",
                     SCHEMA_VERSION, APPLICATION_ID);
    if (!run_alone(f, BEGIN, e)) return false;
    bool ok = pragma(f, "PRAGMA user_version", &version, e) &&
              (version || (execute(f, schema, e) && execute(f, finish, e))) &&
              execute(f, make_forgotten, e);
    return run_alone(f, ok ? COMMIT : ROLLBACK, ok ? e : NULL) && ok;
}

static bool check_schema(file_store *f, bool make, error *e) {
    int64_t application, version, tables;
    // Tables first: another process may be making them, and what says whose they are comes with
    // them, not later.
    if (!pragma(f, "SELECT count(*) FROM sqlite_master", &tables, e) ||
        !pragma(f, "PRAGMA application_id", &application, e) ||
        !pragma(f, "PRAGMA user_version", &version, e))
        return false;
    if (tables == 0 && make) return make_schema(f, e);
    if (application != APPLICATION_ID)
        return ouro__fail(e, EILSEQ, "not a store of ouro: it is a database of another program");
    if (version != SCHEMA_VERSION)
        return ouro__fail(e, EILSEQ, "a store of version %lld, this is a program for version %d%s",
                          (long long)version, SCHEMA_VERSION,
                          version > SCHEMA_VERSION ? ": use a newer ouro" : "");
    // A store of the first days does not have it.
    return !make ||
           (pragma(f, "SELECT count(*) FROM sqlite_master WHERE name = 'forgotten'", &tables, e) &&
            (tables || make_schema(f, e)));
}

// SQLite does not wait by itself for another process that changes the mode at the same moment.
static bool use_log(file_store *f, error *e) {
    enum { PAUSE_MILLISECONDS = 10 };
    for (int waited = 0;; waited += PAUSE_MILLISECONDS) {
        int64_t unused;
        bool last = waited >= BUSY_MILLISECONDS;
        if (pragma(f, "PRAGMA journal_mode=WAL", &unused, last ? e : NULL)) return true;
        if (last || sqlite3_errcode(f->db) != SQLITE_BUSY) return failed(f, e);
        sqlite3_sleep(PAUSE_MILLISECONDS);
    }
}

static void *open_file(const char *url, bool make, error *e) {
    const char *path = strncmp(url, "sqlite:", 7) == 0 ? url + 7 : url;
    file_store *f = calloc(1, sizeof *f);
    if (!f) {
        ouro__error_memory(e);
        return NULL;
    }
    int flags = SQLITE_OPEN_READWRITE | (make ? SQLITE_OPEN_CREATE : 0);
    if (sqlite3_open_v2(path, &f->db, flags, NULL) != SQLITE_OK) {
        ouro__error_set(e, ENOENT, "%s%s", f->db ? sqlite3_errmsg(f->db) : "out of memory",
                        make ? "" : "; `ouro push --store` makes one");
    } else {
        sqlite3_busy_timeout(f->db, BUSY_MILLISECONDS);
        if ((!make || use_log(f, e)) && execute(f, "PRAGMA synchronous=NORMAL", e) &&
            check_schema(f, make, e))
            return f;
    }
    close_file(f);
    return NULL;
}

// ---------------------------------------------------------------- packed values

typedef struct {
    int64_t node, value;
} sample;

typedef struct {
    unsigned char *bytes;
    size_t used, room;
} packed;

enum { VARINT_MOST = 10 };

static void put_varint(packed *p, uint64_t n) {
    for (; n >= 128; n >>= 7) p->bytes[p->used++] = (unsigned char)(n | 128);
    p->bytes[p->used++] = (unsigned char)n;
}

static bool put_sample(packed *p, int64_t last, const sample *s) {
    if (p->room - p->used < 2 * VARINT_MOST) {
        size_t room = p->room * 2 + 4096;
        unsigned char *bytes = realloc(p->bytes, room);
        if (!bytes) return false;
        p->bytes = bytes;
        p->room = room;
    }
    put_varint(p, (uint64_t)(s->node - last));
    put_varint(p, (uint64_t)s->value << 1 ^ (uint64_t)(s->value >> 63));
    return true;
}

static bool get_varint(const unsigned char **at, const unsigned char *end, uint64_t *n) {
    *n = 0;
    for (int shift = 0; *at < end && shift < 64; shift += 7) {
        unsigned char byte = *(*at)++;
        *n |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) return true;
    }
    return false;
}

// The sums by number of a node, a column per metric.
typedef struct {
    int64_t *values;
    int64_t node_count;
    size_t metric_count;
} sums;

static bool add_packed(sums *s, size_t m, const unsigned char *at, size_t size, error *e) {
    const unsigned char *end = at + size;
    int64_t *values = s->values + m * (size_t)s->node_count;
    uint64_t node = 0, step, zigzag;
    while (at < end) {
        if (!get_varint(&at, end, &step) || !get_varint(&at, end, &zigzag) ||
            step >= (uint64_t)s->node_count - node)
            return ouro__fail(e, EILSEQ,
                              "the store is damaged: samples of nodes that are not there");
        node += step;
        int64_t value = (int64_t)(zigzag >> 1) ^ -(int64_t)(zigzag & 1);
        if (__builtin_add_overflow(values[node], value, &values[node]))
            return ouro__fail(e, EOVERFLOW, "the sum needs more than 63 bits");
    }
    return true;
}

// ---------------------------------------------------------------- writing

typedef struct {
    file_store *f;
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
    if (!(s = prepared(w->f, FIND_BLOCK, e))) return false;
    bind_key(s, 1, &k->blocks[b]);
    if (!find_id(w->f, s, id, e)) return false;
    if (!*id) {
        if (!(s = prepared(w->f, ADD_BLOCK, e))) return false;
        bind_key(s, 1, &k->blocks[b]);
        bind_text(s, 2, ouro__block_name(p, b));
        bind_text(s, 3, ouro__block_file(p, b));
        sqlite3_bind_int64(s, 4, p->blocks[b].line);
        sqlite3_bind_int64(s, 5, p->blocks[b].column);
        if (!add_row(w->f, s, id, e)) return false;
    }
    w->blocks[b] = *id;
    return true;
}

// Its parent has a number, or is the root.
static bool node_id(writer *w, uint32_t n, error *e) {
    const profile *p = w->s->profile;
    sqlite3_stmt *s = prepared(w->f, FIND_NODE, e);
    int64_t id, block;
    if (!s) return false;
    bind_key(s, 1, &w->s->keys->nodes[n]);
    if (!find_id(w->f, s, &id, e)) return false;
    w->nodes[n] = (uint64_t)id;
    if (id) return true;
    if (!block_id(w, p->block[n], &block, e) || !(s = prepared(w->f, ADD_NODE, e))) return false;
    bind_key(s, 1, &w->s->keys->nodes[n]);
    sqlite3_bind_int64(s, 2, (sqlite3_int64)w->nodes[p->parent[n]]);
    sqlite3_bind_int64(s, 3, block);
    if (!add_row(w->f, s, &id, e)) return false;
    w->nodes[n] = (uint64_t)id;
    return true;
}

// Marks the nodes that have a value, and what is above them.
static void mark_needed(const profile *p, unsigned char *needed) {
    for (uint32_t n = p->node_count; n-- > 1;) {
        for (uint32_t m = 0; m < p->metric_count && !needed[n]; m++)
            needed[n] = p->values[m][n] != 0;
        if (needed[n]) needed[p->parent[n]] = 1;
    }
}

static bool put_nodes(writer *w, error *e) {
    const profile *p = w->s->profile;
    mark_needed(p, w->needed);
    for (uint32_t n = 1; n < p->node_count; n++) {
        if (w->needed[n] && !w->nodes[n] && !node_id(w, n, e)) return false;
    }
    return true;
}

static bool metric_id(writer *w, uint32_t m, int64_t *id, error *e) {
    const profile *p = w->s->profile;
    for (int i = 0; i < 2; i++) {
        sqlite3_stmt *s = prepared(w->f, i ? ADD_METRIC : FIND_METRIC, e);
        if (!s) return false;
        bind_text(s, 1, ouro__metric_name(p, m));
        bind_text(s, 2, ouro__metric_unit(p, m));
        sqlite3_bind_int64(s, 3, p->metrics[m].decimals);
        if (!(i ? add_row(w->f, s, id, e) : find_id(w->f, s, id, e))) return false;
        if (*id) break;
    }
    return true;
}

// Nodes of the profile in the order of their numbers here, for all metrics.
typedef struct {
    uint32_t *nodes, *spare;
    size_t count;
} order;

// By one byte of the number, stable. Most often all have the same, and nothing moves.
static void sort_by_byte(order *o, const uint64_t *numbers, int shift) {
    size_t starts[257] = {0};
    for (size_t i = 0; i < o->count; i++) starts[(numbers[o->nodes[i]] >> shift & 255) + 1]++;
    for (int d = 0; d < 256; d++) {
        if (starts[d + 1] == o->count) return;
        starts[d + 1] += starts[d];
    }
    for (size_t i = 0; i < o->count; i++)
        o->spare[starts[numbers[o->nodes[i]] >> shift & 255]++] = o->nodes[i];
    uint32_t *sorted = o->spare;
    o->spare = o->nodes;
    o->nodes = sorted;
}

static bool order_init(order *o, const writer *w) {
    uint32_t count = w->s->profile->node_count;
    uint64_t all = 0;
    *o = (order){malloc(count * sizeof *o->nodes), malloc(count * sizeof *o->spare), 0};
    if (!o->nodes || !o->spare) return false;
    for (uint32_t n = 1; n < count; n++) {
        if (!w->needed[n]) continue;
        all |= w->nodes[n];
        o->nodes[o->count++] = n;
    }
    for (int shift = 0; shift < 64 && all >> shift; shift += 8) sort_by_byte(o, w->nodes, shift);
    return true;
}

static void order_free(order *o) {
    free(o->nodes);
    free(o->spare);
}

static bool add_samples(writer *w, int64_t slice_id, int64_t metric_number, const packed *p,
                        size_t count, error *e) {
    sqlite3_stmt *s = prepared(w->f, ADD_SAMPLES, e);
    if (!s) return false;
    sqlite3_bind_int64(s, 1, slice_id);
    sqlite3_bind_int64(s, 2, metric_number);
    sqlite3_bind_int64(s, 3, (sqlite3_int64)count);
    sqlite3_bind_blob64(s, 4, p->bytes, p->used, SQLITE_STATIC);
    return run(w->f, s, e);
}

static bool pack_metric(const writer *w, uint32_t m, const order *o, packed *p, size_t *count) {
    const int64_t *values = w->s->profile->values[m];
    int64_t last = 0;
    for (size_t i = 0; i < o->count; i++) {
        uint32_t n = o->nodes[i];
        if (!values[n]) continue;
        sample s = {(int64_t)w->nodes[n], values[n]};
        if (!put_sample(p, last, &s)) return false;
        last = s.node;
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

static bool add_label(file_store *f, int64_t set, const label_pair *l, error *e) {
    sqlite3_stmt *s = prepared(f, ADD_LABEL, e);
    if (!s) return false;
    sqlite3_bind_int64(s, 1, set);
    bind_text(s, 2, l->name);
    bind_text(s, 3, l->value);
    return run(f, s, e);
}

static bool label_set_id(file_store *f, const label_set *l, int64_t *id, error *e) {
    key k = ouro__label_set_key(l);
    sqlite3_stmt *s = prepared(f, FIND_LABEL_SET, e);
    if (!s) return false;
    bind_key(s, 1, &k);
    if (!find_id(f, s, id, e)) return false;
    if (*id) return true;
    if (!(s = prepared(f, ADD_LABEL_SET, e))) return false;
    bind_key(s, 1, &k);
    bool ok = add_row(f, s, id, e);
    for (size_t i = 0; ok && i < l->count; i++) ok = add_label(f, *id, &l->items[i], e);
    return ok;
}

static bool add_slice(file_store *f, const slice *s, int64_t *id, error *e) {
    int64_t labels;
    if (!label_set_id(f, s->labels, &labels, e)) return false;
    sqlite3_stmt *add = prepared(f, ADD_SLICE, e);
    if (!add) return false;
    bind_key(add, 1, &s->recording);
    sqlite3_bind_int64(add, 2, (sqlite3_int64)s->number);
    sqlite3_bind_int64(add, 3, labels);
    sqlite3_bind_int64(add, 4, (sqlite3_int64)s->from);
    sqlite3_bind_int64(add, 5, (sqlite3_int64)s->until);
    return add_row(f, add, id, e);
}

static bool put_all(writer *w, error *e) {
    const profile *p = w->s->profile;
    int64_t id;
    order o = {0};
    bool ok = add_slice(w->f, w->s, &id, e) && put_nodes(w, e);
    ok = ok && (order_init(&o, w) || ouro__fail_memory(e));
    for (uint32_t m = 0; ok && m < p->metric_count; m++) ok = put_metric(w, id, m, &o, e);
    order_free(&o);
    return ok;
}

static bool is_known(file_store *f, const slice *s, bool *known, error *e) {
    sqlite3_stmt *find = prepared(f, FIND_SLICE, e);
    int64_t id;
    if (!find) return false;
    bind_key(find, 1, &s->recording);
    sqlite3_bind_int64(find, 2, (sqlite3_int64)s->number);
    bool ok = find_id(f, find, &id, e);
    *known = ok && id;
    return ok;
}

// What is written to a file that has no name any more is lost.
static bool is_in_place(file_store *f, error *e) {
    int moved = 0;
    sqlite3_file_control(f->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    return !moved || ouro__fail(e, ENOENT, "the file was moved or removed while it was open");
}

static bool put(void *opened, const slice *s, bool *known, error *e) {
    size_t nodes = s->profile->node_count;
    writer w = {.f = opened,
                .s = s,
                .blocks = calloc((size_t)s->profile->block_count + 1, sizeof *w.blocks),
                .nodes = s->known ? s->known : calloc(nodes, sizeof *w.nodes),
                .needed = calloc(nodes, sizeof *w.needed)};
    bool ok = (w.blocks && w.nodes && w.needed) || ouro__fail_memory(e);
    ok = ok && is_in_place(w.f, e) && run_alone(w.f, BEGIN, e);
    if (ok) {
        ok = is_known(w.f, s, known, e) && (*known || put_all(&w, e)) && run_alone(w.f, COMMIT, e);
        if (!ok) run_alone(w.f, ROLLBACK, NULL);
    }
    if (!ok && s->known) memset(s->known, 0, nodes * sizeof *s->known);
    free(w.blocks);
    free(w.needed);
    if (!s->known) free(w.nodes);
    return ok;
}

// ---------------------------------------------------------------- reading

typedef struct {
    int64_t parent, block; // numbers
    key key;
    bool needed; // it has a value, or a node below it
} node_row;

typedef struct {
    file_store *f;
    answer *a;
    sums sums;
    int64_t metric_ids[METRICS_MAX]; // by column
    uint32_t numbers[METRICS_MAX];   // in the answer
    node_row *nodes;                 // by number
    key *blocks;                     // by number; told if it is not zero
    int64_t block_count;
} reader;

static bool read_metrics(reader *r, error *e) {
    sqlite3_stmt *s = prepared(r->f, METRICS, e);
    bool row, ok = s && next_row(r->f, s, &row, e);
    for (; ok && row; ok = next_row(r->f, s, &row, e)) {
        size_t m = r->sums.metric_count;
        if (m == METRICS_MAX)
            return ouro__fail(e, E2BIG, "the store has more than %d metrics", METRICS_MAX);
        r->metric_ids[m] = sqlite3_column_int64(s, 0);
        if (!ouro__answer_metric(r->a, text_at(s, 1), text_at(s, 2),
                                 (uint32_t)sqlite3_column_int64(s, 3), &r->numbers[m]))
            return ouro__fail_memory(e);
        r->sums.metric_count++;
    }
    return ok;
}

static bool reader_init(reader *r, file_store *f, answer *a, error *e) {
    int64_t last_node, last_block;
    *r = (reader){.f = f, .a = a};
    if (!read_metrics(r, e) || !find_id(f, prepared(f, LAST_NODE, e), &last_node, e) ||
        !find_id(f, prepared(f, LAST_BLOCK, e), &last_block, e))
        return false;
    r->sums.node_count = last_node + 1;
    r->block_count = last_block + 1;
    r->sums.values = calloc((size_t)r->sums.node_count * (r->sums.metric_count + 1), 8);
    r->nodes = calloc((size_t)r->sums.node_count, sizeof *r->nodes);
    r->blocks = calloc((size_t)r->block_count, sizeof *r->blocks);
    return (r->sums.values && r->nodes && r->blocks) || ouro__fail_memory(e);
}

static void reader_free(reader *r) {
    free(r->sums.values);
    free(r->nodes);
    free(r->blocks);
}

// Rows of a metric and its packed values.
static bool add_samples_of(reader *r, sqlite3_stmt *s, error *e) {
    bool row, ok = next_row(r->f, s, &row, e);
    for (; ok && row; ok = ok && next_row(r->f, s, &row, e)) {
        size_t m = 0;
        while (m < r->sums.metric_count && r->metric_ids[m] != sqlite3_column_int64(s, 0)) m++;
        if (m == r->sums.metric_count) continue; // newer than our list
        ok = add_packed(&r->sums, m, sqlite3_column_blob(s, 1), (size_t)sqlite3_column_bytes(s, 1),
                        e);
    }
    sqlite3_reset(s);
    return ok;
}

static bool add_slice_to(reader *r, int64_t id, error *e) {
    sqlite3_stmt *s = prepared(r->f, SAMPLES_OF, e);
    if (!s) return false;
    sqlite3_bind_int64(s, 1, id);
    return add_samples_of(r, s, e);
}

static bool add_forgotten(reader *r, const key *recording, error *e) {
    sqlite3_stmt *s = prepared(r->f, FORGOTTEN_OF, e);
    if (!s) return false;
    bind_key(s, 1, recording);
    return add_samples_of(r, s, e);
}

static bool damaged(error *e, const char *what, int64_t id) {
    return ouro__fail(e, EILSEQ, "the store is damaged: there is no %s %lld", what, (long long)id);
}

static bool tell_block(reader *r, int64_t id, error *e) {
    sqlite3_stmt *s = prepared(r->f, BLOCK, e);
    bool row;
    if (!s) return false;
    sqlite3_bind_int64(s, 1, id);
    if (!next_row(r->f, s, &row, e)) return false;
    if (!row || !key_at(s, 0, &r->blocks[id])) return damaged(e, "block", id);
    bool ok = ouro__answer_block(r->a, r->blocks[id], text_at(s, 1), text_at(s, 2),
                                 (uint32_t)sqlite3_column_int64(s, 3),
                                 (uint32_t)sqlite3_column_int64(s, 4));
    sqlite3_reset(s);
    return ok || ouro__fail_memory(e);
}

// A node was added after its parent, so its number is larger: no path goes round.
static bool read_node(reader *r, int64_t id, error *e) {
    sqlite3_stmt *s = prepared(r->f, NODE, e);
    node_row *n = &r->nodes[id];
    bool row;
    if (!s) return false;
    sqlite3_bind_int64(s, 1, id);
    if (!next_row(r->f, s, &row, e)) return false;
    if (!row || !key_at(s, 0, &n->key)) return damaged(e, "node", id);
    n->parent = sqlite3_column_int64(s, 1);
    n->block = sqlite3_column_int64(s, 2);
    sqlite3_reset(s);
    if (n->parent < 0 || n->parent >= id) return damaged(e, "parent of node", id);
    if (n->block < 1 || n->block >= r->block_count) return damaged(e, "block of node", id);
    r->nodes[n->parent].needed = true;
    return true;
}

static int64_t sum_at(const reader *r, size_t m, int64_t node) {
    return r->sums.values[m * (size_t)r->sums.node_count + (size_t)node];
}

static bool has_value(const reader *r, int64_t node) {
    bool any = false;
    for (size_t m = 0; m < r->sums.metric_count && !any; m++) any = sum_at(r, m, node) != 0;
    return any;
}

static bool tell_node(reader *r, int64_t id, error *e) {
    const node_row *n = &r->nodes[id];
    key none = {{0}};
    if (memcmp(&r->blocks[n->block], &none, sizeof none) == 0 && !tell_block(r, n->block, e))
        return false;
    bool ok = ouro__answer_node(r->a, n->key, r->nodes[n->parent].key, r->blocks[n->block]);
    for (size_t m = 0; ok && m < r->sums.metric_count; m++) {
        int64_t value = sum_at(r, m, id);
        ok = !value || ouro__answer_value(r->a, r->numbers[m], n->key, value);
    }
    return ok || ouro__fail_memory(e);
}

// From the last node to the first, so that it is known which parents are needed; then from the
// first to the last.
static bool tell_sums(reader *r, error *e) {
    bool ok = true;
    for (int64_t id = r->sums.node_count - 1; ok && id > 0; id--) {
        r->nodes[id].needed |= has_value(r, id);
        if (r->nodes[id].needed) ok = read_node(r, id, e);
    }
    for (int64_t id = 1; ok && id < r->sums.node_count; id++)
        ok = !r->nodes[id].needed || tell_node(r, id, e);
    return ok;
}

// ---------------------------------------------------------------- small paths

typedef struct {
    double share;
    int64_t node;
} ranked;

static int by_share(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->share != y->share) return x->share > y->share ? -1 : 1;
    return x->node < y->node ? -1 : 1;
}

static double absolute(int64_t value) { return value < 0 ? -(double)value : (double)value; }

static double total_of(const reader *r, size_t m) {
    double total = 0;
    for (int64_t id = 1; id < r->sums.node_count; id++) total += absolute(sum_at(r, m, id));
    return total;
}

// The nodes with values, with their largest share of any metric, the largest first.
static size_t rank_nodes(const reader *r, ranked *list) {
    size_t count = 0;
    for (int64_t id = 1; id < r->sums.node_count; id++) {
        if (has_value(r, id)) list[count++] = (ranked){0, id};
    }
    for (size_t m = 0; m < r->sums.metric_count; m++) {
        double total = total_of(r, m);
        for (size_t i = 0; total > 0 && i < count; i++) {
            double share = absolute(sum_at(r, m, list[i].node)) / total;
            if (share > list[i].share) list[i].share = share;
        }
    }
    qsort(list, count, sizeof *list, by_share);
    return count;
}

// Moves the values of a node to the block [small].
static bool move_to_small(reader *r, int64_t *small, int64_t node, error *e) {
    for (size_t m = 0; m < r->sums.metric_count; m++) {
        int64_t *value = &r->sums.values[m * (size_t)r->sums.node_count + (size_t)node];
        if (__builtin_add_overflow(small[m], *value, &small[m]))
            return ouro__fail(e, EOVERFLOW, "the sum needs more than 63 bits");
        *value = 0;
    }
    return true;
}

static bool tell_small(reader *r, const int64_t *small, error *e) {
    key block = ouro__block_key("[small]", "", 0, 0), node = ouro__node_key((key){{0}}, block);
    bool ok = ouro__answer_block(r->a, block, "[small]", "", 0, 0) &&
              ouro__answer_node(r->a, node, (key){{0}}, block);
    for (size_t m = 0; ok && m < r->sums.metric_count; m++)
        ok = !small[m] || ouro__answer_value(r->a, r->numbers[m], node, small[m]);
    return ok || ouro__fail_memory(e);
}

// More paths than were asked for: the smallest become one block, so that all totals stay.
static bool cut_small(reader *r, uint32_t most, error *e) {
    int64_t small[METRICS_MAX] = {0};
    if (!most) return true;
    ranked *list = malloc((size_t)r->sums.node_count * sizeof *list);
    if (!list) return ouro__fail_memory(e);
    size_t count = rank_nodes(r, list);
    bool ok = true;
    for (size_t i = most; ok && i < count; i++) ok = move_to_small(r, small, list[i].node, e);
    free(list);
    return ok && (count <= most || tell_small(r, small, e));
}

// ---------------------------------------------------------------- asking

// By number of a label set: do its labels fit the choice? For a chart, the number of the value that
// it has of one label.
typedef struct {
    const choice *choice;
    charting *chart; // NULL: none
    const char *label;
    unsigned char *fits;
    uint32_t *values;
    int64_t count;
} chosen;

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

static bool judge(chosen *to, int64_t id, const label_set *l) {
    if (id < 0 || !room_for_set(to, id)) return id < 0;
    choice labels = *to->choice;
    labels.since = labels.until = 0;
    to->fits[id] = ouro__choice_holds(&labels, l, 0);
    if (!to->chart || !to->fits[id]) return true;
    const char *value = to->label ? ouro__label_set_get(l, to->label) : NULL;
    return ouro__charting_value(to->chart, value, &to->values[id]);
}

// Labels come set by set; a set without labels is one row without a name.
static bool choose_label_sets(file_store *f, chosen *to, error *e) {
    sqlite3_stmt *s = prepared(f, LABELS, e);
    label_set l = {0};
    int64_t at = 0;
    bool row, ok = s && next_row(f, s, &row, e);
    while (ok) {
        int64_t id = row ? sqlite3_column_int64(s, 0) : 0;
        if (at && id != at) {
            ok = judge(to, at, &l) || ouro__fail_memory(e);
            ouro__label_set_free(&l);
        }
        if (!row || !ok) break;
        at = id;
        if (sqlite3_column_type(s, 1) != SQLITE_NULL)
            ok = ouro__label_set_put(&l, text_at(s, 1), text_at(s, 2)) || ouro__fail_memory(e);
        ok = ok && next_row(f, s, &row, e);
    }
    ouro__label_set_free(&l);
    if (s) sqlite3_reset(s);
    return ok;
}

static void chosen_free(chosen *c) {
    free(c->fits);
    free(c->values);
}

static bool is_chosen(const chosen *sets, int64_t set) {
    return set >= 0 && set < sets->count && sets->fits[set];
}

// A statement with the choice's stretch of time as its first two parameters. NULL: failed.
static sqlite3_stmt *between(file_store *f, statement which, const choice *c, error *e) {
    sqlite3_stmt *s = prepared(f, which, e);
    if (!s) return NULL;
    sqlite3_bind_int64(s, 1, (sqlite3_int64)c->since);
    sqlite3_bind_int64(s, 2, c->until ? (sqlite3_int64)c->until : INT64_MAX);
    return s;
}

static bool add_chosen(reader *r, const chosen *sets, error *e) {
    const choice *c = sets->choice;
    sqlite3_stmt *s = between(r->f, SLICES_BETWEEN, c, e);
    if (!s) return false;
    bool row, ok = next_row(r->f, s, &row, e);
    for (; ok && row; ok = ok && next_row(r->f, s, &row, e)) {
        bool fits = c->term_count == 0 || is_chosen(sets, sqlite3_column_int64(s, 1));
        if (fits) ok = add_slice_to(r, sqlite3_column_int64(s, 0), e);
    }
    sqlite3_reset(s);
    return ok;
}

// One transaction, so that a slice that comes meanwhile is seen whole or not at all.
static bool ask(void *opened, const choice *c, answer *a, error *e) {
    file_store *f = opened;
    reader r = {0};
    chosen sets = {.choice = c};
    if (!execute(f, "BEGIN", e)) return false;
    bool ok = reader_init(&r, f, a, e) && (!c->term_count || choose_label_sets(f, &sets, e)) &&
              add_chosen(&r, &sets, e) && cut_small(&r, c->paths_most, e) && tell_sums(&r, e);
    chosen_free(&sets);
    reader_free(&r);
    execute(f, "COMMIT", NULL);
    return ok;
}

static bool recorded(void *opened, key recording, uint64_t *next, answer *a, error *e) {
    file_store *f = opened;
    reader r = {0};
    *next = 0;
    if (!execute(f, "BEGIN", e)) return false;
    sqlite3_stmt *s = prepared(f, SLICES_OF, e);
    if (s) bind_key(s, 1, &recording);
    bool row, ok = s && reader_init(&r, f, a, e) && next_row(f, s, &row, e);
    for (; ok && row; ok = ok && next_row(f, s, &row, e)) {
        *next = (uint64_t)sqlite3_column_int64(s, 1) + 1;
        ok = add_slice_to(&r, sqlite3_column_int64(s, 0), e);
    }
    ok = ok && add_forgotten(&r, &recording, e) && tell_sums(&r, e);
    reader_free(&r);
    execute(f, "COMMIT", NULL);
    return ok;
}

// ---------------------------------------------------------------- charts

typedef struct {
    file_store *f;
    const series_question *question;
    int64_t metric;
    chosen sets;
    bool by_step; // the second pass
} charter;

static bool sum_packed(const unsigned char *at, size_t size, int64_t *sum, error *e) {
    const unsigned char *end = at + size;
    uint64_t step, zigzag;
    for (*sum = 0; at < end;) {
        if (!get_varint(&at, end, &step) || !get_varint(&at, end, &zigzag))
            return ouro__fail(e, EILSEQ, "the store is damaged: samples end in the middle");
        int64_t value = (int64_t)(zigzag >> 1) ^ -(int64_t)(zigzag & 1);
        if (__builtin_add_overflow(*sum, value, sum))
            return ouro__fail(e, EOVERFLOW, "the sum needs more than 63 bits");
    }
    return true;
}

static bool slice_sum(charter *c, int64_t id, int64_t *sum, error *e) {
    sqlite3_stmt *s = prepared(c->f, METRIC_OF, e);
    bool row;
    *sum = 0;
    if (!s) return false;
    sqlite3_bind_int64(s, 1, id);
    sqlite3_bind_int64(s, 2, c->metric);
    bool ok = next_row(c->f, s, &row, e);
    if (ok && row)
        ok = sum_packed(sqlite3_column_blob(s, 0), (size_t)sqlite3_column_bytes(s, 0), sum, e);
    sqlite3_reset(s);
    return ok;
}

static bool chart_slice(charter *c, int64_t id, int64_t set, uint64_t ended, error *e) {
    const series_question *q = c->question;
    int64_t sum;
    if (ended <= q->from || !is_chosen(&c->sets, set)) return true;
    uint64_t step = (ended - q->from - 1) / q->step;
    if (step >= q->steps) return true;
    if (!slice_sum(c, id, &sum, e)) return false;
    uint32_t value = c->sets.values[set];
    return c->by_step ? ouro__charting_add(c->sets.chart, value, step, sum, e)
                      : ouro__charting_total(c->sets.chart, value, sum, e);
}

// Only what is in the chart is read.
static bool chart_slices(charter *c, error *e) {
    const series_question *q = c->question;
    choice within = *c->sets.choice;
    uint64_t end;
    if (__builtin_mul_overflow(q->step, q->steps, &end) ||
        __builtin_add_overflow(end, q->from, &end) || end > INT64_MAX)
        end = INT64_MAX;
    if (within.since < q->from) within.since = q->from;
    if (!within.until || within.until > end) within.until = end;
    sqlite3_stmt *s = between(c->f, SLICES_BETWEEN, &within, e);
    bool row, ok = s && next_row(c->f, s, &row, e);
    for (; ok && row; ok = ok && next_row(c->f, s, &row, e))
        ok = chart_slice(c, sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1),
                         (uint64_t)sqlite3_column_int64(s, 2), e);
    if (s) sqlite3_reset(s);
    return ok;
}

static bool find_metric(charter *c, error *e) {
    const store_metric *m = c->question->metric;
    sqlite3_stmt *s = prepared(c->f, FIND_METRIC, e);
    if (!s) return false;
    bind_text(s, 1, m->name);
    bind_text(s, 2, m->unit);
    sqlite3_bind_int64(s, 3, m->decimals);
    return find_id(c->f, s, &c->metric, e);
}

static bool chart(void *opened, const choice *of, const series_question *q, charting *to,
                  error *e) {
    file_store *f = opened;
    charter c = {.f = f, .question = q, .sets = {.choice = of, .chart = to, .label = q->label}};
    if (!execute(f, "BEGIN", e)) return false;
    bool ok = find_metric(&c, e) && choose_label_sets(f, &c.sets, e) && chart_slices(&c, e) &&
              ouro__charting_rank(to, e);
    c.by_step = true;
    ok = ok && chart_slices(&c, e);
    chosen_free(&c.sets);
    execute(f, "COMMIT", NULL);
    return ok;
}

// ---------------------------------------------------------------- what can be chosen

// *counts: how many slices of the choice have a label set, by its number.
static bool count_slices(file_store *f, const chosen *sets, uint64_t *counts, offering *to,
                         error *e) {
    sqlite3_stmt *s = between(f, COUNTS_BETWEEN, sets->choice, e);
    bool row, ok = s && next_row(f, s, &row, e);
    for (; ok && row; ok = next_row(f, s, &row, e)) {
        int64_t set = sqlite3_column_int64(s, 0);
        if (!is_chosen(sets, set)) continue;
        counts[set] = (uint64_t)sqlite3_column_int64(s, 1);
        ouro__offering_slices(to, counts[set], (uint64_t)sqlite3_column_int64(s, 2),
                              (uint64_t)sqlite3_column_int64(s, 3));
    }
    return ok;
}

static bool offer_labels(file_store *f, const chosen *sets, const uint64_t *counts, offering *to,
                         error *e) {
    sqlite3_stmt *s = prepared(f, LABELS, e);
    bool row, ok = s && next_row(f, s, &row, e);
    for (; ok && row; ok = ok && next_row(f, s, &row, e)) {
        int64_t set = sqlite3_column_int64(s, 0);
        if (!is_chosen(sets, set) || !counts[set]) continue;
        if (sqlite3_column_type(s, 1) == SQLITE_NULL) continue;
        ok = ouro__offering_label(to, text_at(s, 1), text_at(s, 2), counts[set]) ||
             ouro__fail_memory(e);
    }
    if (s) sqlite3_reset(s);
    return ok;
}

static bool offer_metrics(file_store *f, offering *to, error *e) {
    sqlite3_stmt *s = prepared(f, METRICS, e);
    bool row, ok = s && next_row(f, s, &row, e);
    for (; ok && row; ok = ok && next_row(f, s, &row, e))
        ok = ouro__offering_metric(to, text_at(s, 1), text_at(s, 2),
                                   (uint32_t)sqlite3_column_int64(s, 3)) ||
             ouro__fail_memory(e);
    if (s) sqlite3_reset(s);
    return ok;
}

static bool offer(void *opened, const choice *c, offering *to, error *e) {
    file_store *f = opened;
    chosen sets = {.choice = c};
    uint64_t *counts = NULL;
    if (!execute(f, "BEGIN", e)) return false;
    bool ok = choose_label_sets(f, &sets, e);
    if (ok && !(counts = calloc((size_t)sets.count + 1, sizeof *counts))) ok = ouro__fail_memory(e);
    ok = ok && count_slices(f, &sets, counts, to, e) && offer_labels(f, &sets, counts, to, e) &&
         offer_metrics(f, to, e);
    free(counts);
    chosen_free(&sets);
    execute(f, "COMMIT", NULL);
    return ok;
}

// ---------------------------------------------------------------- looking after it

static bool list_label(store_summary *to, sqlite3_stmt *s, error *e) {
    label_count *labels = realloc(to->labels, (to->label_count + 1) * sizeof *labels);
    if (!labels) return ouro__fail_memory(e);
    to->labels = labels;
    label_count *l = &labels[to->label_count];
    *l = (label_count){strdup(text_at(s, 0)), strdup(text_at(s, 1)),
                       (uint64_t)sqlite3_column_int64(s, 2)};
    to->label_count++;
    return (l->name && l->value) || ouro__fail_memory(e);
}

static bool list_labels(file_store *f, store_summary *to, error *e) {
    sqlite3_stmt *s = prepared(f, LABEL_COUNTS, e);
    size_t of_name = 0;
    bool row, ok = s && next_row(f, s, &row, e);
    for (; ok && row; ok = ok && next_row(f, s, &row, e)) {
        const label_count *last = to->label_count ? &to->labels[to->label_count - 1] : NULL;
        of_name = last && strcmp(last->name, text_at(s, 0)) == 0 ? of_name + 1 : 1;
        if (of_name <= LABELS_LISTED) ok = list_label(to, s, e);
    }
    if (s) sqlite3_reset(s);
    return ok;
}

static bool summary(void *opened, store_summary *to, error *e) {
    file_store *f = opened;
    int64_t values;
    sqlite3_stmt *s = prepared(f, COUNTS, e);
    bool row;
    if (!s || !next_row(f, s, &row, e)) return false;
    uint64_t *fields[] = {&to->recordings, &to->slices, &to->rows,  &to->paths,
                          &to->blocks,     &to->from,   &to->until, &to->bytes};
    for (int i = 0; i < 8; i++) *fields[i] = (uint64_t)sqlite3_column_int64(s, i);
    sqlite3_reset(s);
    if (!find_id(f, prepared(f, LABEL_VALUES, e), &values, e)) return false;
    to->label_values = (uint64_t)values;
    return list_labels(f, to, e);
}

static bool drop(file_store *f, statement s, uint64_t since, error *e) {
    sqlite3_stmt *p = prepared(f, s, e);
    if (!p) return false;
    sqlite3_bind_int64(p, 1, (sqlite3_int64)since);
    return run(f, p, e);
}

// The keys or numbers of a statement's rows, in a list that the caller frees.
static bool list_keys(file_store *f, sqlite3_stmt *s, key **list, size_t *count, error *e) {
    size_t room = 0;
    bool row, ok = s && next_row(f, s, &row, e);
    for (; ok && row; ok = ok && next_row(f, s, &row, e)) {
        if (*count == room) {
            room = room ? room * 2 : 64;
            key *more = realloc(*list, room * sizeof **list);
            if (!more) return ouro__fail_memory(e);
            *list = more;
        }
        if (key_at(s, 0, &(*list)[*count])) ++*count;
    }
    return ok;
}

static bool list_metrics(file_store *f, const key *recording, uint64_t since, int64_t *list,
                         size_t *count, error *e) {
    sqlite3_stmt *s = prepared(f, CUT_METRICS, e);
    if (!s) return false;
    sqlite3_bind_int64(s, 1, (sqlite3_int64)since);
    bind_key(s, 2, recording);
    bool row, ok = next_row(f, s, &row, e);
    for (; ok && row && *count < METRICS_MAX; ok = next_row(f, s, &row, e))
        list[(*count)++] = sqlite3_column_int64(s, 0);
    sqlite3_reset(s);
    return ok;
}

static bool sum_cut(file_store *f, const key *recording, uint64_t since, int64_t of, sums *to,
                    error *e) {
    sqlite3_stmt *s = prepared(f, CUT_SAMPLES, e);
    if (!s) return false;
    sqlite3_bind_int64(s, 1, (sqlite3_int64)since);
    bind_key(s, 2, recording);
    sqlite3_bind_int64(s, 3, of);
    bool row, ok = next_row(f, s, &row, e);
    for (; ok && row; ok = ok && next_row(f, s, &row, e))
        ok = add_packed(to, 0, sqlite3_column_blob(s, 0), (size_t)sqlite3_column_bytes(s, 0), e);
    sqlite3_reset(s);
    return ok;
}

static bool put_forgotten(file_store *f, const key *recording, int64_t of, const packed *p,
                          error *e) {
    sqlite3_stmt *s = prepared(f, FORGET, e);
    if (!s) return false;
    bind_key(s, 1, recording);
    sqlite3_bind_int64(s, 2, of);
    sqlite3_bind_blob64(s, 3, p->bytes ? p->bytes : (const unsigned char *)"", p->used,
                        SQLITE_STATIC);
    return run(f, s, e);
}

// Keeps the sum of what goes of one metric of a recording.
static bool forget_metric(file_store *f, const key *recording, uint64_t since, int64_t of,
                          int64_t nodes, error *e) {
    sums all = {calloc((size_t)nodes, sizeof *all.values), nodes, 1};
    packed p = {0};
    int64_t last = 0;
    bool ok = all.values || ouro__fail_memory(e);
    ok = ok && sum_cut(f, recording, since, of, &all, e);
    for (int64_t n = 1; ok && n < nodes; n++) {
        if (!all.values[n]) continue;
        ok = put_sample(&p, last, &(sample){n, all.values[n]}) || ouro__fail_memory(e);
        last = n;
    }
    ok = ok && put_forgotten(f, recording, of, &p, e);
    free(all.values);
    free(p.bytes);
    return ok;
}

static bool forget_recording(file_store *f, const key *recording, uint64_t since, int64_t nodes,
                             error *e) {
    int64_t metrics[METRICS_MAX];
    size_t count = 0;
    bool ok = list_metrics(f, recording, since, metrics, &count, e);
    for (size_t i = 0; ok && i < count; i++)
        ok = forget_metric(f, recording, since, metrics[i], nodes, e);
    return ok;
}

// Recordings that go on lose some of their slices, and keep the sum of these.
static bool forget_parts(file_store *f, uint64_t since, error *e) {
    key *list = NULL;
    size_t count = 0;
    int64_t last;
    sqlite3_stmt *s = prepared(f, CUT_RECORDINGS, e);
    if (s) sqlite3_bind_int64(s, 1, (sqlite3_int64)since);
    bool ok =
        s && list_keys(f, s, &list, &count, e) && find_id(f, prepared(f, LAST_NODE, e), &last, e);
    for (size_t i = 0; ok && i < count; i++) ok = forget_recording(f, &list[i], since, last + 1, e);
    free(list);
    return ok;
}

// Nodes and blocks stay: they are few, and the next slices have the same.
static bool keep(void *opened, uint64_t since, uint64_t *slices, error *e) {
    file_store *f = opened;
    if (!run_alone(f, BEGIN, e)) return false;
    bool ok = execute(f, make_forgotten, e) && forget_parts(f, since, e) &&
              drop(f, DROP_SAMPLES, since, e) && drop(f, DROP_SLICES, since, e);
    *slices = ok ? (uint64_t)sqlite3_changes64(f->db) : 0;
    ok = ok && run_alone(f, DROP_FORGOTTEN, e) && run_alone(f, COMMIT, e);
    if (!ok) run_alone(f, ROLLBACK, NULL);
    return ok;
}

const engine ouro__sqlite = {.scheme = "sqlite",
                             .open = open_file,
                             .close = close_file,
                             .patience = patience,
                             .put = put,
                             .recorded = recorded,
                             .ask = ask,
                             .offer = offer,
                             .series = chart,
                             .summary = summary,
                             .keep = keep};
