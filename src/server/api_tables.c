// SPDX-License-Identifier: MIT
//
// Tables: blocks, sequences, and the two questions of a search box.

#include "table.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FOUND_MOST = 20, PATH_MOST = 400 };

// ---------------------------------------------------------------- blocks

typedef struct {
    const totals *totals;
    const side *side;
} block_rows;

static int64_t block_number(void *of, uint32_t b) {
    (void)of;
    return b;
}
static int64_t block_self(void *of, uint32_t b) { return ((block_rows *)of)->totals->self[b]; }
static int64_t block_overall(void *of, uint32_t b) {
    return ((block_rows *)of)->totals->overall[b];
}
static int64_t block_calls(void *of, uint32_t b) {
    const totals *t = ((block_rows *)of)->totals;
    return t->calls ? t->calls[b] : NOT_KNOWN;
}
static int64_t block_by_name(void *of, uint32_t b) { return ((block_rows *)of)->side->by_name[b]; }
static int64_t block_by_file(void *of, uint32_t b) { return ((block_rows *)of)->side->by_file[b]; }

static const column block_columns[] = {
    {"block", COLUMN_BLOCK, IN_JSON | IN_CSV, .number = block_number},
    {"self", COLUMN_VALUE, IN_JSON | IN_CSV | SORTS, .number = block_self},
    {"overall", COLUMN_VALUE, IN_JSON | IN_CSV | SORTS, .number = block_overall},
    {"calls", COLUMN_COUNT, IN_JSON | IN_CSV | SORTS, .number = block_calls},
    {"name", COLUMN_COUNT, SORTS, .number = block_by_name},
    {"file", COLUMN_COUNT, SORTS, .number = block_by_file},
    {0},
};

// false: out of memory. `rows` stays the caller's, and must live as long.
static bool block_table(question *q, block_rows *rows, table *t) {
    *rows = (block_rows){ouro__view_totals(q->view, q->metric), q->side};
    if (!rows->totals) return false;
    *t = (table){.columns = block_columns,
                 .usual = &block_columns[1],
                 .of = rows,
                 .count = rows->totals->count,
                 .decimals = q->p->metrics[q->metric].decimals};
    return true;
}

bool ouro__write_top(question *q, const char *name, bool overall, uint32_t top) {
    block_rows rows;
    table t;
    uint32_t *blocks = malloc((size_t)top * sizeof *blocks);
    bool ok = blocks && block_table(q, &rows, &t);
    if (ok) {
        const int64_t *values = overall ? rows.totals->overall : rows.totals->self;
        ouro__table_rows(q, name, &t, blocks, ouro__rank(values, t.count, top, blocks));
    }
    free(blocks);
    return ok;
}

// Of `match`, or of all if it is NULL, the blocks that a path has. Takes `match`.
static uint8_t *keep_present(question *q, uint8_t *match) {
    const uint8_t *present = ouro__view_present(q->view);
    uint8_t *keep = match ? match : malloc((size_t)q->p->block_count + 1);
    if (!present || !keep) {
        free(keep);
        return NULL;
    }
    for (uint32_t b = 0; b < q->p->block_count; b++) keep[b] = present[b] && (!match || match[b]);
    return keep;
}

bool ouro__api_blocks(question *q) {
    block_rows rows;
    table t;
    bool ok;
    uint8_t *match = ouro__question_search(q, &ok), *keep = ok ? keep_present(q, match) : NULL;
    ok = keep && block_table(q, &rows, &t);
    if (ok) {
        t.keep = keep;
        ok = ouro__table_answer(q, &t);
    }
    free(keep);
    return ok;
}

// ---------------------------------------------------------------- sequences

typedef struct {
    const profile *p;
    const int64_t *values, *running;
    const uint64_t *ids;       // by node
    char id[PATH_ID_ROOM];     // of the row that was looked at last
    uint32_t *length;          // by node
    uint32_t *head;            // by node: the one on its path that ends the first PATH_MOST / 2
    uint32_t shown[PATH_MOST]; // the path of the row that was looked at last
} sequence_rows;

// The path to a node, root first. Of one that is very long only the two ends: a table of paths of
// a million blocks would otherwise be their square.
static block_list sequence_path(void *of, uint32_t node) {
    sequence_rows *s = of;
    uint32_t length = s->length[node], count = length < PATH_MOST ? length : PATH_MOST, at = count;
    for (uint32_t n = node; n && at > 0; n = s->p->parent[n]) {
        if (length > PATH_MOST && at == PATH_MOST / 2) n = s->head[node];
        s->shown[--at] = s->p->block[n];
    }
    return (block_list){s->shown, count, length - count};
}

static const char *sequence_id(void *of, uint32_t node) {
    sequence_rows *s = of;
    ouro__path_id_print(s->ids[node], s->id);
    return s->id;
}
static int64_t sequence_length(void *of, uint32_t n) { return ((sequence_rows *)of)->length[n]; }
static int64_t sequence_self(void *of, uint32_t n) { return ((sequence_rows *)of)->values[n]; }
static int64_t sequence_overall(void *of, uint32_t n) {
    const sequence_rows *s = of;
    return ouro__inclusive(s->p, s->running, n);
}

static const column sequence_columns[] = {
    {"id", COLUMN_TEXT, IN_JSON, .text = sequence_id},
    {"path", COLUMN_BLOCKS, IN_JSON | IN_CSV, .blocks = sequence_path},
    {"length", COLUMN_COUNT, IN_JSON | IN_CSV | SORTS, .number = sequence_length},
    {"self", COLUMN_VALUE, IN_JSON | IN_CSV | SORTS, .number = sequence_self},
    {"overall", COLUMN_VALUE, IN_JSON | IN_CSV | SORTS, .number = sequence_overall},
    {0},
};

