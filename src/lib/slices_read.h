// SPDX-License-Identifier: MIT
//
// Slices as they are read: from a profile in memory, or from a live file. What visit and the pprof
// writer walk, and what the reader of live files gives.

#ifndef OURO_SLICES_READ_H
#define OURO_SLICES_READ_H

#include "rows.h"

// Values of a slice: entries by kind, then metrics, as in a row.
enum { SLICE_VALUES = ENTRY_KINDS + OURO_METRICS_MAX };

typedef struct {
    uint64_t number, start, duration;
    uint64_t totals[SLICE_VALUES];
    uint64_t rest[SLICE_VALUES]; // of these, what is in no row
    unsigned why;                // OURO_SLICE_SLOWEST ...
    ouro__image image;           // as it was copied, until it is finished:
    ouro__rows *rows;
    uint32_t *place; // of each row, among the profile's, after ouro__slices_place; else NULL
    char text[24];   // the number, for who writes labels
} ouro__slice_tree;

// Of one lane.
typedef struct {
    uint32_t lane, by;
    char name[32];
    uint64_t count, slowest;
    uint64_t *table; // row_count rows: start, duration, values
    uint64_t row_count;
    bool is_open;
    uint64_t open_start, open_duration, open[SLICE_VALUES];
    uint64_t outside[SLICE_VALUES], ended[SLICE_VALUES];
    uint64_t heat_start, heat_step;
    uint64_t *histograms; // of durations, then of what slow means
    uint32_t *heat;
    ouro__slice_tree *trees; // by number
    uint32_t tree_count;
} ouro__lane_slices;

// Lanes that have had a slice.
typedef struct {
    ouro__lane_slices *lanes;
    uint32_t count, metric_count;
} ouro__slices_copy;

void ouro__lane_slices_free(ouro__lane_slices *slices);
void ouro__slices_copy_free(ouro__slices_copy *slices);

// For who copies: room for n lanes, each lane with its image, and at last the trees as rows. false:
// out of memory.
bool ouro__slices_copy_begin(ouro__slices_copy *slices, uint32_t n, uint32_t metric_count);
bool ouro__slices_copy_lane(ouro__slices_copy *slices, const void *lane, const ouro__image *image);
bool ouro__slices_copy_finish(ouro__slices_copy *slices);
// What the open slice has: all that the lane has recorded, but what had ended.
void ouro__slices_open(ouro__lane_slices *slices, const ouro__image *image, uint32_t metric_count);

// A profile as it stands now; false or NULL with ENOMEM, and nothing to free.
bool ouro__slices_of_profile(ouro_profile *profile, ouro__slices_copy *slices);
ouro__rows *ouro__rows_and_slices(ouro_profile *profile, ouro__slices_copy *slices);

// Adds the paths of all trees to the rows of the same profile, so that each row has at least what
// the slices have of it; see slices_rows.c. false with ENOMEM.
bool ouro__slices_place(ouro__rows **rows, ouro__slices_copy *slices);

#endif
