// SPDX-License-Identifier: MIT
//
// Heads with round brackets: struct values, union values and applications, and the inference of
// their type parameters. The order of questions is the language's: is the shape right, can every
// parameter be inferred, do the arguments have the types that follow, do the kinds fit.

#include "checker.h"

void fble_open_poly(struct fble_checker *checker, struct fble_inferred *inferred,
                    struct fble_type *poly) {
    struct fble_list params = {0};
    inferred->poly = poly;
    struct fble_type *type = fble_normal(checker->types, poly);
    for (; type && type->kind == FBLE_T_POLY; type = fble_normal(checker->types, type->poly.body))
        fble_push(checker->arena, &params, type->poly.param);
    inferred->inside = type;
    inferred->params = (struct fble_type **)params.at;
    inferred->count = params.count;
    fble_infer_start(inferred->params, params.count);
}

void fble_match(struct fble_checker *checker, struct fble_inferred *inferred,
                struct fble_type *expected, struct fble_type *actual) {
    if (inferred->count && actual)
        fble_infer_match(checker->types, expected, actual, inferred->params[0]->depth);
}

bool fble_all_inferred(struct fble_checker *checker, struct fble_inferred *inferred,
                       struct fble_loc at) {
    for (uint32_t i = 0; i < inferred->count; i++) {
        struct fble_type *param = inferred->params[i];
        if (param->assigned) continue;
        fble_hint(checker->diagnostics,
                  fble_complain(checker, at, "the type parameter %s cannot be inferred",
                                fble_show_name(checker, &param->variable.name)),
                  "give it in angle brackets");
        return false;
    }
    return true;
}

struct fble_type *fble_apply_inferred(struct fble_checker *checker,
                                      struct fble_inferred *inferred) {
    struct fble_type *type = inferred->poly;
    for (uint32_t i = 0; i < inferred->count; i++)
        type = fble_apply_type(checker->types, type, inferred->params[i]->assigned);
    return type;
}

bool fble_inferred_fits(struct fble_checker *checker, struct fble_inferred *inferred,
                        struct fble_loc at) {
    for (uint32_t i = 0; i < inferred->count; i++) {
        struct fble_type *param = inferred->params[i];
        struct fble_kind *expected = param->variable.type_kind;
        if (param->assigned->kind == FBLE_T_TYPEOF) {
            fble_complain(checker, at, "the type parameter %s cannot be the type of a type",
                          fble_show_name(checker, &param->variable.name));
            return false;
        }
        if (!expected) continue;
        struct fble_kind *actual = fble_kind_of(checker->types, param->assigned);
        if (fble_kind_fits(expected, actual)) continue;
        fble_complain(checker, at, "%s is inferred as %s, which has kind %s, not %s",
                      fble_show_name(checker, &param->variable.name),
                      fble_show(checker, param->assigned), fble_kind_text(checker->arena, actual),
                      fble_kind_text(checker->arena, expected));
        return false;
    }
    return true;
}

// Upstream reports a wrong argument where its code is: a poly has none of its own.
static struct fble_loc argument_loc(const struct fble_expr *expr) {
    while (expr->kind == FBLE_POLY && !expr->suffixes) expr = expr->poly.body;
    return fble_expr_loc(expr);
}

