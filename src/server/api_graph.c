// SPDX-License-Identifier: MIT
//
// What stands around a sequence, the flame graph, and knots. Drawing is the page's business: it gets
// columns of numbers, and never more boxes than it asked for.

#include "api.h"

#include <stdlib.h>
#include <string.h>

enum { BOXES_USUAL = 2000, BOXES_MOST = 8000, LISTED = 20 };

// ---------------------------------------------------------------- callers and callees

static void put_neighbour(question *q, const neighbour *n, bool has_calls) {
    ouro__put_text(q->out, "{\"block\":");
    ouro__put_block(q, n->block);
    ouro__put_member(q, "overall", n->overall);
    ouro__put_calls(q, has_calls, n->calls);
    ouro__put_text(q->out, "}");
}

static bool is_found(const neighbour *n, const uint8_t *match) {
    return !match || (n->block != NO_BLOCK && match[n->block]);
}

static void put_neighbours(question *q, const char *name, const neighbour *rows, uint32_t count,
                           bool has_calls, const paging *page, const uint8_t *match) {
    uint32_t found = 0, shown = 0;
    ouro__print(q->out, ",\"%s\":{\"rows\":[", name);
    for (uint32_t i = 0; i < count; i++) {
        if (!is_found(&rows[i], match) || found++ < page->offset || shown == page->limit) continue;
        if (shown++) ouro__put_text(q->out, ",\n");
        put_neighbour(q, &rows[i], has_calls);
    }
    ouro__put_text(q->out, "]");
    ouro__put_member(q, "count", found);
    ouro__put_member(q, "offset", page->offset);
    ouro__put_text(q->out, "}");
}

static void csv_neighbours(question *q, const char *role, const neighbour *rows, uint32_t count,
                           bool has_calls, const uint8_t *match) {
    for (uint32_t i = 0; i < count; i++) {
        if (!is_found(&rows[i], match)) continue;
        ouro__csv_block(q, rows[i].block);
        ouro__put_text(q->out, ",");
        ouro__csv_value(q, rows[i].overall);
        ouro__put_text(q->out, ",");
        if (has_calls) ouro__put_integer(q->out, rows[i].calls);
        ouro__print(q->out, ",%s\n", role);
    }
}

static void put_around(question *q, const around *a, const uint32_t *sequence, size_t length,
                       const paging *in, const paging *out, const uint8_t *match) {
    ouro__put_text(q->out, ",\"sequence\":[");
    for (size_t i = 0; i < length; i++) {
        if (i) ouro__put_text(q->out, ",");
        ouro__put_block(q, sequence[i]);
    }
    ouro__put_text(q->out, "]");
    ouro__put_member(q, "self", a->self);
    ouro__put_member(q, "overall", a->overall);
    ouro__put_calls(q, a->has_calls, a->calls);
    ouro__print(q->out, ",\"recursive\":%s", a->recursive ? "true" : "false");
    put_neighbours(q, "callers", a->callers, a->caller_count, a->has_calls, in, match);
    put_neighbours(q, "callees", a->callees, a->callee_count, a->has_calls, out, match);
}

static void csv_around(question *q, const around *a, uint32_t block, const uint8_t *match) {
    ouro__put_text(q->out, "name,file,line,column,self,overall,calls,role\n");
    ouro__csv_block(q, block);
    ouro__csv_value(q, a->self);
    ouro__csv_value(q, a->overall);
    ouro__put_text(q->out, ",");
    if (a->has_calls) ouro__put_integer(q->out, a->calls);
    ouro__put_text(q->out, ",block\n");
    csv_neighbours(q, "caller", a->callers, a->caller_count, a->has_calls, match);
    csv_neighbours(q, "callee", a->callees, a->callee_count, a->has_calls, match);
}

bool ouro__api_around(question *q) {
    paging in, out;
    size_t length;
    if (!ouro__question_paging(q, NULL, "in_", &in) ||
        !ouro__question_paging(q, NULL, "out_", &out))
        return false;
    uint32_t *sequence = ouro__question_blocks(q, "block", &length);
    if (!sequence) return false;
    around a = {0};
    bool ok = length > 0 || ouro__refuse(q, 400, "no-block", "around needs block=");
    uint8_t *match = ok ? ouro__question_search(q, &ok) : NULL;
    ok = ok && ouro__around(q->p, q->metric, sequence, length, &a);
    if (ok && q->csv) csv_around(q, &a, sequence[length - 1], match);
    if (ok && !q->csv) put_around(q, &a, sequence, length, &in, &out, match);
    ouro__around_free(&a);
    free(match);
    free(sequence);
    return ok;
}

