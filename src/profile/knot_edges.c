// SPDX-License-Identifier: MIT
//
// The steps inside of each knot, for drawing it. In a profile that is one knot every node is such a
// step, so there is no hash: the nodes are put in order of their caller's block (a counting sort),
// and for one caller an array by callee adds up. Of each knot only the strongest steps are kept, in
// order; most others are turned away by a comparison with the last.

#include "knot_edges.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    uint32_t *first; // nodes that `b` calls: nodes[first[b]] .. nodes[first[b + 1] - 1]
    uint32_t *nodes;
} steps;

static bool is_inside(const profile *p, const uint32_t *knot_of, uint32_t n) {
    uint32_t up = p->parent[n];
    return up && knot_of[p->block[n]] != NO_ROW && p->block[n] != p->block[up] &&
           knot_of[p->block[n]] == knot_of[p->block[up]];
}

static bool sort_steps(const profile *p, const uint32_t *knot_of, steps *s) {
    uint32_t count = 0;
    s->first = calloc((size_t)p->block_count + 2, sizeof *s->first);
    if (!s->first) return false;
    for (uint32_t n = 1; n < p->node_count; n++) {
        if (!is_inside(p, knot_of, n)) continue;
        s->first[p->block[p->parent[n]] + 2]++;
        count++;
    }
    s->nodes = malloc(((size_t)count + 1) * sizeof *s->nodes);
    if (!s->nodes) return false;
    for (uint32_t b = 2; b < p->block_count + 2; b++) s->first[b] += s->first[b - 1];
    for (uint32_t n = 1; n < p->node_count; n++) {
        if (is_inside(p, knot_of, n)) s->nodes[s->first[p->block[p->parent[n]] + 1]++] = n;
    }
    return true;
}

static bool is_stronger(const knot_edge *a, const knot_edge *b) {
    if (a->value != b->value) return a->value > b->value;
    return a->from != b->from ? a->from < b->from : a->to < b->to;
}

// Puts an edge into its place among the strongest.
static bool keep_edge(knot *k, const knot_edge *e) {
    uint32_t kept = k->edge_count < EDGES_KEPT ? k->edge_count : EDGES_KEPT;
    k->edge_count++;
    if (kept == EDGES_KEPT && !is_stronger(e, &k->edges[kept - 1])) return true;
    if (kept < EDGES_KEPT && (kept & (kept - 1)) == 0) { // it is full at each power of two
        knot_edge *edges = realloc(k->edges, (kept ? 2 * (size_t)kept : 1) * sizeof *edges);
        if (!edges) return false;
        k->edges = edges;
    }
    uint32_t at = kept < EDGES_KEPT ? kept : EDGES_KEPT - 1;
    for (; at > 0 && is_stronger(e, &k->edges[at - 1]); at--) k->edges[at] = k->edges[at - 1];
    k->edges[at] = *e;
    return true;
}

typedef struct {
    const knot_walk *walk;
    knot_edge *to;   // by callee, of one caller at a time
    uint32_t *until; // the same; 0: not met
    uint32_t *met, met_count;
} sums;

static void add_step(sums *s, uint32_t n) {
    const profile *p = s->walk->profile;
    uint32_t callee = p->block[n];
    knot_edge *e = &s->to[callee];
    if (!s->until[callee]) {
        s->met[s->met_count++] = callee;
        *e = (knot_edge){p->block[p->parent[n]], callee, 0, 0};
    }
    e->calls += ouro__calls_from_above(s->walk, n);
    if (n < s->until[callee]) return;
    s->until[callee] = p->end[n];
    e->value += ouro__inclusive(p, s->walk->running, n);
}

static bool keep_edges(sums *s, const uint32_t *knot_of, knots *k) {
    bool ok = true;
    for (uint32_t i = 0; i < s->met_count; i++) {
        uint32_t callee = s->met[i];
        if (!ouro__is_counted(s->walk->profile, callee)) s->to[callee].calls = NOT_COUNTED;
        ok = ok && keep_edge(&k->knots[knot_of[callee]], &s->to[callee]);
        s->until[callee] = 0;
    }
    s->met_count = 0;
    return ok;
}

static bool sum_edges(const knot_walk *w, const uint32_t *knot_of, knots *k) {
    size_t blocks = (size_t)w->profile->block_count + 1;
    steps order = {0};
    sums s = {.walk = w,
              .to = malloc(blocks * sizeof *s.to),
              .until = calloc(blocks, sizeof *s.until),
              .met = malloc(blocks * sizeof *s.met)};
    bool ok = s.to && s.until && s.met && sort_steps(w->profile, knot_of, &order);
    for (uint32_t b = 0; ok && b < w->profile->block_count; b++) {
        for (uint32_t i = order.first[b]; i < order.first[b + 1]; i++) add_step(&s, order.nodes[i]);
        ok = keep_edges(&s, knot_of, k);
    }
    free(order.first);
    free(order.nodes);
    free(s.to);
    free(s.until);
    free(s.met);
    return ok;
}

static void forget_edges(knots *k) {
    for (uint32_t i = 0; i < k->count; i++) {
        free(k->knots[i].edges);
        k->knots[i].edges = NULL;
        k->knots[i].edge_count = 0;
    }
}

bool ouro__knot_edges(const profile *p, uint32_t m, knots *k) {
    size_t blocks = (size_t)p->block_count + 1;
    int64_t *running = ouro__running(p, m);
    uint32_t *knot_of = malloc(blocks * sizeof *knot_of);
    bool ok = running && knot_of;
    if (ok) memset(knot_of, 0xff, blocks * sizeof *knot_of); // NO_ROW
    for (uint32_t i = 0; ok && i < k->count; i++) {
        for (uint32_t j = 0; j < k->knots[i].block_count; j++) knot_of[k->knots[i].blocks[j]] = i;
    }
    knot_walk w = ouro__knot_walk(p, m, running);
    ok = ok && sum_edges(&w, knot_of, k);
    if (!ok) forget_edges(k);
    free(running);
    free(knot_of);
    return ok;
}