static struct fble_type *apply(struct fble_checker *checker, struct fble_inferred *inferred,
                               struct fble_type *arg, struct fble_loc at, struct fble_loc arg_loc) {
    struct fble_type *func = inferred->inside;
    if (!func) return NULL;
    if (func->kind != FBLE_T_FUNC) {
        bool type = func->kind == FBLE_T_TYPEOF;
        struct fble_diagnostic *d =
            fble_complain(checker, at, "this is called, but it %s %s, which is no %s",
                          type ? "is the type" : "has type",
                          fble_show(checker, type ? func->inner : inferred->poly),
                          type ? "struct type" : "function");
        fble_hint_opaque(checker, d, func);
        return NULL;
    }
    fble_match(checker, inferred, func->func.arg, arg);
    if (!fble_all_inferred(checker, inferred, at)) return NULL;
    if (inferred->count) func = fble_normal(checker->types, fble_apply_inferred(checker, inferred));
    if (!func || func->kind != FBLE_T_FUNC) return NULL;
    if (!fble_equal(checker->types, func->func.arg, arg)) {
        fble_complain_mismatch(checker, arg_loc, "the argument", func->func.arg, arg);
        return NULL;
    }
    return fble_inferred_fits(checker, inferred, at) ? func->func.result : NULL;
}

struct fble_type *fble_apply(struct fble_checker *checker, struct fble_type *func,
                             struct fble_type *arg, struct fble_loc at, struct fble_loc arg_loc) {
    struct fble_inferred inferred;
    fble_open_poly(checker, &inferred, func);
    struct fble_type *result = apply(checker, &inferred, arg, at, arg_loc);
    fble_infer_end(inferred.params, inferred.count);
    return result;
}

static void complain_empty_call(struct fble_checker *checker, struct fble_type *head,
                                struct fble_loc whole) {
    bool type = head->kind == FBLE_T_TYPEOF;
    struct fble_type *shown = type ? head->inner : head;
    struct fble_diagnostic *d =
        fble_complain(checker, whole, "() is for struct types only%s; this %s %s",
                      type ? "" : " and a function needs an argument",
                      type ? "is the type" : "has type", fble_show(checker, shown));
    fble_hint_opaque(checker, d, shown);
}

static struct fble_type *check_application(struct fble_checker *checker, struct fble_suffix *suffix,
                                           struct fble_type *head, struct fble_loc at,
                                           struct fble_loc whole) {
    if (!suffix->call.args) {
        complain_empty_call(checker, head, whole);
        return NULL;
    }
    struct fble_type *type = head;
    for (struct fble_expr *arg = suffix->call.args; arg && type; arg = arg->next) {
        if (!arg->type) return NULL;
        struct fble_type *normal = fble_normal_inside(checker->types, type);
        if (normal && normal->kind != FBLE_T_FUNC && arg != suffix->call.args) {
            fble_hint(
                checker->diagnostics,
                fble_complain(checker, at, "too many arguments for %s", fble_show(checker, head)),
                "the argument at %u:%u is one too many", fble_expr_loc(arg).line,
                fble_expr_loc(arg).column);
            return NULL;
        }
        type = fble_apply(checker, type, arg->type, at, argument_loc(arg));
    }
    return type;
}

// Compares arguments with fields. `data` is a struct type without parameters.
static bool same_arguments(struct fble_checker *checker, struct fble_expr *arg,
                           const struct fble_type *data) {
    bool good = true;
    for (uint32_t i = 0; i < data->data.count; i++, arg = arg->next) {
        const struct fble_field *field = &data->data.fields[i];
        if (fble_equal(checker->types, field->type, arg->type)) continue;
        fble_complain_mismatch(
            checker, argument_loc(arg),
            fble_format(checker->arena, "field %s", fble_show_name(checker, &field->name)),
            field->type, arg->type);
        good = false;
    }
    return good;
}

