// SPDX-License-Identifier: MIT
//
// The checker's messages. Two types of the same name are told apart by their definitions. Where
// large types differ inside, the message says how to get to the first difference. For a field that
// does not exist, the hint is the most similar one. Nothing here decides whether there is an error.

#include "checker.h"

#include <string.h>

struct fble_diagnostic *fble_complain(struct fble_checker *checker, struct fble_loc at,
                                      const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *text = fble_vformat(checker->arena, format, arguments);
    va_end(arguments);
    if (checker->types->exhausted) return &checker->unsaid;
    return fble_report(checker->diagnostics, FBLE_ERROR, checker->unit, at, "%s", text);
}

const char *fble_show_name(struct fble_checker *checker, const struct fble_name *name) {
    const char *text = fble_name_text(checker->arena, name);
    size_t length = strlen(text);
    if (length <= 60) return text;
    return fble_format(checker->arena, "%.40s...", text);
}

const char *fble_show(struct fble_checker *checker, struct fble_type *type) {
    return fble_type_text(checker->types, type);
}

void fble_hint_opaque(struct fble_checker *checker, struct fble_diagnostic *diagnostic,
                      struct fble_type *type) {
    uint32_t level;
    type = fble_normal(checker->types, fble_strip(type, &level));
    if (!type || diagnostic->hint) return;
    if (type->kind == FBLE_T_PRIVATE)
        fble_hint(checker->diagnostics, diagnostic, "only modules of the package %s see inside %s",
                  type->private.package->text, fble_show(checker, type));
    if (type->kind != FBLE_T_VARIABLE) return;
    const char *name = fble_show_name(checker, &type->variable.name);
    switch (type->variable.kind) {
    case FBLE_V_PARAMETER:
        break;
    case FBLE_V_TYPE:
        fble_hint(checker->diagnostics, diagnostic,
                  "inside its own let %s is abstract; make it a let of its own", name);
        break;
    case FBLE_V_VALUE:
        fble_hint(checker->diagnostics, diagnostic,
                  "inside its own definition the type of %s is not known; write it in front of %s",
                  name, name);
        break;
    }
}

// The difference is in the bodies, if the parameters are of the same kind. Both get the same one.
static bool step_into_polys(struct fble_checker *checker, struct fble_type *x, struct fble_type *y,
                            struct fble_type **a, struct fble_type **b) {
    const struct fble_type *v = x->poly.param, *w = y->poly.param;
    if (!fble_kind_equal(v->variable.type_kind, w->variable.type_kind)) return false;
    uint32_t depth = (x->depth > y->depth ? x->depth : y->depth) + 1;
    struct fble_type *both =
        fble_parameter(checker->types, &v->variable.name, v->variable.type_kind, depth);
    *a = fble_instance(checker->types, x, both);
    *b = fble_instance(checker->types, y, both);
    return true;
}

// One step towards the first difference of two types of the same sort: the parts that differ, and
// the words for the way to them. False if the difference is right here.
static bool step_to_difference(struct fble_checker *checker, struct fble_type **a,
                               struct fble_type **b, struct fble_text *way) {
    struct fble_type *x = fble_normal(checker->types, *a), *y = fble_normal(checker->types, *b);
    if (!x || !y || x->kind != y->kind) return false;
    if (x->kind == FBLE_T_POLY) return step_into_polys(checker, x, y, a, b);
    if (x->kind == FBLE_T_APPLY) {
        bool heads = fble_equal(checker->types, x->apply.head, y->apply.head);
        if (heads) fble_add_string(way, " <>");
        *a = heads ? x->apply.arg : x->apply.head;
        *b = heads ? y->apply.arg : y->apply.head;
        return true;
    }
    if (x->kind == FBLE_T_FUNC) {
        bool args = fble_equal(checker->types, x->func.arg, y->func.arg);
        fble_add_string(way, args ? " result" : " argument");
        *a = args ? x->func.result : x->func.arg;
        *b = args ? y->func.result : y->func.arg;
        return true;
    }
    if ((x->kind != FBLE_T_STRUCT && x->kind != FBLE_T_UNION) || x->data.count != y->data.count)
        return false;
    for (uint32_t i = 0; i < x->data.count; i++) {
        const struct fble_field *f = &x->data.fields[i], *g = &y->data.fields[i];
        if (!fble_same_name(&f->name, &g->name) && !checker->types->as_host) return false;
        if (fble_equal(checker->types, f->type, g->type)) continue;
        fble_add_string(way, " .");
        fble_add_string(way, fble_show_name(checker, &f->name));
        *a = f->type;
        *b = g->type;
        return true;
    }
    return false;
}

