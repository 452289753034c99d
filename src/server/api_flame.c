// SPDX-License-Identifier: MIT
//
// The flame graph. The page draws: it gets columns of numbers, and never more boxes than it
// asked for.

#include "table.h"

#include <stdlib.h>

enum { BOXES_USUAL = 2000, BOXES_MOST = 8000, ABOVE_MOST = 200 };

#define NARROW 0.0005 // of the whole width: about a pixel of a large screen

// ---------------------------------------------------------------- where it looks

void ouro__write_id(question *q, const char *name, const uint64_t *ids, uint32_t node) {
    char text[PATH_ID_ROOM];
    if (node) ouro__path_id_print(ids[node], text);
    ouro__write_text(&q->json, name, node ? text : NULL);
}

// The nodes above a node, the root not among them, root first. Of very many only the nearest.
static uint32_t find_above(const profile *p, uint32_t node, uint32_t above[ABOVE_MOST]) {
    uint32_t count = 0;
    for (uint32_t n = p->parent[node]; node && n && count < ABOVE_MOST; n = p->parent[n])
        above[count++] = n;
    for (uint32_t i = 0; i < count / 2; i++) {
        uint32_t moved = above[i];
        above[i] = above[count - 1 - i];
        above[count - 1 - i] = moved;
    }
    return count;
}

static uint32_t level_of(const profile *p, uint32_t node) {
    uint32_t level = 0;
    for (uint32_t n = node; n; n = p->parent[n]) level++;
    return level;
}

bool ouro__write_place(question *q, uint32_t node) {
    const uint64_t *ids = ouro__view_ids(q->view);
    uint32_t above[ABOVE_MOST], count = find_above(q->p, node, above);
    if (!ids) return false;
    ouro__write_object(&q->json, "at");
    ouro__write_id(q, "id", ids, node);
    ouro__write_block(q, "block", q->p->block[node]);
    ouro__write_integer(&q->json, "level", level_of(q->p, node));
    ouro__write_rows(&q->json, "above");
    for (uint32_t i = 0; i < count; i++) {
        ouro__write_object(&q->json, NULL);
        ouro__write_id(q, "id", ids, above[i]);
        ouro__write_block(q, "block", q->p->block[above[i]]);
        ouro__write_end(&q->json);
    }
    ouro__write_end(&q->json);
    ouro__write_end(&q->json);
    return true;
}

static void write_ancestors(question *q, uint32_t node) {
    uint32_t above[ABOVE_MOST], count = find_above(q->p, node, above);
    ouro__write_array(&q->json, "ancestors");
    for (uint32_t i = 0; i < count; i++) ouro__write_block(q, NULL, q->p->block[above[i]]);
    ouro__write_end(&q->json);
}

// ---------------------------------------------------------------- boxes

typedef struct {
    const profile *p;
    const flame *boxes;
    const uint64_t *ids;
    const int64_t *values, *recursions;
    char id[PATH_ID_ROOM]; // of the box that was looked at last
} flame_rows;

// NULL for the root.
static const char *flame_id(void *of, uint32_t i) {
    flame_rows *f = of;
    if (!f->boxes[i].node) return NULL;
    ouro__path_id_print(f->ids[f->boxes[i].node], f->id);
    return f->id;
}
static int64_t flame_parent(void *of, uint32_t i) {
    return i ? ((flame_rows *)of)->boxes[i].parent : NOT_KNOWN;
}
static int64_t flame_block(void *of, uint32_t i) {
    const flame_rows *f = of;
    return f->p->block[f->boxes[i].node];
}
static int64_t flame_value(void *of, uint32_t i) { return ((flame_rows *)of)->boxes[i].value; }
static int64_t flame_self(void *of, uint32_t i) {
    const flame_rows *f = of;
    return f->values[f->boxes[i].node];
}
static int64_t flame_left(void *of, uint32_t i) { return ((flame_rows *)of)->boxes[i].left; }
static int64_t flame_depth(void *of, uint32_t i) { return ((flame_rows *)of)->boxes[i].depth; }
static int64_t flame_recursions(void *of, uint32_t i) {
    const flame_rows *f = of;
    return f->recursions[f->boxes[i].node];
}

