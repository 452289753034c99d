// SPDX-License-Identifier: MIT
//
// Two profiles compared block by block. Which blocks are the same is the matching's answer
// (matching.c); here their numbers are put beside each other, the largest changes first.
//
// The changes of self add up to the change of the total. So the first rows explain it, and
// `leading` says how many of them are worth a sentence.

#include "questions.h"

#include <stdlib.h>
#include <string.h>

bool ouro__comparable(const profile *a, uint32_t m, const profile *b, uint32_t n) {
    return strcmp(ouro__metric_name(a, m), ouro__metric_name(b, n)) == 0 &&
           strcmp(ouro__metric_unit(a, m), ouro__metric_unit(b, n)) == 0;
}

static bool has_too(const profile *a, uint32_t m, const profile *b, uint32_t *n) {
    *n = ouro__profile_find_metric(b, ouro__metric_name(a, m));
    return *n != NO_ROW && ouro__comparable(a, m, b, *n);
}

bool ouro__common_metric(const profile *a, const profile *b, uint32_t *m, uint32_t *n) {
    *m = a->default_metric;
    if (a->metric_count && has_too(a, *m, b, n)) return true;
    for (*m = 0; *m < a->metric_count; (*m)++) {
        if (has_too(a, *m, b, n)) return true;
    }
    return false;
}

static int64_t change(const difference *d) {
    int64_t n = d->self_after - d->self_before;
    return n < 0 ? -n : n;
}

static int by_change(const void *a, const void *b) {
    const difference *x = a, *y = b;
    if (change(x) != change(y)) return change(x) < change(y) ? 1 : -1;
    if (x->overall_after != y->overall_after) return x->overall_after < y->overall_after ? 1 : -1;
    int order = strcmp(x->name, y->name);
    if (!order) order = strcmp(x->file, y->file);
    if (!order) order = x->line < y->line ? -1 : x->line > y->line;
    if (!order) order = x->block_before < y->block_before ? -1 : x->block_before > y->block_before;
    return order ? order : x->block_after < y->block_after ? -1 : x->block_after > y->block_after;
}

// ---------------------------------------------------------------- who is there

enum { IN_BEFORE = 1, IN_AFTER = 2 };

// By pair. A block is there if a path has it: tables may hold blocks that nothing was charged to.
static void note_sides(const profile *a, const profile *b, const matching *m, uint8_t *sides) {
    for (uint32_t n = 1; n < a->node_count; n++) sides[a->block[n]] |= IN_BEFORE;
    for (uint32_t n = 1; n < b->node_count; n++) sides[m->pair_of_after[b->block[n]]] |= IN_AFTER;
}

// Two counts of the same paths: a block whose paths count nothing on a side is not there.
static void note_counted(const totals *before, const totals *after, const matching *m,
                         uint8_t *sides) {
    for (uint32_t i = 0; i < m->count; i++)
        sides[i] = (before->overall[m->pairs[i].before] ? IN_BEFORE : 0) |
                   (after->overall[m->pairs[i].after] ? IN_AFTER : 0);
}

// ---------------------------------------------------------------- rows

static void describe(difference *d, const profile *p, uint32_t block) {
    d->name = ouro__block_name(p, block);
    d->file = ouro__block_file(p, block);
    d->line = p->blocks[block].line;
}

static difference row_of(const profile *a, const totals *before, const profile *b,
                         const totals *after, const block_pair *pair, uint8_t sides) {
    difference d = {.in_before = sides & IN_BEFORE,
                    .in_after = sides & IN_AFTER,
                    .block_before = pair->before,
                    .block_after = pair->after,
                    .how = sides == (IN_BEFORE | IN_AFTER) ? pair->how : MATCH_NONE};
    if (d.in_after) describe(&d, b, pair->after);
    if (!d.in_after) describe(&d, a, pair->before);
    if (pair->before != NO_BLOCK) {
        d.self_before = before->self[pair->before];
        d.overall_before = before->overall[pair->before];
    }
    if (pair->after != NO_BLOCK) {
        d.self_after = after->self[pair->after];
        d.overall_after = after->overall[pair->after];
    }
    return d;
}

