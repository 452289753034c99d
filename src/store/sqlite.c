// SPDX-License-Identifier: MIT
//
// The store in one file, by SQLite. Several processes may write; readers do not wait (WAL). See
// sqlite.h for what is where.
//
//   blocks, nodes   numbered here; their keys are what other machines know
//   label_sets      every set of labels that slices have, with a key of its own
//   slices          one row each, which says when and with which labels
//   samples         per slice and metric one row: the values of its nodes, as packed.h says
//   forgotten       the same of slices that are gone, for each recording that goes on

#include "sqlite.h"

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

static void close_file(void *opened) {
    sqlite_store *f = opened;
    for (int i = 0; i < STATEMENTS; i++) sqlite3_finalize(f->prepared[i]);
    sqlite3_close(f->db);
    free(f);
}

// ---------------------------------------------------------------- files of strangers

// Work between two looks at the budget, and what a step of SQLite's machine counts.
enum { STEPS_AT_ONCE = 1000, WORK_OF_STEP = 16 };

static int count_work(void *opened) {
    sqlite_store *f = opened;
    f->budget.spent += STEPS_AT_ONCE * WORK_OF_STEP;
    return f->budget.spent > f->budget.work;
}

static void limit(void *opened, uint64_t bytes) { ((sqlite_store *)opened)->limit = bytes; }

