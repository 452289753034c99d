// SPDX-License-Identifier: MIT
//
// The cap: when the tree is full, the colder half of what is not open goes, and its counts go to
// the [pruned] account of the parent. Adaptive lossy counting on inclusive weights.
//
//   weight    calls, and each metric. A node's inclusive weight sums its subtree with all accounts,
//             so an eviction below a node does not change it.
//   bound     per weight: no context that has no node ever had more than this. A node remembers
//             the bound of the epoch in which it was inserted: it may have lost so much before,
//             at most, and no more.
//   estimate  inclusive weight + bound at insertion: at least what the context truly has
//   heat      the largest share that an estimate has of its weight's total; at least the heat of
//             each child. So whole cold subtrees go, and no node goes before its children.
//
// Evicting c loses c's weight, which is at most its estimate, so the new bound is the largest
// estimate evicted, or the old bound. That is the induction behind both promises.
//
// Overflow: if everything is open, what finds no room is charged to the account of the node where
// the thread stands, until it comes back there. It may all have been one context's, so it is added
// to the bound, and to what any resident node may have lost since: another thread may have made
// the node meanwhile, or the path that goes on in the account might have led back to a node above.
//
// Everything is loops over arrays by node index; children come before parents in `order`.

#include "memo.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    uint32_t *order;   // nodes but the root, children before parents
    uint32_t *pending; // children not yet in `order`
    uint64_t *weights; // inclusive, `width` per node
    float *heat;
    unsigned char *open;
    uint64_t *table; // zeroed, for the transitions that remain
    uint32_t count, width;
    uint64_t totals[WEIGHTS_MAX];
    ouro__epoch now; // becomes the new epoch
} pruning;

static void pruning_free(pruning *p) {
    free(p->order);
    free(p->pending);
    free(p->weights);
    free(p->heat);
    free(p->open);
    free(p->table);
}

static bool pruning_alloc(pruning *p, ouro__lane *lane) {
    size_t n = lane->state->used;
    p->width = 1 + lane->profile->metric_count;
    p->order = malloc(n * sizeof *p->order);
    p->pending = calloc(n, sizeof *p->pending);
    p->weights = calloc(n * p->width, sizeof *p->weights);
    p->heat = calloc(n, sizeof *p->heat);
    p->open = calloc(n, sizeof *p->open);
    p->table = calloc(lane->memo.size, sizeof *p->table);
    if (!lane->epochs) {
        lane->epochs = calloc(EPOCHS_MAX, sizeof *lane->epochs);
        if (lane->epochs) lane->epoch_count = 1; // the time before: nothing was ever lost
    }
    // Only with epochs, so that a node that has a birth has an epoch.
    if (!lane->birth && lane->epochs)
        lane->birth = calloc(lane->profile->capacity, sizeof *lane->birth);
    return p->order && p->pending && p->weights && p->heat && p->open && p->table && lane->birth &&
           lane->epochs;
}

static bool in_tree(const ouro__lane *lane, uint32_t index) {
    return index != 1 && node_at(lane, index * lane->stride)->block != 0; // 1 is [lost]
}

static const ouro_node_ *account_in_use(const ouro__lane *lane, ouro_position position) {
    const ouro_node_ *account = node_at(lane, account_of(lane, position));
    return account->block ? account : NULL;
}

static void sum_totals(pruning *p, const ouro__lane *lane) {
    for (uint32_t i = 0; i < lane->state->used; i++) {
        if (!in_tree(lane, i)) continue;
        ouro_position position = i * lane->stride;
        const ouro_node_ *node = node_at(lane, position);
        const ouro_node_ *account = account_in_use(lane, position);
        for (uint32_t w = 0; w < p->width; w++) {
            if (position != ROOT_POSITION || w > 0) p->totals[w] += node_weight(lane, node, w);
            if (account) p->totals[w] += node_weight(lane, account, w);
        }
        if (i > 0) p->pending[index_of(lane, node->parent)]++;
    }
}

