// SPDX-License-Identifier: MIT
//
// A profile as it is read: one table of rows, lanes merged by path. What visit and the pprof writer
// walk, and what the reader of live files gives.

#ifndef OURO_ROWS_H
#define OURO_ROWS_H

#include "ouro.h"

// How a node is entered: by a tree edge, by a back edge, or by a back edge to itself. `entries` of
// a node counts each kind; a row's values begin with the same counts, and its metrics follow. A
// phantom enters nothing, so it is not counted; its number only has to differ.
enum { ENTRY_TREE, ENTRY_BACK, ENTRY_DIRECT, ENTRY_KINDS, ENTRY_PHANTOM = ENTRY_KINDS };

_Static_assert(sizeof((ouro_node_ *)0)->entries == ENTRY_KINDS * sizeof(uint64_t),
               "a node counts every kind of entry");

// How a block recursed on sampled stacks.
enum { NOTED_DIRECT = 1, NOTED_THROUGH = 2 };
typedef struct {
    uint32_t deepest; // it occurred so often on one stack, at most; 0 if never twice
    uint32_t kinds;
} ouro__noted;

// The row of an image that is [lost]; row 0 is the root.
enum { LOST_ROW = 1 };

// Values per row.
static inline uint32_t ouro__row_width(uint32_t metric_count) { return ENTRY_KINDS + metric_count; }

// A lane as it stood at one moment: nodes in any order, holes among them. Row 0 is the root.
typedef struct {
    uint32_t count;
    uint32_t *block;  // 0: a hole; OURO_PRUNED: the account of its parent
    uint32_t *parent; // a row
    uint64_t *values; // ouro__row_width of them per row
    // What contexts may have lost, at most: those without a node, and each row (an index into
    // `epochs`). Weights are the calls and the metrics. NULL: nothing was pruned.
    uint16_t *birth;
    uint64_t (*epochs)[1 + OURO_METRICS_MAX];
    uint64_t bounds[1 + OURO_METRICS_MAX];
    // Where each row went when images were merged; a hole goes nowhere. NULL: nobody asked.
    uint32_t *place;
} ouro__image;

#define OURO_NO_PLACE UINT32_MAX

// Row 0 is the root. Invariant: parent[i] < i; rows are in preorder, children by block id, the
// account last.
typedef struct {
    uint32_t count;
    uint32_t metric_count;
    uint32_t *block, *parent, *depth;
    uint64_t *values;     // ouro__row_width of them per row
    uint64_t *missing;    // 1 + metric_count per row; NULL if nothing was pruned
    uint64_t *no_missing; // 1 + metric_count zeros
    uint32_t deepest;
    uint32_t unreached; // rows of the images that hang on no root: only a damaged file has any
} ouro__rows;

static inline const uint64_t *ouro__row_values(const ouro__rows *rows, uint32_t row) {
    return rows->values + (size_t)row * ouro__row_width(rows->metric_count);
}

// By the values of a row: how often it was entered, through a back edge, and by calling itself.
static inline uint64_t ouro__row_direct(const uint64_t *values) { return values[ENTRY_DIRECT]; }
static inline uint64_t ouro__row_recursions(const uint64_t *values) {
    return values[ENTRY_BACK] + values[ENTRY_DIRECT];
}
static inline uint64_t ouro__row_calls(const uint64_t *values) {
    return values[ENTRY_TREE] + ouro__row_recursions(values);
}

bool ouro__image_alloc(ouro__image *image, uint32_t count, uint32_t metric_count);
void ouro__image_free(ouro__image *image);
// Makes room for `place`, which merging fills. false: out of memory.
bool ouro__image_ask_places(ouro__image *image);

// Merges images by path. NULL with ENOMEM.
ouro__rows *ouro__rows_merge(const ouro__image *images, uint32_t n, uint32_t metric_count);
void ouro__rows_free(ouro__rows *rows);

// Visits every row; `path` has room for the deepest.
void ouro__rows_visit(const ouro__rows *rows, ouro_block *path, ouro_visitor *visitor, void *user);

// The profile as it stands now. NULL with ENOMEM.
ouro__rows *ouro__rows_of_profile(ouro_profile *profile);

#endif
