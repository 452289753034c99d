// SPDX-License-Identifier: MIT
//
// Recording from an interpreter's loop or from compiled code: as ouro_enter, ouro_replace,
// ouro_exit and ouro_sample do it, in half the instructions and whatever the order of calls is.
// For code that runs a few nanoseconds between two calls.
//
//   call site  a place in the code of a block that enters other blocks: a number from 0 on
//   here       where a thread stands, as an address that the host keeps in a register
//
// A node of the tree remembers for each call site of its block where it led to, and counts there
// how often. So other contexts, in which the site enters something else, do not disturb it, and
// what is counted lies at a fixed distance from `here`. The price is memory: a function with
// 3 sites that runs on 1,000 paths takes 3,000 entries of 32 bytes. What else a site entered lately
// at the same node is found in a cache of the lane (32 kB). A site that enters now this and now
// that gets a table at that node (544 bytes; at most one for four nodes, and 64).
//
//     ouro_add_sites(profile, block, &(uint32_t){3}, 1);      // once: `block` has three call sites
//
//     ouro_here *here = ouro_thread_here(thread);
//     ...
//     ouro_here *caller = here;                               // keep it in the callee's frame
//     here = ouro_site_enter(thread, here, 2, f->block);      // a call, at the third call site
//     here = ouro_site_replace(thread, here, 1, g->block);    // a tail call
//     ouro_here_sample(here, 5);
//     ouro_here_leave(here), here = caller;                   // the return
//     ...
//     ouro_thread_stand(thread, here);                        // before ouro.h is used again
//
// These functions do not update the thread's position. Store it with ouro_thread_stand before you
// call a function of ouro.h for the thread, and fetch it again with ouro_thread_here afterwards. If
// a clock runs, store it after every enter, replace and leave, or say with ouro_thread_watch where
// you keep `here`. A frame that was entered by one
// header may be left by the other. Code that was entered as OURO_PHANTOM stands at its caller's
// node, whose call sites are not its own: it records by ouro.h. `thread` must not be NULL here.
//
// MISUSE does not corrupt memory: a `here` of another block or thread of the same profile, or of a
// path that was pruned meanwhile, a site number below OURO_SITES_MOST that the block does not have.
// What is charged is at some position then, or in [lost]. But two OS threads that use one `here` at
// the same time may count too little. A key that means another block than before charges the wrong
// one, see ouro_key.

#ifndef OURO_SITE_H
#define OURO_SITE_H

#include "ouro.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef uint8_t ouro_site;
enum { OURO_SITES_MOST = 64 };

typedef struct ouro_here_ ouro_here;

// What call sites compare to know which block is entered. A block is its own key, and that is right
// whatever the host does. Code that does not have the block at hand may use the address of the
// function's code in its place, if that address means the same block as long as the profile lives:
// memory that a garbage collector or an unloaded module gives back may come to be another function,
// and its calls would be charged to the one before. ouro_site_search checks that: a key that comes
// with another block than before stops builds with assertions, and makes the sites of the lane
// forget what they know in others, so that later calls are right.
typedef uint64_t ouro_key;

// Declares the number of call sites of n blocks: block first + i has counts[i]. Larger counts are
// taken as OURO_SITES_MOST. A block that is never declared has OURO_SITES_MOST, which wastes
// memory. Once for each block, before it is entered. Several places in the code may share a
// number: that is as right, but slower where they enter different blocks. Any OS thread. 0, or -1
// with errno: ENOMEM, EINVAL (a block that does not exist, or that was declared before).
OURO_API int ouro_add_sites(ouro_profile *profile, ouro_block first, const uint32_t *counts,
                            size_t n);

// What else happens whenever code goes by a site.
typedef struct {
    uint32_t charge; // so much of metric 0 is charged to the block that the site is in; below 2^30
    bool leaves;     // and the block is left: a tail call, or a return
    bool fixed;      // it enters the same block whenever it enters one: see ouro_site_go
} ouro_site_info;

// As ouro_add_sites for one block, of which more is known: then ouro_site_follow charges and leaves
// as `infos` says, and takes no instruction more for it. A site may also be a place where the block
// returns, see ouro_here_leave_by. At most OURO_SITES_MOST. `infos` is not copied: it must live as
// long as the profile.
OURO_API int ouro_add_site_infos(ouro_profile *profile, ouro_block block,
                                 const ouro_site_info *infos, uint32_t n);