static struct fble_type *struct_value(struct fble_checker *checker, struct fble_suffix *suffix,
                                      struct fble_inferred *inferred, struct fble_loc at) {
    struct fble_type *data = inferred->inside, *type;
    struct fble_expr *args = suffix->call.args;
    if (suffix->call.count != data->data.count) {
        fble_complain(checker, at, "%s has %u field%s, but here %s %u argument%s",
                      fble_show(checker, inferred->poly), data->data.count,
                      data->data.count == 1 ? "" : "s", suffix->call.count == 1 ? "is" : "are",
                      suffix->call.count, suffix->call.count == 1 ? "" : "s");
        return NULL;
    }
    uint32_t i = 0;
    bool known = true;
    for (struct fble_expr *arg = args; arg; arg = arg->next) {
        known &= arg->type != NULL;
        fble_match(checker, inferred, data->data.fields[i++].type, arg->type);
    }
    if (!known || !fble_all_inferred(checker, inferred, at)) return NULL;
    type = fble_apply_inferred(checker, inferred);
    if (inferred->count) data = fble_normal(checker->types, type);
    if (!data || data->kind != FBLE_T_STRUCT || !same_arguments(checker, args, data)) return NULL;
    return fble_inferred_fits(checker, inferred, at) ? type : NULL;
}

struct fble_type *fble_check_call(struct fble_checker *checker, struct fble_suffix *suffix,
                                  struct fble_type *head, struct fble_loc at,
                                  struct fble_loc whole) {
    fble_check_all(checker, suffix->call.args);
    if (!head) return NULL;
    if (head->kind == FBLE_T_TYPEOF) {
        struct fble_type *inside = fble_normal_inside(checker->types, head->inner);
        if (!inside) return NULL;
        if (inside->kind == FBLE_T_STRUCT) {
            struct fble_inferred inferred;
            suffix->call.form = FBLE_CALL_STRUCT;
            fble_open_poly(checker, &inferred, head->inner);
            struct fble_type *type = struct_value(checker, suffix, &inferred, at);
            fble_infer_end(inferred.params, inferred.count);
            return type;
        }
    }
    suffix->call.form = FBLE_CALL_APPLY;
    return check_application(checker, suffix, head, at, whole);
}

static struct fble_type *union_value(struct fble_checker *checker, struct fble_suffix *suffix,
                                     struct fble_inferred *inferred, struct fble_loc at) {
    struct fble_type *data = inferred->inside, *type, *arg = suffix->field.value->type;
    const struct fble_name *name = &suffix->field.name;
    if (!data) return NULL;
    if (data->kind != FBLE_T_UNION) {
        struct fble_diagnostic *d =
            fble_complain(checker, at, "%s is not a union type, so it has no tag %s",
                          fble_show(checker, inferred->poly), fble_show_name(checker, name));
        fble_hint_opaque(checker, d, data);
        return NULL;
    }
    const struct fble_field *field =
        fble_find_field(checker->types, data, name, &suffix->field.field);
    if (!field) {
        fble_complain_field(checker, name, inferred->poly, "tag");
        return NULL;
    }
    if (!arg) return NULL;
    fble_match(checker, inferred, field->type, arg);
    if (!fble_all_inferred(checker, inferred, at)) return NULL;
    type = fble_apply_inferred(checker, inferred);
    if (inferred->count) data = fble_normal(checker->types, type);
    if (!data || data->kind != FBLE_T_UNION) return NULL;
    field = &data->data.fields[suffix->field.field];
    if (!fble_equal(checker->types, field->type, arg)) {
        fble_complain_mismatch(checker, argument_loc(suffix->field.value),
                               fble_format(checker->arena, "tag %s", fble_show_name(checker, name)),
                               field->type, arg);
        return NULL;
    }
    return fble_inferred_fits(checker, inferred, at) ? type : NULL;
}

struct fble_type *fble_check_union_value(struct fble_checker *checker, struct fble_suffix *suffix,
                                         struct fble_type *head, struct fble_loc at) {
    fble_check(checker, suffix->field.value);
    if (!head) return NULL;
    if (head->kind != FBLE_T_TYPEOF) {
        fble_complain(checker, at, "expected a union type, but this is a value of type %s",
                      fble_show(checker, head));
        return NULL;
    }
    struct fble_inferred inferred;
    fble_open_poly(checker, &inferred, head->inner);
    struct fble_type *type = union_value(checker, suffix, &inferred, at);
    fble_infer_end(inferred.params, inferred.count);
    return type;
}
