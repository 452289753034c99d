// SPDX-License-Identifier: MIT
//
// What call sites know (ouro_site.h). A `here` stands for one node: its address, then what each
// call site of its block remembers. Tokens are such addresses, so a `here` stays where it is as
// long as its node is in use. It is made when it is first needed, in slabs of the lane:
//
//     | slab | here of a node | here of another | ...  up to slab->used | slack for one more |
//
// A slab is made of cells of the size of an entry, and a `here` begins with one. So a site number
// that the block does not have is read in a cell, too: an entry of another node, or the beginning
// of a `here`, which fits no key.
//
// A site that enters several blocks at one node knows one of them. When it learns another, the one
// before goes to the lane's turns, a direct-mapped cache by node and key. A lane whose sites do not
// do that has a table that is empty and shared.
//
// Everything is forgotten at once, by clearing the keys: when a pruning has removed nodes, and when
// another lane asks for room, so that this one looks up.

#include "blocks.h"
#include "ouro_layout.h"

#include <stdlib.h>

enum { CELL = sizeof(ouro_known_), SLAB_CELLS = 2000, SLACK = OURO_SITES_MOST };
enum { TURNS = 1 << OURO_TURN_BITS_, RECALLS = 64 };

#define IS_AT(type, field, at) _Static_assert(offsetof(type, field) == (at), "ouro_layout.h")
IS_AT(ouro_thread, nodes_, OURO_THREAD_NODES);
IS_AT(ouro_thread, position_, OURO_THREAD_POSITION);
IS_AT(ouro_node_, balance, OURO_NODE_BALANCE);
IS_AT(ouro_place, way, OURO_PLACE_WAY);
IS_AT(ouro_place, slot, OURO_PLACE_SLOT);
_Static_assert(sizeof(ouro_place) == OURO_PLACE_BYTES && OURO_PLACE_COUNT == OURO_PLACES,
               "ouro_layout.h");
_Static_assert(OURO_NO_WAY_ == OURO_NO_WAY && OURO_PLACE_FACTOR_ == OURO_PLACE_FACTOR &&
                   OURO_PLACE_SHIFT_ == OURO_PLACE_SHIFT,
               "ouro_layout.h");

static ouro_turn_ no_turns[TURNS];
enum { PLACES = 2 * OURO_PLACE_COUNT };
static ouro_place no_places[PLACES] = {[0 ... PLACES - 1] = {OURO_NO_WAY_, 0}};

struct ouro__slab {
    struct ouro__slab *older;
    size_t used, reserved;         // cells
    ouro_known_ cells[SLAB_CELLS]; // the last SLACK of them stay empty
};

_Static_assert(offsetof(ouro_here, known) == CELL && offsetof(struct ouro__slab, cells) == CELL,
               "a beginning is a cell");

// The root has as many as there can be, and so have [lost] and accounts, where the code of any
// block may run.
static uint32_t entries_for(const ouro__lane *lane, const ouro_node_ *node) {
    if (!ouro__block_exists(lane->profile, node->block)) return OURO_SITES_MOST;
    return ouro__block_sites(lane->profile, node->block);
}

static bool slab_new(ouro__lane *lane) {
    struct ouro__slab *slab = calloc(1, sizeof *slab);
    if (!slab) return false;
    slab->older = lane->slab;
    lane->slab = slab;
    return true;
}

static ouro_here *take(ouro__lane *lane, uint32_t count) {
    ouro_here *here = lane->free_heres[count];
    if (here) {
        lane->free_heres[count] = here->next;
        return here;
    }
    struct ouro__slab *slab = lane->slab;
    if (!slab || slab->used + 1 + count + SLACK > SLAB_CELLS) {
        if (!slab_new(lane)) return NULL;
        slab = lane->slab;
    }
    here = (ouro_here *)(void *)(slab->cells + slab->used);
    slab->used += 1 + count;
    here->count = count;
    return here;
}

// NULL without memory. The lock, because another lane may be clearing keys.
ouro_here *ouro__here_make(ouro__lane *lane, ouro_position position) {
    ouro_node_ *node = node_at(lane, position);
    pthread_mutex_lock(&lane->lock);
    ouro_here *here = take(lane, entries_for(lane, node));
    if (here) {
        here->node = node;
        here->position = position;
        *ouro__here_at(lane, position) = here;
    }
    pthread_mutex_unlock(&lane->lock);
    return here;
}

ouro_here *ouro__here_lost(ouro__lane *lane) {
    lane->lost.here.node = node_at(lane, lost_position(lane));
    lane->lost.here.position = lost_position(lane);
    return &lane->lost.here;
}

