// SPDX-License-Identifier: MIT
//
// Tables: blocks, sequences, one level of the call tree, and the two questions of a search box.
// Keys are made per request where that is a pass over a column; the page is the top of a heap, so a
// table of a million rows is never sorted for its first hundred.

#include "api.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FOUND_MOST = 20, PATH_MOST = 400 };

// ---------------------------------------------------------------- blocks

static void put_block_row(question *q, const totals *t, uint32_t b) {
    ouro__put_text(q->out, "{\"block\":");
    ouro__put_block(q, b);
    ouro__put_member(q, "self", t->self[b]);
    ouro__put_member(q, "overall", t->overall[b]);
    ouro__put_calls(q, t->calls != NULL, t->calls ? t->calls[b] : 0);
    ouro__put_text(q->out, "}");
}

static void csv_block_row(question *q, const totals *t, uint32_t b) {
    ouro__csv_block(q, b);
    ouro__csv_value(q, t->self[b]);
    ouro__csv_value(q, t->overall[b]);
    ouro__put_text(q->out, ",");
    if (t->calls) ouro__put_integer(q->out, t->calls[b]);
    ouro__put_text(q->out, "\n");
}

bool ouro__put_block_rows(question *q, const uint32_t *blocks, uint32_t count) {
    const totals *t = ouro__view_totals(q->view, q->metric);
    if (!t) return false;
    if (q->csv) ouro__put_text(q->out, "name,file,line,column,self,overall,calls\n");
    for (uint32_t i = 0; i < count; i++) {
        if (q->csv) {
            csv_block_row(q, t, blocks[i]);
        } else {
            if (i) ouro__put_text(q->out, ",\n");
            put_block_row(q, t, blocks[i]);
        }
    }
    return true;
}

bool ouro__put_top(question *q, const char *name, bool overall, uint32_t top) {
    const totals *t = ouro__view_totals(q->view, q->metric);
    uint32_t *blocks = malloc((size_t)top * sizeof *blocks);
    if (!t || !blocks) {
        free(blocks);
        return false;
    }
    uint32_t count = ouro__rank(overall ? t->overall : t->self, t->count, top, blocks);
    ouro__print(q->out, ",\"%s\":[", name);
    bool ok = ouro__put_block_rows(q, blocks, count);
    ouro__put_text(q->out, "]");
    free(blocks);
    return ok;
}

// The column that a table of blocks is sorted by.
static const int64_t *block_keys(question *q, const totals *t, paging *page) {
    const char *column = page->column;
    if (strncmp(column, "overall", 7) == 0) return t->overall;
    if (strncmp(column, "name", 4) == 0) return q->side->by_name;
    if (strncmp(column, "file", 4) == 0) return q->side->by_file;
    if (strncmp(column, "calls", 5) == 0 && t->calls) return t->calls;
    return t->self;
}

static uint32_t count_kept(const uint8_t *keep, uint32_t count) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) kept += keep[i] != 0;
    return kept;
}

// Of `match`, or of all if it is NULL, what a path has. Takes `match`.
static uint8_t *keep_present(question *q, uint8_t *match) {
    const uint8_t *present = ouro__view_present(q->view);
    uint8_t *keep = match ? match : malloc((size_t)q->p->block_count + 1);
    if (!present || !keep) {
        free(keep);
        ouro__refuse_memory(q);
        return NULL;
    }
    for (uint32_t b = 0; b < q->p->block_count; b++) keep[b] = present[b] && (!match || match[b]);
    return keep;
}

bool ouro__api_blocks(question *q) {
    paging page;
    const totals *t = ouro__view_totals(q->view, q->metric);
    if (!t || !ouro__question_paging(q, "self overall calls name file ", "", &page)) return false;
    bool ok;
    uint8_t *match = ouro__question_search(q, &ok), *keep = ok ? keep_present(q, match) : NULL;
    if (!keep) return false;
    uint32_t rows, kept = count_kept(keep, t->count);
    uint32_t *order = ouro__question_page(q, block_keys(q, t, &page), t->count, keep, &page, &rows);
    if (order) {
        if (!q->csv) ouro__put_rows_open(q);
        ouro__put_block_rows(q, order, rows);
        if (!q->csv) ouro__put_rows_close(q, kept, page.offset);
    }
    free(keep);
    free(order);
    return order != NULL;
}

