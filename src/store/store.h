// SPDX-License-Identifier: MIT
//
// Profiles of many recordings, in an engine that others wrote: a SQLite file. Nothing outside this
// folder knows SQL.
//
// WORDS
//   recording  one run of a program, with an id of 16 bytes
//   slice      what a recording added between two moments. Slices of a recording are numbered from
//              0 on; a slice is stored whole or not at all, and counts once, however often it comes
//   label      a name and a value that a slice has. Service, host and build are labels, too
//   key        16 bytes that stand for a block or for a path of blocks, the same on every machine
//   choice     which slices are meant: labels, and a stretch of time
//
// A function that can fail returns false or NULL, with *e filled.

#ifndef OURO_STORE_H
#define OURO_STORE_H

#include "profile.h"

// ---------------------------------------------------------------- keys

typedef struct {
    unsigned char bytes[16];
} key;

// The key of a block is the beginning of the SHA-256 of its name, file, line and column: texts with
// their length before them, numbers and lengths as four bytes, the lowest first. The key of a node
// is that of its parent's key and its block's. The root's is zero.
key ouro__block_key(const char *name, const char *file, uint32_t line, uint32_t column);
key ouro__node_key(key parent, key block);

typedef struct {
    key *blocks, *nodes; // by number in the profile
} keys;

bool ouro__keys_make(const profile *p, keys *k);
void ouro__keys_free(keys *k);
// The file without the folder `root` in front, if it has that; NULL: as it is.
const char *ouro__relative_file(const char *file, const char *root);
// The folder of the sources that most blocks are in: the nearest one above a file that has a
// version control folder, if it is on this machine. NULL: not known. Freed by the caller.
char *ouro__find_root(const profile *p);

// ---------------------------------------------------------------- slices

typedef struct {
    char *name, *value;
} label_pair;

typedef struct {
    label_pair *items; // sorted by name
    size_t count;
} label_set;

// Sets a label, in the place of an older one of that name. false: out of memory.
bool ouro__label_set_put(label_set *l, const char *name, const char *value);
const char *ouro__label_set_get(const label_set *l, const char *name);
void ouro__label_set_free(label_set *l);

typedef struct {
    key recording;
    uint64_t number;      // of the slice in its recording
    uint64_t from, until; // milliseconds since 1970
    const label_set *labels;
    const profile *profile; // what was added: its values are the slice's. Parents before children
    const keys *keys;       // of the profile
    // By node: what the engine remembers of it for later slices of the same profile and keys, to
    // the same open store; 0: nothing yet. After a failure all of it is forgotten. NULL: there will
    // be no other slice.
    uint64_t *known;
} slice;

// ---------------------------------------------------------------- choices

// One term: the label has one of the values, each a pattern in which * stands for any characters.
typedef struct {
    char *name;
    char **values;
    size_t value_count;
    bool not ; // has none of them
} term;

typedef struct {
    term *terms; // all must hold
    size_t term_count;
    uint64_t since, until; // milliseconds since 1970; 0 = open
    uint32_t paths_most;   // more are summed up as [pruned]; 0 = all
    bool strict;           // fails if a part of the store does not answer
} choice;

// `service=web build=7,8 host!=a* since=2h until=now`. A time is an age (90s, 5m, 2h, 3d), now, a
// date (2026-11-15, with THH:MM or THH:MM:SS for more) in UTC, or seconds since 1970. A backslash
// takes the meaning of the next character; a value in double quotes may have spaces. `now` counts
// milliseconds since 1970.
bool ouro__choice_parse(const char *text, uint64_t now, choice *c, error *e);
void ouro__choice_free(choice *c);
bool ouro__term_holds(const term *t, const char *value); // NULL: there is no such label
// A slice belongs to the moment of its end, `until`.
bool ouro__choice_holds(const choice *c, const label_set *labels, uint64_t until);

// ---------------------------------------------------------------- a store

typedef struct store store;

// Opens a store, and makes it if `make` is set and it is not there. A store that is open is for one
// thread at a time.
store *ouro__store_open(const char *url, bool make, error *e);
// Opens the same store once more, for another thread.
store *ouro__store_again(const store *s, error *e);
// Whether a store of this kind can say what it has of a live file. It is not opened.
bool ouro__store_follows(const char *url, error *e);
void ouro__store_close(store *s);
// How long a store is waited for that another process has locked, or that does not answer.
void ouro__store_patience(store *s, uint32_t milliseconds);
// Limits the memory of a question, see budget.h. 0, as after opening: in proportion to the size of
// the store.
void ouro__store_limit(store *s, uint64_t bytes);

