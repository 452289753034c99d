// SPDX-License-Identifier: MIT
//
// Makes an image of a lane's bytes: finishes a fold or an eviction that was cut short, adds what
// call sites have counted, subtracts baselines, adds strays to [lost], and turns parents into rows.
// Numbers of the file are checked before they are indices. Bytes that contradict each other may
// have changed while they were read: then the result is LANE_CHANGED, and the error says what is
// damaged if that stays so.
//
// Reads nothing from the file, and does not try again: live_lane.c does.

#include "live_reader.h"

#include <errno.h>
#include <string.h>

// For errors: where a record stands in the file.
static uint64_t record_offset(const reader *r, const lane_reader *l, uint32_t index, bool account) {
    size_t part = 0;
    while (index - l->parts[part]->first >= l->parts[part]->count) part++;
    const segment *s = l->parts[part];
    uint64_t row = index - s->first + (account ? s->count : 0);
    return s->data + row * r->header.node_bytes;
}

static void take_record(const reader *r, lane_reader *l, uint32_t row) {
    const ouro_node_ *node = live_record(r, l, row);
    uint32_t metrics = r->header.metric_count;
    uint64_t *values = l->image.values + (size_t)row * ouro__row_width(metrics);
    l->image.block[row] = node->block;
    l->image.parent[row] = row >= l->used ? row - l->used : node->parent;
    memcpy(values, node->entries, sizeof node->entries);
    memcpy(values + ENTRY_KINDS, node->metrics, metrics * sizeof *values);
}

// A fold that was cut short is done again: ouro__live_gains leaves the entry out.
static bool finish_fold(reader *r, lane_reader *l) {
    const ouro__lane_state *s = &l->state;
    uint32_t width = ouro__row_width(r->header.metric_count), kind = s->node & 3;
    if (s->active != LANE_FOLDS) return true;
    uint32_t to = slot_position(s->node), from = s->account;
    if (to % r->stride || from % r->stride || to / r->stride >= l->used || kind >= ENTRY_KINDS)
        return ouro__live_fail(r, EILSEQ, l->state_offset + offsetof(ouro__lane_state, active),
                               "damaged: a fold at node %u", from / r->stride);
    if (s->node) l->image.values[(size_t)(to / r->stride) * width + kind] = s->entries[0];
    if (from / r->stride < l->used && width > ENTRY_KINDS)
        l->image.values[(size_t)(from / r->stride) * width + ENTRY_KINDS] = s->metrics[0];
    return true;
}

typedef struct {
    lane_reader *l;
    uint32_t width;
} image_gains;

// What came later, or stands in an account, is not taken: an account counts by itself.
static void add_gain(void *user, uint32_t row, uint32_t value, uint64_t n) {
    const image_gains *to = user;
    if (row < to->l->used && value < to->width)
        to->l->image.values[(size_t)row * to->width + value] += n;
}

static bool add_gains(reader *r, lane_reader *l) {
    image_gains into = {l, ouro__row_width(r->header.metric_count)};
    ouro__gains_to to = {r->stride, &l->state, add_gain, &into};
    uint64_t damaged = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < l->slab_count; i++)
        ok = ouro__live_gains(&to, &l->slabs[i], &damaged) ||
             ouro__live_fail(r, EILSEQ, damaged, "damaged: what a call site counts");
    return ok;
}

// An eviction that was cut short is done again.
static bool finish_eviction(reader *r, lane_reader *l) {
    const ouro__lane_state *s = &l->state;
    if (s->active != LANE_EVICTS) return true;
    uint32_t node = s->node / r->stride, account = s->account / r->stride - r->header.capacity;
    if (s->node % r->stride || s->account % r->stride || node >= l->used || account >= l->used ||
        node < 2)
        return ouro__live_fail(r, EILSEQ, l->state_offset + offsetof(ouro__lane_state, active),
                               "damaged: an eviction of node %u", node);
    uint32_t metrics = r->header.metric_count;
    uint64_t *values = l->image.values + ((size_t)l->used + account) * ouro__row_width(metrics);
    memcpy(values, s->entries, sizeof s->entries);
    memcpy(values + ENTRY_KINDS, s->metrics, metrics * sizeof *values);
    l->image.block[l->used + account] = OURO_PRUNED;
    l->image.parent[l->used + account] = account;
    l->image.block[node] = l->image.block[l->used + node] = 0;
    return true;
}

// Of value `v` of a row.
static uint64_t baseline_of(const reader *r, const lane_reader *l, uint32_t row, uint32_t v) {
    const ouro_node_ *node =
        (const ouro_node_ *)(const void *)(l->baseline + (size_t)row * r->header.node_bytes);
    if (!l->baseline_count) return 0;
    return v < ENTRY_KINDS ? node->entries[v] : node->metrics[v - ENTRY_KINDS];
}

static bool subtract(reader *r, lane_reader *l, uint32_t row, uint64_t *value, uint64_t baseline) {
    if (baseline <= *value) {
        *value -= baseline;
        return true;
    }
    bool account = row >= l->used;
    return ouro__live_fail(r, EILSEQ, record_offset(r, l, row % l->used, account),
                           "damaged: a counter is less than at the last reset");
}

