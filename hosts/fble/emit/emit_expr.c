// SPDX-License-Identifier: MIT
//
// Expressions except calls and selects: an atom, then suffix by suffix. Types are never evaluated:
// a chain that goes through a type, such as m.T@(x), starts after it.

#include "emit.h"

static const struct emit_want anywhere = {EMIT_ANYWHERE, 0};

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
    struct chain chain = {expr, !emit_is_type(expr->atom_type), expr->suffixes, expr->atom_type};
    for (struct fble_suffix *s = expr->suffixes; s; s = s->next)
        if (emit_is_type(s->type)) {
            chain.atom = false;
            chain.at = s->next;
            chain.type = s->type;
        }
    skip(&chain);
    return chain;
}

// ---------------------------------------------------------------- structs and unions

uint32_t emit_struct(struct emitter *e, const struct fble_list *slots, struct emit_want want) {
    if (!slots->count) return emit_constant(e, FBLE_UNIT, want);
    uint32_t slot = emit_result_slot(e, want);
    if (slots->count == 1)
        emit_add(e, FBLE_OP_STRUCT_ONE, slot, emit_slot_at(slots, 0), 0);
    else
        emit_add_list(e, emit_add(e, FBLE_OP_STRUCT, slot, 0, slots->count), slots);
    return emit_bring(e, slot, want);
}

static void emit_all(struct emitter *e, struct fble_expr *list, struct fble_list *slots) {
    for (; list; list = list->next) emit_push_slot(e, slots, emit_expr(e, list, anywhere));
}

static void emit_slots(struct emitter *e, struct fble_slot *list, struct fble_list *slots) {
    for (; list; list = list->next) emit_push_slot(e, slots, emit_expr(e, list->value, anywhere));
}