// Pairs that neither side has are of blocks that only the tables name.
static bool fill(const profile *a, const totals *before, const profile *b, const totals *after,
                 const matching *m, const uint8_t *sides, comparison *c) {
    c->rows = malloc(((size_t)m->count + 1) * sizeof *c->rows);
    if (!c->rows) return false;
    for (uint32_t i = 0; i < m->count; i++) {
        if (sides[i]) c->rows[c->count++] = row_of(a, before, b, after, &m->pairs[i], sides[i]);
    }
    c->total_before = before->total;
    c->total_after = after->total;
    qsort(c->rows, c->count, sizeof *c->rows, by_change);
    return true;
}

// By names as texts of the side before; names that only the other side has stand behind them.
static bool note_several(const profile *a, const profile *b, comparison *c) {
    uint8_t *seen = calloc((size_t)a->texts.count + b->texts.count + 1, 1);
    uint32_t *names = malloc(((size_t)c->count + 1) * sizeof *names);
    for (uint32_t i = 0; seen && names && i < c->count; i++) {
        const char *name = c->rows[i].name;
        uint32_t text = ouro__texts_find(&a->texts, name, strlen(name));
        if (text == NO_ROW) text = a->texts.count + ouro__texts_find(&b->texts, name, strlen(name));
        names[i] = text;
        seen[text] += seen[text] < 2;
    }
    bool ok = seen && names;
    for (uint32_t i = 0; ok && i < c->count; i++) c->rows[i].several = seen[names[i]] > 1;
    free(seen);
    free(names);
    return ok;
}

// A change of less than a tenth of the largest one is a detail.
static void note_leading(comparison *c) {
    while (c->changed < c->count && change(&c->rows[c->changed])) c->changed++;
    while (c->leading < c->changed && c->leading < LEADING_MOST &&
           change(&c->rows[c->leading]) >= change(&c->rows[0]) / 10)
        c->leading++;
}

// Both sides in the same unit: the values of one are multiplied by a power of ten.
static bool rescale(totals *t, uint32_t by) {
    bool ok = true;
    for (; ok && by; by--) {
        ok = !__builtin_mul_overflow(t->total, 10, &t->total);
        for (uint32_t i = 0; ok && i < t->count; i++)
            ok = !__builtin_mul_overflow(t->self[i], 10, &t->self[i]) &&
                 !__builtin_mul_overflow(t->overall[i], 10, &t->overall[i]);
    }
    return ok;
}

static bool same_decimals(totals *ta, uint32_t a, totals *tb, uint32_t b, error *e) {
    return rescale(a < b ? ta : tb, a < b ? b - a : a - b) ||
           ouro__fail(e, EOVERFLOW, "the values do not fit with the decimals of both");
}

static bool put_together(const profile *a, const totals *ta, const profile *b, const totals *tb,
                         const matching *m, comparison *c) {
    uint8_t *sides = calloc((size_t)m->count + 1, 1);
    if (sides && a == b) note_counted(ta, tb, m, sides);
    if (sides && a != b) note_sides(a, b, m, sides);
    bool ok = sides && fill(a, ta, b, tb, m, sides, c) && note_several(a, b, c);
    if (ok) note_leading(c);
    free(sides);
    return ok;
}

bool ouro__compare(const profile *a, uint32_t before, const profile *b, uint32_t after,
                   comparison *c, error *e) {
    matching m = {0};
    totals ta = {0}, tb = {0};
    *c = (comparison){0};
    bool memory = ouro__match_blocks(a, b, &m) && ouro__totals(a, before, NULL, 0, &ta) &&
                  ouro__totals(b, after, NULL, 0, &tb);
    bool ok = memory &&
              same_decimals(&ta, a->metrics[before].decimals, &tb, b->metrics[after].decimals, e);
    if (ok) memory = ok = put_together(a, &ta, b, &tb, &m, c);
    if (!memory) ouro__error_memory(e);
    ouro__matching_free(&m);
    ouro__totals_free(&ta);
    ouro__totals_free(&tb);
    if (!ok) ouro__comparison_free(c);
    return ok;
}

void ouro__comparison_free(comparison *c) {
    free(c->rows);
    *c = (comparison){0};
}
