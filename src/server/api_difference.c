// SPDX-License-Identifier: MIT
//
// The difference flame graph: the trees of both files as one, each box with what it was before and
// what it is after. One side gives the boxes their widths. The page draws and colours them.

#include "compare.h"
#include "table.h"

#include <stdlib.h>
#include <string.h>

enum { BOXES_USUAL = 2000, BOXES_MOST = 8000, ABOVE_MOST = 200, BEFORE = 0, AFTER = 1 };

#define NARROW 0.0005 // of the whole width: about a pixel of a large screen

typedef struct {
    compared sides;
    matching pairs;
    profile *tree; // its blocks are the pairs
    uint64_t *ids;
    int64_t *running[2];
    int width; // the side that gives the widths
    flame *boxes;
    uint32_t count;
    char id[PATH_ID_ROOM]; // of the box that was looked at last
} graph;

static int64_t inclusive(const graph *g, int which, uint32_t node) {
    return ouro__inclusive(g->tree, g->running[which], node);
}

// ---------------------------------------------------------------- columns

static uint32_t node_of(const graph *g, uint32_t i) { return g->boxes[i].node; }

// NULL for the root.
static const char *box_id(void *of, uint32_t i) {
    graph *g = of;
    if (!node_of(g, i)) return NULL;
    ouro__path_id_print(g->ids[node_of(g, i)], g->id);
    return g->id;
}
static int64_t box_parent(void *of, uint32_t i) {
    return i ? ((graph *)of)->boxes[i].parent : NOT_KNOWN;
}
static int64_t box_block(void *of, uint32_t i) {
    return ((graph *)of)->tree->block[node_of(of, i)];
}
static int64_t box_value(void *of, uint32_t i) { return ((graph *)of)->boxes[i].value; }
static int64_t box_left(void *of, uint32_t i) { return ((graph *)of)->boxes[i].left; }
static int64_t box_depth(void *of, uint32_t i) { return ((graph *)of)->boxes[i].depth; }
static int64_t box_before(void *of, uint32_t i) { return inclusive(of, BEFORE, node_of(of, i)); }
static int64_t box_after(void *of, uint32_t i) { return inclusive(of, AFTER, node_of(of, i)); }
static int64_t box_self_before(void *of, uint32_t i) {
    return ((graph *)of)->tree->values[BEFORE][node_of(of, i)];
}
static int64_t box_self_after(void *of, uint32_t i) {
    return ((graph *)of)->tree->values[AFTER][node_of(of, i)];
}

static const column box_columns[] = {
    {"id", COLUMN_TEXT, IN_JSON, .text = box_id},
    {"parent", COLUMN_COUNT, IN_JSON, .number = box_parent},
    {"block", COLUMN_BLOCK, IN_JSON, .number = box_block},
    {"value", COLUMN_VALUE, IN_JSON, .number = box_value},
    {"x", COLUMN_VALUE, IN_JSON, .number = box_left},
    {"depth", COLUMN_COUNT, IN_JSON, .number = box_depth},
    {"before", COLUMN_VALUE, IN_JSON, .number = box_before},
    {"after", COLUMN_VALUE, IN_JSON, .number = box_after},
    {"self_before", COLUMN_VALUE, IN_JSON, .number = box_self_before},
    {"self_after", COLUMN_VALUE, IN_JSON, .number = box_self_after},
    {0},
};

// ---------------------------------------------------------------- the tree of both

// A pair goes by its label after, or before if only that side knows it. So a path that is also one
// of the side after has the id that it has there.
static uint64_t *hash_pairs(question *q, const graph *g) {
    uint64_t *hashes = malloc(((size_t)g->pairs.count + 1) * sizeof *hashes);
    for (uint32_t i = 0; hashes && i < g->pairs.count; i++) {
        const block_pair *pair = &g->pairs.pairs[i];
        bool after = pair->after != NO_BLOCK;
        uint32_t block = after ? pair->after : pair->before;
        const side *s = q->generation->sides[after];
        const char *name = ouro__block_name(g->sides.views[after]->profile, block);
        // Blocks that a filter added stand behind the side's own; their name is their label.
        char *label = block < s->profile->block_count ? ouro__label(&s->labels, block) : strdup(name);
        if (label) {
            hashes[i] = ouro__path_id_hash(label);
        } else {
            free(hashes);
            hashes = NULL;
        }
        free(label);
    }
    return hashes;
}

static bool make_tree(question *q, graph *g) {
    const compared *s = &g->sides;
    const profile *a = s->views[BEFORE]->profile, *b = s->views[AFTER]->profile;
    error e = {0};
    if (!ouro__match_blocks(a, b, &g->pairs)) return false;
    g->tree = ouro__difference_tree(a, s->metrics[BEFORE], b, s->metrics[AFTER], &g->pairs, &e);
    if (!g->tree) return ouro__refuse_error(q, 500, "too-large", &e);
    for (uint32_t i = 0; i < 2; i++) {
        if (!(g->running[i] = ouro__running(g->tree, i))) return false;
    }
    uint64_t *hashes = hash_pairs(q, g);
    if (hashes) g->ids = ouro__path_ids_of(g->tree, hashes);
    free(hashes);
    return g->ids;
}

static void graph_free(question *q, graph *g) {
    ouro__profile_free(g->tree);
    ouro__matching_free(&g->pairs);
    for (int i = 0; i < 2; i++) free(g->running[i]);
    free(g->ids);
    free(g->boxes);
    ouro__release_compared(q, &g->sides);
}

// ---------------------------------------------------------------- writing

static uint32_t level_of(const profile *p, uint32_t node) {
    uint32_t level = 0;
    for (uint32_t n = node; n; n = p->parent[n]) level++;
    return level;
}

