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

// Calls of a node by the block above it: what a block calls itself does not flow.
static inline int64_t ouro__calls_from_above(const knot_walk *w, uint32_t n) {
    return w->calls ? w->calls[n] - (w->direct ? w->direct[n] : 0) : 0;
}

// Fills the edges of all knots; knot_of[b] is the knot of block b or NO_ROW.
bool ouro__knot_edges(const knot_walk *w, const uint32_t *knot_of, knots *k);

#endif
