// SPDX-License-Identifier: MIT
//
// Types for messages. Names come first: a variable prints its name, an instance the application it
// came from, and only what has no name is spelled out. Long texts are cut: beyond some nesting or
// length "..." stands for the rest, so printing ends on cyclic types too.

#include "types.h"

enum { DEEPEST = 5, LONGEST = 160, MOST_FIELDS = 8 };

static void add_type(struct fble_text *text, struct fble_type *type, int depth);

static bool too_much(struct fble_text *text, int depth) {
    if (depth <= DEEPEST && text->length <= LONGEST) return false;
    fble_add_string(text, "...");
    return true;
}

static void add_fields(struct fble_text *text, const struct fble_type *type, int depth) {
    fble_add_string(text, type->kind == FBLE_T_STRUCT ? "*(" : "+(");
    for (uint32_t i = 0; i < type->data.count; i++) {
        if (i) fble_add_string(text, ", ");
        if (i == MOST_FIELDS || text->length > LONGEST) {
            fble_add_string(text, "...");
            break;
        }
        add_type(text, type->data.fields[i].type, depth + 1);
        fble_add_string(text, " ");
        fble_add_name(text, &type->data.fields[i].name);
    }
    fble_add_string(text, ")");
}

// (A@) { (B@) { R@; }; } is shown as (A@, B@) { R@; }, which is how one would write it.
static void add_func(struct fble_text *text, struct fble_type *type, int depth) {
    fble_add_string(text, "(");
    for (;; type = type->func.result) {
        add_type(text, type->func.arg, depth + 1);
        if (type->func.result->kind != FBLE_T_FUNC || type->func.result->written) break;
        fble_add_string(text, ", ");
        if (too_much(text, depth)) break;
    }
    fble_add_string(text, ") { ");
    add_type(text, type->func.result, depth + 1);
    fble_add_string(text, "; }");
}

static void add_poly(struct fble_text *text, struct fble_type *type, int depth) {
    fble_add_string(text, "<");
    for (;; type = type->poly.body) {
        fble_add_kind(text, type->poly.param->variable.type_kind);
        fble_add_string(text, " ");
        fble_add_name(text, &type->poly.param->variable.name);
        if (type->poly.body->kind != FBLE_T_POLY || type->poly.body->written) break;
        fble_add_string(text, ", ");
        if (too_much(text, depth)) break;
    }
    struct fble_type *body = type->poly.body;
    fble_add_string(text, body->kind == FBLE_T_FUNC ? ">" : "> { ");
    add_type(text, body, depth + 1);
    if (body->kind != FBLE_T_FUNC) fble_add_string(text, "; }");
}

static void add_application(struct fble_text *text, struct fble_type *type, int depth) {
    struct fble_type *args[MOST_FIELDS], *head = type;
    int count = 0;
    while (count < MOST_FIELDS) {
        if (head->kind != FBLE_T_APPLY && head->written) head = head->written;
        if (head->kind != FBLE_T_APPLY) break;
        args[count++] = head->apply.arg;
        head = head->apply.head;
    }
    add_type(text, head, depth + 1);
    fble_add_string(text, "<");
    while (count--) {
        add_type(text, args[count], depth + 1);
        fble_add_string(text, count ? ", " : ">");
    }
}

// The type of a variable that is still being defined has no name but the variable's.
static void add_variable(struct fble_text *text, struct fble_type *type, int depth) {
    if (type->variable.kind != FBLE_V_VALUE) {
        fble_add_name(text, &type->variable.name);
    } else if (type->variable.definition) {
        add_type(text, type->variable.definition, depth + 1);
    } else {
        fble_add_string(text, "@<");
        fble_add_name(text, &type->variable.name);
        fble_add_string(text, ">");
    }
}

static void add_outside(struct fble_text *text, struct fble_type *type, int depth) {
    switch (type->kind) {
    case FBLE_T_STRUCT:
    case FBLE_T_UNION:
        add_fields(text, type, depth);
        break;
    case FBLE_T_FUNC:
        add_func(text, type, depth);
        break;
    case FBLE_T_POLY:
        add_poly(text, type, depth);
        break;
    case FBLE_T_APPLY:
        add_application(text, type, depth);
        break;
    case FBLE_T_VARIABLE:
        add_variable(text, type, depth);
        break;
    case FBLE_T_PACKAGE:
        fble_add_string(text, "@");
        fble_add_string(text, type->package->text);
        break;
    case FBLE_T_PRIVATE:
        add_type(text, type->private.inner, depth + 1);
        fble_add_string(text, ".%(@");
        fble_add_string(text, type->private.package->text);
        fble_add_string(text, ")");
        break;
    case FBLE_T_TYPEOF:
        fble_add_string(text, "@<");
        add_type(text, type->inner, depth + 1);
        fble_add_string(text, ">");
        break;
    }
}

static void add_type(struct fble_text *text, struct fble_type *type, int depth) {
    if (too_much(text, depth)) return;
    add_outside(text, type->written ? type->written : type, depth);
}

const char *fble_type_text(struct fble_types *types, struct fble_type *type) {
    struct fble_text text = {.arena = types->arena};
    add_type(&text, type, 0);
    return text.at;
}

const char *fble_type_text_open(struct fble_types *types, struct fble_type *type) {
    struct fble_text text = {.arena = types->arena};
    struct fble_type *normal = fble_normal(types, type);
    add_outside(&text, normal ? normal : type, 0);
    return text.at;
}
