// SPDX-License-Identifier: MIT
//
// How often and how deep each block recursed: one answer for two kinds of profiles.
//
// Profiles that were read from stacks have it by block, counted before the stacks were compacted
// (builder.c). Samples of the recorder have what was noted of their stacks. Other profiles of the
// recorder count entries at every node: `calls`, of these `recursions`
// through a back edge, of these `direct`. The canonical path has the same blocks as the stack, so a
// block was on the stack already if its node has the block above it, or is entered through a back
// edge. How deep the stack was is only known where there was no back edge: then the path tells it.
// Each turn through a back edge hides what stands below the node that it leads to.
// Where nodes are moved together, by folding, compacting or merging, the metrics add up and no
// longer tell it: what they told is kept by block then (ouro__tell_recursion).
//
// Names that stand for code that is not known, like [unknown], do not recurse: two of them on a
// stack may be different functions.

#include "questions.h"

#include <stdlib.h>
#include <string.h>

static const int64_t *column(const profile *p, const char *name) {
    uint32_t m = ouro__profile_find_metric(p, name);
    return m == NO_ROW ? NULL : p->values[m];
}

bool ouro__counts_calls(const profile *p) { return column(p, "calls") && column(p, "recursions"); }

// Nothing was recorded at all where the calls are shown.
bool ouro__is_sampled(const profile *p) {
    return ouro__counts_calls(p) && ouro__calls_metric(p) == NO_ROW &&
           strcmp(ouro__metric_name(p, p->default_metric), "calls") != 0;
}

bool ouro__is_listed(const profile *p, uint32_t m) {
    const char *name = ouro__metric_name(p, m);
    if (!ouro__counts_calls(p)) return true;
    if (strcmp(name, "calls") == 0) return !ouro__is_sampled(p);
    return strcmp(name, "recursions") != 0 && strcmp(name, "direct") != 0;
}

uint32_t ouro__deepest(const recursion *r) { return ouro__recurses(r) ? r->deepest : 1; }

// `times`: how often the node's block stands on its path.
static void count_entries(recursion *to, uint32_t times, int64_t calls, int64_t recursions,
                          int64_t direct) {
    int64_t entered = times > 1 ? calls : recursions;
    if (direct > 0) to->direct += (uint64_t)direct;
    if (entered > direct) to->through += (uint64_t)(entered - direct);
    if (times > to->deepest) to->deepest = times;
}

// A path of samples has the block so many times. If nothing was noted of it, as by older recorders,
// the path shows that it recursed, but not how deep.
static void see_again(const profile *p, uint32_t b, uint32_t times, bool itself, recursion *to,
                      uint8_t *turned) {
    bool noted = b < p->recursed_room && ouro__recurses(&p->recursed[b]);
    if (times < 2 || noted) return;
    if (itself) to->direct = 1;
    if (!itself) to->through = 1;
    if (times > to->deepest) to->deepest = times;
    *turned = p->rule != RULE_NONE;
}

// Along the nodes in preorder; standing[b] is how often block b stands on the path to the node, and
// `turns` how many nodes of that path were entered through a back edge.
static void count_nodes(const profile *p, uint32_t *standing, recursion *rows, uint8_t *turned) {
    const int64_t *calls = column(p, "calls"), *recursions = column(p, "recursions"),
                  *direct = column(p, "direct");
    bool is_sampled = ouro__is_sampled(p);
    uint32_t turns = 0;
    for (uint32_t n = 1, open = 0; n < p->node_count; open = n++) {
        for (; open && p->end[open] <= n; open = p->parent[open]) {
            standing[p->block[open]]--;
            turns -= recursions[open] > 0;
        }
        uint32_t b = p->block[n];
        // Without compaction, what a block calls itself is a child of it.
        bool itself = p->parent[n] && p->block[p->parent[n]] == b;
        if (is_sampled) {
            see_again(p, b, ++standing[b], itself, &rows[b], &turned[b]);
            continue;
        }
        count_entries(&rows[b], ++standing[b], calls[n], recursions[n],
                      itself   ? calls[n]
                      : direct ? direct[n]
                               : 0);
        turns += recursions[n] > 0;
        turned[b] |= recursions[n] > 0 || (turns && standing[b] > 1);
    }
}

static bool is_known(const profile *p, uint32_t b) {
    static const char *const names[] = {"[unknown]", "[pruned]", "[lost]", "[truncated]",
                                        "(truncated)"};
    bool known = true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        known &= strcmp(ouro__block_name(p, b), names[i]) != 0;
    return known;
}

static recursion finished(const profile *p, uint32_t b, recursion counted, bool turned) {
    recursion r = b < p->recursed_room ? p->recursed[b] : (recursion){0};
    r.direct += counted.direct;
    r.through += counted.through;
    if (counted.deepest > r.deepest) r.deepest = counted.deepest;
    if (turned) r.deepest = 0;
    return ouro__recurses(&r) && is_known(p, b) ? r : (recursion){0};
}

bool ouro__tell_recursion(const profile *p, profile *to, const uint32_t *block_of) {
    recursion *rows = ouro__recursion(p);
    bool ok = rows && ouro__profile_add_recursed(to, rows, p->block_count, block_of);
    to->recursion_told = true;
    free(rows);
    return ok;
}

bool ouro__retell_recursion(const profile *p, profile *to) {
    if (to->recursed_room) memset(to->recursed, 0, to->recursed_room * sizeof *to->recursed);
    return ouro__tell_recursion(p, to, NULL);
}

recursion *ouro__recursion(const profile *p) {
    size_t count = (size_t)p->block_count + 1;
    recursion *rows = calloc(count, sizeof *rows);
    uint32_t *standing = calloc(count, sizeof *standing);
    uint8_t *turned = calloc(count, 1);
    bool ok = rows && standing && turned;
    if (ok && ouro__counts_calls(p) && !p->recursion_told) count_nodes(p, standing, rows, turned);
    for (uint32_t b = 0; ok && b < p->block_count; b++)
        rows[b] = finished(p, b, rows[b], turned[b]);
    free(standing);
    free(turned);
    if (ok) return rows;
    free(rows);
    return NULL;
}
