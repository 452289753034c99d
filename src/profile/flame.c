// SPDX-License-Identifier: MIT
//
// The tree for drawing: nodes above a share, or the widest ones up to a number (at the end of this
// file); the widest child first.
//
// Rows are sorted by depth, parent and width; then, as when a profile is finished, each takes the
// next free place below its parent. The same order gives each its distance from the left edge. What
// was pruned is the gap that remains to the right of a node's children.

#include "questions.h"
#include "valid.h"
#include "widest.h"

#include <assert.h>
#include <stdlib.h>

static int by_width(const void *a, const void *b) {
    const flame *x = a, *y = b;
    if (x->depth != y->depth) return x->depth < y->depth ? -1 : 1;
    if (x->parent != y->parent) return x->parent < y->parent ? -1 : 1;
    if (x->value != y->value) return x->value > y->value ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

// parent and depth by kept row; row_of[n] is the kept row of node n.
static uint32_t keep(const profile *p, const int64_t *running, double least, uint32_t *row_of,
                     flame *rows) {
    uint32_t count = 1;
    rows[0] = (flame){.value = running[p->node_count]};
    row_of[0] = 0;
    for (uint32_t n = 1; n < p->node_count;) {
        int64_t value = ouro__inclusive(p, running, n);
        if (value <= 0 || (double)value < least) {
            n = p->end[n];
            continue;
        }
        uint32_t up = row_of[p->parent[n]];
        row_of[n] = count;
        rows[count++] = (flame){n, up, rows[up].depth + 1, value, 0, 0};
        n++;
    }
    return count;
}

static uint32_t count_kept(const profile *p, const int64_t *running, double least) {
    uint32_t count = 1;
    for (uint32_t n = 1; n < p->node_count;) {
        int64_t value = ouro__inclusive(p, running, n);
        bool kept = value > 0 && (double)value >= least;
        count += kept;
        n = kept ? n + 1 : p->end[n];
    }
    return count;
}

// Sorted by depth, a parent's place is known before its children's. `size` counts kept nodes per
// kept row.
static void put_in_order(const flame *sorted, const uint32_t *row_of, uint32_t count,
                         uint32_t *size, uint32_t *next, uint32_t *place, int64_t *left,
                         flame *out) {
    for (uint32_t i = 0; i < count; i++) size[i] = 1;
    for (uint32_t i = count; i-- > 1;) size[sorted[i].parent] += size[row_of[sorted[i].node]];
    for (uint32_t i = 0; i < count; i++) {
        const flame *f = &sorted[i];
        uint32_t row = row_of[f->node], up = f->parent;
        place[row] = i ? next[up] : 0;
        out[place[row]] = *f;
        out[place[row]].parent = i ? place[up] : 0;
        out[place[row]].left = i ? left[up] : 0;
        left[row] = out[place[row]].left;
        next[row] = place[row] + 1;
        if (!i) continue;
        next[up] += size[row];
        left[up] += f->value;
    }
}

bool ouro__flame_tree(const profile *p, uint32_t m, double share, flame **rows, uint32_t *count) {
    int64_t *running = ouro__running(p, m);
    if (!running) return false;
    double least = share * (double)running[p->node_count];
    uint32_t n = *count = count_kept(p, running, least);
    flame *sorted = malloc(n * sizeof *sorted);
    uint32_t *row_of = malloc(p->node_count * sizeof *row_of),
             *words = malloc((size_t)n * 3 * sizeof *words);
    int64_t *left = malloc(n * sizeof *left);
    *rows = malloc(n * sizeof **rows);
    bool ok = sorted && row_of && words && left && *rows;
    if (ok) {
        keep(p, running, least, row_of, sorted);
        qsort(sorted, n, sizeof *sorted, by_width);
        put_in_order(sorted, row_of, n, words, words + n, words + 2 * (size_t)n, left, *rows);
    }
    free(running);
    free(sorted);
    free(row_of);
    free(words);
    free(left);
    if (!ok) {
        free(*rows);
        *rows = NULL;
    }
    assert(!ok || ouro__flame_is_valid(*rows, *count));
    return ok;
}

// ---------------------------------------------------------------- the widest, below a node

static bool add_children(widest *w, const profile *p, const int64_t *running, uint32_t row,
                         const flame *of) {
    for (uint32_t n = of->node + 1; n < p->end[of->node]; n = p->end[n]) {
        int64_t value = ouro__inclusive(p, running, n);
        box child = {.row = {n, row, of->depth + 1, value, 0, 0}};
        if (value > 0 && !ouro__widest_add(w, &child)) return false;
    }
    return true;
}

// The widest of all candidates is always the next row, so siblings come widest first and each
// stands where the one before it ends: next[row] is where the next child of a row begins.
bool ouro__flame_below(const profile *p, const int64_t *running, uint32_t node, uint32_t limit,
                       flame **rows, uint32_t *count) {
    widest w = {0};
    uint32_t nodes = p->end[node] - node;
    if (limit > nodes) limit = nodes;
    int64_t *next = calloc((size_t)limit + 1, sizeof *next);
    *rows = malloc(((size_t)limit + 1) * sizeof **rows);
    *count = 1;
    bool ok = next && *rows;
    if (ok) {
        (*rows)[0] = (flame){.node = node, .value = ouro__inclusive(p, running, node)};
        ok = add_children(&w, p, running, 0, &(*rows)[0]);
    }
    while (ok && w.count && *count < limit) {
        flame f = ouro__widest_take(&w).row;
        f.left = next[f.parent];
        next[f.parent] += f.value;
        next[*count] = f.left;
        (*rows)[*count] = f;
        ok = add_children(&w, p, running, *count, &f);
        (*count)++;
    }
    free(w.boxes);
    free(next);
    assert(!ok || ouro__flame_is_valid(*rows, *count));
    if (ok) return true;
    free(*rows);
    *rows = NULL;
    return false;
}
