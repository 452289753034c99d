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
// A node that has a value or is a parent, and was not told yet: *next counts from 0. false: there
// are no more.
bool ouro__answer_unknown(const answer *a, size_t *next, key *node);

// An engine that only writes has nothing but open, close, put and note.
typedef struct {
    const char *scheme; // of its URLs: "sqlite"
    void *(*open)(const char *url, bool make, error *e);
    void (*close)(void *engine);
    bool (*put)(void *engine, const slice *s, bool *known, error *e);
    bool (*recorded)(void *engine, key recording, uint64_t *next, answer *a, error *e);
    bool (*ask)(void *engine, const choice *c, answer *a, error *e);
    bool (*summary)(void *engine, store_summary *to, error *e);
    bool (*keep)(void *engine, uint64_t since, uint64_t *slices, error *e);
    const char *(*note)(const void *engine); // see ouro__store_note; may be NULL
} engine;

extern const engine ouro__sqlite;
extern const engine ouro__pyroscope, ouro__pyroscope_tls, ouro__otlp, ouro__otlp_tls;

#endif
