// SPDX-License-Identifier: MIT
//
// Select, exclude, fold, labels; compaction of a whole tree.
//
// Select and exclude look at the unfolded paths, so they go first and the order in which a user
// gives filters never matters. Without folding the result is the kept rows in the same order. With
// folding the paths are entered anew through a builder, with the rule of the profile: folding can
// bring two copies of a recursion together. A filter by labels changes the values before all that.

#include "questions.h"

#include <stdlib.h>
#include <string.h>

enum { GROUP = 64 }; // things that one pass over the paths looks for

// What a path must have: a block, or one of a group. Bits of words, GROUP at a time.
typedef struct {
    uint64_t *bit;  // by block
    uint64_t *seen; // by node
    unsigned count; // bits so far
} wanted;

// kept[n]: the filters leave the values of node n.
static void look_for(const profile *p, wanted *w, uint8_t *kept) {
    if (!w->count) return;
    uint64_t all = w->count == GROUP ? UINT64_MAX : (UINT64_C(1) << w->count) - 1;
    w->seen[0] = 0;
    for (uint32_t n = 1; n < p->node_count; n++)
        w->seen[n] = w->seen[p->parent[n]] | w->bit[p->block[n]];
    for (uint32_t n = 0; n < p->node_count; n++) kept[n] &= w->seen[n] == all;
    memset(w->bit, 0, p->block_count * sizeof *w->bit);
    w->count = 0;
}

static void add_wanted(const profile *p, wanted *w, const uint32_t *blocks, size_t count,
                       uint8_t *kept) {
    for (size_t i = 0; i < count; i++) w->bit[blocks[i]] |= UINT64_C(1) << w->count;
    if (++w->count == GROUP) look_for(p, w, kept);
}

