// SPDX-License-Identifier: MIT
//
// One lane of a live file as it stood at one moment, though the program goes on meanwhile:
// live_format.h has the steps. This file finds the lane's segments, reads their bytes, and tries
// again if something changed. live_image.c makes an image of the bytes.

#include "live_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// The records of a segment's nodes, or of their accounts, to the places of these in `to`.
static bool read_part(reader *r, const lane_reader *l, const segment *s, bool accounts, char *to) {
    uint64_t bytes = r->header.node_bytes;
    if (s->first >= l->used) return true;
    uint64_t n = l->used - s->first < s->count ? l->used - s->first : s->count;
    uint64_t at = s->data + (accounts ? s->count * bytes : 0);
    return ouro__live_read_at(r, at, to + ((accounts ? l->used : 0) + s->first) * bytes, n * bytes);
}

static bool read_records(reader *r, lane_reader *l, bool accounts) {
    bool ok = true;
    for (size_t i = 0; ok && i < l->part_count; i++)
        ok = read_part(r, l, l->parts[i], accounts, l->raw);
    return ok;
}

// Nodes without a baseline have counted from zero.
static bool read_baselines(reader *r, lane_reader *l) {
    bool ok = true;
    if (l->baseline_count) memset(l->baseline, 0, 2 * (size_t)l->used * r->header.node_bytes);
    for (size_t i = 0; ok && i < l->baseline_count; i++)
        ok = read_part(r, l, l->baselines[i], false, l->baseline) &&
             read_part(r, l, l->baselines[i], true, l->baseline);
    return ok;
}

static bool read_slabs(reader *r, lane_reader *l, bool counts) {
    bool ok = true;
    for (size_t i = 0; ok && i < l->slab_count; i++)
        ok = ouro__live_slab_read(r, &l->slabs[i], counts);
    return ok;
}

static void slabs_free(lane_reader *l) {
    for (size_t i = 0; i < l->slab_count; i++) ouro__live_slab_free(&l->slabs[i]);
    free(l->slabs);
    l->slabs = NULL;
    l->slab_count = 0;
}

static lane_result read_state(reader *r, lane_reader *l) {
    if (!ouro__live_read_at(r, l->state_offset, &l->state, sizeof l->state)) return LANE_ERROR;
    l->used = l->state.used;
    if (l->used <= l->room) return LANE_READ;
    // Damage, or a segment that is newer than our list of them.
    ouro__live_fail(r, EILSEQ, l->state_offset + offsetof(ouro__lane_state, used),
                    "damaged: %u nodes of %u", l->used, l->room);
    return LANE_CHANGED;
}

static lane_result still_the_same(reader *r, const lane_reader *l) {
    uint32_t sequence;
    if (!ouro__live_read_at(r, l->state_offset, &sequence, sizeof sequence)) return LANE_ERROR;
    return sequence == l->state.sequence ? LANE_READ : LANE_CHANGED;
}

static bool raw_reserve(reader *r, lane_reader *l, size_t size) {
    if (size <= l->raw_size) return true;
    free(l->raw);
    free(l->baseline);
    free(l->seen);
    l->raw = malloc(size);
    l->baseline = malloc(size);
    l->seen = malloc(size / (2 * r->header.node_bytes));
    l->raw_size = l->raw && l->baseline && l->seen ? size : 0;
    return l->raw_size ? true : ouro__live_fail_memory(r);
}

static void mark_seen(const reader *r, lane_reader *l) {
    for (uint32_t i = 0; i < l->used; i++) l->seen[i] = live_record(r, l, i)->block != 0;
}

// Everything at once and nothing else, so that a busy writer leaves us time for it. A running
// program is read twice: one reading may find a node's block, which makes it a node, and miss what
// was written just before it. What was a node in the first reading is complete in the second.
static lane_result read_raw(reader *r, lane_reader *l) {
    lane_result result = read_state(r, l);
    if (result != LANE_READ) return result;
    size_t size = 2 * (size_t)l->used * r->header.node_bytes;
    if (!raw_reserve(r, l, size)) return LANE_ERROR;
    result = read_state(r, l);
    if (result != LANE_READ) return result;
    if (2 * (size_t)l->used * r->header.node_bytes > l->raw_size) return LANE_CHANGED;
    if (l->used == 0) return LANE_READ; // killed before it had a root
    if (!read_slabs(r, l, true) || !read_records(r, l, false)) return LANE_ERROR;
    mark_seen(r, l);
    if (l->running && !read_records(r, l, false)) return LANE_ERROR;
    if (!read_records(r, l, true) || !read_baselines(r, l) || !read_slabs(r, l, false))
        return LANE_ERROR;
    return still_the_same(r, l);
}

