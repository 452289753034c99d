// SPDX-License-Identifier: MIT
//
// Reads what a live file keeps of slices: slices.h is the layout, and says why a kill leaves whole
// slices. Nothing is trusted.
//
// A program that runs may end a slice at any moment. The state is read between two equal sequences,
// which is quick. All the rest is tried some times to be read between two equal sequences as well.
// A program that is faster than that is read as it goes: rows of the table never change, histograms
// may have counted a slice more than the state, and trees that were written meanwhile are left out.

#include "live_slices.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STATE_TRIES = 1000, WHOLE_TRIES = 16 };

static ouro__slices_result damaged(ouro__slices_reader *r, uint64_t offset, const char *problem) {
    r->problem = problem;
    r->offset = offset;
    return SLICES_DAMAGED;
}

static bool read_at(ouro__slices_reader *r, uint64_t offset, void *to, uint64_t bytes) {
    for (char *at = to; bytes > 0;) {
        ssize_t n = pread(r->fd, at, bytes, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            damaged(r, offset, "the file ends here; is it cut off?");
            return false;
        }
        at += n;
        offset += (uint64_t)n;
        bytes -= (uint64_t)n;
    }
    return true;
}

static const ouro__slices_segment *segment_of(const ouro__slices_reader *r, uint32_t part,
                                              uint64_t data) {
    for (size_t i = 0; i < r->segment_count; i++) {
        const ouro__slices_segment *s = &r->segments[i];
        if (s->part == part && (data == 0 || s->data == data)) return s;
    }
    return NULL;
}

typedef struct {
    slices_area *area;
    uint64_t *table;
    unsigned char *trees;
} read_parts;

static void parts_free(read_parts *p) {
    free(p->area);
    free(p->table);
    free(p->trees);
    *p = (read_parts){0};
}

// ---------------------------------------------------------------- the state

// The state that is current, read while it was: the writer changes the other one only.
static ouro__slices_result read_state(ouro__slices_reader *r, uint64_t at, slices_area *area) {
    size_t states = offsetof(slices_area, states);
    for (int i = 0; i < STATE_TRIES; i++) {
        uint64_t after;
        if (!read_at(r, at, area, states + sizeof area->states) ||
            !read_at(r, at, &after, sizeof after))
            return SLICES_DAMAGED;
        if (after == area->sequence || !r->running) return SLICES_READ;
    }
    return SLICES_CHANGED;
}

// A part that the state names must be a segment of the lane, and have room for what it should.
static ouro__slices_result check_part(ouro__slices_reader *r, const slices_part *part,
                                      uint32_t which, uint64_t at, uint64_t bytes) {
    const ouro__slices_segment *s = segment_of(r, which, part->offset);
    if (part->offset == 0 || !s) {
        damaged(r, at, "damaged: slices are in no segment");
        return SLICES_CHANGED;
    }
    if (bytes > s->bytes) return damaged(r, at, "damaged: slices do not fit into their segment");
    return SLICES_READ;
}

static ouro__slices_result check_state(ouro__slices_reader *r, const slices_area *area,
                                       const ouro__slices_segment *segment) {
    const slices_state *state = &area->states[area->sequence & 1];
    uint64_t at = segment->data;
    uint32_t width = ouro__row_width(r->metric_count);
    if (area->by > r->metric_count || area->slots == 0 || area->slots > OURO_SLICES_KEPT_MOST ||
        segment->bytes < slices_area_bytes(area->by))
        return damaged(r, at, "damaged: slices by an unknown metric, or of a wrong number");
    for (int k = 0; k < SLICE_KINDS; k++) {
        if (state->spare[k] > area->slots) return damaged(r, at, "damaged: no such spare slot");
    }
    if (state->rows > state->table.room || state->rows > state->count)
        return damaged(r, at, "damaged: more rows of slices than there is room for");
    if (state->heat > 1 || state->heat_step == 0) return damaged(r, at, "damaged: no heat map");
    if (state->trees.room == 0) return damaged(r, at, "damaged: trees without room");
    ouro__slices_result result = check_part(r, &state->table, SLICES_TABLE, at,
                                            (uint64_t)state->table.room * slices_row_bytes(width));
    if (result != SLICES_READ) return result;
    // At most 3 x 1,025 slots of 2^32 records of 96 bytes: no overflow.
    return check_part(r, &state->trees, SLICES_TREES, at,
                      slices_trees_bytes(width, area->slots, state->trees.room));
}

