// SPDX-License-Identifier: MIT
//
// Bodies: statement after statement in a loop, since they can be long. After a guard the rest of
// the body is one more branch; after a bind it is the body of a function, which is open until the
// body ends and is then passed to its callee.
//
// A let of functions alone needs no placeholders: nothing runs before all of them are there. At the
// top of a module they are constants. Elsewhere the closures are allocated first and then filled,
// if one captures another. Any other recursive let evaluates its definitions with placeholders for
// its variables, and RESOLVE gives these their values.

#include "emit.h"

static const struct emit_want anywhere = {EMIT_ANYWHERE, 0};

// Inner functions see a variable of the module's body as a global; analyse.c drops the instruction
// if none of them uses it.
static void publish(struct emitter *e, struct emit_variable *variable) {
    if (!e->function->outer)
        emit_add(e, FBLE_OP_SET_GLOBAL, variable->slot, 0, 0)->variable = variable;
}

static bool is_local_name(const struct emitter *e, const struct fble_expr *expr) {
    if (expr->kind != FBLE_NAME || expr->suffixes) return false;
    const struct emit_variable *v = emit_variable_of(e, expr->name.declaration);
    return v->known || (v->owner == e->function && v->definition != e->function);
}

// ---------------------------------------------------------------- lets

static void define_value(struct emitter *e, struct fble_definition *d, uint32_t slot) {
    struct fble_list tokens = {0};
    uint32_t block = e->function->block;
    struct emit_want want = {EMIT_IN_SLOT, slot};
    e->near = d->name.loc;
    emit_enter(e, d->label, want, &tokens);
    emit_expr(e, d->value, want);
    emit_exits(e, &tokens);
    e->function->block = block;
}

// The module's body: the functions are known before any of them is emitted, so that all their calls
// of each other are plain.
static void define_known(struct emitter *e, struct fble_definition *d) {
    struct fble_expr *literal = emit_function_literal(d->value);
    emit_variable_of(e, d->declaration)->known =
        emit_new_code(e, literal->func.label, emit_chain_arity(&literal->func));
}

static void emit_known(struct emitter *e, struct fble_definition *d) {
    emit_function(e, emit_function_literal(d->value), emit_variable_of(e, d->declaration)->known,
                  NULL);
}

struct local {
    struct emit_variable *variable;
    struct emit_function *function;
};

// Does a function capture a variable of the let that comes after it?
static bool looks_ahead(const struct local *locals, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t c = 0; c < locals[i].function->captures.count; c++)
            for (uint32_t j = i; j < count; j++)
                if (locals[i].function->captures.at[c] == locals[j].variable) return true;
    return false;
}

static void emit_local(struct emitter *e, struct local *local) {
    struct emit_function *f = local->function;
    emit_closure(e, f, (struct emit_want){EMIT_IN_SLOT, local->variable->slot});
    if (!f->captures.count && !f->uses_self) local->variable->known = f->code;
}

// Functions inside of a function.
static void define_locals(struct emitter *e, struct fble_definition *definitions, uint32_t count) {
    struct local *locals = fble_alloc(e->arena, count * sizeof *locals);
    uint32_t n = 0;
    for (struct fble_definition *d = definitions; d; d = d->next) {
        if (emit_is_type(d->declaration->type)) continue;
        locals[n++].variable = emit_variable_of(e, d->declaration);
        locals[n - 1].variable->slot = emit_new_slot(e);
    }
    n = 0;
    for (struct fble_definition *d = definitions; d; d = d->next) {
        if (emit_is_type(d->declaration->type)) continue;
        locals[n].function =
            emit_function(e, emit_function_literal(d->value), NULL, locals[n].variable);
        n++;
    }
    if (!looks_ahead(locals, count)) {
        for (uint32_t i = 0; i < count; i++) emit_local(e, locals + i);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct emit_function *f = locals[i].function;
        if (f->captures.count)
            emit_add(e, FBLE_OP_FUNC_ALLOC, locals[i].variable->slot, 0, f->captures.count)
                ->pointer = f->code;
        else
            emit_local(e, locals + i);
    }
    for (uint32_t i = 0; i < count; i++)
        emit_fill_closure(e, locals[i].function, locals[i].variable->slot);
}

