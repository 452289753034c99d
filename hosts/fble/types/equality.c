// SPDX-License-Identifier: MIT
//
// Type equality by infinite unfolding, relative to the module being checked.
//
// Nodes that are equal, or assumed to be while no difference has been found, are merged into
// classes (union-find). A pair is looked into only if its classes differ, and then they are merged,
// so there are at most as many steps as nodes, even for cycles of different lengths, where a set of
// pairs would grow with their product. If a difference turns up, the merges of this comparison are
// undone; if not, they stay and make the next comparison a pointer test.

#include "types.h"

static struct fble_type *class_of(const struct fble_types *types, struct fble_type *type) {
    while (type->same_stamp == types->module_stamp && type->same) type = type->same;
    return type;
}

// The smaller class goes under the larger one. There is no path compression, so one store undoes
// a merge.
static void merge(struct fble_types *types, struct fble_type *a, struct fble_type *b) {
    if (a->same_stamp != types->module_stamp) a->same_rank = 0, a->same = NULL;
    if (b->same_stamp != types->module_stamp) b->same_rank = 0, b->same = NULL;
    a->same_stamp = b->same_stamp = types->module_stamp;
    if (a->same_rank > b->same_rank) {
        struct fble_type *other = a;
        a = b;
        b = other;
    }
    a->same = b;
    if (a->same_rank == b->same_rank) b->same_rank++;
    fble_push(types->arena, &types->unions, a);
}

static void later(struct fble_types *types, struct fble_type *a, struct fble_type *b) {
    fble_push(types->arena, &types->pending, a);
    fble_push(types->arena, &types->pending, b);
}

static bool same_fields(struct fble_types *types, const struct fble_type *a,
                        const struct fble_type *b) {
    if (a->data.count != b->data.count) return false;
    for (uint32_t i = 0; i < a->data.count && !types->as_host; i++)
        if (!fble_same_name(&a->data.fields[i].name, &b->data.fields[i].name)) return false;
    for (uint32_t i = 0; i < a->data.count; i++)
        later(types, a->data.fields[i].type, b->data.fields[i].type);
    return true;
}

static bool is_alone(const struct fble_types *types, const struct fble_type *param) {
    return param->same_stamp != types->module_stamp || (!param->same && !param->same_rank);
}

// The bodies are compared with the two parameters as one. Merging them does that, as long as each
// has only one partner; a parameter that is merged already, as when a recursive type unfolds next
// to two different binders, is replaced in both bodies by a new one.
static bool same_poly(struct fble_types *types, struct fble_type *a, struct fble_type *b) {
    struct fble_type *v = a->poly.param, *w = b->poly.param;
    if (!fble_kind_equal(v->variable.type_kind, w->variable.type_kind)) return false;
    if (is_alone(types, v) && is_alone(types, w)) {
        merge(types, v, w);
        later(types, a->poly.body, b->poly.body);
        return true;
    }
    uint32_t depth = (a->depth > b->depth ? a->depth : b->depth) + 1;
    struct fble_type *both = fble_parameter(types, &v->variable.name, v->variable.type_kind, depth);
    later(types, fble_instance(types, a, both), fble_instance(types, b, both));
    return true;
}

// Compares two normal nodes of different classes without their parts, which are put on the list of
// pairs to compare. They are assumed to be equal.
static bool same_outside(struct fble_types *types, struct fble_type *a, struct fble_type *b) {
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case FBLE_T_STRUCT:
    case FBLE_T_UNION:
        return same_fields(types, a, b);
    case FBLE_T_FUNC:
        later(types, a->func.arg, b->func.arg);
        later(types, a->func.result, b->func.result);
        return true;
    case FBLE_T_POLY:
        return same_poly(types, a, b);
    case FBLE_T_APPLY:
        later(types, a->apply.head, b->apply.head);
        later(types, a->apply.arg, b->apply.arg);
        return true;
    case FBLE_T_TYPEOF:
        later(types, a->inner, b->inner);
        return true;
    case FBLE_T_PACKAGE:
        return a->package == b->package;
    case FBLE_T_PRIVATE:
        later(types, a->private.inner, b->private.inner);
        return a->private.package == b->private.package;
    case FBLE_T_VARIABLE:
        return false;
    }
    return false;
}

static bool same(struct fble_types *types, struct fble_type *a, struct fble_type *b) {
    a = fble_normal(types, a);
    b = fble_normal(types, b);
    if (!a || !b) return true; // vacuous, reported already
    struct fble_type *x = class_of(types, a), *y = class_of(types, b);
    if (x == y) return true;
    if (a->kind != b->kind) return false;
    merge(types, x, y);
    return same_outside(types, a, b);
}

bool fble_equal(struct fble_types *types, struct fble_type *a, struct fble_type *b) {
    if (a == b) return true;
    uint32_t base = types->pending.count, first = types->unions.count;
    bool good = same(types, a, b);
    while (good && types->pending.count > base) {
        b = types->pending.at[--types->pending.count];
        a = types->pending.at[--types->pending.count];
        good = a == b || same(types, a, b);
    }
    types->pending.count = base;
    for (uint32_t i = types->unions.count; !good && i-- > first;)
        ((struct fble_type *)types->unions.at[i])->same = NULL;
    types->unions.count = first;
    return good;
}
