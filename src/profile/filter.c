// SPDX-License-Identifier: MIT
//
// Select, exclude, fold; compaction of a whole tree.
//
// Select and exclude look at the unfolded paths, so they go first and the order in which a user
// gives filters never matters. Without folding the result is the kept rows in the same order. With
// folding the paths are entered anew through a builder, with the rule of the profile: folding can
// bring two copies of a recursion together.

#include "questions.h"

#include <stdlib.h>
#include <string.h>

enum { GROUP = 64 }; // blocks that one pass over the paths looks for

// kept[n]: the filters leave the values of node n.
static void apply_select(const profile *p, const uint32_t *blocks, size_t count, uint64_t *seen,
                         uint64_t *bit, uint8_t *kept) {
    memset(bit, 0, p->block_count * sizeof *bit);
    uint64_t all = 0;
    for (size_t i = 0; i < count; i++) {
        bit[blocks[i]] |= UINT64_C(1) << i;
        all |= UINT64_C(1) << i;
    }
    seen[0] = 0;
    for (uint32_t n = 1; n < p->node_count; n++) seen[n] = seen[p->parent[n]] | bit[p->block[n]];
    for (uint32_t n = 0; n < p->node_count; n++) kept[n] &= seen[n] == all;
}

// A subtree is a run of rows: all of it goes at once.
static void apply_exclude(const profile *p, const uint8_t *excluded, uint8_t *kept) {
    for (uint32_t n = 1; n < p->node_count;) {
        if (!excluded[p->block[n]]) {
            n++;
            continue;
        }
        memset(kept + n, 0, p->end[n] - n);
        n = p->end[n];
    }
}

static uint8_t *flags(const profile *p, const uint32_t *blocks, size_t count) {
    uint8_t *set = calloc((size_t)p->block_count + 1, 1);
    for (size_t i = 0; set && i < count; i++) set[blocks[i]] = 1;
    return set;
}

static bool find_kept(const profile *p, const filter *f, uint8_t *kept) {
    // Only select looks at it.
    uint64_t *seen = malloc((f->select_count ? p->node_count : 1) * sizeof *seen);
    uint64_t *bit = malloc(((size_t)p->block_count + 1) * sizeof *bit);
    uint8_t *excluded = flags(p, f->exclude, f->exclude_count);
    bool ok = seen && bit && excluded;
    memset(kept, 1, p->node_count);
    for (size_t i = 0; ok && i < f->select_count; i += GROUP) {
        size_t count = f->select_count - i < GROUP ? f->select_count - i : GROUP;
        apply_select(p, f->select + i, count, seen, bit, kept);
    }
    if (ok) apply_exclude(p, excluded, kept);
    free(seen);
    free(bit);
    free(excluded);
    return ok;
}

// ---------------------------------------------------------------- making the result

static void move_values(const profile *from, uint32_t node, profile *to, uint32_t target) {
    for (uint32_t m = 0; m < from->metric_count; m++)
        ouro__charge(to, m, target, from->values[m][node]);
}

// needed[n]: something is charged to it or below it that is kept. What only led to paths that are
// gone is gone too. Without a filter all is needed.
static uint8_t *find_needed(const profile *p, const filter *f, const uint8_t *kept) {
    uint8_t *needed = calloc(p->node_count, 1);
    if (!needed) return NULL;
    bool filtered = f->select_count || f->exclude_count || f->fold_count;
    if (!filtered) memset(needed, 1, p->node_count);
    for (uint32_t m = 0; filtered && m < p->metric_count; m++) {
        for (uint32_t n = 0; n < p->node_count; n++) needed[n] |= p->values[m][n] != 0;
    }
    for (uint32_t n = 0; n < p->node_count; n++) needed[n] &= kept[n];
    for (uint32_t n = p->node_count; n-- > 1;) needed[p->parent[n]] |= needed[n];
    return needed;
}

static uint32_t count_needed(const profile *p, const uint8_t *needed) {
    uint32_t count = 0;
    for (uint32_t n = 0; n < p->node_count; n++) count += needed[n];
    return count;
}

