// SPDX-License-Identifier: MIT
//
// Visits everything in a checked tree that an editor can point at. The recursion is over brackets
// only, as everywhere.

#include "lsp.h"

static void walk_expr(struct lsp_walk *walk, struct fble_expr *expr);

static void use(struct lsp_walk *walk, const struct lsp_use *use) {
    if (walk->use) walk->use(walk, use);
}

static void declares(struct lsp_walk *walk, const struct fble_name *name,
                     struct fble_declaration *declaration, struct fble_type *type) {
    use(walk, &(struct lsp_use){.name = name, .declaration = declaration, .type = type});
}

size_t lsp_expr_end(const struct fble_expr *expr) {
    const struct fble_suffix *last = expr->suffixes;
    while (last && last->next) last = last->next;
    return last ? last->end : expr->end;
}

struct fble_type *lsp_declared_type(const struct fble_declaration *declaration) {
    if (!declaration) return NULL;
    const struct fble_definition *defined = declaration->defined;
    return defined && !defined->annotation ? defined->value->type : declaration->type;
}

// The type that an expression denotes.
static struct fble_type *denoted(const struct fble_expr *expr) {
    struct fble_type *type = expr ? expr->type : NULL;
    return type && type->kind == FBLE_T_TYPEOF ? type->inner : NULL;
}

// The type of the head of a suffix.
static struct fble_type *head_type(struct fble_expr *expr, const struct fble_suffix *until) {
    struct fble_type *type = expr->atom_type;
    for (struct fble_suffix *s = expr->suffixes; s && s != until; s = s->next) type = s->type;
    return type;
}

static void walk_list(struct lsp_walk *walk, struct fble_expr *list) {
    for (; list; list = list->next) walk_expr(walk, list);
}

static void walk_params(struct lsp_walk *walk, struct fble_param *param) {
    for (; param; param = param->next) {
        walk_expr(walk, param->type);
        declares(walk, &param->name, param->declaration, denoted(param->type));
    }
}

// ---------------------------------------------------------------- suffixes

static void walk_slots(struct lsp_walk *walk, struct fble_slot *slot, struct fble_type *owner) {
    for (; slot; slot = slot->next) {
        if (!slot->implicit)
            use(walk,
                &(struct lsp_use){.name = &slot->name, .type = slot->value->type, .owner = owner});
        walk_expr(walk, slot->value);
    }
}

static void walk_arms(struct lsp_walk *walk, struct fble_arm *arm, struct fble_type *owner) {
    for (; arm; arm = arm->next) {
        use(walk, &(struct lsp_use){.name = &arm->name, .owner = owner});
        walk_expr(walk, arm->value);
    }
}

static void walk_suffix(struct lsp_walk *walk, struct fble_expr *expr, struct fble_suffix *s) {
    struct fble_type *head = head_type(expr, s);
    switch (s->kind) {
    case FBLE_CALL:
    case FBLE_LIST:
    case FBLE_TYPE_APPLY:
        walk_list(walk, s->call.args);
        break;
    case FBLE_UNION_VALUE:
        if (head && head->kind == FBLE_T_TYPEOF) head = head->inner;
        use(walk,
            &(struct lsp_use){.name = &s->field.name, .type = s->field.value->type, .owner = head});
        walk_expr(walk, s->field.value);
        break;
    case FBLE_ACCESS:
        use(walk,
            &(struct lsp_use){
                .name = &s->field.name, .type = s->type, .owner = head, .head = expr, .until = s});
        break;
    case FBLE_COPY:
        walk_slots(walk, s->copy, head);
        break;
    case FBLE_SELECT:
        walk_arms(walk, s->select.arms, head);
        if (s->select.other) walk_expr(walk, s->select.other);
        break;
    case FBLE_PRIVATE:
        walk_expr(walk, s->package);
        break;
    case FBLE_LITERAL:
        break;
    }
}

// ---------------------------------------------------------------- expressions

