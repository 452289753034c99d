// SPDX-License-Identifier: MIT
//
// Questions about slices: how long they took, and what the slow ones did.

#include "sliced.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

slices *ouro__slices_new(uint32_t metric_count, uint32_t own) {
    slices *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->users = 1;
    s->width = 3 + metric_count;
    s->own = own;
    return s;
}

lane_slices *ouro__slices_add_lane(slices *s) {
    if (s->count == s->room) {
        uint32_t room = s->room ? 2 * s->room : 4;
        lane_slices *lanes = realloc(s->lanes, room * sizeof *lanes);
        if (!lanes) return NULL;
        s->lanes = lanes;
        s->room = room;
    }
    lane_slices *l = &s->lanes[s->count++];
    *l = (lane_slices){.outside = calloc(s->width, sizeof *l->outside),
                       .open = calloc(s->width, sizeof *l->open),
                       .durations = calloc(SLICE_BUCKETS, sizeof *l->durations),
                       .heat = calloc(SLICE_HEAT_COLUMNS * SLICE_HEAT_ROWS, sizeof *l->heat)};
    return l->outside && l->open && l->durations && l->heat ? l : NULL;
}

static void lane_free(lane_slices *l) {
    for (uint32_t i = 0; i < l->kept_count; i++) {
        free(l->kept[i].totals);
        free(l->kept[i].rest);
    }
    free(l->kept);
    free(l->name);
    free(l->message);
    free(l->outside);
    free(l->open);
    free(l->table);
    free(l->durations);
    free(l->values);
    free(l->heat);
}

slices *ouro__slices_share(slices *s) {
    if (s) __atomic_add_fetch(&s->users, 1, __ATOMIC_RELAXED);
    return s;
}

void ouro__slices_release(slices *s) {
    if (!s || __atomic_sub_fetch(&s->users, 1, __ATOMIC_ACQ_REL) > 0) return;
    for (uint32_t i = 0; i < s->count; i++) lane_free(&s->lanes[i]);
    free(s->lanes);
    free(s);
}

uint64_t ouro__bucket_least(uint32_t bucket) {
    return bucket < 128 ? bucket : (UINT64_C(128) + bucket % 128) << (bucket / 128 - 1);
}

// ---------------------------------------------------------------- percentiles