// ---------------------------------------------------------------- flame graph

typedef enum { F_PARENT, F_BLOCK, F_VALUE, F_SELF, F_LEFT, F_DEPTH, F_RECURSIONS } flame_column;

static void put_flame_cell(question *q, const flame *f, bool first, flame_column column) {
    const profile *p = q->p;
    switch (column) {
    case F_PARENT:
        if (first) ouro__put_text(q->out, "null");
        if (!first) ouro__put_number(q->out, f->parent);
        break;
    case F_BLOCK:
        ouro__put_block(q, p->block[f->node]);
        break;
    case F_VALUE:
        ouro__put_integer(q->out, f->value);
        break;
    case F_SELF:
        ouro__put_integer(q->out, p->values[q->metric][f->node]);
        break;
    case F_LEFT:
        ouro__put_integer(q->out, f->left);
        break;
    case F_DEPTH:
        ouro__put_number(q->out, f->depth);
        break;
    case F_RECURSIONS:
        ouro__put_integer(q->out, p->values[q->recursions][f->node]);
    }
}

static void put_flame_column(question *q, const char *name, const flame *rows, uint32_t count,
                             flame_column column) {
    ouro__print(q->out, ",\"%s\":[", name);
    for (uint32_t i = 0; i < count; i++) {
        if (i) ouro__put(q->out, ",", 1);
        put_flame_cell(q, &rows[i], i == 0, column);
    }
    ouro__put_text(q->out, "]");
}

static bool put_ancestors(question *q, uint32_t node) {
    uint32_t length = 0;
    if (!node) {
        ouro__put_text(q->out, "\"ancestors\":[]");
        return true;
    }
    for (uint32_t n = q->p->parent[node]; n; n = q->p->parent[n]) length++;
    uint32_t *path = malloc(((size_t)length + 1) * sizeof *path), at = length;
    if (!path) return false;
    for (uint32_t n = q->p->parent[node]; n; n = q->p->parent[n]) path[--at] = q->p->block[n];
    ouro__put_text(q->out, "\"ancestors\":[");
    for (uint32_t i = 0; i < length; i++) {
        if (i) ouro__put(q->out, ",", 1);
        ouro__put_block(q, path[i]);
    }
    ouro__put_text(q->out, "]");
    free(path);
    return true;
}

// Boxes that have a width, at and below a node; the first counts in any case.
static uint32_t count_boxes(const profile *p, const int64_t *running, uint32_t node) {
    uint32_t count = 1;
    for (uint32_t n = node + 1; n < p->end[node];) {
        bool wide = ouro__inclusive(p, running, n) > 0;
        count += wide;
        n = wide ? n + 1 : p->end[n];
    }
    return count;
}

// The members of a flame graph, without a comma before the first.
bool ouro__put_flame(question *q, uint32_t node, uint32_t limit) {
    const int64_t *running = ouro__view_running(q->view, q->metric);
    flame *rows;
    uint32_t count;
    if (!running || !ouro__flame_below(q->p, running, node, limit, &rows, &count)) return false;
    bool ok = put_ancestors(q, node);
    put_flame_column(q, "parent", rows, count, F_PARENT);
    put_flame_column(q, "block", rows, count, F_BLOCK);
    put_flame_column(q, "value", rows, count, F_VALUE);
    put_flame_column(q, "self", rows, count, F_SELF);
    put_flame_column(q, "x", rows, count, F_LEFT);
    put_flame_column(q, "depth", rows, count, F_DEPTH);
    if (q->recursions == NO_ROW) {
        ouro__put_text(q->out, ",\"recursions\":null");
    } else {
        put_flame_column(q, "recursions", rows, count, F_RECURSIONS);
    }
    ouro__put_member(q, "hidden", (int64_t)count_boxes(q->p, running, node) - count);
    free(rows);
    return ok;
}

