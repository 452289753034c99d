// SPDX-License-Identifier: MIT
//
// Normal forms and instances. Both work on graphs of any depth, so both keep their own stack.
//
// Normalising follows definitions, private types with access and heads of applications. A node is
// `busy` while its normal form is being computed: meeting it again means that it needs itself, and
// the type is vacuous. Results are kept in the nodes, valid for the module being checked.
//
// An instance is a copy of a poly's body with the argument for the parameter. Parts that do not
// mention the parameter (see `depth`) are shared, and a node is copied once, so cycles end. Inner
// parameters are copied too, to a depth below which all free parameters stay.

#include "types.h"

// What to do with the normal form of the node that was looked at for the sake of `type`.
enum purpose {
    ALIAS,   // it is the normal form of `type` too
    HEAD,    // `type` is an application, it is the head's
    BODY,    // `type` is a poly, it is the body's
    ETA_ARG, // `type` is a poly, `saved` its body's, it is that of the body's argument
};

struct frame {
    struct fble_type *type, *saved;
    enum purpose purpose;
};

static struct frame *push_frame(struct fble_types *types, struct fble_type *type,
                                enum purpose why) {
    struct fble_list *stack = &types->work;
    // Frames are kept for reuse: the list never shrinks, only its count does.
    if (stack->count == stack->capacity || !stack->at[stack->count])
        fble_push(types->arena, stack, fble_alloc(types->arena, sizeof(struct frame)));
    else
        stack->count++;
    struct frame *frame = stack->at[stack->count - 1];
    *frame = (struct frame){.type = type, .purpose = why};
    type->busy = true;
    return frame;
}

static bool is_abstract(const struct fble_type *type) {
    return type->kind == FBLE_T_VARIABLE && !type->variable.definition;
}

// The node itself if it is normal, its normal form if that is known in this module, else NULL.
static struct fble_type *known(const struct fble_types *types, struct fble_type *type) {
    if (type->kind < FBLE_T_POLY || is_abstract(type)) return type;
    if (type->kind == FBLE_T_PRIVATE && !fble_has_access(types, type->private.package)) return type;
    return type->normal_stamp == types->module_stamp ? type->normal : NULL;
}

// Begins work on a node that is not known; gives the node to look at first.
static struct fble_type *descend(struct fble_types *types, struct fble_type *type) {
    switch (type->kind) {
    case FBLE_T_APPLY:
        push_frame(types, type, HEAD);
        return type->apply.head;
    case FBLE_T_POLY:
        push_frame(types, type, BODY);
        return type->poly.body;
    case FBLE_T_PRIVATE:
        push_frame(types, type, ALIAS);
        return type->private.inner;
    default:
        push_frame(types, type, ALIAS);
        return type->variable.definition;
    }
}

// A variable may get its definition later, so being abstract is not remembered.
static void remember(const struct fble_types *types, struct fble_type *type,
                     struct fble_type *normal) {
    type->busy = false;
    if (is_abstract(normal) && normal->variable.kind != FBLE_V_PARAMETER) return;
    type->normal = normal;
    type->normal_stamp = types->module_stamp;
}

// Uses a result for the topmost frame. Gives the next node to look at, or NULL if the frame is
// done, with its own result in `*result`.
static struct fble_type *ascend(struct fble_types *types, struct frame *frame,
                                struct fble_type **result) {
    struct fble_type *type = frame->type;
    switch (frame->purpose) {
    case ALIAS:
        return NULL;
    case HEAD:
        if (*result && (*result)->kind == FBLE_T_POLY) {
            frame->purpose = ALIAS;
            struct fble_type *instance = fble_instance(types, *result, type->apply.arg);
            if (instance->instance && !instance->written) instance->written = type;
            return instance;
        }
        *result =
            *result == type->apply.head ? type : fble_apply_type(types, *result, type->apply.arg);
        return NULL;
    case BODY:
        if ((*result)->kind == FBLE_T_APPLY) {
            frame->purpose = ETA_ARG;
            frame->saved = *result;
            return (*result)->apply.arg;
        }
        *result = type;
        return NULL;
    case ETA_ARG:
        *result = *result == type->poly.param &&
                          !fble_mentions(types, frame->saved->apply.head, type->poly.param)
                      ? frame->saved->apply.head
                      : type;
        return NULL;
    }
    return NULL;
}

