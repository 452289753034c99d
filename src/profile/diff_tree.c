// SPDX-License-Identifier: MIT
//
// The trees of two profiles as one tree with two counts per path, for the difference flame graph.
// It is an ordinary profile with the metrics `before` and `after`, so every question can be asked
// of it.
//
// A path of one side is a path of the other if their blocks are pairs of the matching. No block is
// in two pairs, so two paths of a side never become one. Nodes before keep their numbers while the
// tree is built; a node after is found by its parent and its pair, or added. Below an added node
// everything is new, and nothing is looked up.

#include "questions.h"

#include <stdlib.h>

// Blocks are numbers here: the two profiles have their names.
static bool add_blocks(profile *p, const matching *m) {
    p->blocks = calloc((size_t)m->count + 1, sizeof *p->blocks);
    p->block_count = p->block_room = p->blocks ? m->count : 0;
    return p->blocks;
}

static void add_metric(profile *to, const char *name, const profile *p, uint32_t m) {
    uint32_t added = ouro__profile_add_metric(to, name, ouro__metric_unit(p, m));
    if (!to->failed) to->metrics[added].decimals = p->metrics[m].decimals;
}

static bool copy_before(profile *to, const profile *a, uint32_t m, lookup *children) {
    to->values[0][0] = a->values[m][0];
    for (uint32_t n = 1; n < a->node_count && !to->failed; n++) {
        ouro__profile_add_node(to, a->parent[n], a->block[n]);
        if (to->failed) break;
        to->values[0][n] = a->values[m][n];
        if (!ouro__lookup_add(children, ouro__hash_pair(a->parent[n], a->block[n]), n))
            return false;
    }
    return true;
}

static uint32_t find_child(const profile *p, const lookup *children, uint32_t parent,
                           uint32_t block) {
    uint32_t hash = ouro__hash_pair(parent, block), n;
    for (uint64_t at = ouro__lookup_first(children, hash);
         (n = ouro__lookup_next(children, hash, &at)) != NO_ROW;) {
        if (p->parent[n] == parent && p->block[n] == block) return n;
    }
    return NO_NODE;
}

// place[n]: where node n of the side after is in the tree of both.
static void add_after(profile *to, const profile *a, const profile *b, uint32_t m,
                      const matching *pairs, const lookup *children, uint32_t *place) {
    place[0] = 0;
    to->values[1][0] = b->values[m][0];
    for (uint32_t n = 1; n < b->node_count && !to->failed; n++) {
        uint32_t parent = place[b->parent[n]], pair = pairs->pair_of_after[b->block[n]];
        place[n] = parent < a->node_count ? find_child(to, children, parent, pair) : NO_NODE;
        if (place[n] == NO_NODE) place[n] = ouro__profile_add_node(to, parent, pair);
        if (!to->failed) to->values[1][place[n]] = b->values[m][n];
    }
}

// Both metrics count in the same unit.
static bool same_decimals(profile *p, error *e) {
    bool ok = ouro__profile_rescale(p, 0, p->metrics[1].decimals) &&
              ouro__profile_rescale(p, 1, p->metrics[0].decimals);
    return ok || ouro__fail(e, EOVERFLOW, "the values do not fit with the decimals of both");
}

profile *ouro__difference_tree(const profile *a, uint32_t before, const profile *b, uint32_t after,
                               const matching *m, error *e) {
    profile *both = ouro__profile_new();
    uint32_t *place = malloc(b->node_count * sizeof *place);
    lookup children = {0};
    bool ok = both && place && add_blocks(both, m);
    if (ok) {
        both->budget = a->budget;
        both->budget.spent = 0;
        ouro__budget_add(&both->budget, &b->budget);
        add_metric(both, "before", a, before);
        add_metric(both, "after", b, after);
        ouro__profile_reserve(both, a->node_count);
        ok = both->failed || copy_before(both, a, before, &children);
    }
    if (!ok) ouro__error_memory(e);
    if (ok && !both->failed) add_after(both, a, b, after, m, &children, place);
    ok = ok && (both->failed || same_decimals(both, e)) && ouro__profile_finish(both, e);
    ouro__lookup_free(&children);
    free(place);
    if (ok) return both;
    ouro__profile_free(both);
    return NULL;
}
