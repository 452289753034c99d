// SPDX-License-Identifier: MIT
//
// The flame graph. The page draws: it gets columns of numbers, and never more boxes than it
// asked for.

#include "table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BOXES_USUAL = 2000, BOXES_MOST = 8000, ABOVE_MOST = 200 };

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
    const int64_t *values, *recursions; // NULL if not known
    bool inverted;
    uint32_t level;             // inverted: of row 0
    char id[PATH_ID_ROOM + 12]; // of the box that was looked at last
} flame_rows;

static const char *inverted_id(flame_rows *f, uint32_t end, uint32_t level) {
    ouro__path_id_print(f->ids[end], f->id);
    sprintf(f->id + PATH_ID_LENGTH, ".%u", level);
    return f->id;
}

// NULL for the root.
static const char *flame_id(void *of, uint32_t i) {
    flame_rows *f = of;
    const flame *b = &f->boxes[i];
    if (!b->node) return NULL;
    if (f->inverted) return inverted_id(f, b->path_end, f->level + b->depth);
    ouro__path_id_print(f->ids[b->node], f->id);
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
    return f->values ? f->values[f->boxes[i].node] : NOT_KNOWN;
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
    double least = FLAME_NARROW * (double)ouro__inclusive(p, running, node);
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
    double least = FLAME_NARROW * (double)boxes[0].value;
    box_count all = count_boxes(q->p, running, boxes[0].node);
    uint32_t wide = 1;
    for (uint32_t i = 1; i < count; i++) wide += (double)boxes[i].value >= least;
    ouro__write_integer(&q->json, "hidden", (int64_t)all.all - count);
    ouro__write_integer(&q->json, "hidden_deep", (int64_t)all.wide - wide);
    ouro__write_bool(&q->json, "hidden_more", false);
}

// The members that a graph has, whatever its tree.
static void write_boxes(question *q, flame_rows *rows, uint32_t count) {
    table t = {.columns = flame_columns, .of = rows, .count = count};
    for (const column *c = flame_columns; c->name; c++) ouro__table_column(q, &t, c);
    if (rows->recursions) ouro__table_column(q, &t, &recursions_column);
    if (!rows->recursions) ouro__write_null(&q->json, recursions_column.name);
}

// The members of the flame graph of the profile's own tree.
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
    bool ok = ouro__write_place(q, node);
    write_ancestors(q, node);
    write_boxes(q, &rows, count);
    write_hidden(q, running, boxes, count);
    free(boxes);
    return ok;
}

// ---------------------------------------------------------------- upside down

static void write_rest(question *q, const flame_rest *rest) {
    ouro__write_integer(&q->json, "hidden", rest->boxes);
    ouro__write_integer(&q->json, "hidden_deep", rest->wide);
    ouro__write_bool(&q->json, "hidden_more", rest->boxes || rest->cut);
}

// ID.3: the last three blocks of the path ID. Level 0 is everything, also for a path that the
// filters took away.
static bool inverted_place(question *q, uint32_t *end, uint32_t *level) {
    const char *text = ouro__request_value(q->request, "path");
    char id[PATH_ID_ROOM], *rest = NULL;
    *end = *level = 0;
    if (!text || !*text) return true;
    snprintf(id, sizeof id, "%s", text);
    bool numbered = strlen(text) > PATH_ID_LENGTH + 1 && text[PATH_ID_LENGTH] == '.';
    unsigned long number = numbered ? strtoul(text + PATH_ID_LENGTH + 1, &rest, 10) : 0;
    if (!numbered || text[PATH_ID_LENGTH + 1] < '1' || text[PATH_ID_LENGTH + 1] > '9' || *rest)
        return ouro__refuse(q, 400, "bad-path", "%s is no id of an inverted path", text);
    if (!ouro__question_node_of_id(q, id, end)) return false;
    bool there = *end != NO_NODE && number <= level_of(q->p, *end);
    *level = there ? (uint32_t)number : 0;
    *end = there ? *end : 0;
    return there || ouro__question_nearest(q) ||
           ouro__refuse(q, 404, "no-such-path", "what the filters leave has no such path");
}