// ---------------------------------------------------------------- sequences

// keep[n]: something was charged at or below it, and the search finds a block of its path.
static uint8_t *keep_nodes(question *q, const int64_t *running) {
    const profile *p = q->p;
    bool ok;
    uint8_t *match = ouro__question_search(q, &ok);
    uint8_t *hit = ok && match ? calloc(p->node_count, 1) : NULL;
    uint8_t *keep = ok && (!match || hit) ? calloc(p->node_count, 1) : NULL;
    for (uint32_t n = 1; keep && n < p->node_count; n++) {
        if (hit) hit[n] = hit[p->parent[n]] | match[p->block[n]];
        bool charged = p->values[q->metric][n] || ouro__inclusive(p, running, n);
        keep[n] = charged && (!hit || hit[n]);
    }
    free(match);
    free(hit);
    if (!keep && !q->refused) ouro__refuse_memory(q);
    return keep;
}

// Self needs no new column; the others are made. Freed by the caller if *own.
static const int64_t *node_keys(question *q, const int64_t *running, const paging *page,
                                int64_t **own) {
    const profile *p = q->p;
    *own = NULL;
    bool overall = strncmp(page->column, "overall", 7) == 0;
    if (!overall && strncmp(page->column, "length", 6) != 0) return p->values[q->metric];
    int64_t *keys = *own = malloc(p->node_count * sizeof *keys);
    if (!keys) return NULL;
    keys[0] = 0;
    for (uint32_t n = 1; n < p->node_count; n++)
        keys[n] = overall ? ouro__inclusive(p, running, n) : keys[p->parent[n]] + 1;
    return keys;
}

// A path, root first. Of one that is very long only the two ends: a table of paths of a million
// blocks would otherwise be their square.
typedef struct {
    uint32_t blocks[PATH_MOST];
    uint32_t count, length; // length: of the whole
} path;

static void path_of(const profile *p, uint32_t node, path *to) {
    to->length = 0;
    for (uint32_t n = node; n; n = p->parent[n]) to->length++;
    to->count = to->length < PATH_MOST ? to->length : PATH_MOST;
    uint32_t skipped = to->length - to->count, at = to->length;
    for (uint32_t n = node; n; n = p->parent[n]) {
        at--;
        if (at < PATH_MOST / 2 || !skipped) to->blocks[at] = p->block[n];
        if (skipped && at >= PATH_MOST / 2 + skipped) to->blocks[at - skipped] = p->block[n];
    }
}

static void put_sequence(question *q, const int64_t *running, uint32_t n) {
    path to;
    path_of(q->p, n, &to);
    ouro__put_text(q->out, "{\"path\":[");
    for (uint32_t i = 0; i < to.count; i++) {
        if (i) ouro__put_text(q->out, ",");
        ouro__put_block(q, to.blocks[i]);
    }
    ouro__put_text(q->out, "]");
    ouro__put_member(q, "length", to.length);
    ouro__put_member(q, "self", q->p->values[q->metric][n]);
    ouro__put_member(q, "overall", ouro__inclusive(q->p, running, n));
    ouro__put_text(q->out, "}");
}

static bool csv_sequence(question *q, const int64_t *running, uint32_t n) {
    path to;
    output *text = ouro__output_memory();
    size_t size;
    path_of(q->p, n, &to);
    for (uint32_t i = 0; text && i < to.count; i++) {
        if (i) ouro__put_text(text, ";");
        if (i == PATH_MOST / 2 && to.length > to.count)
            ouro__print(text, "(%u more);", to.length - to.count);
        ouro__put_text(text, ouro__block_name(q->p, to.blocks[i]));
    }
    char *joined = text ? ouro__output_take(text, &size, NULL) : NULL;
    if (!joined) return false;
    ouro__put_csv(q->out, joined);
    ouro__print(q->out, ",%u", to.length);
    ouro__csv_value(q, q->p->values[q->metric][n]);
    ouro__csv_value(q, ouro__inclusive(q->p, running, n));
    ouro__put_text(q->out, "\n");
    free(joined);
    return true;
}

