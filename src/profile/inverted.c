// SPDX-License-Identifier: MIT
//
// Trees for drawing that are not the profile's own: the tree upside down, whose first level has the
// ends of all paths and whose next levels have their callers, and the tree of all that one block
// calls. Both are cut like flame.c cuts the profile's: the widest box is always the next row.
//
// A box stands for a set of nodes, a segment of one array. Upside down, a node that ends paths is
// an entry, and going to the callers moves each entry to its parent, then sorts the segment by
// block, in place: so all memory is one array, however deep the tree is. The entries of a box never
// meet: two children of a node have different blocks. Work is counted, because the whole tree may
// be quadratic in the profile: a recursion that was not compacted has as many ends as callers.

#include "questions.h"
#include "valid.h"
#include "widest.h"

#include <assert.h>
#include <stdlib.h>

enum { WORK_PER_NODE = 32, WORK_LEAST = 1 << 16 };

// A path: where it ends, and the node on it that a box has reached.
typedef struct {
    uint32_t node, end;
} entry;

typedef struct {
    const profile *profile;
    const int64_t *weight; // by node: what an entry that ends there counts
    entry *entries, *sorted;
    uint32_t entry_count;
    uint32_t *slot; // by block: used while a segment is sorted, 0 between
    uint32_t *seen; // the blocks of the segment
    widest boxes;   // `from` and `to` are their entries
    uint64_t work, work_most;
    enum { TO_CALLERS, TO_CALLEES } way;
    bool at_ends; // row 0 is everything: the entries are at the ends of their paths
} cutting;

// ---------------------------------------------------------------- sets of nodes

// Sorts a segment by block, and makes each block of it a box below `parent`.
static bool add_boxes(cutting *c, uint32_t from, uint32_t to, uint32_t parent, uint32_t depth) {
    const uint32_t *block = c->profile->block;
    uint32_t blocks = 0, next = from;
    c->work += to - from;
    for (uint32_t i = from; i < to; i++) {
        if (!c->slot[block[c->entries[i].node]]++) c->seen[blocks++] = block[c->entries[i].node];
    }
    for (uint32_t b = 0; b < blocks; b++) {
        uint32_t count = c->slot[c->seen[b]];
        c->slot[c->seen[b]] = next;
        next += count;
    }
    for (uint32_t i = from; i < to; i++)
        c->sorted[c->slot[block[c->entries[i].node]]++ - from] = c->entries[i];
    for (uint32_t i = from; i < to; i++) c->entries[i] = c->sorted[i - from];
    bool ok = true;
    for (uint32_t b = 0, start = from; b < blocks; b++) {
        box add = {.from = start, .to = c->slot[c->seen[b]]};
        add.row = (flame){c->entries[start].node, parent, depth, 0, 0, c->entries[start].end};
        for (uint32_t i = start; i < add.to; i++) add.row.value += c->weight[c->entries[i].end];
        if (add.row.value > 0) ok = ok && ouro__widest_add(&c->boxes, &add);
        start = add.to;
        c->slot[c->seen[b]] = 0;
    }
    return ok;
}

// To the callers of a box: entries without one stay at the front of the segment.
static bool add_callers(cutting *c, const box *of, uint32_t row) {
    uint32_t from = of->from;
    for (uint32_t i = of->from; i < of->to; i++) {
        entry e = c->entries[i];
        uint32_t up = c->profile->parent[e.node];
        if (up) {
            c->entries[i].node = up;
        } else {
            c->entries[i] = c->entries[from];
            c->entries[from++] = e;
        }
    }
    return add_boxes(c, from, of->to, row, of->row.depth + 1);
}

// To the callees: they are appended, because a node may have many.
static bool add_callees(cutting *c, const box *of, uint32_t row) {
    const profile *p = c->profile;
    uint32_t from = c->entry_count;
    for (uint32_t i = of->from; i < of->to; i++) {
        uint32_t node = c->entries[i].node;
        for (uint32_t n = node + 1; n < p->end[node]; n = p->end[n])
            c->entries[c->entry_count++] = (entry){n, n};
    }
    return add_boxes(c, from, c->entry_count, row, of->row.depth + 1);
}

// ---------------------------------------------------------------- cutting

