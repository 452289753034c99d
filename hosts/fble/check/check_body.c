// SPDX-License-Identifier: MIT
//
// Statements. A body is checked by one loop forwards, in which each statement brings its names into
// scope, and one loop backwards, in which guards and binds learn the type of what follows them: a
// bind's function has it as its result, a guard's arms must agree with it. No recursion, so a body
// may have any number of statements.

#include "checker.h"

// While a let is checked its variables are abstract, but for those with an annotation.
static void declare_definition(struct fble_checker *checker, struct fble_statement *statement,
                               struct fble_definition *definition) {
    struct fble_type *type = NULL;
    if (definition->annotation) {
        type = definition->annotation->type;
        type = type && type->kind == FBLE_T_TYPEOF ? type->inner : NULL;
        if (type && fble_level(type) != (definition->name.type ? 1 : 0)) type = NULL;
    } else {
        type = fble_let_variable(checker->types, &definition->name, checker->depth);
        if (definition->name.type) type = fble_type_of(checker->types, type);
    }
    definition->declaration = fble_declare(checker, &definition->name, FBLE_LET_VARIABLE, type);
    definition->declaration->open_let = definition->let = statement;
    definition->declaration->defined = definition;
}

// The variable that stands for an unannotated definition's type until it is known.
static struct fble_type *unknown(const struct fble_definition *definition) {
    struct fble_type *type = definition->declaration->type;
    if (definition->annotation || !type) return NULL;
    return type->kind == FBLE_T_TYPEOF ? type->inner : type;
}

// An annotation of the wrong level leaves its variable without a type. Most definitions then fail
// by themselves, but not one that only mentions that variable: its error is reported here.
static void check_annotation_level(struct fble_checker *checker, struct fble_definition *definition,
                                   uint32_t errors) {
    struct fble_type *annotation = definition->annotation ? definition->annotation->type : NULL;
    if (annotation && annotation->kind == FBLE_T_TYPEOF && checker->diagnostics->errors == errors)
        fble_check_namespace(checker, &definition->name, annotation->inner);
}

static bool check_definition(struct fble_checker *checker, struct fble_definition *definition) {
    struct fble_type *annotation = definition->annotation ? definition->annotation->type : NULL;
    uint32_t errors = checker->diagnostics->errors;
    struct fble_type *type = fble_check(checker, definition->value);
    if (!type) check_annotation_level(checker, definition, errors);
    if (!type || !fble_check_namespace(checker, &definition->name, type)) return false;
    if (!definition->annotation) return true;
    if (!annotation || annotation->kind != FBLE_T_TYPEOF) return false;
    if (fble_equal(checker->types, annotation->inner, type)) return true;
    fble_complain_mismatch(checker, fble_expr_loc(definition->value),
                           fble_format(checker->arena, "the definition of %s",
                                       fble_show_name(checker, &definition->name)),
                           annotation->inner, type);
    return true; // the annotation is as good as any for those who use the variable
}

// The definition of the same let that this one just is another name of, or NULL.
static struct fble_definition *alias_of(const struct fble_definition *definition) {
    const struct fble_expr *value = definition->value;
    for (struct fble_suffix *s = value->suffixes; s; s = s->next)
        if (s->kind != FBLE_PRIVATE) return NULL;
    if (value->kind != FBLE_NAME || !value->name.name.type) return NULL;
    struct fble_declaration *d = value->name.declaration;
    return d && d->defined && d->defined->let == definition->let ? d->defined : NULL;
}

// A type that an annotated name stands for is known, but its value may still be an alias of itself:
// @<T@> X@ = X@. Follows aliases from each definition until they leave the let or come to one that
// was passed before; if that was on the same walk, it is on a cycle, and so are those after it.
static void find_alias_cycles(struct fble_statement *let) {
    uint32_t walk = 0;
    for (struct fble_definition *start = let->let.definitions; start; start = start->next) {
        struct fble_definition *d = start;
        for (walk++; d && !d->walk; d = alias_of(d)) d->walk = walk;
        if (!d || d->walk != walk) continue;
        for (; !d->alias_cycle; d = alias_of(d)) d->alias_cycle = true;
    }
}