bool emit_parts(struct emitter *e, struct fble_expr *expr, struct fble_list *slots) {
    if (emit_is_type(expr->type)) return false;
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

static uint32_t emit_union(struct emitter *e, struct fble_suffix *s, struct emit_want want) {
    struct fble_type *shape = emit_shape_of(e, s->type);
    unsigned bits = fble_tag_bits(shape->data.count);
    uint32_t tag = s->field.field;
    struct fble_list parts = {0};
    if (emit_is_type(s->field.value->type) ||
        (plain_name(s->field.value) && emit_is_unit(e, s->field.value->type)))
        return emit_constant(e, fble_wrap_immediate(FBLE_UNIT, tag, bits), want);
    bool made = emit_parts(e, s->field.value, &parts);
    if (made && parts.count == 0)
        return emit_constant(e, fble_wrap_immediate(FBLE_UNIT, tag, bits), want);
    uint32_t payload = 0;
    if (made && parts.count == 1)
        payload = emit_struct(e, &parts, anywhere);
    else if (!made)
        payload = emit_expr(e, s->field.value, anywhere);
    uint32_t slot = emit_result_slot(e, want);
    if (parts.count > 1)
        emit_add_list(e, emit_add(e, FBLE_OP_CELL, slot, tag, parts.count), &parts);
    else
        emit_add(e, FBLE_OP_UNION, slot, payload, tag)->x = (uint8_t)bits;
    return emit_bring(e, slot, want);
}

static uint32_t emit_access(struct emitter *e, const struct chain *chain, uint32_t value,
                            struct emit_want want) {
    const struct fble_suffix *s = chain->at;
    struct fble_type *shape = emit_shape_of(e, chain->type);
    uint32_t slot = emit_result_slot(e, want);
    struct emit_ins *ins;
    if (s->field.of_union) {
        ins = emit_add(e, FBLE_OP_PAYLOAD, slot, value, s->field.field);
        ins->x = (uint8_t)fble_tag_bits(shape->data.count);
    } else if (shape->data.count == 1) {
        ins = emit_add(e, FBLE_OP_FIELD_ONLY, slot, value, 0);
    } else {
        ins = emit_add(e, FBLE_OP_FIELD, slot, value, s->field.field);
    }
    ins->loc = s->field.name.loc;
    return emit_bring(e, slot, want);
}

static uint32_t emit_copy(struct emitter *e, const struct chain *chain, uint32_t value,
                          struct emit_want want) {
    struct fble_type *shape = emit_shape_of(e, chain->type);
    struct fble_list pairs = {0};
    for (struct fble_slot *s = chain->at->copy; s; s = s->next) {
        emit_push_slot(e, &pairs, s->field);
        emit_push_slot(e, &pairs, emit_expr(e, s->value, anywhere));
    }
    uint32_t unused = emit_new_slot(e);
    uint32_t slot = emit_result_slot(e, want);
    if (shape->data.count == 1) { // the source is not copied, but must be there
        emit_add(e, FBLE_OP_FIELD_ONLY, unused, value, 0)->loc = chain->expr->start;
        emit_add(e, FBLE_OP_STRUCT_ONE, slot, emit_slot_at(&pairs, 1), 0);
        return emit_bring(e, slot, want);
    }
    struct emit_ins *ins = emit_add(e, FBLE_OP_COPY, slot, value, pairs.count / 2);
    ins->word = shape->data.count;
    ins->loc = chain->expr->start;
    emit_add_list(e, ins, &pairs);
    return emit_bring(e, slot, want);
}

// ---------------------------------------------------------------- chains

static uint32_t emit_atom(struct emitter *e, struct fble_expr *expr, struct emit_want want) {
    struct fble_list slots = {0};
    switch (expr->kind) {
    case FBLE_NAME: {
        struct emit_variable *variable = emit_variable_of(e, expr->name.declaration);
        uint32_t slot = emit_variable_slot(e, variable);
        return emit_bring(e, slot, want);
    }
    case FBLE_MODULE: {
        uint32_t slot = emit_result_slot(e, want);
        emit_add(e, FBLE_OP_GLOBAL, slot, 0, 0)->pointer = expr->path->module->emitted;
        return emit_bring(e, slot, want);
    }
    case FBLE_EXPORT:
        emit_slots(e, expr->exported.slots, &slots);
        return emit_struct(e, &slots, want);
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

// The function that the chain begins with, if that is known: a name, or a field of a module, which
// it goes past. NULL: it is not known.
static struct fble_code *known_function(const struct emitter *e, struct chain *chain) {
    const struct fble_expr *expr = chain->expr;
    if (!chain->atom) return NULL;
    if (expr->kind == FBLE_NAME && emit_variable_of(e, expr->name.declaration)->known)
        return emit_variable_of(e, expr->name.declaration)->known;
    if (!chain->at || chain->at->kind != FBLE_ACCESS || chain->at->field.of_union) return NULL;
    struct fble_code *code = emit_exported(emit_module_of(e, expr), chain->at->field.field);
    if (code) step(chain);
    return code;
}

static uint32_t emit_suffix(struct emitter *e, const struct chain *chain, uint32_t value,
                            struct emit_want want) {
    struct fble_suffix *s = chain->at;
    struct fble_list slots = {0};
    switch (s->kind) {
    case FBLE_CALL:
        emit_all(e, s->call.args, &slots);
        return emit_struct(e, &slots, want);
    case FBLE_UNION_VALUE:
        return emit_union(e, s, want);
    case FBLE_ACCESS:
        return emit_access(e, chain, value, want);
    case FBLE_COPY:
        return emit_copy(e, chain, value, want);
    default: // of FBLE_SELECT; the others are calls or erased
        return emit_select(e, s, value, want, chain->expr->start);
    }
}

// All brackets that apply, as one call.
static void collect_call(struct emitter *e, struct chain *chain, struct emit_call *call) {
    for (; chain->at && applies(chain->at); step(chain))
        emit_add_arguments(e, call, chain->at, chain->type);
}

// Emits the chain. With `open`, a call at its end is only prepared.
static uint32_t emit_chain(struct emitter *e, struct chain *chain, struct emit_want want,
                           struct emit_call *open) {
    uint32_t value = 0;
    struct fble_code *known = known_function(e, chain);
    if (known && !(chain->at && applies(chain->at))) {
        value = emit_constant(e, fble_pointer(&known->self), chain->at ? anywhere : want);
    } else if (chain->atom && !known) {
        value = emit_atom(e, chain->expr, chain->at ? anywhere : want);
    }
    while (chain->at) {
        if (applies(chain->at)) {
            struct emit_call call = {.callee = value, .known = known, .loc = chain->expr->start};
            known = NULL;
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
        value = emit_suffix(e, chain, value, after.at ? anywhere : want);
        *chain = after;
    }
    if (open) *open = (struct emit_call){.callee = value, .loc = chain->expr->start};
    return value;
}

uint32_t emit_expr(struct emitter *e, struct fble_expr *expr, struct emit_want want) {
    if (emit_is_type(expr->type)) return emit_constant(e, FBLE_UNIT, want);
    struct chain chain = start(expr);
    struct fble_loc outer = e->near;
    e->near = fble_expr_loc(expr);
    uint32_t slot = emit_chain(e, &chain, want, NULL);
    e->near = outer;
    return slot;
}

void emit_callee(struct emitter *e, struct fble_expr *expr, struct emit_call *call) {
    struct chain chain = start(expr), after = chain;
    struct fble_code *known = known_function(e, &after);
    if (known && !after.at) {
        *call = (struct emit_call){.known = known};
        return;
    }
    emit_chain(e, &chain, anywhere, call);
}
