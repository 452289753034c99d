// SPDX-License-Identifier: MIT
//
// What call sites know and count (ouro_site.h). A `here` stands for one node: its address, then
// what each call site of its block remembers. Tokens are such addresses, so a `here` stays where it
// is as long as its node is in use. It is made when it is first needed, in slabs of the lane, which
// stand in the live file if there is one:
//
//     | slab | here of a node | here of another | ...  up to slab->used | slack for one more |
//
// A slab is made of cells of the size of an entry, and a `here` begins with one. So a site number
// that the block does not have is read in a cell, too: an entry of another node, or the beginning
// of a `here`, which fits no key. What it would count there is a counter, too.
//
// OURO_UNCOUNTED_ in a counter is for who goes by without asking for a key. It is where sites do
// not count, as in [lost] and in accounts; in a fixed site as long as its key is not known; in what
// is no entry. An entry with it may have counted what its slot says, but without a slot nothing.
//
// Gains. An entry counts how often code went by. That stands for three numbers of nodes: the calls
// of the transition, what the block is charged for it, and how often it was left. A reader adds
// them to what the nodes have, and `fold` moves them there. The owner of the lane folds those of a
// node before one of its sites gets another transition, and all before a pruning. A reader of the
// live file must not see half of that: the lane's sequence is odd meanwhile. What a kill leaves is
// in the journal of ouro__lane_state.
//
// A site that enters several blocks at one node knows one of them. When it learns another, the one
// before goes to the lane's turns, a direct-mapped cache by node and key. A lane whose sites do not
// do that has a table that is empty and shared. Now and then a site is offered what was recalled.
// If what it knows was not used since the last offer, it takes it at once. Else, with each time
// that it has, it takes twice as long until the next: readers of the live file need time between.
// A site that has changed often enough gets a table: a `here` more of its node, whose entries mean
// what the site means. Which of them knows a key follows from the key. The entry of the site has no
// slot and leads to the table, also while its key is forgotten.
//
// Everything is forgotten at once, by clearing the keys: when a pruning has removed nodes, and when
// another lane asks for room, so that this one looks up. Counts stay.

#include "blocks.h"
#include "live_format.h"
#include "ouro_layout.h"

#include <stdlib.h>

enum { CELL = sizeof(ouro_known_), SLACK = OURO_SITES_MOST };
enum { SLAB_CELLS = 2047, SLAB_CELLS_FIRST = 255 }; // with the beginning: whole pages
enum { TURNS = 1 << OURO_TURN_BITS_, RECALLS = 32, LEARNED_MOST = 15 };
// A table after so many changes; how many there may be, of any number of nodes and in all.
enum { TABLE_AFTER = 2, TABLE = 1 << OURO_TABLE_BITS_, NODES_OF_TABLE = 4, TABLES_ALWAYS = 64 };

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
    uint64_t used;       // cells
    uint32_t size;       // the last SLACK of them stay empty
    uint32_t is_in_file; // and not to be freed
    uint64_t reserved;
    ouro_known_ cells[]; // live_format.h says what a reader finds here
};

_Static_assert(offsetof(ouro_here, known) == CELL && sizeof(struct ouro__slab) == CELL,
               "a beginning is a cell");
_Static_assert(offsetof(ouro_here, left) == offsetof(ouro_known_, count),
               "what a wrong number counts is a counter");

// ---------------------------------------------------------------- gains

typedef void here_visitor(ouro__lane *lane, ouro_here *here, void *user);

static void each_here(ouro__lane *lane, here_visitor *visit, void *user) {
    for (struct ouro__slab *slab = lane->slab; slab; slab = slab->older)
        for (uint64_t cell = 0; cell < slab->used;) {
            ouro_here *here = (ouro_here *)(void *)(slab->cells + cell);
            visit(lane, here, user);
            cell += 1 + (uint64_t)here->room;
        }
}

