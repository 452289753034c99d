// SPDX-License-Identifier: MIT
//
// What enter and replace do when the node's own memo does not fit. Three ways, each slower than the
// one before, each ending in a tail call of the next, so that none pays for the registers that the
// next one needs:
//
//   foreseen   what followed last time on the transition that was taken last
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
    ouro_node_ *node = ouro_node_at_(thread, from);
    if (node->memo_slot == node->memo_target) // a tree edge: its node can remember what followed
        ouro_node_at_(thread, node->memo_target)->next_slot = slot;
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

// Only its parent reads and sets a node's next_slot. So if the block is right, the transition is.
static ALWAYS_INLINE bool foreseen(ouro_thread *thread, ouro_block block, bool leave) {
    ouro_node_ *node = ouro_node_at_(thread, thread->position_);
    uint32_t last = node->memo_target;
    if (node->memo_slot != last) return false; // not a tree edge
    uint32_t slot = ouro_node_at_(thread, last)->next_slot;
    if (slot == 0 || ouro_node_at_(thread, slot_position(slot))->block != block) return false;
    memo_set(node, block, slot);
    go(thread, node, slot, leave);
    return true;
}

void ouro_enter_miss_(ouro_thread *thread, ouro_block block) {
    if (!foreseen(thread, block, false)) enter_search(thread, block);
}

void ouro_replace_miss_(ouro_thread *thread, ouro_block block) {
    if (!foreseen(thread, block, true)) replace_search(thread, block);
}

// The entry is a phantom one, of the node that is reached: open, and not counted.
ouro_position ouro_reenter_(ouro_thread *thread, ouro_block block) {
    ouro__lane *lane = thread->lane_;
    ouro_position caller = thread->position_;
    ouro_position to = slot_position(ouro__transition_find(lane, caller, block));
    ouro_increment_(&node_at(lane, to)->balance);
    ouro_move_(thread, to);
    return caller;
}
