// SPDX-License-Identifier: MIT
//
// The recorder's data, for all files of this folder.
//
// A profile owns blocks and lanes. A lane is one tree, written by one OS thread at a time.
//
//   lane->nodes    one array of 64-bit words that never moves: address space for the whole cap
//                  is reserved when the lane is made (in steps under `ulimit -v`, see space.c), so
//                  a position (a word offset) stays good for ever, also in the hands of a signal
//                  handler.
//
//     |<---------- capacity nodes ---------->|<--------- capacity accounts --------->|
//     | root | [lost] | node | node | ...    | of root |   -   | of node | ...        |
//
//   node           `stride` words, see ouro_node_ in ouro.h. A multiple of 4 words, so that a
//                  slot (the word offset of a counter) tells its node: slot & ~3.
//   account        the [pruned] account of the node at `position - account_offset`. A node-shaped
//                  record in the second half, in use (block = OURO_PRUNED) from the first thing
//                  charged to it. Accounts need no allocation, so there is always somewhere to
//                  stand, and they do not count as nodes.
//   memo           (position, block) -> slot. The last transition is in the node, all are in the
//                  lane's table.
//   shortcuts      a direct-mapped cache of transitions that were taken lately, so that a function
//                  that calls many others does not have to search. Made when a lane has missed it
//                  often enough.
//   turns          what call sites knew before they learned something else: a direct-mapped cache
//                  by node and key, see sites.c
//   gain           what call sites have counted and nodes do not have yet. A counter's value is
//                  what its node has and its gains; who reads a lane adds them (ouro__sites_visit),
//                  who changes its shape folds them into the nodes first (ouro__sites_fold)
//   transition     tree edge (slot: entries[0]), back edge (entries[1]), back edge to itself
//                  (entries[2]), phantom (balance)
//   open           entries[0] + [1] + [2] + balance > 0: entered more often than left. Fork counts
//                  as a phantom entry, as does standing somewhere after a spawn.
//   epoch          what stood between two prunings; a node remembers in which it was inserted
//   baseline       the counters as they were at the last reset, see reset.c; a node has counted the
//                  difference (since_reset). `open` is told by the counters themselves
//   slice          a stretch of the lane's run, see slices.h: what the counters gained meanwhile
//   stray          what misuse charged to a place that is not in use; counts as [lost], see stray.c
//   quota          profile->nodes_used, shared by all lanes; every node but [lost] and the second
//                  and further roots takes one
//
// Invariants (valid.c checks them, after every pruning in builds with assertions):
//   - nodes in use have block != 0 and a parent in use; the root's block is ROOT_BLOCK
//   - every node in use but the root and [lost] is found by (parent, block) in the memo table
//   - a memo's target is in use, and its block is the block that was entered; a tree edge's target
//     has the source as parent, any other target is the source or an ancestor of it
//   - a shortcut is a transition of the memo table, and so are what a call site knows and a turn
//   - an account in use belongs to a node in use
//   - lane->live = number of nodes in use, [lost] not counted; the other places up to state->used
//     are in the free list
//
// Locks, outermost first: fork_lock (atfork.c); profile->lock (blocks, list of lanes); lane->lock
// (the shape of the tree; the hot path does not take it); live->lock (space in the file);
// space->lock (address space).
// Counters are read without any: they are aligned words with one writer.

#ifndef OURO_INTERNAL_H
#define OURO_INTERNAL_H

#include "ouro.h"
#include "ouro_site.h"
#include "rows.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

enum {
    NODE_HEAD_WORDS = 7, // of ouro_node_, before the metrics
    NODE_WORDS_MOST = (NODE_HEAD_WORDS + OURO_METRICS_MAX + 3) / 4 * 4,
    LOOKBACK = 4096,                    // compaction looks at so many nodes of a path at most
    WEIGHTS_MAX = 1 + OURO_METRICS_MAX, // calls, then the metrics: what heat is made of
    FIRST_USER_BLOCK = 3,
    BLOCK_CHUNKS = 22,
    BLOCK_CHUNK_FIRST = 1024,
    EPOCHS_MAX = 1024
};

#define ROOT_BLOCK UINT32_MAX
#define ROOT_POSITION ((ouro_position)0)
#define DEFAULT_MAX_NODES 1000000u
enum { DEFAULT_SLICES_KEPT = 32, DEFAULT_SLICE_ROWS = 65536, SLICE_NAME_BYTES = 32 };

