// SPDX-License-Identifier: MIT
//
// Suffixes that are not calls: access, copy, select, private types and type application. The head
// has been checked. If that failed, its type is NULL, and only the suffix's parts are checked.

#include "checker.h"

static struct fble_type *check_access(struct fble_checker *checker, struct fble_suffix *suffix,
                                      struct fble_type *head, struct fble_loc at) {
    struct fble_type *type = head ? fble_normal(checker->types, head) : NULL;
    if (!type) return NULL;
    if (type->kind != FBLE_T_STRUCT && type->kind != FBLE_T_UNION) {
        struct fble_diagnostic *d =
            fble_complain(checker, at, "only structs and unions have fields; this %s %s",
                          type->kind == FBLE_T_TYPEOF ? "is the type" : "has type",
                          fble_show(checker, type->kind == FBLE_T_TYPEOF ? head->inner : head));
        fble_hint_opaque(checker, d, head);
        return NULL;
    }
    suffix->field.of_union = type->kind == FBLE_T_UNION;
    const struct fble_field *field =
        fble_find_field(checker->types, type, &suffix->field.name, &suffix->field.field);
    if (field) return field->type;
    fble_complain_field(checker, &suffix->field.name, head,
                        type->kind == FBLE_T_UNION ? "tag" : "field");
    return NULL;
}

static bool has_field(const struct fble_type *type, const struct fble_name *name, uint32_t until) {
    for (uint32_t i = 0; i < until; i++)
        if (fble_same_name(&type->data.fields[i].name, name)) return true;
    return false;
}

// Slots follow the order of the fields, so one walk over the fields serves all slots.
static bool check_slots(struct fble_checker *checker, struct fble_suffix *suffix,
                        struct fble_type *head, struct fble_type *type) {
    uint32_t i = 0;
    for (struct fble_slot *slot = suffix->copy; slot; slot = slot->next) {
        uint32_t from = i;
        while (i < type->data.count && !fble_same_name(&type->data.fields[i].name, &slot->name))
            i++;
        if (i == type->data.count && has_field(type, &slot->name, from)) {
            fble_complain(checker, slot->name.loc,
                          "field %s must come earlier: slots follow the order of %s",
                          fble_show_name(checker, &slot->name), fble_show(checker, head));
            return false;
        }
        if (i == type->data.count) {
            fble_complain_field(checker, &slot->name, head, "field");
            return false;
        }
        slot->field = i;
        struct fble_type *field = type->data.fields[i++].type;
        if (slot->value->type && !fble_equal(checker->types, field, slot->value->type))
            fble_complain_mismatch(
                checker, fble_expr_loc(slot->value),
                fble_format(checker->arena, "field %s", fble_show_name(checker, &slot->name)),
                field, slot->value->type);
    }
    return true;
}

static struct fble_type *check_copy(struct fble_checker *checker, struct fble_suffix *suffix,
                                    struct fble_type *head, struct fble_loc at) {
    bool good = true;
    for (struct fble_slot *slot = suffix->copy; slot; slot = slot->next)
        good &= fble_check(checker, slot->value) != NULL;
    struct fble_type *type = head ? fble_normal(checker->types, head) : NULL;
    if (!type) return NULL;
    if (type->kind != FBLE_T_STRUCT) {
        fble_hint_opaque(checker,
                         fble_complain(checker, at,
                                       "only a struct can be copied with changes; this has type %s",
                                       fble_show(checker, head)),
                         head);
        return NULL;
    }
    return check_slots(checker, suffix, head, type) && good ? head : NULL;
}

// Gives each tag its arm. Arms must come in the order of the tags.
static bool choose_arms(struct fble_checker *checker, struct fble_suffix *suffix,
                        struct fble_type *head, struct fble_type *type, struct fble_loc whole,
                        bool other) {
    struct fble_arm *arm = suffix->select.arms;
    suffix->select.tags = type->data.count;
    suffix->select.chosen =
        fble_alloc(checker->arena, type->data.count * sizeof(struct fble_arm *));
    for (uint32_t i = 0; i < type->data.count; i++) {
        const struct fble_name *tag = &type->data.fields[i].name;
        if (arm && fble_same_name(&arm->name, tag)) {
            suffix->select.chosen[i] = arm;
            arm = arm->next;
        } else if (!other && arm && !has_field(type, &arm->name, type->data.count)) {
            fble_complain_field(checker, &arm->name, head, "tag");
            return false;
        } else if (!other) {
            fble_complain(checker, arm ? arm->name.loc : whole, "the branch for %s is missing%s",
                          fble_show_name(checker, tag), arm ? " here" : "");
            return false;
        }
    }
    if (!arm) return true;
    if (has_field(type, &arm->name, type->data.count))
        fble_hint(checker->diagnostics,
                  fble_complain(checker, arm->name.loc,
                                "the branch for %s is out of order or repeated",
                                fble_show_name(checker, &arm->name)),
                  "branches follow the order of %s", fble_show(checker, head));
    else
        fble_complain_field(checker, &arm->name, head, "tag");
    return false;
}

bool fble_check_branches(struct fble_checker *checker, struct fble_suffix *suffix,
                         struct fble_type *head, struct fble_loc at, struct fble_loc whole,
                         bool other) {
    bool good = true;
    for (struct fble_arm *arm = suffix->select.arms; arm; arm = arm->next)
        good &= fble_check(checker, arm->value) != NULL;
    struct fble_type *type = head ? fble_normal(checker->types, head) : NULL;
    if (!type) return false;
    if (type->kind == FBLE_T_UNION)
        return choose_arms(checker, suffix, head, type, whole, other) && good;
    fble_hint_opaque(checker,
                     fble_complain(checker, at,
                                   "only a union has branches to select from; this has type %s",
                                   fble_show(checker, head)),
                     head);
    return false;
}