// A segment of nodes goes on where the one before it ends.
static bool add_part(reader *r, const segment *s, const segment **list, size_t *count,
                     uint32_t *room) {
    if (s->first != *room)
        return ouro__live_fail(r, EILSEQ, s->data, "damaged: nodes from %u on, out of order",
                               s->first);
    list[(*count)++] = s;
    *room += s->count;
    return true;
}

static bool take_part(reader *r, lane_reader *l, const segment *s) {
    if (s->kind == LIVE_LANE) l->state_offset = s->data;
    if (s->kind == LIVE_SITES) l->slabs[l->slab_count++].at = (ouro__again_slab){s->data, s->bytes};
    if (s->kind == LIVE_NODES) return add_part(r, s, l->parts, &l->part_count, &l->room);
    if (s->kind != LIVE_BASELINE) return true;
    if (!add_part(r, s, l->baselines, &l->baseline_count, &l->baseline_room)) return false;
    return l->baseline_room <= l->room ||
           ouro__live_fail(r, EILSEQ, s->data, "damaged: a baseline of nodes that are not there");
}

static bool find_parts(reader *r, lane_reader *l) {
    size_t first = l->id < r->lane_count ? r->first_of_lane[l->id] : 0, count = 0;
    for (size_t i = first; i; i = r->segments[i - 1].next) count++;
    free(l->parts);
    free(l->baselines);
    slabs_free(l);
    l->part_count = l->baseline_count = 0;
    l->room = l->baseline_room = 0;
    l->parts = calloc(count + 1, sizeof *l->parts);
    l->baselines = calloc(count + 1, sizeof *l->baselines);
    l->slabs = calloc(count + 1, sizeof *l->slabs);
    if (!l->parts || !l->baselines || !l->slabs) return ouro__live_fail_memory(r);
    for (size_t i = first; i; i = r->segments[i - 1].next) {
        if (!take_part(r, l, &r->segments[i - 1])) return false;
    }
    return l->state_offset != 0 ||
           ouro__live_fail(r, EILSEQ, 0, "damaged: lane %u has no state", l->id);
}

// In the middle of a pruning only a writer that is gone, or stands still, can be read.
static lane_result try_lane(reader *r, lane_reader *l, bool still) {
    if (!find_parts(r, l)) return LANE_ERROR;
    lane_result result = read_raw(r, l);
    if (result != LANE_READ) return result;
    if ((l->state.sequence & 1) && !still) return LANE_CHANGED;
    return ouro__live_make_image(r, l);
}

// What ouro__live_read_again needs; blocks and places follow when lanes are merged.
static bool remember_lane(reader *r, lane_reader *l) {
    ouro__again_lane *to = &r->again->lanes[l->id];
    *to = (ouro__again_lane){.state_offset = l->state_offset,
                             .sequence = l->state.sequence,
                             .used = l->used,
                             .parts = calloc(l->part_count + 1, sizeof *to->parts),
                             .part_count = l->part_count,
                             .slabs = calloc(l->slab_count + 1, sizeof *to->slabs),
                             .slab_count = l->slab_count};
    if (!to->parts || !to->slabs) return ouro__live_fail_memory(r);
    for (size_t i = 0; i < l->slab_count; i++) to->slabs[i] = l->slabs[i].at;
    for (size_t i = 0; i < l->part_count; i++)
        to->parts[i] =
            (ouro__again_part){l->parts[i]->data, l->parts[i]->first, l->parts[i]->count};
    if (l->baseline_count) {
        to->baseline = l->baseline;
        l->baseline = NULL;
    }
    return true;
}

// Of a running program: again and again, without a pause at first, until nothing changed meanwhile.
// A pruning that does not end in all that time belongs to a program that was stopped.
bool ouro__live_read_lane(reader *r, uint32_t id, bool running, ouro__image *image) {
    lane_reader l = {.id = id, .running = running};
    lane_result result = try_lane(r, &l, !running);
    for (int i = 0; i < TRIES && running && result == LANE_CHANGED; i++) {
        uint32_t sequence = l.state.sequence;
        if (i > TRIES / 2) nanosleep(&(struct timespec){0, TRY_NANOSECONDS}, NULL);
        bool stands =
            i == TRIES - 1 && still_the_same(r, &l) == LANE_READ && l.state.sequence == sequence;
        result = ouro__live_refresh(r) ? try_lane(r, &l, stands) : LANE_ERROR;
    }
    if (result == LANE_READ && r->again && !remember_lane(r, &l)) result = LANE_ERROR;
    free(l.parts);
    free(l.baselines);
    slabs_free(&l);
    free(l.raw);
    free(l.baseline);
    free(l.seen);
    *image = l.image;
    if (result == LANE_CHANGED && r->error->message[0] == '\0')
        ouro__live_fail(r, EAGAIN, 0,
                        "the program changes it faster than it can be read; try again");
    return result == LANE_READ;
}
