// SPDX-License-Identifier: MIT
//
// Slices: stretches of a run that the program named, as frames or requests (ouro.h says more). The
// samples of slices whose trees were kept have the labels `slice`, `slice_kind` and
// `slice_duration`, so a choice of slices is a filter by labels. What else is known of slices is
// here, per lane (OS thread) of the recording.

#ifndef OURO_SLICED_H
#define OURO_SLICED_H

#include "profile.h"

// As in ouro.h.
enum { SLICE_BUCKETS = 7424, SLICE_HEAT_COLUMNS = 128, SLICE_HEAT_ROWS = 128 };
enum { SLICE_SLOWEST = 1, SLICE_LAST = 2, SLICE_EVENLY = 4 };

typedef struct {
    uint64_t number, start, duration; // nanoseconds since the recording began
    unsigned why;                     // SLICE_SLOWEST ...
    uint64_t *totals;                 // `width` of them
    uint64_t *rest;                   // of these, what no sample has: there were too many paths
} kept_slice;

typedef struct {
    uint32_t lane;
    char *name;        // of one slice
    uint64_t by;       // what slow means: 0 = the duration, 1 + m = metric `own` + m
    uint64_t count;    // slices that ended
    uint64_t slowest;  // duration, or value of that metric
    uint64_t *outside; // recorded outside of slices
    bool is_open;      // one had begun:
    uint64_t open_start, open_duration, *open;
    uint64_t *table; // the first slices: start, duration, `width` values
    uint64_t row_count;
    uint64_t *durations, *values; // histograms: SLICE_BUCKETS each, the second NULL if by is 0
    uint32_t *heat;               // by time, then by duration
    uint64_t heat_start, heat_step;
    kept_slice *kept;
    uint32_t kept_count, kept_room;
    unsigned char *message; // what it was read from, to be written again
    size_t message_size;
} lane_slices;

typedef struct slices {
    lane_slices *lanes;
    uint32_t count, room;
    uint32_t width; // values: calls, recursions, direct, then the program's own metrics,
    uint32_t own;   // whose first column in the profile is this
    uint32_t users; // profiles that have it
} slices;

slices *ouro__slices_new(uint32_t metric_count, uint32_t own);
// An empty lane with all its arrays but the table; NULL: out of memory.
lane_slices *ouro__slices_add_lane(slices *s);
slices *ouro__slices_share(slices *s);
void ouro__slices_release(slices *s);

// Adds the slices of a part to a sum. column: of each metric of the part, in the sum; its lanes are
// numbered from `first` on. *lost: they have other metrics, and are left out. false: out of memory.
bool ouro__slices_merge(profile *sum, const profile *p, const uint32_t *column, uint32_t first,
                        bool *lost);
// The first number that no lane has.
uint32_t ouro__slices_next_lane(const profile *p);

// The smallest value of a bucket.
uint64_t ouro__bucket_least(uint32_t bucket);

// How long slices took, over all lanes, or how much of the metric they had.
typedef struct {
    uint64_t count, median, p90, p99, slowest;
    bool exact; // else within 1%
} slice_times;
bool ouro__slice_times(const slices *s, slice_times *times);
static inline uint64_t ouro__slice_weight(const lane_slices *l, uint64_t duration,
                                          const uint64_t *values) {
    return l->by ? values[2 + l->by] : duration;
}

// What slow slices do that others do not: self values by block, per slice. Slow are those of the
// kept ones that are among the slowest tenth and above the median; typical are others that were
// chosen evenly.
typedef struct {
    uint64_t slow_count, typical_count;
    uint64_t typical_charged; // of the typical ones, those that have anything of the metric
    uint32_t block_count;
    double *slow, *typical; // by block, per slice, in units of the metric
} slice_difference;
// false: out of memory. The profile needs its labels.
bool ouro__slice_difference(const profile *p, const slices *s, uint32_t m, slice_difference *d);
void ouro__slice_difference_free(slice_difference *d);

#endif
