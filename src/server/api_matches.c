// SPDX-License-Identifier: MIT
//
// What a search finds in the tree: the paths whose last block it matches, the most expensive first,
// so that a page can go from one to the next, also where nothing is drawn. And what the paths hold
// that contain a match, each path once.

#include "table.h"

#include <stdlib.h>

typedef struct {
    const profile *p;
    const int64_t *values, *running;
    const uint64_t *ids;
    uint32_t *level;       // by node
    char id[PATH_ID_ROOM]; // of the row that was looked at last
} match_rows;

static const char *match_id(void *of, uint32_t node) {
    match_rows *r = of;
    ouro__path_id_print(r->ids[node], r->id);
    return r->id;
}
static int64_t match_block(void *of, uint32_t node) { return ((match_rows *)of)->p->block[node]; }
static int64_t match_level(void *of, uint32_t node) { return ((match_rows *)of)->level[node]; }
static int64_t match_self(void *of, uint32_t node) { return ((match_rows *)of)->values[node]; }
static int64_t match_overall(void *of, uint32_t node) {
    const match_rows *r = of;
    return ouro__inclusive(r->p, r->running, node);
}

static const column match_columns[] = {
    {"id", COLUMN_TEXT, IN_JSON, .text = match_id},
    {"block", COLUMN_BLOCK, IN_JSON | IN_CSV, .number = match_block},
    {"level", COLUMN_COUNT, IN_JSON | IN_CSV | SORTS, .number = match_level},
    {"self", COLUMN_VALUE, IN_JSON | IN_CSV | SORTS, .number = match_self},
    {"overall", COLUMN_VALUE, IN_JSON | IN_CSV | SORTS, .number = match_overall},
    {0},
};

static void look_at_nodes(match_rows *r, const uint8_t *match, uint8_t *keep) {
    const profile *p = r->p;
    r->level[0] = 0;
    for (uint32_t n = 1; n < p->node_count; n++) {
        r->level[n] = r->level[p->parent[n]] + 1;
        keep[n] = match[p->block[n]] && ouro__inclusive(p, r->running, n) > 0;
    }
}

static bool write_totals(question *q, const match_rows *r, const uint8_t *match) {
    const uint8_t *present = ouro__view_present(q->view);
    uint32_t count = 0;
    for (uint32_t b = 0; present && b < q->p->block_count; b++) count += match[b] && present[b];
    if (!present || q->csv) return present != NULL;
    ouro__write_integer(&q->json, "matched", ouro__matched(q->p, r->running, match));
    ouro__write_integer(&q->json, "block_count", count);
    return true;
}

bool ouro__api_matches(question *q) {
    const profile *p = q->p;
    bool ok;
    uint8_t *match = ouro__question_search(q, &ok), *keep = calloc(p->node_count, 1);
    if (ok && !match) ok = ouro__refuse(q, 400, "no-search", "matches needs search=");
    match_rows r = {.p = p,
                    .values = p->values[q->metric],
                    .running = ouro__view_running(q->view, q->metric),
                    .ids = ouro__view_ids(q->view),
                    .level = malloc(p->node_count * sizeof *r.level)};
    table t = {.columns = match_columns,
               .usual = &match_columns[4],
               .of = &r,
               .count = p->node_count,
               .keep = keep,
               .decimals = p->metrics[q->metric].decimals};
    ok = ok && keep && r.running && r.ids && r.level;
    if (ok) look_at_nodes(&r, match, keep);
    ok = ok && write_totals(q, &r, match) && ouro__table_answer(q, &t);
    free(match);
    free(keep);
    free(r.level);
    return ok;
}
