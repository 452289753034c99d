// SPDX-License-Identifier: MIT
//
// The boxes of a flame graph in the tree of another profile, for the difference flame graph: each
// box then has what it is on its own side and what it is on the other.
//
// A path is the same on both sides if its blocks are pairs of the matching. No block is in two
// pairs, so a node has at most one child that matches. Parents come before children, so the
// counterpart of a box is a child of its parent's: the children of such a node are indexed once.
// Only what is below boxes is looked at, however large the trees are.

#include "questions.h"

#include <stdlib.h>

typedef struct {
    const profile *own, *other;
    const matching *m;
    bool after;      // `own` is the side after
    lookup children; // nodes of the other by their parent and their pair
} search;

static uint32_t pair_of(const search *s, bool after, uint32_t block) {
    return after ? s->m->pair_of_after[block] : block;
}

static uint32_t pair_in_other(const search *s, uint32_t node) {
    return pair_of(s, !s->after, s->other->block[node]);
}

static bool index_children(search *s, uint32_t parent) {
    const profile *p = s->other;
    for (uint32_t n = parent + 1; n < p->end[parent]; n = p->end[n]) {
        if (!ouro__lookup_add(&s->children, ouro__hash_pair(parent, pair_in_other(s, n)), n))
            return false;
    }
    return true;
}

static uint32_t child_of(const search *s, uint32_t parent, uint32_t pair) {
    uint32_t hash = ouro__hash_pair(parent, pair), n;
    for (uint64_t at = ouro__lookup_first(&s->children, hash);
         (n = ouro__lookup_next(&s->children, hash, &at)) != NO_ROW;) {
        if (s->other->parent[n] == parent && pair_in_other(s, n) == pair) return n;
    }
    return NO_NODE;
}

// Row 0 may be deep in the tree: its path is walked from the root, one level at a time.
static bool find_first(const search *s, uint32_t node, uint32_t *found) {
    const profile *p = s->own, *other = s->other;
    uint32_t length = 0;
    for (uint32_t n = node; n; n = p->parent[n]) length++;
    uint32_t *path = malloc(((size_t)length + 1) * sizeof *path), at = length;
    if (!path) return false;
    for (uint32_t n = node; n; n = p->parent[n]) path[--at] = pair_of(s, s->after, p->block[n]);
    *found = 0;
    for (uint32_t i = 0; i < length && *found != NO_NODE; i++) {
        uint32_t n = *found + 1, end = other->end[*found];
        while (n < end && pair_in_other(s, n) != path[i]) n = other->end[n];
        *found = n < end ? n : NO_NODE;
    }
    free(path);
    return true;
}

static bool find_all(search *s, const flame *boxes, uint32_t count, uint32_t *found,
                     uint8_t *indexed) {
    if (!find_first(s, boxes[0].node, &found[0])) return false;
    for (uint32_t i = 1; i < count; i++) {
        uint32_t row = boxes[i].parent, parent = found[row];
        found[i] = NO_NODE;
        if (parent == NO_NODE) continue;
        if (!indexed[row] && !index_children(s, parent)) return false;
        indexed[row] = 1;
        found[i] = child_of(s, parent, pair_of(s, s->after, s->own->block[boxes[i].node]));
    }
    return true;
}

uint32_t *ouro__counterparts(const profile *p, const flame *boxes, uint32_t count,
                             const profile *other, const matching *m, bool after) {
    search s = {.own = p, .other = other, .m = m, .after = after};
    uint32_t *found = malloc(count * sizeof *found);
    uint8_t *indexed = calloc(count, 1);
    bool ok = found && indexed && find_all(&s, boxes, count, found, indexed);
    ouro__lookup_free(&s.children);
    free(indexed);
    if (ok) return found;
    free(found);
    return NULL;
}