// A reader that finds the journal active takes these values, and nothing of the entry.
static void journal_begin(ouro__lane *lane, const ouro_here *here, const ouro_known_ *known,
                          uint64_t n) {
    ouro__lane_state *state = lane->state;
    uint64_t charged = n * ouro__site_charge(known);
    state->node = known->slot;
    state->account = here->position;
    state->site = (uint32_t)(known - here->known) | (uint32_t)here->table << 8;
    counter_store(&state->entries[0], counter_load(lane->nodes + known->slot) + n);
    counter_store(&state->metrics[0], counter_load(here->node->metrics) + charged);
    __atomic_store_n(&state->active, LANE_FOLDS, __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static void entry_fold(ouro__lane *lane, ouro_here *here, ouro_known_ *known) {
    uint64_t n = ouro__site_counted(counter_load(&known->count), known->slot);
    uint32_t charge = ouro__site_charge(known);
    if (!n) return;
    journal_begin(lane, here, known, n);
    if (known->slot) ouro_add_(lane->nodes + known->slot, n);
    if (charge) ouro_add_(here->node->metrics, n * charge);
    if (known->means & 1) ouro_add_(&here->node->balance, -n);
    counter_store(&known->count, counter_load(&known->count) & OURO_UNCOUNTED_);
    __atomic_store_n(&lane->state->active, 0, __ATOMIC_RELEASE);
}

static void fold(ouro__lane *lane, ouro_here *here, void *user) {
    for (uint32_t i = 0; i < here->sites; i++) entry_fold(lane, here, here->known + i);
    ouro_add_(&here->node->balance, -(counter_load(&here->left) & ~OURO_UNCOUNTED_));
    counter_store(&here->left, OURO_UNCOUNTED_);
    (void)user;
}

static void here_fold(ouro__lane *lane, ouro_here *here) {
    lane_moves(lane, true);
    fold(lane, here, NULL);
    lane_moves(lane, false);
}

// The caller holds the lane's lock, and is its owner or knows that there is none.
void ouro__sites_fold(ouro__lane *lane) {
    if (!lane->slab) return;
    lane_moves(lane, true);
    each_here(lane, fold, NULL);
    lane_moves(lane, false);
}

typedef struct {
    ouro__gain *gain;
    void *user;
} gains;

static void visit_gains(ouro__lane *lane, ouro_here *here, void *user) {
    const gains *all = user;
    for (uint32_t i = 0; i < here->sites; i++) {
        const ouro_known_ *known = here->known + i;
        uint32_t slot = __atomic_load_n(&known->slot, __ATOMIC_ACQUIRE);
        uint64_t count = __atomic_load_n(&known->count, __ATOMIC_ACQUIRE);
        uint64_t n = ouro__site_counted(count, slot), charge = ouro__site_charge(known);
        slot = __atomic_load_n(&known->slot, __ATOMIC_RELAXED);
        if (n && slot) all->gain(all->user, slot_position(slot), slot & 3, n);
        if (n && charge) all->gain(all->user, here->position, ENTRY_KINDS, n * charge);
    }
    (void)lane;
}

// What nodes do not have yet. The caller holds the lane's lock.
void ouro__sites_visit(const ouro__lane *lane, ouro__gain *gain, void *user) {
    each_here((ouro__lane *)lane, visit_gains, &(gains){gain, user});
}

// ---------------------------------------------------------------- making them

static bool is_of_any_block(const ouro__lane *lane, const ouro_node_ *node) {
    return node->block == OURO_LOST || node->block == OURO_PRUNED ||
           !ouro__block_exists(lane->profile, node->block);
}

// The root has as many as there can be, and so have [lost] and accounts, where the code of any
// block may run. But no site of these two knows anything: what it means depends on the block.
static uint32_t entries_for(const ouro__lane *lane, const ouro_node_ *node,
                            const ouro_site_info **infos) {
    *infos = NULL;
    if (is_of_any_block(lane, node)) return OURO_SITES_MOST;
    return ouro__sites_of_block(lane->profile, node->block, infos);
}

static struct ouro__slab *slab_alloc(const ouro__lane *lane, size_t bytes) {
    uint64_t offset;
    struct ouro__slab *slab = NULL;
    if (lane->profile->live)
        slab = ouro__live_add_part(lane->profile->live, lane, LIVE_SITES, 0, bytes, &offset);
    if (slab) slab->is_in_file = 1;
    return slab ? slab : calloc(1, bytes);
}

static void cell_clear(ouro_known_ *cell) {
    cell->key = OURO_NO_KEY_;
    cell->count = OURO_UNCOUNTED_;
}

static bool slab_new(ouro__lane *lane) {
    uint32_t size = lane->slab ? 2 * (lane->slab->size + 1) - 1 : SLAB_CELLS_FIRST;
    if (size > SLAB_CELLS) size = SLAB_CELLS;
    struct ouro__slab *slab = slab_alloc(lane, (1 + (size_t)size) * CELL);
    if (!slab) return false;
    for (uint32_t i = 0; i < size; i++) cell_clear(&slab->cells[i]);
    slab->size = size;
    slab->older = lane->slab;
    lane->slab = slab;
    return true;
}

// Of the list of those that were given back. What misuse has counted there meanwhile is folded.
static ouro_here *take_again(ouro__lane *lane, uint32_t room) {
    ouro_here *here = lane->free_heres[room];
    if (!here) return NULL;
    lane->free_heres[room] = here->next;
    here_fold(lane, here);
    return here;
}

// A reader of the live file looks at what is below `used`. Where the file has no more space,
// nothing may be counted beside it.
static ouro_here *take(ouro__lane *lane, uint32_t room) {
    struct ouro__slab *slab = lane->slab;
    if (!slab || slab->used + 1 + room + SLACK > slab->size) {
        if (!slab_new(lane)) return NULL;
        slab = lane->slab;
    }
    ouro_here *here = (ouro_here *)(void *)(slab->cells + slab->used);
    here->room = (uint8_t)room;
    here->is_seen = slab->is_in_file || !ouro__live_has_file(lane->profile->live);
    __atomic_store_n(&slab->used, slab->used + 1 + room, __ATOMIC_RELEASE);
    return here;
}

static uint32_t meaning_of(const ouro_site_info *info) {
    return (info->fixed ? OURO_FIXED_ : 0) | info->charge << 1 | info->leaves;
}

static void here_begin(ouro__lane *lane, ouro_here *here, ouro_position position,
                       const ouro_site_info *infos) {
    ouro_node_ *node = node_at(lane, position);
    bool any = is_of_any_block(lane, node);
    here->node = node;
    here->position = position;
    here->offers = (ouro_offers_){0, 0, 0};
    here->table = 0;
    bool counts = (!any || position == ROOT_POSITION) && here->is_seen;
    here->sites = counts ? here->room : 0;
    for (uint32_t i = 0; i < here->room; i++) {
        here->known[i].slot = 0;
        bool fixed = infos && infos[i].fixed;
        here->known[i].to = fixed ? here : ouro__here_lost(lane); // for who goes there by misuse
        here->known[i].count = counts && !fixed ? 0 : OURO_UNCOUNTED_;
        here->known[i].means = infos ? meaning_of(infos + i) : 0;
    }
}

static ouro_here *take_any(ouro__lane *lane, uint32_t room) {
    ouro_here *here = take_again(lane, room);
    return here ? here : take(lane, room);
}

// NULL without memory. The lock, because another lane may be clearing keys.
ouro_here *ouro__here_make(ouro__lane *lane, ouro_position position) {
    pthread_mutex_lock(&lane->lock);
    const ouro_site_info *infos;
    uint32_t room = entries_for(lane, node_at(lane, position), &infos);
    ouro_here *here = take_any(lane, room);
    if (here) {
        here_begin(lane, here, position, infos);
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

static void give_back(ouro__lane *lane, ouro_here *here) {
    here->next = lane->free_heres[here->room];
    lane->free_heres[here->room] = here;
}

// The node, or account, is not in use any more. Its address stays: a token that should be gone
// leads to a node still.
void ouro__here_give_back(ouro__lane *lane, ouro_position position) {
    ouro_here **at = ouro__here_at(lane, position), *here = *at;
    if (!here) return;
    for (uint32_t i = 0; i < here->sites; i++) {
        if (!ouro__site_has_table(here->known + i)) continue;
        give_back(lane, here->known[i].to);
        here->known[i].to = ouro__here_lost(lane);
        lane->tables--;
    }
    give_back(lane, here);
    *at = NULL;
}

void ouro__sites_start(ouro__lane *lane) {
    lane->lost.here.left = OURO_UNCOUNTED_;
    cell_clear(lane->lost.here.known);
    for (int i = 0; i < OURO_SITES_MOST - 1; i++) cell_clear(&lane->lost.none[i]);
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
    turn->counter = lane->nodes + known->slot;
    turn->to = known->to;
    __atomic_store_n(&turn->from, here, __ATOMIC_RELAXED);
}

bool ouro__hasty_sites;

static bool is_offered(ouro_lane_ *lane) {
    if (ouro__hasty_sites) return true;
    if (lane->recalls > 1) {
        lane->recalls--; // the lane did not remember it
        return false;
    }
    lane->recalls = RECALLS;
    return true;
}

// Atomic, because a fork(2) of another OS thread copies the live file at any time.
static void offers_store(ouro_here *here, ouro_offers_ offers) {
    __atomic_store_n(&here->offers.learned, offers.learned, __ATOMIC_RELAXED);
    __atomic_store_n(&here->offers.refused, offers.refused, __ATOMIC_RELAXED);
    __atomic_store_n(&here->offers.seen, offers.seen, __ATOMIC_RELAXED);
}

// A site that has counted another transition has to be folded. May it be now?
static bool may_learn(ouro_here *here, ouro_site site) {
    if (ouro__hasty_sites) return true;
    ouro_offers_ offers = here->offers;
    uint32_t seen = (uint32_t)counter_load(&here->known[site].count) << 6 | site;
    bool idle = seen == offers.seen, learns = idle;
    offers.seen = seen;
    if (!idle && ++offers.refused >= UINT32_C(1) << offers.learned) {
        offers.refused = 0;
        if (offers.learned < LEARNED_MOST) offers.learned++;
        learns = true;
    }
    offers_store(here, offers);
    return learns;
}

// The slot comes before anything is counted in it, which is done by who has seen the key, or that
// the count of a fixed site is one.
static void learn(ouro_known_ *known, const ouro_known_ *fresh) {
    __atomic_store_n(&known->to, fresh->to, __ATOMIC_RELAXED);
    __atomic_store_n(&known->slot, fresh->slot, __ATOMIC_RELAXED);
    __atomic_store_n(&known->key, fresh->key, __ATOMIC_RELEASE);
    if (known->means & OURO_FIXED_)
        __atomic_store_n(&known->count, counter_load(&known->count) & ~OURO_UNCOUNTED_,
                         __ATOMIC_RELEASE);
}

// The caller holds the lane's lock.
static ouro_here *new_table(ouro__lane *lane, const ouro_here *here, ouro_site site) {
    if (lane->tables >= TABLES_ALWAYS + lane->live / NODES_OF_TABLE) return NULL;
    ouro_here *table = take_any(lane, TABLE);
    if (!table) return NULL;
    const ouro_known_ *known = here->known + site;
    ouro_site_info info = {ouro__site_charge(known), known->means & 1, false}, all[TABLE];
    for (int i = 0; i < TABLE; i++) all[i] = info;
    here_begin(lane, table, here->position, all);
    if (!table->is_seen) {
        give_back(lane, table);
        return NULL;
    }
    table->table = (uint8_t)(site + 1);
    lane->tables++;
    return table;
}

static void fold_now(ouro__lane *lane, ouro_here *here) {
    pthread_mutex_lock(&lane->lock);
    here_fold(lane, here);
    pthread_mutex_unlock(&lane->lock);
}

static ouro_known_ transition_of(const ouro_known_ *known) {
    ouro_key key = __atomic_load_n(&known->key, __ATOMIC_RELAXED);
    return (ouro_known_){.key = key, .to = known->to, .slot = known->slot};
}

// What the site knows is the first in the table. Without memory nothing changes.
static void make_table(ouro__lane *lane, ouro_here *here, ouro_site site) {
    ouro_known_ *known = here->known + site, before = transition_of(known);
    pthread_mutex_lock(&lane->lock);
    ouro_here *table = new_table(lane, here, site);
    pthread_mutex_unlock(&lane->lock);
    if (!table) return;
    fold_now(lane, here);
    offers_store(here, (ouro_offers_){0, 0, 0});
    if (before.key != OURO_NO_KEY_) learn(table->known + ouro_table_at_(before.key), &before);
    learn(known, &(ouro_known_){.key = OURO_MANY_, .to = table});
}

static bool counts_other(const ouro_here *here, ouro_site site, uint32_t slot) {
    const ouro_known_ *known = here->known + site;
    return known->slot != slot && ouro__site_counted(counter_load(&known->count), known->slot);
}

static void change(ouro_thread *thread, const ouro_here *from, ouro_here *here, ouro_site site,
                   const ouro_known_ *fresh) {
    ouro_known_ before = transition_of(here->known + site);
    if (counts_other(here, site, fresh->slot)) fold_now(lane_of(thread), here);
    if (before.key != OURO_NO_KEY_ && before.key != fresh->key) remember(thread, from, &before);
    learn(here->known + site, fresh);
}

// True if the site may enter several blocks, and has no table for that yet.
static bool may_vary(const ouro_known_ *known) {
    return !(known->means & OURO_FIXED_) && !ouro__site_has_table(known);
}

void ouro__site_put(ouro_thread *thread, ouro_here *here, ouro_site site, ouro_key key,
                    uint32_t slot, ouro_here *to) {
    ouro_known_ fresh = {.key = key, .to = to, .slot = slot}, *known = here->known + site;
    ouro_here *at = here;
    bool offered = is_offered(thread->lane_);
    bool learns = site < here->sites && (slot & 3) != ENTRY_PHANTOM && to->is_seen;
    if (learns && may_vary(known) && counts_other(here, site, slot)) {
        learns = offered && may_learn(here, site);
        if (learns && (here->offers.learned > TABLE_AFTER || ouro__hasty_sites))
            make_table(lane_of(thread), here, site);
    }
    if (learns && ouro__site_has_table(known)) {
        __atomic_store_n(&known->key, OURO_MANY_, __ATOMIC_RELEASE);
        at = known->to;
        site = ouro_table_at_(key);
        learns = !counts_other(at, site, slot) || (offered && may_learn(at, site));
    }
    if (learns)
        change(thread, here, at, site, &fresh);
    else
        remember(thread, here, &fresh);
}

static void forget(ouro__lane *lane, ouro_here *here, void *user) {
    for (size_t i = 0; i < here->room; i++) {
        __atomic_store_n(&here->known[i].key, OURO_NO_KEY_, __ATOMIC_RELAXED);
        if (here->known[i].means & OURO_FIXED_)
            __atomic_fetch_or(&here->known[i].count, OURO_UNCOUNTED_, __ATOMIC_RELAXED);
    }
    (void)lane, (void)user;
}

// The owner may be reading, and writing what it learns meanwhile: either is as good. It may also be
// counting, not atomically: then it does not forget this one, and nothing that it counts is lost.
void ouro__sites_forget(ouro__lane *lane) {
    each_here(lane, forget, NULL);
    for (int i = 0; lane->head.turns != no_turns && i < TURNS; i++)
        __atomic_store_n(&lane->head.turns[i].from, NULL, __ATOMIC_RELAXED);
    for (int i = 0; lane->head.has_places && i < PLACES; i++)
        __atomic_store_n(&lane->head.places[i].way, OURO_NO_WAY_, __ATOMIC_RELAXED);
}

// ---------------------------------------------------------------- keys

static ouro__meaning *meaning_at(const ouro__keys *keys, ouro_key key) {
    uint32_t at = (uint32_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> 32);
    while (keys->entries[at % keys->size].key && keys->entries[at % keys->size].key != key) at++;
    return &keys->entries[at % keys->size];
}

static bool keys_reserve(ouro__keys *keys) {
    if (keys->count < keys->size / 2) return true;
    ouro__keys grown = {.size = keys->size ? 2 * keys->size : 64, .count = keys->count};
    grown.entries = calloc(grown.size, sizeof *grown.entries);
    if (!grown.entries) return false;
    for (uint32_t i = 0; i < keys->size; i++) {
        if (keys->entries[i].key) *meaning_at(&grown, keys->entries[i].key) = keys->entries[i];
    }
    free(keys->entries);
    *keys = grown;
    return true;
}

// An address that comes with another block than before is another function's now, and sites know it
// still. Without memory it is not noticed.
void ouro__key_check(ouro__lane *lane, ouro_key key, ouro_block block) {
    if (!key || !keys_reserve(&lane->keys)) return;
    ouro__meaning *meaning = meaning_at(&lane->keys, key);
    if (meaning->key && meaning->block != block) {
        MISUSE("a key means another block than before: its memory was used again");
        pthread_mutex_lock(&lane->lock);
        ouro__sites_forget(lane);
        pthread_mutex_unlock(&lane->lock);
    }
    if (!meaning->key) lane->keys.count++;
    *meaning = (ouro__meaning){key, block};
}

uint64_t ouro__sites_bytes(const ouro__lane *lane) {
    uint64_t bytes = 0;
    for (const struct ouro__slab *slab = lane->slab; slab; slab = slab->older)
        bytes += (1 + (uint64_t)slab->size) * CELL;
    bytes += lane->keys.size * sizeof *lane->keys.entries;
    if (lane->head.turns != no_turns) bytes += TURNS * sizeof *lane->head.turns;
    if (lane->head.has_places) bytes += PLACES * sizeof *lane->head.places;
    return bytes;
}

void ouro__sites_free(ouro__lane *lane) {
    free(lane->keys.entries);
    if (lane->head.turns != no_turns) free(lane->head.turns);
    if (lane->head.has_places) free(lane->head.places);
    for (struct ouro__slab *slab = lane->slab, *older; slab; slab = older) {
        older = slab->older;
        if (!slab->is_in_file) free(slab);
    }
}