static void walk_poly(struct lsp_walk *walk, struct fble_expr *expr) {
    for (struct fble_type_param *p = expr->poly.params; p; p = p->next) {
        struct fble_type *type = p->variable ? p->variable->type_of : NULL;
        declares(walk, &p->name, NULL, type);
    }
    walk_expr(walk, expr->poly.body);
}

static void walk_atom(struct lsp_walk *walk, struct fble_expr *expr) {
    switch (expr->kind) {
    case FBLE_NAME:
        declares(walk, &expr->name.name, expr->name.declaration, expr->atom_type);
        break;
    case FBLE_MODULE:
    case FBLE_PACKAGE:
        break;
    case FBLE_TYPEOF:
        walk_expr(walk, expr->inner);
        break;
    case FBLE_EXPORT:
        walk_slots(walk, expr->exported.slots, NULL);
        break;
    case FBLE_STRUCT_TYPE:
    case FBLE_UNION_TYPE:
        walk_params(walk, expr->data.fields);
        break;
    case FBLE_BLOCK:
        lsp_walk(walk, expr->block);
        break;
    case FBLE_FUNC_TYPE:
        walk_list(walk, expr->func_type.args);
        walk_expr(walk, expr->func_type.result);
        break;
    case FBLE_FUNC:
        walk_params(walk, expr->func.params);
        walk_expr(walk, expr->func.body);
        break;
    case FBLE_POLY:
        walk_poly(walk, expr);
        break;
    }
}

static void walk_expr(struct lsp_walk *walk, struct fble_expr *expr) {
    if (walk->expr) walk->expr(walk, expr);
    walk_atom(walk, expr);
    for (struct fble_suffix *s = expr->suffixes; s; s = s->next) walk_suffix(walk, expr, s);
}

// ---------------------------------------------------------------- statements

static void walk_let(struct lsp_walk *walk, struct fble_definition *d) {
    for (; d; d = d->next) {
        struct fble_type *type = lsp_declared_type(d->declaration);
        struct fble_loc start = d->annotation ? d->annotation->start : d->name.loc;
        size_t end = lsp_expr_end(d->value);
        if (walk->definition) walk->definition(walk, &d->name, type, start, end, true);
        if (d->annotation) walk_expr(walk, d->annotation);
        declares(walk, &d->name, d->declaration, type);
        walk_expr(walk, d->value);
        if (walk->definition) walk->definition(walk, &d->name, type, start, end, false);
    }
}

static void walk_import(struct lsp_walk *walk, struct fble_statement *statement) {
    struct fble_expr *value = statement->import.value;
    for (struct fble_pick *pick = statement->import.picks; pick; pick = pick->next) {
        struct lsp_use of = {.declaration = pick->declaration,
                             .type = pick->found,
                             .owner = value->type,
                             .head = value,
                             .pick = true};
        if (pick->annotation) walk_expr(walk, pick->annotation);
        of.name = &pick->name;
        use(walk, &of);
        of.name = &pick->field;
        if (pick->field.word) use(walk, &of);
    }
    walk_expr(walk, value);
}

static void walk_foreign(struct lsp_walk *walk, struct fble_param *param) {
    struct fble_type *type = denoted(param->type);
    size_t end = lsp_expr_end(param->type);
    if (walk->definition)
        for (int begins = 1; begins >= 0; begins--)
            walk->definition(walk, &param->name, type, param->type->start, end, begins);
    walk_params(walk, param);
}

void lsp_walk(struct lsp_walk *walk, struct fble_body *body) {
    for (struct fble_statement *s = body->statements; s; s = s->next) {
        switch (s->kind) {
        case FBLE_LET:
            walk_let(walk, s->let.definitions);
            break;
        case FBLE_STRUCT_IMPORT:
            walk_import(walk, s);
            break;
        case FBLE_BIND_STMT:
            walk_params(walk, s->bind.func.params);
            walk_expr(walk, s->bind.callee);
            break;
        case FBLE_FOREIGN:
            walk_foreign(walk, s->foreign.param);
            break;
        case FBLE_GUARD:
            walk_expr(walk, s->guard);
            break;
        }
    }
    walk_expr(walk, body->result);
}
