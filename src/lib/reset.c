// SPDX-License-Identifier: MIT
//
// Counting again from zero, while others record. A counter has one writer, which adds to it without
// an atomic instruction, so another thread cannot set it to zero. Instead the lane's baseline keeps
// its value, and readers subtract that (since_reset). The counters themselves go on, and still tell
// what is open.
//
// The baseline has the layout of the nodes, so that the address of a counter tells where its
// baseline is. With a live file it stands in the file; live_format.h says what a reader makes of a
// reset that is under way or was cut short.

#include "noted.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static size_t baseline_bytes(const ouro__lane *lane) {
    return 2 * (size_t)lane->account_offset * sizeof(uint64_t);
}

static bool baseline_reserve(ouro__lane *lane) {
    if (!lane->baseline) {
        struct ouro__space *space = lane->profile->space;
        void *region = space ? ouro__space_map(space, true)
                             : mmap(NULL, baseline_bytes(lane), PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (region == MAP_FAILED || !region) {
            errno = ENOMEM;
            return false;
        }
        lane->baseline = region;
        if (!space) madvise(region, baseline_bytes(lane), MADV_NOHUGEPAGE);
    }
    return ouro__live_grow_baseline(lane->profile->live, lane);
}

void ouro__baseline_free(ouro__lane *lane) {
    struct ouro__space *space = lane->profile->space;
    if (lane->baseline && space) ouro__space_unmap(space, lane->baseline);
    if (lane->baseline && !space) munmap(lane->baseline, baseline_bytes(lane));
}

// For a node that is used anew: its counters have begun at zero.
void ouro__baseline_forget(ouro__lane *lane, ouro_position position) {
    uint64_t *words = lane->baseline + position;
    for (uint32_t i = 0; i < lane->stride; i++) {
        if (words[i]) counter_store(&words[i], 0); // pages that were never written stay untouched
    }
}

// A reader of the live file that sees the new value sees that the reset has begun.
static void counter_reset(ouro__lane *lane, const uint64_t *counter) {
    uint64_t *baseline = lane->baseline + (counter - lane->nodes);
    uint64_t value = counter_load(counter);
    // Pages that were never written stay untouched.
    if (counter_load(baseline) != value) __atomic_store_n(baseline, value, __ATOMIC_RELEASE);
}

void ouro__node_reset(ouro__lane *lane, ouro_position position) {
    const ouro_node_ *node = node_at(lane, position);
    for (int i = 0; i < ENTRY_KINDS; i++) counter_reset(lane, &node->entries[i]);
    for (uint32_t m = 0; m < lane->profile->metric_count; m++)
        counter_reset(lane, &node->metrics[m]);
}

// What call sites have counted and nodes do not have is subtracted, too.
static void gain_reset(void *user, ouro_position position, uint32_t value, uint64_t n) {
    const ouro__lane *lane = user;
    uint64_t *baseline = lane->baseline + position + value_word(value);
    if (value < ENTRY_KINDS + lane->profile->metric_count)
        __atomic_store_n(baseline, counter_load(baseline) + n, __ATOMIC_RELEASE);
}

// Nothing has been pruned from now on, so no context can have lost anything.
static void cap_reset(ouro__lane *lane) {
    lane->evicted = 0;
    memset(lane->folded, 0, sizeof lane->folded);
    if (lane->epoch_count) {
        lane->epoch_count = 1;
        lane->epochs[0] = (ouro__epoch){{0}, {0}};
    }
    if (lane->birth) memset(lane->birth, 0, lane->state->used * sizeof *lane->birth);
}

static void reset_if_used(ouro__lane *lane, ouro_position position) {
    if (node_at(lane, position)->block) ouro__node_reset(lane, position);
}

static void lane_reset(ouro__lane *lane, uint32_t strays_end) {
    for (uint32_t i = 0; i < lane->state->used; i++) {
        reset_if_used(lane, i * lane->stride);
        if (lane->has_accounts) reset_if_used(lane, account_of(lane, i * lane->stride));
    }
    ouro__strays_reset(lane, strays_end);
    ouro__sites_visit(lane, gain_reset, lane);
    ouro__slices_reset(lane);
    cap_reset(lane);
}

// All lanes at once, so that no lane grows between the reservation and the reset.
static void lock_lanes(ouro_profile *profile, bool lock) {
    for (uint32_t i = 0; i < profile->lane_count; i++) {
        if (lock) {
            pthread_mutex_lock(&profile->lanes[i]->lock);
        } else {
            pthread_mutex_unlock(&profile->lanes[i]->lock);
        }
    }
}

int ouro_profile_reset(ouro_profile *profile) {
    if (!profile) return 0;
    bool ok = true;
    pthread_mutex_lock(&profile->lock);
    lock_lanes(profile, true);
    for (uint32_t i = 0; ok && i < profile->lane_count; i++)
        ok = baseline_reserve(profile->lanes[i]);
    int error = errno;
    if (ok) {
        counter_store(&profile->start_time, ouro__now(CLOCK_REALTIME));
        counter_store(&profile->start_clock, ouro__now(CLOCK_MONOTONIC));
        ouro__live_reset(profile->live, profile->start_time, true);
        uint32_t strays_end = ouro__strays_end(profile);
        for (uint32_t i = 0; i < profile->lane_count; i++)
            lane_reset(profile->lanes[i], strays_end);
        ouro__noted_reset(profile);
        ouro__live_reset(profile->live, profile->start_time, false);
    }
    lock_lanes(profile, false);
    pthread_mutex_unlock(&profile->lock);
    if (!ok) errno = error;
    return ok ? 0 : -1;
}
