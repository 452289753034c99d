// SPDX-License-Identifier: MIT
//
// Slices, read: slices.h is the layout. A lane's parts are decoded under its lock, or from what was
// read of a live file, which is not trusted: what a tree says of its records is checked here.

#include "slices.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void tree_free(ouro__slice_tree *tree) {
    ouro__image_free(&tree->image);
    ouro__rows_free(tree->rows);
    free(tree->place);
}

void ouro__lane_slices_free(ouro__lane_slices *l) {
    for (uint32_t i = 0; i < l->tree_count; i++) tree_free(&l->trees[i]);
    free(l->trees);
    free(l->table);
    free(l->histograms);
    free(l->heat);
    memset(l, 0, sizeof *l);
}

void ouro__slices_copy_free(ouro__slices_copy *slices) {
    for (uint32_t i = 0; i < slices->count; i++) ouro__lane_slices_free(&slices->lanes[i]);
    free(slices->lanes);
    *slices = (ouro__slices_copy){0};
}

// ---------------------------------------------------------------- trees

typedef struct {
    uint64_t number;
    const slices_slot *slot;
    unsigned why;
} found_tree;

static int by_number(const void *a, const void *b) {
    const found_tree *x = a, *y = b;
    return x->number < y->number ? -1 : x->number > y->number;
}

// Those that are kept, a slice only once.
static uint32_t find_trees(const slices_parts *p, const slices_state *state, found_tree *found) {
    uint32_t slots = p->area->slots, n = 0, kept = 0;
    size_t bytes = slices_slot_bytes(ouro__row_width(p->metric_count), state->trees.room);
    for (uint32_t kind = 0; kind < SLICE_KINDS; kind++) {
        for (uint32_t i = 0; i <= slots; i++) {
            const unsigned char *at = p->trees + (kind * ((size_t)slots + 1) + i) * bytes;
            const slices_slot *slot = (const slices_slot *)(const void *)at;
            if (i != state->spare[kind] && slot->number && !(slot->sequence & 1))
                found[n++] = (found_tree){slot->number, slot, 1u << kind};
        }
    }
    qsort(found, n, sizeof *found, by_number);
    for (uint32_t i = 0; i < n; i++) {
        if (kept && found[kept - 1].number == found[i].number) {
            found[kept - 1].why |= found[i].why;
        } else {
            found[kept++] = found[i];
        }
    }
    return kept;
}

static bool decode_records(const slices_slot *slot, uint32_t metric_count, ouro__image *image) {
    uint32_t width = ouro__row_width(metric_count);
    unsigned char *records = (unsigned char *)(slot + 1);
    for (uint32_t i = 0; i < image->count; i++) {
        const slices_record *r = slices_record_at(records, width, i);
        bool sound = i == 0 ? r->block == ROOT_BLOCK : r->parent < image->count && r->block != 0;
        if (!sound) return false;
        image->block[i] = r->block;
        image->parent[i] = r->parent;
        memcpy(image->values + (size_t)i * width, r->values, width * sizeof *r->values);
    }
    return true;
}

static bool decode_tree(const slices_parts *p, const slices_state *state, const found_tree *found,
                        ouro__slice_tree *tree, const char **damaged) {
    const slices_slot *slot = found->slot;
    *tree = (ouro__slice_tree){.number = slot->number,
                               .start = slot->start,
                               .duration = slot->duration,
                               .why = found->why};
    memcpy(tree->totals, slot->totals, sizeof tree->totals);
    memcpy(tree->rest, slot->rest, sizeof tree->rest);
    if (slot->count == 0 || slot->count > state->trees.room || slot->number > state->count) {
        *damaged = "the tree of a slice has a wrong size or number";
        return false;
    }
    if (!ouro__image_alloc(&tree->image, (uint32_t)slot->count, p->metric_count)) return false;
    if (decode_records(slot, p->metric_count, &tree->image)) return true;
    *damaged = "the tree of a slice does not hang together";
    return false;
}

static bool decode_trees(const slices_parts *p, const slices_state *state, ouro__lane_slices *to,
                         const char **damaged) {
    size_t most = SLICE_KINDS * ((size_t)p->area->slots + 1);
    found_tree *found = malloc(most * sizeof *found);
    uint32_t n = found ? find_trees(p, state, found) : 0;
    to->trees = calloc((size_t)n + 1, sizeof *to->trees);
    bool ok = found && to->trees;
    for (uint32_t i = 0; ok && i < n; i++) {
        to->tree_count++;
        ok = decode_tree(p, state, &found[i], &to->trees[i], damaged);
    }
    free(found);
    return ok;
}

