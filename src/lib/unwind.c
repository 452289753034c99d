// SPDX-License-Identifier: MIT
//
// Leaving many frames at once, after a longjmp or a caught error. The frames are gone, and with
// them their tokens, so their exits never come: unless they are closed here, the cap can never
// evict the nodes where they stood.
//
// A node counts how many frames stand there, not whose they are. One thing is always known: the
// last frame stands where the thread stands. The nodes between that one and the catcher's are
// closed only if no frame that goes on can stand there:
//
//   - If a frame of this thread goes on and stands below the catcher's node, a back edge led from
//     there to that node or to one above it. lane->back_target tells to which nodes back edges were
//     ever made.
//   - Then a frame of another thread can be there only if that thread stands below, too, or in
//     [lost], which does not tell where it came from.
//
// Where this proves nothing, the nodes stay open: they cost room under the cap, and nothing else.

#include "internal.h"

// Is `ancestor` on the path of `position`? Looks at *budget nodes at most; true when they run out.
static bool may_be_below(const ouro__lane *lane, ouro_position position, ouro_position ancestor,
                         int *budget) {
    for (; position != ancestor; position = node_at(lane, position)->parent) {
        if (position == ROOT_POSITION) return false;
        if (--*budget < 0) return true;
    }
    return true;
}

static bool is_on_path(const ouro__lane *lane, ouro_position ancestor, ouro_position position) {
    while (position != ancestor && position != ROOT_POSITION)
        position = node_at(lane, position)->parent;
    return position == ancestor;
}

static bool recursion_led_above(const ouro__lane *lane, ouro_position position) {
    if (is_account(lane, position)) position -= lane->account_offset;
    for (; position != ROOT_POSITION; position = node_at(lane, position)->parent) {
        if (lane->back_target[index_of(lane, position)]) return true;
    }
    return false;
}

static bool others_stand_below(const ouro_thread *thread, ouro_position position) {
    const ouro__lane *lane = lane_of(thread);
    int budget = LOOKBACK;
    for (const ouro_thread *t = lane->first; t; t = t->next_) {
        if (t == thread || t->position_ == position) continue;
        if (t->position_ == lost_position(lane)) return true;
        if (may_be_below(lane, t->position_, position, &budget)) return true;
    }
    return false;
}

// Closes the nodes from `position` up to `catcher`, which stays as it is.
static void close_path(ouro__lane *lane, ouro_position position, ouro_position catcher) {
    for (; position != catcher; position = node_at(lane, position)->parent) {
        ouro_node_ *node = node_at(lane, position);
        int64_t open = node_open(node);
        if (open > 0) ouro_add_(&node->balance, -(uint64_t)open);
    }
}

// The position, or [lost] if no node is there.
static ouro_position checked(const ouro__lane *lane, ouro_position position) {
    bool inside = position % lane->stride == 0 && position / 2 < lane->account_offset;
    if (inside && node_at(lane, position)->block) return position;
    MISUSE("a position that is not in use: of another thread?");
    return lost_position(lane);
}

void ouro_unwind(ouro_thread *thread, ouro_position position) {
    if (!thread) return;
    ouro__lane *lane = lane_of(thread);
    ouro_position from = thread->position_;
    ouro_position catcher = checked(lane, position);
    if (from == catcher) return;     // the frames that stood here, too, are not known
    pthread_mutex_lock(&lane->lock); // the list of threads
    ouro__sites_fold(lane);
    bool known = is_on_path(lane, catcher, from) && !recursion_led_above(lane, catcher) &&
                 !others_stand_below(thread, catcher);
    pthread_mutex_unlock(&lane->lock);
    if (known) {
        close_path(lane, from, catcher);
    } else {
        ouro_decrement_(&node_at(lane, from)->balance);
    }
    ouro_move_(thread, catcher);
}
