// SPDX-License-Identifier: MIT
//
// The reader of live files, inside: what its files share. live_read.c reads a whole file; the
// others are its steps, and stand here in their order. A step that fails has filled the error.

#ifndef OURO_LIVE_READER_H
#define OURO_LIVE_READER_H

#include "live_again.h"

// Fuzz targets change files that say that they are written now, and do not wait.
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
enum { TRIES = 3, TRY_NANOSECONDS = 1 };
#else
enum { TRIES = 1000, TRY_NANOSECONDS = 2 * 1000 * 1000 };
#endif

// Where errors are: the offset of a member of the header in the file.
#define HEADER(member) offsetof(live_header, member)

typedef struct {
    uint64_t data; // offset in the file
    uint64_t bytes;
    uint32_t kind, lane, first;
    uint32_t count; // of nodes
    size_t next;    // 1 + the next segment of the same lane; 0: none
} segment;

typedef struct {
    int fd;
    uint64_t size; // of the file
    live_header header;
    segment *segments;
    size_t segment_count;
    size_t *first_of_lane; // 1 + its first segment; 0: it has none
    uint32_t lane_count;
    uint32_t stride;                // words per node
    uint32_t resets;                // header.resets as it was before the lanes were read
    struct ouro__live_again *again; // NULL: nobody will read it again
    ouro__live_error *error;
} reader;

// live_file.c: errors, bytes, the header and the list of segments.
// Fills the error, and returns false for the caller to return.
__attribute__((format(printf, 4, 5))) bool ouro__live_fail(reader *r, int code, uint64_t offset,
                                                           const char *format, ...);
bool ouro__live_fail_memory(reader *r);
bool ouro__live_read_at(reader *r, uint64_t offset, void *to, uint64_t bytes);
// The header and the segments as they are now: a running program adds segments and blocks.
bool ouro__live_refresh(reader *r);

// live_lane.c: one lane as it stood at one moment. `running`: the program may change it meanwhile.
bool ouro__live_read_lane(reader *r, uint32_t id, bool running, ouro__image *image);

// A slab of what call sites count: the first reading, then the second.
typedef struct {
    ouro__again_slab at;
    char *counts;
    uint64_t counted; // cells
    char *cells;
    uint64_t used;
} ouro__live_slab;

// A lane that is being read, for live_lane.c and live_image.c.
typedef struct {
    uint32_t id;
    uint64_t state_offset;
    ouro__lane_state state;
    uint32_t used;
    const segment **parts; // NODES segments, each from where the one before it ends
    size_t part_count;
    const segment **baselines; // BASELINE segments, the same way: of the first nodes
    size_t baseline_count;
    uint32_t room, baseline_room; // nodes in them
    ouro__live_slab *slabs;       // SITES segments
    size_t slab_count;
    bool running;
    char *raw;      // the nodes and then the accounts, as in the file
    char *baseline; // the same of their baselines
    size_t raw_size;
    // By node: in use when it was read the first time; later: belongs to the tree.
    unsigned char *seen;
    ouro__image image; // nodes 0 .. used-1, then their accounts
} lane_reader;

// READ: done. CHANGED: it changed meanwhile, or does not hang together. ERROR: it will not go away.
typedef enum { LANE_ERROR, LANE_CHANGED, LANE_READ } lane_result;

// Row `row` of what was read: a node, or behind all nodes an account.
static inline const ouro_node_ *live_record(const reader *r, const lane_reader *l, uint32_t row) {
    return (const ouro_node_ *)(const void *)(l->raw + (size_t)row * r->header.node_bytes);
}

// live_sites.c: what call sites have counted.
bool ouro__live_slab_read(reader *r, ouro__live_slab *slab, bool counts); // or the second time
void ouro__live_slab_free(ouro__live_slab *slab);
typedef struct {
    uint32_t stride;
    const ouro__lane_state *state; // NULL: no fold was cut short
    void (*gain)(void *user, uint32_t row, uint32_t value, uint64_t n);
    void *user;
} ouro__gains_to;
// false: something cannot be, at *damaged.
bool ouro__live_gains(const ouro__gains_to *to, const ouro__live_slab *slab, uint64_t *damaged);

// live_image.c: makes l->image of the bytes, and checks it.
lane_result ouro__live_make_image(reader *r, lane_reader *l);

// live_texts.c: metrics, program and blocks. After the lanes, whose nodes name the blocks.
bool ouro__live_read_texts(reader *r, ouro__live_profile *p);

#endif