static bool put_sequences(question *q, const int64_t *running, const uint32_t *nodes,
                          uint32_t count) {
    if (q->csv) ouro__put_text(q->out, "path,length,self,overall\n");
    bool ok = true;
    for (uint32_t i = 0; ok && i < count; i++) {
        if (q->csv) {
            ok = csv_sequence(q, running, nodes[i]);
            continue;
        }
        if (i) ouro__put_text(q->out, ",\n");
        put_sequence(q, running, nodes[i]);
    }
    return ok;
}

bool ouro__api_sequences(question *q) {
    paging page;
    const int64_t *running = ouro__view_running(q->view, q->metric);
    if (!running || !ouro__question_paging(q, "self overall length ", "", &page)) return false;
    uint8_t *keep = keep_nodes(q, running);
    if (!keep) return false;
    int64_t *own;
    const int64_t *keys = node_keys(q, running, &page, &own);
    uint32_t rows, kept = count_kept(keep, q->p->node_count);
    uint32_t *order =
        keys ? ouro__question_page(q, keys, q->p->node_count, keep, &page, &rows) : NULL;
    bool ok = order != NULL;
    if (ok) {
        if (!q->csv) ouro__put_rows_open(q);
        ok = put_sequences(q, running, order, rows);
        if (!q->csv) ouro__put_rows_close(q, kept, page.offset);
    }
    free(keep);
    free(own);
    free(order);
    return ok;
}

// ---------------------------------------------------------------- the call tree

static uint32_t count_children(const profile *p, uint32_t node) {
    uint32_t count = 0;
    for (uint32_t n = node + 1; n < p->end[node]; n = p->end[n]) count++;
    return count;
}

static void put_tree_row(question *q, const int64_t *running, uint32_t n) {
    const profile *p = q->p;
    int64_t self = p->values[q->metric][n], overall = ouro__inclusive(p, running, n);
    int64_t calls = q->calls == NO_ROW ? 0 : p->values[q->calls][n];
    uint32_t children = count_children(p, n);
    if (q->csv) {
        ouro__csv_block(q, p->block[n]);
        ouro__csv_value(q, self);
        ouro__csv_value(q, overall);
        ouro__put_text(q->out, ",");
        if (q->calls != NO_ROW) ouro__put_integer(q->out, calls);
        ouro__print(q->out, ",%u\n", children);
        return;
    }
    ouro__put_text(q->out, "{\"block\":");
    ouro__put_block(q, p->block[n]);
    ouro__put_member(q, "self", self);
    ouro__put_member(q, "overall", overall);
    ouro__put_calls(q, q->calls != NO_ROW, calls);
    ouro__put_member(q, "children", children);
    ouro__put_text(q->out, "}");
}

typedef struct {
    uint32_t *nodes, count;
    int64_t *keys;
    uint8_t *keep;
} children;

static bool children_of(question *q, uint32_t node, const int64_t *running, const paging *page,
                        const uint8_t *match, children *c) {
    const profile *p = q->p;
    uint32_t count = count_children(p, node);
    *c = (children){.nodes = malloc(((size_t)count + 1) * sizeof *c->nodes),
                    .keys = malloc(((size_t)count + 1) * sizeof *c->keys),
                    .keep = malloc((size_t)count + 1)};
    if (!c->nodes || !c->keys || !c->keep) return false;
    for (uint32_t n = node + 1; n < p->end[node]; n = p->end[n]) {
        c->nodes[c->count] = n;
        c->keep[c->count] = !match || match[p->block[n]];
        c->keys[c->count++] = page->column[0] == 'o'   ? ouro__inclusive(p, running, n)
                              : page->column[0] == 's' ? p->values[q->metric][n]
                                                       : q->side->by_name[p->block[n]];
    }
    return true;
}