static uint64_t node_estimate(const pruning *p, const ouro__lane *lane, uint32_t index,
                              uint32_t weight) {
    return p->weights[(size_t)index * p->width + weight] +
           ouro__lost_since(lane, lane->birth[index], &p->now, weight);
}

static float estimated_share(const pruning *p, const ouro__lane *lane, uint32_t index) {
    double share = 0;
    for (uint32_t w = 0; w < p->width; w++) {
        if (p->totals[w] == 0) continue;
        double estimate = (double)node_estimate(p, lane, index, w);
        if (estimate / (double)p->totals[w] > share) share = estimate / (double)p->totals[w];
    }
    return (float)share;
}

// Adds a node, whose children are done, to its parent.
static void sum_node(pruning *p, const ouro__lane *lane, uint32_t index, uint32_t parent) {
    ouro_position position = index * lane->stride;
    const ouro_node_ *node = node_at(lane, position);
    const ouro_node_ *account = account_in_use(lane, position);
    uint64_t *mine = p->weights + (size_t)index * p->width;
    uint64_t *above = p->weights + (size_t)parent * p->width;
    for (uint32_t w = 0; w < p->width; w++) {
        mine[w] += node_weight(lane, node, w) + (account ? node_weight(lane, account, w) : 0);
        above[w] += mine[w];
    }
    if (node_is_open(node) || (account && node_is_open(account))) p->open[index] = 1;
    if (p->open[index]) p->open[parent] = 1;
    float share = estimated_share(p, lane, index);
    if (share > p->heat[index]) p->heat[index] = share;
    if (p->heat[index] > p->heat[parent]) p->heat[parent] = p->heat[index];
}

// Threads keep their positions, whatever the counts say: a thread may have left frames that it had
// not entered.
static void mark_standing(pruning *p, const ouro__lane *lane, ouro_position position) {
    if (is_account(lane, position)) position -= lane->account_offset;
    uint32_t index = index_of(lane, position);
    if (index < lane->state->used) p->open[index] = 1;
}

// Leaves first, then whatever has no child left to wait for.
static void sum_subtrees(pruning *p, const ouro__lane *lane) {
    for (uint32_t i = 2; i < lane->state->used; i++) {
        if (in_tree(lane, i) && p->pending[i] == 0) p->order[p->count++] = i;
    }
    for (uint32_t head = 0; head < p->count; head++) {
        uint32_t index = p->order[head];
        uint32_t parent = index_of(lane, node_at(lane, index * lane->stride)->parent);
        sum_node(p, lane, index, parent);
        if (--p->pending[parent] == 0 && parent != 0) p->order[p->count++] = parent;
    }
}

static uint32_t heat_key(float heat) {
    uint32_t bits; // of a float that is not negative: ordered like the float
    memcpy(&bits, &heat, sizeof bits);
    return bits;
}

// The key of rank `rank` (from 0) among the nodes that are not open: most significant digit first,
// 11 bits each. Sets *below to the number of keys that are smaller.
static uint32_t select_key(const pruning *p, uint32_t rank, uint32_t *below) {
    static const int shifts[] = {21, 10, -1};
    uint32_t prefix = 0, smaller = 0;
    for (int digit = 0; digit < 3; digit++) {
        uint32_t counts[2048] = {0};
        int shift = shifts[digit] < 0 ? 0 : shifts[digit];
        int bits = shifts[digit] < 0 ? 10 : 11;
        for (uint32_t i = 0; i < p->count; i++) {
            if (p->open[p->order[i]]) continue;
            uint32_t key = heat_key(p->heat[p->order[i]]);
            if (digit > 0 && key >> (shift + bits) != prefix) continue;
            counts[key >> shift & ((1u << bits) - 1)]++;
        }
        uint32_t d = 0;
        while (smaller + counts[d] <= rank) smaller += counts[d++];
        prefix = prefix << bits | d;
    }
    *below = smaller;
    return prefix;
}

// No strays yet: see stray.c.
static void counters_clear(ouro__lane *lane, ouro_position position) {
    ouro_node_ *node = node_at(lane, position);
    for (int i = 0; i < ENTRY_KINDS; i++) counter_store(&node->entries[i], 0);
    for (uint32_t m = 0; m < lane->profile->metric_count; m++) counter_store(&node->metrics[m], 0);
    if (lane->baseline) ouro__baseline_forget(lane, position);
}