// Counts since the last reset. One that was cut short is done here: all is zero.
static bool subtract_baselines(reader *r, lane_reader *l) {
    uint32_t metrics = r->header.metric_count, width = ouro__row_width(metrics);
    if (!l->baseline_count && !(r->resets & 1)) return true;
    for (uint32_t row = 0; row < 2 * l->used; row++) {
        uint64_t *values = l->image.values + (size_t)row * width;
        if (l->image.block[row] == 0) continue;
        if (r->resets & 1) memset(values, 0, width * sizeof *values);
        for (uint32_t v = 0; v < width && !(r->resets & 1); v++) {
            uint64_t less = baseline_of(r, l, row, v);
            if (!subtract(r, l, row, &values[v], less)) return false;
        }
    }
    return true;
}

// What misuse charged to places that are not in use counts as [lost]; see stray.c. Only where
// nobody writes: else a place that becomes a node just now looks the same.
static void add_strays(const reader *r, lane_reader *l) {
    uint32_t width = ouro__row_width(r->header.metric_count);
    uint32_t evicted = l->state.active == LANE_EVICTS ? l->state.node / r->stride : 0;
    uint64_t *lost = l->image.values + LOST_ROW * width;
    if (l->running || (r->resets & 1)) return;
    for (uint32_t row = 1; row < 2 * l->used; row++) {
        if (l->image.block[row] || (evicted && row % l->used == evicted)) continue;
        const uint64_t *values = l->image.values + (size_t)row * width;
        for (uint32_t v = 0; v < width; v++) {
            uint64_t less = baseline_of(r, l, row, v);
            lost[v] += values[v] > less ? values[v] - less : 0;
        }
    }
}

static bool parent_in_range(reader *r, const lane_reader *l, uint32_t i) {
    uint32_t parent = l->image.parent[i];
    if (parent % r->stride == 0 && parent / r->stride < l->used) return true;
    return ouro__live_fail(r, EILSEQ, record_offset(r, l, i, false) + offsetof(ouro_node_, parent),
                           "damaged: node %u has the parent %u", i, parent);
}

// Parents from word offsets to rows. A node's parent was a node before it: so it is complete, too,
// even if the first reading had passed its place. What came later is not taken.
static lane_result link_parents(reader *r, lane_reader *l) {
    ouro__image *image = &l->image;
    for (uint32_t i = 1; i < l->used; i++) {
        if (!l->seen[i] || image->block[i] == 0) continue;
        for (uint32_t child = i;;) {
            if (!parent_in_range(r, l, child)) return LANE_CHANGED;
            uint32_t parent = image->parent[child] / r->stride;
            if (image->block[parent] == 0) {
                ouro__live_fail(r, EILSEQ, record_offset(r, l, parent, false),
                                "damaged: node %u hangs on node %u, which is not there", child,
                                parent);
                return LANE_CHANGED;
            }
            if (l->seen[parent]) break;
            l->seen[parent] = 1;
            child = parent;
        }
    }
    for (uint32_t i = 0; i < l->used; i++) {
        if (!l->seen[i]) image->block[i] = 0;
        image->parent[i] /= r->stride;
    }
    return LANE_READ;
}

// An account is an account and a node is none. That the blocks exist is checked when all lanes
// are read.
static bool check_accounts(reader *r, const lane_reader *l) {
    for (uint32_t i = 1; i < l->image.count; i++) {
        uint32_t block = l->image.block[i];
        bool in_accounts = i >= l->used;
        if (block == 0 || (block == OURO_PRUNED) == in_accounts) continue;
        return ouro__live_fail(
            r, EILSEQ, record_offset(r, l, i % l->used, in_accounts) + offsetof(ouro_node_, block),
            "damaged: block %u of a%s", block, in_accounts ? "n account" : " node");
    }
    return true;
}

// [lost] without counts, and accounts of nodes that are not there, are holes.
static void drop_empty(const reader *r, lane_reader *l) {
    uint32_t width = ouro__row_width(r->header.metric_count);
    uint64_t any = 0;
    for (uint32_t v = 0; v < width; v++) any |= l->image.values[LOST_ROW * width + v];
    if (!any) l->image.block[LOST_ROW] = 0;
    for (uint32_t i = 0; i < l->used; i++) {
        if (l->image.block[i] == 0) l->image.block[l->used + i] = 0;
    }
}

lane_result ouro__live_make_image(reader *r, lane_reader *l) {
    if (l->used == 0) return LANE_READ;
    if (l->used < 2) {
        ouro__live_fail(r, EILSEQ, l->state_offset + offsetof(ouro__lane_state, used),
                        "damaged: %u node", l->used);
        return LANE_CHANGED;
    }
    ouro__image_free(&l->image);
    if (!ouro__image_alloc(&l->image, 2 * l->used, r->header.metric_count)) {
        ouro__live_fail_memory(r);
        return LANE_ERROR;
    }
    for (uint32_t row = 0; row < 2 * l->used; row++) take_record(r, l, row);
    if (!finish_fold(r, l) || !add_gains(r, l) || !finish_eviction(r, l) ||
        !subtract_baselines(r, l))
        return LANE_CHANGED;
    add_strays(r, l);
    lane_result linked = link_parents(r, l);
    if (linked != LANE_READ) return linked;
    if (!check_accounts(r, l)) return LANE_CHANGED;
    drop_empty(r, l);
    return LANE_READ;
}
