// SPDX-License-Identifier: MIT
//
// Knots: groups of blocks that call each other in a circle, and what flows in and out of each.
//
// The graph has an edge per step of the tree. Its strongly connected components of two blocks or
// more are the knots (Tarjan's algorithm with a stack of its own, since call graphs get deep). A
// block that recursed and is in none of them is a knot of its own. The tree may not show it, since
// compaction takes X -> X away: recursion.c knows.

#include "knot_edges.h"
#include "questions.h"
#include "valid.h"

#include <assert.h>
#include <stdlib.h>

typedef struct {
    uint32_t *first; // edges of block b: target[first[b]] .. target[first[b + 1] - 1]
    uint32_t *target;
} graph;

// Every step once per node; doubles do no harm.
static bool graph_init(graph *g, const profile *p) {
    g->first = calloc((size_t)p->block_count + 2, sizeof *g->first);
    g->target = malloc(((size_t)p->node_count + 1) * sizeof *g->target);
    if (!g->first || !g->target) return false;
    for (uint32_t n = 1; n < p->node_count; n++) {
        if (p->parent[n]) g->first[p->block[p->parent[n]] + 2]++;
    }
    for (uint32_t b = 2; b < p->block_count + 2; b++) g->first[b] += g->first[b - 1];
    for (uint32_t n = 1; n < p->node_count; n++) {
        if (p->parent[n]) g->target[g->first[p->block[p->parent[n]] + 1]++] = p->block[n];
    }
    return true;
}

typedef struct {
    const graph *graph;
    uint32_t *order, *low, *next; // order: when it was met, from 1; 0 = not yet
    uint32_t *group;              // NO_ROW until its component is known
    uint32_t *open, open_count;   // met, component not known
    uint32_t *calls, call_count;  // the way from the start to here
    uint32_t met, group_count;
} search;

static void meet(search *s, uint32_t b) {
    s->order[b] = s->low[b] = ++s->met;
    s->next[b] = s->graph->first[b];
    s->open[s->open_count++] = b;
    s->calls[s->call_count++] = b;
}

static void leave(search *s, uint32_t b) {
    s->call_count--;
    if (s->call_count && s->low[b] < s->low[s->calls[s->call_count - 1]])
        s->low[s->calls[s->call_count - 1]] = s->low[b];
    if (s->low[b] != s->order[b]) return;
    uint32_t member;
    do {
        member = s->open[--s->open_count];
        s->group[member] = s->group_count;
    } while (member != b);
    s->group_count++;
}

static void search_from(search *s, uint32_t start) {
    meet(s, start);
    while (s->call_count) {
        uint32_t b = s->calls[s->call_count - 1];
        if (s->next[b] == s->graph->first[b + 1]) {
            leave(s, b);
            continue;
        }
        uint32_t to = s->graph->target[s->next[b]++];
        if (!s->order[to]) {
            meet(s, to);
        } else if (s->group[to] == NO_ROW && s->order[to] < s->low[b]) {
            s->low[b] = s->order[to];
        }
    }
}

// group[b] becomes the component of b; *count how many there are.
static bool components(const profile *p, uint32_t *group, uint32_t *count) {
    size_t n = (size_t)p->block_count + 1;
    graph g = {0};
    uint32_t *words = calloc(n * 5, sizeof *words);
    bool ok = words && graph_init(&g, p);
    if (ok) {
        search s = {.graph = &g,
                    .order = words,
                    .low = words + n,
                    .next = words + 2 * n,
                    .group = group,
                    .open = words + 3 * n,
                    .calls = words + 4 * n};
        for (uint32_t b = 0; b < p->block_count; b++) group[b] = NO_ROW;
        for (uint32_t b = 0; b < p->block_count; b++) {
            if (!s.order[b]) search_from(&s, b);
        }
        *count = s.group_count;
    }
    free(g.first);
    free(g.target);
    free(words);
    return ok;
}

// ---------------------------------------------------------------- what flows

// From groups to knots: knot_of[b] is its knot or NO_ROW. A block alone is one if it recursed and
// a path still has it.
static bool keep_knots(const profile *p, const recursion *recursed, uint32_t *group,
                       uint32_t groups, uint32_t *count) {
    uint32_t *size = calloc((size_t)groups + 1, sizeof *size);
    if (!size) return false;
    for (uint32_t b = 0; b < p->block_count; b++) size[group[b]]++;
    for (uint32_t n = 1; n < p->node_count; n++) {
        uint32_t b = p->block[n];
        if (size[group[b]] == 1 && ouro__recurses(&recursed[b])) size[group[b]] = 2;
    }
    *count = 0;
    for (uint32_t g = 0; g < groups; g++) size[g] = size[g] > 1 ? (*count)++ : NO_ROW;
    for (uint32_t b = 0; b < p->block_count; b++) group[b] = size[group[b]];
    free(size);
    return true;
}

