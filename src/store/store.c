// SPDX-License-Identifier: MIT
//
// Finds the engine of a URL, and makes a profile of what an engine answers. Whoever can write to a
// store can write anything into it, so nothing in an answer is trusted: a path that is not there,
// or that goes round, is an error.

#include "engine.h"

#include "builder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct store {
    const engine *engine;
    void *open;
    char *url;
    uint64_t limit;
};

// ---------------------------------------------------------------- answers

typedef struct {
    key key, parent, block;
    uint32_t place; // in the profile, when it is built
    enum { UNKNOWN, KNOWN, ON_THE_WAY, BUILT } state;
} answer_node;

typedef struct {
    key key;
    uint32_t block; // in the profile
} answer_block;

typedef struct {
    uint32_t node, metric; // rows
    int64_t value;
} answer_value;

struct answer {
    profile *profile;
    answer_node *nodes;
    answer_block *blocks;
    answer_value *values;
    size_t node_room, block_room, value_count, value_room;
    uint32_t node_count, block_count;
    lookup node_lookup, block_lookup;
};

static bool same_key(key a, key b) { return memcmp(a.bytes, b.bytes, sizeof a.bytes) == 0; }
static bool is_root(key k) { return same_key(k, (key){{0}}); }
static uint32_t hash_of(key k) { return ouro__hash_bytes(k.bytes, sizeof k.bytes); }

static void *room_for(void *list, size_t count, size_t *room, size_t size) {
    if (count < *room) return list;
    size_t more = *room ? *room * 2 : 256;
    void *grown = realloc(list, more * size);
    if (grown) *room = more;
    return grown;
}

static uint32_t find_node(const answer *a, key k) {
    uint32_t row, hash = hash_of(k);
    for (uint64_t i = ouro__lookup_first(&a->node_lookup, hash);
         (row = ouro__lookup_next(&a->node_lookup, hash, &i)) != NO_ROW;) {
        if (same_key(a->nodes[row].key, k)) return row;
    }
    return NO_ROW;
}

// The row of a node, new if it is not there; NO_ROW: out of memory.
static uint32_t node_row(answer *a, key k) {
    uint32_t row = find_node(a, k);
    if (row != NO_ROW) return row;
    answer_node *nodes = room_for(a->nodes, a->node_count, &a->node_room, sizeof *nodes);
    if (!nodes) return NO_ROW;
    a->nodes = nodes;
    if (!ouro__lookup_add(&a->node_lookup, hash_of(k), a->node_count)) return NO_ROW;
    a->nodes[a->node_count] = (answer_node){.key = k};
    return a->node_count++;
}

static uint32_t find_block(const answer *a, key k) {
    uint32_t row, hash = hash_of(k);
    for (uint64_t i = ouro__lookup_first(&a->block_lookup, hash);
         (row = ouro__lookup_next(&a->block_lookup, hash, &i)) != NO_ROW;) {
        if (same_key(a->blocks[row].key, k)) return row;
    }
    return NO_ROW;
}

bool ouro__answer_metric(answer *a, const char *name, const char *unit, uint32_t decimals,
                         uint32_t *number) {
    *number = ouro__profile_add_metric(a->profile, name, unit);
    if (a->profile->failed) return false;
    a->profile->metrics[*number].decimals = decimals;
    return true;
}

bool ouro__answer_value(answer *a, uint32_t m, key node, int64_t value) {
    uint32_t row = node_row(a, node);
    answer_value *values = room_for(a->values, a->value_count, &a->value_room, sizeof *values);
    if (values) a->values = values;
    if (!values || row == NO_ROW) return false;
    a->values[a->value_count++] = (answer_value){row, m, value};
    return true;
}

bool ouro__answer_node(answer *a, key node, key parent, key block) {
    uint32_t row = node_row(a, node);
    if (row == NO_ROW || (!is_root(parent) && node_row(a, parent) == NO_ROW)) return false;
    answer_node *n = &a->nodes[row];
    n->parent = parent;
    n->block = block;
    n->state = KNOWN;
    return true;
}

