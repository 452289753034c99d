// SPDX-License-Identifier: MIT
//
// Each check is a pass or two over the columns. A check that needs memory and gets none says yes,
// so that running out of memory is never taken for a mistake of ours.

#include "valid.h"

#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------- a profile

// The parent of a node is the last node before it whose rows are not over. Each node is left once,
// so this is one pass.
static bool is_preorder(const profile *p) {
    bool ok = p->node_count >= 1 && p->block[0] == NO_BLOCK && p->end && p->end[0] == p->node_count;
    for (uint32_t n = 1, open = 0; ok && n < p->node_count; open = n++) {
        while (open && p->end[open] <= n) open = p->parent[open];
        ok = p->parent[n] == open && p->end[n] > n && p->end[n] <= p->end[open] &&
             p->block[n] < p->block_count;
    }
    return ok;
}

static bool is_there(const profile *p, const lookup *children, uint32_t hash, uint32_t n) {
    uint32_t other;
    for (uint64_t at = ouro__lookup_first(children, hash);
         (other = ouro__lookup_next(children, hash, &at)) != NO_ROW;) {
        if (p->parent[other] == p->parent[n] && p->block[other] == p->block[n]) return true;
    }
    return false;
}

// Two children of a node have different blocks.
static bool siblings_differ(const profile *p) {
    lookup children = {0};
    bool differ = true, memory = true;
    for (uint32_t n = 1; differ && memory && n < p->node_count; n++) {
        uint32_t hash = ouro__hash_pair(p->parent[n], p->block[n]);
        differ = !is_there(p, &children, hash, n);
        memory = ouro__lookup_add(&children, hash, n);
    }
    ouro__lookup_free(&children);
    return differ;
}

static bool texts_are_there(const profile *p) {
    bool ok = p->metric_count == 0 || p->default_metric < p->metric_count;
    for (uint32_t b = 0; ok && b < p->block_count; b++)
        ok = p->blocks[b].name < p->texts.count && p->blocks[b].file < p->texts.count;
    for (uint32_t m = 0; ok && m < p->metric_count; m++)
        ok = p->metrics[m].name < p->texts.count && p->metrics[m].unit < p->texts.count;
    return ok;
}

bool ouro__values_fit(const profile *p, uint32_t m) {
    int64_t sum = 0;
    for (uint32_t n = 0; n < p->node_count; n++) {
        int64_t v = p->values[m][n];
        if (v == INT64_MIN || __builtin_add_overflow(sum, v < 0 ? -v : v, &sum)) return false;
    }
    return true;
}

bool ouro__profile_is_valid(const profile *p) {
    bool ok = is_preorder(p) && texts_are_there(p) && siblings_differ(p);
    for (uint32_t m = 0; ok && m < p->metric_count; m++) ok = ouro__values_fit(p, m);
    for (uint32_t s = 0; ok && p->origin && s < p->origin->sample_count; s++) {
        uint32_t n = p->origin->sample_node[s];
        ok = n == NO_NODE || n < p->node_count;
    }
    uint32_t calls = ok ? ouro__profile_find_metric(p, "calls") : NO_ROW;
    for (uint32_t n = 1; ok && calls != NO_ROW && n < p->node_count; n++)
        ok = !p->values[calls][n] || ouro__is_counted(p, p->block[n]);
    return ok && (!p->tags || ouro__tags_is_valid(p));
}

// ---------------------------------------------------------------- answers

static bool has_negative(const profile *p, uint32_t m) {
    for (uint32_t n = 0; n < p->node_count; n++) {
        if (p->values[m][n] < 0) return true;
    }
    return false;
}

bool ouro__totals_is_valid(const profile *p, uint32_t m, const totals *t) {
    int64_t self = p->values[m][0]; // the root is in no group
    bool bounded = !has_negative(p, m), ok = t->total == ouro__total(p, m);
    for (uint32_t i = 0; ok && i < t->count; i++) {
        self += t->self[i];
        ok = !bounded || (t->self[i] <= t->overall[i] && t->overall[i] <= t->total);
    }
    return ok && self == t->total;
}

bool ouro__flame_is_valid(const flame *rows, uint32_t count) {
    bool ok = count >= 1 && rows[0].depth == 0 && rows[0].left == 0;
    for (uint32_t i = 1; ok && i < count; i++)
        ok = rows[i].parent < i && rows[i].depth == rows[rows[i].parent].depth + 1;
    return ok;
}

bool ouro__knots_is_valid(const profile *p, const knots *k) {
    uint8_t *seen = calloc((size_t)p->block_count + 1, 1);
    bool ok = true;
    for (uint32_t i = 0; seen && ok && i < k->count; i++) {
        const knot *one = &k->knots[i];
        ok = one->block_count > 0 && (i == 0 || one->overall <= k->knots[i - 1].overall);
        for (uint32_t b = 0; ok && b < one->block_count; b++) ok = !seen[one->blocks[b]]++;
    }
    free(seen);
    return ok;
}

bool ouro__matching_is_valid(const profile *before, const profile *after, const matching *m) {
    bool ok = m->count >= before->block_count;
    uint32_t in_after = 0;
    for (uint32_t i = 0; ok && i < m->count; i++) {
        const block_pair *p = &m->pairs[i];
        bool both = p->before != NO_BLOCK && p->after != NO_BLOCK;
        in_after += p->after != NO_BLOCK;
        ok = p->before == (i < before->block_count ? i : NO_BLOCK) &&
             (p->after == NO_BLOCK || m->pair_of_after[p->after] == i) &&
             both == (p->how != MATCH_NONE);
        if (ok && both)
            ok =
                strcmp(ouro__block_name(before, p->before), ouro__block_name(after, p->after)) == 0;
    }
    return ok && in_after == after->block_count;
}