// ---------------------------------------------------------------- private parts

// What a call site remembers at a node. The counter has the same place in it as `left` has in a
// `here`: so a site number that the block does not have counts something else, and harms nothing.
typedef struct {
    ouro_key key; // OURO_NO_KEY_: nothing
    ouro_here *to;
    uint64_t count; // how often code went by, and nodes do not have yet: see src/lib/sites.c
    uint32_t slot;  // of the transition that it counts; 0: none
    uint32_t means; // charge << 1 | leaves, and OURO_FIXED_
} ouro_known_;
#define OURO_FIXED_ (UINT32_C(1) << 31)
// No block and no address. 0 would be OURO_PHANTOM.
#define OURO_NO_KEY_ (UINT64_MAX - 1)

// What its sites were offered instead of what they knew; see src/lib/sites.c.
typedef struct {
    uint16_t learned, refused; // and since then
    uint32_t seen;             // the site that was refused, and its count
} ouro_offers_;

// In a count: who goes by must look elsewhere. So who counts sees by the sign, in the same
// instruction, that it should not have. Below it is what was counted all the same.
#define OURO_UNCOUNTED_ (UINT64_C(1) << 63)

struct ouro_here_ {
    ouro_node_ *node;
    uint8_t sites;          // of `known`, those that may know something; 0: ouro_here_has_sites
    uint8_t room;           // of `known`
    uint8_t is_seen;        // by readers of the live file
    uint8_t table;          // of a site: its number + 1; 0: this is no table
    ouro_position position; // of the node, in its lane
    uint64_t left;          // how often the block was left, as `count` above
    union {
        ouro_here *next; // in a list of those that are not in use
        ouro_offers_ offers;
    };
    ouro_known_ known[1]; // really so many
};

// What call sites that enter several blocks at a node entered lately: a direct-mapped cache of the
// lane, by the node and the key. Both are addresses in arrays, so the sum of small multiples of
// them would often be the same for neighbours.
typedef struct ouro_turn_ {
    const ouro_here *from; // NULL: nothing
    ouro_key key;
    uint64_t *counter;
    ouro_here *to;
} ouro_turn_;
enum { OURO_TURN_BITS_ = 10 };

OURO_INLINE_ ouro_turn_ *ouro_turn_at_(const ouro_thread *thread, const ouro_here *here,
                                       ouro_key key) {
    uint32_t both = (uint32_t)(uintptr_t)here + ((uint32_t)key << 10);
    return thread->lane_->turns + (both * UINT32_C(0x9E3779B1) >> (32 - OURO_TURN_BITS_));
}

// Assembly, because compilers do not compare with what is loaded atomically where it is.
OURO_INLINE_ bool ouro_is_(const uint64_t *place, uint64_t key) {
#ifdef OURO_ATOMIC_ADD_
    return OURO_LIKELY_(__atomic_load_n(place, __ATOMIC_RELAXED) == key);
#else
    bool same;
    __asm__("cmpq %2, %1" : "=@cce"(same) : "m"(*place), "er"(key));
    return OURO_LIKELY_(same);
#endif
}

// True if it is 0 now.
OURO_INLINE_ bool ouro_count_down_(uint64_t *left) {
#ifdef OURO_ATOMIC_ADD_
    return --*left == 0;
#else
    bool zero;
    __asm__("decq %1" : "=@ccz"(zero), "+m"(*left));
    return zero;
#endif
}

// False if it has OURO_UNCOUNTED_.
OURO_INLINE_ bool ouro_count_up_(uint64_t *count) {
#ifdef OURO_ATOMIC_ADD_
    ouro_increment_(count);
    return OURO_LIKELY_(__atomic_load_n(count, __ATOMIC_RELAXED) < OURO_UNCOUNTED_);
#else
    bool counts;
    __asm__("incq %1" : "=@ccns"(counts), "+m"(*count));
    return OURO_LIKELY_(counts);
#endif
}

OURO_INLINE_ bool ouro_knows_(const ouro_known_ *known, ouro_key key) {
    return ouro_is_(&known->key, key);
}

