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

// ---------------------------------------------------------------- rows

enum { IN_BEFORE = 1, IN_AFTER = 2 };

// One side, with what its values are multiplied by to count in the unit of both.
typedef struct {
    const measured *of;
    int64_t scale;
    bool too_large;
} scaled;

static int64_t times(scaled *s, int64_t value) {
    s->too_large |= __builtin_mul_overflow(value, s->scale, &value);
    return value;
}

static scaled scaled_side(const measured *of, const measured *other) {
    uint32_t own = of->p->metrics[of->metric].decimals,
             wanted = other->p->metrics[other->metric].decimals;
    scaled s = {of, 1, false};
    for (; own < wanted; own++) s.too_large |= __builtin_mul_overflow(s.scale, 10, &s.scale);
    return s;
}

// A block is there if a path has it: tables may hold blocks that nothing was charged to. Of two
// counts of the same paths, a block whose paths count nothing on a side is not there.
static uint8_t sides_of(const measured *a, const measured *b, const block_pair *pair) {
    bool counts = a->p == b->p;
    bool before = pair->before != NO_BLOCK &&
                  (counts ? a->totals->overall[pair->before] != 0 : a->present[pair->before]),
         after = pair->after != NO_BLOCK &&
                 (counts ? b->totals->overall[pair->after] != 0 : b->present[pair->after]);
    return (uint8_t)((before ? IN_BEFORE : 0) | (after ? IN_AFTER : 0));
}

static void describe(difference *d, const profile *p, uint32_t block) {
    d->name = ouro__block_name(p, block);
    d->file = ouro__block_file(p, block);
    d->line = p->blocks[block].line;
}

static difference row_of(scaled *a, scaled *b, const block_pair *pair, uint8_t sides) {
    difference d = {.in_before = sides & IN_BEFORE,
                    .in_after = sides & IN_AFTER,
                    .block_before = pair->before,
                    .block_after = pair->after,
                    .how = sides == (IN_BEFORE | IN_AFTER) ? pair->how : MATCH_NONE};
    if (d.in_after) describe(&d, b->of->p, pair->after);
    if (!d.in_after) describe(&d, a->of->p, pair->before);
    if (pair->before != NO_BLOCK) {
        d.self_before = times(a, a->of->totals->self[pair->before]);
        d.overall_before = times(a, a->of->totals->overall[pair->before]);
    }
    if (pair->after != NO_BLOCK) {
        d.self_after = times(b, b->of->totals->self[pair->after]);
        d.overall_after = times(b, b->of->totals->overall[pair->after]);
    }
    return d;
}

// Pairs that neither side has are of blocks that only the tables name.
static bool fill(scaled *a, scaled *b, const matching *m, comparison *c) {
    c->rows = malloc(((size_t)m->count + 1) * sizeof *c->rows);
    for (uint32_t i = 0; c->rows && i < m->count; i++) {
        uint8_t sides = sides_of(a->of, b->of, &m->pairs[i]);
        if (sides) c->rows[c->count++] = row_of(a, b, &m->pairs[i], sides);
    }
    c->total_before = times(a, a->of->totals->total);
    c->total_after = times(b, b->of->totals->total);
    if (c->rows) qsort(c->rows, c->count, sizeof *c->rows, by_change);
    return c->rows;
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

// ---------------------------------------------------------------- the question

bool ouro__compare_measured(const measured *a, const measured *b, comparison *c, error *e) {
    matching m = {0};
    scaled before = scaled_side(a, b), after = scaled_side(b, a);
    *c = (comparison){0};
    bool ok = (ouro__match_blocks(a->p, b->p, &m) && fill(&before, &after, &m, c) &&
               note_several(a->p, b->p, c)) ||
              ouro__fail_memory(e);
    if (ok && (before.too_large || after.too_large))
        ok = ouro__fail(e, EOVERFLOW, "the values do not fit with the decimals of both");
    if (ok) note_leading(c);
    ouro__matching_free(&m);
    if (!ok) ouro__comparison_free(c);
    return ok;
}

static uint8_t *find_present(const profile *p) {
    uint8_t *present = calloc((size_t)p->block_count + 1, 1);
    for (uint32_t n = 1; present && n < p->node_count; n++) present[p->block[n]] = 1;
    return present;
}

bool ouro__compare(const profile *a, uint32_t before, const profile *b, uint32_t after,
                   comparison *c, error *e) {
    totals ta = {0}, tb = {0};
    uint8_t *in_a = find_present(a), *in_b = find_present(b);
    *c = (comparison){0};
    bool memory = in_a && in_b && ouro__totals(a, before, NULL, 0, &ta) &&
                  ouro__totals(b, after, NULL, 0, &tb);
    bool ok = (memory || ouro__fail_memory(e)) &&
              ouro__compare_measured(&(measured){a, before, &ta, in_a},
                                     &(measured){b, after, &tb, in_b}, c, e);
    ouro__totals_free(&ta);
    ouro__totals_free(&tb);
    free(in_a);
    free(in_b);
    return ok;
}

void ouro__comparison_free(comparison *c) {
    free(c->rows);
    *c = (comparison){0};
}
