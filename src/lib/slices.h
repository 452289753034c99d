// SPDX-License-Identifier: MIT
//
// What is kept of the slices of a lane: in memory, or in the live file, with the same layout.
//
//   area    the state, the histograms and the heat map; one per lane, never moves
//   table   rows of 2 + width words: start, duration, values. Grows by moving to a larger table
//   trees   3 kinds x (slots + 1) slots, each a slices_slot and `room` records. Grows the same way
//   values  entries by kind, then metrics, as in a row (rows.h); `width` of them
//   record  parent, a record of the same tree (32 bits), block (32 bits), then values. Record 0 is
//           the root. A tree has what changed in the slice, and the ancestors of that
//
// One slice is one commit, so that a kill at any moment leaves whole slices. The writer prepares
// everything where no reader looks: the row behind the last row, the tree in its kind's spare slot,
// a larger table or tree in a new segment, a coarser heat map in the other one, and the state that
// is not current. Then it raises `sequence`, which makes that state current. At last it counts the
// slice in the histograms and the heat map. The state says which cells get which values, so a
// reader of what a kill left does that again.
//
// Times are in nanoseconds since the profile began, or was reset.

#ifndef OURO_SLICES_H
#define OURO_SLICES_H

#include "internal.h"
#include "slices_read.h"

enum { KIND_SLOWEST, KIND_LAST, KIND_EVENLY, SLICE_KINDS };
enum { SLICES_AREA, SLICES_TABLE, SLICES_TREES }; // segment.first, in the live file
enum { SLICE_CELLS = 3, HEAT_CELLS = OURO_SLICE_HEAT_COLUMNS * OURO_SLICE_HEAT_ROWS };
#define NO_CELL UINT32_MAX

typedef struct {
    uint64_t offset; // of its data in the live file; 0: in memory
    uint32_t room;   // rows of the table, or records of each tree
    uint32_t reserved;
} slices_part;

// Histogram h's bucket b is cell h * OURO_SLICE_BUCKETS + b; the heat map's cells come behind.
typedef struct {
    uint32_t cell, reserved;
    uint64_t value;
} slices_cell;

typedef struct {
    uint64_t count;
    uint64_t open;  // 1: a slice has begun,
    uint64_t began; // at this time
    uint64_t first; // start of the first slice, and of the heat map
    uint64_t slowest;
    uint64_t outside[SLICE_VALUES]; // recorded outside of slices,
    uint64_t ended[SLICE_VALUES];   // and up to the last call of ouro_slice: slices and outside
    uint64_t rows;                  // of the table
    uint64_t heat_step;
    uint64_t random;
    uint32_t heat; // which heat map is current
    uint32_t spare[SLICE_KINDS];
    slices_part table, trees;
    slices_cell cells[SLICE_CELLS];
} slices_state;

typedef struct {
    uint64_t sequence; // states[sequence & 1] is current
    uint32_t by;       // 0: duration, 1 + m: metric m
    uint32_t slots;    // trees that are kept of each kind
    char name[SLICE_NAME_BYTES];
    slices_state states[2];
    uint32_t heats[2][HEAT_CELLS];
    // Of durations; of the values of `by`, which is there only if that is a metric.
    uint64_t histograms[2][OURO_SLICE_BUCKETS];
} slices_area;

typedef struct {
    uint64_t sequence; // odd: it is being written
    uint64_t number;   // of the slice; 0: none
    uint64_t start, duration;
    uint64_t count;                // of records
    uint64_t totals[SLICE_VALUES]; // of the slice,
    uint64_t rest[SLICE_VALUES];   // of which so much is in no record
} slices_slot;

typedef struct {
    uint32_t parent, block;
    uint64_t values[]; // `width` of them
} slices_record;

// The bytes up to the end of the last histogram that is there.
static inline size_t slices_area_bytes(uint32_t by) {
    return sizeof(slices_area) - (by ? 0 : sizeof((slices_area *)0)->histograms[1]);
}
static inline size_t slices_row_bytes(uint32_t width) { return (2 + width) * sizeof(uint64_t); }
static inline size_t slices_record_bytes(uint32_t width) {
    return sizeof(slices_record) + width * sizeof(uint64_t);
}
static inline size_t slices_slot_bytes(uint32_t width, uint32_t room) {
    return sizeof(slices_slot) + room * slices_record_bytes(width);
}
static inline size_t slices_trees_bytes(uint32_t width, uint32_t slots, uint32_t room) {
    return SLICE_KINDS * ((size_t)slots + 1) * slices_slot_bytes(width, room);
}

// The writer's side.
struct ouro__slices {
    uint32_t width;
    bool ready;        // all that follows is there
    slices_area *area; // NULL, as all that follow: not yet
    uint64_t *table;
    unsigned char *trees;
    size_t table_bytes, trees_bytes;
    bool area_mapped, table_mapped, trees_mapped; // our own memory, not the live file's
    uint32_t room_most;                           // records of a tree
    // Address space for the whole cap, of which only what is used is touched.
    void *region;
    size_t region_bytes;
    uint64_t *before;       // the counters at the last call, `width` per node, then per account
    uint32_t *mark;         // by node: its record + 1; 0: none. All zero between two calls
    uint32_t *where;        // by record: its node
    unsigned char *records; // of the slice that ends
    uint32_t record_count;
    // Of the slots: what tells which is the next to go.
    uint64_t *keys; // SLICE_KINDS * (slots + 1)
    // For trees that are too large.
    uint32_t *fit;
    uint64_t *fit_weights;
    uint32_t fit_room;
};

// A slice that has ended.
typedef struct {
    uint64_t number, start, duration;
    uint64_t totals[SLICE_VALUES];
    uint64_t rest[SLICE_VALUES];
} slices_ended;

static inline slices_record *slices_record_at(unsigned char *records, uint32_t width, uint32_t i) {
    return (slices_record *)(void *)(records + i * slices_record_bytes(width));
}
static inline uint64_t slices_weight(uint32_t by, uint64_t duration, const uint64_t *totals) {
    return by ? totals[ENTRY_KINDS + by - 1] : duration;
}
uint32_t ouro__slice_bucket(uint64_t value);

// slices_keep.c
void *ouro__slices_memory(ouro__lane *lane, uint32_t part, size_t bytes, uint64_t *offset,
                          bool *mapped);
void ouro__slices_keep(ouro__lane *lane, slices_state *next, slices_ended *ended);

// slices_read.c: the parts as they stand at one moment, in memory or read from a live file.
typedef struct {
    const slices_area *area;
    const uint64_t *table;
    const unsigned char *trees;
    uint32_t lane, metric_count;
} slices_parts;
// false: out of memory, or *damaged says which tree makes no sense; `to` is good for freeing.
bool ouro__slices_decode(const slices_parts *parts, ouro__lane_slices *to, const char **damaged);

#endif
