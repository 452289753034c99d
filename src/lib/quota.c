// SPDX-License-Identifier: MIT
//
// Who gets a node when the cap is reached. The cap is one number for all lanes, and a lane can
// prune only itself: the others are written by other OS threads, without locks. So a lane that
// finds no room prunes itself; if it has less than its fair share, it first prunes lanes whose
// threads have all ended, and asks those above their share: they prune themselves when they next
// look into their table of transitions. That is soon: asking takes away their shortcuts, and what
// their call sites know.
//
// A live file that cannot grow is a cap, too: a lane without a place for a node prunes itself.
//
// Amortised O(1): a pruning costs a pass over a lane, and is made only after a constant share of
// the lane's nodes was asked for. Until then the lane is `full`, and new contexts go to accounts.

#include "internal.h"

enum { MISSES_SHARE = 8 };

static bool take(ouro_profile *profile) {
    uint32_t used = atomic_load_explicit(&profile->nodes_used, memory_order_relaxed);
    do {
        if (used >= profile->max_nodes) return false;
    } while (!atomic_compare_exchange_weak_explicit(&profile->nodes_used, &used, used + 1,
                                                    memory_order_relaxed, memory_order_relaxed));
    return true;
}

void ouro__quota_give(ouro_profile *profile, uint32_t n) {
    atomic_fetch_sub_explicit(&profile->nodes_used, n, memory_order_relaxed);
}

static bool above_fair_share(const ouro__lane *lane) {
    uint32_t lanes = __atomic_load_n(&lane->profile->lane_count, __ATOMIC_RELAXED);
    return lane->live > lane->profile->max_nodes / (lanes ? lanes : 1);
}

static bool is_asked(ouro__lane *lane) {
    return atomic_load_explicit(&lane->asked, memory_order_relaxed);
}

// A lane without threads is pruned here and now; one that runs is asked. We hold our own lane's
// lock, which comes after the profile's in the order of locks, so other locks are only tried. A
// lane that is busy now is asked by the next lane that finds no room.
static void ask_others(const ouro__lane *needy) {
    ouro_profile *profile = needy->profile;
    if (pthread_mutex_trylock(&profile->lock)) return;
    for (uint32_t i = 0; i < profile->lane_count; i++) {
        ouro__lane *lane = profile->lanes[i];
        if (lane == needy || pthread_mutex_trylock(&lane->lock)) continue;
        if (lane->threads == 0 && lane->live > 1) {
            ouro__prune(lane, ROOT_POSITION, true);
        } else if (above_fair_share(lane) && !is_asked(lane)) {
            atomic_store_explicit(&lane->asked, true, memory_order_relaxed);
            ouro__shortcuts_off(lane);
            ouro__sites_forget(lane);
        }
        pthread_mutex_unlock(&lane->lock);
    }
    pthread_mutex_unlock(&profile->lock);
}

// A lane above its share takes nothing while one below it waits.
static bool take_fairly(ouro__lane *lane) {
    _Atomic bool *waiting = &lane->profile->waiting;
    bool above = above_fair_share(lane);
    if (above && atomic_load_explicit(waiting, memory_order_relaxed)) return false;
    bool taken = take(lane->profile);
    if (!above && (!taken || lane->full))
        atomic_store_explicit(waiting, !taken, memory_order_relaxed);
    if (!taken || ouro__place_ready(lane)) return taken;
    ouro__quota_give(lane->profile, 1); // to a lane that has a place
    return false;
}

// Leaves `full` by a pruning and by nothing else: that accounts for what overflowed meanwhile.
static bool prune_and_take(ouro__lane *lane, ouro_position standing) {
    if (!above_fair_share(lane)) ask_others(lane);
    bool room = take_fairly(lane);
    if (room) ouro__quota_give(lane->profile, 1);
    ouro__prune(lane, standing, !room);
    lane->full = !take_fairly(lane);
    return !lane->full;
}

// Room for a node without a pruning, also if others take some at the same time.
bool ouro__quota_is_easy(ouro__lane *lane) {
    ouro_profile *profile = lane->profile;
    uint32_t used = atomic_load_explicit(&profile->nodes_used, memory_order_relaxed);
    return used < profile->max_nodes - profile->max_nodes / 8 && !lane->full && !is_asked(lane) &&
           !atomic_load_explicit(&profile->waiting, memory_order_relaxed);
}

// Does what another lane asked for. The caller holds the lane's lock.
void ouro__quota_share(ouro__lane *lane, ouro_position standing) {
    if (!is_asked(lane)) return;
    atomic_store_explicit(&lane->asked, false, memory_order_relaxed);
    ouro__shortcuts_on(lane);
    if (above_fair_share(lane)) ouro__prune(lane, standing, true);
}

// Room for one node, if need be by pruning, but never of the node `standing`. The caller holds
// the lane's lock. A pruning looks at all places that were ever in use, so that is what it must
// pay for.
bool ouro__quota_take(ouro__lane *lane, ouro_position standing) {
    lane->misses++;
    bool due = lane->misses > lane->state->used / MISSES_SHARE || lane->epoch_count == 0;
    if (lane->full && !due) return false;
    if (!lane->full && take_fairly(lane)) return true;
    if (due) return prune_and_take(lane, standing);
    lane->full = true;
    return false;
}