// As ouro__write_place. Above are the blocks that it ends with, the last first.
static void write_inverted_place(question *q, const uint64_t *ids, uint32_t end, uint32_t level) {
    const profile *p = q->p;
    uint32_t first = level > ABOVE_MOST ? level - ABOVE_MOST : 1, node = end;
    flame_rows one = {.p = p, .ids = ids, .inverted = true};
    ouro__write_object(&q->json, "at");
    for (uint32_t i = 1; i < level; i++) node = p->parent[node];
    ouro__write_text(&q->json, "id", level ? inverted_id(&one, end, level) : NULL);
    ouro__write_block(q, "block", p->block[level ? node : 0]);
    ouro__write_integer(&q->json, "level", level);
    ouro__write_rows(&q->json, "above");
    node = end;
    for (uint32_t i = 1; i < level; i++, node = p->parent[node]) {
        if (i < first) continue;
        ouro__write_object(&q->json, NULL);
        ouro__write_text(&q->json, "id", inverted_id(&one, end, i));
        ouro__write_block(q, "block", p->block[node]);
        ouro__write_end(&q->json);
    }
    ouro__write_end(&q->json);
    ouro__write_end(&q->json);
}

// The ids of the paths that boxes end, and of nothing else: to hash all paths of a deep profile
// takes as long as to turn it. Freed by the caller.
static uint64_t *ids_of_ends(const question *q, const flame *boxes, uint32_t count) {
    uint8_t *wanted = calloc(q->p->node_count, 1);
    for (uint32_t i = 0; wanted && i < count; i++) {
        for (uint32_t n = boxes[i].path_end; n && !wanted[n]; n = q->p->parent[n]) wanted[n] = 1;
    }
    uint64_t *ids = wanted ? ouro__path_ids_of(q->p, &q->view->side->labels, wanted) : NULL;
    free(wanted);
    return ids;
}

static bool write_inverted(question *q, uint32_t limit) {
    uint32_t end, level, count;
    flame *boxes;
    flame_rest rest;
    if (!inverted_place(q, &end, &level) ||
        !ouro__inverted(q->p, q->p->values[q->metric], end, level, limit, &boxes, &count, &rest))
        return false;
    uint64_t *ids = ids_of_ends(q, boxes, count);
    flame_rows rows = {.p = q->p, .boxes = boxes, .ids = ids, .inverted = true, .level = level};
    if (ids) {
        write_inverted_place(q, ids, end, level);
        write_boxes(q, &rows, count);
        write_rest(q, &rest);
    }
    free(ids);
    free(boxes);
    return ids;
}

// ---------------------------------------------------------------- the questions

// Which of the answer's blocks the search finds, by their places: also boxes that are not drawn
// are found, but not these.
bool ouro__write_found(question *q) {
    bool ok;
    uint8_t *match = ouro__question_search(q, &ok);
    if (!ok) return false;
    ouro__write_array(&q->json, "found");
    for (uint32_t i = 0; match && i < q->block_count; i++) {
        if (match[q->blocks[i]]) ouro__write_integer(&q->json, NULL, i);
    }
    ouro__write_end(&q->json);
    free(match);
    return true;
}

bool ouro__question_boxes(question *q, uint32_t *limit) {
    return ouro__request_number(q->request, "limit", 1, BOXES_MOST, BOXES_USUAL, limit) ||
           ouro__refuse(q, 400, "bad-number", "limit is a whole number from 1 to %d", BOXES_MOST);
}

bool ouro__api_flame(question *q) {
    uint32_t node, limit;
    const char *invert = ouro__request_value(q->request, "invert");
    if (!ouro__question_boxes(q, &limit)) return false;
    bool ok = invert && strcmp(invert, "true") == 0
                  ? write_inverted(q, limit)
                  : ouro__question_node(q, &node) && ouro__write_flame(q, node, limit);
    return ok && ouro__write_found(q);
}

typedef bool around_block(const profile *p, const int64_t *running, uint32_t block, uint32_t limit,
                          flame **rows, uint32_t *count, flame_rest *rest);

static bool write_side(question *q, const char *name, around_block *ask, uint32_t block,
                       uint32_t limit) {
    const int64_t *running = ouro__view_running(q->view, q->metric);
    const uint64_t *ids = ouro__view_ids(q->view);
    flame *boxes;
    uint32_t count;
    flame_rest rest;
    if (!running || !ids || !ask(q->p, running, block, limit, &boxes, &count, &rest)) return false;
    flame_rows rows = {.p = q->p, .boxes = boxes, .ids = ids, .inverted = true, .level = 1};
    ouro__write_object(&q->json, name);
    write_boxes(q, &rows, count);
    write_rest(q, &rest);
    ouro__write_end(&q->json);
    free(boxes);
    return true;
}

bool ouro__api_sandwich(question *q) {
    size_t count;
    uint32_t limit, *blocks = ouro__question_blocks(q, "block", &count);
    bool ok =
        blocks && (count == 1 || ouro__refuse(q, 400, "no-block", "sandwich needs one block="));
    ok = ok && ouro__question_boxes(q, &limit) &&
         write_side(q, "callers", ouro__flame_callers, *blocks, limit) &&
         write_side(q, "callees", ouro__flame_callees, *blocks, limit);
    free(blocks);
    return ok;
}
