// SPDX-License-Identifier: MIT
//
// A syntax tree as source: one statement per line, indented by the nesting of braces. Every form
// prints exactly what the parser reads for it, sugar included, so parsing the text gives the same
// tree. Comments are gone: the tree has none.

#include "tree_print.h"

#include "types/types.h"

// A word may have a NUL in it, which path->text ends at.
static void print_path(struct fble_text *text, const struct fble_path *path) {
    for (uint32_t i = 0; i < path->count; i++) {
        fble_add(text, "/", 1);
        fble_add_word(text, path->words[i]);
    }
    fble_add(text, "%", 1);
}

static void print_expr(struct fble_text *text, const struct fble_expr *expr, int indent);
static void print_lines(struct fble_text *text, const struct fble_body *body, int indent);

// Beyond some depth indenting only makes the text quadratic.
static void new_line(struct fble_text *text, int indent) {
    fble_add_string(text, "\n");
    for (int i = 0; i < indent && i < 40; i++) fble_add_string(text, "  ");
}

static void print_list(struct fble_text *text, const struct fble_expr *list, int indent) {
    for (const struct fble_expr *e = list; e; e = e->next) {
        if (e != list) fble_add_string(text, ", ");
        print_expr(text, e, indent);
    }
}

static void print_params(struct fble_text *text, const struct fble_param *params, int indent) {
    for (const struct fble_param *p = params; p; p = p->next) {
        if (p != params) fble_add_string(text, ", ");
        print_expr(text, p->type, indent);
        fble_add_string(text, " ");
        fble_add_name(text, &p->name);
    }
}

static void print_slots(struct fble_text *text, const struct fble_slot *slots, int indent) {
    for (const struct fble_slot *s = slots; s; s = s->next) {
        if (s != slots) fble_add_string(text, ", ");
        fble_add_name(text, &s->name);
        if (s->implicit) continue;
        fble_add_string(text, ": ");
        print_expr(text, s->value, indent);
    }
}

static void print_arms(struct fble_text *text, const struct fble_suffix *select, int indent) {
    for (const struct fble_arm *arm = select->select.arms; arm; arm = arm->next) {
        if (arm != select->select.arms) fble_add_string(text, ", ");
        fble_add_name(text, &arm->name);
        fble_add_string(text, ": ");
        print_expr(text, arm->value, indent);
    }
    if (!select->select.other) return;
    fble_add_string(text, ", : ");
    print_expr(text, select->select.other, indent);
}

static void print_suffix(struct fble_text *text, const struct fble_suffix *s, int indent) {
    static const char *const open[] = {"(", "(", ".", ".@(", ".?(", ".%(", "<", "[", "|"};
    static const char *const close[] = {")", ")", "", ")", ")", ")", ">", "]", ""};
    fble_add_string(text, open[s->kind]);
    switch (s->kind) {
    case FBLE_CALL:
    case FBLE_LIST:
    case FBLE_TYPE_APPLY:
        print_list(text, s->call.args, indent);
        break;
    case FBLE_UNION_VALUE:
        fble_add_name(text, &s->field.name);
        fble_add_string(text, ": ");
        print_expr(text, s->field.value, indent);
        break;
    case FBLE_ACCESS:
        fble_add_name(text, &s->field.name);
        break;
    case FBLE_COPY:
        print_slots(text, s->copy, indent);
        break;
    case FBLE_SELECT:
        print_arms(text, s, indent);
        break;
    case FBLE_PRIVATE:
        print_expr(text, s->package, indent);
        break;
    case FBLE_LITERAL:
        fble_add_word(text, s->literal.word);
        break;
    }
    fble_add_string(text, close[s->kind]);
}

static void print_block(struct fble_text *text, const struct fble_expr *expr, int indent) {
    fble_add_string(text, "{");
    if (!expr->block->statements) {
        fble_add_string(text, " ");
        print_expr(text, expr->block->result, indent);
        fble_add_string(text, "; }");
        return;
    }
    new_line(text, indent + 1);
    print_lines(text, expr->block, indent + 1);
    new_line(text, indent);
    fble_add_string(text, "}");
}

static void print_poly(struct fble_text *text, const struct fble_expr *expr, int indent) {
    fble_add_string(text, "<");
    for (const struct fble_type_param *p = expr->poly.params; p; p = p->next) {
        if (p != expr->poly.params) fble_add_string(text, ", ");
        fble_add_kind(text, p->kind);
        fble_add_string(text, " ");
        fble_add_name(text, &p->name);
    }
    fble_add_string(text, "> ");
    print_expr(text, expr->poly.body, indent);
}

