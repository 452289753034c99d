// SPDX-License-Identifier: MIT
//
// What misuse charges to places that are not in use. A token of another thread, or one of a node
// that was evicted meanwhile, may lead to a place where no node is, and the hot path does not look.
// The memory is there, so nothing breaks, and what is charged counts as [lost].
//
// Invariant: the counters of a place that is not in use hold strays and nothing else. An eviction
// leaves zeros behind, memory that was never used is zero. So whoever reads a lane adds these
// counters to [lost] (ouro__strays_sum), and whoever puts a node there moves them to the node
// [lost] first (ouro__strays_move). Only the OS thread of the lane may do the latter.
//
// A token of another lane is below the largest `used` of all lanes. So this is how far a reader
// looks, also behind the lane's own `used`. Pages that were never touched are skipped: mincore
// tells. It takes pages that were swapped out for such; their strays show up when the place is
// taken by a node.

#include "internal.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// Pages that one system call tells about.
enum { PAGES_AT_ONCE = 2048 };

typedef void visitor(ouro__lane *lane, ouro_position position, void *user);

typedef struct {
    ouro__lane *lane;
    ouro_position next, end; // places that are still to be looked at
    visitor *visit;
    void *user;
} walk;

// The places that begin before `to`.
static void visit_places(walk *w, uintptr_t to) {
    const ouro__lane *lane = w->lane;
    for (; w->next < w->end && (uintptr_t)(lane->nodes + w->next) < to; w->next += lane->stride)
        if (node_at(lane, w->next)->block == 0) w->visit(w->lane, w->next, w->user);
}

// Goes on at the first place that ends behind `from`.
static void skip_places(walk *w, uintptr_t from) {
    uintptr_t at = (uintptr_t)(w->lane->nodes + w->next);
    size_t bytes = w->lane->stride * sizeof(uint64_t);
    if (at + bytes <= from) w->next += (ouro_position)((from - at) / bytes * w->lane->stride);
}

// Places from `first` to `end` that are not in use, on pages that may have been touched.
static void visit_unused(ouro__lane *lane, ouro_position first, ouro_position end, visitor *visit,
                         void *user) {
    walk w = {lane, first, end, visit, user};
    unsigned char touched[PAGES_AT_ONCE];
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t at = (uintptr_t)(lane->nodes + first) & ~(uintptr_t)(page - 1);
    uintptr_t stop = (uintptr_t)(lane->nodes + end);
    while (at < stop) {
        size_t pages = (stop - at + page - 1) / page;
        if (pages > PAGES_AT_ONCE) pages = PAGES_AT_ONCE;
        if (mincore((void *)at, pages * page, touched)) memset(touched, 1, sizeof touched);
        for (size_t i = 0; i < pages; i++, at += page) {
            if (!(touched[i] & 1)) continue;
            skip_places(&w, at);
            visit_places(&w, at + page);
        }
    }
}

// The unused places of nodes `first` to `end`, and the unused accounts.
static void visit_both(ouro__lane *lane, uint32_t first, uint32_t end, visitor *visit, void *user) {
    ouro_position from = first * lane->stride, to = end * lane->stride;
    visit_unused(lane, from, to, visit, user);
    visit_unused(lane, account_of(lane, from), account_of(lane, to), visit, user);
}

static uint64_t *counter_of(ouro_node_ *node, uint32_t value) {
    return value < ENTRY_KINDS ? &node->entries[value] : &node->metrics[value - ENTRY_KINDS];
}

static void sum(ouro__lane *lane, ouro_position position, void *user) {
    uint64_t *values = user;
    ouro_node_ *node = node_at(lane, position);
    for (uint32_t v = 0; v < ouro__row_width(lane->profile->metric_count); v++)
        values[v] += since_reset(lane, counter_of(node, v));
}

// The clock's handler may add at the same time.
static uint64_t taken(uint64_t *counter) {
    return __atomic_exchange_n(counter, 0, __ATOMIC_RELAXED);
}

static bool has_strays(const ouro__lane *lane, const ouro_node_ *node) {
    uint64_t any = counter_load(&node->entries[ENTRY_TREE]) |
                   counter_load(&node->entries[ENTRY_BACK]) |
                   counter_load(&node->entries[ENTRY_DIRECT]);
    for (uint32_t m = 0; m < lane->profile->metric_count; m++)
        any |= counter_load(&node->metrics[m]);
    return any != 0;
}

static void move_counters(ouro__lane *lane, ouro_node_ *node) {
    ouro_node_ *lost = node_at(lane, lost_position(lane));
    for (uint32_t v = 0; v < ouro__row_width(lane->profile->metric_count); v++) {
        uint64_t *counter = counter_of(node, v);
        uint64_t strays = taken(counter);
        if (!strays) continue;
        if (lane->baseline) strays -= counter_load(lane->baseline + (counter - lane->nodes));
        ouro_add_(counter_of(lost, v), strays);
        if (v < ENTRY_KINDS) ouro_add_(&lost->balance, -strays);
    }
}

// Moves the strays of a place that is not in use to [lost], which is not open by them. The caller
// holds the lane's lock.
void ouro__strays_move(ouro__lane *lane, ouro_position position) {
    ouro_node_ *node = node_at(lane, position);
    if (has_strays(lane, node)) move_counters(lane, node);
    if (lane->baseline) ouro__baseline_forget(lane, position);
    if (lane->slices) ouro__slices_forget(lane, position);
}

static void move(ouro__lane *lane, ouro_position position, void *user) {
    (void)user;
    ouro__strays_move(lane, position);
}

void ouro__strays_move_all(ouro__lane *lane, uint32_t first, uint32_t end) {
    visit_both(lane, first, end, move, NULL);
}

// How far a position of any thread of the profile can lead. The caller holds the profile's lock.
uint32_t ouro__strays_end(const ouro_profile *profile) {
    uint32_t end = 0;
    for (uint32_t i = 0; i < profile->lane_count; i++) {
        uint32_t used = __atomic_load_n(&profile->lanes[i]->state->used, __ATOMIC_RELAXED);
        if (used > end) end = used;
    }
    return end;
}

// Adds the strays of a lane to the values of a row. The caller holds the lane's lock.
void ouro__strays_sum(const ouro__lane *lane, uint32_t end, uint64_t *values) {
    visit_both((ouro__lane *)lane, 0, end, sum, values);
}

static void reset(ouro__lane *lane, ouro_position position, void *user) {
    (void)user;
    ouro__node_reset(lane, position);
}

// Counts them again from zero.
void ouro__strays_reset(ouro__lane *lane, uint32_t end) { visit_both(lane, 0, end, reset, NULL); }