// A table is a `here` of the same node: its entries are what one site knows, by the key.
#define OURO_MANY_ UINT64_MAX // the key of a site with a table, which `to` is
enum { OURO_TABLE_BITS_ = 4 };

OURO_INLINE_ ouro_site ouro_table_at_(ouro_key key) {
    return (ouro_site)((uint32_t)key * UINT32_C(0x9E3779B1) >> (32 - OURO_TABLE_BITS_));
}

OURO_INLINE_ ouro_here *ouro_follow_(const ouro_known_ *known) {
    ouro_increment_((uint64_t *)&known->count);
    return known->to;
}

// ---------------------------------------------------------------- where a thread stands

// Never NULL: without memory it is the block [lost]. 10 instructions, the first time at a position
// more, and 32 bytes of memory, with 32 more for each call site of the block.
OURO_API ouro_here *ouro_thread_here(ouro_thread *thread);

// False where the code of any block may run: in [lost], in [pruned] accounts, and outside of the
// tree (ouro_aside); where a live file has no more space; and for a block that has no sites. No
// site knows anything there, and none must be gone by. No site leads to the first four.
OURO_INLINE_ bool ouro_here_has_sites(const ouro_here *here) { return here->sites != 0; }

OURO_INLINE_ ouro_position ouro_here_position(const ouro_thread *thread, const ouro_here *here) {
    (void)thread;
    return here->position;
}

OURO_INLINE_ void ouro_thread_stand(ouro_thread *thread, const ouro_here *here) {
    ouro_move_(thread, ouro_here_position(thread, here));
}

// Lets the clock of this thread, and of its forks, look at *here instead of the position, whenever
// *here is not NULL: one store per event. Set it to NULL after ouro_thread_stand. The handler may
// read it between any two instructions; `here` must live as long as the threads. NULL: no more.
OURO_INLINE_ void ouro_thread_watch(ouro_thread *thread, ouro_here *const *here) {
    if (thread) __atomic_store_n(&thread->lane_->watched, here, __ATOMIC_RELAXED);
}

// ---------------------------------------------------------------- recording

// True if this site, at this node, last entered the block that the key means. Only then call
// ouro_site_follow, which counts the call and returns the new `here`. 4 to 7 instructions together.
// Use these two where an ordinary C call is too expensive (it would need a stack frame, or the code
// must end in a jump). Your own slow path then asks ouro_site_find, ouro_site_recall and
// ouro_site_search, until one of them gives something. Where a C call is cheap enough, use
// ouro_site_enter and ouro_site_replace.
//
// Only ouro_site_follow and ouro_site_go charge and leave as ouro_add_site_infos says. After the
// others you do; but ouro_site_replace leaves the block once, whatever its site says.
OURO_INLINE_ bool ouro_site_knows(const ouro_here *here, ouro_site site, ouro_key key) {
    return ouro_knows_(here->known + (size_t)site, key);
}

OURO_INLINE_ ouro_here *ouro_site_follow(const ouro_here *here, ouro_site site) {
    return ouro_follow_(here->known + (size_t)site);
}

// As both, for a fixed site, and without a key: counts the call, and ouro_site_leads gives the new
// `here`. 3 instructions together. False, and nothing has happened: take the slow path.
OURO_INLINE_ bool ouro_site_go(const ouro_here *here, ouro_site site) {
    uint64_t *count = (uint64_t *)&here->known[site].count;
    if (ouro_count_up_(count)) return true;
    ouro_decrement_(count);
    return false;
}

// Takes back ouro_site_follow or ouro_site_go, where the block is not entered after all.
OURO_INLINE_ void ouro_site_stay(const ouro_here *here, ouro_site site) {
    ouro_decrement_((uint64_t *)&here->known[site].count);
}

// Where ouro_site_follow or ouro_site_go would lead, and nothing is counted yet.
OURO_INLINE_ ouro_here *ouro_site_leads(const ouro_here *here, ouro_site site) {
    return here->known[site].to;
}

// Whether ouro_site_follow leaves the block. Only for a site that knows something.
OURO_INLINE_ bool ouro_site_leaves(const ouro_here *here, ouro_site site) {
    return here->known[site].means & 1;
}

