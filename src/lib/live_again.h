// SPDX-License-Identifier: MIT
//
// Where the counters of a live file are and which rows they belong to, so that a file whose paths
// are still the same is read again without looking at its tree.

#ifndef OURO_LIVE_AGAIN_H
#define OURO_LIVE_AGAIN_H

#include "live_format.h"
#include "live_read.h"

typedef struct {
    uint64_t data; // offset in the file
    uint32_t first, count;
} ouro__again_part;

typedef struct {
    uint64_t data, bytes;
} ouro__again_slab;

// A lane as it was read: `used` nodes, then their accounts.
typedef struct {
    uint64_t state_offset;
    uint32_t sequence, used;
    ouro__again_part *parts;
    size_t part_count;
    ouro__again_slab *slabs; // of what call sites count
    size_t slab_count;
    uint32_t *block; // 0: a hole
    uint32_t *place; // the row
    char *baseline;  // records as in the file; NULL: they have counted from zero
} ouro__again_lane;

struct ouro__live_again {
    live_header header;
    ouro__again_lane *lanes;
    uint32_t lane_count;
};

void ouro__live_again_free(struct ouro__live_again *again);

#endif
