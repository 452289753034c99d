// SPDX-License-Identifier: MIT
//
// Callers and callees of a block, or of a sequence of blocks that call each other in a row.
//
// The sequence stands at a node if the last blocks of the node's path are the sequence. A row's
// overall is what was charged to paths that contain the longer sequence, each path once; its calls
// are the entries of the longer sequence's last block in that context, so the callers' calls add up
// to the sequence's own. Compacted direct recursion is not a node: a profile that counts it has a
// metric `direct`, and those calls are X's calls of itself.

#include "questions.h"

#include <stdlib.h>

typedef struct {
    const profile *profile;
    const int64_t *running, *calls, *direct, *recursions; // all but the first NULL if not known
    const uint32_t *sequence;
    size_t length;
    // By block, the root's at block_count.
    int64_t *in, *in_calls, *out, *out_calls;
    uint32_t *in_until, *out_until;
    uint32_t until; // of the topmost node where the sequence stands
    around *around;
} walk;

// The node above the sequence if it stands at `node`, else NO_NODE.
static uint32_t stands_at(const walk *w, uint32_t node) {
    const profile *p = w->profile;
    for (size_t i = w->length; i-- > 0; node = p->parent[node]) {
        if (node == 0 || p->block[node] != w->sequence[i]) return NO_NODE;
    }
    return node;
}

static void add(const walk *w, uint32_t node, uint32_t slot, uint32_t *until, int64_t *overall) {
    if (node < until[slot]) return;
    until[slot] = w->profile->end[node];
    overall[slot] += ouro__inclusive(w->profile, w->running, node);
}

static uint32_t slot_of(const profile *p, uint32_t node) {
    return node == 0 ? p->block_count : p->block[node];
}

static void add_occurrence(walk *w, uint32_t node, uint32_t above) {
    const profile *p = w->profile;
    uint32_t caller = slot_of(p, above);
    add(w, node, caller, w->in_until, w->in);
    if (node >= w->until) {
        w->until = p->end[node];
        w->around->overall += ouro__inclusive(p, w->running, node);
    } else {
        w->around->recursive = true;
    }
    w->around->recursive |= w->recursions && w->recursions[node] > 0;
    if (!w->calls) return;
    int64_t direct = w->direct ? w->direct[node] : 0, calls = w->calls[node] - direct;
    w->in_calls[caller] += calls;
    w->around->calls += calls;
    if (w->length > 1) return;
    w->in_calls[p->block[node]] += direct;
    w->around->calls += direct;
    w->out_calls[p->block[node]] += direct;
}

static void walk_nodes(walk *w, const int64_t *values) {
    const profile *p = w->profile;
    uint32_t last = w->sequence[w->length - 1];
    for (uint32_t n = 1; n < p->node_count; n++) {
        if (p->block[p->parent[n]] == last && p->parent[n] != 0 &&
            stands_at(w, p->parent[n]) != NO_NODE) {
            add(w, n, p->block[n], w->out_until, w->out);
            if (w->calls) w->out_calls[p->block[n]] += w->calls[n] - (w->direct ? w->direct[n] : 0);
        }
        uint32_t above = p->block[n] == last ? stands_at(w, n) : NO_NODE;
        if (above == NO_NODE) continue;
        w->around->self += values[n];
        add_occurrence(w, n, above);
    }
}

static int by_overall(const void *a, const void *b) {
    const neighbour *x = a, *y = b;
    if (x->overall != y->overall) return x->overall < y->overall ? 1 : -1;
    if (x->calls != y->calls) return x->calls < y->calls ? 1 : -1;
    return x->block < y->block ? -1 : x->block > y->block;
}

// The rows that something was found for, sorted.
static neighbour *collect(const profile *p, const int64_t *overall, const int64_t *calls,
                          const uint32_t *until, uint32_t *count) {
    uint32_t used = 0;
    for (uint32_t s = 0; s <= p->block_count; s++) used += until[s] || calls[s];
    neighbour *rows = malloc(((size_t)used + 1) * sizeof *rows);
    *count = 0;
    for (uint32_t s = 0; rows && s <= p->block_count; s++) {
        if (until[s] || calls[s])
            rows[(*count)++] =
                (neighbour){s == p->block_count ? NO_BLOCK : s, overall[s], calls[s]};
    }
    if (rows) qsort(rows, *count, sizeof *rows, by_overall);
    return rows;
}

// All rows have calls of the block `callee`; NO_BLOCK: each row has calls of its own block.
static void mark_uncounted(const profile *p, uint32_t callee, neighbour *rows, uint32_t count) {
    for (uint32_t i = 0; rows && i < count; i++) {
        if (!ouro__is_counted(p, callee == NO_BLOCK ? rows[i].block : callee))
            rows[i].calls = NOT_COUNTED;
    }
}

static const int64_t *column(const profile *p, const char *name) {
    uint32_t m = ouro__profile_find_metric(p, name);
    return m == NO_ROW ? NULL : p->values[m];
}

bool ouro__around(const profile *p, uint32_t m, const uint32_t *sequence, size_t length,
                  around *a) {
    *a = (around){0};
    size_t slots = (size_t)p->block_count + 1;
    int64_t *running = ouro__running(p, m), *sums = calloc(slots * 4, sizeof *sums);
    uint32_t *until = calloc(slots * 2, sizeof *until);
    recursion *recursed = ouro__recursion(p);
    bool ok = running && sums && until && recursed;
    if (ok) {
        if (length) a->recursion = recursed[sequence[length - 1]];
        uint32_t calls = ouro__calls_metric(p);
        walk w = {.profile = p,
                  .running = running,
                  .calls = calls == NO_ROW ? NULL : p->values[calls],
                  .direct = column(p, "direct"),
                  .recursions = column(p, "recursions"),
                  .sequence = sequence,
                  .length = length,
                  .in = sums,
                  .in_calls = sums + slots,
                  .out = sums + 2 * slots,
                  .out_calls = sums + 3 * slots,
                  .in_until = until,
                  .out_until = until + slots,
                  .around = a};
        a->total = running[p->node_count];
        a->has_calls = w.calls != NULL;
        walk_nodes(&w, p->values[m]);
        if (length == 1) a->recursive |= ouro__recurses(&a->recursion);
        a->callers = collect(p, w.in, w.in_calls, w.in_until, &a->caller_count);
        a->callees = collect(p, w.out, w.out_calls, w.out_until, &a->callee_count);
        ok = a->callers && a->callees;
        uint32_t last = length ? sequence[length - 1] : NO_BLOCK;
        if (!ouro__is_counted(p, last)) a->calls = NOT_COUNTED;
        mark_uncounted(p, last, a->callers, a->caller_count);
        mark_uncounted(p, NO_BLOCK, a->callees, a->callee_count);
    }
    free(running);
    free(sums);
    free(until);
    free(recursed);
    if (!ok) ouro__around_free(a);
    return ok;
}

void ouro__around_free(around *a) {
    free(a->callers);
    free(a->callees);
    *a = (around){0};
}