static void define_recursive(struct emitter *e, struct fble_definition *definitions) {
    struct fble_list pairs = {0}, values = {0};
    for (struct fble_definition *d = definitions; d; d = d->next) {
        if (emit_is_type(d->declaration->type)) continue;
        struct emit_variable *v = emit_variable_of(e, d->declaration);
        v->slot = emit_new_slot(e);
        emit_push_slot(e, &values, emit_new_slot(e));
        emit_add(e, FBLE_OP_PLACEHOLDER, v->slot, 0, 0);
        publish(e, v);
    }
    uint32_t i = 0;
    for (struct fble_definition *d = definitions; d; d = d->next) {
        if (emit_is_type(d->declaration->type)) continue;
        define_value(e, d, emit_slot_at(&values, i));
        emit_push_slot(e, &pairs, emit_variable_of(e, d->declaration)->slot);
        emit_push_slot(e, &pairs, emit_slot_at(&values, i++));
    }
    struct emit_ins *ins = emit_add(e, FBLE_OP_RESOLVE, 0, 0, values.count);
    ins->pointer = definitions; // for the locations of the names
    emit_add_list(e, ins, &pairs);
    i = 0;
    for (struct fble_definition *d = definitions; d; d = d->next) {
        if (emit_is_type(d->declaration->type)) continue;
        struct emit_variable *v = emit_variable_of(e, d->declaration);
        v->slot = emit_slot_at(&values, i++);
        publish(e, v);
    }
}

static void define_plain(struct emitter *e, struct fble_definition *d) {
    struct emit_variable *v = emit_variable_of(e, d->declaration);
    if (!d->value->suffixes) v->module = emit_module_of(e, d->value);
    if (is_local_name(e, d->value)) {
        const struct emit_variable *same = emit_variable_of(e, d->value->name.declaration);
        v->slot = same->slot;
        v->known = same->known;
    } else {
        v->slot = emit_new_slot(e);
        define_value(e, d, v->slot);
    }
    if (!v->known) publish(e, v);
}

static void emit_let(struct emitter *e, struct fble_statement *s) {
    bool top = !e->function->outer, functions = true;
    uint32_t count = 0;
    for (struct fble_definition *d = s->let.definitions; d; d = d->next) {
        if (emit_is_type(d->declaration->type)) continue;
        emit_new_variable(e, d->declaration);
        functions &= emit_function_literal(d->value) != NULL;
        count++;
    }
    if (!count) return;
    if (s->let.recursive && !functions) {
        define_recursive(e, s->let.definitions);
        return;
    }
    if (functions && !top) {
        define_locals(e, s->let.definitions, count);
        return;
    }
    // Here either nothing is recursive, or all are functions at the top.
    for (struct fble_definition *d = s->let.definitions; d; d = d->next)
        if (!emit_is_type(d->declaration->type) && top && emit_function_literal(d->value))
            define_known(e, d);
    for (struct fble_definition *d = s->let.definitions; d; d = d->next) {
        if (emit_is_type(d->declaration->type)) continue;
        if (emit_variable_of(e, d->declaration)->known)
            emit_known(e, d);
        else
            define_plain(e, d);
    }
}

// ---------------------------------------------------------------- other statements

static void emit_import(struct emitter *e, struct fble_statement *s) {
    const struct fble_emitted *module =
        s->import.value->suffixes ? NULL : emit_module_of(e, s->import.value);
    for (struct fble_pick *p = s->import.picks; p; p = p->next) {
        if (emit_is_type(p->declaration->type)) continue;
        struct emit_variable *v = emit_new_variable(e, p->declaration);
        v->known = emit_exported(module, p->index);
        if (!v->known) v->slot = emit_new_slot(e);
    }
    uint32_t value = emit_expr(e, s->import.value, anywhere);
    struct fble_type *shape = emit_shape_of(e, s->import.value->type);
    for (struct fble_pick *p = s->import.picks; p; p = p->next) {
        if (emit_is_type(p->declaration->type)) continue;
        struct emit_variable *v = emit_variable_of(e, p->declaration);
        if (v->known) continue;
        unsigned op = shape->data.count == 1 ? FBLE_OP_FIELD_ONLY : FBLE_OP_FIELD;
        emit_add(e, op, v->slot, value, p->index)->loc = p->name.loc;
        publish(e, v);
    }
}

static const char *word_text(struct emitter *e, const struct fble_word *word) {
    return fble_copy(e->arena, word->text, word->length);
}