bool ouro__answer_block(answer *a, key block, const char *name, const char *file, uint32_t line,
                        uint32_t column) {
    if (find_block(a, block) != NO_ROW) return true;
    answer_block *blocks = room_for(a->blocks, a->block_count, &a->block_room, sizeof *blocks);
    if (!blocks) return false;
    a->blocks = blocks;
    block_info info = {.line = line, .column = column};
    info.name = ouro__profile_add_text(a->profile, name);
    info.file = ouro__profile_add_text(a->profile, file);
    a->blocks[a->block_count] = (answer_block){block, ouro__profile_add_block(a->profile, &info)};
    return !a->profile->failed &&
           ouro__lookup_add(&a->block_lookup, hash_of(block), a->block_count++);
}

bool ouro__answer_small(answer *a, const uint32_t *metrics, const int64_t *values, size_t count) {
    key block = ouro__block_key("[pruned]", "", 0, 0), node = ouro__node_key((key){{0}}, block);
    bool ok = ouro__answer_block(a, block, "[pruned]", "", 0, 0) &&
              ouro__answer_node(a, node, (key){{0}}, block);
    for (size_t m = 0; ok && m < count; m++)
        ok = !values[m] || ouro__answer_value(a, metrics[m], node, values[m]);
    return ok;
}

bool ouro__answer_unknown(const answer *a, size_t *next, key *node) {
    while (*next < a->node_count) {
        const answer_node *n = &a->nodes[(*next)++];
        if (n->state != UNKNOWN || is_root(n->key)) continue;
        *node = n->key;
        return true;
    }
    return false;
}

bool ouro__answer_wants(answer *a, key node) {
    return is_root(node) || node_row(a, node) != NO_ROW;
}

void ouro__answer_budget(answer *a, const budget *b) { a->profile->budget = *b; }

bool ouro__answer_missing(answer *a, const char *words) {
    free(a->profile->missing);
    a->profile->missing = strdup(words);
    return a->profile->missing != NULL;
}

static void answer_free(answer *a) {
    ouro__lookup_free(&a->node_lookup);
    ouro__lookup_free(&a->block_lookup);
    free(a->nodes);
    free(a->blocks);
    free(a->values);
    ouro__profile_free(a->profile);
}

// ---------------------------------------------------------------- from an answer to a profile

// The last millisecond of the year 9999: a later time has no date.
#define TIME_MOST UINT64_C(253402300799999)

static bool damaged(error *e, const char *what) {
    return ouro__fail(e, EILSEQ, "the store is damaged: %s", what);
}

static bool check_decimals(uint32_t decimals, error *e) {
    return decimals <= DECIMALS_MOST || damaged(e, "a metric has too many decimals");
}

static bool check_times(uint64_t from, uint64_t until, error *e) {
    return (from <= TIME_MOST && until <= TIME_MOST) || damaged(e, "a slice has no date");
}

static bool check_count(uint64_t count, error *e) {
    return count <= INT64_MAX || damaged(e, "a count is negative");
}

static bool check_labels(const label_count *labels, size_t count, error *e) {
    size_t i = 0;
    while (i < count && labels[i].slices <= INT64_MAX) i++;
    return i == count || check_count(labels[i].slices, e);
}

static bool check_metrics(const store_offer *o, error *e) {
    bool ok = true;
    for (size_t i = 0; ok && i < o->metric_count; i++)
        ok = check_decimals(o->metrics[i].decimals, e);
    return ok;
}

// Enters a node whose parent is in the profile.
static bool build_node(answer *a, builder *b, answer_node *n, uint32_t parent, error *e) {
    uint32_t block = find_block(a, n->block);
    if (block == NO_ROW) return damaged(e, "a block of a path is missing");
    n->place = ouro__builder_enter(b, parent, a->blocks[block].block);
    n->state = BUILT;
    return true;
}

// Goes up to what is built or to the root, leaving a trail, and builds on the way down. A node that
// is on the way already means that the path goes round.
static bool build_path(answer *a, builder *b, uint32_t row, uint32_t *trail, error *e) {
    uint32_t length = 0, parent = 0;
    for (;;) {
        answer_node *n = &a->nodes[row];
        if (n->state == BUILT) {
            parent = n->place;
            break;
        }
        if (n->state == UNKNOWN) return damaged(e, "a part of a path is missing");
        if (n->state == ON_THE_WAY) return damaged(e, "a path goes round");
        n->state = ON_THE_WAY;
        trail[length++] = row;
        if (is_root(n->parent)) break;
        row = find_node(a, n->parent);
    }
    for (; length; parent = a->nodes[trail[length]].place) {
        if (!build_node(a, b, &a->nodes[trail[--length]], parent, e)) return false;
    }
    return true;
}

