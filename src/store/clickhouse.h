// SPDX-License-Identifier: MIT
//
// For the files of ClickHouse: a link to its servers, and one statement at a time.
//
//   clickhouse_url.c      the URL, the password
//   clickhouse_link.c     statements over HTTP: the next host, retries, refusals in words
//   clickhouse_tables.c   the tables, the version, which shards are missing
//   clickhouse_write.c    slices
//   clickhouse_names.c    the names that a slice needs
//   clickhouse_choose.c   which slices a choice means
//   clickhouse_ask.c      sums, paths and names
//   clickhouse_recorded.c what there is of a recording
//   clickhouse_chart.c    charts
//   clickhouse_look.c     what can be chosen, what is there
//   clickhouse_keep.c     what is dropped
//   clickhouse_forget.c   what is remembered of it

#ifndef OURO_CLICKHOUSE_H
#define OURO_CLICKHOUSE_H

#include "engine.h"
#include "http_client.h"
#include "row_binary.h"

enum { HOSTS_MAX = 64, MILLISECONDS_OF_HOUR = 3600000 };

typedef struct {
    bool tls;
    char *hosts[HOSTS_MAX]; // HOST:PORT
    size_t host_count;
    char *user, *password; // NULL: none
    char *database;
    char *cluster;    // NULL: none
    char *ca_file;    // NULL: certificates of SSL_CERT_FILE, or the system's
    unsigned seconds; // until a statement is given up
} clickhouse_url;

bool ouro__clickhouse_url_parse(const char *text, clickhouse_url *u, error *e);
void ouro__clickhouse_url_free(clickhouse_url *u);

typedef struct {
    clickhouse_url url;
    http_client *http;
    size_t host;        // the one that is asked now
    uint32_t copies;    // of names: every shard has them, so that the others do without one
    bool no_settings;   // the user may read only, and not even choose settings
    uint32_t patience;  // milliseconds that a push tries again
    size_t answer_most; // bytes of an answer, and of all rounds of asking for paths
    uint64_t limit;     // of the memory of a question; 0: not asked
    // Keys of names that the store has, so that they are not sent again.
    key *known;
    uint32_t known_count, known_room;
    lookup known_lookup;
} clickhouse;

// Tables that are asked: with a cluster, those of all shards.
const char *ouro__clickhouse_suffix(const clickhouse *c); // "" or "_all"

typedef struct {
    const char *sql;        // without any text of a user
    const row_writer *rows; // of an INSERT
    // Keys, as a table `keys` with one column `k`, or with `numbers` a second one `n`; NULL: none.
    const key *keys;
    const uint32_t *numbers;
    size_t key_count;
    bool no_database; // for the statement that makes it
    bool skip;        // shards that do not answer
    bool once;        // must not be carried out twice: not sent again if it may have been
    bool this_host;   // no other host will do
} statement;

// The answer to a statement, freed by the caller. A refusal of the server is a failure, see
// ouro__clickhouse_refused for what e->code says.
bool ouro__clickhouse_run(clickhouse *c, const statement *s, http_answer *a, error *e);
// A statement with a formatted text.
bool ouro__clickhouse_runf(clickhouse *c, statement s, http_answer *a, error *e, const char *format,
                           ...) __attribute__((format(printf, 5, 6)));
static inline row_reader ouro__binary_of(const http_answer *a) {
    return (row_reader){(const unsigned char *)a->body, (const unsigned char *)a->body + a->size,
                        false};
}
// A statement that asks for one number.
bool ouro__clickhouse_number(clickhouse *c, statement s, uint64_t *number, error *e,
                             const char *format, ...) __attribute__((format(printf, 5, 6)));
// Sends rows, if there are any; takes them.
bool ouro__clickhouse_insert(clickhouse *c, const char *table, const char *columns,
                             row_writer *rows, bool once, error *e);
bool ouro__clickhouse_damaged(error *e); // false: an answer that makes no sense
bool ouro__clickhouse_too_long(const clickhouse *c, error *e); // false: more than answer_most
// Is it worth to try again, now or later?
bool ouro__clickhouse_passing(int code);
// Waits, longer from attempt to attempt; returns how many milliseconds.
uint32_t ouro__clickhouse_pause(unsigned attempt);