// ---------------------------------------------------------------- a lane

// As the cells of the state say; a kill may have come before them.
static void apply_cells(const slices_state *state, ouro__lane_slices *to) {
    for (int i = 0; i < SLICE_CELLS; i++) {
        const slices_cell *c = &state->cells[i];
        if (c->cell < 2 * OURO_SLICE_BUCKETS) {
            to->histograms[c->cell] = c->value;
        } else if (c->cell < 2 * OURO_SLICE_BUCKETS + HEAT_CELLS) {
            to->heat[c->cell - 2 * OURO_SLICE_BUCKETS] = (uint32_t)c->value;
        }
    }
}

static bool copy_arrays(const slices_parts *p, const slices_state *state, ouro__lane_slices *to) {
    size_t buckets = sizeof p->area->histograms[0], heat = sizeof p->area->heats[0];
    size_t rows = state->rows * slices_row_bytes(ouro__row_width(p->metric_count));
    to->histograms = malloc(2 * buckets);
    to->heat = malloc(heat);
    to->table = malloc(rows + 1);
    if (!to->histograms || !to->heat || !to->table) return false;
    memcpy(to->histograms, p->area->histograms[0], buckets);
    if (p->area->by) memcpy(to->histograms + OURO_SLICE_BUCKETS, p->area->histograms[1], buckets);
    memcpy(to->heat, p->area->heats[state->heat & 1], heat);
    memcpy(to->table, p->table, rows);
    apply_cells(state, to);
    if (!p->area->by) memcpy(to->histograms + OURO_SLICE_BUCKETS, to->histograms, buckets);
    return true;
}

bool ouro__slices_decode(const slices_parts *p, ouro__lane_slices *to, const char **damaged) {
    const slices_state *state = &p->area->states[p->area->sequence & 1];
    *to = (ouro__lane_slices){.lane = p->lane,
                              .by = p->area->by,
                              .count = state->count,
                              .slowest = state->slowest,
                              .row_count = state->rows,
                              .is_open = state->open != 0,
                              .open_start = state->began,
                              .heat_start = state->first,
                              .heat_step = state->heat_step};
    memcpy(to->name, p->area->name, sizeof to->name - 1);
    memcpy(to->outside, state->outside, sizeof to->outside);
    memcpy(to->ended, state->ended, sizeof to->ended);
    return copy_arrays(p, state, to) && decode_trees(p, state, to, damaged);
}

void ouro__slices_open(ouro__lane_slices *slices, const ouro__image *image, uint32_t metric_count) {
    uint32_t width = ouro__row_width(metric_count);
    uint64_t sums[SLICE_VALUES] = {0};
    for (uint32_t i = 0; i < image->count; i++) {
        if (i > 0 && image->block[i] == 0) continue;
        for (uint32_t v = i == 0 ? ENTRY_KINDS : 0; v < width; v++)
            sums[v] += image->values[(size_t)i * width + v];
    }
    for (uint32_t v = 0; v < width; v++) {
        uint64_t more = sums[v] > slices->ended[v] ? sums[v] - slices->ended[v] : 0;
        if (slices->is_open) slices->open[v] = more;
        if (!slices->is_open) slices->outside[v] += more;
    }
}

// ---------------------------------------------------------------- a profile

bool ouro__slices_copy_begin(ouro__slices_copy *slices, uint32_t n, uint32_t metric_count) {
    *slices = (ouro__slices_copy){.metric_count = metric_count};
    slices->lanes = calloc((size_t)n + 1, sizeof *slices->lanes);
    return slices->lanes != NULL;
}

bool ouro__slices_copy_lane(ouro__slices_copy *slices, const void *of, const ouro__image *image) {
    const ouro__lane *lane = of;
    const struct ouro__slices *s = lane->slices;
    const char *damaged = NULL;
    if (!s || !s->ready) return true;
    const slices_state *state = &s->area->states[s->area->sequence & 1];
    if (!state->count && !state->open) return true;
    slices_parts parts = {s->area, s->table, s->trees, lane->id, slices->metric_count};
    ouro__lane_slices *to = &slices->lanes[slices->count++];
    if (!ouro__slices_decode(&parts, to, &damaged)) return false;
    uint64_t now = ouro__now(CLOCK_MONOTONIC) - counter_load(&lane->profile->start_clock);
    if (to->is_open) to->open_duration = now - to->open_start;
    ouro__slices_open(to, image, slices->metric_count);
    return true;
}