bool ouro__api_flame(question *q) {
    uint32_t node, limit;
    if (!ouro__request_number(q->request, "limit", 1, BOXES_MOST, BOXES_USUAL, &limit))
        return ouro__refuse(q, 400, "bad-number", "limit is a whole number from 1 to %d",
                            BOXES_MOST);
    if (!ouro__question_node(q, &node)) return false;
    ouro__put_text(q->out, ",");
    return ouro__put_flame(q, node, limit);
}

// ---------------------------------------------------------------- knots

static void put_list(question *q, const char *name, const neighbour *rows, uint32_t count,
                     bool has_calls) {
    ouro__print(q->out, ",\"%s\":[", name);
    for (uint32_t i = 0; i < count && i < LISTED; i++) {
        if (i) ouro__put_text(q->out, ",");
        put_neighbour(q, &rows[i], has_calls);
    }
    ouro__put_text(q->out, "]");
}

static void put_knot(question *q, const knot *k, bool has_calls) {
    ouro__put_text(q->out, "{\"members\":[");
    for (uint32_t i = 0; i < k->block_count && i < LISTED; i++) {
        if (i) ouro__put_text(q->out, ",");
        ouro__put_block(q, k->blocks[i]);
    }
    ouro__put_text(q->out, "]");
    ouro__put_member(q, "self", k->self);
    ouro__put_member(q, "overall", k->overall);
    ouro__put_calls(q, has_calls, k->calls);
    ouro__put_member(q, "deepest", k->deepest);
    put_list(q, "in", k->in, k->in_count, has_calls);
    put_list(q, "out", k->out, k->out_count, has_calls);
    ouro__put_member(q, "member_count", k->block_count);
    ouro__put_member(q, "in_count", k->in_count);
    ouro__put_member(q, "out_count", k->out_count);
    ouro__put_text(q->out, "}");
}

static bool csv_knot(question *q, const knot *k, bool has_calls) {
    output *text = ouro__output_memory();
    size_t size;
    for (uint32_t i = 0; text && i < k->block_count; i++) {
        if (i) ouro__put_text(text, ";");
        ouro__put_text(text, ouro__block_name(q->p, k->blocks[i]));
    }
    char *joined = text ? ouro__output_take(text, &size, NULL) : NULL;
    if (!joined) return false;
    ouro__put_csv(q->out, joined);
    ouro__csv_value(q, k->self);
    ouro__csv_value(q, k->overall);
    ouro__put_text(q->out, ",");
    if (has_calls) ouro__put_integer(q->out, k->calls);
    ouro__print(q->out, ",%u\n", k->deepest);
    free(joined);
    return true;
}

static bool knot_matches(const knot *k, const uint8_t *match) {
    bool found = !match;
    for (uint32_t i = 0; !found && i < k->block_count; i++) found = match[k->blocks[i]];
    return found;
}

bool ouro__put_knot_rows(question *q, uint32_t offset, uint32_t limit, const uint8_t *match,
                         uint32_t *count) {
    const knots *k = ouro__view_knots(q->view, q->metric);
    uint32_t shown = 0;
    bool ok = k != NULL;
    *count = 0;
    for (uint32_t i = 0; ok && i < k->count; i++) {
        if (!knot_matches(&k->knots[i], match) || (*count)++ < offset || shown == limit) continue;
        if (shown++ && !q->csv) ouro__put_text(q->out, ",\n");
        if (q->csv) ok = csv_knot(q, &k->knots[i], k->has_calls);
        if (!q->csv) put_knot(q, &k->knots[i], k->has_calls);
    }
    return ok;
}

bool ouro__api_knots(question *q) {
    paging page;
    bool ok;
    uint32_t count;
    if (!ouro__question_paging(q, "overall ", "", &page)) return false;
    uint8_t *match = ouro__question_search(q, &ok);
    if (ok && q->csv) ouro__put_text(q->out, "blocks,self,overall,calls,deepest\n");
    if (ok && !q->csv) ouro__put_rows_open(q);
    ok = ok && ouro__put_knot_rows(q, page.offset, page.limit, match, &count);
    if (ok && !q->csv) ouro__put_rows_close(q, count, page.offset);
    free(match);
    return ok;
}