// ---------------------------------------------------------------- the rest

static ouro__slices_result read_rest(ouro__slices_reader *r, uint64_t at, read_parts *p) {
    slices_area *area = p->area;
    const slices_state *state = &area->states[area->sequence & 1];
    uint32_t width = ouro__row_width(r->metric_count);
    size_t head = offsetof(slices_area, heats), rows = state->rows * slices_row_bytes(width);
    size_t trees = slices_trees_bytes(width, area->slots, state->trees.room);
    p->table = malloc(rows + 1);
    p->trees = malloc(trees);
    if (!p->table || !p->trees) return SLICES_MEMORY;
    if (!read_at(r, at + head, (char *)area + head, slices_area_bytes(area->by) - head) ||
        !read_at(r, state->table.offset, p->table, rows) ||
        !read_at(r, state->trees.offset, p->trees, trees))
        return SLICES_DAMAGED;
    return SLICES_READ;
}

// Leaves out what was written while it was read.
static bool drop_changed_trees(ouro__slices_reader *r, read_parts *p) {
    const slices_state *state = &p->area->states[p->area->sequence & 1];
    size_t bytes = slices_slot_bytes(ouro__row_width(r->metric_count), state->trees.room);
    for (size_t i = 0; i < SLICE_KINDS * ((size_t)p->area->slots + 1); i++) {
        slices_slot *slot = (slices_slot *)(void *)(p->trees + i * bytes);
        uint64_t sequence;
        if (!read_at(r, state->trees.offset + i * bytes, &sequence, sizeof sequence)) return false;
        if (sequence != slot->sequence || slot->number > state->count) slot->number = 0;
    }
    return true;
}

// CHANGED: a slice ended meanwhile.
static ouro__slices_result read_parts_once(ouro__slices_reader *r,
                                           const ouro__slices_segment *segment, read_parts *p) {
    uint64_t at = segment->data, after;
    p->area = calloc(1, sizeof *p->area);
    if (!p->area) return SLICES_MEMORY;
    ouro__slices_result result = read_state(r, at, p->area);
    if (result != SLICES_READ) return result;
    const slices_state *state = &p->area->states[p->area->sequence & 1];
    if (state->count == 0 && !state->open) return SLICES_NONE;
    result = check_state(r, p->area, segment);
    if (result == SLICES_READ) result = read_rest(r, at, p);
    if (result != SLICES_READ || !r->running) return result;
    if (!read_at(r, at, &after, sizeof after)) return SLICES_DAMAGED;
    return after == p->area->sequence ? SLICES_READ : SLICES_CHANGED;
}

static ouro__slices_result read_all(ouro__slices_reader *r, read_parts *p) {
    const ouro__slices_segment *segment = segment_of(r, SLICES_AREA, 0);
    if (!segment) return SLICES_NONE;
    if (segment->bytes < slices_area_bytes(0))
        return damaged(r, segment->data, "damaged: slices without room");
    ouro__slices_result result = read_parts_once(r, segment, p);
    for (int i = 0; i < WHOLE_TRIES && result == SLICES_CHANGED && p->trees; i++) {
        parts_free(p);
        result = read_parts_once(r, segment, p);
    }
    if (result != SLICES_CHANGED || !p->trees) return result;
    return drop_changed_trees(r, p) ? SLICES_READ : SLICES_DAMAGED;
}

ouro__slices_result ouro__live_slices_read(ouro__slices_reader *r, ouro__lane_slices *to) {
    read_parts p = {0};
    ouro__slices_result result = read_all(r, &p);
    if (result == SLICES_READ) {
        slices_parts parts = {p.area, p.table, p.trees, r->lane, r->metric_count};
        const char *problem = NULL;
        if (!ouro__slices_decode(&parts, to, &problem)) {
            ouro__lane_slices_free(to);
            result =
                problem ? damaged(r, segment_of(r, SLICES_AREA, 0)->data, problem) : SLICES_MEMORY;
        }
    }
    parts_free(&p);
    return result;
}
