// SPDX-License-Identifier: MIT
//
// Smaller profiles: values are divided, or subtrees below a share are pruned. Totals hold: the
// remainder of a division is carried to the next node in preorder, which is a near one. The values
// of a pruned subtree go to a [pruned] block below its caller, never to the caller's self.

#include "questions.h"

#include <errno.h>
#include <stdlib.h>

static profile *finished(profile *to, bool ok, error *e) {
    if (to && ok && ouro__profile_finish(to, e)) return to;
    if (!to || !ok) ouro__error_memory(e);
    ouro__profile_free(to);
    return NULL;
}

static bool divide(const profile *p, int64_t by, int64_t **values, uint8_t *needed) {
    for (uint32_t m = 0; m < p->metric_count; m++) {
        int64_t carry = 0;
        values[m] = malloc(p->node_count * sizeof **values);
        if (!values[m]) return false;
        for (uint32_t n = 0; n < p->node_count; n++) {
            // The sum of all |values| fits into 63 bits, so this one does.
            carry += p->values[m][n];
            values[m][n] = carry / by;
            carry %= by;
            needed[n] |= values[m][n] != 0;
        }
    }
    return true;
}

profile *ouro__divided(const profile *p, int64_t by, error *e) {
    if (by < 1) {
        ouro__error_set(e, EINVAL, "a period of %lld; it must be 1 or more", (long long)by);
        return NULL;
    }
    profile *to = ouro__profile_like_with_blocks(p);
    int64_t **values = calloc((size_t)p->metric_count + 1, sizeof *values);
    uint8_t *needed = calloc(p->node_count, 1);
    uint32_t *place = calloc(p->node_count, sizeof *place);
    bool ok = to && values && needed && place && ouro__retell_recursion(p, to) &&
              divide(p, by, values, needed);
    for (uint32_t n = p->node_count; ok && n-- > 1;) needed[p->parent[n]] |= needed[n];
    for (uint32_t n = 0; ok && n < p->node_count && !to->failed; n++) {
        if (n && !needed[n]) continue;
        if (n) place[n] = ouro__profile_add_node(to, place[p->parent[n]], p->block[n]);
        for (uint32_t m = 0; m < p->metric_count; m++) ouro__charge(to, m, place[n], values[m][n]);
    }
    for (uint32_t m = 0; values && m < p->metric_count; m++) free(values[m]);
    free(values);
    free(needed);
    free(place);
    return finished(to, ok, e);
}

// ---------------------------------------------------------------- pruning

// large[n]: in some metric, node n and all below it have the share.
static bool find_large(const profile *p, double share, uint8_t *large) {
    large[0] = 1;
    for (uint32_t m = 0; m < p->metric_count; m++) {
        int64_t *running = ouro__running(p, m);
        if (!running) return false;
        double least = share * (double)running[p->node_count];
        for (uint32_t n = 1; n < p->node_count; n++) {
            int64_t value = ouro__inclusive(p, running, n);
            large[n] |= value != 0 && (double)value >= least;
        }
        free(running);
    }
    // With negative values a child may be larger than its parent.
    for (uint32_t n = p->node_count; n-- > 1;) large[p->parent[n]] |= large[n];
    return true;
}

// A whole subtree goes into one account: the [pruned] child of the place above.
static void prune_subtree(const profile *p, uint32_t node, profile *to, builder *b, uint32_t pruned,
                          uint32_t *place) {
    uint32_t above = place[p->parent[node]], account = NO_NODE;
    for (uint32_t m = 0; m < p->metric_count; m++) {
        int64_t sum = 0;
        for (uint32_t n = node; n < p->end[node]; n++) sum += p->values[m][n];
        if (sum) account = ouro__builder_enter(b, above, pruned);
        if (sum) ouro__charge(to, m, account, sum);
    }
    for (uint32_t n = node; n < p->end[node]; n++) place[n] = account;
}

profile *ouro__pruned(const profile *p, double share, error *e) {
    profile *to = ouro__profile_like_with_blocks(p);
    uint8_t *large = calloc(p->node_count, 1);
    uint32_t *place = calloc(p->node_count, sizeof *place);
    builder *b = to ? ouro__builder_new(to, RULE_NONE, 0) : NULL;
    bool ok = b && large && place && ouro__retell_recursion(p, to) && find_large(p, share, large);
    uint32_t pruned = ok ? ouro__profile_add_named(to, "[pruned]", 8) : 0;
    for (uint32_t n = 0; ok && n < p->node_count && !to->failed;) {
        if (!large[n]) {
            prune_subtree(p, n, to, b, pruned, place);
            n = p->end[n];
            continue;
        }
        if (n) place[n] = ouro__builder_enter(b, place[p->parent[n]], p->block[n]);
        for (uint32_t m = 0; m < p->metric_count; m++)
            ouro__charge(to, m, place[n], p->values[m][n]);
        n++;
    }
    if (ok) ouro__tags_carry(p, place, NULL, NULL, to);
    if (to) {
        to->rule = p->rule;
        to->edge_length = p->edge_length;
    }
    ouro__builder_free(b);
    free(large);
    free(place);
    return finished(to, ok, e);
}