// An entry as a `here` that has it as its site 0.
OURO_INLINE_ const ouro_here *ouro_here_before_(const ouro_known_ *known) {
    return (const ouro_here *)(const void *)(known - 1);
}

OURO_INLINE_ const ouro_here *ouro_known_find_(const ouro_known_ *known, ouro_key key) {
    if (!ouro_is_(&known->key, OURO_MANY_)) return NULL;
    const ouro_known_ *found = known->to->known + ouro_table_at_(key);
    return ouro_is_(&found->key, key) ? ouro_here_before_(found) : NULL;
}

// The second try, for a site that enters now this block and now that at one node: gives something
// whose site 0 knows the block, and means the same, for ouro_site_leaves and ouro_site_follow
// alone. NULL: there is nothing. About 10 instructions.
OURO_INLINE_ const ouro_here *ouro_site_find(const ouro_here *here, ouro_site site, ouro_key key) {
    return ouro_known_find_(here->known + (size_t)site, key);
}

// The first two tries together: what the second gives, also if the site knows the block itself.
OURO_INLINE_ const ouro_here *ouro_site_try(const ouro_here *here, ouro_site site, ouro_key key) {
    const ouro_known_ *known = here->known + (size_t)site;
    return ouro_knows_(known, key) ? ouro_here_before_(known) : ouro_known_find_(known, key);
}

// The third, for a site that enters several blocks at one node: counts the call and returns the
// new `here`, or NULL if the lane does not remember it, or if it is time that the site learns
// another block. About 20 instructions, and no call.
OURO_INLINE_ ouro_here *ouro_site_recall(ouro_thread *thread, const ouro_here *here, ouro_key key) {
    const ouro_turn_ *turn = ouro_turn_at_(thread, here, key);
    if (__atomic_load_n(&turn->from, __ATOMIC_RELAXED) != here || !ouro_is_(&turn->key, key))
        return NULL;
    if (ouro_count_down_(&thread->lane_->recalls)) return NULL;
    ouro_here *to = turn->to;
    if (!to) __builtin_unreachable();
    ouro_increment_(turn->counter);
    return to;
}

// The slow path: finds or makes the transition, lets the site know it, counts the call and returns
// the new `here`. Cost as ouro_enter.
OURO_API ouro_here *ouro_site_search(ouro_thread *thread, ouro_here *here, ouro_site site,
                                     ouro_key key, ouro_block block);

// One after the other.
OURO_API ouro_here *ouro_site_miss_(ouro_thread *thread, ouro_here *here, ouro_site site,
                                    ouro_key key, ouro_block block);

// Records that the block at `here` is left. Continue with the `here` that you saved before the call
// (a return), or with the one that the site gave (a tail call).
OURO_INLINE_ void ouro_here_leave(const ouro_here *here) {
    ouro_increment_((uint64_t *)&here->left);
}

// Takes back that the block was left: for a site that leaves, where it is not left after all.
OURO_INLINE_ void ouro_here_stay(const ouro_here *here) {
    ouro_decrement_((uint64_t *)&here->left);
}

// ouro_here_sample and ouro_here_leave in one. Nothing is charged if n is 0.
OURO_INLINE_ void ouro_here_leave_after(const ouro_here *here, uint64_t n) {
    if (!__builtin_constant_p(n) || n) ouro_add_(here->node->metrics, n);
    ouro_here_leave(here);
}

// Leaves the block by a site that says so, and what it charges. False where ouro_here_has_sites is
// false: then nothing has happened.
OURO_INLINE_ bool ouro_here_leave_by(const ouro_here *here, ouro_site site) {
    return ouro_count_up_((uint64_t *)&here->known[site].count);
}

// Enters a block by a call site, and returns the new `here`.
OURO_INLINE_ ouro_here *ouro_site_enter(ouro_thread *thread, ouro_here *here, ouro_site site,
                                        ouro_block block) {
    const ouro_known_ *known = here->known + (size_t)site;
    if (ouro_knows_(known, block)) return ouro_follow_(known);
    return ouro_site_miss_(thread, here, site, block, block);
}

