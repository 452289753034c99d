// SPDX-License-Identifier: MIT
//
// Emits a module: the pieces that the rest of emit*.c is made of (instructions, slots, variables)
// and the module as a whole. What emit.h says about variables is done in variable_slot.

#include "emit.h"

#include <string.h>

static void *grown(struct emitter *e, void *old, uint32_t count, uint32_t *capacity, size_t size) {
    if (count < *capacity) return old;
    *capacity = *capacity ? 2 * *capacity : 16;
    void *more = fble_alloc(e->arena, *capacity * size);
    if (count) memcpy(more, old, count * size);
    return more;
}

// Beyond the largest number, sites share the last.
static ouro_site new_call_site(const struct emitter *e) {
    uint32_t *count = e->call_sites + e->function->block;
    if (!*count) *count = FBLE_REST_SITE + 1;
    if (*count < OURO_SITES_MOST) ++*count;
    return (ouro_site)(*count - 1);
}

static bool is_number(uint8_t role) {
    return role == FBLE_ROLE_FIELD || role == FBLE_ROLE_TAG || role == FBLE_ROLE_COUNT;
}

// Slots are looked at in slots.c, captured values in capture_index.
static void count_fields(struct emitter *e, unsigned op, uint32_t b, uint32_t c) {
    const struct fble_operands *roles = fble_operands + op;
    if ((!is_number(roles->b) || b <= UINT16_MAX) && (!is_number(roles->c) || c <= UINT16_MAX))
        return;
    emit_too_large(e, e->near,
                   roles->list == FBLE_ROLE_PAIRS
                       ? "a let whose definitions mention each other has more than 65535 of them"
                       : "a struct or union that is used here has more than 65535 fields");
}

struct emit_ins *emit_add(struct emitter *e, unsigned op, uint32_t a, uint32_t b, uint32_t c) {
    struct emit_function *f = e->function;
    count_fields(e, op, b, c);
    f->ins = grown(e, f->ins, f->count, &f->capacity, sizeof *f->ins);
    struct emit_ins *ins = f->ins + f->count++;
    *ins = (struct emit_ins){
        .op = (uint8_t)op, .label = f->block, .a = a, .b = b, .c = c, .near = e->near};
    if (fble_op_has_call_site(op)) ins->call_site = new_call_site(e);
    return ins;
}

void emit_push_slot(struct emitter *e, struct fble_list *slots, uint32_t slot) {
    fble_push(e->arena, slots, (void *)(uintptr_t)slot);
}

uint32_t emit_slot_at(const struct fble_list *slots, uint32_t i) {
    return (uint32_t)(uintptr_t)slots->at[i];
}

void emit_add_list(struct emitter *e, struct emit_ins *ins, const struct fble_list *slots) {
    struct emit_function *f = e->function;
    ins->list = f->list_count;
    ins->list_count = slots->count;
    for (uint32_t i = 0; i < slots->count; i++) {
        f->lists = grown(e, f->lists, f->list_count, &f->list_capacity, sizeof *f->lists);
        f->lists[f->list_count++] = emit_slot_at(slots, i);
    }
}

uint32_t emit_add_target(struct emitter *e) {
    struct emit_function *f = e->function;
    f->targets = grown(e, f->targets, f->target_count, &f->target_capacity, sizeof *f->targets);
    return f->target_count++;
}

void emit_too_large(struct emitter *e, struct fble_loc loc, const char *what) {
    if (e->problem) return;
    e->problem = what;
    e->problem_loc = loc;
}

uint32_t emit_new_slot(struct emitter *e) { return e->function->slots++; }

uint32_t emit_result_slot(struct emitter *e, struct emit_want want) {
    return want.kind == EMIT_IN_SLOT ? want.slot : emit_new_slot(e);
}

uint32_t emit_bring(struct emitter *e, uint32_t value, struct emit_want want) {
    if (want.kind == EMIT_AS_RESULT) emit_add(e, FBLE_OP_RETURN, value, 0, 0);
    if (want.kind != EMIT_IN_SLOT || want.slot == value) return value;
    emit_add(e, FBLE_OP_MOVE, want.slot, value, 0);
    return want.slot;
}

uint32_t emit_constant(struct emitter *e, fble_value value, struct emit_want want) {
    uint32_t slot = emit_result_slot(e, want);
    emit_add(e, FBLE_OP_CONST, slot, 0, 0)->word = value;
    return emit_bring(e, slot, want);
}

// ---------------------------------------------------------------- variables

struct emit_variable *emit_new_variable(struct emitter *e, struct fble_declaration *declaration) {
    struct emit_variable *variable = fble_alloc(e->arena, sizeof *variable);
    variable->owner = e->function;
    fble_push(e->arena, &e->variables, variable);
    declaration->slot = e->variables.count;
    return variable;
}

struct emit_variable *emit_variable_of(const struct emitter *e,
                                       const struct fble_declaration *declaration) {
    return e->variables.at[declaration->slot - 1];
}

static uint32_t capture_index(struct emitter *e, struct emit_variable *variable) {
    void **memo = fble_pair(e->arena, &e->captured, e->function, variable);
    if (!*memo) {
        fble_push(e->arena, &e->function->captures, variable);
        *memo = (void *)(uintptr_t)e->function->captures.count;
        if (e->function->captures.count > FBLE_MOST_SLOTS)
            emit_too_large(e, e->near, "a function captures too many variables");
    }
    return (uint32_t)(uintptr_t)*memo - 1;
}

