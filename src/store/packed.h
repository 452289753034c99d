// SPDX-License-Identifier: MIT
//
// Samples in few bytes, for an engine that numbers its nodes. For each node with a value, in the
// order of numbers, there is the difference to the number before and the value, both as varints,
// the value in zigzag: some three bytes. A sum over millions of them is a loop, not a query.

#ifndef OURO_PACKED_H
#define OURO_PACKED_H

#include "profile.h"

typedef struct {
    unsigned char *bytes; // freed by the owner
    size_t used, room;
} packed;

// `step`: the number of the node, less that of the one before.
bool ouro__packed_put(packed *p, int64_t step, int64_t value);
// The sum of all values.
bool ouro__packed_sum(const void *bytes, size_t size, int64_t *sum, error *e);

// The nodes of a profile in the order of the engine's numbers, for all metrics.
typedef struct {
    uint32_t *nodes, *spare;
    size_t count;
} order;

// Of the nodes that are needed. false: out of memory; it is freed in any case.
bool ouro__order_make(order *o, const unsigned char *needed, const uint64_t *numbers,
                      uint32_t count);
void ouro__order_free(order *o);

// Sums by number of a node, a column per metric. Node 0 is none.
typedef struct {
    int64_t *values;
    int64_t node_count;
    size_t metric_count;
} sums;

bool ouro__sums_init(sums *s, int64_t node_count, size_t metric_count);
void ouro__sums_free(sums *s);
static inline int64_t *ouro__sums_at(const sums *s, size_t m, int64_t node) {
    return &s->values[m * (size_t)s->node_count + (size_t)node];
}
bool ouro__sums_has(const sums *s, int64_t node); // anything of the node
bool ouro__sums_add(sums *s, size_t m, const void *bytes, size_t size, error *e);
bool ouro__sums_pack(const sums *s, size_t m, packed *to, error *e);
// Leaves the values of so many nodes: of those with the largest share of a metric. What others have
// is added to `small`, by metric. *cut: there are others.
bool ouro__sums_cut(sums *s, uint32_t most, int64_t *small, bool *cut, error *e);

#endif
