// SPDX-License-Identifier: MIT
//
// Functions: a chain of literals is one function with all their parameters, whose code runs when
// the last argument has arrived. A function without captures is a constant; others are made of
// their code and what they capture, each time the literal is evaluated.

#include "emit.h"
#include "vm/machine.h"

struct fble_code *emit_new_code(struct emitter *e, const struct fble_label *label, uint32_t arity) {
    struct fble_code *code = fble_alloc(e->arena, sizeof *code);
    if (arity > UINT16_MAX) emit_too_large(e, label->loc, "a function has too many parameters");
    code->arity = (uint16_t)arity;
    code->label = label->index;
    code->block = e->first_block ? e->first_block + label->index : OURO_PHANTOM;
    code->name = fble_label_name(e->arena, label);
    code->file = label->unit->file;
    code->line = label->loc.line;
    code->column = label->loc.column;
    code->enter = fble_interpret_enter;
    fble_code_own_value(code);
    return code;
}

void emit_open_function(struct emitter *e, struct fble_code *code, const struct fble_label *label) {
    struct emit_function *f = fble_alloc(e->arena, sizeof *f);
    f->outer = e->function;
    f->code = code;
    f->label = label;
    f->slots = FBLE_FP_ARGS;
    f->block = label->index;
    e->function = f;
    fble_push(e->arena, &e->functions, f);
}

struct emit_function *emit_close_function(struct emitter *e) {
    struct emit_function *f = e->function;
    f->code->captures = (uint16_t)f->captures.count;
    e->function = f->outer;
    return f;
}

struct fble_expr *emit_function_literal(struct fble_expr *expr) {
    for (;;) {
        for (struct fble_suffix *s = expr->suffixes; s; s = s->next)
            if (s->kind != FBLE_PRIVATE && s->kind != FBLE_TYPE_APPLY) return NULL;
        if (emit_is_type(expr->type)) return NULL;
        if (expr->kind == FBLE_FUNC) return expr;
        if (expr->kind == FBLE_POLY)
            expr = expr->poly.body;
        else if (expr->kind == FBLE_BLOCK && !expr->block->statements)
            expr = expr->block->result;
        else
            return NULL;
    }
}

uint32_t emit_chain_arity(const struct fble_func *func) {
    uint32_t arity = func->count;
    for (struct fble_expr *next = fble_chained(func->body); next && next->func.chained;
         next = fble_chained(next->func.body))
        arity += next->func.count;
    return arity;
}

static void declare(struct emitter *e, struct fble_param *params) {
    for (; params; params = params->next) {
        uint32_t slot = emit_new_slot(e);
        emit_new_variable(e, params->declaration)->slot = slot;
    }
}

struct fble_expr *emit_open_params(struct emitter *e, struct fble_func *func) {
    declare(e, func->params);
    struct fble_expr *body = func->body;
    for (struct fble_expr *next; body && (next = fble_chained(body)) && next->func.chained;
         body = next->func.body)
        declare(e, next->func.params);
    return body;
}

struct emit_function *emit_function(struct emitter *e, struct fble_expr *literal,
                                    struct fble_code *code, struct emit_variable *variable) {
    if (!code) code = emit_new_code(e, literal->func.label, emit_chain_arity(&literal->func));
    emit_open_function(e, code, literal->func.label);
    if (variable) variable->definition = e->function;
    struct fble_expr *body = emit_open_params(e, &literal->func);
    emit_expr(e, body, (struct emit_want){EMIT_AS_RESULT, 0});
    if (variable) variable->definition = NULL;
    return emit_close_function(e);
}

static void captured_slots(struct emitter *e, const struct emit_function *function,
                           struct fble_list *slots) {
    for (uint32_t i = 0; i < function->captures.count; i++)
        emit_push_slot(e, slots, emit_variable_slot(e, function->captures.at[i]));
}

uint32_t emit_closure(struct emitter *e, const struct emit_function *function,
                      struct emit_want want) {
    if (!function->captures.count)
        return emit_constant(e, fble_pointer(&function->code->self), want);
    struct fble_list slots = {0};
    captured_slots(e, function, &slots);
    uint32_t slot = emit_result_slot(e, want);
    struct emit_ins *ins = emit_add(e, FBLE_OP_FUNC, slot, 0, slots.count);
    ins->pointer = function->code;
    emit_add_list(e, ins, &slots);
    return emit_bring(e, slot, want);
}

// The second half of a closure that others had to know of before.
void emit_fill_closure(struct emitter *e, const struct emit_function *function, uint32_t slot) {
    if (!function->captures.count) return;
    struct fble_list slots = {0};
    captured_slots(e, function, &slots);
    emit_add_list(e, emit_add(e, FBLE_OP_FUNC_FILL, slot, 0, slots.count), &slots);
}