static void copy_kept(const profile *p, const uint8_t *kept, const uint8_t *needed, profile *to,
                      uint32_t *place) {
    place[0] = 0;
    if (kept[0]) move_values(p, 0, to, 0);
    for (uint32_t n = 1; n < p->node_count && !to->failed; n++) {
        place[n] = NO_NODE;
        if (!needed[n]) continue;
        place[n] = ouro__profile_add_node(to, place[p->parent[n]], p->block[n]);
        if (kept[n]) move_values(p, n, to, place[n]);
    }
}

// place[n]: the node of the folded path of n. If all blocks of a path are folded, its values go to
// the block (folded) below the root.
static void enter_kept(const profile *p, const uint8_t *kept, const uint8_t *needed,
                       const uint8_t *folded, builder *b, profile *to, uint32_t *place) {
    uint32_t all_folded = NO_NODE;
    place[0] = 0;
    if (kept[0]) move_values(p, 0, to, 0);
    for (uint32_t n = 1; n < p->node_count && !to->failed; n++) {
        if (!needed[n]) continue;
        uint32_t up = place[p->parent[n]];
        place[n] = folded[p->block[n]] ? up : ouro__builder_enter(b, up, p->block[n]);
        if (!kept[n]) continue;
        if (place[n] == 0 && all_folded == NO_NODE)
            all_folded = ouro__builder_enter(b, 0, ouro__profile_add_named(to, "(folded)", 8));
        move_values(p, n, to, place[n] ? place[n] : all_folded);
    }
}

static bool make(const profile *p, const filter *f, const uint8_t *kept, int rule, int edge_length,
                 bool entered, profile *to, uint32_t *place) {
    uint8_t *needed = find_needed(p, f, kept), *folded = flags(p, f->fold, f->fold_count);
    if (needed) ouro__profile_reserve(to, count_needed(p, needed) + 2); // the root and (folded)
    builder *b = entered ? ouro__builder_new(to, rule, edge_length) : NULL;
    bool ok = needed && folded && (b || !entered) && (!entered || ouro__retell_recursion(p, to));
    if (ok && entered) enter_kept(p, kept, needed, folded, b, to, place);
    if (ok && !entered) copy_kept(p, kept, needed, to, place);
    ouro__builder_free(b);
    free(needed);
    free(folded);
    return ok;
}

// A profile without one is only read, so that several threads may filter it at once.
static void move_origin(profile *p, profile *to, const uint8_t *kept, const uint32_t *place) {
    if (!p->origin) return;
    to->origin = p->origin;
    p->origin = NULL;
    for (uint32_t s = 0; to->origin && s < to->origin->sample_count; s++) {
        uint32_t *node = &to->origin->sample_node[s];
        if (*node != NO_NODE) *node = kept[*node] ? place[*node] : NO_NODE;
    }
}

static profile *finished(profile *to, bool ok, error *e) {
    if (to && ok && ouro__profile_finish(to, e)) return to;
    if (!to || !ok) ouro__error_memory(e);
    ouro__profile_free(to);
    return NULL;
}

profile *ouro__filter(profile *p, const filter *f, error *e) {
    uint8_t *kept = malloc(p->node_count);
    uint32_t *place = malloc(p->node_count * sizeof *place);
    profile *to = ouro__profile_like_with_blocks(p);
    int rule = p->rule == RULE_AS_IT_IS ? RULE_LOOPS : p->rule;
    bool entered = f->fold_count > 0;
    bool ok = kept && place && to && find_kept(p, f, kept);
    ok = ok && make(p, f, kept, rule, p->edge_length, entered, to, place);
    if (ok && !entered && !to->failed) move_origin(p, to, kept, place);
    free(kept);
    free(place);
    return finished(to, ok, e);
}

profile *ouro__compacted(const profile *p, int rule, int edge_length, error *e) {
    uint8_t *kept = malloc(p->node_count);
    uint32_t *place = malloc(p->node_count * sizeof *place);
    profile *to = ouro__profile_like_with_blocks(p);
    bool ok = kept && place && to;
    if (ok) memset(kept, 1, p->node_count);
    ok = ok && make(p, &(filter){0}, kept, rule, edge_length, true, to, place);
    free(kept);
    free(place);
    return finished(to, ok, e);
}
