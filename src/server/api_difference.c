// SPDX-License-Identifier: MIT
//
// The difference flame graph: the flame graph of one side, and for each box what it is on the other
// side. The page draws and colours it. What only the other side has, has no width here: the graph
// of that side shows it.

#include "compare.h"
#include "table.h"

#include <stdlib.h>

typedef struct {
    const profile *sides[2];
    uint32_t metrics[2];
    const int64_t *running[2];
    int64_t scale[2];
    const uint32_t *nodes[2]; // by box; NO_NODE: the side does not have it
} difference_rows;

// Values that do not fit with the decimals of both are shown as the largest number.
static int64_t scaled(int64_t value, int64_t scale) {
    return __builtin_mul_overflow(value, scale, &value) ? INT64_MAX : value;
}

static int64_t overall_on(void *of, uint32_t i, int which) {
    const difference_rows *d = of;
    uint32_t n = d->nodes[which][i];
    if (n == NO_NODE) return 0;
    return scaled(ouro__inclusive(d->sides[which], d->running[which], n), d->scale[which]);
}
static int64_t self_on(void *of, uint32_t i, int which) {
    const difference_rows *d = of;
    uint32_t n = d->nodes[which][i];
    if (n == NO_NODE) return 0;
    return scaled(d->sides[which]->values[d->metrics[which]][n], d->scale[which]);
}

static int64_t row_before(void *of, uint32_t i) { return overall_on(of, i, 0); }
static int64_t row_after(void *of, uint32_t i) { return overall_on(of, i, 1); }
static int64_t row_self_before(void *of, uint32_t i) { return self_on(of, i, 0); }
static int64_t row_self_after(void *of, uint32_t i) { return self_on(of, i, 1); }

static const column difference_columns[] = {
    {"before", COLUMN_VALUE, IN_JSON, .number = row_before},
    {"after", COLUMN_VALUE, IN_JSON, .number = row_after},
    {"self_before", COLUMN_VALUE, IN_JSON, .number = row_self_before},
    {"self_after", COLUMN_VALUE, IN_JSON, .number = row_self_after},
    {0},
};

static void write_columns(question *q, const compared *c, const uint32_t *own,
                          const uint32_t *other, const int64_t *const running[2], uint32_t count) {
    difference_rows d = {0};
    table t = {.columns = difference_columns, .of = &d, .count = count};
    for (unsigned i = 0; i < 2; i++) {
        d.sides[i] = c->views[i]->profile;
        d.metrics[i] = c->metrics[i];
        d.running[i] = running[i];
        d.nodes[i] = i == q->side_number ? own : other;
        d.scale[i] = c->scale[i];
    }
    for (const column *col = difference_columns; col->name; col++) ouro__table_column(q, &t, col);
}

// The boxes are those that ouro__write_flame has written: the same question, the same answer.
static bool write_both(question *q, const compared *c, uint32_t node, uint32_t limit) {
    const int64_t *running[2];
    for (unsigned i = 0; i < 2; i++) {
        if (!(running[i] = ouro__view_running(c->views[i], c->metrics[i]))) return false;
    }
    flame *boxes = NULL;
    uint32_t count, *own = NULL, *other = NULL;
    matching m = {0};
    const profile *a = c->views[0]->profile, *b = c->views[1]->profile;
    bool ok = ouro__flame_below(q->p, running[q->side_number], node, limit, &boxes, &count) &&
              ouro__match_blocks(a, b, &m);
    if (ok) own = malloc(count * sizeof *own);
    if (own)
        other = ouro__counterparts(q->p, boxes, count, q->side_number ? a : b, &m, q->side_number);
    for (uint32_t i = 0; other && i < count; i++) own[i] = boxes[i].node;
    if (other) write_columns(q, c, own, other, running, count);
    ok = other;
    ouro__matching_free(&m);
    free(boxes);
    free(own);
    free(other);
    return ok;
}

static bool write_difference(question *q, const compared *c) {
    uint32_t node, limit;
    const totals *ta = ouro__view_totals(c->views[0], c->metrics[0]),
                 *tb = ouro__view_totals(c->views[1], c->metrics[1]);
    if (!ta || !tb || !ouro__question_boxes(q, &limit) || !ouro__question_node(q, &node))
        return false;
    const int64_t left[2] = {scaled(ta->total, c->scale[0]), scaled(tb->total, c->scale[1])};
    ouro__write_sides(q, c, left);
    ouro__write_integer(&q->json, "decimals_both", c->decimals);
    return ouro__write_flame(q, node, limit) && ouro__write_found(q) &&
           write_both(q, c, node, limit);
}

bool ouro__api_difference(question *q) {
    compared c;
    bool ok = ouro__find_compared(q, &c) && write_difference(q, &c);
    ouro__release_compared(q, &c);
    return ok;
}
