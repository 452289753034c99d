// SPDX-License-Identifier: MIT
//
// A profile in memory, read while it is written: each lane is copied under its lock, which the
// hot path does not take, and the copies are merged when all locks are free again.

#include "internal.h"
#include "rows.h"
#include "slices_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void copy_node(ouro__image *image, uint32_t row, const ouro__lane *lane,
                      const ouro_node_ *node) {
    uint32_t metrics = lane->profile->metric_count;
    uint64_t *values = image->values + (size_t)row * ouro__row_width(metrics);
    image->block[row] = node->block;
    image->parent[row] = node->parent / lane->stride;
    for (int i = 0; i < ENTRY_KINDS; i++) values[i] = since_reset(lane, &node->entries[i]);
    for (uint32_t m = 0; m < metrics; m++)
        values[ENTRY_KINDS + m] = since_reset(lane, &node->metrics[m]);
}

typedef struct {
    ouro__image *image;
    const ouro__lane *lane;
} image_of_lane;

// What call sites have counted. Of a node that is gone, by misuse, it is [lost].
static void add_gain(void *user, ouro_position position, uint32_t value, uint64_t n) {
    const image_of_lane *to = user;
    uint32_t width = ouro__row_width(to->lane->profile->metric_count);
    uint32_t row = position / to->lane->stride;
    if (value >= width) return; // a profile without metrics
    if (row >= to->lane->state->used || !node_at(to->lane, position)->block) row = LOST_ROW;
    to->image->values[(size_t)row * width + value] += n;
}

static bool used_in_any(const uint64_t *values, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (values[i]) return true;
    }
    return false;
}

// What the cap has done, if anything: the accounts as rows of their own, and the bounds.
static bool copy_pruned(ouro__image *image, const ouro__lane *lane) {
    uint32_t used = lane->state->used;
    if (!lane->has_accounts) return true;
    for (uint32_t i = 0; i < used; i++) {
        const ouro_node_ *account = node_at(lane, account_of(lane, i * lane->stride));
        if (account->block && image->block[i]) copy_node(image, image->count++, lane, account);
    }
    ouro__epoch now = ouro__lane_bounds(lane);
    memcpy(image->bounds, now.bound, sizeof now.bound);
    // Before the first pruning there is one epoch, in which nothing was lost but by overflow.
    uint32_t epochs = lane->epoch_count ? lane->epoch_count : 1;
    image->birth = calloc(image->count, sizeof *image->birth);
    image->epochs = calloc(epochs, sizeof *image->epochs);
    if (!image->birth || !image->epochs) return false;
    for (uint32_t w = 0; w <= lane->profile->metric_count; w++) {
        if (!lane->epoch_count) image->epochs[0][w] = now.overflow[w];
        for (uint32_t e = 0; e < lane->epoch_count; e++)
            image->epochs[e][w] = ouro__lost_since(lane, e, &now, w);
    }
    for (uint32_t i = 0; lane->birth && i < used; i++) image->birth[i] = lane->birth[i];
    for (uint32_t i = used; i < image->count; i++) image->birth[i] = image->birth[image->parent[i]];
    return true;
}

static bool copy_lane(ouro__image *image, const ouro__lane *lane, uint32_t strays_end) {
    uint32_t used = lane->state->used;
    uint32_t room = lane->has_accounts ? 2 * used : used;
    if (!ouro__image_alloc(image, room, lane->profile->metric_count)) return false;
    image->count = used;
    for (uint32_t i = 0; i < used; i++) {
        const ouro_node_ *node = node_at(lane, i * lane->stride);
        if (node->block) copy_node(image, i, lane, node);
    }
    ouro__sites_visit(lane, add_gain, &(image_of_lane){image, lane});
    // [lost] is always there; it is shown when it was needed.
    uint32_t width = ouro__row_width(lane->profile->metric_count);
    ouro__strays_sum(lane, strays_end, image->values + LOST_ROW * width);
    if (!used_in_any(image->values + LOST_ROW * width, width)) image->block[LOST_ROW] = 0;
    return copy_pruned(image, lane);
}