static bool charge_values(answer *a, builder *b, uint32_t *trail, error *e) {
    for (size_t i = 0; i < a->value_count; i++) {
        const answer_value *v = &a->values[i];
        if (is_root(a->nodes[v->node].key)) return damaged(e, "the root has a value");
        if (!build_path(a, b, v->node, trail, e)) return false;
        ouro__charge(a->profile, v->metric, a->nodes[v->node].place, v->value);
    }
    return true;
}

static bool build(answer *a, error *e) {
    uint32_t *trail = malloc(((size_t)a->node_count + 1) * sizeof *trail);
    builder *b = ouro__builder_new(a->profile, RULE_AS_IT_IS, 0);
    bool ok = (trail && b) || ouro__fail_memory(e);
    for (uint32_t m = 0; ok && m < a->profile->metric_count; m++)
        ok = check_decimals(a->profile->metrics[m].decimals, e);
    ok = ok && charge_values(a, b, trail, e);
    ouro__builder_free(b);
    free(trail);
    a->profile->rule = RULE_LOOPS;
    return ok && ouro__profile_finish(a->profile, e);
}

static bool is_charged(const profile *p, uint32_t m) {
    uint32_t n = 0;
    while (n < p->node_count && !p->values[m][n]) n++;
    return n < p->node_count;
}

// Time first, as everywhere, if there is any: a recording may have counted calls alone.
static void choose_default(profile *p) {
    static const char *const names[] = {"time", "cpu", "samples", "calls"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        uint32_t m = ouro__profile_find_metric(p, names[i]);
        if (m == NO_ROW || !is_charged(p, m)) continue;
        p->default_metric = m;
        return;
    }
    uint32_t first = 0;
    while (first < p->metric_count && !is_charged(p, first)) first++;
    if (first < p->metric_count) p->default_metric = first;
}

static bool answer_init(answer *a, error *e) {
    *a = (answer){.profile = ouro__profile_new()};
    return a->profile || ouro__fail_memory(e);
}

// Takes the profile out of the answer.
static profile *finished(answer *a, error *e) {
    profile *p = NULL;
    if (build(a, e)) {
        p = a->profile;
        a->profile = NULL;
        p->format = "store";
        if (p->metric_count) choose_default(p);
    }
    answer_free(a);
    return p;
}

// ---------------------------------------------------------------- a store

// FILE, or SCHEME:... .
static const engine *engine_of(const char *url) {
    static const engine *const engines[] = {
        &ouro__sqlite,        &ouro__clickhouse, &ouro__clickhouse_tls, &ouro__pyroscope,
        &ouro__pyroscope_tls, &ouro__otlp,       &ouro__otlp_tls};
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++) {
        size_t length = strlen(engines[i]->scheme);
        if (strncmp(url, engines[i]->scheme, length) == 0 && url[length] == ':') return engines[i];
    }
    return strstr(url, "://") ? NULL : &ouro__sqlite;
}

static const engine *known_engine(const char *url, error *e) {
    const engine *found = engine_of(url);
    if (!found)
        ouro__error_set(e, EINVAL,
                        "no store is reached like this: write the name of a file, or "
                        "http://HOST:PORT/DATABASE");
    return found;
}

// What an engine that only writes is not asked for.
static bool fail_write_only(error *e) {
    return ouro__fail(e, ENOTSUP, "this store can only be written to: ask its own server");
}

static bool fail_forgetful(error *e) {
    return ouro__fail(e, ENOTSUP,
                      "this store cannot say what it has of a live file; write a pprof file of it "
                      "first (ouro convert), and push that once");
}

bool ouro__store_follows(const char *url, error *e) {
    const engine *found = known_engine(url, e);
    return found && (found->recorded || fail_forgetful(e));
}

// The URL may have a password in it.
static void store_free(store *s) {
    if (s->url) explicit_bzero(s->url, strlen(s->url));
    free(s->url);
    free(s);
}

store *ouro__store_open(const char *url, bool make, error *e) {
    const engine *found = known_engine(url, e);
    if (!found) return NULL;
    if (!make && !found->ask) {
        fail_write_only(e);
        return NULL;
    }
    store *s = calloc(1, sizeof *s);
    if (!s) {
        ouro__error_memory(e);
        return NULL;
    }
    s->engine = found;
    s->url = strdup(url);
    if (s->url)
        s->open = found->open(url, make, e);
    else
        ouro__error_memory(e);
    if (s->open) return s;
    store_free(s);
    return NULL;
}