static int ascending(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

// The smallest value that at least `part` hundredths of them do not exceed has this rank.
static uint64_t rank_of(uint64_t count, unsigned part) {
    uint64_t rank = count / 100 * part + (count % 100 * part + 99) / 100;
    return rank ? rank - 1 : 0;
}

static bool times_of_tables(const slices *s, slice_times *t) {
    uint64_t *all = malloc((t->count + 1) * sizeof *all), n = 0;
    if (!all) return false;
    for (uint32_t i = 0; i < s->count; i++) {
        const lane_slices *l = &s->lanes[i];
        for (uint64_t r = 0; r < l->row_count; r++) {
            const uint64_t *row = l->table + r * (2 + s->width);
            all[n++] = ouro__slice_weight(l, row[1], row + 2);
        }
    }
    qsort(all, n, sizeof *all, ascending);
    t->median = n ? all[rank_of(n, 50)] : 0;
    t->p90 = n ? all[rank_of(n, 90)] : 0;
    t->p99 = n ? all[rank_of(n, 99)] : 0;
    free(all);
    return true;
}

static uint64_t by_histogram(const uint64_t *sums, uint64_t rank) {
    uint32_t b = 0;
    for (uint64_t seen = sums[0]; seen <= rank && b + 1 < SLICE_BUCKETS; seen += sums[++b])
        continue;
    return ouro__bucket_least(b);
}

static bool times_of_histograms(const slices *s, slice_times *t) {
    uint64_t *sums = calloc(SLICE_BUCKETS, sizeof *sums), count = 0;
    if (!sums) return false;
    for (uint32_t i = 0; i < s->count; i++) {
        const lane_slices *l = &s->lanes[i];
        const uint64_t *histogram = l->by && l->values ? l->values : l->durations;
        for (uint32_t b = 0; b < SLICE_BUCKETS; b++) sums[b] += histogram[b];
    }
    for (uint32_t b = 0; b < SLICE_BUCKETS; b++) count += sums[b];
    t->median = by_histogram(sums, rank_of(count, 50));
    t->p90 = by_histogram(sums, rank_of(count, 90));
    t->p99 = by_histogram(sums, rank_of(count, 99));
    free(sums);
    return true;
}

bool ouro__slice_times(const slices *s, slice_times *t) {
    *t = (slice_times){.exact = true};
    for (uint32_t i = 0; i < s->count; i++) {
        const lane_slices *l = &s->lanes[i];
        t->count += l->count;
        t->exact &= l->row_count == l->count;
        if (l->slowest > t->slowest) t->slowest = l->slowest;
    }
    return t->exact ? times_of_tables(s, t) : times_of_histograms(s, t);
}

// ---------------------------------------------------------------- slow against typical

enum { NEITHER, SLOW, TYPICAL, CHARGED }; // CHARGED: typical, and has been counted as such

static uint32_t text_of(const profile *p, const char *text) {
    return ouro__texts_find(&p->texts, text, strlen(text));
}

// The tag that the samples of a slice have; NO_ROW: no sample is left of it.
static uint32_t tag_of(const profile *p, uint32_t key, uint32_t lane, uint64_t number) {
    char text[48];
    snprintf(text, sizeof text, lane ? "%llu/%u" : "%llu", (unsigned long long)number, lane);
    uint32_t value = text_of(p, text);
    return key == NO_ROW || value == NO_ROW ? NO_ROW : ouro__tags_find(p->tags, key, value);
}

// Where most are equal, those are typical.
static int class_of(const lane_slices *l, const kept_slice *k, const slice_times *t) {
    uint64_t weight = ouro__slice_weight(l, k->duration, k->totals);
    if (weight >= t->p90 && weight > t->median) return k->why & SLICE_SLOWEST ? SLOW : NEITHER;
    return k->why & SLICE_EVENLY ? TYPICAL : NEITHER;
}

static void classify(const profile *p, const slices *s, const slice_times *t,
                     unsigned char *classes, slice_difference *d) {
    uint32_t text = p->tags ? text_of(p, "slice") : NO_ROW;
    uint32_t key = text == NO_ROW ? NO_ROW : ouro__tags_key(p->tags, text);
    for (uint32_t i = 0; i < s->count; i++) {
        const lane_slices *l = &s->lanes[i];
        for (uint32_t k = 0; k < l->kept_count; k++) {
            int class = class_of(l, &l->kept[k], t);
            uint32_t tag = tag_of(p, key, l->lane, l->kept[k].number);
            d->slow_count += class == SLOW;
            d->typical_count += class == TYPICAL;
            if (tag != NO_ROW) classes[tag] = (unsigned char)class;
        }
    }
}

// The class of the slice that these samples are of.
static unsigned char *class_of_set(const tags *t, unsigned char *classes, uint32_t set) {
    static unsigned char neither = NEITHER;
    for (uint32_t i = ouro__set_first(t, set); i < t->set_end[set]; i++) {
        if (classes[t->set_tags[i]]) return &classes[t->set_tags[i]];
    }
    return &neither;
}

static void sum_rows(const profile *p, uint32_t m, unsigned char *classes, slice_difference *d) {
    const tags *t = p->tags;
    const int64_t *values = t && m < t->metric_count ? t->row_values[m] : NULL;
    for (uint32_t row = 0; values && row < t->row_count; row++) {
        unsigned char *class = class_of_set(t, classes, t->row_set[row]);
        uint32_t block = p->block[t->row_node[row]];
        if (*class == NEITHER || block == NO_BLOCK) continue;
        double *sums = *class == SLOW ? d->slow : d->typical;
        sums[block] += (double)values[row];
        if (*class != TYPICAL || !values[row]) continue;
        *class = CHARGED;
        d->typical_charged++;
    }
    for (uint32_t b = 0; b < d->block_count; b++) {
        if (d->slow_count) d->slow[b] /= (double)d->slow_count;
        if (d->typical_count) d->typical[b] /= (double)d->typical_count;
    }
}

bool ouro__slice_difference(const profile *p, const slices *s, uint32_t m, slice_difference *d) {
    slice_times times;
    *d = (slice_difference){.block_count = p->block_count};
    if (!ouro__slice_times(s, &times)) return false;
    uint32_t tag_count = p->tags ? p->tags->tag_count : 0;
    unsigned char *classes = calloc((size_t)tag_count + 1, sizeof *classes);
    d->slow = calloc((size_t)p->block_count + 1, sizeof *d->slow);
    d->typical = calloc((size_t)p->block_count + 1, sizeof *d->typical);
    bool ok = classes && d->slow && d->typical;
    if (ok) {
        classify(p, s, &times, classes, d);
        sum_rows(p, m, classes, d);
    } else {
        ouro__slice_difference_free(d);
    }
    free(classes);
    return ok;
}

void ouro__slice_difference_free(slice_difference *d) {
    free(d->slow);
    free(d->typical);
    *d = (slice_difference){0};
}
