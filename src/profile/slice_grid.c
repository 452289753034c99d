// SPDX-License-Identifier: MIT
//
// The heat map of slices. From the table, while it has all of them, with rows as fine as the
// durations ask for; beyond it from the heat maps of the lanes, which are coarser. The sums of rows
// come from the histogram in both cases, so they are those of all slices.

#include "slice_choice.h"

#include <stdlib.h>

enum { COLUMNS = 120, ROWS_WANTED = 48, HEAT_BITS = 2, HEAT_FIRST = 28 };

static uint32_t row_of(uint64_t value, uint32_t bits) {
    if (value >> bits == 0) return (uint32_t)value;
    uint32_t octave = 63 - (uint32_t)__builtin_clzll(value), up = octave - bits;
    return (up << bits) + (uint32_t)(value >> up);
}

uint64_t ouro__grid_least(const slice_grid *g, uint32_t row) {
    uint64_t r = g->first + row, in = UINT64_C(1) << g->bits;
    if (r < in) return r;
    return r / in > 64 - g->bits ? UINT64_MAX : (in + r % in) << (r / in - 1);
}

typedef struct {
    uint64_t first, last;       // starts
    uint64_t shortest, longest; // durations
    bool any, whole;            // the table has all
} extent;

// By histogram, so of all slices.
static void find_durations(const lane_slices *l, extent *e) {
    for (uint32_t b = 0; b < SLICE_BUCKETS; b++) {
        if (!l->durations[b]) continue;
        uint64_t least = ouro__bucket_least(b);
        if (!e->any || least < e->shortest) e->shortest = least;
        if (!e->any || least > e->longest) e->longest = least;
        e->any = true;
    }
}

static void find_starts(const lane_slices *l, uint32_t width, bool first, extent *e) {
    uint64_t begin = l->heat_start, end = begin;
    for (uint32_t c = 0; c < SLICE_HEAT_COLUMNS * SLICE_HEAT_ROWS; c++) {
        if (l->heat[c]) end = begin + c / SLICE_HEAT_ROWS * l->heat_step;
    }
    if (l->row_count == l->count && l->row_count)
        end = l->table[(l->row_count - 1) * (2 + (uint64_t)width)];
    if (end < begin) end = begin; // damaged
    if (first || begin < e->first) e->first = begin;
    if (first || end > e->last) e->last = end;
}

static extent find_extent(const slices *s) {
    extent e = {.whole = true};
    bool first = true;
    for (uint32_t i = 0; i < s->count; i++) {
        const lane_slices *l = &s->lanes[i];
        if (!l->count) continue;
        find_durations(l, &e);
        find_starts(l, s->width, first, &e);
        e.whole &= l->row_count == l->count;
        first = false;
    }
    return e;
}

static void lay_out(const slices *s, const extent *e, slice_grid *g) {
    g->from = e->first;
    g->step = (e->last - e->first) / COLUMNS + 1;
    g->bits = HEAT_BITS;
    if (!e->whole) {
        for (uint32_t i = 0; i < s->count; i++) {
            if (s->lanes[i].heat_step > g->step) g->step = s->lanes[i].heat_step;
        }
    }
    g->columns = (uint32_t)((e->last - e->first) / g->step) + 1;
    // The histogram's buckets are 2^7 in an octave: finer rows would have gaps.
    while (e->whole && g->bits < 6 &&
           row_of(e->longest, g->bits + 1) - row_of(e->shortest, g->bits + 1) < ROWS_WANTED)
        g->bits++;
    g->first = row_of(e->shortest, g->bits);
    g->rows = row_of(e->longest, g->bits) - g->first + 1;
}

static void count(slice_grid *g, uint64_t start, uint64_t duration, uint64_t n) {
    uint64_t column = start > g->from ? (start - g->from) / g->step : 0;
    uint32_t row = row_of(duration, g->bits);
    if (column >= g->columns) column = g->columns - 1;
    row = row < g->first ? 0 : row - g->first;
    if (row >= g->rows) row = g->rows - 1;
    g->cells[column * g->rows + row] += n;
}

static void count_lane(const slices *s, const lane_slices *l, bool whole, slice_grid *g) {
    for (uint64_t r = 0; whole && r < l->row_count; r++) {
        const uint64_t *row = l->table + r * (2 + s->width);
        count(g, row[0], row[1], 1);
    }
    for (uint32_t c = 0; !whole && c < SLICE_HEAT_COLUMNS * SLICE_HEAT_ROWS; c++) {
        if (!l->heat[c]) continue;
        slice_grid one = {.first = HEAT_FIRST, .bits = HEAT_BITS};
        count(g, l->heat_start + c / SLICE_HEAT_ROWS * l->heat_step,
              ouro__grid_least(&one, c % SLICE_HEAT_ROWS), l->heat[c]);
    }
    for (uint32_t b = 0; b < SLICE_BUCKETS; b++) {
        if (l->durations[b])
            g->sums[row_of(ouro__bucket_least(b), g->bits) - g->first] += l->durations[b];
    }
}

void ouro__grid_free(slice_grid *g) {
    free(g->cells);
    free(g->sums);
    *g = (slice_grid){0};
}

bool ouro__slice_grid(const slices *s, slice_grid *g) {
    extent e = find_extent(s);
    *g = (slice_grid){.step = 1};
    if (!e.any) return true;
    lay_out(s, &e, g);
    g->cells = calloc((size_t)g->columns * g->rows, sizeof *g->cells);
    g->sums = calloc(g->rows, sizeof *g->sums);
    if (!g->cells || !g->sums) {
        ouro__grid_free(g);
        return false;
    }
    for (uint32_t i = 0; i < s->count; i++) count_lane(s, &s->lanes[i], e.whole, g);
    return true;
}
