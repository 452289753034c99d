// SPDX-License-Identifier: MIT
//
// Every statement of SQLite, and how one is run.

#include "sqlite.h"

#include <errno.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>

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
        // count(*) is one step of SQLite's machine however long it takes, so no budget ends it.
    "SELECT (SELECT count(DISTINCT recording) FROM slices), (SELECT count(id) FROM slices),"
    " (SELECT total(count) FROM samples), (SELECT count(id) FROM nodes),"
    " (SELECT count(id) FROM blocks), (SELECT min(began) FROM slices),"
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

// Holes are not counted.
static uint64_t bytes_of(const char *path) {
    struct stat info;
    if (!path || stat(path, &info) != 0) return 0;
    uint64_t size = (uint64_t)info.st_size, there = (uint64_t)info.st_blocks * 512;
    return there < size ? there : size;
}

void ouro__sqlite_begin_question(sqlite_store *f) {
    const char *path = sqlite3_db_filename(f->db, "main");
    if (!sqlite3_get_autocommit(f->db)) return;
    f->budget = f->writes ? ouro__budget_of_none()
                          : ouro__budget_of(bytes_of(path) + bytes_of(sqlite3_filename_wal(path)),
                                            0, f->limit);
}

bool ouro__sqlite_failed(const sqlite_store *f, error *e) {
    int code = sqlite3_errcode(f->db);
    if (code == SQLITE_INTERRUPT) return ouro__budget_fail(&f->budget, ETIME, e);
    const char *hint = code == SQLITE_BUSY ? "; another process keeps it locked" : "";
    return ouro__fail(e, code == SQLITE_FULL ? ENOSPC : EIO, "%s%s", sqlite3_errmsg(f->db), hint);
}

sqlite3_stmt *ouro__sqlite_prepared(sqlite_store *f, sqlite_statement s, error *e) {
    sqlite3_stmt **p = &f->prepared[s];
    if (!*p && sqlite3_prepare_v3(f->db, texts_of[s], -1, SQLITE_PREPARE_PERSISTENT, p, NULL)) {
        ouro__sqlite_failed(f, e);
        return NULL;
    }
    ouro__sqlite_begin_question(f);
    sqlite3_reset(*p);
    return *p;
}

bool ouro__sqlite_next(const sqlite_store *f, sqlite3_stmt *s, bool *row, error *e) {
    int result = sqlite3_step(s);
    *row = result == SQLITE_ROW;
    if (*row) return true;
    bool ok = result == SQLITE_DONE || ouro__sqlite_failed(f, e);
    sqlite3_reset(s);
    return ok;
}

bool ouro__sqlite_run(sqlite_store *f, sqlite3_stmt *s, error *e) {
    bool row = false;
    return s && ouro__sqlite_next(f, s, &row, e);
}

bool ouro__sqlite_run_alone(sqlite_store *f, sqlite_statement s, error *e) {
    return ouro__sqlite_run(f, ouro__sqlite_prepared(f, s, e), e);
}

void ouro__sqlite_bind_key(sqlite3_stmt *s, int at, const key *k) {
    sqlite3_bind_blob(s, at, k->bytes, sizeof k->bytes, SQLITE_STATIC);
}

// A NUL is the end of a text.
void ouro__sqlite_bind_text(sqlite3_stmt *s, int at, const char *text) {
    sqlite3_bind_text(s, at, text, -1, SQLITE_STATIC);
}

const char *ouro__sqlite_text(sqlite3_stmt *s, int at) {
    const char *text = (const char *)sqlite3_column_text(s, at);
    return text ? text : "";
}

bool ouro__sqlite_key(sqlite3_stmt *s, int at, key *k) {
    if (sqlite3_column_bytes(s, at) != sizeof k->bytes) return false;
    memcpy(k->bytes, sqlite3_column_blob(s, at), sizeof k->bytes);
    return true;
}

bool ouro__sqlite_find(sqlite_store *f, sqlite3_stmt *s, int64_t *id, error *e) {
    bool row;
    if (!s || !ouro__sqlite_next(f, s, &row, e)) return false;
    *id = row ? sqlite3_column_int64(s, 0) : 0;
    if (row) sqlite3_reset(s);
    return true;
}

bool ouro__sqlite_add(sqlite_store *f, sqlite3_stmt *s, int64_t *id, error *e) {
    if (!ouro__sqlite_run(f, s, e)) return false;
    *id = sqlite3_last_insert_rowid(f->db);
    return true;
}

bool ouro__sqlite_rows(const sqlite_store *f, int64_t last_id, size_t bytes, error *e) {
    if (last_id < 0) return ouro__fail(e, EILSEQ, "the store is damaged: a number is negative");
    return (uint64_t)last_id < f->budget.memory / bytes || ouro__budget_fail(&f->budget, EFBIG, e);
}

bool ouro__sqlite_execute(sqlite_store *f, const char *text, error *e) {
    ouro__sqlite_begin_question(f);
    return sqlite3_exec(f->db, text, NULL, NULL, NULL) == SQLITE_OK || ouro__sqlite_failed(f, e);
}