// Where the graph looks: as in the flame graph of one file.
static void write_place(question *q, const graph *g, uint32_t node) {
    const profile *p = g->tree;
    uint32_t above[ABOVE_MOST], count = 0;
    for (uint32_t n = p->parent[node]; node && n && count < ABOVE_MOST; n = p->parent[n])
        above[count++] = n;
    ouro__write_object(&q->json, "at");
    ouro__write_id(q, "id", g->ids, node);
    ouro__write_block(q, "block", p->block[node]);
    ouro__write_integer(&q->json, "level", level_of(p, node));
    ouro__write_rows(&q->json, "above");
    while (count-- > 0) {
        ouro__write_object(&q->json, NULL);
        ouro__write_id(q, "id", g->ids, above[count]);
        ouro__write_block(q, "block", p->block[above[count]]);
        ouro__write_end(&q->json);
    }
    ouro__write_end(&q->json);
    ouro__write_end(&q->json);
}

// What is not drawn: boxes that were not sent, and what only the other side has. Of the latter only
// the topmost boxes count, and nothing below them.
static void write_hidden(question *q, const graph *g, uint32_t node) {
    const profile *p = g->tree;
    double least = NARROW * (double)inclusive(g, g->width, node);
    int64_t all = 1, wide = 1, others = 0, amount = 0;
    for (uint32_t n = node + 1; n < p->end[node];) {
        int64_t value = inclusive(g, g->width, n), other = inclusive(g, !g->width, n);
        bool drawn = value > 0;
        all += drawn;
        wide += drawn && (double)value >= least;
        others += !drawn && other > 0;
        if (!drawn && other > 0) amount += other;
        n = drawn ? n + 1 : p->end[n];
    }
    for (uint32_t i = 1; i < g->count; i++) wide -= (double)g->boxes[i].value >= least;
    ouro__write_integer(&q->json, "hidden", all - g->count);
    ouro__write_integer(&q->json, "hidden_deep", wide - 1);
    ouro__write_bool(&q->json, "hidden_more", false);
    ouro__write_integer(&q->json, "other_count", others);
    ouro__write_integer(&q->json, "other", amount);
}

// Each with the side whose paths have it; the side after if both do.
static bool write_blocks(question *q, const graph *g) {
    const uint8_t *present = ouro__view_present(g->sides.views[AFTER]);
    if (!present) return false;
    ouro__write_rows(&q->json, "blocks");
    for (uint32_t i = 0; i < q->block_count; i++) {
        const block_pair *pair = &g->pairs.pairs[q->blocks[i]];
        bool after = pair->before == NO_BLOCK || (pair->after != NO_BLOCK && present[pair->after]);
        ouro__write_side_block(q, &g->sides, after, after ? pair->after : pair->before);
    }
    ouro__write_end(&q->json);
    q->block_count = 0; // no other list is to be written
    return true;
}

static bool write_graph(question *q, graph *g, uint32_t node) {
    const int64_t left[2] = {g->running[BEFORE][g->tree->node_count],
                             g->running[AFTER][g->tree->node_count]};
    table t = {.columns = box_columns, .of = g, .count = g->count};
    q->place_of = calloc((size_t)g->pairs.count + 1, sizeof *q->place_of);
    q->blocks = malloc(((size_t)g->pairs.count + 1) * sizeof *q->blocks);
    if (!q->place_of || !q->blocks) return false;
    ouro__write_compared(q, &g->sides, left);
    write_place(q, g, node);
    for (const column *c = box_columns; c->name; c++) ouro__table_column(q, &t, c);
    ouro__write_null(&q->json, "recursions");
    write_hidden(q, g, node);
    return write_blocks(q, g);
}

// ---------------------------------------------------------------- the question

static bool find_width(question *q, graph *g) {
    const char *width = ouro__request_value(q->request, "width");
    g->width = width && strcmp(width, "before") == 0 ? BEFORE : AFTER;
    return !width || strcmp(width, "before") == 0 || strcmp(width, "after") == 0 ||
           ouro__refuse(q, 400, "bad-width", "width is before or after");
}

// A path that the filters took away leads to everything if the nearest is wanted.
static bool find_node(question *q, const graph *g, uint32_t *node) {
    const char *text = ouro__request_value(q->request, "path"),
               *nearest = ouro__request_value(q->request, "nearest");
    uint64_t id;
    bool several = false;
    *node = 0;
    if (!text || !*text) return true;
    if (!ouro__path_id_parse(text, &id) || text[PATH_ID_LENGTH])
        return ouro__refuse(q, 400, "bad-path", "%s is no id of a path", text);
    *node = ouro__path_id_find(g->ids, g->tree->node_count, id, &several);
    if (*node != NO_NODE) return true;
    *node = 0;
    return (nearest && strcmp(nearest, "true") == 0) ||
           ouro__refuse(q, 404, "no-such-path", "what the filters leave has no such path");
}

bool ouro__api_difference(question *q) {
    graph g = {0};
    uint32_t limit, node;
    bool ok = ouro__request_number(q->request, "limit", 1, BOXES_MOST, BOXES_USUAL, &limit) ||
              ouro__refuse(q, 400, "bad-number", "limit is a whole number from 1 to %d", BOXES_MOST);
    ok = ok && find_width(q, &g) && ouro__find_compared(q, &g.sides) && make_tree(q, &g) &&
         find_node(q, &g, &node) &&
         ouro__flame_below(g.tree, g.running[g.width], node, limit, &g.boxes, &g.count) &&
         write_graph(q, &g, node);
    graph_free(q, &g);
    return ok;
}