// A thread that stands here, by misuse, takes the slow path: there is no such block.
static void memo_to_lost(const ouro__lane *lane, ouro_node_ *node) {
    node->memo_block = UINT32_MAX;
    node->memo_slot = node->memo_target = lost_position(lane);
}

// Moves the counts of a node and of its account into the account of its parent. The result is
// written to the journal, then applied, then the journal is cleared; see ouro__lane_state.
static void evict(ouro__lane *lane, ouro_position position) {
    ouro_node_ *node = node_at(lane, position);
    ouro_node_ *under = node_at(lane, account_of(lane, position));
    ouro_position parent = node->parent;
    ouro_position to = account_of(lane, parent);
    ouro__account_open(lane, to);
    ouro_node_ *account = node_at(lane, to);
    bool has_account = under->block != 0;
    uint32_t metrics = lane->profile->metric_count;
    ouro__lane_state *state = lane->state;

    uint64_t calls = 0;
    for (int i = 0; i < ENTRY_KINDS; i++) {
        uint64_t entries = since_reset(lane, &node->entries[i]);
        if (has_account) entries += since_reset(lane, &under->entries[i]);
        counter_store(&state->entries[i], counter_load(&account->entries[i]) + entries);
        calls += entries;
    }
    // The account is not open by what it takes over.
    counter_store(&state->balance, counter_load(&account->balance) - calls);
    for (uint32_t m = 0; m < metrics; m++) {
        uint64_t count = since_reset(lane, &node->metrics[m]);
        if (has_account) count += since_reset(lane, &under->metrics[m]);
        counter_store(&state->metrics[m], counter_load(&account->metrics[m]) + count);
    }
    state->node = position;
    state->account = to;
    __atomic_store_n(&state->active, LANE_EVICTS, __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);

    for (int i = 0; i < ENTRY_KINDS; i++)
        counter_store(&account->entries[i], counter_load(&state->entries[i]));
    counter_store(&account->balance, counter_load(&state->balance));
    for (uint32_t m = 0; m < metrics; m++)
        counter_store(&account->metrics[m], counter_load(&state->metrics[m]));
    if (lane->slices) ouro__slices_evict(lane, position, to);
    __atomic_store_n(&node->block, 0, __ATOMIC_RELEASE);
    if (has_account) __atomic_store_n(&under->block, 0, __ATOMIC_RELEASE);
    counters_clear(lane, position);
    if (has_account) counters_clear(lane, account_of(lane, position));
    __atomic_store_n(&state->active, 0, __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);

    if (node_at(lane, parent)->memo_target == position) ouro__node_forget_memo(lane, parent);
    memo_to_lost(lane, node);
    memo_to_lost(lane, under);
    ouro__here_give_back(lane, position);
    ouro__here_give_back(lane, account_of(lane, position));
    node->parent = lane->free_list;
    lane->free_list = position;
}

static void evict_coldest(pruning *p, ouro__lane *lane, uint32_t wanted) {
    uint32_t below;
    uint32_t limit = select_key(p, wanted - 1, &below);
    uint32_t ties = wanted - below;
    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t index = p->order[i];
        uint32_t key = heat_key(p->heat[index]);
        if (p->open[index] || key > limit) continue;
        if (key == limit && ties == 0) continue;
        if (key == limit) ties--;
        const ouro_node_ *node = node_at(lane, index * lane->stride);
        for (uint32_t w = 0; w < p->width; w++) {
            uint64_t estimate = node_estimate(p, lane, index, w);
            if (estimate > p->now.bound[w]) p->now.bound[w] = estimate;
            lane->folded[w] += node_weight(lane, node, w);
        }
        evict(lane, index * lane->stride);
    }
}

