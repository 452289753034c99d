// SPDX-License-Identifier: MIT
//
// A lane: address space for a tree, its root and its [lost] node. Lanes live as long as the
// profile; one whose threads have all been freed is given to the next that asks.

#include "memo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

// Every node has a memo from the start: entering OURO_PHANTOM. So there is no empty memo to
// check for.
void ouro__node_forget_memo(ouro__lane *lane, ouro_position position) {
    ouro_node_ *node = node_at(lane, position);
    node->memo_block = OURO_PHANTOM;
    node->memo_slot = position + ENTRY_PHANTOM;
    node->memo_target = position;
}

// The block comes last: a reader of the live file takes a node for real when it has one.
void ouro__node_init(ouro__lane *lane, ouro_position position, ouro_position parent,
                     ouro_block block) {
    ouro_node_ *node = node_at(lane, position);
    ouro__strays_move(lane, position); // leaves zeros
    counter_store(&node->balance, 0);
    ouro__node_forget_memo(lane, position);
    node->parent = parent;
    __atomic_store_n(&node->block, block, __ATOMIC_RELEASE);
}

void ouro__account_open(ouro__lane *lane, ouro_position account) {
    if (node_at(lane, account)->block == OURO_PRUNED) return;
    ouro__node_init(lane, account, account - lane->account_offset, OURO_PRUNED);
    lane->has_accounts = true;
}

static bool lane_map(ouro__lane *lane) {
    size_t capacity = lane->profile->capacity;
    size_t words = capacity * 2 * lane->stride;
    size_t bytes = words * sizeof(uint64_t) + words / 4 * sizeof *lane->heres +
                   capacity * (sizeof *lane->steps + sizeof *lane->back_target);
    void *region = lane->profile->space ? ouro__space_map(lane->profile->space, false)
                                        : mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (region == MAP_FAILED || !region) return false;
    lane->nodes = region;
    lane->heres = (ouro_here **)(void *)(lane->nodes + words);
    lane->steps = (uint32_t *)(void *)(lane->heres + words / 4);
    lane->back_target = (bool *)(void *)(lane->steps + capacity);
    lane->region_bytes = bytes;
    // Untouched nodes and accounts must not cost a huge page each.
    if (!lane->profile->space) madvise(region, bytes, MADV_NOHUGEPAGE);
    return true;
}

void ouro__lane_free(ouro__lane *lane) {
    if (!lane) return;
    struct ouro__space *space = lane->profile->space;
    if (lane->nodes && space) ouro__space_unmap(space, lane->nodes);
    if (lane->nodes && !space) munmap(lane->nodes, lane->region_bytes);
    ouro__baseline_free(lane);
    ouro__slices_free(lane);
    free(lane->memo.entries);
    free(lane->own_shortcuts);
    ouro__sites_free(lane);
    free(lane->birth);
    free(lane->epochs);
    free(lane->trail);
    pthread_mutex_destroy(&lane->lock);
    free(lane);
}

static ouro__lane *lane_new(ouro_profile *profile) {
    ouro__lane *lane = calloc(1, sizeof *lane);
    if (!lane) return NULL;
    pthread_mutex_init(&lane->lock, NULL);
    lane->profile = profile;
    lane->id = profile->lane_count;
    lane->stride = profile->stride;
    lane->account_offset = profile->capacity * profile->stride;
    lane->state = &lane->own_state;
    ouro__shortcuts_off(lane);
    ouro__sites_start(lane);
    if (!lane_map(lane) || !ouro__memo_reserve(&lane->memo, lane)) {
        ouro__lane_free(lane);
        errno = ENOMEM;
        return NULL;
    }
    lane->mapped = profile->space ? ouro__space_extent(profile->space, 0) : profile->capacity;
    if (profile->live && !ouro__live_add_lane(profile->live, lane)) {
        int error = errno;
        ouro__lane_free(lane);
        errno = error;
        return NULL;
    }
    ouro__node_init(lane, ROOT_POSITION, ROOT_POSITION, ROOT_BLOCK);
    ouro__node_init(lane, lost_position(lane), ROOT_POSITION, OURO_LOST);
    __atomic_store_n(&lane->state->used, 2, __ATOMIC_RELEASE);
    lane->live = 1;
    return lane;
}

static bool lanes_reserve(ouro_profile *profile) {
    if (profile->lane_count < profile->lane_room) return true;
    uint32_t room = profile->lane_room ? profile->lane_room * 2 : 8;
    ouro__lane **lanes = realloc(profile->lanes, room * sizeof *lanes);
    if (!lanes) return false;
    profile->lanes = lanes;
    profile->lane_room = room;
    return true;
}

// A lane that no thread uses, with one thread booked on it. NULL with errno.
ouro__lane *ouro__lane_acquire(ouro_profile *profile) {
    ouro__lane *lane = NULL;
    pthread_mutex_lock(&profile->lock);
    for (uint32_t i = 0; i < profile->lane_count && !lane; i++) {
        ouro__lane *candidate = profile->lanes[i];
        pthread_mutex_lock(&candidate->lock);
        if (candidate->threads == 0) {
            candidate->threads = 1;
            lane = candidate;
        }
        pthread_mutex_unlock(&candidate->lock);
    }
    if (!lane && lanes_reserve(profile)) {
        lane = lane_new(profile);
        if (lane) {
            lane->threads = 1;
            profile->lanes[profile->lane_count] = lane;
            __atomic_store_n(&profile->lane_count, profile->lane_count + 1, __ATOMIC_RELAXED);
        }
    }
    pthread_mutex_unlock(&profile->lock);
    return lane;
}

// Accounts that are in use lie anywhere in the second half; each is counted as itself.
uint64_t ouro__lane_bytes(const ouro__lane *lane) {
    uint64_t accounts = 0;
    if (lane->has_accounts) {
        for (uint32_t i = 0; i < lane->state->used; i++)
            accounts += node_at(lane, account_of(lane, i * lane->stride))->block != 0;
    }
    uint64_t records = lane->baseline ? 2 : 1; // per node and account
    return sizeof *lane +
           records * (lane->state->used + accounts) * lane->stride * sizeof(uint64_t) +
           lane->state->used * (sizeof *lane->steps + sizeof *lane->back_target) +
           (uint64_t)lane->memo.size * sizeof(uint64_t) + ouro__shortcuts_bytes(lane) +
           ouro__sites_bytes(lane) + (lane->birth ? lane->state->used * sizeof *lane->birth : 0) +
           (lane->epochs ? (uint64_t)EPOCHS_MAX * sizeof *lane->epochs : 0) +
           (lane->trail ? 2 * LOOKBACK * sizeof *lane->trail : 0) + ouro__slices_bytes(lane);
}