static bool is_vacuous(struct fble_checker *checker, struct fble_definition *definition) {
    struct fble_type *variable = unknown(definition);
    if (!variable) return definition->alias_cycle;
    return variable->variable.definition && fble_vacuous(checker->types, variable);
}

// All are looked at before any is taken back, so that each member of a cycle is reported.
static void check_vacuous(struct fble_checker *checker, struct fble_statement *let) {
    struct fble_list bad = {0};
    find_alias_cycles(let);
    for (struct fble_definition *d = let->let.definitions; d; d = d->next) {
        if (!is_vacuous(checker, d)) continue;
        fble_complain(checker, d->name.loc, "the type of %s is vacuous: it is defined as itself",
                      fble_show_name(checker, &d->name));
        fble_push(checker->arena, &bad, d);
    }
    for (uint32_t i = 0; i < bad.count; i++) {
        struct fble_definition *d = bad.at[i];
        struct fble_type *variable = unknown(d);
        if (variable) fble_define(variable, NULL);
        d->declaration->type = NULL;
    }
}

// Ties the knots: every variable becomes an alias of what was found for it.
static void define_all(struct fble_checker *checker, struct fble_statement *let,
                       const struct fble_list *good) {
    for (uint32_t i = 0; i < good->count; i++) {
        struct fble_definition *d = good->at[i];
        struct fble_type *variable = unknown(d), *type = d->value->type;
        if (variable) fble_define(variable, d->name.type ? type->inner : type);
    }
    check_vacuous(checker, let);
    for (uint32_t i = 0; i < good->count; i++) {
        struct fble_definition *d = good->at[i];
        if (d->declaration->type && !d->name.type && !d->annotation)
            d->declaration->type = d->value->type;
    }
}

static void check_let(struct fble_checker *checker, struct fble_statement *let) {
    uint64_t mark;
    struct fble_list good = {0};
    struct fble_definition *d;
    for (d = let->let.definitions; d; d = d->next)
        if (d->annotation) fble_check_type(checker, d->annotation);
    mark = ++checker->words->marks;
    for (d = let->let.definitions; d; d = d->next) {
        if (fble_seen(&d->name, mark))
            fble_complain(checker, d->name.loc, "%s is defined twice in this let",
                          fble_show_name(checker, &d->name));
        declare_definition(checker, let, d);
    }
    for (d = let->let.definitions; d; d = d->next) {
        if (check_definition(checker, d))
            fble_push(checker->arena, &good, d);
        else if (!d->annotation)
            d->broken = true;
    }
    define_all(checker, let, &good);
    for (d = let->let.definitions; d; d = d->next) {
        d->declaration->open_let = NULL;
        if (d->broken) d->declaration->type = NULL;
    }
}

static struct fble_type *check_pick(struct fble_checker *checker, struct fble_pick *pick,
                                    struct fble_type *type) {
    struct fble_type *annotation = pick->annotation ? pick->annotation->type : NULL;
    const struct fble_name *name = fble_pick_field(pick);
    const struct fble_field *field = fble_find_field(checker->types, type, name, &pick->index);
    if (!field) {
        fble_complain_field(checker, name, type, "field");
        return NULL;
    }
    if (annotation && annotation->kind == FBLE_T_TYPEOF &&
        !fble_equal(checker->types, annotation->inner, field->type)) {
        fble_complain_mismatch(
            checker, name->loc,
            fble_format(checker->arena, "field %s", fble_show_name(checker, name)),
            annotation->inner, field->type);
        return NULL;
    }
    return fble_check_namespace(checker, &pick->name, field->type) ? field->type : NULL;
}

