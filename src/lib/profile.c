// SPDX-License-Identifier: MIT
//
// A profile: its options, its life, and its totals. Blocks are in blocks.c, lanes in lane.c.

#include "blocks.h"
#include "noted.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

uint64_t ouro__now(int clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool metrics_valid(const ouro_metric_info *metrics, size_t n) {
    if (n > OURO_METRICS_MAX || (n && !metrics)) return false;
    for (size_t m = 0; m < n; m++) {
        if (!metrics[m].name || !metrics[m].name[0]) return false;
        for (size_t before = 0; before < m; before++) {
            if (strcmp(metrics[before].name, metrics[m].name) == 0) return false;
        }
    }
    return true;
}

static bool slices_valid(const ouro_options *o) {
    const ouro_slice_options *s = &o->slices;
    size_t metrics = o->metrics ? o->metric_count : 1;
    return (!s->name || strlen(s->name) < SLICE_NAME_BYTES) && s->kept <= OURO_SLICES_KEPT_MOST &&
           s->by <= metrics;
}

static bool options_valid(const ouro_options *o) {
    if (o->compaction < OURO_LOOPS || o->compaction > OURO_NONE) return false;
    if (o->edge_length < 0 || o->edge_length > 3) return false;
    if (o->max_nodes == 1 || o->max_nodes > OURO_MAX_NODES_MOST) return false;
    if (o->clock.measures < OURO_CLOCK_WALL || o->clock.measures > OURO_CLOCK_CPU) return false;
    if (o->clock.signal < 0 || o->clock.signal > SIGRTMAX) return false;
    return metrics_valid(o->metrics, o->metric_count) && slices_valid(o);
}

// Positions are 32-bit word offsets, and a lane has two records per node. The largest cap leaves
// room for [lost] and for rounding up to whole segments of a live file.
_Static_assert((OURO_MAX_NODES_MOST + (UINT64_C(1) << 17)) * 2 * NODE_WORDS_MOST <= UINT32_MAX,
               "every position of the largest cap fits");

static void set_sizes(ouro_profile *profile, bool live) {
    uint32_t words = NODE_HEAD_WORDS + (profile->metric_count ? profile->metric_count : 1);
    profile->stride = (words + 3) / 4 * 4;
    uint64_t capacity = (uint64_t)profile->max_nodes + 1; // [lost] is no node
    uint32_t unit = live ? ouro__live_segment_nodes(profile->stride) : 1;
    uint32_t space = ouro__space_unit(); // both are powers of two
    if (space > unit) unit = space;
    capacity = (capacity + unit - 1) / unit * unit;
    profile->capacity = (uint32_t)capacity;
}

static bool set_metrics(ouro_profile *profile, const ouro_options *o) {
    static const ouro_metric_info samples = {"samples", "count"};
    const ouro_metric_info *metrics = o->metrics ? o->metrics : &samples;
    profile->metric_count = o->metrics ? (uint32_t)o->metric_count : 1;
    for (uint32_t m = 0; m < profile->metric_count; m++) {
        const char *unit = metrics[m].unit ? metrics[m].unit : "count";
        profile->metrics[m].name = ouro__text_add(profile, metrics[m].name);
        profile->metrics[m].unit = ouro__text_add(profile, unit);
        if (!profile->metrics[m].name || !profile->metrics[m].unit) return false;
    }
    return true;
}

static bool set_slices(ouro_profile *profile, const ouro_slice_options *o) {
    profile->slices = *o;
    profile->slices.name = ouro__text_add(profile, o->name && o->name[0] ? o->name : "slice");
    if (!o->kept) profile->slices.kept = DEFAULT_SLICES_KEPT;
    if (!o->rows) profile->slices.rows = DEFAULT_SLICE_ROWS;
    return profile->slices.name != NULL;
}

static int profile_init(ouro_profile *profile, const ouro_options *o) {
    profile->compaction = o->compaction;
    profile->edge_length = o->edge_length ? o->edge_length : 2;
    profile->clock = o->clock;
    profile->shown_metric = o->shown_metric;
    profile->max_nodes = o->max_nodes ? o->max_nodes : DEFAULT_MAX_NODES;
    profile->start_time = ouro__now(CLOCK_REALTIME);
    profile->start_clock = ouro__now(CLOCK_MONOTONIC);
    atomic_init(&profile->enabled, !o->disabled);
    atomic_init(&profile->nodes_used, 1); // the root
    if (!set_metrics(profile, o) || !set_slices(profile, &o->slices)) return ENOMEM;
    set_sizes(profile, o->path != NULL);
    profile->space = ouro__space_new(profile);
    if (o->path) {
        profile->live = ouro__live_create(profile, o->path);
        if (!profile->live) return errno;
    }
    static const ouro_block_info always[FIRST_USER_BLOCK] = {
        {"[phantom]", "", 0, 0}, {"[lost]", "", 0, 0}, {"[pruned]", "", 0, 0}};
    errno = 0;
    ouro_add_blocks(profile, always, FIRST_USER_BLOCK);
    if (ouro__block_count(profile) != FIRST_USER_BLOCK) return errno;
    return ouro__fork_watch(profile) ? 0 : ENOMEM;
}

// Options of a program that was built with an older or a newer header: `size` bytes of them. False
// if it sets what is not known here.
static bool options_take(ouro_options *known, const ouro_options *given, size_t size) {
    *known = (ouro_options){0};
    if (!given) return true;
    const char *bytes = (const char *)given;
    for (size_t i = sizeof *known; i < size; i++) {
        if (bytes[i]) return false;
    }
    memcpy(known, given, size < sizeof *known ? size : sizeof *known);
    return true;
}

ouro_profile *ouro_profile_new_(const ouro_options *given, size_t size) {
    ouro_options known, *options = &known;
    if (!options_take(options, given, size) || !options_valid(options)) {
        errno = EINVAL;
        return NULL;
    }
    ouro_profile *profile = calloc(1, sizeof *profile);
    if (!profile) return NULL;
    pthread_mutex_init(&profile->lock, NULL);
    int error = profile_init(profile, options);
    if (error) {
        ouro_profile_free(profile);
        errno = error;
        return NULL;
    }
    return profile;
}

void ouro_profile_detach(ouro_profile *profile) {
    if (profile) ouro__live_leave(profile->live);
}

void ouro_profile_free(ouro_profile *profile) {
    if (!profile) return;
    ouro__fork_forget(profile);
    uint32_t strays_end = profile->live ? ouro__strays_end(profile) : 0;
    for (uint32_t i = 0; i < profile->lane_count; i++) {
        if (profile->live) ouro__sites_fold(profile->lanes[i]);  // into the file,
        ouro__strays_move_all(profile->lanes[i], 0, strays_end); // and these
        if (profile->lanes[i]->threads) MISUSE("a profile is freed before its threads");
        ouro__lane_free(profile->lanes[i]);
    }
    free(profile->lanes);
    ouro__live_close(profile->live);
    ouro__space_free(profile->space);
    ouro__blocks_free(profile);
    ouro__noted_free(profile);
    pthread_mutex_destroy(&profile->lock);
    free(profile);
}

void ouro_profile_enable(ouro_profile *profile, bool enabled) {
    if (profile) atomic_store_explicit(&profile->enabled, enabled, memory_order_relaxed);
}

static void add_node(ouro_stats *stats, const ouro__lane *lane, const ouro_node_ *node,
                     bool counts_calls) {
    if (counts_calls) {
        uint64_t direct = since_reset(lane, &node->entries[ENTRY_DIRECT]);
        uint64_t recursions = direct + since_reset(lane, &node->entries[ENTRY_BACK]);
        stats->direct += direct;
        stats->recursions += recursions;
        stats->calls += recursions + since_reset(lane, &node->entries[ENTRY_TREE]);
    }
    for (uint32_t m = 0; m < lane->profile->metric_count; m++)
        stats->totals[m] += since_reset(lane, &node->metrics[m]);
}

// What call sites have counted.
static void add_gain(void *user, ouro_position position, uint32_t value, uint64_t n) {
    ouro_stats *stats = user;
    if (value == ENTRY_DIRECT) stats->direct += n;
    if (value == ENTRY_DIRECT || value == ENTRY_BACK) stats->recursions += n;
    if (value < ENTRY_KINDS) stats->calls += n;
    if (value >= ENTRY_KINDS) stats->totals[value - ENTRY_KINDS] += n;
    (void)position;
}

static uint64_t add_strays(ouro_stats *stats, const ouro__lane *lane, uint32_t end) {
    uint64_t values[ENTRY_KINDS + OURO_METRICS_MAX] = {0};
    ouro__strays_sum(lane, end, values);
    stats->direct += ouro__row_direct(values);
    stats->recursions += ouro__row_recursions(values);
    stats->calls += ouro__row_calls(values);
    for (uint32_t m = 0; m < lane->profile->metric_count; m++)
        stats->totals[m] += values[ENTRY_KINDS + m];
    return ouro__row_calls(values);
}

static void add_lane(ouro_stats *stats, ouro__lane *lane, uint32_t strays_end,
                     uint64_t bounds[WEIGHTS_MAX]) {
    pthread_mutex_lock(&lane->lock);
    for (uint32_t i = 0; i < lane->state->used; i++) {
        ouro_position position = i * lane->stride;
        const ouro_node_ *node = node_at(lane, position);
        if (!node->block) continue;
        add_node(stats, lane, node, i != 0);
        if (!lane->has_accounts) continue;
        const ouro_node_ *account = node_at(lane, account_of(lane, position));
        if (account->block) add_node(stats, lane, account, true);
    }
    ouro__sites_visit(lane, add_gain, stats);
    stats->bytes += ouro__lane_bytes(lane);
    stats->pruned += lane->evicted;
    stats->lost += node_calls(lane, node_at(lane, lost_position(lane)));
    stats->lost += add_strays(stats, lane, strays_end);
    ouro__epoch now = ouro__lane_bounds(lane);
    for (int w = 0; w < WEIGHTS_MAX; w++) bounds[w] += now.bound[w];
    stats->overflow += now.overflow[0];
    pthread_mutex_unlock(&lane->lock);
}

static ouro_stats stats_of(ouro_profile *profile) {
    ouro_stats stats = {0};
    uint64_t bounds[WEIGHTS_MAX] = {0};
    pthread_mutex_lock(&profile->lock);
    // Not a sum over lanes, which would see each at another moment.
    stats.nodes = atomic_load_explicit(&profile->nodes_used, memory_order_relaxed);
    stats.max_nodes = profile->max_nodes;
    stats.no_space = ouro__live_is_full(profile->live) || ouro__space_is_full(profile->space);
    stats.lanes = profile->lane_count;
    stats.blocks = ouro__block_count(profile);
    stats.bytes = sizeof *profile + ouro__blocks_bytes(profile);
    uint32_t strays_end = ouro__strays_end(profile);
    for (uint32_t i = 0; i < profile->lane_count; i++)
        add_lane(&stats, profile->lanes[i], strays_end, bounds);
    pthread_mutex_unlock(&profile->lock);
    for (uint32_t w = 0; w <= profile->metric_count; w++) {
        uint64_t total = w == 0 ? stats.calls : stats.totals[w - 1];
        double share = total ? (double)bounds[w] / (double)total : 0;
        if (share > stats.threshold) stats.threshold = share;
    }
    return stats;
}

// `size`: as the header that the program was built with has it.
void ouro_profile_stats_(const ouro_profile *profile, ouro_stats *stats, size_t size) {
    memset(stats, 0, size);
    if (!profile) return;
    ouro_stats all = stats_of((ouro_profile *)profile); // its locks change, nothing else does
    memcpy(stats, &all, size < sizeof all ? size : sizeof all);
}