// keep[n]: something was charged at or below it, and the search finds a block of its path, which
// hit[n] says. Without a search `match` and `hit` are NULL.
static void look_at_nodes(sequence_rows *s, const uint8_t *match, uint8_t *hit, uint8_t *keep) {
    const profile *p = s->p;
    s->length[0] = 0;
    for (uint32_t n = 1; n < p->node_count; n++) {
        uint32_t up = p->parent[n];
        s->length[n] = s->length[up] + 1;
        s->head[n] = s->length[n] <= PATH_MOST / 2 ? n : s->head[up];
        if (match) hit[n] = hit[up] | match[p->block[n]];
        bool charged = s->values[n] || ouro__inclusive(p, s->running, n);
        keep[n] = charged && (!match || hit[n]);
    }
}

bool ouro__api_sequences(question *q) {
    const profile *p = q->p;
    bool ok;
    uint8_t *match = ouro__question_search(q, &ok);
    uint8_t *hit = match ? calloc(p->node_count, 1) : NULL, *keep = calloc(p->node_count, 1);
    sequence_rows s = {.p = p,
                       .values = p->values[q->metric],
                       .running = ouro__view_running(q->view, q->metric),
                       .ids = ouro__view_ids(q->view),
                       .length = malloc(p->node_count * sizeof *s.length),
                       .head = malloc(p->node_count * sizeof *s.head)};
    table t = {.columns = sequence_columns,
               .usual = &sequence_columns[3],
               .of = &s,
               .count = p->node_count,
               .keep = keep,
               .decimals = p->metrics[q->metric].decimals};
    ok = ok && (hit || !match) && keep && s.running && s.ids && s.length && s.head;
    if (ok) look_at_nodes(&s, match, hit, keep);
    ok = ok && ouro__table_answer(q, &t);
    free(match);
    free(hit);
    free(keep);
    free(s.length);
    free(s.head);
    return ok;
}

// ---------------------------------------------------------------- searching

enum { FIT_WHOLE = 4, FIT_START = 3, FIT_PART = 2, FIT_INSIDE = 1, FIT_FILE = 0 };

// How well a name fits: the whole, its start, the start of a part, somewhere, or only the file.
static int64_t fit(const char *name, const char *text) {
    if (strcasecmp(name, text) == 0) return FIT_WHOLE;
    if (strncasecmp(name, text, strlen(text)) == 0) return FIT_START;
    for (const char *at = name; (at = strcasestr(at, text)); at++) {
        if (at > name && strchr("_.:/$@ -!<(", at[-1])) return FIT_PART;
    }
    return ouro__contains(name, text) ? FIT_INSIDE : FIT_FILE;
}

// The best fit first; among equals, what costs most. *all: how many fit at all.
static bool find_best(question *q, const char *text, const totals *t, const uint8_t *keep,
                      uint32_t found[FOUND_MOST], uint32_t *used, uint32_t *all) {
    uint8_t *grade_keep = malloc((size_t)t->count + 1);
    bool ok = grade_keep != NULL;
    *used = *all = 0;
    for (int64_t grade = FIT_WHOLE; ok && grade >= FIT_FILE; grade--) {
        uint32_t more = 0;
        for (uint32_t b = 0; b < t->count; b++)
            grade_keep[b] = keep[b] && fit(ouro__block_name(q->p, b), text) == grade;
        *all += ouro__count_kept(grade_keep, t->count);
        uint32_t *best =
            ouro__order(t->overall, t->count, grade_keep, false, 0, FOUND_MOST - *used, &more);
        ok = best != NULL;
        if (ok) memcpy(found + *used, best, more * sizeof *best);
        *used += more;
        free(best);
    }
    free(grade_keep);
    return ok;
}

bool ouro__api_find(question *q) {
    const char *text = ouro__request_value(q->request, "text");
    if (!text) return ouro__refuse(q, 400, "no-text", "find needs text=");
    block_rows rows;
    table t;
    uint32_t count, found[FOUND_MOST], used, all;
    uint8_t *match = ouro__matching(q->p, text, &count),
            *keep = match ? keep_present(q, match) : NULL;
    bool ok = keep && block_table(q, &rows, &t) &&
              find_best(q, text, rows.totals, keep, found, &used, &all);
    if (ok) {
        ouro__table_head(q, t.columns);
        ouro__table_rows(q, "rows", &t, found, used);
        ouro__table_foot(q, all, 0);
    }
    free(keep);
    return ok;
}

bool ouro__api_total(question *q) {
    const char *text = ouro__request_value(q->request, "search");
    if (!text || !*text) return ouro__refuse(q, 400, "no-search", "total needs search=");
    const int64_t *running = ouro__view_running(q->view, q->metric);
    const uint8_t *present = ouro__view_present(q->view);
    uint32_t count;
    uint8_t *match = ouro__matching(q->p, text, &count);
    bool ok = running && match && present;
    if (ok) {
        count = 0;
        for (uint32_t b = 0; b < q->p->block_count; b++) count += match[b] && present[b];
        ouro__write_integer(&q->json, "matched", ouro__matched(q->p, running, match));
        ouro__write_integer(&q->json, "block_count", count);
    }
    free(match);
    return ok;
}
