// SPDX-License-Identifier: MIT
//
// The definitions of a document as a tree: those inside of another's value are its children.

#include "lsp.h"
#include "syntax/diagnostics.h"

#include <string.h>

enum { DEEPEST = 50 }; // editors read the reply with recursion

// Of the protocol.
enum { SYMBOL_ENUM = 10, SYMBOL_FUNCTION = 12, SYMBOL_VARIABLE = 13, SYMBOL_STRUCT = 23 };
enum { SYMBOL_CLASS = 5 };

struct lister {
    struct lsp_walk walk;
    FILE *to;
    struct lsp_check *check;
    uint32_t depth;
    bool first; // in its list
};

static int kind_of(struct fble_types *types, struct fble_type *type, bool names_type) {
    if (type && type->kind == FBLE_T_TYPEOF) type = type->inner;
    if (type) type = fble_normal_inside(types, type);
    if (names_type)
        return type && type->kind == FBLE_T_STRUCT  ? SYMBOL_STRUCT
               : type && type->kind == FBLE_T_UNION ? SYMBOL_ENUM
                                                    : SYMBOL_CLASS;
    return type && type->kind == FBLE_T_FUNC ? SYMBOL_FUNCTION : SYMBOL_VARIABLE;
}

static void print_symbol(struct lister *l, const struct fble_name *name, struct fble_type *type,
                         struct fble_loc start, size_t end) {
    struct fble_program *program = &l->check->program;
    const struct lsp_text *text = &l->check->text;
    size_t at = lsp_offset_of_loc(text, name->loc);
    size_t until = lsp_token_end(text, at);
    const char *shown = fble_name_text(&program->arena, name);
    struct fble_type *of = type && type->kind == FBLE_T_TYPEOF ? type->inner : type;
    const char *detail = of ? fble_type_text(&program->types, of) : "";
    fputs(l->first ? "{\"name\":" : ",{\"name\":", l->to);
    fble_print_json(l->to, shown, strlen(shown));
    fputs(",\"detail\":", l->to);
    fble_print_json(l->to, detail, strlen(detail));
    fprintf(l->to, ",\"kind\":%d,\"range\":", kind_of(&program->types, type, name->type));
    lsp_print_range(l->to, text, lsp_offset_of_loc(text, start), end > until ? end : until);
    fputs(",\"selectionRange\":", l->to);
    lsp_print_range(l->to, text, at, until);
    fputs(",\"children\":[", l->to);
}

static void list(struct lsp_walk *walk, const struct fble_name *name, struct fble_type *type,
                 struct fble_loc start, size_t end, bool begins) {
    struct lister *l = (struct lister *)walk;
    l->depth -= !begins;
    if (l->depth < DEEPEST && begins) print_symbol(l, name, type, start, end);
    if (l->depth < DEEPEST && !begins) fputs("]}", l->to);
    l->first = begins && l->depth < DEEPEST;
    l->depth += begins;
}

void lsp_print_symbols(FILE *to, struct lsp_check *check) {
    struct lister l = {.walk = {.definition = list}, .to = to, .check = check, .first = true};
    fble_types_enter(&check->program.types, check->path);
    fputs("[", to);
    lsp_walk(&l.walk, check->unit->body);
    fputs("]", to);
}
