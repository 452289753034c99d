// SPDX-License-Identifier: MIT
//
// Unused names. What counts is what can be reached from the result: a body is walked backwards, the
// result first, so that at each let all mentions in what follows are known. Then the definitions of
// used variables are walked, which may use further ones of the same let, until no more turn up.
// Definitions that stay unused are never entered: their mentions do not count and nothing in them
// is warned about.

#include "warnings.h"

struct walk {
    struct fble_diagnostics *diagnostics;
    const struct fble_unit *unit;
    struct fble_list statements; // of the bodies being walked
};

static void walk_expr(struct walk *walk, struct fble_expr *expr);
static void walk_body(struct walk *walk, struct fble_body *body);

static void walk_all(struct walk *walk, struct fble_expr *list) {
    for (; list; list = list->next) walk_expr(walk, list);
}

static bool may_be_unused(const struct fble_name *name) {
    return name->word->length && name->word->text[0] == '_';
}

// The first mention of a let variable puts its definition on the list of those to walk.
static void use(struct fble_declaration *d) {
    if (d->used) return;
    d->used = true;
    if (!d->defined) return;
    struct fble_statement *let = d->defined->let;
    d->defined->next_used = let->let.used;
    let->let.used = d->defined;
}

static void warn_if_unused(struct walk *walk, const struct fble_declaration *d) {
    if (d->used || may_be_unused(&d->name)) return;
    static const char *const what[] = {"variable",  "imported name", "foreign value",
                                       "parameter", "parameter",     "type parameter"};
    const char *name = fble_name_text(walk->diagnostics->arena, &d->name);
    fble_hint(walk->diagnostics,
              fble_report(walk->diagnostics, FBLE_WARNING, walk->unit, d->name.loc,
                          "the %s %s is never used", what[d->kind], name),
              "a name that begins with _ may be unused");
}

static void walk_slots(struct walk *walk, struct fble_slot *slots) {
    for (; slots; slots = slots->next) walk_expr(walk, slots->value);
}

static void walk_arms(struct walk *walk, struct fble_suffix *select) {
    for (struct fble_arm *arm = select->select.arms; arm; arm = arm->next)
        walk_expr(walk, arm->value);
    if (select->select.other) walk_expr(walk, select->select.other);
}

static void walk_suffix(struct walk *walk, struct fble_suffix *suffix) {
    switch (suffix->kind) {
    case FBLE_CALL:
    case FBLE_LIST:
    case FBLE_TYPE_APPLY:
        walk_all(walk, suffix->call.args);
        break;
    case FBLE_UNION_VALUE:
        walk_expr(walk, suffix->field.value);
        break;
    case FBLE_COPY:
        walk_slots(walk, suffix->copy);
        break;
    case FBLE_SELECT:
        walk_arms(walk, suffix);
        break;
    case FBLE_PRIVATE:
        walk_expr(walk, suffix->package);
        break;
    case FBLE_ACCESS:
    case FBLE_LITERAL:
        break;
    }
}

// The types of parameters see the parameters before them, so mentions there count as well.
static void walk_params(struct walk *walk, struct fble_param *params) {
    for (struct fble_param *p = params; p; p = p->next) walk_expr(walk, p->type);
    for (struct fble_param *p = params; p; p = p->next)
        if (p->declaration) warn_if_unused(walk, p->declaration);
}

static void walk_atom(struct walk *walk, struct fble_expr *expr) {
    switch (expr->kind) {
    case FBLE_NAME:
        if (expr->name.declaration) use(expr->name.declaration);
        break;
    case FBLE_TYPEOF:
        walk_expr(walk, expr->inner);
        break;
    case FBLE_EXPORT:
        walk_slots(walk, expr->exported.slots);
        break;
    case FBLE_STRUCT_TYPE:
    case FBLE_UNION_TYPE:
        for (struct fble_param *p = expr->data.fields; p; p = p->next) walk_expr(walk, p->type);
        break;
    case FBLE_BLOCK:
        walk_body(walk, expr->block);
        break;
    case FBLE_FUNC_TYPE:
        walk_all(walk, expr->func_type.args);
        walk_expr(walk, expr->func_type.result);
        break;
    case FBLE_FUNC:
        walk_expr(walk, expr->func.body);
        walk_params(walk, expr->func.params);
        break;
    case FBLE_POLY:
        walk_expr(walk, expr->poly.body);
        break;
    case FBLE_MODULE:
    case FBLE_PACKAGE:
        break;
    }
}

static void walk_expr(struct walk *walk, struct fble_expr *expr) {
    walk_atom(walk, expr);
    for (struct fble_suffix *s = expr->suffixes; s; s = s->next) walk_suffix(walk, s);
}

// Names that may be unused are walked like used ones. A definition is in the list of its let once,
// so this is linear, whatever the order of the definitions.
static void walk_let(struct walk *walk, struct fble_statement *let) {
    for (struct fble_definition *d = let->let.definitions; d; d = d->next)
        if (may_be_unused(&d->name)) use(d->declaration);
    while (let->let.used) {
        struct fble_definition *d = let->let.used;
        let->let.used = d->next_used;
        if (d->annotation) walk_expr(walk, d->annotation);
        walk_expr(walk, d->value);
    }
    for (struct fble_definition *d = let->let.definitions; d; d = d->next)
        warn_if_unused(walk, d->declaration);
}

static void walk_import(struct walk *walk, struct fble_statement *import) {
    for (struct fble_pick *pick = import->import.picks; pick; pick = pick->next) {
        warn_if_unused(walk, pick->declaration);
        if (pick->annotation) walk_expr(walk, pick->annotation);
    }
    walk_expr(walk, import->import.value);
}

static void walk_statement(struct walk *walk, struct fble_statement *s) {
    switch (s->kind) {
    case FBLE_LET:
        walk_let(walk, s);
        break;
    case FBLE_STRUCT_IMPORT:
        walk_import(walk, s);
        break;
    case FBLE_FOREIGN:
        warn_if_unused(walk, s->foreign.param->declaration);
        walk_expr(walk, s->foreign.param->type);
        break;
    case FBLE_BIND_STMT:
        walk_params(walk, s->bind.func.params);
        walk_expr(walk, s->bind.callee);
        break;
    case FBLE_GUARD:
        walk_expr(walk, s->guard);
        break;
    }
}

static void walk_body(struct walk *walk, struct fble_body *body) {
    uint32_t first = walk->statements.count;
    for (struct fble_statement *s = body->statements; s; s = s->next)
        fble_push(walk->diagnostics->arena, &walk->statements, s);
    walk_expr(walk, body->result);
    while (walk->statements.count > first)
        walk_statement(walk, walk->statements.at[--walk->statements.count]);
}

void fble_warn_unused(struct fble_diagnostics *diagnostics, const struct fble_unit *unit) {
    struct walk walk = {.diagnostics = diagnostics, .unit = unit};
    walk_body(&walk, unit->body);
}