// Checks the version, and makes the tables if `make` is set and they are not there.
bool ouro__clickhouse_prepare(clickhouse *c, bool make, error *e);
// Makes one of the tables where it is not, on all shards.
bool ouro__clickhouse_make_table(clickhouse *c, const char *name, error *e);
// Which shards do not answer, in words, freed by the caller; NULL with e->code 0: all answer.
char *ouro__clickhouse_missing(clickhouse *c, error *e);
// After a failure: is a shard down, so that it is worth to ask the others alone? *missing says
// which, freed by the caller. If not, *e names the shard, where one is the reason.
bool ouro__clickhouse_goes_without(clickhouse *c, bool strict, char **missing, error *e);

bool ouro__clickhouse_put(void *opened, const slice *slices, size_t count, bool *known, error *e);
bool ouro__clickhouse_recorded(void *opened, key recording, uint64_t *next, answer *a, error *e);
bool ouro__clickhouse_ask(void *opened, const choice *c, answer *a, error *e);
bool ouro__clickhouse_offer(void *opened, const choice *c, offering *o, error *e);
bool ouro__clickhouse_metrics(void *opened, offering *o, error *e);
bool ouro__clickhouse_series(void *opened, const choice *c, const series_question *q, charting *to,
                             error *e);
bool ouro__clickhouse_summary(void *opened, bool strict, store_summary *to, error *e);
bool ouro__clickhouse_keep(void *opened, uint64_t since, uint64_t *slices, error *e);

// ---------------------------------------------------------------- what is forgotten

typedef struct {
    uint64_t part; // has what is remembered; 0: nothing was to be remembered
    char *before;  // the parts that it replaces, as a list for IN
} remembered;

// Remembers the sums of slices that will be dropped, of recordings that go on.
bool ouro__clickhouse_remember(clickhouse *c, uint64_t since, remembered *done, error *e);
uint64_t ouro__clickhouse_stale_part(const remembered *r); // smaller ones are dropped
// The parts that count, as a list for IN, freed by the caller.
bool ouro__clickhouse_parts(clickhouse *c, char **parts, error *e);
bool ouro__clickhouse_same_parts(clickhouse *c, const char *parts, bool *same, error *e);

// ---------------------------------------------------------------- choices

typedef struct {
    key key;
    label_set labels;
} chosen_set;

// The slices of a choice as a statement selects them: columns `first` (its id), `last` (when it
// ended), `labels` (the key of its labels), and with `sum`, an expression, its `value`.
typedef struct {
    const choice *choice;
    const char *sum; // may be NULL
    bool skip;       // shards that do not answer
    chosen_set *sets;
    size_t set_count;
    bool all;  // of the label sets: then none is listed in `keys`
    key *keys; // of the sets, in the same order
    size_t key_count;
    char *slices;        // SELECT ... for the slices
    char *samples_where; // what samples of the choice have in common, for the index
} selection;

// `labels`: they are needed even if the choice has no terms.
bool ouro__select(clickhouse *c, const choice *of, const char *sum, bool labels, bool skip,
                  selection *s, error *e);
void ouro__selection_free(selection *s);

// The values of answers by metric and path, and what the paths are. What two answers have of the
// same path is added up.
bool ouro__clickhouse_tell(clickhouse *c, answer *to, const http_answer values[2], error *e);

// ---------------------------------------------------------------- slices

typedef struct {
    const slice *s;
    bool there;            // it was committed before
    unsigned char *needed; // by node: it has a value, or one below it has
    unsigned char *used;   // by block: a needed node has it
    key labels;
    uint64_t id, samples; // under which it is written now, and how many it has
} written_slice;

// Slices that are written together.
typedef struct {
    clickhouse *c;
    written_slice *slices;
    size_t count;
    key *wanted; // keys to ask the store for
    size_t wanted_count;
} clickhouse_writer;

// Sends the names that slices need which are not there yet. After a failure of a writer the store
// may have fewer names than are remembered, so these are forgotten.
bool ouro__clickhouse_send_names(clickhouse_writer *w, error *e);
void ouro__clickhouse_forget_names(clickhouse *c);
void ouro__key_hex(key k, char hex[static 33]);

// The ids that samples have for names: the first half of a key.
uint64_t ouro__service_id(const label_set *l);
key ouro__metric_key(const char *name, const char *unit, uint32_t decimals);
key ouro__metric_key_of(const profile *p, uint32_t m);
uint64_t ouro__short_id(key k);

#endif