// A node needs itself. That is no harm inside the argument of an eta candidate, which then simply
// is not the parameter; otherwise there is no normal form. Then all on the stack have none, since
// each waits for the next, and knowing that keeps a long cycle from being followed from each node.
static bool unwind(struct fble_types *types, uint32_t base) {
    uint32_t eta = types->work.count;
    while (eta > base && ((struct frame *)types->work.at[eta - 1])->purpose != ETA_ARG) eta--;
    while (types->work.count > eta) {
        struct frame *frame = types->work.at[--types->work.count];
        frame->type->busy = false;
        if (eta == base) frame->type->vacuous_stamp = types->module_stamp;
    }
    return eta > base;
}

static bool needs_itself(const struct fble_types *types, const struct fble_type *type) {
    return type->busy || type->vacuous_stamp == types->module_stamp;
}

struct fble_type *fble_normal(struct fble_types *types, struct fble_type *type) {
    uint32_t base = types->work.count;
    struct fble_type *result;
    for (;;) {
        while (!(result = known(types, type)) && !needs_itself(types, type))
            type = descend(types, type);
        if (!result && !unwind(types, base)) return NULL;
        for (type = NULL; types->work.count > base;) {
            struct frame *frame = types->work.at[types->work.count - 1];
            if ((type = ascend(types, frame, &result))) break;
            remember(types, frame->type, result);
            types->work.count--;
        }
        if (!type) return result;
    }
}

struct fble_type *fble_normal_inside(struct fble_types *types, struct fble_type *type) {
    type = fble_normal(types, type);
    while (type && type->kind == FBLE_T_POLY) type = fble_normal(types, type->poly.body);
    return type;
}

static struct fble_type *next_layer(struct fble_types *types, struct fble_type *type) {
    return fble_normal(types, type->private.inner);
}

// A private type whose layers have not been walked yet.
static bool is_new_layer(const struct fble_types *types, const struct fble_type *type) {
    return type && type->kind == FBLE_T_PRIVATE && type->vacuous_stamp != types->module_stamp &&
           type->solid_stamp != types->module_stamp;
}

// Two walkers over the private layers, one at double speed: they meet only on a cycle. What is
// found holds for all layers and is remembered, so that a long chain is walked once.
bool fble_vacuous(struct fble_types *types, struct fble_type *type) {
    uint32_t level;
    struct fble_type *start = fble_normal(types, fble_strip(type, &level));
    struct fble_type *slow = start, *fast = start;
    bool met = false;
    while (!met && is_new_layer(types, fast)) {
        fast = next_layer(types, fast);
        if (is_new_layer(types, fast)) fast = next_layer(types, fast);
        slow = next_layer(types, slow);
        met = fast == slow && is_new_layer(types, fast);
    }
    bool vacuous = met || !fast || fast->vacuous_stamp == types->module_stamp;
    bool lasting = vacuous || !is_abstract(fast);
    for (struct fble_type *at = start; lasting && is_new_layer(types, at);) {
        *(vacuous ? &at->vacuous_stamp : &at->solid_stamp) = types->module_stamp;
        at = next_layer(types, at);
    }
    return vacuous;
}

// Copying. `copy` of a node is valid when its stamp is the running substitution's.
struct substitution {
    struct fble_types *types;
    struct fble_type *param, *arg;
    uint32_t first; // of this substitution's copies, in types->copies
};

