// SPDX-License-Identifier: MIT
//
// Kept slices beside the rows of their profile, for who writes both: a path's row has at least what
// the slices have of it, and no total changes.
//
// A path of a slice may have been evicted since. Then its counts are in the [pruned] account of an
// ancestor, and are moved back from there. Deepest first, and from the nearest account first: what
// an account has may belong to any path below its node, so a path that can take from a deep one
// leaves the others to those that cannot.

#include "slices_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    ouro__rows *rows;
    uint64_t *needs;    // what slices have of each row, as the values
    uint32_t *accounts; // of each row; 0: none
    uint32_t width;
} placing;

static uint32_t tree_count(const ouro__slices_copy *slices) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < slices->count; i++) n += slices->lanes[i].tree_count;
    return n;
}

static ouro__image image_of(const ouro__rows *rows, uint64_t *values) {
    return (ouro__image){
        .count = rows->count, .block = rows->block, .parent = rows->parent, .values = values};
}

// All paths, of the profile and of the slices; each tree learns where its rows are.
static ouro__rows *merge(const ouro__rows *rows, ouro__slices_copy *slices) {
    uint32_t trees = tree_count(slices), n = 0;
    size_t most = 1;
    for (uint32_t i = 0; i < slices->count; i++) {
        for (uint32_t t = 0; t < slices->lanes[i].tree_count; t++) {
            const ouro__rows *tree = slices->lanes[i].trees[t].rows;
            if (tree->count > most) most = tree->count;
        }
    }
    uint64_t *zeros = calloc(most * ouro__row_width(rows->metric_count), sizeof *zeros);
    ouro__image *images = calloc((size_t)trees + 1, sizeof *images);
    bool ok = zeros && images;
    if (ok) images[n++] = image_of(rows, rows->values);
    for (uint32_t i = 0; ok && i < slices->count; i++) {
        for (uint32_t t = 0; ok && t < slices->lanes[i].tree_count; t++) {
            ouro__slice_tree *tree = &slices->lanes[i].trees[t];
            images[n] = image_of(tree->rows, zeros);
            ok = ouro__image_ask_places(&images[n]);
            tree->place = images[n++].place;
        }
    }
    ouro__rows *merged = ok ? ouro__rows_merge(images, n, rows->metric_count) : NULL;
    free(zeros);
    free(images);
    return merged;
}

static void sum_needs(placing *p, const ouro__slices_copy *slices) {
    for (uint32_t i = 0; i < slices->count; i++) {
        for (uint32_t t = 0; t < slices->lanes[i].tree_count; t++) {
            const ouro__slice_tree *tree = &slices->lanes[i].trees[t];
            for (uint32_t row = 0; row < tree->rows->count; row++) {
                const uint64_t *values = ouro__row_values(tree->rows, row);
                uint64_t *need = p->needs + (size_t)tree->place[row] * p->width;
                for (uint32_t v = 0; v < p->width; v++) need[v] += values[v];
            }
        }
    }
}

static void take_back(placing *p, uint32_t row, uint32_t v) {
    uint64_t *values = p->rows->values + v, *needs = p->needs + v;
    size_t to = (size_t)row * p->width;
    uint32_t above = p->rows->parent[row];
    if (p->rows->block[row] == OURO_PRUNED) above = p->rows->parent[above];
    while (needs[to] > values[to]) {
        size_t from = (size_t)p->accounts[above] * p->width;
        uint64_t want = needs[to] - values[to], have = 0;
        if (from && from != to && values[from] > needs[from]) have = values[from] - needs[from];
        if (have > want) have = want;
        if (have) values[from] -= have;
        values[to] += have;
        if (above == 0) break;
        above = p->rows->parent[above];
    }
}

static bool balance(placing *p, const ouro__slices_copy *slices) {
    ouro__rows *rows = p->rows;
    p->needs = calloc((size_t)rows->count * p->width, sizeof *p->needs);
    p->accounts = calloc(rows->count, sizeof *p->accounts);
    bool ok = p->needs && p->accounts;
    if (ok) sum_needs(p, slices);
    for (uint32_t i = 1; ok && i < rows->count; i++) {
        if (rows->block[i] == OURO_PRUNED) p->accounts[rows->parent[i]] = i;
    }
    for (uint32_t i = ok ? rows->count : 0; i-- > 1;) {
        for (uint32_t v = 0; v < p->width; v++) take_back(p, i, v);
    }
    free(p->needs);
    free(p->accounts);
    return ok;
}

bool ouro__slices_place(ouro__rows **rows, ouro__slices_copy *slices) {
    if (slices->count == 0) return true;
    ouro__rows *merged = merge(*rows, slices);
    placing p = {.rows = merged, .width = ouro__row_width((*rows)->metric_count)};
    if (!merged || !balance(&p, slices)) {
        ouro__rows_free(merged);
        errno = ENOMEM;
        return false;
    }
    ouro__rows_free(*rows);
    *rows = merged;
    return true;
}