ouro_here *ouro_thread_here(ouro_thread *thread) {
    ouro_here *here = ouro__here_of(lane_of(thread), thread->position_);
    return here ? here : ouro__here_lost(lane_of(thread));
}

// The node, or account, is not in use any more. Its address stays: a token that should be gone
// leads to a node still.
void ouro__here_give_back(ouro__lane *lane, ouro_position position) {
    ouro_here **at = ouro__here_at(lane, position), *here = *at;
    if (!here) return;
    here->next = lane->free_heres[here->count];
    lane->free_heres[here->count] = here;
    *at = NULL;
}

void ouro__turns_start(ouro__lane *lane) {
    lane->head.turns = no_turns;
    lane->head.recalls = RECALLS;
    lane->head.places = no_places;
}

void ouro_thread_hasten(ouro_thread *thread) {
    if (!thread || thread->lane_->has_places) return;
    ouro_place *places = calloc(PLACES, sizeof *places);
    ouro__lane *lane = lane_of(thread);
    if (!places) return;
    for (int i = 0; i < PLACES; i++) places[i].way = OURO_NO_WAY_;
    pthread_mutex_lock(&lane->lock);
    lane->head.places = places;
    lane->head.has_places = true;
    pthread_mutex_unlock(&lane->lock);
}

// The lock, because another lane may be clearing them. Without memory there are none.
static void make_turns(ouro__lane *lane) {
    ouro_turn_ *turns = calloc(TURNS, sizeof *turns);
    if (!turns) return;
    pthread_mutex_lock(&lane->lock);
    lane->head.turns = turns;
    pthread_mutex_unlock(&lane->lock);
}

// Where what a site knew goes when it learns something else, and what has no site at all.
static void remember(ouro_thread *thread, const ouro_here *here, const ouro_known_ *known) {
    ouro__lane *lane = lane_of(thread);
    if (lane->head.turns == no_turns) make_turns(lane);
    if (lane->head.turns == no_turns) return;
    ouro_turn_ *turn = ouro_turn_at_(thread, here, known->key);
    turn->key = known->key;
    turn->counter = known->counter;
    turn->to = known->to;
    __atomic_store_n(&turn->from, here, __ATOMIC_RELAXED);
}

void ouro__site_put(ouro_thread *thread, ouro_here *here, ouro_site site, const void *key,
                    uint64_t *counter, ouro_here *to) {
    ouro_known_ fresh = {key, counter, to}, *known = here->known + site;
    if (!thread->lane_->recalls) thread->lane_->recalls = RECALLS;
    if (site >= here->count) {
        remember(thread, here, &fresh);
        return;
    }
    ouro_known_ before = {__atomic_load_n(&known->key, __ATOMIC_RELAXED), known->counter,
                          known->to};
    if (before.key && before.key != key) remember(thread, here, &before);
    known->counter = counter;
    known->to = to;
    __atomic_store_n(&known->key, key, __ATOMIC_RELAXED);
}

static void forget(ouro_here *here) {
    for (size_t i = 0; i < here->count; i++)
        __atomic_store_n(&here->known[i].key, NULL, __ATOMIC_RELAXED);
}

// The owner may be reading, and writing what it learns meanwhile: either is as good.
void ouro__sites_forget(ouro__lane *lane) {
    for (struct ouro__slab *slab = lane->slab; slab; slab = slab->older)
        for (size_t cell = 0; cell < slab->used;) {
            ouro_here *here = (ouro_here *)(void *)(slab->cells + cell);
            forget(here);
            cell += 1 + here->count;
        }
    for (int i = 0; lane->head.turns != no_turns && i < TURNS; i++)
        __atomic_store_n(&lane->head.turns[i].from, NULL, __ATOMIC_RELAXED);
    for (int i = 0; lane->head.has_places && i < PLACES; i++)
        __atomic_store_n(&lane->head.places[i].way, OURO_NO_WAY_, __ATOMIC_RELAXED);
}

uint64_t ouro__sites_bytes(const ouro__lane *lane) {
    uint64_t bytes = 0;
    for (struct ouro__slab *slab = lane->slab; slab; slab = slab->older) bytes += sizeof *slab;
    if (lane->head.turns != no_turns) bytes += TURNS * sizeof *lane->head.turns;
    if (lane->head.has_places) bytes += PLACES * sizeof *lane->head.places;
    return bytes;
}

void ouro__sites_free(ouro__lane *lane) {
    if (lane->head.turns != no_turns) free(lane->head.turns);
    if (lane->head.has_places) free(lane->head.places);
    for (struct ouro__slab *slab = lane->slab, *older; slab; slab = older) {
        older = slab->older;
        free(slab);
    }
}
