// SPDX-License-Identifier: MIT
//
// Statements. All of them begin with an expression, so each is read as one and the token after it
// decides: `;` ends a result or a guard, a word makes the expression a type, and `=`, `,`, `.=`,
// `:=` and `(.` say that it was the name of an untyped definition or pick. A body is read by a
// loop, since it may have any number of statements.

#include "parser.h"

static bool at(const struct fble_parser *parser, int kind) { return parser->token.kind == kind; }

static bool accept(struct fble_parser *parser, int kind) {
    if (!at(parser, kind)) return false;
    fble_advance(parser);
    return true;
}

// `[Expr] Name`: what a definition, a pick, a parameter and a foreign value begin with.
struct head {
    struct fble_expr *annotation;
    struct fble_name name;
};

static bool is_bare_name(const struct fble_expr *expr) {
    return expr->kind == FBLE_NAME && !expr->suffixes;
}

// Completes a head whose expression has been read. `wanted` is what may follow it.
static bool head_after(struct fble_parser *parser, struct fble_expr *expr, struct head *head,
                       const char *wanted) {
    if (at(parser, FBLE_WORD)) {
        head->annotation = expr;
        return fble_parse_name(parser, &head->name, "a name");
    }
    head->annotation = NULL;
    head->name = expr->name.name;
    return is_bare_name(expr) || fble_syntax_error(parser, wanted);
}

static bool head(struct fble_parser *parser, struct head *result, const char *wanted) {
    struct fble_expr *expr = fble_parse_expr(parser);
    return expr && head_after(parser, expr, result, wanted);
}

static struct fble_statement *let(struct fble_parser *parser, struct fble_statement *statement,
                                  struct head first) {
    struct fble_definition **list = &statement->let.definitions;
    statement->kind = FBLE_LET;
    for (;;) {
        struct fble_definition *definition = *list = fble_alloc(parser->arena, sizeof *definition);
        definition->annotation = first.annotation;
        definition->name = first.name;
        if (!fble_expect(parser, '=', "'='")) return NULL;
        if (!(definition->value = fble_parse_expr(parser))) return NULL;
        list = &definition->next;
        if (!accept(parser, ',')) break;
        if (!head(parser, &first, "'=' or a name after its type")) return NULL;
    }
    return fble_expect(parser, ';', "',' or ';' after the definition") ? statement : NULL;
}

static struct fble_pick *pick(struct fble_parser *parser, struct head head) {
    struct fble_pick *result = fble_alloc(parser->arena, sizeof *result);
    result->annotation = head.annotation;
    result->name = head.name;
    if (!accept(parser, FBLE_FIELD_OPEN)) return result;
    if (!fble_parse_name(parser, &result->field, "the name of a field")) return NULL;
    return fble_expect(parser, ')', "')'") ? result : NULL;
}

static struct fble_statement *import(struct fble_parser *parser, struct fble_statement *statement,
                                     struct fble_pick *picks) {
    statement->kind = FBLE_STRUCT_IMPORT;
    statement->import.picks = picks;
    statement->import.value = fble_parse_expr(parser);
    if (!statement->import.value) return NULL;
    return fble_expect(parser, ';', "';' after the import") ? statement : NULL;
}

// A bind is told from an import by its ":=" only, so its parameters were read as picks.
static struct fble_statement *bind(struct fble_parser *parser, struct fble_statement *statement,
                                   struct fble_pick *picks) {
    struct fble_func *func = &statement->bind.func;
    struct fble_param **list = &func->params;
    statement->kind = FBLE_BIND_STMT;
    for (; picks; picks = picks->next) {
        if (!picks->annotation)
            return fble_syntax_error_at(
                parser, picks->name.loc,
                "a parameter before ':=' needs a type in front of its name");
        if (picks->field.word)
            return fble_syntax_error_at(parser, picks->field.loc,
                                        "a parameter before ':=' cannot name a field");
        struct fble_param *param = *list = fble_alloc(parser->arena, sizeof *param);
        param->type = picks->annotation;
        param->name = picks->name;
        list = &param->next;
        func->count++;
    }
    statement->bind.callee = fble_parse_expr(parser);
    if (!statement->bind.callee) return NULL;
    return fble_expect(parser, ';', "';' after the bind") ? statement : NULL;
}

static struct fble_statement *picks(struct fble_parser *parser, struct fble_statement *statement,
                                    struct head first) {
    struct fble_pick *all = NULL, **list = &all;
    for (;;) {
        if (!(*list = pick(parser, first))) return NULL;
        list = &(*list)->next;
        if (!accept(parser, ',')) break;
        if (!head(parser, &first, "',', '.=', ':=' or '(.'")) return NULL;
    }
    if (accept(parser, FBLE_IMPORT)) return import(parser, statement, all);
    if (accept(parser, FBLE_BIND)) return bind(parser, statement, all);
    return fble_syntax_error(parser, "',', '.=' or ':='");
}

static struct fble_statement *foreign(struct fble_parser *parser, struct fble_statement *statement,
                                      struct head head) {
    struct fble_param *param = fble_alloc(parser->arena, sizeof *param);
    param->type = head.annotation;
    param->name = head.name;
    statement->kind = FBLE_FOREIGN;
    statement->foreign.param = param;
    fble_advance(parser);
    return statement;
}

static bool may_guard(const struct fble_expr *expr) {
    const struct fble_suffix *last = expr->suffixes;
    while (last && last->next) last = last->next;
    return last && last->kind == FBLE_SELECT && !last->select.other;
}

// Everything but a result. The expression that begins it has been read, and no ";" follows it, or
// one that does not end the body.
static struct fble_statement *statement(struct fble_parser *parser, struct fble_expr *expr) {
    struct fble_statement *result = fble_alloc(parser->arena, sizeof *result);
    result->loc = expr->start;
    struct head head;
    if (!head_after(parser, expr, &head, "';' or the rest of a statement")) return NULL;
    if (at(parser, '=')) return let(parser, result, head);
    if (head.annotation && at(parser, ';')) return foreign(parser, result, head);
    if (at(parser, ',') || at(parser, FBLE_IMPORT) || at(parser, FBLE_BIND) ||
        at(parser, FBLE_FIELD_OPEN))
        return picks(parser, result, head);
    return fble_syntax_error(parser, head.annotation ? "'=', ';', ',', '.=' or ':='"
                                                     : "';', '=', ',', '.=' or ':='");
}

static struct fble_statement *guard(struct fble_parser *parser, struct fble_expr *expr) {
    if (!may_guard(expr))
        return fble_syntax_error_at(
            parser, parser->token.loc,
            "the body has its result already; only a select without default may stand before more");
    struct fble_statement *result = fble_alloc(parser->arena, sizeof *result);
    result->kind = FBLE_GUARD;
    result->loc = expr->start;
    result->guard = expr;
    return result;
}

struct fble_body *fble_parse_body(struct fble_parser *parser) {
    struct fble_body *body = fble_alloc(parser->arena, sizeof *body);
    struct fble_statement **list = &body->statements;
    body->loc = parser->token.loc;
    for (;;) {
        struct fble_expr *expr = fble_parse_expr(parser);
        if (!expr) return NULL;
        if (accept(parser, ';')) {
            if (at(parser, '}') || at(parser, FBLE_END)) {
                body->result = expr;
                if (!body->statements) body->loc = fble_expr_loc(expr);
                return body;
            }
            *list = guard(parser, expr);
        } else {
            *list = statement(parser, expr);
        }
        if (!*list) return NULL;
        list = &(*list)->next;
    }
}
