// SPDX-License-Identifier: MIT
//
// Recording from an interpreter's loop or from compiled code: as ouro_enter, ouro_replace,
// ouro_exit and ouro_sample do it, in half the instructions and whatever the order of calls is.
// For code that runs a few nanoseconds between two calls.
//
//   call site  a place in the code of a block that enters other blocks: a number from 0 on
//   here       where a thread stands, as an address that the host keeps in a register
//
// A node of the tree remembers for each call site of its block where it last led to. So what a site
// finds does not depend on what it entered last in another context: a function that runs on a
// thousand paths has a thousand times its sites.
//
//     ouro_add_sites(profile, block, &(uint32_t){3}, 1);      // once: `block` has three call sites
//
//     ouro_here *here = ouro_thread_here(thread);
//     ...
//     ouro_here *caller = here;                               // keep it in the callee's frame
//     here = ouro_site_enter(thread, here, 2, f, f->block);   // a call, at the third call site
//     here = ouro_site_replace(thread, here, 1, g, g->block); // a tail call
//     ouro_here_sample(here, 5);
//     ouro_here_leave(here), here = caller;                   // the return
//     ...
//     ouro_thread_stand(thread, here);                        // before ouro.h is used again
//
// The thread itself does not follow: say where it stands before anything of ouro.h is called for
// it, and ask again afterwards. A clock looks at any time: under a clock, say it after every step.
// What was entered by one header may be left by the other. Code that was entered as OURO_PHANTOM
// stands at its caller's node, whose call sites are not its own: it records by ouro.h. `thread`
// must not be NULL here.
//
// MISUSE does not corrupt memory: a `here` of another block or thread of the same profile, a site
// number below OURO_SITES_MOST that the block does not have. It is charged to some position then.

#ifndef OURO_SITE_H
#define OURO_SITE_H

#include "ouro.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef uint8_t ouro_site;
enum { OURO_SITES_MOST = 64 };

typedef struct ouro_here_ ouro_here;

// How many call sites the blocks first, first + 1, ... have: counts[0], counts[1] ...; more
// than OURO_SITES_MOST are taken as so many, and a block of which nothing was said has so many,
// too, which takes memory. Once for each block, before it is entered. Several places in the
// code may share a number: that is as right, but slower where they enter different blocks. Any
// OS thread. 0, or -1 with errno: ENOMEM, EINVAL (a block that does not exist, or of which this
// was said before).
OURO_API int ouro_add_sites(ouro_profile *profile, ouro_block first, const uint32_t *counts,
                            size_t n);

// ---------------------------------------------------------------- private parts

// What a call site remembers at a node.
typedef struct {
    const void *key; // NULL: nothing
    uint64_t *counter;
    ouro_here *to;
} ouro_known_;

struct ouro_here_ {
    ouro_node_ *node;
    size_t count;         // of `known`: as many as the block has call sites
    ouro_here *next;      // in a list of those that are not in use
    ouro_known_ known[1]; // really so many
};

OURO_INLINE_ bool ouro_knows_(const ouro_known_ *known, const void *key) {
    return OURO_LIKELY_(__atomic_load_n(&known->key, __ATOMIC_RELAXED) == key);
}

OURO_INLINE_ ouro_here *ouro_follow_(const ouro_known_ *known) {
    ouro_here *to = known->to;
    ouro_increment_(known->counter);
    return to;
}

// ---------------------------------------------------------------- where a thread stands

// Never NULL: without memory it is the block [lost]. 10 instructions, the first time at a position
// more, and 24 bytes of memory, with 24 more for each call site of the block.
OURO_API ouro_here *ouro_thread_here(ouro_thread *thread);

OURO_INLINE_ ouro_position ouro_here_position(const ouro_thread *thread, const ouro_here *here) {
    return (ouro_position)((const uint64_t *)(const void *)here->node - thread->nodes_);
}

OURO_INLINE_ void ouro_thread_stand(ouro_thread *thread, const ouro_here *here) {
    ouro_move_(thread, ouro_here_position(thread, here));
}

