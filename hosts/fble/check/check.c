// SPDX-License-Identifier: MIT
//
// The checker's entry, scopes, and the expressions that are not suffixes. Each kind of atom has one
// function that checks the parts, then the atom's own conditions, and gives its type. A scope is a
// stack of declarations; the innermost one of a name hangs on its word, so looking it up is a load.

#include "checker.h"

struct fble_declaration *fble_declare(struct fble_checker *checker, const struct fble_name *name,
                                      enum fble_declaration_kind kind, struct fble_type *type) {
    struct fble_declaration *d = fble_alloc(checker->arena, sizeof *d);
    d->name = *name;
    d->kind = kind;
    d->type = type;
    d->shadows = name->word->scope[name->type];
    name->word->scope[name->type] = d;
    fble_push(checker->arena, &checker->scope, d);
    return d;
}

void fble_leave_scope(struct fble_checker *checker, uint32_t count) {
    while (checker->scope.count > count) {
        struct fble_declaration *d = checker->scope.at[--checker->scope.count];
        d->name.word->scope[d->name.type] = d->shadows;
    }
}

bool fble_check_namespace(struct fble_checker *checker, const struct fble_name *name,
                          struct fble_type *type) {
    uint32_t level = fble_level(type);
    if (level == (name->type ? 1 : 0)) return true;
    const char *shown = fble_show_name(checker, name);
    if (level > 1)
        fble_complain(checker, name->loc, "%s would be the type of a type, which has no name",
                      shown);
    else if (level)
        fble_hint(
            checker->diagnostics,
            fble_complain(checker, name->loc, "%s is a type, so its name must end in @", shown),
            "write %s@", shown);
    else
        fble_complain(checker, name->loc, "%s names a type, but this is a value of type %s", shown,
                      fble_show(checker, type));
    return false;
}

struct fble_type *fble_check_type(struct fble_checker *checker, struct fble_expr *expr) {
    struct fble_type *type = fble_check(checker, expr);
    if (!type || type->kind == FBLE_T_TYPEOF) return type ? type->inner : NULL;
    struct fble_diagnostic *d =
        fble_complain(checker, fble_expr_loc(expr),
                      "expected a type, but this is a value of type %s", fble_show(checker, type));
    bool name = expr->kind == FBLE_NAME && !expr->suffixes;
    if (name && expr->name.name.word->scope[1])
        fble_hint(checker->diagnostics, d, "did you mean the type %s@?",
                  fble_show_name(checker, &expr->name.name));
    return NULL;
}

// The most similar name in scope, for a name that is not.
static struct fble_declaration *similar(struct fble_checker *checker,
                                        const struct fble_name *name) {
    struct fble_declaration *best = NULL;
    uint32_t most = name->word->length < 3 ? 1 : 2;
    uint32_t looked_at = 0;
    for (uint32_t i = checker->scope.count; i-- && looked_at < 2000; looked_at++) {
        struct fble_declaration *d = checker->scope.at[i];
        if (d->name.type != name->type) continue;
        uint32_t distance = fble_word_distance(d->name.word, name->word, most);
        if (distance > most || distance >= d->name.word->length) continue;
        best = d;
        most = distance - 1;
        if (distance <= 1) break;
    }
    return best;
}

static void complain_undefined(struct fble_checker *checker, const struct fble_name *name) {
    struct fble_diagnostic *d =
        fble_complain(checker, name->loc, "%s is not defined", fble_show_name(checker, name));
    struct fble_name other = {.word = name->word, .type = !name->type};
    struct fble_declaration *near = fble_wants_hints(checker) ? similar(checker, name) : NULL;
    if (name->word->scope[!name->type])
        fble_hint(checker->diagnostics, d, "did you mean the %s %s?",
                  other.type ? "type" : "variable", fble_show_name(checker, &other));
    else if (near)
        fble_hint(checker->diagnostics, d, "did you mean '%s'?",
                  fble_show_name(checker, &near->name));
}

static struct fble_type *check_name(struct fble_checker *checker, struct fble_expr *expr) {
    const struct fble_name *name = &expr->name.name;
    struct fble_declaration *d = name->word->scope[name->type];
    if (!d) {
        complain_undefined(checker, name);
        return NULL;
    }
    expr->name.declaration = d;
    if (d->open_let && !checker->in_typeof && !name->type) d->open_let->let.recursive = true;
    return d->type;
}

