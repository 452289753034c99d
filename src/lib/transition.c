// SPDX-License-Identifier: MIT
//
// What enter and replace do when the node's own memo does not fit. Three tries, each slower than
// the one before, each ending in a tail call of the next, so that none pays for the registers that
// the next one needs:
//
//   shortcut   the lane's table of transitions that were taken lately
//   search     the lane's table of all transitions, unless another lane asks for room
//   new        under the lane's lock: tree.c
//
// `leave` is replace: the node is left as well, but only when the transition is found, so that it
// is open meanwhile and cannot be pruned.
//
// A call site that does not know the transition goes the same way, without the memo, and learns it.

#include "memo.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))
#define NOT_INLINE __attribute__((noinline))

static ALWAYS_INLINE void go(ouro_thread *thread, ouro_node_ *node, uint32_t slot, bool leave) {
    if (leave) ouro_decrement_(&node->balance);
    ouro_increment_(&thread->nodes_[slot]);
    ouro_move_(thread, slot_position(slot));
}

// Relaxed atomics only to keep the compiler from collecting the three in a vector register first.
static ALWAYS_INLINE void memo_set(ouro_node_ *node, ouro_block block, uint32_t slot) {
    __atomic_store_n(&node->memo_block, block, __ATOMIC_RELAXED);
    __atomic_store_n(&node->memo_slot, slot, __ATOMIC_RELAXED);
    __atomic_store_n(&node->memo_target, slot_position(slot), __ATOMIC_RELAXED);
}

// A transition that leaves the tree for want of room is not remembered: the next time there may
// be room.
static bool stays_in_tree(const ouro__lane *lane, ouro_position from, uint32_t slot) {
    ouro_position to = slot_position(slot);
    bool leaves = to != from && (is_account(lane, to) || to == lost_position(lane));
    return !leaves && node_at(lane, from)->block != 0;
}

static ALWAYS_INLINE void go_new(ouro_thread *thread, ouro_block block, bool leave) {
    ouro__lane *lane = lane_of(thread);
    ouro_position from = thread->position_;
    ouro_node_ *node = node_at(lane, from);
    uint32_t slot = ouro__transition_find(lane, from, block);
    if (stays_in_tree(lane, from, slot)) memo_set(node, block, slot);
    go(thread, node, slot, leave);
}

static NOT_INLINE void enter_new(ouro_thread *thread, ouro_block block) {
    go_new(thread, block, false);
}
static NOT_INLINE void replace_new(ouro_thread *thread, ouro_block block) {
    go_new(thread, block, true);
}

static ALWAYS_INLINE bool search(ouro_thread *thread, ouro_block block, bool leave) {
    ouro_position from = thread->position_;
    if (atomic_load_explicit(&lane_of(thread)->asked, memory_order_relaxed)) return false;
    uint32_t slot = ouro__memo_find(lane_of(thread), from, block);
    if (slot == 0) return false;
    ouro__shortcut_put(lane_of(thread), from, block, slot);
    ouro_node_ *node = ouro_node_at_(thread, from);
    memo_set(node, block, slot);
    go(thread, node, slot, leave);
    return true;
}

static NOT_INLINE void enter_search(ouro_thread *thread, ouro_block block) {
    if (!search(thread, block, false)) enter_new(thread, block);
}

static NOT_INLINE void replace_search(ouro_thread *thread, ouro_block block) {
    if (!search(thread, block, true)) replace_new(thread, block);
}

static ALWAYS_INLINE bool shortcut(ouro_thread *thread, ouro_block block, bool leave) {
    ouro_position from = thread->position_;
    uint32_t slot;
    if (!ouro_shortcut_(thread, from, block, &slot)) return false;
    ouro_node_ *node = ouro_node_at_(thread, from);
    go(thread, node, slot, leave);
    memo_set(node, block, slot);
    return true;
}

void ouro_enter_miss_(ouro_thread *thread, ouro_block block) {
    if (!shortcut(thread, block, false)) enter_search(thread, block);
}

void ouro_replace_miss_(ouro_thread *thread, ouro_block block) {
    if (!shortcut(thread, block, true)) replace_search(thread, block);
}

// The way that an enter takes, if it is known; 0 if not.
static uint32_t known(ouro_thread *thread, ouro_block block) {
    const ouro_node_ *node = ouro_node_at_(thread, thread->position_);
    if (node->memo_block == block) return node->memo_slot;
    if (atomic_load_explicit(&lane_of(thread)->asked, memory_order_relaxed)) return 0;
    return ouro__memo_find(lane_of(thread), thread->position_, block);
}

// What is entered as a phantom is open and counts no call.
static void open_again(ouro_thread *thread, uint32_t slot) {
    ouro_position target = slot_position(slot);
    ouro_increment_(&ouro_node_at_(thread, target)->balance);
    ouro_move_(thread, target);
}

ouro_position ouro_reenter(ouro_thread *thread, ouro_block block) {
    if (!thread) return 0;
    ouro_position caller = thread->position_;
    uint32_t slot = known(thread, block);
    if (!slot) slot = ouro__transition_find(lane_of(thread), caller, block);
    open_again(thread, slot);
    return caller;
}

bool ouro_try_reenter(ouro_thread *thread, ouro_block block) {
    if (!thread) return false;
    uint32_t slot = known(thread, block);
    if (!slot) slot = ouro__transition_try(lane_of(thread), thread->position_, block);
    if (slot) open_again(thread, slot);
    return slot;
}

static uint32_t find_any(ouro__lane *lane, ouro_thread *thread, ouro_position from,
                         ouro_block block) {
    uint32_t slot;
    if (ouro_shortcut_(thread, from, block, &slot)) return slot;
    bool asked = atomic_load_explicit(&lane->asked, memory_order_relaxed);
    slot = asked ? 0 : ouro__memo_find(lane, from, block);
    if (!slot) return ouro__transition_find(lane, from, block);
    ouro__shortcut_put(lane, from, block, slot);
    return slot;
}

// The node's memo is for hosts that do not know their sites.
ouro_here *ouro_site_search(ouro_thread *thread, ouro_here *here, ouro_site site, ouro_key key,
                            ouro_block block) {
    ouro__lane *lane = lane_of(thread);
    if (key != block) ouro__key_check(lane, key, block);
    ouro_position from = ouro_here_position(thread, here);
    ouro_move_(thread, from); // so that it is not pruned
    uint32_t slot = find_any(lane, thread, from, block);
    ouro_here *to = ouro__here_of(lane, slot_position(slot));
    if (!to) {
        slot = lost_position(lane);
        to = ouro__here_lost(lane);
    }
    // A `here` of another lane, or of a node that was evicted, learns nothing.
    if (*ouro__here_at(lane, from) == here && stays_in_tree(lane, from, slot))
        ouro__site_put(thread, here, site, key, slot, to);
    ouro_increment_(&lane->nodes[slot]);
    return to;
}

// What a site means is for who follows it, so here it must not mean more than the call.
ouro_here *ouro_site_miss_(ouro_thread *thread, ouro_here *here, ouro_site site, ouro_key key,
                           ouro_block block) {
    const ouro_here *found = ouro_site_find(here, site, key);
    if (found && !found->known[0].means) return ouro_site_follow(found, 0);
    ouro_here *to = ouro_site_recall(thread, here, key);
    return to ? to : ouro_site_search(thread, here, site, key, block);
}