static bool lane_finish(ouro__lane_slices *l, uint32_t metric_count) {
    for (uint32_t i = 0; i < l->tree_count; i++) {
        ouro__slice_tree *tree = &l->trees[i];
        tree->rows = ouro__rows_merge(&tree->image, 1, metric_count);
        ouro__image_free(&tree->image);
        if (!tree->rows) return false;
    }
    return true;
}

bool ouro__slices_copy_finish(ouro__slices_copy *slices) {
    for (uint32_t i = 0; i < slices->count; i++) {
        if (!lane_finish(&slices->lanes[i], slices->metric_count)) return false;
    }
    return true;
}

// ---------------------------------------------------------------- visiting

static ouro_slice_info info_of(const ouro__lane_slices *l, uint64_t number, uint64_t start,
                               uint64_t duration, const uint64_t *values) {
    return (ouro_slice_info){.lane = l->lane,
                             .number = number,
                             .start = start,
                             .duration = duration,
                             .calls = ouro__row_calls(values),
                             .recursions = ouro__row_recursions(values),
                             .direct = ouro__row_direct(values),
                             .metrics = values + ENTRY_KINDS};
}

static void visit_summary(const ouro__lane_slices *l, const ouro_slice_visitor *v, void *user) {
    ouro_slice_summary summary = {
        .lane = l->lane,
        .name = l->name,
        .by = l->by,
        .count = l->count,
        .rows = l->row_count,
        .slowest = l->slowest,
        .outside = info_of(l, 0, 0, 0, l->outside),
        .is_open = l->is_open,
        .durations = l->histograms,
        .values = l->histograms + OURO_SLICE_BUCKETS,
        .heat_start = l->heat_start,
        .heat_step = l->heat_step,
        .heat = l->heat,
    };
    uint64_t began = l->is_open ? l->open_start : 0;
    summary.open = info_of(l, l->count + 1, began, l->open_duration, l->open);
    if (v->lane) v->lane(user, &summary);
}

static void visit_lane(const ouro__lane_slices *l, uint32_t width, const ouro_slice_visitor *v,
                       ouro_block *path, void *user) {
    visit_summary(l, v, user);
    for (uint64_t i = 0; v->slice && i < l->row_count; i++) {
        const uint64_t *row = l->table + i * (2 + (size_t)width);
        ouro_slice_info info = info_of(l, i + 1, row[0], row[1], row + 2);
        v->slice(user, &info);
    }
    for (uint32_t i = 0; i < l->tree_count; i++) {
        const ouro__slice_tree *t = &l->trees[i];
        ouro_slice_info info = info_of(l, t->number, t->start, t->duration, t->totals);
        ouro_slice_info rest = info_of(l, t->number, t->start, t->duration, t->rest);
        if (v->kept) v->kept(user, &info, t->why, &rest);
        if (v->path) ouro__rows_visit(t->rows, path, v->path, user);
    }
}

static uint32_t deepest(const ouro__slices_copy *slices) {
    uint32_t depth = 0;
    for (uint32_t i = 0; i < slices->count; i++) {
        for (uint32_t t = 0; t < slices->lanes[i].tree_count; t++) {
            const ouro__rows *rows = slices->lanes[i].trees[t].rows;
            if (rows->deepest > depth) depth = rows->deepest;
        }
    }
    return depth;
}

int ouro_slices_visit(ouro_profile *profile, const ouro_slice_visitor *visitor, void *user) {
    if (!profile) return 0;
    ouro__slices_copy slices = {0};
    if (!ouro__slices_of_profile(profile, &slices)) return -1;
    uint32_t width = ouro__row_width(slices.metric_count);
    ouro_block *path = malloc(((size_t)deepest(&slices) + 1) * sizeof *path);
    for (uint32_t i = 0; path && i < slices.count; i++)
        visit_lane(&slices.lanes[i], width, visitor, path, user);
    if (!path) errno = ENOMEM;
    int result = path ? 0 : -1;
    free(path);
    ouro__slices_copy_free(&slices);
    return result;
}