static void cutting_free(cutting *c) {
    free(c->entries);
    free(c->sorted);
    free(c->slot);
    free(c->seen);
    free(c->boxes.boxes);
}

static bool cutting_init(cutting *c, const profile *p, const int64_t *weight) {
    *c = (cutting){.profile = p,
                   .weight = weight,
                   .entries = malloc(p->node_count * sizeof *c->entries),
                   .sorted = malloc(p->node_count * sizeof *c->sorted),
                   .slot = calloc((size_t)p->block_count + 1, sizeof *c->slot),
                   .seen = malloc(((size_t)p->block_count + 1) * sizeof *c->seen),
                   .work_most = (uint64_t)p->node_count * WORK_PER_NODE + WORK_LEAST};
    if (c->entries && c->sorted && c->slot && c->seen) return true;
    cutting_free(c);
    return false;
}

static bool add_next(cutting *c, const box *b, uint32_t row) {
    if (c->at_ends && row == 0) return add_boxes(c, b->from, b->to, 0, 1);
    return (c->way == TO_CALLERS ? add_callers : add_callees)(c, b, row);
}

static box top_box(const cutting *c, uint32_t node, uint32_t end) {
    box top = {.row = {.node = node, .path_end = end}, .to = c->entry_count};
    for (uint32_t i = 0; i < c->entry_count; i++) top.row.value += c->weight[c->entries[i].end];
    return top;
}

// Takes the widest box and adds those that follow it, up to the limit. Row 0 is `top`, with all the
// entries that there are.
static bool cut(cutting *c, const box *top, uint32_t limit, flame **rows, uint32_t *count,
                flame_rest *rest) {
    int64_t *next = calloc((size_t)limit + 1, sizeof *next);
    *rows = malloc(((size_t)limit + 1) * sizeof **rows);
    *count = 0;
    bool ok = next && *rows && ouro__widest_add(&c->boxes, top);
    while (ok && c->boxes.count && *count < limit) {
        box b = ouro__widest_take(&c->boxes);
        flame *row = &(*rows)[*count];
        *row = b.row;
        if (*count) {
            row->left = next[b.row.parent];
            next[b.row.parent] += b.row.value;
        }
        next[*count] = row->left;
        rest->cut |= c->work >= c->work_most;
        if (c->work < c->work_most) ok = add_next(c, &b, *count);
        ++*count;
    }
    rest->boxes = c->boxes.count;
    for (uint32_t i = 0; ok && i < c->boxes.count; i++)
        rest->wide += (double)c->boxes.boxes[i].row.value >= FLAME_NARROW * (double)top->row.value;
    free(next);
    assert(!ok || ouro__flame_is_valid(*rows, *count));
    if (ok) return true;
    free(*rows);
    *rows = NULL;
    return false;
}

// ---------------------------------------------------------------- the last blocks of a path

// A polynomial over the blocks of a path, modulo a prime, at a point that each process draws: equal
// for equal sequences, and for others with a chance of one in 2^40 at most for any profile.
#define PRIME ((UINT64_C(1) << 61) - 1)

static uint64_t times(uint64_t a, uint64_t b) {
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)a * b;
    uint64_t sum = (uint64_t)(product & PRIME) + (uint64_t)(product >> 61);
    return sum >= PRIME ? sum - PRIME : sum;
}

typedef struct {
    uint64_t *hash;         // by node: of its whole path
    uint32_t *depth, *path; // path[d]: the node of depth d above the node that is looked at
    uint64_t point, power;  // power: the point to the power of `level`
} endings;

static uint64_t ending(const endings *e, uint32_t node, uint32_t level) {
    uint32_t above = e->path[e->depth[node] - level];
    uint64_t cut = times(e->hash[above], e->power);
    return e->hash[node] >= cut ? e->hash[node] - cut : e->hash[node] + PRIME - cut;
}

static void look_at(const profile *p, endings *e, uint32_t node) {
    uint32_t up = p->parent[node];
    e->depth[node] = e->depth[up] + 1;
    e->path[e->depth[node]] = node;
    uint64_t sum = times(e->hash[up], e->point) + p->block[node] + 1;
    e->hash[node] = sum >= PRIME ? sum - PRIME : sum;
}