// Where the two types were declared, if that is not the same place.
static void note_declarations(struct fble_checker *checker, struct fble_diagnostic *diagnostic,
                              struct fble_type *expected, struct fble_type *actual) {
    const struct fble_type *a = fble_declaration_of(expected), *b = fble_declaration_of(actual);
    if (a && b && a->unit == b->unit && a->loc.line == b->loc.line &&
        a->loc.column == b->loc.column)
        return;
    struct fble_type *shown[] = {expected, actual};
    const struct fble_type *declared[] = {a, b};
    for (int i = 0; i < 2; i++)
        if (declared[i])
            fble_add_note(checker->diagnostics, diagnostic, declared[i]->unit, declared[i]->loc,
                          "%s is declared here",
                          declared[i]->kind == FBLE_T_VARIABLE
                              ? fble_show_name(checker, &declared[i]->variable.name)
                              : fble_show(checker, shown[i]));
}

// Where two types differ, if that is deep enough inside not to be seen at a glance.
static void hint_difference(struct fble_checker *checker, struct fble_diagnostic *diagnostic,
                            struct fble_type *expected, struct fble_type *actual) {
    struct fble_text way = {.arena = checker->arena};
    int steps = 0;
    while (fble_wants_hints(checker) && steps < 8 &&
           step_to_difference(checker, &expected, &actual, &way))
        steps++;
    if (steps) note_declarations(checker, diagnostic, expected, actual);
    if (!way.length || diagnostic->hint) return;
    const char *a = fble_show(checker, expected), *b = fble_show(checker, actual);
    if (!strcmp(a, b)) return;
    fble_hint(checker->diagnostics, diagnostic, "they differ at%s: %s there, %s here", way.at, a,
              b);
}

void fble_explain_mismatch(struct fble_checker *checker, struct fble_diagnostic *diagnostic,
                           struct fble_type *expected, struct fble_type *actual) {
    note_declarations(checker, diagnostic, expected, actual);
    hint_difference(checker, diagnostic, expected, actual);
}

void fble_complain_mismatch(struct fble_checker *checker, struct fble_loc at, const char *what,
                            struct fble_type *expected, struct fble_type *actual) {
    const char *a = fble_show(checker, expected), *b = fble_show(checker, actual);
    const char *same = "";
    if (!strcmp(a, b)) {
        a = fble_type_text_open(checker->types, expected);
        b = fble_type_text_open(checker->types, actual);
        if (!strcmp(a, b)) same = " of another place";
    }
    struct fble_diagnostic *d =
        fble_complain(checker, at, "%s should have type %s, but has type %s%s", what, a, b, same);
    if (fble_level(expected) == 0 && fble_level(actual) == 1 &&
        fble_equal(checker->types, expected, actual->inner))
        fble_hint(checker->diagnostics, d, "this is the type itself, not a value of it");
    fble_hint_opaque(checker, d, actual);
    fble_hint_opaque(checker, d, expected);
    fble_explain_mismatch(checker, d, expected, actual);
}

void fble_complain_field(struct fble_checker *checker, const struct fble_name *name,
                         struct fble_type *type, const char *what) {
    struct fble_type *data = fble_normal_inside(checker->types, type);
    const struct fble_field *best = NULL;
    uint32_t most = name->word->length < 3 ? 1 : 2;
    for (uint32_t i = 0; data && fble_wants_hints(checker) && i < data->data.count; i++) {
        const struct fble_field *field = &data->data.fields[i];
        if (fble_same_name(&field->name, name)) continue;
        uint32_t distance = fble_word_distance(field->name.word, name->word, most);
        if (distance > most || distance >= field->name.word->length) continue;
        if (distance == 0 && field->name.type == name->type) continue;
        best = field;
        if (distance == 0) break;
        most = distance - 1;
    }
    const char *shown = fble_type_text_open(checker->types, data ? data : type);
    struct fble_diagnostic *d =
        fble_complain(checker, name->loc, "there is no %s '%s' in %s", what,
                      fble_show_name(checker, name), fble_show(checker, type));
    if (best)
        fble_hint(checker->diagnostics, d, "%s '%s' of %s: did you mean '%s'?", what,
                  fble_show_name(checker, name), shown, fble_show_name(checker, &best->name));
    else if (strcmp(shown, fble_show(checker, type)))
        fble_hint(checker->diagnostics, d, "it is %s", shown);
}