static struct fble_type *copy_of(struct substitution *s, struct fble_type *type) {
    if (type->depth < s->param->depth) return type;
    if (type == s->param) return s->arg;
    if (type->copy_stamp == s->types->copy_stamp && type->copy) return type->copy;
    if (is_abstract(type)) return type;
    struct fble_type *copy = fble_alloc(s->types->arena, sizeof *copy);
    *copy = *type;
    copy->type_of = copy->written = copy->normal = copy->same = copy->copy = copy->assigned = NULL;
    copy->normal_stamp = copy->same_stamp = copy->vacuous_stamp = copy->solid_stamp = 0;
    copy->same_rank = 0;
    copy->busy = copy->inferring = copy->instance = copy->kind_known = copy->indexed = false;
    copy->copy_stamp = s->types->copy_stamp;
    type->copy = copy;
    type->copy_stamp = s->types->copy_stamp;
    if (s->types->budget) s->types->budget--;
    fble_push(s->types->arena, &s->types->copies, copy);
    return copy;
}

static void copy_fields(struct substitution *s, struct fble_type *copy) {
    struct fble_field *fields =
        fble_alloc(s->types->arena, copy->data.count * sizeof *copy->data.fields);
    for (uint32_t i = 0; i < copy->data.count; i++) {
        fields[i].name = copy->data.fields[i].name;
        fields[i].type = copy_of(s, copy->data.fields[i].type);
    }
    copy->data.fields = fields;
}

// Inner parameters move to below everything that the copy can mention, so that "depth" stays true.
static void copy_poly(struct substitution *s, struct fble_type *copy) {
    struct fble_type *old = copy->poly.param;
    uint32_t above = s->param->depth - 1;
    if (s->arg->depth > above) above = s->arg->depth;
    copy->poly.param = fble_parameter(s->types, &old->variable.name, old->variable.type_kind,
                                      above + old->depth - s->param->depth);
    copy->poly.param->unit = old->unit;
    old->copy = copy->poly.param;
    old->copy_stamp = s->types->copy_stamp;
    copy->poly.body = copy_of(s, copy->poly.body);
}

// A copy still points to the parts of the original: now to their copies.
static void copy_parts(struct substitution *s, struct fble_type *copy) {
    switch (copy->kind) {
    case FBLE_T_STRUCT:
    case FBLE_T_UNION:
        copy_fields(s, copy);
        break;
    case FBLE_T_FUNC:
        copy->func.arg = copy_of(s, copy->func.arg);
        copy->func.result = copy_of(s, copy->func.result);
        break;
    case FBLE_T_POLY:
        copy_poly(s, copy);
        break;
    case FBLE_T_APPLY:
        copy->apply.head = copy_of(s, copy->apply.head);
        copy->apply.arg = copy_of(s, copy->apply.arg);
        break;
    case FBLE_T_PRIVATE:
        copy->private.inner = copy_of(s, copy->private.inner);
        break;
    case FBLE_T_TYPEOF:
        copy->inner = copy_of(s, copy->inner);
        break;
    case FBLE_T_VARIABLE:
        copy->variable.definition = copy_of(s, copy->variable.definition);
        break;
    case FBLE_T_PACKAGE:
        break;
    }
}

static uint32_t depth_of(const struct fble_type *type) {
    uint32_t depth = 0;
    switch (type->kind) {
    case FBLE_T_STRUCT:
    case FBLE_T_UNION:
        for (uint32_t i = 0; i < type->data.count; i++)
            if (type->data.fields[i].type->depth > depth) depth = type->data.fields[i].type->depth;
        return depth;
    case FBLE_T_FUNC:
        depth = type->func.arg->depth;
        return type->func.result->depth > depth ? type->func.result->depth : depth;
    case FBLE_T_POLY:
        depth = type->poly.body->depth;
        return depth < type->poly.param->depth ? depth : type->poly.param->depth - 1;
    case FBLE_T_APPLY:
        depth = type->apply.head->depth;
        return type->apply.arg->depth > depth ? type->apply.arg->depth : depth;
    case FBLE_T_PRIVATE:
        return type->private.inner->depth;
    case FBLE_T_TYPEOF:
        return type->inner->depth;
    case FBLE_T_VARIABLE:
        return type->variable.definition->depth;
    case FBLE_T_PACKAGE:
        return 0;
    }
    return depth;
}

