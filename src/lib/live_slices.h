// SPDX-License-Identifier: MIT
//
// The slices of a lane in a live file, for live_read.c.

#ifndef OURO_LIVE_SLICES_H
#define OURO_LIVE_SLICES_H

#include "slices.h"

// A segment of the lane.
typedef struct {
    uint64_t data, bytes; // offset in the file, size
    uint32_t part;        // SLICES_AREA ...
} ouro__slices_segment;

typedef struct {
    int fd;
    const ouro__slices_segment *segments;
    size_t segment_count;
    uint32_t lane, metric_count;
    bool running;
    const char *problem; // what is damaged, or cannot be read
    uint64_t offset;     // and where
} ouro__slices_reader;

// NONE: the lane has no slices. CHANGED: a segment is not in the list, which is new or damage; of a
// program that runs, read the list again. DAMAGED: see problem and offset. MEMORY: there is none.
// `to` is filled only if it is READ.
typedef enum {
    SLICES_NONE,
    SLICES_READ,
    SLICES_CHANGED,
    SLICES_DAMAGED,
    SLICES_MEMORY
} ouro__slices_result;
ouro__slices_result ouro__live_slices_read(ouro__slices_reader *r, ouro__lane_slices *to);

#endif
