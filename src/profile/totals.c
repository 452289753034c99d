// SPDX-License-Identifier: MIT
//
// Self and overall of blocks or groups of blocks, and the largest of many values.
//
// Overall: a path counts a block once, however often it occurs there. A node is the topmost of its
// block if it is not inside the subtree of an earlier topmost one; rows are in preorder, so that
// subtree ends at a known row and one word per block remembers it. No stack, no set.

#include "questions.h"
#include "valid.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int64_t *ouro__running(const profile *p, uint32_t m) {
    int64_t *running = malloc(((size_t)p->node_count + 1) * sizeof *running);
    if (!running) return NULL;
    running[0] = 0;
    for (uint32_t n = 0; n < p->node_count; n++) running[n + 1] = running[n] + p->values[m][n];
    return running;
}

int64_t ouro__total(const profile *p, uint32_t m) {
    int64_t total = 0;
    for (uint32_t n = 0; n < p->node_count; n++) total += p->values[m][n];
    return total;
}

uint32_t ouro__calls_metric(const profile *p) {
    uint32_t m = ouro__profile_find_metric(p, "calls");
    bool any = false;
    for (uint32_t b = 0; !any && b < p->block_count; b++) any = ouro__is_counted(p, b);
    return any ? m : NO_ROW;
}

int64_t ouro__calls_of(const profile *p, uint32_t node) {
    uint32_t m = ouro__profile_find_metric(p, "calls");
    return ouro__is_counted(p, p->block[node]) ? p->values[m][node] : NOT_COUNTED;
}

static void sum_groups(const profile *p, uint32_t m, const uint32_t *group, const int64_t *running,
                       uint32_t *until, totals *t) {
    const int64_t *values = p->values[m];
    for (uint32_t n = 1; n < p->node_count; n++) {
        uint32_t g = group ? group[p->block[n]] : p->block[n];
        t->self[g] += values[n];
        if (n < until[g]) continue;
        until[g] = p->end[n];
        t->overall[g] += ouro__inclusive(p, running, n);
    }
}

static void sum_calls(const profile *p, const int64_t *calls, const uint32_t *group, totals *t) {
    for (uint32_t g = 0; g < t->count; g++) t->calls[g] = NOT_COUNTED;
    for (uint32_t b = 0; b < p->block_count; b++)
        if (ouro__is_counted(p, b)) t->calls[group ? group[b] : b] = 0;
    for (uint32_t n = 1; n < p->node_count; n++)
        t->calls[group ? group[p->block[n]] : p->block[n]] += calls[n];
}

bool ouro__totals(const profile *p, uint32_t m, const uint32_t *group, uint32_t count, totals *t) {
    if (!group) count = p->block_count;
    uint32_t calls = ouro__calls_metric(p);
    int64_t *running = ouro__running(p, m);
    uint32_t *until = calloc((size_t)count + 1, sizeof *until);
    *t = (totals){.count = count,
                  .self = calloc((size_t)count + 1, sizeof *t->self),
                  .overall = calloc((size_t)count + 1, sizeof *t->overall)};
    if (calls != NO_ROW) t->calls = calloc((size_t)count + 1, sizeof *t->calls);
    bool ok = running && until && t->self && t->overall && (calls == NO_ROW || t->calls);
    if (ok) {
        t->total = running[p->node_count];
        sum_groups(p, m, group, running, until, t);
    }
    if (ok && calls != NO_ROW) sum_calls(p, p->values[calls], group, t);
    free(running);
    free(until);
    if (!ok) ouro__totals_free(t);
    assert(!ok || ouro__totals_is_valid(p, m, t));
    return ok;
}

void ouro__totals_free(totals *t) {
    free(t->self);
    free(t->overall);
    free(t->calls);
    *t = (totals){0};
}

// ---------------------------------------------------------------- ranking

typedef struct {
    const int64_t *values;
    bool ascending;
} ranking;

// Is a behind b in the ranking?
static bool behind(const ranking *r, uint32_t a, uint32_t b) {
    if (r->values[a] == r->values[b]) return a > b;
    return (r->values[a] < r->values[b]) != r->ascending;
}

// `heap` has the last of the ranking on top.
static void sift_down(const ranking *r, uint32_t *heap, uint32_t count, uint32_t at) {
    for (uint32_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && behind(r, heap[child + 1], heap[child])) child++;
        if (behind(r, heap[at], heap[child])) return;
        uint32_t moved = heap[at];
        heap[at] = heap[child];
        heap[child] = moved;
    }
}