static void check_import(struct fble_checker *checker, struct fble_statement *import) {
    struct fble_type *type = fble_check(checker, import->import.value), *normal = NULL;
    for (struct fble_pick *pick = import->import.picks; pick; pick = pick->next)
        if (pick->annotation) fble_check_type(checker, pick->annotation);
    if (type) normal = fble_normal(checker->types, type);
    if (normal && normal->kind != FBLE_T_STRUCT) {
        struct fble_diagnostic *d = fble_complain(
            checker, fble_expr_loc(import->import.value),
            "only a struct can be imported from, and this has type %s", fble_show(checker, type));
        fble_hint_opaque(checker, d, type);
        normal = NULL;
    }
    uint64_t mark = ++checker->words->marks;
    for (struct fble_pick *pick = import->import.picks; pick; pick = pick->next) {
        struct fble_type *found = normal ? check_pick(checker, pick, normal) : NULL;
        if (fble_seen(&pick->name, mark))
            fble_complain(checker, pick->name.loc, "%s is imported twice here",
                          fble_show_name(checker, &pick->name));
        pick->found = found;
    }
    for (struct fble_pick *pick = import->import.picks; pick; pick = pick->next)
        pick->declaration = fble_declare(checker, &pick->name, FBLE_IMPORTED, pick->found);
}

static void check_foreign(struct fble_checker *checker, struct fble_statement *statement) {
    struct fble_param *param = statement->foreign.param;
    struct fble_type *type = fble_check_type(checker, param->type);
    if (type && fble_level(type) > 0) {
        fble_complain(checker, fble_expr_loc(param->type),
                      "a foreign name is a value; there are no foreign types");
        type = NULL;
    } else if (type && param->name.type) {
        fble_complain(checker, param->name.loc, "%s names a type, but foreign names are values",
                      fble_show_name(checker, &param->name));
        type = NULL;
    }
    param->declaration = fble_declare(checker, &param->name, FBLE_FOREIGN_VALUE, type);
}

static void check_bind(struct fble_checker *checker, struct fble_statement *statement) {
    fble_check(checker, statement->bind.callee);
    fble_check_params(checker, &statement->bind.func, FBLE_BIND_PARAMETER);
}

static struct fble_type *finish_bind(struct fble_checker *checker, struct fble_statement *statement,
                                     struct fble_type *rest) {
    struct fble_expr *callee = statement->bind.callee;
    bool good = rest && callee->type;
    for (struct fble_param *p = statement->bind.func.params; p; p = p->next)
        good &= p->declaration->type != NULL;
    if (!good) return NULL;
    struct fble_type *func = fble_func_value_type(checker, &statement->bind.func, rest);
    return fble_apply(checker, callee->type, func, fble_expr_loc(callee), statement->loc);
}

static void check_guard(struct fble_checker *checker, struct fble_statement *statement) {
    struct fble_expr *expr = statement->guard;
    struct fble_suffix *last = expr->suffixes;
    while (last->next) last = last->next;
    struct fble_loc at;
    struct fble_type *head = fble_check_until(checker, expr, last, &at);
    statement->guard_good = fble_check_branches(checker, last, head, at, expr->start, true);
}

static struct fble_type *finish_guard(struct fble_checker *checker,
                                      struct fble_statement *statement, struct fble_type *rest) {
    struct fble_suffix *last = statement->guard->suffixes;
    while (last->next) last = last->next;
    struct fble_type *type = fble_check_arms(checker, last, rest, true);
    if (!statement->guard_good) type = NULL;
    return statement->guard->type = last->type = type;
}

static void check_statement(struct fble_checker *checker, struct fble_statement *statement) {
    switch (statement->kind) {
    case FBLE_LET:
        check_let(checker, statement);
        break;
    case FBLE_STRUCT_IMPORT:
        check_import(checker, statement);
        break;
    case FBLE_FOREIGN:
        check_foreign(checker, statement);
        break;
    case FBLE_BIND_STMT:
        check_bind(checker, statement);
        break;
    case FBLE_GUARD:
        check_guard(checker, statement);
        break;
    }
}

struct fble_type *fble_check_body(struct fble_checker *checker, struct fble_body *body) {
    uint32_t scope = checker->scope.count, open = checker->open.count;
    for (struct fble_statement *s = body->statements; s; s = s->next) {
        check_statement(checker, s);
        fble_push(checker->arena, &checker->open, s);
    }
    struct fble_type *type = fble_check(checker, body->result);
    while (checker->open.count > open) {
        struct fble_statement *s = checker->open.at[--checker->open.count];
        if (s->kind == FBLE_BIND_STMT) type = finish_bind(checker, s, type);
        if (s->kind == FBLE_GUARD) type = finish_guard(checker, s, type);
        s->type = type;
    }
    fble_leave_scope(checker, scope);
    return type;
}