static void print_function(struct fble_text *text, const struct fble_expr *expr, int indent) {
    bool type = expr->kind == FBLE_FUNC_TYPE;
    fble_add_string(text, "(");
    if (type)
        print_list(text, expr->func_type.args, indent);
    else
        print_params(text, expr->func.params, indent);
    fble_add_string(text, ") ");
    print_expr(text, type ? expr->func_type.result : expr->func.body, indent);
}

static void print_atom(struct fble_text *text, const struct fble_expr *expr, int indent) {
    switch (expr->kind) {
    case FBLE_NAME:
        fble_add_name(text, &expr->name.name);
        break;
    case FBLE_PACKAGE:
        fble_add_string(text, "@"); // then the path
    /* fall through */
    case FBLE_MODULE:
        print_path(text, expr->path);
        break;
    case FBLE_TYPEOF:
        fble_add_string(text, "@<");
        print_expr(text, expr->inner, indent);
        fble_add_string(text, ">");
        break;
    case FBLE_EXPORT:
        fble_add_string(text, "@(");
        print_slots(text, expr->exported.slots, indent);
        fble_add_string(text, ")");
        break;
    case FBLE_STRUCT_TYPE:
    case FBLE_UNION_TYPE:
        fble_add_string(text, expr->kind == FBLE_STRUCT_TYPE ? "*(" : "+(");
        print_params(text, expr->data.fields, indent);
        fble_add_string(text, ")");
        break;
    case FBLE_BLOCK:
        print_block(text, expr, indent);
        break;
    case FBLE_FUNC_TYPE:
    case FBLE_FUNC:
        print_function(text, expr, indent);
        break;
    case FBLE_POLY:
        print_poly(text, expr, indent);
        break;
    }
}

static void print_expr(struct fble_text *text, const struct fble_expr *expr, int indent) {
    print_atom(text, expr, indent);
    for (const struct fble_suffix *s = expr->suffixes; s; s = s->next)
        print_suffix(text, s, indent);
}

static void print_annotated(struct fble_text *text, const struct fble_expr *annotation,
                            const struct fble_name *name, int indent) {
    if (annotation) {
        print_expr(text, annotation, indent);
        fble_add_string(text, " ");
    }
    fble_add_name(text, name);
}

static void print_let(struct fble_text *text, const struct fble_statement *s, int indent) {
    for (const struct fble_definition *d = s->let.definitions; d; d = d->next) {
        if (d != s->let.definitions) fble_add_string(text, ", ");
        print_annotated(text, d->annotation, &d->name, indent);
        fble_add_string(text, " = ");
        print_expr(text, d->value, indent);
    }
}

static void print_import(struct fble_text *text, const struct fble_statement *s, int indent) {
    for (const struct fble_pick *p = s->import.picks; p; p = p->next) {
        if (p != s->import.picks) fble_add_string(text, ", ");
        print_annotated(text, p->annotation, &p->name, indent);
        if (!p->field.word) continue;
        fble_add_string(text, "(.");
        fble_add_name(text, &p->field);
        fble_add_string(text, ")");
    }
    fble_add_string(text, " .= ");
    print_expr(text, s->import.value, indent);
}

static void print_statement(struct fble_text *text, const struct fble_statement *s, int indent) {
    switch (s->kind) {
    case FBLE_LET:
        print_let(text, s, indent);
        break;
    case FBLE_STRUCT_IMPORT:
        print_import(text, s, indent);
        break;
    case FBLE_BIND_STMT:
        print_params(text, s->bind.func.params, indent);
        fble_add_string(text, " := ");
        print_expr(text, s->bind.callee, indent);
        break;
    case FBLE_FOREIGN:
        print_params(text, s->foreign.param, indent);
        break;
    case FBLE_GUARD:
        print_expr(text, s->guard, indent);
        break;
    }
    fble_add_string(text, ";");
}

static void print_lines(struct fble_text *text, const struct fble_body *body, int indent) {
    for (const struct fble_statement *s = body->statements; s; s = s->next) {
        print_statement(text, s, indent);
        new_line(text, indent);
    }
    print_expr(text, body->result, indent);
    fble_add_string(text, ";");
}

void fble_print_body(struct fble_text *text, const struct fble_body *body) {
    print_lines(text, body, 0);
    fble_add_string(text, "\n");
}