// Rows are offered one by one; the heap is only made when it is full, or at the end.
static uint32_t offer(const ranking *r, uint32_t row, uint32_t top, uint32_t used, uint32_t *out) {
    if (used < top) {
        out[used++] = row;
        for (uint32_t at = used / 2; used == top && at-- > 0;) sift_down(r, out, used, at);
    } else if (behind(r, out[0], row)) {
        out[0] = row;
        sift_down(r, out, used, 0);
    }
    return used;
}

static uint32_t ranked(const ranking *r, uint32_t top, uint32_t used, uint32_t *out) {
    for (uint32_t at = used / 2; used < top && at-- > 0;) sift_down(r, out, used, at);
    // The last goes to the end, again and again.
    for (uint32_t left = used; left > 1;) {
        uint32_t last = out[0];
        out[0] = out[--left];
        out[left] = last;
        sift_down(r, out, left, 0);
    }
    return used;
}

uint32_t ouro__rank(const int64_t *values, uint32_t count, uint32_t top, uint32_t *out) {
    ranking r = {values, false};
    uint32_t used = 0;
    for (uint32_t i = 0; i < count && top; i++) {
        if (values[i]) used = offer(&r, i, top, used, out);
    }
    return ranked(&r, top, used, out);
}

// ---------------------------------------------------------------- pages of a ranking

static int compare_ranked(const void *a, const void *b, void *user) {
    return behind(user, *(const uint32_t *)a, *(const uint32_t *)b) ? 1 : -1;
}

static void swap(uint32_t *a, uint32_t *b) {
    uint32_t moved = *a;
    *a = *b;
    *b = moved;
}

// Moves rows so that the first `place` of the ranking stand first. The pivot is drawn: no order of
// the values is slow.
static void split_at(const ranking *r, uint32_t *rows, uint32_t first, uint32_t end,
                     uint32_t place) {
    uint64_t seed = 88172645463325252u;
    while (end - first > 1 && place > first && place < end) {
        seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
        swap(&rows[first], &rows[first + seed % (end - first)]);
        uint32_t pivot = rows[first], middle = first;
        for (uint32_t i = first + 1; i < end; i++) {
            if (behind(r, pivot, rows[i])) swap(&rows[++middle], &rows[i]);
        }
        swap(&rows[first], &rows[middle]);
        if (place <= middle) {
            end = middle;
        } else {
            first = middle + 1;
        }
    }
}

// Of a page far behind only its own rows are sorted.
static uint32_t far_page(const ranking *r, uint32_t count, const uint8_t *keep, uint32_t offset,
                         uint32_t limit, uint32_t *rows) {
    uint32_t used = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!keep || keep[i]) rows[used++] = i;
    }
    if (offset >= used) return 0;
    if (limit > used - offset) limit = used - offset;
    split_at(r, rows, 0, used, offset);
    split_at(r, rows, offset, used, offset + limit);
    memmove(rows, rows + offset, limit * sizeof *rows);
    qsort_r(rows, limit, sizeof *rows, compare_ranked, (void *)(uintptr_t)r);
    return limit;
}

static uint32_t near_page(const ranking *r, uint32_t count, const uint8_t *keep, uint32_t offset,
                          uint32_t top, uint32_t *rows) {
    uint32_t used = 0;
    for (uint32_t i = 0; i < count && top; i++) {
        if (!keep || keep[i]) used = offer(r, i, top, used, rows);
    }
    used = ranked(r, top, used, rows);
    if (used <= offset) return 0;
    memmove(rows, rows + offset, (used - offset) * sizeof *rows);
    return used - offset;
}

uint32_t *ouro__order(const int64_t *values, uint32_t count, const uint8_t *keep, bool ascending,
                      uint32_t offset, uint32_t limit, uint32_t *used) {
    enum { NEAR = 2048 };
    ranking r = {values, ascending};
    uint64_t top = (uint64_t)offset + limit;
    bool far = top > NEAR;
    uint32_t *rows = malloc(((size_t)(far || top > count ? count : top) + 1) * sizeof *rows);
    if (!rows) return NULL;
    if (far) *used = far_page(&r, count, keep, offset, limit, rows);
    if (!far) *used = near_page(&r, count, keep, offset, top > count ? count : (uint32_t)top, rows);
    return rows;
}