// One pass over the copies' depths, in either direction; true if something changed.
static bool raise_depths(const struct fble_list *copies, uint32_t first, bool backwards) {
    bool changed = false;
    for (uint32_t n = 0; n < copies->count - first; n++) {
        struct fble_type *copy = copies->at[backwards ? copies->count - 1 - n : first + n];
        uint32_t depth = depth_of(copy);
        changed |= depth != copy->depth;
        copy->depth = depth;
    }
    return changed;
}

// The copies' depths, as a least fixed point. Parts mostly come after what they are part of, or all
// before it, so a pass backwards and one forwards do nearly all; if a few passes are not enough, a
// bound from above is used.
static void copy_depths(struct substitution *s) {
    struct fble_list *copies = &s->types->copies;
    uint32_t most = s->arg->depth;
    for (uint32_t i = s->first; i < copies->count; i++) {
        struct fble_type *copy = copies->at[i];
        if (copy->depth > most) most = copy->depth;
        copy->depth = 0;
    }
    bool changed = true;
    for (int pass = 0; changed && pass < 8; pass++)
        changed = raise_depths(copies, s->first, pass % 2 == 0);
    for (uint32_t i = s->first; changed && i < copies->count; i++) {
        struct fble_type *copy = copies->at[i];
        bool poly = copy->kind == FBLE_T_POLY && copy->poly.param->depth <= most;
        copy->depth = poly ? copy->poly.param->depth - 1 : most;
    }
}

struct fble_type *fble_instance(struct fble_types *types, struct fble_type *poly,
                                struct fble_type *arg) {
    struct fble_type *known_one = *fble_pair(types->arena, &types->instances, poly, arg);
    if (known_one) return known_one;
    if (types->budget == 0) {
        types->exhausted = true; // what comes out now is wrong, and the checker says why
        return poly->poly.body;
    }
    struct substitution s = {types, poly->poly.param, arg, types->copies.count};
    types->copy_stamp++;
    struct fble_type *result = copy_of(&s, poly->poly.body);
    for (uint32_t i = s.first; i < types->copies.count; i++) copy_parts(&s, types->copies.at[i]);
    copy_depths(&s);
    result->instance |= types->copies.count > s.first && result == types->copies.at[s.first];
    types->copies.count = s.first;
    return *fble_pair(types->arena, &types->instances, poly, arg) = result;
}

// Walks what may mention the parameter. Uses the same memory as copying, so not during that.
bool fble_mentions(struct fble_types *types, struct fble_type *type,
                   const struct fble_type *param) {
    struct fble_list *seen = &types->copies;
    uint32_t first = seen->count;
    types->copy_stamp++;
    fble_push(types->arena, seen, type);
    bool found = false;
    for (uint32_t i = first; i < seen->count && !found; i++) {
        struct fble_type *at = seen->at[i], *parts[2] = {NULL, NULL};
        found = at == param;
        if (at->depth < param->depth || at->copy_stamp == types->copy_stamp) continue;
        at->copy_stamp = types->copy_stamp;
        at->copy = NULL;
        switch (at->kind) {
        case FBLE_T_STRUCT:
        case FBLE_T_UNION:
            for (uint32_t j = 0; j < at->data.count; j++)
                fble_push(types->arena, seen, at->data.fields[j].type);
            break;
        case FBLE_T_FUNC:
            parts[0] = at->func.arg, parts[1] = at->func.result;
            break;
        case FBLE_T_APPLY:
            parts[0] = at->apply.head, parts[1] = at->apply.arg;
            break;
        case FBLE_T_POLY:
            parts[0] = at->poly.body;
            break;
        case FBLE_T_PRIVATE:
            parts[0] = at->private.inner;
            break;
        case FBLE_T_TYPEOF:
            parts[0] = at->inner;
            break;
        case FBLE_T_VARIABLE:
            parts[0] = at->variable.definition;
            break;
        case FBLE_T_PACKAGE:
            break;
        }
        for (int j = 0; j < 2; j++)
            if (parts[j]) fble_push(types->arena, seen, parts[j]);
    }
    seen->count = first;
    return found;
}
