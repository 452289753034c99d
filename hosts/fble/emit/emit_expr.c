// SPDX-License-Identifier: MIT
//
// Expressions but for calls and selects: an atom, then suffix by suffix. What denotes a type is
// never evaluated, and a chain that goes through a type, such as m.T@(x), starts after it.

#include "emit.h"

static const struct want anywhere = {ANYWHERE, 0};

static bool erased(const struct fble_suffix *s) {
    return s->kind == FBLE_PRIVATE || s->kind == FBLE_TYPE_APPLY;
}

static bool applies(const struct fble_suffix *s) {
    return (s->kind == FBLE_CALL && s->call.form == FBLE_CALL_APPLY) || s->kind == FBLE_LIST ||
           s->kind == FBLE_LITERAL;
}

// A chain as far as it is to be evaluated.
struct chain {
    struct fble_expr *expr;
    bool atom;              // evaluate the atom
    struct fble_suffix *at; // the next suffix to evaluate, erased ones skipped
    struct fble_type *type; // of what stands before it
};

static void skip(struct chain *chain) {
    while (chain->at && erased(chain->at)) {
        chain->type = chain->at->type;
        chain->at = chain->at->next;
    }
}

static void step(struct chain *chain) {
    chain->type = chain->at->type;
    chain->at = chain->at->next;
    skip(chain);
}

static struct chain start(struct fble_expr *expr) {
    struct chain chain = {expr, !is_type(expr->atom_type), expr->suffixes, expr->atom_type};
    for (struct fble_suffix *s = expr->suffixes; s; s = s->next)
        if (is_type(s->type)) {
            chain.atom = false;
            chain.at = s->next;
            chain.type = s->type;
        }
    skip(&chain);
    return chain;
}

// ---------------------------------------------------------------- structs and unions

uint32_t emit_struct(struct emitter *e, const struct fble_list *slots, uint32_t base,
                     struct want want) {
    e->function->top = base;
    if (!slots->count) return emit_constant(e, FBLE_UNIT, want);
    uint32_t slot = target_slot(e, want);
    if (slots->count == 1)
        add_ins(e, FBLE_OP_STRUCT_ONE, slot, slot_at(slots, 0), 0);
    else
        add_list(e, add_ins(e, FBLE_OP_STRUCT, slot, 0, slots->count), slots);
    return place(e, slot, want);
}

static void emit_all(struct emitter *e, struct fble_expr *list, struct fble_list *slots) {
    for (; list; list = list->next) push_slot(e, slots, emit_expr(e, list, anywhere));
}

static void emit_slots(struct emitter *e, struct fble_slot *list, struct fble_list *slots) {
    for (; list; list = list->next) push_slot(e, slots, emit_expr(e, list->value, anywhere));
}

bool emit_parts(struct emitter *e, struct fble_expr *expr, struct fble_list *slots) {
    if (is_type(expr->type)) return false;
    struct chain chain = start(expr);
    if (chain.atom && !chain.at && expr->kind == FBLE_EXPORT) {
        emit_slots(e, expr->exported.slots, slots);
        return true;
    }
    if (chain.atom || !chain.at || chain.at->kind != FBLE_CALL ||
        chain.at->call.form != FBLE_CALL_STRUCT)
        return false;
    struct chain after = chain;
    step(&after);
    if (after.at) return false;
    emit_all(e, chain.at->call.args, slots);
    return true;
}

static bool plain_name(const struct fble_expr *expr) {
    return expr->kind == FBLE_NAME && !expr->suffixes;
}

static uint32_t emit_union(struct emitter *e, struct fble_suffix *s, struct want want) {
    struct fble_type *shape = shape_of(e, s->type);
    unsigned bits = fble_tag_bits(shape->data.count);
    uint32_t tag = s->field.field, base = e->function->top;
    struct fble_list parts = {0};
    if (is_type(s->field.value->type) ||
        (plain_name(s->field.value) && is_unit(e, s->field.value->type)))
        return emit_constant(e, fble_wrap_immediate(FBLE_UNIT, tag, bits), want);
    bool made = emit_parts(e, s->field.value, &parts);
    if (made && parts.count == 0)
        return emit_constant(e, fble_wrap_immediate(FBLE_UNIT, tag, bits), want);
    uint32_t payload = 0;
    if (made && parts.count == 1)
        payload = emit_struct(e, &parts, e->function->top, anywhere);
    else if (!made)
        payload = emit_expr(e, s->field.value, anywhere);
    e->function->top = base;
    uint32_t slot = target_slot(e, want);
    if (parts.count > 1)
        add_list(e, add_ins(e, FBLE_OP_CELL, slot, tag, parts.count), &parts);
    else
        add_ins(e, FBLE_OP_UNION, slot, payload, tag)->x = (uint8_t)bits;
    return place(e, slot, want);
}

static uint32_t emit_access(struct emitter *e, const struct chain *chain, uint32_t value,
                            uint32_t base, struct want want) {
    const struct fble_suffix *s = chain->at;
    struct fble_type *shape = shape_of(e, chain->type);
    e->function->top = base;
    uint32_t slot = target_slot(e, want);
    struct ins *ins;
    if (s->field.of_union) {
        ins = add_ins(e, FBLE_OP_PAYLOAD, slot, value, s->field.field);
        ins->x = (uint8_t)fble_tag_bits(shape->data.count);
    } else if (shape->data.count == 1) {
        ins = add_ins(e, FBLE_OP_FIELD_ONLY, slot, value, 0);
    } else {
        ins = add_ins(e, FBLE_OP_FIELD, slot, value, s->field.field);
    }
    ins->loc = s->field.name.loc;
    return place(e, slot, want);
}

