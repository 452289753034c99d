// SPDX-License-Identifier: MIT
//
// The call graph around a block: its strongest callers and callees, theirs, and the calls between
// all of these, for a picture.
//
// Only paths that contain the block count. So `through` holds prefix sums of what was spent inside
// the subtrees of its nodes, and a step of the tree is worth the difference of two of them. A step
// that a path takes twice counts once: where it is topmost (see totals.c).
//
// A block stands in one layer. The layers grow outwards from the block, both sides at a time; what
// both sides want goes where more of it flows.

#include "questions.h"

#include <stdlib.h>

enum { FARTHEST = 2, NO_LAYER = FARTHEST + 1 };

typedef struct {
    const profile *profile;
    uint32_t most;
    int64_t *through;  // by node, and one more
    int8_t *layer;     // by block
    int64_t *in, *out; // by block: what flows from it into a layer, and from a layer into it
    uint32_t *in_until, *out_until;
    uint32_t *ranked;
    neighbourhood *to;
} picture;

static int64_t worth(const picture *d, uint32_t node) {
    return d->through[d->profile->end[node]] - d->through[node];
}

static void add(const picture *d, uint32_t node, uint32_t slot, uint32_t *until, int64_t *sums) {
    if (node < until[slot]) return;
    until[slot] = d->profile->end[node];
    sums[slot] += worth(d, node);
}

static void sum_through(const picture *d, uint32_t m, uint32_t block) {
    const profile *p = d->profile;
    uint32_t until = 0;
    d->through[0] = 0;
    for (uint32_t n = 0; n < p->node_count; n++) {
        if (n >= until && p->block[n] == block) until = p->end[n];
        d->through[n + 1] = d->through[n] + (n < until ? p->values[m][n] : 0);
    }
}

// What flows between the layers at this distance and blocks that have no layer.
static void sum_neighbours(const picture *d, int distance) {
    const profile *p = d->profile;
    for (uint32_t b = 0; b < p->block_count; b++) {
        d->in[b] = d->out[b] = 0;
        d->in_until[b] = d->out_until[b] = 0;
    }
    for (uint32_t n = 1; n < p->node_count; n++) {
        if (p->parent[n] == 0) continue;
        uint32_t from = p->block[p->parent[n]], to = p->block[n];
        if (d->layer[to] == -distance && d->layer[from] == NO_LAYER)
            add(d, n, from, d->in_until, d->in);
        if (d->layer[from] == distance && d->layer[to] == NO_LAYER)
            add(d, n, to, d->out_until, d->out);
    }
}

static void count_neighbours(const picture *d) {
    for (uint32_t b = 0; b < d->profile->block_count; b++) {
        d->to->caller_count += d->in_until[b] != 0;
        d->to->callee_count += d->out_until[b] != 0;
    }
}

static void take_strongest(const picture *d, const int64_t *sums, int layer) {
    uint32_t used = ouro__rank(sums, d->profile->block_count, d->most, d->ranked);
    for (uint32_t i = 0; i < used; i++) {
        d->layer[d->ranked[i]] = (int8_t)layer;
        d->to->blocks[d->to->block_count++] = (nearby){.block = d->ranked[i], .layer = layer};
    }
}

static void grow(const picture *d, int distance) {
    sum_neighbours(d, distance - 1);
    if (distance == 1) count_neighbours(d);
    for (uint32_t b = 0; b < d->profile->block_count; b++) {
        if (d->in[b] > d->out[b]) d->out[b] = 0;
        if (d->in[b] <= d->out[b]) d->in[b] = 0;
    }
    take_strongest(d, d->in, -distance);
    take_strongest(d, d->out, distance);
}

// ---------------------------------------------------------------- what flows between them

static int by_value(const void *a, const void *b) {
    const flow *x = a, *y = b;
    if (x->value != y->value) return x->value < y->value ? 1 : -1;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

// `place` is the row of a block in the picture, or NO_ROW.
static bool sum_flows(const picture *d, const uint32_t *place) {
    const profile *p = d->profile;
    uint32_t rows = d->to->block_count, side = rows + 1;
    int64_t *sums = calloc((size_t)side * side, sizeof *sums);
    uint32_t *until = calloc((size_t)side * side, sizeof *until);
    bool ok = sums && until;
    for (uint32_t n = 1; ok && n < p->node_count; n++) {
        uint32_t to = place[p->block[n]];
        if (to == NO_ROW) continue;
        // The last column holds what flows through the block, wherever it comes from.
        add(d, n, to * side + rows, until, sums);
        uint32_t from = p->parent[n] ? place[p->block[p->parent[n]]] : NO_ROW;
        if (from != NO_ROW) add(d, n, from * side + to, until, sums);
    }
    for (uint32_t from = 0; ok && from < rows; from++) {
        d->to->blocks[from].value = sums[from * side + rows];
        for (uint32_t to = 0; to < rows; to++) {
            if (sums[from * side + to])
                d->to->flows[d->to->flow_count++] = (flow){from, to, sums[from * side + to]};
        }
    }
    if (ok) qsort(d->to->flows, d->to->flow_count, sizeof *d->to->flows, by_value);
    free(sums);
    free(until);
    return ok;
}

static bool connect(const picture *d) {
    size_t rows = d->to->block_count;
    uint32_t *place = malloc(((size_t)d->profile->block_count + 1) * sizeof *place);
    d->to->flows = malloc(rows * rows * sizeof *d->to->flows);
    bool ok = place && d->to->flows;
    for (uint32_t b = 0; ok && b < d->profile->block_count; b++) place[b] = NO_ROW;
    for (uint32_t i = 0; ok && i < rows; i++) place[d->to->blocks[i].block] = i;
    ok = ok && sum_flows(d, place);
    free(place);
    return ok;
}

bool ouro__neighbourhood(const profile *p, uint32_t m, uint32_t block, uint32_t most,
                         neighbourhood *h) {
    size_t slots = (size_t)p->block_count + 1;
    *h = (neighbourhood){.blocks = malloc((2 * FARTHEST * (size_t)most + 1) * sizeof *h->blocks)};
    int64_t *sums = malloc(2 * slots * sizeof *sums);
    uint32_t *words = malloc((2 * slots + most) * sizeof *words);
    picture d = {.profile = p,
                 .most = most,
                 .through = malloc(((size_t)p->node_count + 1) * sizeof *d.through),
                 .layer = malloc(slots),
                 .in = sums,
                 .out = sums ? sums + slots : NULL,
                 .in_until = words,
                 .out_until = words ? words + slots : NULL,
                 .ranked = words ? words + 2 * slots : NULL,
                 .to = h};
    bool ok = h->blocks && sums && words && d.through && d.layer;
    if (ok) {
        for (uint32_t b = 0; b < p->block_count; b++) d.layer[b] = NO_LAYER;
        d.layer[block] = 0;
        h->blocks[h->block_count++] = (nearby){.block = block};
        sum_through(&d, m, block);
        for (int distance = 1; distance <= FARTHEST; distance++) grow(&d, distance);
        ok = connect(&d);
    }
    free(sums);
    free(words);
    free(d.through);
    free(d.layer);
    if (!ok) ouro__neighbourhood_free(h);
    return ok;
}

void ouro__neighbourhood_free(neighbourhood *h) {
    free(h->blocks);
    free(h->flows);
    *h = (neighbourhood){0};
}