store *ouro__store_again(const store *s, error *e) {
    store *another = ouro__store_open(s->url, false, e);
    if (another) ouro__store_limit(another, s->limit);
    return another;
}

void ouro__store_close(store *s) {
    if (!s) return;
    s->engine->close(s->open);
    store_free(s);
}

void ouro__store_patience(store *s, uint32_t milliseconds) {
    if (s->engine->patience) s->engine->patience(s->open, milliseconds);
}

void ouro__store_limit(store *s, uint64_t bytes) {
    s->limit = bytes;
    if (s->engine->limit) s->engine->limit(s->open, bytes);
}

bool ouro__store_put(store *s, const slice *added, bool *known, error *e) {
    return ouro__store_put_many(s, added, 1, known, e);
}

bool ouro__store_put_many(store *s, const slice *added, size_t count, bool *known, error *e) {
    if (s->engine->put_many) return s->engine->put_many(s->open, added, count, known, e);
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++) ok = s->engine->put(s->open, &added[i], &known[i], e);
    return ok;
}

bool ouro__store_wants_many(const store *s) { return s->engine->put_many != NULL; }

const char *ouro__store_note(const store *s) {
    const char *note = s->engine->note ? s->engine->note(s->open) : NULL;
    return note && *note ? note : NULL;
}

bool ouro__store_recorded(store *s, key recording, uint64_t *next, profile **sum, error *e) {
    answer a;
    *sum = NULL;
    if (!s->engine->recorded) return fail_forgetful(e);
    if (!answer_init(&a, e)) return false;
    if (!s->engine->recorded(s->open, recording, next, &a, e)) {
        answer_free(&a);
        return false;
    }
    *sum = finished(&a, e);
    return *sum != NULL;
}

profile *ouro__store_ask(store *s, const choice *c, error *e) {
    answer a;
    if (!s->engine->ask) fail_write_only(e);
    if (!s->engine->ask || !answer_init(&a, e)) return NULL;
    if (s->engine->ask(s->open, c, &a, e)) {
        // Of a store in which nothing is yet: who reports has a metric to report.
        if (!a.profile->metric_count) ouro__profile_add_metric(a.profile, "samples", "count");
        return finished(&a, e);
    }
    answer_free(&a);
    return NULL;
}

bool ouro__store_offer(store *s, const choice *c, store_offer *to, error *e) {
    if (!ouro__offer_make(s->engine, s->open, c, to, e)) return false;
    bool ok = check_count(to->slices, e) && check_times(to->first, to->last, e) &&
              check_labels(to->labels, to->label_count, e) && check_metrics(to, e);
    if (!ok) ouro__store_offer_free(to);
    return ok;
}

bool ouro__store_metrics(store *s, store_offer *to, error *e) {
    if (!ouro__offer_metrics(s->engine, s->open, to, e)) return false;
    bool ok = check_metrics(to, e);
    if (!ok) ouro__store_offer_free(to);
    return ok;
}

bool ouro__store_series(store *s, const choice *c, const series_question *q, series *to, error *e) {
    *to = (series){0};
    if (!q->step || !q->steps || q->steps > SERIES_STEPS || q->most > SERIES_VALUES)
        return ouro__fail(e, EINVAL, "a chart has 1 to %d steps of time, and at most %d values",
                          SERIES_STEPS, SERIES_VALUES);
    return ouro__series_make(s->engine, s->open, c, q, to, e);
}

bool ouro__store_summary(store *s, bool strict, store_summary *to, error *e) {
    *to = (store_summary){0};
    bool ok = s->engine->summary(s->open, strict, to, e) && check_times(to->from, to->until, e) &&
              check_count(to->rows | to->recordings | to->slices, e) &&
              check_labels(to->labels, to->label_count, e);
    if (!ok) ouro__store_summary_free(to);
    return ok;
}

void ouro__store_summary_free(store_summary *s) {
    for (size_t i = 0; i < s->label_count; i++) {
        free(s->labels[i].name);
        free(s->labels[i].value);
    }
    free(s->labels);
    free(s->missing);
    *s = (store_summary){0};
}

bool ouro__store_keep(store *s, uint64_t since, uint64_t *slices, error *e) {
    return s->engine->keep(s->open, since, slices, e);
}
