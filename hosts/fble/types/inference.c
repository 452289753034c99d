// SPDX-License-Identifier: MIT
//
// Inference of type parameters: the expected type, which mentions them, is walked in parallel with
// the actual one. Where an unassigned parameter is met, it gets the actual type. The walk goes from
// left to right and ends at the first difference, keeping what was assigned; whether the types
// really are equal is asked afterwards, by substituting and comparing.
//
// Only the part of the expected type that mentions a parameter is walked; the rest is compared.

#include "types.h"

#include <string.h>

struct match {
    struct fble_types *types;
    uint32_t outermost;       // the depth of the first parameter
    struct fble_pairs *seen;  // pairs of nodes, so that cycles end
    struct fble_pairs *bound; // parameters of polys inside both types
    struct fble_list actuals; // parameters of the actual type, which must not escape
};

void fble_infer_start(struct fble_type **params, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        params[i]->inferring = true;
        params[i]->assigned = NULL;
    }
}

void fble_infer_end(struct fble_type **params, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        params[i]->inferring = false;
        params[i]->assigned = NULL;
    }
}

static void later(struct match *m, struct fble_type *expected, struct fble_type *actual) {
    fble_push(m->types->arena, &m->types->pending, expected);
    fble_push(m->types->arena, &m->types->pending, actual);
}

static bool assign(struct match *m, struct fble_type *param, struct fble_type *actual) {
    if (param->assigned) return fble_equal(m->types, param->assigned, actual);
    for (uint32_t i = 0; i < m->actuals.count; i++)
        if (fble_mentions(m->types, actual, m->actuals.at[i])) return false;
    param->assigned = actual;
    return true;
}

static bool match_fields(struct match *m, struct fble_type *e, struct fble_type *a) {
    if (e->data.count != a->data.count) return false;
    // Names differ from some field on: the fields before it are matched all the same.
    uint32_t n = 0;
    while (n < e->data.count && fble_same_name(&e->data.fields[n].name, &a->data.fields[n].name))
        n++;
    if (n < e->data.count) later(m, NULL, NULL);
    while (n--) later(m, e->data.fields[n].type, a->data.fields[n].type);
    return true;
}

static bool match_poly(struct match *m, struct fble_type *e, struct fble_type *a) {
    struct fble_type *v = e->poly.param, *w = a->poly.param;
    if (!fble_kind_equal(v->variable.type_kind, w->variable.type_kind)) return false;
    *fble_pair(m->types->arena, m->bound, v, w) = w;
    fble_push(m->types->arena, &m->actuals, w);
    later(m, e->poly.body, a->poly.body);
    return true;
}

// Both in normal form. What comes first is put on the stack last.
static bool match_outside(struct match *m, struct fble_type *e, struct fble_type *a) {
    if (e->kind != a->kind) return false;
    switch (e->kind) {
    case FBLE_T_STRUCT:
    case FBLE_T_UNION:
        return match_fields(m, e, a);
    case FBLE_T_FUNC:
        later(m, e->func.result, a->func.result);
        later(m, e->func.arg, a->func.arg);
        return true;
    case FBLE_T_POLY:
        return match_poly(m, e, a);
    case FBLE_T_APPLY:
        later(m, e->apply.arg, a->apply.arg);
        later(m, e->apply.head, a->apply.head);
        return true;
    case FBLE_T_TYPEOF:
        later(m, e->inner, a->inner);
        return true;
    case FBLE_T_PRIVATE:
        later(m, e->private.inner, a->private.inner);
        return e->private.package == a->private.package;
    case FBLE_T_VARIABLE:
        return e == a || *fble_pair(m->types->arena, m->bound, e, a);
    case FBLE_T_PACKAGE:
        return e->package == a->package;
    }
    return false;
}

static bool match(struct match *m, struct fble_type *expected, struct fble_type *actual) {
    if (!expected) return false;
    if (expected->inferring) return assign(m, expected, actual);
    if (expected->depth < m->outermost) return fble_equal(m->types, expected, actual);
    struct fble_type *e = fble_normal(m->types, expected), *a = fble_normal(m->types, actual);
    if (!e || !a) return false;
    if (e->inferring) return assign(m, e, actual);
    void **seen = fble_pair(m->types->arena, m->seen, e, a);
    if (*seen) return true;
    *seen = e;
    return match_outside(m, e, a);
}

// Tables are used again and again: inference is frequent, and its tables are mostly small.
static void empty(struct fble_pairs *pairs) {
    if (pairs->capacity > 1024) *pairs = (struct fble_pairs){0};
    if (pairs->count) memset(pairs->at, 0, pairs->capacity * sizeof *pairs->at);
    pairs->count = 0;
}

void fble_infer_match(struct fble_types *types, struct fble_type *expected,
                      struct fble_type *actual, uint32_t outermost) {
    struct match m = {types, outermost, &types->matched, &types->bound, {0}};
    uint32_t base = types->pending.count;
    bool good = match(&m, expected, actual);
    while (good && types->pending.count > base) {
        actual = types->pending.at[--types->pending.count];
        expected = types->pending.at[--types->pending.count];
        good = match(&m, expected, actual);
    }
    types->pending.count = base;
    empty(m.seen);
    empty(m.bound);
}