static bool apply_select(const profile *p, const filter *f, uint8_t *kept) {
    if (!f->select_count && !f->any_count) return true;
    wanted w = {.bit = calloc((size_t)p->block_count + 1, sizeof *w.bit),
                .seen = malloc(p->node_count * sizeof *w.seen)};
    bool ok = w.bit && w.seen;
    for (size_t i = 0; ok && i < f->select_count; i++) add_wanted(p, &w, f->select + i, 1, kept);
    for (size_t i = 0; ok && i < f->any_count; i += 1 + f->any[i])
        add_wanted(p, &w, f->any + i + 1, f->any[i], kept);
    if (ok) look_for(p, &w, kept);
    free(w.bit);
    free(w.seen);
    return ok;
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

uint8_t *ouro__kept(const profile *p, const filter *f) {
    uint8_t *kept = malloc(p->node_count);
    uint8_t *excluded = flags(p, f->exclude, f->exclude_count);
    bool ok = kept && excluded;
    if (ok) memset(kept, 1, p->node_count);
    ok = ok && apply_select(p, f, kept);
    if (ok) apply_exclude(p, excluded, kept);
    free(excluded);
    if (ok) return kept;
    free(kept);
    return NULL;
}

// ---------------------------------------------------------------- making the result

// What is filtered: the profile's own values, or what its labels leave of them.
typedef struct {
    const profile *profile;
    int64_t *const *values;
    const uint8_t *kept;
} source;

static void move_values(const source *from, uint32_t node, profile *to, uint32_t target) {
    for (uint32_t m = 0; m < from->profile->metric_count; m++)
        ouro__charge(to, m, target, from->values[m][node]);
}

static bool row_has_values(const tags *t, uint32_t row) {
    for (uint32_t m = 0; m < t->metric_count; m++) {
        if (t->row_values[m] && t->row_values[m][row]) return true;
    }
    return false;
}

// Samples may add up to nothing, 2 and -2, and have labels by which they are told apart later.
static void need_labelled(const tags *t, const uint32_t *failed, uint8_t *needed) {
    for (uint32_t r = 0; t && r < t->row_count; r++) {
        if (failed && failed[t->row_set[r]]) continue;
        needed[t->row_node[r]] |= row_has_values(t, r);
    }
}

// needed[n]: something is charged to it or below it that is kept. What only led to paths that are
// gone is gone too. Without a filter all is needed.
static uint8_t *find_needed(const source *from, const filter *f, const uint32_t *failed) {
    const profile *p = from->profile;
    uint8_t *needed = calloc(p->node_count, 1);
    if (!needed) return NULL;
    bool filtered = !ouro__filter_is_empty(f);
    if (!filtered) memset(needed, 1, p->node_count);
    for (uint32_t m = 0; filtered && m < p->metric_count; m++) {
        for (uint32_t n = 0; n < p->node_count; n++) needed[n] |= from->values[m][n] != 0;
    }
    if (filtered && f->keep_labels) need_labelled(p->tags, failed, needed);
    for (uint32_t n = 0; n < p->node_count; n++) needed[n] &= from->kept[n];
    for (uint32_t n = p->node_count; n-- > 1;) needed[p->parent[n]] |= needed[n];
    return needed;
}

static uint32_t count_needed(const profile *p, const uint8_t *needed) {
    uint32_t count = 0;
    for (uint32_t n = 0; n < p->node_count; n++) count += needed[n];
    return count;
}

static void copy_kept(const source *from, const uint8_t *needed, profile *to, uint32_t *place) {
    const profile *p = from->profile;
    place[0] = 0;
    if (from->kept[0]) move_values(from, 0, to, 0);
    for (uint32_t n = 1; n < p->node_count && !to->failed; n++) {
        place[n] = NO_NODE;
        if (!needed[n]) continue;
        place[n] = ouro__profile_add_node(to, place[p->parent[n]], p->block[n]);
        if (from->kept[n]) move_values(from, n, to, place[n]);
    }
}

// place[n]: the node of the folded path of n, NO_NODE if it is not needed. If all blocks of a path
// are folded, its values go to the block (folded) below the root, which is returned.
static uint32_t enter_kept(const source *from, const uint8_t *needed, const uint8_t *folded,
                           builder *b, profile *to, uint32_t *place) {
    const profile *p = from->profile;
    uint32_t all_folded = NO_NODE;
    place[0] = 0;
    if (from->kept[0]) move_values(from, 0, to, 0);
    for (uint32_t n = 1; n < p->node_count && !to->failed; n++) {
        place[n] = NO_NODE;
        if (!needed[n]) continue;
        uint32_t up = place[p->parent[n]];
        place[n] = folded[p->block[n]] ? up : ouro__builder_enter(b, up, p->block[n]);
        if (!from->kept[n]) continue;
        if (place[n] == 0 && all_folded == NO_NODE)
            all_folded = ouro__builder_enter(b, 0, ouro__profile_add_named(to, "(folded)", 8));
        move_values(from, n, to, place[n] ? place[n] : all_folded);
    }
    return all_folded;
}

// From the places of paths to those of what was charged to them.
static void carry_labels(const source *from, const uint32_t *failed, uint32_t all_folded,
                         uint32_t *place, profile *to) {
    const profile *p = from->profile;
    for (uint32_t n = 0; n < p->node_count; n++) {
        if (!from->kept[n]) place[n] = NO_NODE;
        if (n && place[n] == 0) place[n] = all_folded;
    }
    ouro__tags_carry(p, place, failed, NULL, to);
}

static bool make(const source *from, const filter *f, const uint32_t *failed, int rule,
                 int edge_length, bool entered, profile *to, uint32_t *place) {
    const profile *p = from->profile;
    uint8_t *needed = find_needed(from, f, failed), *folded = flags(p, f->fold, f->fold_count);
    if (needed) ouro__profile_reserve(to, count_needed(p, needed) + 2); // the root and (folded)
    builder *b = entered ? ouro__builder_new(to, rule, edge_length) : NULL;
    bool ok = needed && folded && (b || !entered) && (!entered || ouro__retell_recursion(p, to));
    uint32_t all_folded = ok && entered ? enter_kept(from, needed, folded, b, to, place) : NO_NODE;
    if (ok && !entered) copy_kept(from, needed, to, place);
    if (ok && f->keep_labels) carry_labels(from, failed, all_folded, place, to);
    ouro__builder_free(b);
    free(needed);
    free(folded);
    return ok;
}

// A profile without one is only read, so that several threads may filter it at once.
static void move_origin(profile *p, profile *to, const uint8_t *kept, const uint32_t *failed,
                        const uint32_t *place) {
    if (!p->origin) return;
    origin *o = to->origin = p->origin;
    p->origin = NULL;
    for (uint32_t s = 0; s < o->sample_count; s++) {
        uint32_t *node = &o->sample_node[s], set = o->sample_set ? o->sample_set[s] : 0;
        if (*node == NO_NODE) continue;
        *node = kept[*node] && !(failed && failed[set]) ? place[*node] : NO_NODE;
    }
    // The result has no labels to number.
    free(o->sample_set);
    o->sample_set = NULL;
}

static profile *finished(profile *to, bool ok, error *e) {
    if (to && ok && ouro__profile_finish(to, e)) return to;
    if (!to || !ok) ouro__error_memory(e);
    ouro__profile_free(to);
    return NULL;
}

// ---------------------------------------------------------------- labels

static void free_columns(int64_t **columns, uint32_t count) {
    for (uint32_t m = 0; columns && m < count; m++) free(columns[m]);
    free(columns);
}

// NULL with *e filled.
static int64_t **labelled_values(const profile *p, const uint32_t *failed, error *e) {
    int64_t **columns = calloc((size_t)p->metric_count + 1, sizeof *columns);
    bool ok = columns || ouro__fail_memory(e);
    for (uint32_t m = 0; ok && m < p->metric_count; m++)
        ok = (columns[m] = ouro__label_values(p, m, failed, e)) != NULL;
    if (ok) return columns;
    free_columns(columns, p->metric_count);
    return NULL;
}

// ---------------------------------------------------------------- the whole

static profile *filtered(profile *p, const filter *f, const source *from, const uint32_t *failed,
                         error *e) {
    uint32_t *place = malloc(p->node_count * sizeof *place);
    profile *to = ouro__profile_like_with_blocks(p);
    int rule = p->rule == RULE_AS_IT_IS ? RULE_LOOPS : p->rule;
    bool entered = f->fold_count > 0;
    bool ok = place && to && from->kept;
    ok = ok && make(from, f, failed, rule, p->edge_length, entered, to, place);
    if (ok && !entered && !to->failed) move_origin(p, to, from->kept, failed, place);
    free(place);
    return finished(to, ok, e);
}

profile *ouro__filter(profile *p, const filter *f, error *e) {
    uint8_t *kept = ouro__kept(p, f);
    uint32_t *failed = NULL;
    int64_t **columns = NULL;
    profile *to = NULL;
    bool ok = kept || ouro__fail_memory(e);
    if (ok && f->label_count) {
        ok = (failed = ouro__label_failures(p, f)) || ouro__fail_memory(e);
        ok = ok && (columns = labelled_values(p, failed, e));
    }
    if (ok) to = filtered(p, f, &(source){p, columns ? columns : p->values, kept}, failed, e);
    free_columns(columns, p->metric_count);
    free(failed);
    free(kept);
    return to;
}

profile *ouro__compacted(const profile *p, int rule, int edge_length, error *e) {
    uint8_t *kept = malloc(p->node_count);
    uint32_t *place = malloc(p->node_count * sizeof *place);
    profile *to = ouro__profile_like_with_blocks(p);
    bool ok = kept && place && to;
    if (ok) memset(kept, 1, p->node_count);
    ok = ok && make(&(source){p, p->values, kept}, &(filter){.keep_labels = true}, NULL, rule,
                    edge_length, true, to, place);
    free(kept);
    free(place);
    return finished(to, ok, e);
}