// The schema of a file can have code: views, triggers, expressions. None of it is run.
static void distrust(sqlite_store *f) {
    static const struct {
        int what, on;
    } how[] = {{SQLITE_DBCONFIG_DEFENSIVE, 1},
               {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
               {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
               {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}};
    for (size_t i = 0; i < sizeof how / sizeof *how; i++)
        sqlite3_db_config(f->db, how[i].what, how[i].on, NULL);
}

static const char own_object[] =
    "SELECT max(type = ?1 AND name = ?2 AND tbl_name = ?3 AND sql IS ?4) FROM sqlite_master"
    " WHERE name = ?2 COLLATE NOCASE OR tbl_name = ?3 COLLATE NOCASE";

// What is called like a table of ours, or belongs to one, must be as we make it; other tables of
// the file are never asked.
static bool check_objects(sqlite_store *f, sqlite3_stmt *all, sqlite3_stmt *own, error *e) {
    bool row, ok = ouro__sqlite_next(f, all, &row, e);
    for (; ok && row; ok = ok && ouro__sqlite_next(f, all, &row, e)) {
        sqlite3_reset(own);
        for (int i = 0; i < 4; i++) sqlite3_bind_value(own, i + 1, sqlite3_column_value(all, i));
        bool found = sqlite3_step(own) == SQLITE_ROW;
        if (found && (sqlite3_column_type(own, 0) == SQLITE_NULL || sqlite3_column_int(own, 0)))
            continue;
        ok = ouro__fail(e, EILSEQ, "the store is damaged: its %s %s is not what ouro makes",
                        ouro__sqlite_text(all, 0), ouro__sqlite_text(all, 1));
    }
    return ok;
}

static void patience(void *opened, uint32_t milliseconds) {
    sqlite3_busy_timeout(((sqlite_store *)opened)->db, (int)milliseconds);
}

static bool pragma(sqlite_store *f, const char *text, int64_t *value, error *e) {
    sqlite3_stmt *s = NULL;
    if (sqlite3_prepare_v2(f->db, text, -1, &s, NULL)) return ouro__sqlite_failed(f, e);
    bool ok = ouro__sqlite_find(f, s, value, e);
    sqlite3_finalize(s);
    return ok;
}

bool ouro__sqlite_make_forgotten(sqlite_store *f, error *e) {
    return ouro__sqlite_execute(f, make_forgotten, e);
}

// Two processes may begin the same file: the second finds it made.
static bool make_schema(sqlite_store *f, error *e) {
    int64_t version = 0;
    char finish[96];
    sqlite3_snprintf(sizeof finish, finish, "PRAGMA user_version=%d; PRAGMA application_id=%d;",
                     SCHEMA_VERSION, APPLICATION_ID);
    if (!ouro__sqlite_run_alone(f, BEGIN, e)) return false;
    bool ok =
        pragma(f, "PRAGMA user_version", &version, e) &&
        (version || (ouro__sqlite_execute(f, schema, e) && ouro__sqlite_execute(f, finish, e))) &&
        ouro__sqlite_make_forgotten(f, e);
    return ouro__sqlite_run_alone(f, ok ? COMMIT : ROLLBACK, ok ? e : NULL) && ok;
}

// Beside a store of our own, in memory.
static bool check_tables(sqlite_store *f, error *e) {
    sqlite3 *db = NULL;
    sqlite3_stmt *all = NULL, *own = NULL;
    bool ok = sqlite3_open(":memory:", &db) == SQLITE_OK &&
              sqlite3_exec(db, schema, NULL, NULL, NULL) == SQLITE_OK &&
              sqlite3_exec(db, make_forgotten, NULL, NULL, NULL) == SQLITE_OK &&
              sqlite3_prepare_v2(db, own_object, -1, &own, NULL) == SQLITE_OK;
    ok = ok || ouro__fail_memory(e);
    if (ok && sqlite3_prepare_v2(f->db, "SELECT type, name, tbl_name, sql FROM sqlite_master", -1,
                                 &all, NULL))
        ok = ouro__sqlite_failed(f, e);
    ok = ok && check_objects(f, all, own, e);
    sqlite3_finalize(all);
    sqlite3_finalize(own);
    sqlite3_close(db);
    return ok;
}

static bool check_schema(sqlite_store *f, bool make, error *e) {
    int64_t application, version, tables;
    // Tables first: another process may be making them, and what says whose they are comes with
    // them, not later.
    if (!pragma(f, "SELECT EXISTS (SELECT 1 FROM sqlite_master)", &tables, e) ||
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
    if (!check_tables(f, e)) return false;
    // A store of the first days does not have it.
    return !make ||
           (pragma(f, "SELECT count(*) FROM sqlite_master WHERE name = 'forgotten'", &tables, e) &&
            (tables || make_schema(f, e)));
}

// SQLite does not wait by itself for another process that changes the mode at the same moment.
static bool use_log(sqlite_store *f, error *e) {
    enum { PAUSE_MILLISECONDS = 10 };
    for (int waited = 0;; waited += PAUSE_MILLISECONDS) {
        int64_t unused;
        bool last = waited >= BUSY_MILLISECONDS;
        if (pragma(f, "PRAGMA journal_mode=WAL", &unused, last ? e : NULL)) return true;
        if (last || sqlite3_errcode(f->db) != SQLITE_BUSY) return ouro__sqlite_failed(f, e);
        sqlite3_sleep(PAUSE_MILLISECONDS);
    }
}

static void *open_file(const char *url, bool make, error *e) {
    const char *path = strncmp(url, "sqlite:", 7) == 0 ? url + 7 : url;
    sqlite_store *f = calloc(1, sizeof *f);
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
        distrust(f);
        f->writes = make;
        ouro__sqlite_begin_question(f);
        sqlite3_progress_handler(f->db, make ? 0 : STEPS_AT_ONCE, count_work, f);
        if ((!make || use_log(f, e)) && ouro__sqlite_execute(f, "PRAGMA synchronous=NORMAL", e) &&
            check_schema(f, make, e))
            return f;
    }
    close_file(f);
    return NULL;
}

const engine ouro__sqlite = {.scheme = "sqlite",
                             .open = open_file,
                             .close = close_file,
                             .patience = patience,
                             .limit = limit,
                             .put = ouro__sqlite_put,
                             .recorded = ouro__sqlite_recorded,
                             .ask = ouro__sqlite_ask,
                             .offer = ouro__sqlite_offer,
                             .metrics = ouro__sqlite_metrics,
                             .series = ouro__sqlite_series,
                             .summary = ouro__sqlite_summary,
                             .keep = ouro__sqlite_keep};