// Adds a slice; *known: it was there already, and nothing changed.
bool ouro__store_put(store *s, const slice *added, bool *known, error *e);
// The same for many slices at once. After a failure some of them may be there.
bool ouro__store_put_many(store *s, const slice *added, size_t count, bool *known, error *e);
// Does one slice take the time of many?
bool ouro__store_wants_many(const store *s);
// What people should know of the last slice: the store could not take all of it as it is. NULL:
// nothing.
const char *ouro__store_note(const store *s);

// What the store has of a recording: the next number, and the sum of its slices.
bool ouro__store_recorded(store *s, key recording, uint64_t *next, profile **sum, error *e);

// Adds what a profile has. Of a live file that is what the store does not have of it yet.
typedef struct {
    const label_set *labels;
    const char *root; // of the sources; NULL: files are named as they are
    uint64_t time;    // for a profile that does not say when it was: milliseconds since 1970
} push_options;

typedef struct {
    key recording;
    uint64_t number, paths; // of the slice; no paths: there was nothing new
    bool live;
    bool known; // it was there already
} pushed;

bool ouro__store_push(store *to, profile *p, const push_options *o, pushed *done, error *e);

// The sum of all slices of a choice.
profile *ouro__store_ask(store *s, const choice *c, error *e);

// What is in a store, for people.
typedef struct {
    char *name, *value;
    uint64_t slices;
} label_count;

typedef struct {
    uint64_t recordings, slices, rows, paths, blocks, bytes;
    uint64_t from, until;  // milliseconds since 1970; 0: nothing is there
    label_count *labels;   // by name, then by slices
    size_t label_count;    // of those that are listed, at most LABELS_LISTED of a name
    uint64_t label_values; // of all
    char *missing;         // which part of the store did not answer, in words; NULL: none
} store_summary;

enum { LABELS_LISTED = 1000 };

// strict: fails if a part of the store does not answer.
bool ouro__store_summary(store *s, bool strict, store_summary *to, error *e);
void ouro__store_summary_free(store_summary *s);

// What can be chosen within a choice.
typedef struct {
    char *name, *unit;
    uint32_t decimals;
} store_metric;

typedef struct {
    uint64_t slices;       // of the choice
    uint64_t first, last;  // when the first and the last of them ended; 0: there is none
    label_count *labels;   // by name, then by slices, as in a summary
    size_t label_count;    // of those that are listed, at most LABELS_LISTED of a name
    uint64_t label_values; // of all
    store_metric *metrics; // of the whole store
    size_t metric_count;
    char *missing; // which part of the store did not answer, in words; NULL: none
} store_offer;

bool ouro__store_offer(store *s, const choice *c, store_offer *to, error *e);
// The metrics alone.
bool ouro__store_metrics(store *s, store_offer *to, error *e);
void ouro__store_offer_free(store_offer *o);
// By name; NULL: time, cpu or samples, else the first. NULL: there is no such metric.
const store_metric *ouro__offer_metric(const store_offer *o, const char *name);

// How the sum of a metric is spread over steps of time and over the values of one label.
typedef struct {
    const store_metric *metric;
    const char *label; // NULL: nothing is told apart
    // Step i has the slices that end after from + i * step, and not after from + (i + 1) * step.
    uint64_t from, step; // milliseconds
    uint32_t steps;
    uint32_t most; // values that are told apart: those with the largest sums
} series_question;

enum { SERIES_STEPS = 600, SERIES_VALUES = 200 }; // at most

typedef struct {
    char *value; // of the label; NULL: slices that do not have it
    int64_t total;
    int64_t *sums; // by step
} series_row;

typedef struct {
    series_row *rows; // the largest total first
    uint32_t row_count, steps;
    uint64_t others;  // how many values are in none of the rows
    series_row other; // their sums; there if others is not 0
    char *missing;    // as in an offer
} series;

bool ouro__store_series(store *s, const choice *c, const series_question *q, series *to, error *e);
void ouro__series_free(series *s);

// Forgets what ended before; *slices: how many.
bool ouro__store_keep(store *s, uint64_t since, uint64_t *slices, error *e);

#endif
