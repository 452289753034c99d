// SPDX-License-Identifier: MIT
//
// Growing the tree: a transition that was never taken. Under the lane's lock, the compaction
// rule is asked, and a back edge or a new node is the answer. Where there is no room for a node,
// the thread goes to the [pruned] account of the node where it stands; where there is no memory,
// to [lost].

#include "memo.h"

#include <stdlib.h>

static bool has_place(const ouro__lane *lane) {
    return lane->free_list || lane->state->used < lane->mapped;
}

// Is there a place for a node? false: the lane has what it can have, or there is no space for more,
// in its live file or in its address space.
bool ouro__place_ready(ouro__lane *lane) {
    const ouro_profile *profile = lane->profile;
    uint32_t used = lane->state->used;
    if (has_place(lane)) return true;
    if (used >= profile->capacity) return false;
    if (profile->space && ouro__space_extent(profile->space, used + 1) <= used) return false;
    if (profile->live) return ouro__live_grow_lane(profile->live, lane);
    lane->mapped = ouro__space_extent(profile->space, 0);
    return true;
}

// A node's place, which is ready: one that was evicted, or the next one never used.
static ouro_position place_take(ouro__lane *lane) {
    ouro_position position = lane->free_list;
    assert(position || lane->state->used < lane->mapped);
    if (!position) return lane->state->used * lane->stride;
    lane->free_list = node_at(lane, position)->parent;
    return position;
}

// Adds a child with its tree edge. Returns its position, the account of `from` if the cap leaves no
// room, or [lost] if there is no memory.
ouro_position ouro__child_add(ouro__lane *lane, ouro_position from, ouro_block block,
                              uint32_t steps) {
    assert(!is_account(lane, from) && node_at(lane, from)->block);
    if (!ouro__memo_reserve(&lane->memo, lane)) return lost_position(lane);
    if (!ouro__quota_take(lane, from)) {
        ouro_position account = account_of(lane, from);
        ouro__account_open(lane, account);
        return account;
    }
    ouro_position child = place_take(lane);
    ouro__node_init(lane, child, from, block);
    uint32_t index = index_of(lane, child);
    lane->steps[index] = steps;
    lane->back_target[index] = false;
    if (index == lane->state->used)
        __atomic_store_n(&lane->state->used, index + 1, __ATOMIC_RELEASE);
    if (lane->birth) lane->birth[index] = (uint16_t)(lane->epoch_count - 1);
    lane->live++;
    ouro__memo_put(&lane->memo, lane, from, child + ENTRY_TREE);
    ouro__trail_extend(lane, from, child);
    return child;
}

// A transition that was never taken. Returns its slot.
static uint32_t transition_add(ouro__lane *lane, ouro_position from, ouro_block block) {
    uint32_t steps;
    ouro_position back = ouro__compact(lane, from, block, &steps);
    if (!back) return ouro__child_add(lane, from, block, steps) + ENTRY_TREE;
    uint32_t slot = back + (back == from ? ENTRY_DIRECT : ENTRY_BACK);
    if (back != from) lane->back_target[index_of(lane, back)] = true;
    // Without memory for the memo it is found again the next time.
    if (ouro__memo_reserve(&lane->memo, lane)) ouro__memo_put(&lane->memo, lane, from, slot);
    return slot;
}

// A transition that was not found in the memos: its slot.
uint32_t ouro__transition_find(ouro__lane *lane, ouro_position from, ouro_block block) {
    if (block == OURO_PHANTOM) return from + ENTRY_PHANTOM;
    if (block < FIRST_USER_BLOCK || !ouro__block_exists(lane->profile, block)) {
        MISUSE("a block that does not exist");
        return lost_position(lane);
    }
    if (node_at(lane, from)->block == 0) {
        MISUSE("a position that is not in use: a token of another thread?");
        return lost_position(lane);
    }
    // A thread in an account or in [lost] stays there until it exits.
    if (is_account(lane, from) || from == lost_position(lane)) return from + ENTRY_TREE;
    pthread_mutex_lock(&lane->lock);
    ouro__quota_share(lane, from);
    uint32_t slot = ouro__memo_find(lane, from, block); // we may be here only to share
    if (!slot) slot = transition_add(lane, from, block);
    pthread_mutex_unlock(&lane->lock);
    return slot;
}

static bool is_in_tree(const ouro__lane *lane, ouro_position from) {
    return node_at(lane, from)->block && !is_account(lane, from) && from != lost_position(lane);
}

// The same for a signal handler, which must not allocate, wait or take long. 0: it would have to,
// or something is wrong.
uint32_t ouro__transition_try(ouro__lane *lane, ouro_position from, ouro_block block) {
    if (block < FIRST_USER_BLOCK || !ouro__block_exists(lane->profile, block)) return 0;
    if (!is_in_tree(lane, from) || lane->profile->compaction == OURO_CYCLES) return 0;
    if (pthread_mutex_trylock(&lane->lock)) return 0;
    bool easy = has_place(lane) && ouro__memo_has_room(&lane->memo) && ouro__quota_is_easy(lane);
    uint32_t slot = easy ? transition_add(lane, from, block) : 0;
    pthread_mutex_unlock(&lane->lock);
    return slot;
}

// The blocks of a path and the number of distinct steps up to each, root first.
ouro__path_step *ouro__path_copy(const ouro__lane *lane, ouro_position position, size_t *length) {
    size_t depth = 0;
    for (ouro_position p = position; p != ROOT_POSITION; p = node_at(lane, p)->parent) depth++;
    ouro__path_step *path = malloc((depth + 1) * sizeof *path);
    if (!path) return NULL;
    *length = depth;
    for (ouro_position p = position; depth > 0; p = node_at(lane, p)->parent) {
        depth--;
        uint32_t steps = is_account(lane, p) ? 0 : lane->steps[index_of(lane, p)];
        path[depth] = (ouro__path_step){node_at(lane, p)->block, steps};
    }
    return path;
}

// Finds or adds a path of another lane, without counting calls. It is canonical, so its nodes are
// added as they are. May end in an account or in [lost]. The caller holds the lane's lock.
ouro_position ouro__path_reenter(ouro__lane *lane, const ouro__path_step *path, size_t length) {
    ouro_position here = ROOT_POSITION;
    for (size_t i = 0; i < length; i++) {
        // 0 is no block: the parent stood where it should not.
        if (path[i].block == OURO_LOST || path[i].block == 0) return lost_position(lane);
        if (path[i].block == OURO_PRUNED) {
            ouro__account_open(lane, account_of(lane, here));
            return account_of(lane, here);
        }
        uint32_t slot = ouro__memo_find(lane, here, path[i].block);
        here =
            slot ? slot_position(slot) : ouro__child_add(lane, here, path[i].block, path[i].steps);
        if (is_account(lane, here) || here == lost_position(lane)) return here;
    }
    return here;
}