static struct fble_type *check_typeof(struct fble_checker *checker, struct fble_expr *expr) {
    checker->in_typeof++;
    struct fble_type *type = fble_check(checker, expr->inner);
    checker->in_typeof--;
    return type ? fble_type_of(checker->types, type) : NULL;
}

static bool repeated(struct fble_checker *checker, const struct fble_name *name, uint64_t mark,
                     const char *what) {
    if (!fble_seen(name, mark)) return false;
    fble_complain(checker, name->loc, "%s %s is there already", what,
                  fble_show_name(checker, name));
    return true;
}

static struct fble_type *check_export(struct fble_checker *checker, struct fble_expr *expr) {
    uint32_t n = 0;
    bool good = true;
    struct fble_field *fields = fble_alloc(checker->arena, expr->exported.count * sizeof *fields);
    for (struct fble_slot *slot = expr->exported.slots; slot; slot = slot->next, n++) {
        fields[n].name = slot->name;
        fields[n].type = fble_check(checker, slot->value);
        good &= fields[n].type && fble_check_namespace(checker, &slot->name, fields[n].type);
    }
    uint64_t mark = ++checker->words->marks;
    for (struct fble_slot *slot = expr->exported.slots; slot; slot = slot->next)
        good &= !repeated(checker, &slot->name, mark, "field");
    return good ? fble_data_type(checker->types, FBLE_T_STRUCT, fields, n, expr->loc) : NULL;
}

static struct fble_type *check_data_type(struct fble_checker *checker, struct fble_expr *expr) {
    uint32_t n = 0;
    bool good = true;
    struct fble_field *fields = fble_alloc(checker->arena, expr->data.count * sizeof *fields);
    for (struct fble_param *field = expr->data.fields; field; field = field->next, n++) {
        fields[n].name = field->name;
        fields[n].type = fble_check_type(checker, field->type);
        good &= fields[n].type && fble_check_namespace(checker, &field->name, fields[n].type);
    }
    uint64_t mark = ++checker->words->marks;
    for (struct fble_param *field = expr->data.fields; field; field = field->next)
        good &= !repeated(checker, &field->name, mark,
                          expr->kind == FBLE_STRUCT_TYPE ? "field" : "tag");
    if (!good) return NULL;
    enum fble_kind_of_type kind = expr->kind == FBLE_STRUCT_TYPE ? FBLE_T_STRUCT : FBLE_T_UNION;
    return fble_type_of(checker->types, fble_data_type(checker->types, kind, fields, n, expr->loc));
}

static struct fble_type *check_func_type(struct fble_checker *checker, struct fble_expr *expr) {
    struct fble_list args = {0};
    bool good = true;
    for (struct fble_expr *arg = expr->func_type.args; arg; arg = arg->next) {
        struct fble_type *type = fble_check_type(checker, arg);
        good &= type != NULL;
        fble_push(checker->arena, &args, type);
    }
    struct fble_type *result = fble_check_type(checker, expr->func_type.result);
    if (!good || !result) return NULL;
    while (args.count--) result = fble_func_type(checker->types, args.at[args.count], result);
    return fble_type_of(checker->types, result);
}

bool fble_check_params(struct fble_checker *checker, struct fble_func *func,
                       enum fble_declaration_kind kind) {
    bool good = true;
    for (struct fble_param *param = func->params; param; param = param->next) {
        struct fble_type *type = fble_check_type(checker, param->type);
        if (type && !fble_check_namespace(checker, &param->name, type)) type = NULL;
        good &= type != NULL;
        param->declaration = fble_declare(checker, &param->name, kind, type);
    }
    return good;
}

static struct fble_type *wrap_params(struct fble_checker *checker, struct fble_param *params,
                                     uint32_t count, struct fble_type *result) {
    struct fble_type **args = fble_alloc(checker->arena, count * sizeof *args);
    uint32_t n = 0;
    for (; params; params = params->next) args[n++] = params->declaration->type;
    while (n--) result = fble_func_type(checker->types, args[n], result);
    return result;
}

struct fble_type *fble_func_value_type(struct fble_checker *checker, struct fble_func *func,
                                       struct fble_type *result) {
    if (func->count > 1) return wrap_params(checker, func->params, func->count, result);
    return fble_func_type(checker->types, func->params->declaration->type, result);
}

static struct fble_type *check_func(struct fble_checker *checker, struct fble_expr *expr) {
    uint32_t scope = checker->scope.count;
    bool good = fble_check_params(checker, &expr->func, FBLE_PARAMETER);
    struct fble_type *result = fble_check(checker, expr->func.body);
    fble_leave_scope(checker, scope);
    return good && result ? fble_func_value_type(checker, &expr->func, result) : NULL;
}