static inline uint64_t counter_load(const uint64_t *counter) {
    return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

static inline void counter_store(uint64_t *counter, uint64_t value) {
    __atomic_store_n(counter, value, __ATOMIC_RELAXED);
}

// The part of a lane that a reader of the live file needs beside the nodes. Byte
// layout: live_format.h.
typedef struct {
    uint32_t sequence; // odd while a pruning is under way
    uint32_t used;     // nodes 0 .. used-1 have been in use at some time
    // One eviction, or one fold of what a call site has counted. While `active`, a reader does it
    // (again). LANE_EVICTS: the account gets these values, the node and its account are gone.
    // LANE_FOLDS: the counter `node` gets entries[0], metric 0 of the node `account` metrics[0],
    // and its call site `site` has counted nothing. So a kill between any two stores loses and
    // doubles nothing.
    uint32_t active;
    uint32_t node, account;
    uint32_t site;
    uint64_t entries[ENTRY_KINDS], balance, metrics[OURO_METRICS_MAX];
} ouro__lane_state;

enum { LANE_EVICTS = 1, LANE_FOLDS = 2 };

typedef struct {
    uint64_t *entries; // from | slot << 32; 0 = empty (no transition leads to the root)
    uint32_t size, count;
} ouro__memo;

typedef struct {
    ouro_key key; // 0: empty
    ouro_block block;
} ouro__meaning;

typedef struct {
    ouro__meaning *entries; // a hash table, at most half full
    uint32_t size, count;
} ouro__keys;

// What stood when an epoch began.
typedef struct {
    uint64_t bound[WEIGHTS_MAX];    // no context without a node had more than this
    uint64_t overflow[WEIGHTS_MAX]; // had been charged to accounts directly
} ouro__epoch;

typedef struct {
    ouro_lane_ head; // the shortcuts in use now: the lane's own, or an empty one
    uint64_t *nodes;
    uint64_t *baseline; // the counters at the last reset, in the places of `nodes`; NULL: none yet
    uint32_t *steps;    // number of distinct steps on the path of each node, by index; for `loops`
    bool *back_target;  // a back edge has been made to the node, by index; see unwind.c
    ouro__memo memo;
    ouro_shortcuts_ *own_shortcuts; // NULL: none yet
    uint32_t shortcuts_missed;      // since they were made or grew
    // What call sites know; see sites.c.
    ouro_here **heres; // of nodes and accounts; see ouro__here_at
    struct ouro__slab *slab;
    ouro_here *free_heres[OURO_SITES_MOST + 1]; // lists by number of entries
    uint32_t tables;                            // of sites that enter many blocks
    ouro__keys keys;                            // that are addresses, and what they mean
    struct {
        ouro_here here;
        ouro_known_ none[OURO_SITES_MOST - 1];
    } lost; // of [lost], where there is no memory for another
    ouro_profile *profile;
    uint32_t stride;         // words per node
    uint32_t account_offset; // words from a node to its account
    uint32_t mapped; // nodes whose memory may be used: all, or what file and address space have
    uint32_t baseline_mapped; // of these, those whose baseline is in the live file
    uint32_t live;            // nodes in use
    uint32_t free_list; // position of a node that was evicted, linked through `parent`; 0 = none
    uint32_t threads;   // not yet freed,
    ouro_thread *first; // and their list
    uint32_t id;
    pthread_mutex_t lock;
    ouro__lane_state *state; // in the live file, or &own_state
    ouro__lane_state own_state;
    size_t region_bytes;

    // The cap; see prune.c and quota.c.
    _Atomic bool asked; // to give up some nodes: another lane, below its fair share, has no room
    bool has_accounts;  // some account has been in use
    bool full;          // new contexts go to accounts until the next pruning
    uint32_t misses;    // nodes wanted since the last pruning
    uint64_t evicted;   // nodes since the last reset, over and over
    uint16_t *birth;    // epoch of each node, by index; NULL until the first pruning
    ouro__epoch *epochs;
    uint32_t epoch_count;
    uint64_t folded[WEIGHTS_MAX]; // moved from nodes into accounts; what else they have overflowed

    struct ouro__slices *slices; // NULL: none yet; see slices.h

    // `cycles` only: the blocks of the path to trail_leaf, its last ones, root first;
    // see compaction.c.
    uint32_t *trail;
    uint32_t trail_length;
    ouro_position trail_leaf;
} ouro__lane;

typedef struct {
    char *text;
    size_t used, size;
} ouro__text_chunk;

typedef struct {
    const ouro_site_info *infos; // NULL: only their number is known
    uint32_t count;              // with 1 added; 0: nothing was said of them
} ouro__block_sites;

struct ouro_profile {
    pthread_mutex_t lock;
    int compaction, edge_length;
    ouro_clock_options clock;
    uint32_t max_nodes, capacity, stride;
    uint32_t metric_count;
    ouro_metric_info metrics[OURO_METRICS_MAX];
    ouro_metric shown_metric;
    ouro_slice_options slices; // with its defaults
    // Of the last reset, or of the beginning. Nanoseconds: since 1970, CLOCK_MONOTONIC.
    uint64_t start_time, start_clock;
    _Atomic bool enabled;

    _Atomic uint32_t block_count;
    ouro_block_info *chunks[BLOCK_CHUNKS];          // chunk k holds BLOCK_CHUNK_FIRST << k blocks
    ouro__block_sites *_Atomic sites[BLOCK_CHUNKS]; // and their call sites; NULL: nothing was said
    ouro__text_chunk *texts;
    size_t text_chunks, text_bytes;
    // What stacks showed. A chunk is made when one of its blocks recursed, and is a part of the
    // live file if bit k of noted_in_file is set. occurrences: scratch, zeros.
    ouro__noted *noted[BLOCK_CHUNKS];
    uint32_t noted_in_file;
    uint32_t *occurrences, occurrence_room;

    ouro__lane **lanes;
    uint32_t lane_count, lane_room;
    _Atomic uint32_t nodes_used; // the quota, root included
    _Atomic bool waiting;        // a lane below its fair share finds no room

    struct ouro__live *live;       // NULL: memory only
    struct ouro__space *space;     // NULL: address space is not limited
    ouro_profile *next, *previous; // all profiles, for fork(2)
};

static inline ouro__lane *lane_of(const ouro_thread *thread) {
    return (ouro__lane *)(void *)thread->lane_;
}

static inline ouro_node_ *node_at(const ouro__lane *lane, ouro_position position) {
    return (ouro_node_ *)(void *)(lane->nodes + position);
}

static inline ouro_position lost_position(const ouro__lane *lane) { return lane->stride; }

static inline bool is_account(const ouro__lane *lane, ouro_position position) {
    return position >= lane->account_offset;
}

// The number of a node, by which arrays beside the nodes are indexed. Accounts have none.
static inline uint32_t index_of(const ouro__lane *lane, ouro_position position) {
    assert(!is_account(lane, position));
    return position / lane->stride;
}

static inline ouro_position account_of(const ouro__lane *lane, ouro_position position) {
    return position + lane->account_offset;
}

// By position / 4, which a shift does; a node has at least eight words.
static inline ouro_here **ouro__here_at(const ouro__lane *lane, ouro_position position) {
    return lane->heres + position / 4;
}

static inline ouro_position slot_position(uint32_t slot) { return slot & ~UINT32_C(3); }

// How often a node is open, when all gains are folded; below 0 after an exit too many.
static inline int64_t node_open(const ouro_node_ *node) {
    uint64_t entries = 0;
    for (int i = 0; i < ENTRY_KINDS; i++) entries += counter_load(&node->entries[i]);
    return (int64_t)(entries + counter_load(&node->balance));
}

static inline bool node_is_open(const ouro_node_ *node) { return node_open(node) > 0; }

// Says to readers of the live file that counts begin or end to move: the sequence is odd meanwhile.
static inline void lane_moves(ouro__lane *lane, bool begins) {
    ouro__lane_state *state = lane->state;
    assert((state->sequence & 1) != begins);
    __atomic_store_n(&state->sequence, state->sequence + 1, __ATOMIC_SEQ_CST);
    (void)begins;
}

// The place of a row's value among the words of a node.
static inline uint32_t value_word(uint32_t value) {
    return value < ENTRY_KINDS ? value : NODE_HEAD_WORDS + value - ENTRY_KINDS;
}

// What a counter of a node has gained since the last reset: what it counts, for all who read it.
static inline uint64_t since_reset(const ouro__lane *lane, const uint64_t *counter) {
    uint64_t value = counter_load(counter);
    return lane->baseline ? value - counter_load(lane->baseline + (counter - lane->nodes)) : value;
}

static inline uint64_t node_calls(const ouro__lane *lane, const ouro_node_ *node) {
    uint64_t calls = 0;
    for (int i = 0; i < ENTRY_KINDS; i++) calls += since_reset(lane, &node->entries[i]);
    return calls;
}

// Weight 0 is calls, weight 1 + m is metric m.
static inline uint64_t node_weight(const ouro__lane *lane, const ouro_node_ *node,
                                   uint32_t weight) {
    return weight == 0 ? node_calls(lane, node) : since_reset(lane, &node->metrics[weight - 1]);
}

// A programming error of the host: stops where assertions are on. Tests that look at what misuse
// does to the lanes go on.
#ifdef OURO_MISUSE_GOES_ON
#define MISUSE(message) ((void)0)
#else
#define MISUSE(message) assert(false && (message))
#endif

// lane.c
ouro__lane *ouro__lane_acquire(ouro_profile *profile);
void ouro__lane_free(ouro__lane *lane);
void ouro__node_init(ouro__lane *lane, ouro_position position, ouro_position parent,
                     ouro_block block);
void ouro__account_open(ouro__lane *lane, ouro_position account);
void ouro__node_forget_memo(ouro__lane *lane, ouro_position position);
uint64_t ouro__lane_bytes(const ouro__lane *lane);

// shortcuts.c
#define NO_SHORTCUT UINT64_C(1) // from position 1, which no node has
void ouro__shortcut_put(ouro__lane *lane, ouro_position from, ouro_block block, uint32_t slot);
void ouro__shortcuts_off(ouro__lane *lane);
void ouro__shortcuts_on(ouro__lane *lane);
void ouro__shortcuts_clear(ouro__lane *lane);
uint64_t ouro__shortcuts_bytes(const ouro__lane *lane);

// sites.c
extern bool ouro__hasty_sites; // for tests: what takes a while happens at once
ouro_here *ouro__here_make(ouro__lane *lane, ouro_position position);
ouro_here *ouro__here_lost(ouro__lane *lane);
void ouro__here_give_back(ouro__lane *lane, ouro_position position);
// What an entry has counted. Who reads while it counts must have read the slot before, because an
// entry that has none counts and takes that back.
static inline uint64_t ouro__site_counted(uint64_t count, uint32_t slot) {
    return count & OURO_UNCOUNTED_ && !slot ? 0 : count & ~OURO_UNCOUNTED_;
}
static inline uint32_t ouro__site_charge(const ouro_known_ *known) {
    return (known->means & ~OURO_FIXED_) >> 1;
}
static inline bool ouro__site_has_table(const ouro_known_ *known) {
    return !known->slot && known->to->table;
}
void ouro__site_put(ouro_thread *thread, ouro_here *here, ouro_site site, ouro_key key,
                    uint32_t slot, ouro_here *to);
void ouro__key_check(ouro__lane *lane, ouro_key key, ouro_block block);
// Of a row of the node at `position`: `value` has n more than the node says.
typedef void ouro__gain(void *user, ouro_position position, uint32_t value, uint64_t n);
void ouro__sites_visit(const ouro__lane *lane, ouro__gain *gain, void *user);
void ouro__sites_fold(ouro__lane *lane);
void ouro__sites_start(ouro__lane *lane);
void ouro__sites_forget(ouro__lane *lane);
uint64_t ouro__sites_bytes(const ouro__lane *lane);
void ouro__sites_free(ouro__lane *lane);

// stray.c
void ouro__strays_move(ouro__lane *lane, ouro_position position);
void ouro__strays_move_all(ouro__lane *lane, uint32_t first, uint32_t end);
uint32_t ouro__strays_end(const ouro_profile *profile);
void ouro__strays_sum(const ouro__lane *lane, uint32_t end, uint64_t *values);
void ouro__strays_reset(ouro__lane *lane, uint32_t end);

// tree.c
uint32_t ouro__transition_find(ouro__lane *lane, ouro_position from, ouro_block block);
uint32_t ouro__transition_try(ouro__lane *lane, ouro_position from, ouro_block block);
bool ouro__place_ready(ouro__lane *lane);
ouro_position ouro__child_add(ouro__lane *lane, ouro_position from, ouro_block block,
                              uint32_t steps);
typedef struct {
    ouro_block block;
    uint32_t steps;
} ouro__path_step;
ouro__path_step *ouro__path_copy(const ouro__lane *lane, ouro_position position, size_t *length);
ouro_position ouro__path_reenter(ouro__lane *lane, const ouro__path_step *path, size_t length);

// compaction.c
ouro_position ouro__compact(ouro__lane *lane, ouro_position from, ouro_block block,
                            uint32_t *steps);
void ouro__trail_extend(ouro__lane *lane, ouro_position from, ouro_position child);

// NULL without memory.
static inline ouro_here *ouro__here_of(ouro__lane *lane, ouro_position position) {
    ouro_here *here = *ouro__here_at(lane, position);
    return here ? here : ouro__here_make(lane, position);
}

// quota.c
bool ouro__quota_take(ouro__lane *lane, ouro_position standing);
void ouro__quota_give(ouro_profile *profile, uint32_t n);
bool ouro__quota_is_easy(ouro__lane *lane);
void ouro__quota_share(ouro__lane *lane, ouro_position standing);

// prune.c
uint32_t ouro__prune(ouro__lane *lane, ouro_position standing, bool evict);
ouro__epoch ouro__lane_bounds(const ouro__lane *lane);
uint64_t ouro__lost_since(const ouro__lane *lane, uint32_t epoch, const ouro__epoch *now,
                          uint32_t weight);

// blocks.c
bool ouro__block_exists(const ouro_profile *profile, ouro_block block);

// profile.c
uint64_t ouro__now(int clock);

// reset.c
void ouro__baseline_free(ouro__lane *lane);
void ouro__baseline_forget(ouro__lane *lane, ouro_position position);
void ouro__node_reset(ouro__lane *lane, ouro_position position);

// slices.c
void ouro__slices_evict(ouro__lane *lane, ouro_position position, ouro_position to);
void ouro__slices_forget(ouro__lane *lane, ouro_position position);
void ouro__slices_reset(ouro__lane *lane);
void ouro__slices_leave(ouro__lane *lane);
uint64_t ouro__slices_bytes(const ouro__lane *lane);
void ouro__slices_free(ouro__lane *lane);

// valid.c
bool ouro__lane_is_valid(const ouro__lane *lane);

// clock.c
void ouro__clocks_lock(bool lock);
void ouro__clocks_forget(void);

// space.c
struct ouro__space *ouro__space_new(const ouro_profile *profile);
void ouro__space_free(struct ouro__space *space);
uint32_t ouro__space_unit(void);
void *ouro__space_map(struct ouro__space *space, bool records_only);
void ouro__space_unmap(struct ouro__space *space, void *base);
uint32_t ouro__space_extent(struct ouro__space *space, uint32_t wanted);
bool ouro__space_is_full(const struct ouro__space *space);

// process.c
uint64_t ouro__process_start(uint64_t process);

// live_write.c
struct ouro__live *ouro__live_create(const ouro_profile *profile, const char *path);
void ouro__live_close(struct ouro__live *live);
bool ouro__live_add_blocks(struct ouro__live *live, ouro_block first, const ouro_block_info *infos,
                           size_t n);
ouro__noted *ouro__live_add_noted(struct ouro__live *live, ouro_block first, uint32_t count);
bool ouro__live_add_lane(struct ouro__live *live, ouro__lane *lane);
bool ouro__live_grow_lane(struct ouro__live *live, ouro__lane *lane);
bool ouro__live_has_file(const struct ouro__live *live);
bool ouro__live_is_full(const struct ouro__live *live);
void *ouro__live_add_part(struct ouro__live *live, const ouro__lane *lane, uint32_t kind,
                          uint32_t part, size_t bytes, uint64_t *offset);
bool ouro__live_grow_baseline(struct ouro__live *live, ouro__lane *lane);
void ouro__live_reset(struct ouro__live *live, uint64_t start_time, bool begin);
uint32_t ouro__live_segment_nodes(uint32_t stride);
void ouro__live_copy(struct ouro__live *live);
void ouro__live_drop_copy(struct ouro__live *live);
void ouro__live_leave(struct ouro__live *);
void ouro__live_detach(struct ouro__live *live);
void ouro__live_lock(struct ouro__live *live, bool lock);

// atfork.c
bool ouro__fork_watch(ouro_profile *profile);
void ouro__fork_forget(ouro_profile *profile);

#endif