struct fble_type *fble_check_arms(struct fble_checker *checker, struct fble_suffix *suffix,
                                  struct fble_type *other, bool has_other) {
    struct fble_type *expected = has_other ? other : suffix->select.arms->value->type;
    if (!expected) return NULL;
    bool good = true;
    for (struct fble_arm *arm = suffix->select.arms; arm; arm = arm->next) {
        struct fble_type *type = arm->value->type;
        if (!type || fble_equal(checker->types, expected, type)) continue;
        fble_complain_mismatch(checker, fble_expr_loc(arm->value),
                               fble_format(checker->arena, "branch %s, like the %s,",
                                           fble_show_name(checker, &arm->name),
                                           has_other ? "default" : "first"),
                               expected, type);
        good = false;
    }
    return good ? expected : NULL;
}

static struct fble_type *check_select(struct fble_checker *checker, struct fble_suffix *suffix,
                                      struct fble_type *head, struct fble_loc at,
                                      struct fble_loc whole) {
    struct fble_expr *other = suffix->select.other;
    bool good = fble_check_branches(checker, suffix, head, at, whole, other != NULL);
    struct fble_type *type =
        fble_check_arms(checker, suffix, other ? fble_check(checker, other) : NULL, other != NULL);
    return good ? type : NULL;
}

static struct fble_path *check_package(struct fble_checker *checker, struct fble_expr *expr) {
    struct fble_type *type = fble_check(checker, expr), *normal = NULL;
    if (!type) return NULL;
    if (type->kind == FBLE_T_TYPEOF) normal = fble_normal(checker->types, type->inner);
    if (normal && normal->kind == FBLE_T_PACKAGE) return normal->package;
    struct fble_diagnostic *d = fble_complain(checker, fble_expr_loc(expr),
                                              "the brackets of .%%( ) must hold a package type");
    fble_hint(checker->diagnostics, d, "a package type looks like @/A/B%%");
    return NULL;
}

static struct fble_type *check_private(struct fble_checker *checker, struct fble_suffix *suffix,
                                       struct fble_type *head, struct fble_loc whole) {
    struct fble_path *package = check_package(checker, suffix->package);
    if (!head || !package) return NULL;
    uint32_t level;
    struct fble_type *inner = fble_strip(head, &level);
    if (level > 1) {
        fble_complain(checker, whole, "the type of a type cannot be made private");
        return NULL;
    }
    if (level == 0 && !fble_has_access(checker->types, package)) {
        fble_complain(checker, whole,
                      "only modules of the package %s can make values private to it",
                      package->text);
        return NULL;
    }
    return fble_wrap(checker->types, fble_private_type(checker->types, inner, package), level);
}

// One argument. `head` is without type-ofs.
static struct fble_type *apply_type(struct fble_checker *checker, struct fble_type *head,
                                    struct fble_expr *arg, struct fble_loc whole) {
    struct fble_kind *kind = fble_kind_of(checker->types, head);
    if (!kind) {
        fble_hint_opaque(
            checker,
            fble_complain(checker, whole, "%s takes no type argument", fble_show(checker, head)),
            head);
        return NULL;
    }
    if (!arg->type) return NULL;
    uint32_t level = fble_level(arg->type);
    if (level != 1) {
        fble_complain(checker, fble_expr_loc(arg), "a type argument must be a type; this is %s%s",
                      level ? "the type of a type" : "a value of type ",
                      level ? "" : fble_show(checker, arg->type));
        return NULL;
    }
    if (kind->arg && !fble_kind_fits(kind->arg, fble_kind_of(checker->types, arg->type))) {
        fble_complain(checker, fble_expr_loc(arg), "%s has kind %s, but kind %s is needed here",
                      fble_show(checker, arg->type->inner),
                      fble_kind_text(checker->arena, fble_kind_of(checker->types, arg->type)),
                      fble_kind_text(checker->arena, kind->arg));
        return NULL;
    }
    return fble_apply_type(checker->types, head, arg->type->inner);
}

static struct fble_type *check_type_apply(struct fble_checker *checker, struct fble_suffix *suffix,
                                          struct fble_type *head, struct fble_loc whole) {
    fble_check_all(checker, suffix->call.args);
    if (!head) return NULL;
    uint32_t level;
    struct fble_type *type = fble_strip(head, &level);
    for (struct fble_expr *arg = suffix->call.args; arg && type; arg = arg->next)
        type = apply_type(checker, type, arg, whole);
    return type ? fble_wrap(checker->types, type, level) : NULL;
}

struct fble_type *fble_check_suffix(struct fble_checker *checker, struct fble_expr *expr,
                                    struct fble_suffix *suffix, struct fble_type *head,
                                    struct fble_loc at) {
    struct fble_loc whole = expr->start;
    switch (suffix->kind) {
    case FBLE_CALL:
        return fble_check_call(checker, suffix, head, at, whole);
    case FBLE_UNION_VALUE:
        return fble_check_union_value(checker, suffix, head, at);
    case FBLE_ACCESS:
        return check_access(checker, suffix, head, at);
    case FBLE_COPY:
        return check_copy(checker, suffix, head, at);
    case FBLE_SELECT:
        return check_select(checker, suffix, head, at, whole);
    case FBLE_PRIVATE:
        return check_private(checker, suffix, head, whole);
    case FBLE_TYPE_APPLY:
        return check_type_apply(checker, suffix, head, whole);
    case FBLE_LIST:
        return fble_check_list(checker, suffix, head, at);
    case FBLE_LITERAL:
        return fble_check_literal(checker, suffix, head, at);
    }
    return NULL;
}