static void emit_foreign(struct emitter *e, struct fble_statement *s) {
    struct emit_foreign *f = fble_alloc(e->arena, sizeof *f);
    f->use.module = e->module->path->text;
    f->use.name = word_text(e, s->foreign.param->name.word);
    f->label = s->foreign.label;
    fble_push(e->arena, &e->foreign, f);
    struct emit_variable *v = emit_new_variable(e, s->foreign.param->declaration);
    v->slot = emit_new_slot(e);
    struct emit_ins *ins = emit_add(e, FBLE_OP_FOREIGN, v->slot, 0, 0);
    ins->pointer = &f->use;
    ins->loc = s->foreign.param->name.loc;
    publish(e, v);
}

// ---------------------------------------------------------------- bodies

// A bind whose function is being emitted.
struct open_bind {
    struct open_bind *outer;
    struct emit_call call;
    struct emit_want want;
};

static struct open_bind *open_bind(struct emitter *e, struct fble_statement *s,
                                   struct emit_want want, struct open_bind *outer,
                                   struct fble_expr *result) {
    struct open_bind *bind = fble_alloc(e->arena, sizeof *bind);
    bind->outer = outer;
    bind->want = want;
    emit_callee(e, s->bind.callee, &bind->call);
    bind->call.loc = s->loc;
    struct fble_func func = s->bind.func;
    func.body = s->next ? NULL : result; // the chain may go on in the result
    uint32_t arity = func.body ? emit_chain_arity(&func) : func.count;
    emit_open_function(e, emit_new_code(e, func.label, arity), func.label);
    emit_open_params(e, &func);
    return bind;
}

static void close_bind(struct emitter *e, struct open_bind *bind) {
    struct emit_function *f = emit_close_function(e);
    emit_push_slot(e, &bind->call.slots, emit_closure(e, f, anywhere));
    emit_call(e, &bind->call, bind->want);
}

static void emit_guard(struct emitter *e, struct fble_statement *s, struct emit_want want,
                       struct fble_list *jumps, struct fble_list *tokens) {
    struct fble_suffix *select = s->guard->suffixes, **end = &s->guard->suffixes;
    while (select->next) {
        end = &select->next;
        select = select->next;
    }
    // The chain before the select is an expression of its own.
    struct fble_type *type = s->guard->type;
    struct fble_suffix *before = NULL;
    for (struct fble_suffix *x = s->guard->suffixes; x != select; x = x->next) before = x;
    *end = NULL;
    s->guard->type = before ? before->type : s->guard->atom_type;
    uint32_t value = emit_expr(e, s->guard, anywhere);
    *end = select;
    s->guard->type = type;
    emit_arms(e, select, value, want, s->loc, jumps, tokens);
    emit_enter(e, select->select.label, want, tokens);
}

// The body after the function literals that continue a bind's chain.
static struct fble_expr *innermost(struct fble_expr *body) {
    for (struct fble_expr *next; (next = fble_chained(body)) && next->func.chained;)
        body = next->func.body;
    return body;
}

uint32_t emit_body(struct emitter *e, struct fble_body *body, struct emit_want want) {
    if (!body->statements) return emit_expr(e, body->result, want);
    if (want.kind == EMIT_ANYWHERE) want = (struct emit_want){EMIT_IN_SLOT, emit_new_slot(e)};
    uint32_t block = e->function->block, slot = want.slot;
    struct fble_list jumps = {0}, tokens = {0};
    struct open_bind *bind = NULL;
    struct fble_expr *result = body->result;
    for (struct fble_statement *s = body->statements; s; s = s->next) {
        switch (s->kind) {
        case FBLE_LET:
            emit_let(e, s);
            break;
        case FBLE_STRUCT_IMPORT:
            emit_import(e, s);
            break;
        case FBLE_FOREIGN:
            emit_foreign(e, s);
            break;
        case FBLE_GUARD:
            emit_guard(e, s, want, &jumps, &tokens);
            break;
        case FBLE_BIND_STMT:
            bind = open_bind(e, s, want, bind, result);
            want = (struct emit_want){EMIT_AS_RESULT, 0};
            if (!s->next) result = innermost(result);
            break;
        }
    }
    emit_expr(e, result, want);
    for (; bind; bind = bind->outer) close_bind(e, bind);
    emit_exits(e, &tokens);
    emit_land_jumps(e, &jumps);
    e->function->block = block;
    return slot;
}