uint32_t emit_variable_slot(struct emitter *e, struct emit_variable *variable) {
    struct emit_function *f = e->function;
    if (variable->known)
        return emit_constant(e, fble_pointer(&variable->known->self),
                             (struct emit_want){EMIT_ANYWHERE, 0});
    if (variable->definition == f) {
        f->uses_self = true;
        return FBLE_FP_SELF;
    }
    if (variable->owner == f) return variable->slot;
    uint32_t slot = emit_new_slot(e);
    if (!variable->owner->outer) {
        if (!variable->global) variable->global = ++e->globals;
        emit_add(e, FBLE_OP_GLOBAL, slot, 0, 0)->variable = variable;
    } else {
        uint32_t index = capture_index(e, variable);
        emit_add(e, FBLE_OP_CAPTURE, slot, index, 0);
    }
    return slot;
}

const struct fble_emitted *emit_module_of(const struct emitter *e, const struct fble_expr *expr) {
    if (expr->kind == FBLE_MODULE) return expr->path->module->emitted;
    if (expr->kind == FBLE_NAME && !emit_is_type(expr->atom_type))
        return emit_variable_of(e, expr->name.declaration)->module;
    return NULL;
}

struct fble_code *emit_exported(const struct fble_emitted *module, uint32_t field) {
    return module && field < module->export_count ? module->exports[field] : NULL;
}

// ---------------------------------------------------------------- types

bool emit_is_type(const struct fble_type *type) { return type && type->kind == FBLE_T_TYPEOF; }

struct fble_type *emit_shape_of(struct emitter *e, struct fble_type *type) {
    if (emit_is_type(type)) type = type->inner;
    return fble_normal_inside(&e->program->types, type);
}

bool emit_is_unit(struct emitter *e, struct fble_type *type) {
    struct fble_type *shape = emit_is_type(type) ? NULL : fble_normal(&e->program->types, type);
    return shape && shape->kind == FBLE_T_STRUCT && shape->data.count == 0;
}

// ---------------------------------------------------------------- modules

static struct fble_code *exported_function(const struct emitter *e, const struct fble_expr *value) {
    if (value->kind != FBLE_NAME || value->suffixes || emit_is_type(value->type)) return NULL;
    return emit_variable_of(e, value->name.declaration)->known;
}

// After a guard the value may be that of a branch; after a bind it is what the callee makes of it.
static bool result_is_value(const struct fble_body *body) {
    for (const struct fble_statement *s = body->statements; s; s = s->next)
        if (s->kind == FBLE_GUARD || s->kind == FBLE_BIND_STMT) return false;
    return body->result->kind == FBLE_EXPORT && !body->result->suffixes;
}

// What other modules may know of this one. A function that it has from elsewhere is the other's.
static void note_exports(struct emitter *e, struct fble_emitted *emitted) {
    const struct fble_expr *result = e->module->value->body->result;
    if (!result_is_value(e->module->value->body)) return;
    emitted->exports = fble_alloc(e->arena, (result->exported.count + 1) * sizeof(void *));
    emitted->export_count = result->exported.count;
    uint32_t field = 0;
    for (const struct fble_slot *s = result->exported.slots; s; s = s->next, field++) {
        struct fble_code *code = emitted->exports[field] = exported_function(e, s->value);
        void **memo = code ? fble_pair(e->arena, &e->program->exports, code, NULL) : NULL;
        if (!memo || *memo) continue;
        struct emit_export *export = *memo = fble_alloc(e->arena, sizeof *export);
        *export = (struct emit_export){emitted, field};
    }
}

struct fble_emitted *fble_emit(struct fble_program *program, struct fble_module *module,
                               ouro_block first_block, bool all_blocks) {
    struct emitter e = {.program = program,
                        .module = module,
                        .arena = &program->arena,
                        .all_blocks = all_blocks,
                        .first_block = first_block};
    struct fble_emitted *emitted = fble_alloc(e.arena, sizeof *emitted);
    e.call_sites = emitted->call_sites =
        fble_alloc(e.arena, module->labels.count * sizeof *e.call_sites);
    fble_types_enter(&program->types, module->path);
    const struct fble_label *label = module->labels.at[0];
    emitted->module = module;
    emitted->main = emit_new_code(&e, label, 0);
    emit_open_function(&e, emitted->main, label);
    emit_body(&e, module->value->body, (struct emit_want){EMIT_AS_RESULT, 0});
    emit_close_function(&e);
    note_exports(&e, emitted);
    emitted->global_count = e.globals + 1;
    emitted->globals = fble_alloc(e.arena, emitted->global_count * sizeof *emitted->globals);
    for (uint32_t i = 0; i < e.functions.count && !e.problem; i++) {
        emit_share_slots(&e, e.functions.at[i]);
        if (!e.problem) emit_analyse(&e, e.functions.at[i]);
    }
    for (uint32_t i = 0; i < e.functions.count; i++)
        fble_push(e.arena, &emitted->codes, ((struct emit_function *)e.functions.at[i])->code);
    emitted->functions = e.functions;
    emitted->foreign = e.foreign;
    module->emitted = emitted;
    if (!e.problem) return emitted;
    fble_report(&program->diagnostics, FBLE_ERROR, module->value, e.problem_loc, "%s", e.problem);
    return NULL;
}

bool fble_emit_program(struct fble_program *program, ouro_block first_block, bool all_blocks) {
    for (uint32_t i = 0; i < program->modules.count; i++) {
        struct fble_module *module = program->modules.at[i];
        if (!fble_module_has_value(program, module)) return false;
        if (!fble_emit(program, module, first_block, all_blocks)) return false;
    }
    return true;
}
