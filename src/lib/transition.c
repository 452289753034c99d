// SPDX-License-Identifier: MIT
//
// What enter and replace do when the node's own memo does not fit. Three ways, each slower than the
// one before, each ending in a tail call of the next, so that none pays for the registers that the
// next one needs:
//
//   shortcut   the lane's table of transitions that were taken lately
//   search     the lane's table of all transitions, unless another lane asks for room
//   new        under the lane's lock: tree.c
//
// `leave` is replace: the node is left as well, but only when the way is found, so that it is open
// meanwhile and cannot be pruned.

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

// A way that leaves the tree for want of room is not remembered: it is to be asked for again.
static ALWAYS_INLINE void go_new(ouro_thread *thread, ouro_block block, bool leave) {
    ouro__lane *lane = thread->lane_;
    ouro_position from = thread->position_;
    ouro_node_ *node = node_at(lane, from);
    uint32_t slot = ouro__transition_find(lane, from, block);
    ouro_position to = slot_position(slot);
    bool leaves_tree = to != from && (is_account(lane, to) || to == lost_position(lane));
    if (!leaves_tree && node->block != 0) memo_set(node, block, slot);
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
    if (atomic_load_explicit(&thread->lane_->asked, memory_order_relaxed)) return false;
    uint32_t slot = ouro__memo_find(thread->lane_, from, block);
    if (slot == 0) return false;
    ouro__shortcut_put(thread->lane_, from, block, slot);
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
    if (atomic_load_explicit(&thread->lane_->asked, memory_order_relaxed)) return 0;
    return ouro__memo_find(thread->lane_, thread->position_, block);
}

// What is entered as a phantom is open and counts no call.
ouro_position ouro_reenter(ouro_thread *thread, ouro_block block) {
    if (!thread) return 0;
    ouro_position caller = thread->position_;
    uint32_t slot = known(thread, block);
    if (!slot) slot = ouro__transition_find(thread->lane_, caller, block);
    ouro_position target = slot_position(slot);
    ouro_increment_(&ouro_node_at_(thread, target)->balance);
    ouro_move_(thread, target);
    return caller;
}
