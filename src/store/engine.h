// SPDX-License-Identifier: MIT
//
// What an engine can do: one table of functions each. store.c finds the engine of a URL, and makes
// profiles of what it answers.

#ifndef OURO_ENGINE_H
#define OURO_ENGINE_H

#include "store.h"

// What an engine answers, in any order: metrics first, then what nodes have of them, then what the
// nodes and their blocks are, ancestors included. Each is false when memory runs out.
typedef struct answer answer;
bool ouro__answer_metric(answer *a, const char *name, const char *unit, uint32_t decimals,
                         uint32_t *number);
bool ouro__answer_value(answer *a, uint32_t metric, key node, int64_t value);
bool ouro__answer_node(answer *a, key node, key parent, key block);
bool ouro__answer_block(answer *a, key block, const char *name, const char *file, uint32_t line,
                        uint32_t column);
// What the smallest paths have, by metric, as a block [pruned].
bool ouro__answer_small(answer *a, const uint32_t *metrics, const int64_t *values, size_t count);
// A node that has a value or is a parent, and was not told yet: *next counts from 0. false: there
// are no more.
bool ouro__answer_unknown(const answer *a, size_t *next, key *node);
// A node that will be unknown until it is told: an ancestor that is known before its children are.
bool ouro__answer_wants(answer *a, key node);
// Which part of the store did not answer, in words.
bool ouro__answer_missing(answer *a, const char *words);
// What the profile that is made of it may cost.
void ouro__answer_budget(answer *a, const budget *b);

// What is offered: each label as often as it is found, with the slices that it is found in.
typedef struct offering offering;
void ouro__offering_slices(offering *o, uint64_t slices, uint64_t first, uint64_t last);
bool ouro__offering_label(offering *o, const char *name, const char *value, uint64_t slices);
bool ouro__offering_metric(offering *o, const char *name, const char *unit, uint32_t decimals);
bool ouro__offering_missing(offering *o, const char *words);

// A chart, in two passes: the totals of all values of the label, then the sums by step. Between
// them it becomes known which values have rows of their own: the sums of others can come as that of
// any value that has none. A value is known by its number.
typedef struct charting charting;
bool ouro__charting_value(charting *c, const char *value, uint32_t *number); // NULL: no such label
bool ouro__charting_total(charting *c, uint32_t number, int64_t sum, error *e);
bool ouro__charting_rank(charting *c, error *e);
bool ouro__charting_has_row(const charting *c, uint32_t number); // after ranking
bool ouro__charting_add(charting *c, uint32_t number, uint64_t step, int64_t sum, error *e);
bool ouro__charting_missing(charting *c, const char *words);

// The choice, and no more time than the chart shows.
choice ouro__series_within(const choice *of, const series_question *q);

// An engine that only writes has nothing but open, close, put and note.
typedef struct {
    const char *scheme; // of its URLs: "sqlite"
    void *(*open)(const char *url, bool make, error *e);
    void (*close)(void *engine);
    void (*patience)(void *engine, uint32_t milliseconds); // may be NULL
    void (*limit)(void *engine, uint64_t bytes);           // may be NULL
    bool (*put)(void *engine, const slice *s, bool *known, error *e);
    // In place of `put`, for an engine that takes many slices in the time of one.
    bool (*put_many)(void *engine, const slice *slices, size_t count, bool *known, error *e);
    bool (*recorded)(void *engine, key recording, uint64_t *next, answer *a, error *e);
    bool (*ask)(void *engine, const choice *c, answer *a, error *e);
    bool (*offer)(void *engine, const choice *c, offering *o, error *e); // but for metrics
    bool (*metrics)(void *engine, offering *o, error *e);
    bool (*series)(void *engine, const choice *c, const series_question *q, charting *to, error *e);
    bool (*summary)(void *engine, bool strict, store_summary *to, error *e);
    bool (*keep)(void *engine, uint64_t since, uint64_t *slices, error *e);
    const char *(*note)(const void *engine); // see ouro__store_note; may be NULL
} engine;

// What store.c asks an engine for.
bool ouro__offer_make(const engine *how, void *opened, const choice *c, store_offer *to, error *e);
bool ouro__offer_metrics(const engine *how, void *opened, store_offer *to, error *e);
bool ouro__series_make(const engine *how, void *opened, const choice *c, const series_question *q,
                       series *to, error *e);

extern const engine ouro__sqlite;
extern const engine ouro__clickhouse, ouro__clickhouse_tls;
extern const engine ouro__pyroscope, ouro__pyroscope_tls, ouro__otlp, ouro__otlp_tls;

#endif
