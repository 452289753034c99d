// SPDX-License-Identifier: MIT
//
// The call tree as rows of one table: the callees of a path and, below each row that is open, its
// own callees. A row is open if it stands on the way to a path that the question names. Levels are
// a stack of this file's own, because a tree may be deep.

#include "table.h"

#include <stdlib.h>
#include <string.h>

enum {
    ROWS_MOST = 5000, // no level is opened after so many rows
    HOT_MOST = 40,    // levels that are opened along the hottest path
};

// A callee with less than both ends the hottest path: of the caller's overall, and of the top's.
#define HOT_SHARE 0.5
#define HOT_LEAST 0.05

// ---------------------------------------------------------------- one level

typedef struct {
    const profile *p;
    const int64_t *values, *running;
    const uint64_t *ids;
    const side *side;
    const uint8_t *match; // by block; NULL: no search
} tree;

typedef struct {
    const tree *tree;
    uint32_t *nodes; // by row
    uint8_t *keep;
    uint32_t count;
    char id[PATH_ID_ROOM]; // of the row that was looked at last
} level_rows;

static uint32_t count_children(const profile *p, uint32_t node) {
    uint32_t count = 0;
    for (uint32_t n = node + 1; n < p->end[node]; n = p->end[n]) count++;
    return count;
}

static const char *level_id(void *of, uint32_t row) {
    level_rows *r = of;
    ouro__path_id_print(r->tree->ids[r->nodes[row]], r->id);
    return r->id;
}
static int64_t level_block(void *of, uint32_t row) {
    const level_rows *r = of;
    return r->tree->p->block[r->nodes[row]];
}
static int64_t level_self(void *of, uint32_t row) {
    const level_rows *r = of;
    return r->tree->values[r->nodes[row]];
}
static int64_t level_overall(void *of, uint32_t row) {
    const level_rows *r = of;
    return ouro__inclusive(r->tree->p, r->tree->running, r->nodes[row]);
}
static int64_t level_calls(void *of, uint32_t row) {
    const level_rows *r = of;
    return ouro__calls_of(r->tree->p, r->nodes[row]);
}
static int64_t level_children(void *of, uint32_t row) {
    const level_rows *r = of;
    return count_children(r->tree->p, r->nodes[row]);
}
static int64_t level_by_name(void *of, uint32_t row) {
    return ((level_rows *)of)->tree->side->by_name[level_block(of, row)];
}

static const column level_columns[] = {
    {"id", COLUMN_TEXT, IN_JSON, .text = level_id},
    {"block", COLUMN_BLOCK, IN_JSON | IN_CSV, .number = level_block},
    {"self", COLUMN_VALUE, IN_JSON | IN_CSV | SORTS, .number = level_self},
    {"overall", COLUMN_VALUE, IN_JSON | IN_CSV | SORTS, .number = level_overall},
    {"calls", COLUMN_COUNT, IN_JSON | IN_CSV, .number = level_calls},
    {"children", COLUMN_COUNT, IN_JSON | IN_CSV, .number = level_children},
    {"name", COLUMN_COUNT, SORTS, .number = level_by_name},
    {0},
};

static void level_free(level_rows *r) {
    free(r->nodes);
    free(r->keep);
}

// The callees of a node. false: out of memory.
static bool level_init(level_rows *r, const tree *of, uint32_t node) {
    const profile *p = of->p;
    *r = (level_rows){.tree = of, .count = count_children(p, node)};
    r->nodes = malloc(((size_t)r->count + 1) * sizeof *r->nodes);
    r->keep = malloc((size_t)r->count + 1);
    bool ok = r->nodes && r->keep;
    for (uint32_t n = node + 1, row = 0; ok && n < p->end[node]; n = p->end[n], row++) {
        r->nodes[row] = n;
        r->keep[row] = !of->match || of->match[p->block[n]];
    }
    if (!ok) level_free(r);
    return ok;
}

