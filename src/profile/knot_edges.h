// SPDX-License-Identifier: MIT
//
// Between knots.c, which finds knots and what flows in and out, and knot_edges.c.

#ifndef OURO_KNOT_EDGES_H
#define OURO_KNOT_EDGES_H

#include "questions.h"

typedef struct {
    const profile *profile;
    const int64_t *values, *running, *calls, *direct; // the last two NULL if not known
} knot_walk;

static inline knot_walk ouro__knot_walk(const profile *p, uint32_t m, const int64_t *running) {
    uint32_t calls = ouro__calls_metric(p), direct = ouro__profile_find_metric(p, "direct");
    return (knot_walk){.profile = p,
                       .values = p->values[m],
                       .running = running,
                       .calls = calls == NO_ROW ? NULL : p->values[calls],
                       .direct = direct == NO_ROW ? NULL : p->values[direct]};
}

// Calls of a node by the block above it: what a block calls itself does not flow.
static inline int64_t ouro__calls_from_above(const knot_walk *w, uint32_t n) {
    return w->calls ? w->calls[n] - (w->direct ? w->direct[n] : 0) : 0;
}

#endif
