// SPDX-License-Identifier: MIT
//
// Are two syntax trees the same but for their locations? Both must come from the same table of
// words, so that words and paths are compared as pointers. This is for testing the printer: the
// types and labels that the checker writes into a tree are not looked at.

#include "tree_print.h"

#include "types/types.h"

static bool same_expr(const struct fble_expr *a, const struct fble_expr *b);

static bool same_optional(const struct fble_expr *a, const struct fble_expr *b) {
    return a && b ? same_expr(a, b) : a == b;
}

static bool same_list(const struct fble_expr *a, const struct fble_expr *b) {
    for (; a && b; a = a->next, b = b->next)
        if (!same_expr(a, b)) return false;
    return a == b;
}

static bool same_params(const struct fble_param *a, const struct fble_param *b) {
    for (; a && b; a = a->next, b = b->next)
        if (!fble_same_name(&a->name, &b->name) || !same_expr(a->type, b->type)) return false;
    return a == b;
}

static bool same_slots(const struct fble_slot *a, const struct fble_slot *b) {
    for (; a && b; a = a->next, b = b->next)
        if (!fble_same_name(&a->name, &b->name) || a->implicit != b->implicit ||
            !same_expr(a->value, b->value))
            return false;
    return a == b;
}

static bool same_arms(const struct fble_arm *a, const struct fble_arm *b) {
    for (; a && b; a = a->next, b = b->next)
        if (!fble_same_name(&a->name, &b->name) || !same_expr(a->value, b->value)) return false;
    return a == b;
}

static bool same_suffix(const struct fble_suffix *a, const struct fble_suffix *b) {
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case FBLE_CALL:
    case FBLE_LIST:
    case FBLE_TYPE_APPLY:
        return a->call.count == b->call.count && same_list(a->call.args, b->call.args);
    case FBLE_UNION_VALUE:
        return fble_same_name(&a->field.name, &b->field.name) &&
               same_expr(a->field.value, b->field.value);
    case FBLE_ACCESS:
        return fble_same_name(&a->field.name, &b->field.name);
    case FBLE_COPY:
        return same_slots(a->copy, b->copy);
    case FBLE_SELECT:
        return same_arms(a->select.arms, b->select.arms) &&
               same_optional(a->select.other, b->select.other);
    case FBLE_PRIVATE:
        return same_expr(a->package, b->package);
    case FBLE_LITERAL:
        return a->literal.word == b->literal.word;
    }
    return false;
}

static bool same_poly(const struct fble_expr *a, const struct fble_expr *b) {
    const struct fble_type_param *p = a->poly.params, *q = b->poly.params;
    for (; p && q; p = p->next, q = q->next)
        if (!fble_same_name(&p->name, &q->name) || !fble_kind_equal(p->kind, q->kind)) return false;
    return p == q && same_expr(a->poly.body, b->poly.body);
}

static bool same_atom(const struct fble_expr *a, const struct fble_expr *b) {
    switch (a->kind) {
    case FBLE_NAME:
        return fble_same_name(&a->name.name, &b->name.name);
    case FBLE_MODULE:
    case FBLE_PACKAGE:
        return a->path == b->path;
    case FBLE_TYPEOF:
        return same_expr(a->inner, b->inner);
    case FBLE_EXPORT:
        return same_slots(a->exported.slots, b->exported.slots);
    case FBLE_STRUCT_TYPE:
    case FBLE_UNION_TYPE:
        return same_params(a->data.fields, b->data.fields);
    case FBLE_BLOCK:
        return fble_same_body(a->block, b->block);
    case FBLE_FUNC_TYPE:
        return same_list(a->func_type.args, b->func_type.args) &&
               same_expr(a->func_type.result, b->func_type.result);
    case FBLE_FUNC:
        return same_params(a->func.params, b->func.params) && same_expr(a->func.body, b->func.body);
    case FBLE_POLY:
        return same_poly(a, b);
    }
    return false;
}

static bool same_expr(const struct fble_expr *a, const struct fble_expr *b) {
    if (a->kind != b->kind || !same_atom(a, b)) return false;
    const struct fble_suffix *s = a->suffixes, *t = b->suffixes;
    for (; s && t; s = s->next, t = t->next)
        if (!same_suffix(s, t)) return false;
    return s == t;
}

static bool same_definitions(const struct fble_definition *a, const struct fble_definition *b) {
    for (; a && b; a = a->next, b = b->next)
        if (!fble_same_name(&a->name, &b->name) || !same_optional(a->annotation, b->annotation) ||
            !same_expr(a->value, b->value))
            return false;
    return a == b;
}

static bool same_picks(const struct fble_pick *a, const struct fble_pick *b) {
    for (; a && b; a = a->next, b = b->next)
        if (!fble_same_name(&a->name, &b->name) || !fble_same_name(&a->field, &b->field) ||
            !same_optional(a->annotation, b->annotation))
            return false;
    return a == b;
}

static bool same_statement(const struct fble_statement *a, const struct fble_statement *b) {
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case FBLE_LET:
        return same_definitions(a->let.definitions, b->let.definitions);
    case FBLE_STRUCT_IMPORT:
        return same_picks(a->import.picks, b->import.picks) &&
               same_expr(a->import.value, b->import.value);
    case FBLE_BIND_STMT:
        return same_params(a->bind.func.params, b->bind.func.params) &&
               same_expr(a->bind.callee, b->bind.callee);
    case FBLE_FOREIGN:
        return same_params(a->foreign.param, b->foreign.param);
    case FBLE_GUARD:
        return same_expr(a->guard, b->guard);
    }
    return false;
}

bool fble_same_body(const struct fble_body *a, const struct fble_body *b) {
    const struct fble_statement *s = a->statements, *t = b->statements;
    for (; s && t; s = s->next, t = t->next)
        if (!same_statement(s, t)) return false;
    return s == t && same_expr(a->result, b->result);
}