static table level_table(level_rows *r, uint32_t decimals) {
    return (table){.columns = level_columns,
                   .usual = &level_columns[3],
                   .of = r,
                   .count = r->count,
                   .keep = r->keep,
                   .decimals = decimals};
}

// ---------------------------------------------------------------- which rows are open

typedef struct {
    uint32_t *nodes, count; // ascending
} open_nodes;

static int by_number(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

// Is it on the way to an open node, or one itself? Rows are in preorder, so the first open node
// from here on tells.
static bool is_open(const open_nodes *o, const profile *p, uint32_t node) {
    uint32_t low = 0, high = o->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (o->nodes[middle] < node) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < o->count && o->nodes[low] < p->end[node];
}

static uint32_t hottest_callee(const profile *p, const int64_t *running, uint32_t node) {
    uint32_t best = NO_NODE;
    for (uint32_t n = node + 1; n < p->end[node]; n = p->end[n]) {
        if (best == NO_NODE || ouro__inclusive(p, running, n) > ouro__inclusive(p, running, best))
            best = n;
    }
    return best;
}

// Along the most expensive callees, for as long as each has most of its caller's share or is not
// small itself. Returns the last that calls something: it is the one to be opened.
static uint32_t hottest_path(const profile *p, const int64_t *running, uint32_t top) {
    uint32_t end = top;
    for (int level = 0; level < HOT_MOST; level++) {
        uint32_t next = hottest_callee(p, running, end);
        if (next == NO_NODE || p->end[next] == next + 1) break;
        double overall = (double)ouro__inclusive(p, running, next);
        bool hot = overall >= HOT_SHARE * (double)ouro__inclusive(p, running, end) ||
                   overall >= HOT_LEAST * (double)ouro__inclusive(p, running, top);
        if (level && !hot) break;
        end = next;
    }
    return end;
}

// Ids that the filters leave nothing of are not open. false: refused, or out of memory.
static bool read_open(question *q, const tree *t, uint32_t top, open_nodes *o) {
    const request *r = q->request;
    const char *hot = ouro__request_value(r, "hot");
    *o = (open_nodes){.nodes = malloc((ouro__request_count(r, "open") + 1) * sizeof *o->nodes)};
    bool ok = o->nodes != NULL;
    for (size_t i = 0; ok && i < r->count; i++) {
        if (strcmp(r->parameters[i].name, "open") != 0) continue;
        ok = ouro__question_node_of_id(q, r->parameters[i].value, &o->nodes[o->count]);
        o->count += ok && o->nodes[o->count] != NO_NODE;
    }
    if (ok && !o->count && hot && strcmp(hot, "true") == 0) {
        o->nodes[0] = hottest_path(t->p, t->running, top);
        o->count = o->nodes[0] != top;
    }
    if (ok) qsort(o->nodes, o->count, sizeof *o->nodes, by_number);
    return ok;
}

// ---------------------------------------------------------------- rows of all levels

// A row with `hidden` stands for so many callees of its node that are not shown.
typedef struct {
    uint32_t node, level, hidden;
    bool open;
} tree_row;

typedef struct {
    const tree *tree;
    tree_row *rows;
    uint32_t count, room;
    level_rows one; // the row that was looked at last, as a row of its level
} tree_rows;

// A level that is being shown: the page of its rows, and the next of them.
typedef struct {
    uint32_t node, level, *rows, count, next, hidden;
} open_level;

typedef struct {
    open_level *levels;
    uint32_t count, room;
} level_stack;

// Makes room for one more. false: out of memory.
static bool make_room(void **items, uint32_t count, uint32_t *room, size_t size) {
    if (count < *room) return true;
    uint32_t more = *room ? *room * 2 : 64;
    void *grown = realloc(*items, more * size);
    if (grown) {
        *items = grown;
        *room = more;
    }
    return grown != NULL;
}

static bool add_row(tree_rows *t, tree_row row) {
    if (!make_room((void **)&t->rows, t->count, &t->room, sizeof *t->rows)) return false;
    t->rows[t->count++] = row;
    return true;
}

// Rows that lead to an open path are shown even if they are not among the first.
static bool add_leading(const tree *t, const open_nodes *o, const level_rows *all, page *p) {
    uint8_t *shown = calloc((size_t)all->count + 1, 1);
    uint32_t more = 0;
    for (uint32_t i = 0; shown && i < p->count; i++) shown[p->rows[i]] = 1;
    for (uint32_t i = 0; shown && i < all->count; i++)
        more += shown[i] = !shown[i] && is_open(o, t->p, all->nodes[i]);
    uint32_t *rows = shown ? realloc(p->rows, ((size_t)p->count + more + 1) * sizeof *rows) : NULL;
    if (rows) p->rows = rows;
    for (uint32_t i = 0; rows && i < all->count; i++) {
        if (shown[i]) p->rows[p->count++] = i;
    }
    free(shown);
    return rows != NULL;
}

// The first level has the page that the question asks for, each opened one the first rows.
static bool push_level(question *q, const tree *t, const open_nodes *o, level_stack *s,
                       uint32_t node, uint32_t level, page *shown) {
    level_rows all;
    page p = {0};
    if (!make_room((void **)&s->levels, s->count, &s->room, sizeof *s->levels) ||
        !level_init(&all, t, node))
        return false;
    table of = level_table(&all, 0);
    bool ok = ouro__table_page(q, &of, level ? "open_" : "", &p) && add_leading(t, o, &all, &p);
    if (!ok) free(p.rows);
    for (uint32_t i = 0; ok && i < p.count; i++) p.rows[i] = all.nodes[p.rows[i]];
    level_free(&all);
    if (shown) *shown = p;
    uint32_t hidden = level ? p.kept - p.count : 0;
    if (ok) s->levels[s->count++] = (open_level){node, level, p.rows, p.count, 0, hidden};
    return ok;
}

static bool collect_rows(question *q, const tree *t, uint32_t top, const open_nodes *o,
                         tree_rows *to, page *first) {
    level_stack s = {0};
    bool ok = push_level(q, t, o, &s, top, 0, first);
    while (ok && s.count) {
        open_level *l = &s.levels[s.count - 1];
        if (l->next == l->count) {
            if (l->hidden) ok = add_row(to, (tree_row){l->node, l->level, l->hidden, false});
            free(l->rows);
            s.count--;
            continue;
        }
        uint32_t node = l->rows[l->next++], level = l->level;
        bool open = to->count < ROWS_MOST && is_open(o, t->p, node);
        ok = add_row(to, (tree_row){node, level, 0, open}) &&
             (!open || push_level(q, t, o, &s, node, level + 1, NULL));
    }
    while (s.count) free(s.levels[--s.count].rows);
    free(s.levels);
    return ok;
}

// ---------------------------------------------------------------- as JSON

static level_rows *row_alone(void *of, uint32_t row) {
    tree_rows *t = of;
    t->one.tree = t->tree;
    t->one.nodes = &t->rows[row].node;
    return &t->one;
}
static bool is_shown(void *of, uint32_t row) { return !((tree_rows *)of)->rows[row].hidden; }

static const char *tree_id(void *of, uint32_t row) { return level_id(row_alone(of, row), 0); }
static int64_t tree_block(void *of, uint32_t row) {
    return is_shown(of, row) ? level_block(row_alone(of, row), 0) : (int64_t)NO_BLOCK;
}
static int64_t tree_self(void *of, uint32_t row) {
    return is_shown(of, row) ? level_self(row_alone(of, row), 0) : NOT_KNOWN;
}
static int64_t tree_overall(void *of, uint32_t row) {
    return is_shown(of, row) ? level_overall(row_alone(of, row), 0) : NOT_KNOWN;
}
static int64_t tree_calls(void *of, uint32_t row) {
    return is_shown(of, row) ? level_calls(row_alone(of, row), 0) : NOT_KNOWN;
}
static int64_t tree_children(void *of, uint32_t row) {
    return is_shown(of, row) ? level_children(row_alone(of, row), 0) : NOT_KNOWN;
}
static int64_t tree_level(void *of, uint32_t row) { return ((tree_rows *)of)->rows[row].level; }
static int64_t tree_open(void *of, uint32_t row) { return ((tree_rows *)of)->rows[row].open; }
static int64_t tree_hidden(void *of, uint32_t row) { return ((tree_rows *)of)->rows[row].hidden; }

static const column tree_columns[] = {
    {"id", COLUMN_TEXT, IN_JSON, .text = tree_id},
    {"block", COLUMN_BLOCK, IN_JSON, .number = tree_block},
    {"self", COLUMN_VALUE, IN_JSON, .number = tree_self},
    {"overall", COLUMN_VALUE, IN_JSON, .number = tree_overall},
    {"calls", COLUMN_COUNT, IN_JSON, .number = tree_calls},
    {"children", COLUMN_COUNT, IN_JSON, .number = tree_children},
    {"level", COLUMN_COUNT, IN_JSON, .number = tree_level},
    {"open", COLUMN_FLAG, IN_JSON, .number = tree_open},
    {"hidden", COLUMN_COUNT, IN_JSON, .number = tree_hidden},
    {0},
};

// For each open path the last row that is on its way there, so that closing a row can close it.
static void write_open(question *q, const tree_rows *t, const open_nodes *o) {
    const profile *p = q->p;
    ouro__write_rows(&q->json, "open");
    for (uint32_t i = 0; i < o->count; i++) {
        uint32_t found = NO_ROW;
        for (uint32_t row = 0; row < t->count; row++) {
            const tree_row *r = &t->rows[row];
            if (!r->hidden && r->node <= o->nodes[i] && o->nodes[i] < p->end[r->node]) found = row;
        }
        ouro__write_object(&q->json, NULL);
        ouro__write_id(q, "id", t->tree->ids, o->nodes[i]);
        if (found != NO_ROW) ouro__write_integer(&q->json, "row", found);
        if (found == NO_ROW) ouro__write_null(&q->json, "row");
        ouro__write_end(&q->json);
    }
    ouro__write_end(&q->json);
}

static bool answer_rows(question *q, const tree *t, uint32_t top) {
    open_nodes o;
    page first = {0};
    tree_rows rows = {.tree = t};
    bool ok = read_open(q, t, top, &o) && collect_rows(q, t, top, &o, &rows, &first);
    if (ok) {
        table all = {.columns = tree_columns, .of = &rows, .count = rows.count};
        ok = ouro__write_place(q, top);
        ouro__table_rows(q, "rows", &all, NULL, rows.count);
        ouro__table_foot(q, first.kept, first.offset);
        ouro__write_integer(&q->json, "top_count", first.count);
        write_open(q, &rows, &o);
    }
    free(o.nodes);
    free(rows.rows);
    return ok;
}

// CSV has one level.
static bool answer_csv(question *q, const tree *t, uint32_t top) {
    level_rows r;
    if (!level_init(&r, t, top)) return false;
    table of = level_table(&r, q->p->metrics[q->metric].decimals);
    bool ok = ouro__table_answer(q, &of);
    level_free(&r);
    return ok;
}

bool ouro__api_tree(question *q) {
    uint32_t top;
    bool ok;
    if (!ouro__question_node(q, &top)) return false;
    uint8_t *match = ouro__question_search(q, &ok);
    tree t = {.p = q->p,
              .values = q->p->values[q->metric],
              .running = ouro__view_running(q->view, q->metric),
              .ids = ouro__view_ids(q->view),
              .side = q->side,
              .match = match};
    ok = ok && t.running && t.ids && (q->csv ? answer_csv : answer_rows)(q, &t, top);
    free(match);
    return ok;
}
