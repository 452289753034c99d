// SPDX-License-Identifier: MIT
//
// For the files of SQLite: a file that is open, and its statements.
//
//   sqlite.c              opening, the tables, the version
//   sqlite_statements.c   every statement, and how one is run
//   sqlite_write.c        slices
//   sqlite_choose.c       which slices a choice means
//   sqlite_ask.c          sums, paths and names
//   sqlite_chart.c        charts
//   sqlite_look.c         what can be chosen, what is there
//   sqlite_keep.c         what is forgotten

#ifndef OURO_SQLITE_H
#define OURO_SQLITE_H

#include "engine.h"

typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;

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
} sqlite_statement;

typedef struct {
    sqlite3 *db;
    sqlite3_stmt *prepared[STATEMENTS];
    bool writes; // then nothing is limited
    uint64_t limit;
    budget budget; // of a question
} sqlite_store;

bool ouro__sqlite_failed(const sqlite_store *f, error *e); // false, with SQLite's words
// Ready for new parameters. NULL: failed.
sqlite3_stmt *ouro__sqlite_prepared(sqlite_store *f, sqlite_statement s, error *e);
// Goes to the next row. *row: there is one. After the last, the statement is reset.
bool ouro__sqlite_next(const sqlite_store *f, sqlite3_stmt *s, bool *row, error *e);
// For statements without rows; s may be NULL.
bool ouro__sqlite_run(sqlite_store *f, sqlite3_stmt *s, error *e);
bool ouro__sqlite_run_alone(sqlite_store *f, sqlite_statement s, error *e);
bool ouro__sqlite_execute(sqlite_store *f, const char *text, error *e);
// The first column of the only row; 0: there is none.
bool ouro__sqlite_find(sqlite_store *f, sqlite3_stmt *s, int64_t *id, error *e);
bool ouro__sqlite_add(sqlite_store *f, sqlite3_stmt *s, int64_t *id, error *e);
// A question has the budget of the file as it is now. Within a transaction it goes on.
void ouro__sqlite_begin_question(sqlite_store *f);
// The rows of an array by id, of which each takes so many bytes; false: more than the budget has.
bool ouro__sqlite_rows(const sqlite_store *f, int64_t last_id, size_t bytes, error *e);

void ouro__sqlite_bind_key(sqlite3_stmt *s, int at, const key *k);
void ouro__sqlite_bind_text(sqlite3_stmt *s, int at, const char *text);
const char *ouro__sqlite_text(sqlite3_stmt *s, int at); // of a column
bool ouro__sqlite_key(sqlite3_stmt *s, int at, key *k);

// Makes the table if it is not there: a store of the first days does not have it.
bool ouro__sqlite_make_forgotten(sqlite_store *f, error *e);

bool ouro__sqlite_put(void *opened, const slice *s, bool *known, error *e);
bool ouro__sqlite_recorded(void *opened, key recording, uint64_t *next, answer *a, error *e);
bool ouro__sqlite_ask(void *opened, const choice *c, answer *a, error *e);
bool ouro__sqlite_offer(void *opened, const choice *c, offering *to, error *e);
bool ouro__sqlite_metrics(void *opened, offering *to, error *e);
bool ouro__sqlite_series(void *opened, const choice *of, const series_question *q, charting *to,
                         error *e);
bool ouro__sqlite_summary(void *opened, bool strict, store_summary *to, error *e);
bool ouro__sqlite_keep(void *opened, uint64_t since, uint64_t *slices, error *e);

// ---------------------------------------------------------------- choices

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

bool ouro__sqlite_choose(sqlite_store *f, chosen *to, error *e);
void ouro__sqlite_chosen_free(chosen *c);
bool ouro__sqlite_is_chosen(const chosen *sets, int64_t set);
// A statement with the choice's stretch of time as its first two parameters. NULL: failed.
sqlite3_stmt *ouro__sqlite_between(sqlite_store *f, sqlite_statement which, const choice *c,
                                   error *e);

#endif