// ---------------------------------------------------------------- recording

// True if this site entered the block of `key` the last time that it ran here. A key tells the
// blocks apart that a site enters: an address that is at hand, as that of a function's code; not
// NULL. Then ouro_site_follow counts the call and gives where it leads. 4 to 7 instructions together.
// Code that cannot call and come back (a tail call before, a loop without a frame) uses these two
// and has its slow path elsewhere; all else uses enter and replace, below.
OURO_INLINE_ bool ouro_site_knows(const ouro_here *here, ouro_site site, const void *key) {
    return ouro_knows_(here->known + (size_t)site, key);
}

OURO_INLINE_ ouro_here *ouro_site_follow(const ouro_here *here, ouro_site site) {
    return ouro_follow_(here->known + (size_t)site);
}

// The slow path: finds or makes the transition, lets the site know it, counts the call and gives
// where it leads. Not from an ouro_aside. Cost as ouro_enter.
OURO_API ouro_here *ouro_site_search(ouro_thread *thread, ouro_here *here, ouro_site site,
                                     const void *key, ouro_block block);

// The block that was entered is left. The caller's `here` is where the thread stands then, or, for
// a tail call, where the site leads.
OURO_INLINE_ void ouro_here_leave(const ouro_here *here) { ouro_decrement_(&here->node->balance); }

OURO_INLINE_ ouro_here *ouro_site_enter(ouro_thread *thread, ouro_here *here, ouro_site site,
                                        const void *key, ouro_block block) {
    const ouro_known_ *known = here->known + (size_t)site;
    if (ouro_knows_(known, key)) return ouro_follow_(known);
    return ouro_site_search(thread, here, site, key, block);
}

// The block is left last, so that it is open while the transition is searched for.
OURO_INLINE_ ouro_here *ouro_site_replace(ouro_thread *thread, ouro_here *here, ouro_site site,
                                          const void *key, ouro_block block) {
    ouro_here *to = ouro_site_enter(thread, here, site, key, block);
    ouro_here_leave(here);
    return to;
}

// Charges n of metric 0.
OURO_INLINE_ void ouro_here_sample(const ouro_here *here, uint64_t n) {
    ouro_add_(here->node->metrics, n);
}

// ---------------------------------------------------------------- outside of the tree

// A `here` of no tree, for a host that has to look at every event itself for a while (more metrics,
// a clock). Nothing is known there, so that each event takes the host's slow path, and what is
// charged there can be read. The struct must be zero before.
typedef struct {
    ouro_node_ node_;
    ouro_here here_;
    ouro_known_ known_[OURO_SITES_MOST - 1];
} ouro_aside;

OURO_INLINE_ ouro_here *ouro_aside_here(ouro_aside *aside) {
    aside->here_.node = &aside->node_;
    return &aside->here_;
}

OURO_INLINE_ uint64_t *ouro_aside_sampled(ouro_aside *aside) { return aside->node_.metrics; }

// ---------------------------------------------------------------- hooks

// Enters a block if that needs no search. False, and nothing has happened: call ouro_enter. For
// hooks that have their slow path elsewhere. ouro_thread_position before it is what ouro_enter
// would return.
OURO_INLINE_ bool ouro_try_enter(ouro_thread *thread, ouro_block block) {
    ouro_position caller = thread->position_;
    const ouro_node_ *node = ouro_node_at_(thread, caller);
    if (node->memo_block == block) {
        ouro_increment_(&thread->nodes_[node->memo_slot]);
        ouro_move_(thread, node->memo_target);
        return true;
    }
    // The memo stays: two branches predict better than one where calls alternate.
    uint32_t slot;
    if (!ouro_shortcut_(thread, caller, block, &slot)) return false;
    ouro_increment_(&thread->nodes_[slot]);
    ouro_move_(thread, slot & ~UINT32_C(3));
    return true;
}

#ifdef __cplusplus
}
#endif

#endif
