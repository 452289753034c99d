// SPDX-License-Identifier: MIT
//
// Calls. All brackets in a row, f(a)(b)[c]|d, make one call with all their arguments: the machine
// sees to applications with more or fewer arguments than the function has parameters. Lists and
// literals are arguments that are built from their elements.

#include "emit.h"

#include <string.h>

enum { LIST_PART = 500 }; // elements whose slots are in use at the same time

static const struct emit_want anywhere = {EMIT_ANYWHERE, 0};

static uint32_t call_some(struct emitter *e, struct emit_call *call, const struct fble_list *slots,
                          struct emit_want want) {
    bool known = call->known && call->known->arity == slots->count;
    if (call->known && !known)
        call->callee = emit_constant(e, fble_pointer(&call->known->self), anywhere);
    bool tail = want.kind == EMIT_AS_RESULT;
    unsigned op = tail    ? known ? FBLE_OP_TAIL_CODE : FBLE_OP_TAIL
                  : known ? FBLE_OP_CALL_CODE
                          : FBLE_OP_CALL;
    uint32_t slot = tail ? 0 : emit_result_slot(e, want);
    struct emit_ins *ins = emit_add(e, op, slot, call->callee, 0);
    ins->x = (uint8_t)slots->count;
    if (known) ins->pointer = call->known;
    ins->loc = call->loc;
    emit_add_list(e, ins, slots);
    return slot;
}

// A call has a limit of arguments. The result of a first call is called with the others.
uint32_t emit_call(struct emitter *e, struct emit_call *call, struct emit_want want) {
    struct fble_list rest = call->slots;
    while (rest.count > FBLE_MOST_ARGUMENTS) {
        struct fble_list some = rest;
        some.count = FBLE_MOST_ARGUMENTS;
        call->callee = call_some(e, call, &some, anywhere);
        call->known = NULL;
        rest.at += some.count;
        rest.count -= some.count;
    }
    return call_some(e, call, &rest, want);
}

// ---------------------------------------------------------------- lists

static uint32_t emit_empty(struct emitter *e) {
    return emit_constant(e, fble_wrap_immediate(FBLE_UNIT, 1, 1), anywhere);
}

static void emit_list_part(struct emitter *e, uint32_t list, const struct fble_list *slots) {
    emit_add_list(e, emit_add(e, FBLE_OP_LIST, list, list, slots->count), slots);
}

// From the end, in parts.
static uint32_t emit_list(struct emitter *e, const struct fble_suffix *s) {
    struct fble_list elements = {0};
    for (struct fble_expr *a = s->call.args; a; a = a->next) fble_push(e->arena, &elements, a);
    uint32_t list = emit_empty(e);
    for (uint32_t end = elements.count; end > 0;) {
        uint32_t from = end > LIST_PART ? end - LIST_PART : 0;
        struct fble_list slots = {0};
        for (uint32_t i = from; i < end; i++)
            emit_push_slot(e, &slots, emit_expr(e, elements.at[i], anywhere));
        emit_list_part(e, list, &slots);
        end = from;
    }
    return list;
}

// ---------------------------------------------------------------- literals

static struct fble_type *element_type(struct emitter *e, struct fble_type *function_type) {
    struct fble_type *list = emit_shape_of(e, emit_shape_of(e, function_type)->func.arg);
    struct fble_type *cell = emit_shape_of(e, list->data.fields[0].type);
    return cell->data.fields[0].type;
}

// The tags of a letter from the outermost on, and how many bits each takes.
struct tag_path {
    uint32_t count;
    struct {
        uint32_t tag;
        unsigned bits;
    } at[64];
};

static bool letter_path(struct emitter *e, const struct fble_letter *letter, struct fble_type *type,
                        struct tag_path *path) {
    const struct fble_letter *letters[64];
    uint32_t count = 0;
    for (; letter; letter = letter->parent) {
        if (count == 64) return false;
        letters[count++] = letter;
    }
    path->count = count;
    for (uint32_t i = 0; i < count; i++) {
        struct fble_type *shape = emit_shape_of(e, type);
        path->at[i].tag = letters[count - 1 - i]->field;
        path->at[i].bits = fble_tag_bits(shape->data.count);
        type = shape->data.fields[path->at[i].tag].type;
    }
    return true;
}

// 0: it is too long for an immediate.
static fble_value letter_value(struct emitter *e, struct fble_letter *letter,
                               struct fble_type *type) {
    void **memo = fble_pair(e->arena, &e->letters, letter, type);
    if (*memo) return (fble_value)(uintptr_t)*memo;
    struct tag_path path;
    fble_value value = FBLE_UNIT;
    if (!letter_path(e, letter, type, &path)) return 0;
    for (uint32_t i = path.count; i-- > 0;) {
        if (!fble_wraps(value, path.at[i].bits)) return 0;
        value = fble_wrap_immediate(value, path.at[i].tag, path.at[i].bits);
    }
    *memo = (void *)(uintptr_t)value;
    return value;
}

static uint32_t emit_letter(struct emitter *e, struct fble_letter *letter, struct fble_type *type) {
    struct tag_path path;
    if (!letter_path(e, letter, type, &path)) {
        emit_too_large(e, e->near, "a letter is nested too deeply");
        return FBLE_FP_ARGS;
    }
    uint32_t slot = emit_constant(e, FBLE_UNIT, anywhere);
    for (uint32_t i = path.count; i-- > 0;)
        emit_add(e, FBLE_OP_UNION, slot, slot, path.at[i].tag)->x = (uint8_t)path.at[i].bits;
    return slot;
}

static uint32_t emit_long_letters(struct emitter *e, const struct fble_suffix *s,
                                  struct fble_type *type) {
    uint32_t list = emit_empty(e);
    for (uint32_t i = s->literal.count; i-- > 0;) {
        struct fble_list slots = {0};
        emit_push_slot(e, &slots, emit_letter(e, s->literal.letters[i], type));
        emit_list_part(e, list, &slots);
    }
    return list;
}

static uint32_t emit_literal(struct emitter *e, const struct fble_suffix *s,
                             struct fble_type *function_type) {
    if (!s->literal.count) return emit_empty(e);
    struct fble_type *type = element_type(e, function_type);
    struct fble_literal *literal =
        fble_alloc(e->arena, sizeof *literal + s->literal.count * sizeof *literal->letters);
    literal->count = s->literal.count;
    for (uint32_t i = 0; i < literal->count; i++) {
        literal->letters[i] = letter_value(e, s->literal.letters[i], type);
        if (!literal->letters[i]) return emit_long_letters(e, s, type);
    }
    uint32_t list = emit_new_slot(e);
    emit_add(e, FBLE_OP_LITERAL, list, 0, 0)->pointer = literal;
    return list;
}

void emit_add_arguments(struct emitter *e, struct emit_call *call, struct fble_suffix *suffix,
                        struct fble_type *function_type) {
    if (suffix->kind == FBLE_LIST) {
        emit_push_slot(e, &call->slots, emit_list(e, suffix));
    } else if (suffix->kind == FBLE_LITERAL) {
        emit_push_slot(e, &call->slots, emit_literal(e, suffix, function_type));
    } else {
        for (struct fble_expr *a = suffix->call.args; a; a = a->next)
            emit_push_slot(e, &call->slots, emit_expr(e, a, anywhere));
    }
}