static const column flame_columns[] = {
    {"id", COLUMN_TEXT, IN_JSON, .text = flame_id},
    {"parent", COLUMN_COUNT, IN_JSON, .number = flame_parent},
    {"block", COLUMN_BLOCK, IN_JSON, .number = flame_block},
    {"value", COLUMN_VALUE, IN_JSON, .number = flame_value},
    {"self", COLUMN_VALUE, IN_JSON, .number = flame_self},
    {"x", COLUMN_VALUE, IN_JSON, .number = flame_left},
    {"depth", COLUMN_COUNT, IN_JSON, .number = flame_depth},
    {0},
};
static const column recursions_column = {"recursions", COLUMN_COUNT, IN_JSON,
                                         .number = flame_recursions};

typedef struct {
    uint32_t all, wide;
} box_count;

// Boxes that have a width, at and below a node; the first counts in any case. `wide`: those that
// would be seen.
static box_count count_boxes(const profile *p, const int64_t *running, uint32_t node) {
    double least = NARROW * (double)ouro__inclusive(p, running, node);
    box_count c = {1, 1};
    for (uint32_t n = node + 1; n < p->end[node];) {
        int64_t value = ouro__inclusive(p, running, n);
        c.all += value > 0;
        c.wide += value > 0 && (double)value >= least;
        n = value > 0 ? n + 1 : p->end[n];
    }
    return c;
}

// The widest boxes were sent. So a wide one that was not lies below others that are as wide: what
// hides it is the depth.
static void write_hidden(question *q, const int64_t *running, const flame *boxes, uint32_t count) {
    double least = NARROW * (double)boxes[0].value;
    box_count all = count_boxes(q->p, running, boxes[0].node);
    uint32_t wide = 1;
    for (uint32_t i = 1; i < count; i++) wide += (double)boxes[i].value >= least;
    ouro__write_integer(&q->json, "hidden", (int64_t)all.all - count);
    ouro__write_integer(&q->json, "hidden_deep", (int64_t)all.wide - wide);
}

// The members of a flame graph.
bool ouro__write_flame(question *q, uint32_t node, uint32_t limit) {
    const profile *p = q->p;
    const int64_t *running = ouro__view_running(q->view, q->metric);
    const uint64_t *ids = ouro__view_ids(q->view);
    flame *boxes;
    uint32_t count;
    if (!running || !ids || !ouro__flame_below(p, running, node, limit, &boxes, &count))
        return false;
    flame_rows rows = {.p = p,
                       .boxes = boxes,
                       .ids = ids,
                       .values = p->values[q->metric],
                       .recursions = q->recursions == NO_ROW ? NULL : p->values[q->recursions]};
    table t = {.columns = flame_columns, .of = &rows, .count = count};
    bool ok = ouro__write_place(q, node);
    write_ancestors(q, node);
    for (const column *c = flame_columns; c->name; c++) ouro__table_column(q, &t, c);
    if (rows.recursions) ouro__table_column(q, &t, &recursions_column);
    if (!rows.recursions) ouro__write_null(&q->json, recursions_column.name);
    write_hidden(q, running, boxes, count);
    free(boxes);
    return ok;
}

bool ouro__api_flame(question *q) {
    uint32_t node, limit;
    if (!ouro__request_number(q->request, "limit", 1, BOXES_MOST, BOXES_USUAL, &limit))
        return ouro__refuse(q, 400, "bad-number", "limit is a whole number from 1 to %d",
                            BOXES_MOST);
    return ouro__question_node(q, &node) && ouro__write_flame(q, node, limit);
}