static uint32_t emit_copy(struct emitter *e, const struct chain *chain, uint32_t value,
                          uint32_t base, struct want want) {
    struct fble_type *shape = shape_of(e, chain->type);
    struct fble_list pairs = {0};
    for (struct fble_slot *s = chain->at->copy; s; s = s->next) {
        push_slot(e, &pairs, s->field);
        push_slot(e, &pairs, emit_expr(e, s->value, anywhere));
    }
    uint32_t unused = new_slot(e);
    e->function->top = base;
    uint32_t slot = target_slot(e, want);
    if (shape->data.count == 1) { // nothing is left of the source, but it must be there
        add_ins(e, FBLE_OP_FIELD_ONLY, unused, value, 0)->loc = chain->expr->start;
        add_ins(e, FBLE_OP_STRUCT_ONE, slot, slot_at(&pairs, 1), 0);
        return place(e, slot, want);
    }
    struct ins *ins = add_ins(e, FBLE_OP_COPY, slot, value, pairs.count / 2);
    ins->word = shape->data.count;
    ins->loc = chain->expr->start;
    add_list(e, ins, &pairs);
    return place(e, slot, want);
}

// ---------------------------------------------------------------- chains

static uint32_t emit_atom(struct emitter *e, struct fble_expr *expr, struct want want) {
    uint32_t base = e->function->top;
    struct fble_list slots = {0};
    switch (expr->kind) {
    case FBLE_NAME: {
        struct variable *variable = variable_of(e, expr->name.declaration);
        if (variable->known) return emit_constant(e, fble_pointer(&variable->known->self), want);
        uint32_t slot = variable_slot(e, variable);
        if (want.kind == IN_SLOT) e->function->top = base;
        return place(e, slot, want);
    }
    case FBLE_MODULE: {
        uint32_t slot = target_slot(e, want);
        add_ins(e, FBLE_OP_GLOBAL, slot, 0, 0)->pointer = expr->path->module->emitted;
        return place(e, slot, want);
    }
    case FBLE_EXPORT:
        emit_slots(e, expr->exported.slots, &slots);
        return emit_struct(e, &slots, base, want);
    case FBLE_BLOCK:
        return emit_body(e, expr->block, want);
    case FBLE_FUNC:
        return emit_closure(e, emit_function(e, expr, NULL, NULL), want);
    case FBLE_POLY:
        return emit_expr(e, expr->poly.body, want);
    default:
        return emit_constant(e, FBLE_UNIT, want);
    }
}

// The function that a name is known to be, if it is.
static struct fble_code *known_function(const struct emitter *e, const struct fble_expr *expr) {
    return expr->kind == FBLE_NAME ? variable_of(e, expr->name.declaration)->known : NULL;
}

static uint32_t emit_suffix(struct emitter *e, const struct chain *chain, uint32_t value,
                            uint32_t base, struct want want) {
    struct fble_suffix *s = chain->at;
    struct fble_list slots = {0};
    switch (s->kind) {
    case FBLE_CALL:
        emit_all(e, s->call.args, &slots);
        return emit_struct(e, &slots, base, want);
    case FBLE_UNION_VALUE:
        return emit_union(e, s, want);
    case FBLE_ACCESS:
        return emit_access(e, chain, value, base, want);
    case FBLE_COPY:
        return emit_copy(e, chain, value, base, want);
    default: // of FBLE_SELECT; the others are calls or erased
        return emit_select(e, s, value, base, want, chain->expr->start);
    }
}

// All brackets that apply, as one call.
static void collect_call(struct emitter *e, struct chain *chain, struct call *call) {
    for (; chain->at && applies(chain->at); step(chain))
        add_arguments(e, call, chain->at, chain->type);
}

// Emits the chain. With `open`, a call at its end is only prepared.
static uint32_t emit_chain(struct emitter *e, struct chain *chain, struct want want,
                           struct call *open) {
    uint32_t base = e->function->top, value = 0;
    bool known = chain->atom && chain->at && applies(chain->at) && known_function(e, chain->expr);
    if (chain->atom && !known) value = emit_atom(e, chain->expr, chain->at ? anywhere : want);
    while (chain->at) {
        if (applies(chain->at)) {
            struct call call = {.callee = value, .loc = chain->expr->start, .base = base};
            if (known) call.known = known_function(e, chain->expr);
            known = false;
            collect_call(e, chain, &call);
            if (open && !chain->at) {
                *open = call;
                return 0;
            }
            value = emit_call(e, &call, chain->at ? anywhere : want);
            continue;
        }
        struct chain after = *chain;
        step(&after);
        value = emit_suffix(e, chain, value, base, after.at ? anywhere : want);
        *chain = after;
    }
    if (open) *open = (struct call){.callee = value, .loc = chain->expr->start, .base = base};
    return value;
}

uint32_t emit_expr(struct emitter *e, struct fble_expr *expr, struct want want) {
    if (is_type(expr->type)) return emit_constant(e, FBLE_UNIT, want);
    struct chain chain = start(expr);
    return emit_chain(e, &chain, want, NULL);
}

void emit_callee(struct emitter *e, struct fble_expr *expr, struct call *call) {
    struct chain chain = start(expr);
    if (chain.atom && !chain.at && known_function(e, expr)) {
        *call = (struct call){.known = known_function(e, expr), .base = e->function->top};
        return;
    }
    emit_chain(e, &chain, anywhere, call);
}