// Type-ofs float to the outside: the poly of a type's type is the type of the poly.
static struct fble_type *wrap_poly(struct fble_checker *checker, struct fble_expr *expr,
                                   struct fble_type *body) {
    struct fble_list params = {0};
    for (struct fble_type_param *param = expr->poly.params; param; param = param->next)
        fble_push(checker->arena, &params, param->variable);
    uint32_t level;
    struct fble_type *type = fble_strip(body, &level);
    while (params.count--) type = fble_poly_type(checker->types, params.at[params.count], type);
    return fble_wrap(checker->types, type, level);
}

static struct fble_type *check_poly(struct fble_checker *checker, struct fble_expr *expr) {
    uint32_t scope = checker->scope.count, depth = checker->depth;
    bool good = true;
    for (struct fble_type_param *param = expr->poly.params; param; param = param->next) {
        param->variable =
            fble_parameter(checker->types, &param->name, param->kind, ++checker->depth);
        struct fble_type *type = fble_type_of(checker->types, param->variable);
        if (!param->name.type) {
            fble_hint(checker->diagnostics,
                      fble_complain(checker, param->name.loc,
                                    "a type parameter needs a type name, ending in @"),
                      "write %s@", fble_show_name(checker, &param->name));
            good = false;
            type = NULL;
        }
        fble_declare(checker, &param->name, FBLE_TYPE_PARAMETER, type);
    }
    struct fble_type *body = fble_check(checker, expr->poly.body);
    fble_leave_scope(checker, scope);
    checker->depth = depth;
    return good && body ? wrap_poly(checker, expr, body) : NULL;
}

static struct fble_type *check_atom(struct fble_checker *checker, struct fble_expr *expr) {
    switch (expr->kind) {
    case FBLE_NAME:
        return check_name(checker, expr);
    case FBLE_MODULE:
        return expr->path->type;
    case FBLE_TYPEOF:
        return check_typeof(checker, expr);
    case FBLE_PACKAGE:
        return fble_type_of(checker->types, fble_package_type(checker->types, expr->path));
    case FBLE_EXPORT:
        return check_export(checker, expr);
    case FBLE_STRUCT_TYPE:
    case FBLE_UNION_TYPE:
        return check_data_type(checker, expr);
    case FBLE_BLOCK:
        return fble_check_body(checker, expr->block);
    case FBLE_FUNC_TYPE:
        return check_func_type(checker, expr);
    case FBLE_FUNC:
        return check_func(checker, expr);
    case FBLE_POLY:
        return check_poly(checker, expr);
    }
    return NULL;
}

struct fble_type *fble_check_until(struct fble_checker *checker, struct fble_expr *expr,
                                   const struct fble_suffix *stop, struct fble_loc *at) {
    struct fble_type *type = expr->atom_type = check_atom(checker, expr);
    *at = expr->loc;
    for (struct fble_suffix *suffix = expr->suffixes; suffix != stop; suffix = suffix->next) {
        type = suffix->type = fble_check_suffix(checker, expr, suffix, type, *at);
        *at = expr->start;
    }
    return type;
}

// Said once, for the innermost expression that was being checked; all messages after it would be
// about types that are not there.
static struct fble_type *too_large(struct fble_checker *checker, struct fble_expr *expr) {
    if (!checker->types->exhausted_said)
        fble_report(checker->diagnostics, FBLE_ERROR, checker->unit, fble_expr_loc(expr),
                    "the types of this expression are too large to compute");
    checker->types->exhausted_said = true;
    return expr->type = NULL;
}

struct fble_type *fble_check(struct fble_checker *checker, struct fble_expr *expr) {
    struct fble_loc at;
    expr->type = fble_check_until(checker, expr, NULL, &at);
    return checker->types->exhausted ? too_large(checker, expr) : expr->type;
}

bool fble_check_all(struct fble_checker *checker, struct fble_expr *list) {
    bool good = true;
    for (; list; list = list->next) good &= fble_check(checker, list) != NULL;
    return good;
}

void fble_check_unit(struct fble_checker *checker) {
    struct fble_unit *unit = checker->unit;
    if (!unit->body) return;
    checker->types->unit = unit;
    unit->type = fble_check_body(checker, unit->body);
    if (checker->types->exhausted)
        too_large(checker, unit->body->result);
    else if (!unit->type && !checker->diagnostics->errors) // must not happen; never accept it
        fble_complain(checker, unit->body->loc, "the checker has failed without a reason");
}