static void images_free(ouro__image *images, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) ouro__image_free(&images[i]);
    free(images);
}

// All lanes, and their slices if somebody asks; each at one moment.
static ouro__image *copy_lanes(ouro_profile *profile, ouro__slices_copy *slices, uint32_t *count) {
    pthread_mutex_lock(&profile->lock);
    uint32_t n = profile->lane_count;
    ouro__image *images = calloc(n ? n : 1, sizeof *images);
    bool ok = images && (!slices || ouro__slices_copy_begin(slices, n, profile->metric_count));
    uint32_t strays_end = ouro__strays_end(profile);
    for (uint32_t i = 0; ok && i < n; i++) {
        ouro__lane *lane = profile->lanes[i];
        pthread_mutex_lock(&lane->lock);
        ok = copy_lane(&images[i], lane, strays_end) &&
             (!slices || ouro__slices_copy_lane(slices, lane, &images[i]));
        pthread_mutex_unlock(&lane->lock);
    }
    pthread_mutex_unlock(&profile->lock);
    *count = n;
    if (ok && (!slices || ouro__slices_copy_finish(slices))) return images;
    if (slices) ouro__slices_copy_free(slices);
    if (images) images_free(images, n);
    errno = ENOMEM;
    return NULL;
}

ouro__rows *ouro__rows_and_slices(ouro_profile *profile, ouro__slices_copy *slices) {
    uint32_t n;
    ouro__image *images = copy_lanes(profile, slices, &n);
    if (!images) return NULL;
    ouro__rows *rows = ouro__rows_merge(images, n, profile->metric_count);
    images_free(images, n);
    if (!rows && slices) ouro__slices_copy_free(slices);
    return rows;
}

ouro__rows *ouro__rows_of_profile(ouro_profile *profile) {
    return ouro__rows_and_slices(profile, NULL);
}

bool ouro__slices_of_profile(ouro_profile *profile, ouro__slices_copy *slices) {
    uint32_t n;
    ouro__image *images = copy_lanes(profile, slices, &n);
    if (!images) return false;
    images_free(images, n);
    return true;
}

static bool root_is_charged(const ouro__rows *rows) {
    return used_in_any(ouro__row_values(rows, 0), ouro__row_width(rows->metric_count));
}

void ouro__rows_visit(const ouro__rows *rows, ouro_block *path, ouro_visitor *visitor, void *user) {
    for (uint32_t i = 0; i < rows->count; i++) {
        if (i == 0 && !root_is_charged(rows)) continue;
        bool pruned = rows->block[i] == OURO_PRUNED;
        if (i > 0 && !pruned) path[rows->depth[i] - 1] = rows->block[i];
        const uint64_t *values = ouro__row_values(rows, i);
        ouro_visit visit = {
            .path = path,
            .length = rows->depth[i] - pruned,
            .calls = ouro__row_calls(values),
            .recursions = ouro__row_recursions(values),
            .direct = ouro__row_direct(values),
            .metrics = values + ENTRY_KINDS,
            .pruned = pruned,
            .missing = rows->missing && i > 0 ? rows->missing + (size_t)i * (1 + rows->metric_count)
                                              : rows->no_missing,
        };
        visitor(user, &visit);
    }
}

int ouro_profile_visit(ouro_profile *profile, ouro_visitor *visitor, void *user) {
    if (!profile) return 0;
    ouro__rows *rows = ouro__rows_of_profile(profile);
    if (!rows) return -1;
    ouro_block *path = malloc(((size_t)rows->deepest + 1) * sizeof *path);
    if (path) ouro__rows_visit(rows, path, visitor, user);
    if (!path) errno = ENOMEM;
    int result = path ? 0 : -1;
    free(path);
    ouro__rows_free(rows);
    return result;
}