// The same for a tail call. The block is left last, so that it is open while the transition is
// searched for.
OURO_INLINE_ ouro_here *ouro_site_replace(ouro_thread *thread, ouro_here *here, ouro_site site,
                                          ouro_block block) {
    bool left = ouro_site_knows(here, site, block) && ouro_site_leaves(here, site);
    ouro_here *to = ouro_site_enter(thread, here, site, block);
    if (!left) ouro_here_leave(here);
    return to;
}

// Charges n of metric 0.
OURO_INLINE_ void ouro_here_sample(const ouro_here *here, uint64_t n) {
    ouro_add_(here->node->metrics, n);
}

// ---------------------------------------------------------------- outside of the tree

// A `here` outside of the tree, for a host that has to look at every event itself for a while (more
// metrics, a clock). No site knows or counts anything there, so every event takes the host's slow
// path. Samples add up in it, and ouro_aside_sampled gives the sum. The struct must be zero before
// ouro_aside_start. Never give it to ouro_site_search.
typedef struct {
    ouro_node_ node_;
    ouro_here here_;
    ouro_known_ known_[OURO_SITES_MOST - 1];
} ouro_aside;

// Stands for where the thread is now, which ouro_thread_stand and the clock see in it.
OURO_INLINE_ ouro_here *ouro_aside_here(ouro_aside *aside, const ouro_thread *thread) {
    __atomic_store_n(&aside->here_.position, ouro_thread_position(thread), __ATOMIC_RELAXED);
    return &aside->here_;
}

OURO_INLINE_ void ouro_aside_start(ouro_aside *aside) {
    aside->here_.node = &aside->node_;
    for (int i = 0; i < OURO_SITES_MOST; i++) {
        ouro_known_ *known = i ? &aside->known_[i - 1] : aside->here_.known;
        known->count = OURO_UNCOUNTED_;
        known->key = OURO_NO_KEY_;
    }
}

OURO_INLINE_ uint64_t *ouro_aside_sampled(ouro_aside *aside) { return aside->node_.metrics; }

// ---------------------------------------------------------------- hooks

// Enters a block if it is the one that was entered from here the last time. Else false, and nothing
// has happened.
OURO_INLINE_ bool ouro_try_again(ouro_thread *thread, ouro_block block) {
    const ouro_node_ *node = ouro_node_at_(thread, thread->position_);
    if (node->memo_block != block) return false;
    ouro_increment_(&thread->nodes_[node->memo_slot]);
    ouro_move_(thread, node->memo_target);
    return true;
}

// Enters a block if it is among those that were entered lately. Else false, as above. The memo
// stays: two branches predict better than one where calls alternate.
OURO_INLINE_ bool ouro_try_lately(ouro_thread *thread, ouro_block block) {
    uint32_t slot;
    if (!ouro_shortcut_(thread, thread->position_, block, &slot)) return false;
    ouro_increment_(&thread->nodes_[slot]);
    ouro_move_(thread, slot & ~UINT32_C(3));
    return true;
}

// Enters a block if that needs no search. False, and nothing has happened: call ouro_enter. For
// hooks that have their slow path elsewhere. ouro_thread_position before it is what ouro_enter
// would return.
OURO_INLINE_ bool ouro_try_enter(ouro_thread *thread, ouro_block block) {
    return ouro_try_again(thread, block) || ouro_try_lately(thread, block);
}

// The same for ouro_replace. The block is left last, as in ouro_site_replace.
OURO_INLINE_ bool ouro_try_replace(ouro_thread *thread, ouro_block block) {
    ouro_node_ *left = ouro_node_at_(thread, thread->position_);
    if (!ouro_try_enter(thread, block)) return false;
    ouro_decrement_(&left->balance);
    return true;
}

// What a place remembers: a transition, as its source and block, and the slot to count it in.
typedef struct ouro_place {
    uint64_t way; // source | block << 32
    uint64_t slot;
} ouro_place;
enum { OURO_PLACE_COUNT = 1024 }; // and as many second ones, behind them
#define OURO_NO_WAY_ UINT64_C(1)  // from position 1, which no node has
#define OURO_PLACE_FACTOR_ UINT32_C(0x9E3779B1)
#define OURO_PLACE_SHIFT_ 18

OURO_INLINE_ uint64_t ouro_way_(ouro_position from, ouro_block block) {
    return from | (uint64_t)block << 32;
}