// The nodes whose last `level` blocks are those of `end`: one pass to know their hash, one
// to compare.
static bool find_endings(cutting *c, uint32_t end, uint32_t level) {
    const profile *p = c->profile;
    endings e = {.hash = calloc(p->node_count, sizeof *e.hash),
                 .depth = calloc(p->node_count, sizeof *e.depth),
                 .path = calloc((size_t)p->node_count + 1, sizeof *e.path),
                 .point = ouro__hash_key.words[0] % (PRIME - 1) + 1,
                 .power = 1};
    bool ok = e.hash && e.depth && e.path;
    for (uint32_t i = 0; ok && i < level; i++) e.power = times(e.power, e.point);
    for (uint32_t n = 1; ok && n <= end; n++) look_at(p, &e, n);
    assert(!ok || level <= e.depth[end]);
    uint64_t wanted = ok ? ending(&e, end, level) : 0;
    for (uint32_t n = 1; ok && n < p->node_count; n++) {
        look_at(p, &e, n);
        if (!c->weight[n] || e.depth[n] < level || ending(&e, n, level) != wanted) continue;
        c->entries[c->entry_count++] = (entry){e.path[e.depth[n] - level + 1], n};
    }
    free(e.hash);
    free(e.depth);
    free(e.path);
    return ok;
}

static bool find_all(cutting *c) {
    for (uint32_t n = 1; n < c->profile->node_count; n++) {
        if (c->weight[n]) c->entries[c->entry_count++] = (entry){n, n};
    }
    return true;
}

static uint32_t ancestor(const profile *p, uint32_t node, uint32_t levels) {
    for (; levels; levels--) node = p->parent[node];
    return node;
}

bool ouro__inverted(const profile *p, const int64_t *weight, uint32_t end, uint32_t level,
                    uint32_t limit, flame **rows, uint32_t *count, flame_rest *rest) {
    cutting c;
    *rest = (flame_rest){0};
    if (!cutting_init(&c, p, weight)) return false;
    bool ok = level ? find_endings(&c, end, level) : find_all(&c);
    c.at_ends = level == 0;
    box top = top_box(&c, level ? ancestor(p, end, level - 1) : 0, level ? end : 0);
    if (!level) top.row.value += weight[0];
    ok = ok && cut(&c, &top, limit, rows, count, rest);
    cutting_free(&c);
    return ok;
}

// ---------------------------------------------------------------- around a block

// By node: what was charged to it and below; if `topmost`, only for the first of a block on each
// path, else 0. Freed by the caller.
static int64_t *weigh(const profile *p, const int64_t *running, uint32_t block, bool topmost) {
    int64_t *weight = calloc(p->node_count, sizeof *weight);
    for (uint32_t n = 1, until = 0; weight && n < p->node_count; n++) {
        if (topmost && (n < until || p->block[n] != block)) continue;
        weight[n] = ouro__inclusive(p, running, n);
        until = p->end[n];
    }
    return weight;
}

static uint32_t first_of(const profile *p, uint32_t block) {
    uint32_t n = 1;
    while (n < p->node_count && p->block[n] != block) n++;
    return n < p->node_count ? n : 0;
}

bool ouro__flame_callers(const profile *p, const int64_t *running, uint32_t block, uint32_t limit,
                         flame **rows, uint32_t *count, flame_rest *rest) {
    int64_t *weight = weigh(p, running, block, true);
    uint32_t first = first_of(p, block);
    bool ok = weight && ouro__inverted(p, weight, first, first ? 1 : 0, limit, rows, count, rest);
    free(weight);
    return ok;
}

bool ouro__flame_callees(const profile *p, const int64_t *running, uint32_t block, uint32_t limit,
                         flame **rows, uint32_t *count, flame_rest *rest) {
    int64_t *weight = weigh(p, running, block, false);
    cutting c;
    *rest = (flame_rest){0};
    bool ok = weight && cutting_init(&c, p, weight);
    if (ok) {
        c.way = TO_CALLEES;
        for (uint32_t n = 1; n < p->node_count; n = p->block[n] == block ? p->end[n] : n + 1) {
            if (p->block[n] == block) c.entries[c.entry_count++] = (entry){n, n};
        }
        box top = top_box(&c, first_of(p, block), first_of(p, block));
        ok = cut(&c, &top, limit, rows, count, rest);
        cutting_free(&c);
    }
    free(weight);
    return ok;
}