static bool put_tree(question *q, uint32_t node, const int64_t *running, const paging *page,
                     const uint8_t *match) {
    children c;
    uint32_t rows, *order = NULL;
    bool ok = children_of(q, node, running, page, match, &c);
    ok = ok && (order = ouro__question_page(q, c.keys, c.count, c.keep, page, &rows));
    if (ok && q->csv) ouro__put_text(q->out, "name,file,line,column,self,overall,calls,children\n");
    if (ok && !q->csv) ouro__put_rows_open(q);
    for (uint32_t i = 0; ok && i < rows; i++) {
        if (i && !q->csv) ouro__put_text(q->out, ",\n");
        put_tree_row(q, running, c.nodes[order[i]]);
    }
    if (ok && !q->csv) ouro__put_rows_close(q, count_kept(c.keep, c.count), page->offset);
    free(order);
    free(c.nodes);
    free(c.keys);
    free(c.keep);
    return ok;
}

bool ouro__api_tree(question *q) {
    paging page;
    uint32_t node;
    const int64_t *running = ouro__view_running(q->view, q->metric);
    if (!running || !ouro__question_paging(q, "overall self name ", "", &page) ||
        !ouro__question_node(q, &node))
        return false;
    bool ok;
    uint8_t *match = ouro__question_search(q, &ok);
    ok = ok && put_tree(q, node, running, &page, match);
    free(match);
    return ok;
}

// ---------------------------------------------------------------- searching

// How well a name fits: the whole, its beginning, the beginning of a part, somewhere, the file.
static int64_t fit(const char *name, const char *text) {
    size_t length = strlen(text);
    if (strcasecmp(name, text) == 0) return 4;
    if (strncasecmp(name, text, length) == 0) return 3;
    for (const char *at = name; (at = strcasestr(at, text)); at++) {
        if (at > name && strchr("_.:/$@ -!<(", at[-1])) return 2;
    }
    return ouro__contains(name, text);
}

bool ouro__api_find(question *q) {
    const char *text = ouro__request_value(q->request, "text");
    const totals *t = ouro__view_totals(q->view, q->metric);
    const uint8_t *present = ouro__view_present(q->view);
    if (!text) return ouro__refuse(q, 400, "no-text", "find needs text=");
    uint32_t count, found[FOUND_MOST], used = 0, all = 0, more = 0;
    uint8_t *match = ouro__matching(q->p, text, &count);
    uint8_t *keep = malloc((size_t)q->p->block_count + 1);
    bool ok = t && present && match && keep;
    // The best fit first; among equals, what costs most.
    for (int64_t grade = 4; ok && grade >= 0; grade--) {
        for (uint32_t b = 0; b < t->count; b++)
            keep[b] = present[b] && match[b] && fit(ouro__block_name(q->p, b), text) == grade;
        all += count_kept(keep, t->count);
        uint32_t *best =
            ouro__order(t->overall, t->count, keep, false, 0, FOUND_MOST - used, &more);
        if (best) memcpy(found + used, best, more * sizeof *best);
        used += more;
        ok = best != NULL;
        free(best);
    }
    if (ok && !q->csv) ouro__put_rows_open(q);
    ok = ok && ouro__put_block_rows(q, found, used);
    if (ok && !q->csv) ouro__put_rows_close(q, all, 0);
    free(match);
    free(keep);
    return ok;
}

bool ouro__api_total(question *q) {
    const char *text = ouro__request_value(q->request, "search");
    const int64_t *running = ouro__view_running(q->view, q->metric);
    const uint8_t *present = ouro__view_present(q->view);
    uint32_t count;
    if (!text || !*text) return ouro__refuse(q, 400, "no-search", "total needs search=");
    uint8_t *match = ouro__matching(q->p, text, &count);
    bool ok = running && match && present;
    if (ok) {
        count = 0;
        for (uint32_t b = 0; b < q->p->block_count; b++) count += match[b] && present[b];
        ouro__put_member(q, "matched", ouro__matched(q->p, running, match));
        ouro__put_member(q, "block_count", count);
    }
    free(match);
    return ok;
}
