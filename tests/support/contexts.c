// SPDX-License-Identifier: MIT
#include "contexts.h"

#include <stdlib.h>
#include <string.h>

static void collect(void *user, const ouro_visit *v) {
    contexts *all = user;
    if (all->count == all->room) {
        all->room = all->room ? all->room * 2 : 64;
        all->list = realloc(all->list, all->room * sizeof *all->list);
    }
    context *c = &all->list[all->count++];
    memset(c, 0, sizeof *c);
    c->path = malloc((v->length + 1) * sizeof *c->path);
    memcpy(c->path, v->path, v->length * sizeof *c->path);
    c->length = v->length;
    c->pruned = v->pruned;
    c->calls = v->calls;
    c->recursions = v->recursions;
    c->direct = v->direct;
    for (uint32_t w = 0; w < WEIGHTS && w <= all->metric_count; w++) {
        c->self[w] = w ? v->metrics[w - 1] : v->calls;
        c->missing[w] = v->missing[w];
        all->totals[w] += c->self[w];
    }
}

// An account hangs on its path as a child does.
static size_t depth_of(const context *c) { return c->length + c->pruned; }

static void sum_inclusive(contexts *all) {
    size_t deepest = 0;
    for (size_t i = 0; i < all->count; i++) {
        if (depth_of(&all->list[i]) > deepest) deepest = depth_of(&all->list[i]);
    }
    uint64_t(*open)[WEIGHTS] = calloc(deepest + 2, sizeof *open);
    // Backwards, so children come before parents: open[d] is the sum of the children at depth d
    // seen so far.
    for (size_t i = all->count; i-- > 0;) {
        context *c = &all->list[i];
        size_t d = depth_of(c);
        for (int w = 0; w < WEIGHTS; w++) {
            c->inclusive[w] = c->self[w] + open[d + 1][w];
            open[d + 1][w] = 0;
            open[d][w] += c->inclusive[w];
        }
    }
    free(open);
}

static int compare_paths(const ouro_block *a, size_t a_length, const ouro_block *b,
                         size_t b_length) {
    size_t shorter = a_length < b_length ? a_length : b_length;
    int order = memcmp(a, b, shorter * sizeof *a);
    return order ? order : (a_length > b_length) - (a_length < b_length);
}

static const contexts *sorting;
static int by_path(const void *a, const void *b) {
    const context *x = &sorting->list[*(const size_t *)a], *y = &sorting->list[*(const size_t *)b];
    int order = compare_paths(x->path, x->length, y->path, y->length);
    return order ? order : x->pruned - y->pruned;
}

contexts *contexts_of(ouro_profile *profile, uint32_t metric_count) {
    contexts *all = calloc(1, sizeof *all);
    all->metric_count = metric_count;
    ouro_profile_visit(profile, collect, all);
    sum_inclusive(all);
    all->sorted = malloc((all->count + 1) * sizeof *all->sorted);
    for (size_t i = 0; i < all->count; i++) all->sorted[i] = i;
    sorting = all;
    qsort(all->sorted, all->count, sizeof *all->sorted, by_path);
    return all;
}

void contexts_free(contexts *all) {
    for (size_t i = 0; i < all->count; i++) free(all->list[i].path);
    free(all->list);
    free(all->sorted);
    free(all);
}

const context *contexts_find(const contexts *all, const ouro_block *path, size_t length) {
    size_t low = 0, high = all->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const context *c = &all->list[all->sorted[middle]];
        int order = compare_paths(c->path, c->length, path, length);
        if (order == 0 && !c->pruned) return c;
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}