// Two neighbours as one: the later and larger bound, and the earlier overflow.
static ouro__epoch merged_epoch(const ouro__lane *lane, uint32_t first) {
    ouro__epoch merged = lane->epochs[first + 1 < EPOCHS_MAX ? first + 1 : first];
    memcpy(merged.overflow, lane->epochs[first].overflow, sizeof merged.overflow);
    return merged;
}

// When there is no room for another epoch, each two neighbours become one. The bounds stay safe,
// and most of the epochs that lose precision are old.
static void epoch_begin(ouro__lane *lane, const ouro__epoch *epoch) {
    if (lane->epoch_count == EPOCHS_MAX) {
        // Epoch 0 stays as it is: nothing was lost before it.
        uint32_t kept = 1;
        for (uint32_t e = 1; e < EPOCHS_MAX; e += 2, kept++)
            lane->epochs[kept] = merged_epoch(lane, e);
        for (uint32_t i = 0; i < lane->state->used; i++)
            lane->birth[i] = (uint16_t)((lane->birth[i] + 1) / 2);
        lane->epoch_count = kept;
    }
    lane->epochs[lane->epoch_count++] = *epoch;
}

// Evicts the colder half of what is not open, but never `standing`, and begins an epoch. Without
// `evict` it only begins an epoch. Returns the number of nodes evicted; 0 also if there is no
// memory to do it. The caller holds the lane's lock.
uint32_t ouro__prune(ouro__lane *lane, ouro_position standing, bool evict_now) {
    pruning p = {0};
    lane->misses = 0;
    ouro__sites_fold(lane);
    if (!pruning_alloc(&p, lane)) {
        pruning_free(&p);
        return 0;
    }
    p.now = ouro__lane_bounds(lane);
    sum_totals(&p, lane);
    mark_standing(&p, lane, standing);
    for (const ouro_thread *t = lane->first; t; t = t->next_) mark_standing(&p, lane, t->position_);
    sum_subtrees(&p, lane);
    uint32_t closed = 0;
    for (uint32_t i = 0; i < p.count; i++) closed += !p.open[p.order[i]];
    uint32_t wanted = evict_now ? (closed + 1) / 2 : 0;

    if (wanted) {
        lane_moves(lane, true);
        evict_coldest(&p, lane, wanted);
        lane_moves(lane, false);
        ouro__sites_forget(lane);
        ouro__memo_keep_live(&lane->memo, lane, p.table);
        ouro__shortcuts_clear(lane);
        p.table = NULL;
        lane->live -= wanted;
        lane->evicted += wanted;
        lane->trail_leaf = UINT32_MAX; // no position: it may be gone
        ouro__quota_give(lane->profile, wanted);
    }
    epoch_begin(lane, &p.now);
    pruning_free(&p);
    assert(ouro__lane_is_valid(lane));
    return wanted;
}

// What stands now: an epoch that would begin at this moment. All that is in accounts and was not
// put there by an eviction is overflow. The caller holds the lane's lock.
ouro__epoch ouro__lane_bounds(const ouro__lane *lane) {
    ouro__epoch now = {{0}, {0}}, none = {{0}, {0}};
    if (!lane->has_accounts) return now;
    const ouro__epoch *last = lane->epoch_count ? &lane->epochs[lane->epoch_count - 1] : &none;
    uint32_t width = 1 + lane->profile->metric_count;
    for (uint32_t i = 0; i < lane->state->used; i++) {
        const ouro_node_ *account = account_in_use(lane, i * lane->stride);
        if (!account || !in_tree(lane, i)) continue;
        for (uint32_t w = 0; w < width; w++) now.overflow[w] += node_weight(lane, account, w);
    }
    for (uint32_t w = 0; w < width; w++) {
        now.overflow[w] -= lane->folded[w];
        now.bound[w] = last->bound[w] + now.overflow[w] - last->overflow[w];
    }
    return now;
}

// What a context may have lost, at most, if its node was inserted in `epoch`.
uint64_t ouro__lost_since(const ouro__lane *lane, uint32_t epoch, const ouro__epoch *now,
                          uint32_t weight) {
    const ouro__epoch *then = &lane->epochs[epoch];
    return then->bound[weight] + now->overflow[weight] - then->overflow[weight];
}