static bool take_members(const profile *p, const uint32_t *knot_of, const int64_t *overall,
                         knots *k) {
    uint32_t *ranked = malloc(((size_t)p->block_count + 1) * sizeof *ranked);
    uint32_t *sizes = calloc((size_t)k->count + 1, sizeof *sizes);
    bool ok = ranked && sizes;
    for (uint32_t b = 0; ok && b < p->block_count; b++) {
        if (knot_of[b] != NO_ROW) sizes[knot_of[b]]++;
    }
    for (uint32_t i = 0; ok && i < k->count; i++) {
        k->knots[i].blocks = malloc(sizes[i] * sizeof *k->knots[i].blocks);
        ok = k->knots[i].blocks != NULL;
    }
    uint32_t used = ok ? ouro__rank(overall, p->block_count, p->block_count, ranked) : 0;
    for (uint32_t r = 0; r < used; r++) {
        uint32_t i = knot_of[ranked[r]];
        if (i != NO_ROW) k->knots[i].blocks[k->knots[i].block_count++] = ranked[r];
    }
    for (uint32_t b = 0; ok && b < p->block_count; b++) { // those that the ranking leaves out
        if (knot_of[b] != NO_ROW && overall[b] == 0)
            k->knots[knot_of[b]].blocks[k->knots[knot_of[b]].block_count++] = b;
    }
    free(ranked);
    free(sizes);
    return ok;
}

// Rows (knot, block outside) are found by hash; both directions share the code.
typedef struct {
    lookup lookup;
    struct flow {
        uint32_t knot, block, until;
        int64_t overall, calls;
    } * rows;
    uint32_t count, room;
} flows;

static void flows_free(flows *f) {
    ouro__lookup_free(&f->lookup);
    free(f->rows);
}

static struct flow *flow_at(flows *f, uint32_t k, uint32_t b) {
    uint32_t hash = ouro__hash_pair(k, b), row;
    for (uint64_t at = ouro__lookup_first(&f->lookup, hash);
         (row = ouro__lookup_next(&f->lookup, hash, &at)) != NO_ROW;) {
        if (f->rows[row].knot == k && f->rows[row].block == b) return &f->rows[row];
    }
    if (f->count == f->room) {
        uint32_t room = f->room ? f->room * 2 : 64;
        struct flow *rows = realloc(f->rows, room * sizeof *rows);
        if (!rows) return NULL;
        f->rows = rows;
        f->room = room;
    }
    if (!ouro__lookup_add(&f->lookup, hash, f->count)) return NULL;
    f->rows[f->count] = (struct flow){k, b, 0, 0, 0};
    return &f->rows[f->count++];
}

static bool flow_add(flows *f, uint32_t k, uint32_t b, const profile *p, const int64_t *running,
                     uint32_t node, int64_t calls) {
    struct flow *row = flow_at(f, k, b);
    if (!row) return false;
    row->calls += calls;
    if (node < row->until) return true;
    row->until = p->end[node];
    row->overall += ouro__inclusive(p, running, node);
    return true;
}

static int by_overall(const void *a, const void *b) {
    const neighbour *x = a, *y = b;
    if (x->overall != y->overall) return x->overall < y->overall ? 1 : -1;
    return x->block < y->block ? -1 : x->block > y->block;
}

static bool take_flows(const flows *f, knots *k, bool out) {
    for (uint32_t i = 0; i < f->count; i++) {
        knot *to = &k->knots[f->rows[i].knot];
        (out ? to->out_count++ : to->in_count++);
    }
    for (uint32_t i = 0; i < k->count; i++) {
        knot *to = &k->knots[i];
        neighbour **rows = out ? &to->out : &to->in;
        uint32_t *count = out ? &to->out_count : &to->in_count;
        *rows = malloc(((size_t)*count + 1) * sizeof **rows);
        *count = 0;
        if (!*rows) return false;
    }
    for (uint32_t i = 0; i < f->count; i++) {
        knot *to = &k->knots[f->rows[i].knot];
        neighbour row = {f->rows[i].block, f->rows[i].overall, f->rows[i].calls};
        (out ? to->out : to->in)[out ? to->out_count++ : to->in_count++] = row;
    }
    for (uint32_t i = 0; i < k->count; i++) {
        knot *to = &k->knots[i];
        qsort(out ? to->out : to->in, out ? to->out_count : to->in_count, sizeof(neighbour),
              by_overall);
    }
    return true;
}