// Where a call is known by an address, such as the one that it returns to, that place remembers
// where it led to the last time. It is found without waiting for the position, so the processor can
// go on: the quickest way where calls are dense. Once for each thread call ouro_thread_hasten,
// which takes 32 kB for a lane. ouro_layout.h is for hooks in assembly.
OURO_API void ouro_thread_hasten(ouro_thread *thread);

OURO_INLINE_ ouro_place *ouro_place_at(const ouro_thread *thread, uintptr_t address) {
    return &thread->lane_->places[address / 2 % OURO_PLACE_COUNT];
}

// The second place of a call: by the position and by what is called, as an address of which the
// lowest four bits do not count. It knows calls that alternate at their first place.
OURO_INLINE_ ouro_place *ouro_place_from_(const ouro_thread *thread, uintptr_t callee,
                                          ouro_position from) {
    uint32_t at = (uint32_t)callee + (from * OURO_PLACE_FACTOR_ >> OURO_PLACE_SHIFT_);
    return &thread->lane_->places[OURO_PLACE_COUNT + at / 16 % OURO_PLACE_COUNT];
}

// True if the place did the same the last time: entered this block, from this position, which is
// the thread's. Only then call ouro_place_follow, which enters it.
OURO_INLINE_ bool ouro_place_knows(const ouro_place *place, ouro_position from, ouro_block block) {
    return __atomic_load_n(&place->way, __ATOMIC_RELAXED) == ouro_way_(from, block);
}

OURO_INLINE_ void ouro_place_follow(ouro_thread *thread, const ouro_place *place) {
    uint64_t slot = place->slot;
    ouro_increment_(&thread->nodes_[slot]);
    ouro_move_(thread, (ouro_position)slot & ~UINT32_C(3));
}

// After it, ouro_place_recall or ouro_place_learn: what was entered replaces the block at `from`.
OURO_INLINE_ void ouro_place_leave(const ouro_thread *thread, ouro_position from) {
    ouro_decrement_(&ouro_node_at_(thread, from)->balance);
}

OURO_INLINE_ void ouro_place_put_(ouro_place *place, uint64_t way, uint64_t slot) {
    __atomic_store_n(&place->way, OURO_NO_WAY_, __ATOMIC_RELAXED);
    place->slot = slot;
    __atomic_store_n(&place->way, way, __ATOMIC_RELAXED);
}

// The second try: as ouro_place_knows and ouro_place_follow with the second place, and lets the
// first know. Else false, and nothing has happened.
OURO_INLINE_ bool ouro_place_recall(ouro_thread *thread, ouro_place *place, uintptr_t callee,
                                    ouro_block block) {
    ouro_position from = thread->position_;
    const ouro_place *second = ouro_place_from_(thread, callee, from);
    if (!ouro_place_knows(second, from, block)) return false;
    ouro_place_put_(place, ouro_way_(from, block), second->slot);
    ouro_place_follow(thread, second);
    return true;
}

// The third: as ouro_try_enter, and lets both places know.
OURO_INLINE_ bool ouro_place_learn(ouro_thread *thread, ouro_place *place, uintptr_t callee,
                                   ouro_block block) {
    ouro_position from = thread->position_;
    const ouro_node_ *node = ouro_node_at_(thread, from);
    uint32_t slot = node->memo_slot;
    if (node->memo_block != block && !ouro_shortcut_(thread, from, block, &slot)) return false;
    if (OURO_LIKELY_(thread->lane_->has_places)) {
        ouro_place_put_(place, ouro_way_(from, block), slot);
        ouro_place_put_(ouro_place_from_(thread, callee, from), ouro_way_(from, block), slot);
    }
    ouro_increment_(&thread->nodes_[slot]);
    ouro_move_(thread, slot & ~UINT32_C(3));
    return true;
}

// As ouro_reenter, unless that needs memory, a pruning or somebody else's lock. Else false, and
// nothing has happened. For a signal handler of the OS thread that uses `thread`, unless it has
// interrupted a function of Ouro.
OURO_API bool ouro_try_reenter(ouro_thread *thread, ouro_block block);

#ifdef __cplusplus
}
#endif

#endif