typedef struct {
    knot_walk on;
    const uint32_t *knot_of;
    uint32_t *until;
    flows in, out;
} flow_walk;

static bool flow_node(flow_walk *w, knots *k, uint32_t n) {
    const profile *p = w->on.profile;
    uint32_t up = p->parent[n], here = w->knot_of[p->block[n]];
    uint32_t above = up ? w->knot_of[p->block[up]] : NO_ROW;
    int64_t calls = ouro__calls_from_above(&w->on, n);
    bool ok = true;
    if (above != NO_ROW && above != here)
        ok = flow_add(&w->out, above, p->block[n], p, w->on.running, n, calls);
    if (here == NO_ROW || !ok) return ok;
    knot *to = &k->knots[here];
    to->self += w->on.values[n];
    if (n >= w->until[here]) {
        w->until[here] = p->end[n];
        to->overall += ouro__inclusive(p, w->on.running, n);
    }
    if (here == above) return true;
    to->calls += calls;
    return flow_add(&w->in, here, up ? p->block[up] : NO_BLOCK, p, w->on.running, n, calls);
}

static bool walk_flows(const profile *p, uint32_t m, const uint32_t *knot_of, knots *k) {
    int64_t *running = ouro__running(p, m);
    flow_walk w = {.on = ouro__knot_walk(p, m, running),
                   .knot_of = knot_of,
                   .until = calloc((size_t)k->count + 1, sizeof *w.until)};
    bool ok = running && w.until;
    for (uint32_t n = 1; ok && n < p->node_count; n++) ok = flow_node(&w, k, n);
    ok = ok && take_flows(&w.in, k, false) && take_flows(&w.out, k, true);
    flows_free(&w.in);
    flows_free(&w.out);
    free(w.until);
    free(running);
    return ok;
}

static void mark_uncounted(const profile *p, knot *k) {
    bool counted = false;
    for (uint32_t i = 0; i < k->block_count; i++) counted |= ouro__is_counted(p, k->blocks[i]);
    if (!counted) k->calls = NOT_COUNTED;
    for (uint32_t i = 0; !counted && i < k->in_count; i++) k->in[i].calls = NOT_COUNTED;
    for (uint32_t i = 0; i < k->out_count; i++)
        if (!ouro__is_counted(p, k->out[i].block)) k->out[i].calls = NOT_COUNTED;
}

static int knot_by_overall(const void *a, const void *b) {
    const knot *x = a, *y = b;
    if (x->overall != y->overall) return x->overall < y->overall ? 1 : -1;
    return x->blocks[0] < y->blocks[0] ? -1 : 1;
}

bool ouro__knots(const profile *p, uint32_t m, knots *k) {
    uint32_t *group = malloc(((size_t)p->block_count + 1) * sizeof *group), groups = 0;
    totals t = {0};
    recursion *recursed = ouro__recursion(p);
    *k = (knots){.has_calls = ouro__knot_walk(p, m, NULL).calls != NULL};
    bool ok = group && recursed && components(p, group, &groups) &&
              keep_knots(p, recursed, group, groups, &k->count);
    if (ok) k->knots = calloc((size_t)k->count + 1, sizeof *k->knots);
    ok = ok && k->knots && ouro__totals(p, m, NULL, 0, &t) && take_members(p, group, t.overall, k);
    ok = ok && (k->count == 0 || walk_flows(p, m, group, k));
    for (uint32_t b = 0; ok && b < p->block_count; b++) {
        if (group[b] != NO_ROW) ouro__recursion_add(&k->knots[group[b]].recursion, &recursed[b]);
    }
    for (uint32_t i = 0; ok && i < k->count; i++) mark_uncounted(p, &k->knots[i]);
    if (ok) qsort(k->knots, k->count, sizeof *k->knots, knot_by_overall);
    ouro__totals_free(&t);
    free(recursed);
    free(group);
    if (!ok) ouro__knots_free(k);
    assert(!ok || ouro__knots_is_valid(p, k));
    return ok;
}

void ouro__knots_free(knots *k) {
    for (uint32_t i = 0; k->knots && i < k->count; i++) {
        free(k->knots[i].blocks);
        free(k->knots[i].in);
        free(k->knots[i].out);
        free(k->knots[i].edges);
    }
    free(k->knots);
    *k = (knots){0};
}
