// SPDX-License-Identifier: MIT
//
// Expressions: atoms, blocks and suffixes, by recursive descent with one token of look-ahead.
// Suffixes are read by a loop and hang on their atom as a list. Recursion happens for brackets
// only and is limited to FBLE_DEEPEST levels; beyond that the parse ends with an error, which also
// bounds every later walk of the tree. A syntax error is reported at the first token that cannot
// stand where it does; parsing goes on after the statement, so that the next one is found too.

#include "parser.h"

#include <string.h>

enum { MOST_SYNTAX_ERRORS = 20 };

static int bracket(int kind) {
    switch (kind) {
    case '(':
    case '{':
    case '[':
    case FBLE_STRUCT_OPEN:
    case FBLE_UNION_OPEN:
    case FBLE_SELECT_OPEN:
    case FBLE_COPY_OPEN:
    case FBLE_PRIVATE_OPEN:
    case FBLE_FIELD_OPEN:
        return 1;
    case ')':
    case '}':
    case ']':
        return -1;
    default:
        return 0;
    }
}

void fble_advance(struct fble_parser *parser) {
    int change = bracket(parser->token.kind);
    if (change > 0) parser->brackets++;
    if (change < 0 && parser->brackets) parser->brackets--;
    parser->token = fble_lex(&parser->lexer);
}

void *fble_syntax_error_at(struct fble_parser *parser, struct fble_loc loc, const char *message) {
    if (!parser->failed)
        fble_report(parser->diagnostics, FBLE_ERROR, parser->unit, loc, "%s", message);
    parser->failed = true;
    return NULL;
}

void *fble_syntax_error(struct fble_parser *parser, const char *wanted) {
    if (parser->token.kind == FBLE_MALFORMED)
        return fble_syntax_error_at(parser, parser->token.loc, parser->token.wrong);
    if (parser->failed) return NULL;
    parser->failed = true;
    struct fble_diagnostic *d = fble_report(parser->diagnostics, FBLE_ERROR, parser->unit,
                                            parser->token.loc, "expected %s, but here is %s",
                                            wanted, fble_token_text(parser->arena, &parser->token));
    struct fble_loc quote = parser->lexer.open_quote;
    if (parser->token.kind == FBLE_END && quote.line)
        fble_hint(parser->diagnostics, d, "the quote at %u:%u is never closed", quote.line,
                  quote.column);
    return NULL;
}

bool fble_expect(struct fble_parser *parser, int kind, const char *wanted) {
    if (parser->token.kind != kind) return fble_syntax_error(parser, wanted);
    fble_advance(parser);
    return true;
}

bool fble_nest(struct fble_parser *parser) {
    if (++parser->depth <= FBLE_DEEPEST) return true;
    fble_syntax_error_at(
        parser, parser->token.loc,
        fble_format(parser->arena, "brackets are nested more than %d levels deep", FBLE_DEEPEST));
    return false;
}

static bool accept(struct fble_parser *parser, int kind) {
    if (parser->token.kind != kind) return false;
    fble_advance(parser);
    return true;
}

bool fble_parse_name(struct fble_parser *parser, struct fble_name *name, const char *wanted) {
    if (parser->token.kind != FBLE_WORD) return fble_syntax_error(parser, wanted);
    name->word = parser->token.word;
    name->loc = parser->token.loc;
    name->file = parser->unit->number;
    fble_advance(parser);
    name->type = accept(parser, '@');
    return true;
}

// Where the last token that was taken ends.
static uint32_t behind(const struct fble_parser *parser) {
    return (uint32_t)(parser->lexer.behind - parser->unit->text);
}

static struct fble_expr *new_expr(struct fble_parser *parser, enum fble_kind_of_expr kind) {
    struct fble_expr *expr = fble_alloc(parser->arena, sizeof *expr);
    expr->kind = kind;
    expr->start = expr->loc = parser->token.loc;
    return expr;
}

static struct fble_expr *variable(struct fble_parser *parser, const struct fble_name *name) {
    struct fble_expr *expr = new_expr(parser, FBLE_NAME);
    expr->start = expr->loc = name->loc;
    expr->name.name = *name;
    return expr;
}

// The rest of a path, from its first "/".
static struct fble_path *path(struct fble_parser *parser) {
    struct fble_list words = {0};
    while (accept(parser, '/')) {
        if (parser->token.kind != FBLE_WORD)
            return fble_syntax_error(parser, "a word of the path after '/'");
        fble_push(parser->arena, &words, parser->token.word);
        fble_advance(parser);
    }
    if (!fble_expect(parser, '%', "'/' or the '%' that ends the path")) return NULL;
    return fble_path(parser->arena, parser->words, (struct fble_word **)words.at, words.count);
}

static struct fble_expr *module_value(struct fble_parser *parser) {
    struct fble_expr *expr = new_expr(parser, FBLE_MODULE);
    expr->path = path(parser);
    if (!expr->path) return NULL;
    if (expr->path->mark == parser->mark) return expr;
    expr->path->mark = parser->mark;
    struct fble_mention *mention = fble_alloc(parser->arena, sizeof *mention);
    *mention = (struct fble_mention){.path = expr->path, .loc = expr->loc};
    *parser->mention = mention;
    parser->mention = &mention->next;
    return expr;
}

// Arguments up to `close`, which is taken too. `*count` is how many; none are fine if `empty`.
static bool expressions(struct fble_parser *parser, int close, bool empty, const char *wanted,
                        struct fble_expr **list, uint32_t *count) {
    *count = 0;
    if (empty && accept(parser, close)) return true;
    do {
        if (!(*list = fble_parse_expr(parser))) return false;
        list = &(*list)->next;
        ++*count;
    } while (accept(parser, ','));
    return fble_expect(parser, close, wanted);
}

static bool slots(struct fble_parser *parser, struct fble_slot **list, uint32_t *count) {
    *count = 0;
    do {
        struct fble_slot *slot = *list = fble_alloc(parser->arena, sizeof *slot);
        if (!fble_parse_name(parser, &slot->name, "the name of a field")) return false;
        slot->implicit = !accept(parser, ':');
        slot->value = slot->implicit ? variable(parser, &slot->name) : fble_parse_expr(parser);
        if (!slot->value) return false;
        if (slot->implicit) slot->value->end = behind(parser);
        list = &slot->next;
        ++*count;
    } while (accept(parser, ','));
    return fble_expect(parser, ')', "',' or ')'");
}

static struct fble_expr *export(struct fble_parser *parser, struct fble_expr *expr) {
    expr->kind = FBLE_EXPORT;
    fble_advance(parser);
    if (accept(parser, ')')) return expr;
    return slots(parser, &expr->exported.slots, &expr->exported.count) ? expr : NULL;
}

static struct fble_expr *at_atom(struct fble_parser *parser) {
    struct fble_expr *expr = new_expr(parser, FBLE_TYPEOF);
    fble_advance(parser);
    if (parser->token.kind == '(') return export(parser, expr);
    if (accept(parser, '<')) {
        expr->inner = fble_parse_expr(parser);
        return expr->inner && fble_expect(parser, '>', "'>'") ? expr : NULL;
    }
    if (parser->token.kind != '/')
        return fble_syntax_error(parser, "'<', '(' or a package path after '@'");
    expr->kind = FBLE_PACKAGE;
    expr->path = path(parser);
    return expr->path ? expr : NULL;
}

// `Expr Name` up to ")". The first type may have been read by the caller.
static bool params(struct fble_parser *parser, struct fble_expr *first, struct fble_param **list,
                   uint32_t *count) {
    *count = 0;
    do {
        struct fble_param *param = *list = fble_alloc(parser->arena, sizeof *param);
        param->type = first ? first : fble_parse_expr(parser);
        first = NULL;
        if (!param->type || !fble_parse_name(parser, &param->name, "a name after its type"))
            return false;
        list = &param->next;
        ++*count;
    } while (accept(parser, ','));
    return fble_expect(parser, ')', "',' or ')'");
}

static struct fble_expr *data_type(struct fble_parser *parser, enum fble_kind_of_expr kind) {
    struct fble_expr *expr = new_expr(parser, kind);
    fble_advance(parser);
    if (kind == FBLE_STRUCT_TYPE && accept(parser, ')')) return expr;
    return params(parser, NULL, &expr->data.fields, &expr->data.count) ? expr : NULL;
}

static struct fble_expr *inner_block(struct fble_parser *parser);

static struct fble_expr *braces(struct fble_parser *parser) {
    struct fble_expr *expr = new_expr(parser, FBLE_BLOCK);
    fble_advance(parser);
    expr->block = fble_parse_body(parser);
    if (!expr->block || !fble_expect(parser, '}', "'}'")) return NULL;
    expr->loc = expr->block->loc;
    expr->end = behind(parser);
    return expr;
}

static bool block_starts(int kind) { return kind == '{' || kind == '(' || kind == '<'; }

// "(" ... ")" Block: a word after the first expression makes it a value with parameters.
static struct fble_expr *function(struct fble_parser *parser) {
    struct fble_expr *expr = new_expr(parser, FBLE_FUNC);
    fble_advance(parser);
    struct fble_expr *first = fble_parse_expr(parser);
    if (!first) return NULL;
    if (parser->token.kind == FBLE_WORD) {
        if (!params(parser, first, &expr->func.params, &expr->func.count)) return NULL;
        expr->func.body = inner_block(parser);
        return expr->func.body ? expr : NULL;
    }
    expr->kind = FBLE_FUNC_TYPE;
    expr->func_type.args = first;
    uint32_t more;
    if (accept(parser, ',')) {
        if (!expressions(parser, ')', false, "',' or ')'", &first->next, &more)) return NULL;
    } else if (!fble_expect(parser, ')', "',', ')' or the name of a parameter")) {
        return NULL;
    }
    if (!block_starts(parser->token.kind))
        return fble_syntax_error(parser, "a body in '{' and '}', as round brackets do not group");
    expr->func_type.result = inner_block(parser);
    return expr->func_type.result ? expr : NULL;
}

// The sugar <k, l>m is unfolded here: a kind is a list of arguments, last to first, around "@".
static bool kind(struct fble_parser *parser, struct fble_kind **result) {
    struct fble_kind **end = result;
    *end = NULL;
    if (!fble_nest(parser)) return false;
    while (accept(parser, '<')) {
        do {
            *end = fble_alloc(parser->arena, sizeof **end);
            if (!kind(parser, &(*end)->arg)) return false;
            end = &(*end)->result;
        } while (accept(parser, ','));
        if (!fble_expect(parser, '>', "',' or '>'")) return false;
    }
    parser->depth--;
    return fble_expect(parser, '@', "a kind, '@' or '<'");
}

static struct fble_expr *poly(struct fble_parser *parser) {
    struct fble_expr *expr = new_expr(parser, FBLE_POLY);
    struct fble_type_param **list = &expr->poly.params;
    fble_advance(parser);
    do {
        struct fble_type_param *param = *list = fble_alloc(parser->arena, sizeof *param);
        if (!kind(parser, &param->kind) ||
            !fble_parse_name(parser, &param->name, "the name of a type parameter"))
            return NULL;
        list = &param->next;
    } while (accept(parser, ','));
    if (!fble_expect(parser, '>', "',' or '>'")) return NULL;
    expr->poly.body = inner_block(parser);
    return expr->poly.body ? expr : NULL;
}

static struct fble_expr *block(struct fble_parser *parser) {
    switch (parser->token.kind) {
    case '{':
        return braces(parser);
    case '(':
        return function(parser);
    case '<':
        return poly(parser);
    default:
        return fble_syntax_error(parser, "a body in '{' and '}'");
    }
}

// The block after brackets. Braces hold expressions, which count as levels; brackets after
// brackets, as in (A@)(B@) { ... }, have to be counted here.
static struct fble_expr *inner_block(struct fble_parser *parser) {
    if (parser->token.kind == '{') return braces(parser);
    if (!fble_nest(parser)) return NULL;
    struct fble_expr *expr = block(parser);
    parser->depth--;
    if (expr) expr->end = behind(parser);
    return expr;
}

static struct fble_expr *atom(struct fble_parser *parser) {
    struct fble_name name;
    switch (parser->token.kind) {
    case FBLE_WORD:
        fble_parse_name(parser, &name, "");
        return variable(parser, &name);
    case '/':
        return module_value(parser);
    case '@':
        return at_atom(parser);
    case FBLE_STRUCT_OPEN:
        return data_type(parser, FBLE_STRUCT_TYPE);
    case FBLE_UNION_OPEN:
        return data_type(parser, FBLE_UNION_TYPE);
    case '{':
    case '(':
    case '<':
        return block(parser);
    default:
        return fble_syntax_error(parser, "an expression");
    }
}

static struct fble_expr *with_suffixes(struct fble_parser *parser, struct fble_expr *expr);

// After "(": arguments, or `name: value`. One name decides, so it is read first.
static bool call(struct fble_parser *parser, struct fble_suffix *suffix) {
    suffix->kind = FBLE_CALL;
    fble_advance(parser);
    if (parser->token.kind != FBLE_WORD)
        return expressions(parser, ')', true, "',' or ')'", &suffix->call.args,
                           &suffix->call.count);
    struct fble_name name;
    fble_parse_name(parser, &name, "");
    if (accept(parser, ':')) {
        suffix->kind = FBLE_UNION_VALUE;
        suffix->field.name = name;
        suffix->field.value = fble_parse_expr(parser);
        return suffix->field.value && fble_expect(parser, ')', "')'");
    }
    if (!fble_nest(parser)) return false;
    struct fble_expr *first = with_suffixes(parser, variable(parser, &name));
    parser->depth--;
    suffix->call.args = first;
    suffix->call.count = 1;
    if (!first) return false;
    if (!accept(parser, ',')) return fble_expect(parser, ')', "',' or ')'");
    uint32_t more;
    bool good = expressions(parser, ')', false, "',' or ')'", &first->next, &more);
    suffix->call.count += more;
    return good;
}

static bool select(struct fble_parser *parser, struct fble_suffix *suffix) {
    suffix->kind = FBLE_SELECT;
    struct fble_arm **list = &suffix->select.arms;
    fble_advance(parser);
    do {
        if (suffix->select.count && accept(parser, ':')) {
            suffix->select.other = fble_parse_expr(parser);
            return suffix->select.other && fble_expect(parser, ')', "')' after the default");
        }
        struct fble_arm *arm = *list = fble_alloc(parser->arena, sizeof *arm);
        if (!fble_parse_name(parser, &arm->name, "the tag of a branch") ||
            !fble_expect(parser, ':', "':' after the tag") ||
            !(arm->value = fble_parse_expr(parser)))
            return false;
        list = &arm->next;
        suffix->select.count++;
    } while (accept(parser, ','));
    return fble_expect(parser, ')', "',' or ')'");
}

static bool access_or_bracket(struct fble_parser *parser, struct fble_suffix *suffix) {
    uint32_t count;
    int open = parser->token.kind;
    fble_advance(parser);
    switch (open) {
    case '.':
        suffix->kind = FBLE_ACCESS;
        return fble_parse_name(parser, &suffix->field.name, "the name of a field after '.'");
    case FBLE_COPY_OPEN:
        suffix->kind = FBLE_COPY;
        return slots(parser, &suffix->copy, &count);
    case FBLE_PRIVATE_OPEN:
        suffix->kind = FBLE_PRIVATE;
        suffix->package = fble_parse_expr(parser);
        return suffix->package && fble_expect(parser, ')', "')'");
    case '<':
        suffix->kind = FBLE_TYPE_APPLY;
        return expressions(parser, '>', false, "',' or '>'", &suffix->call.args,
                           &suffix->call.count);
    default:
        suffix->kind = FBLE_LIST;
        return expressions(parser, ']', true, "',' or ']'", &suffix->call.args,
                           &suffix->call.count);
    }
}

static bool literal(struct fble_parser *parser, struct fble_suffix *suffix) {
    suffix->kind = FBLE_LITERAL;
    fble_advance(parser);
    if (parser->token.kind != FBLE_WORD) return fble_syntax_error(parser, "a word after '|'");
    suffix->literal.word = parser->token.word;
    suffix->literal.loc = parser->token.loc;
    fble_advance(parser);
    return true;
}

static bool suffix_starts(int kind) {
    return kind == '(' || kind == '.' || kind == '<' || kind == '[' || kind == '|' ||
           kind == FBLE_COPY_OPEN || kind == FBLE_SELECT_OPEN || kind == FBLE_PRIVATE_OPEN;
}

static struct fble_expr *with_suffixes(struct fble_parser *parser, struct fble_expr *expr) {
    if (!expr) return NULL;
    struct fble_suffix **list = &expr->suffixes;
    expr->end = behind(parser);
    while (suffix_starts(parser->token.kind)) {
        struct fble_suffix *suffix = fble_alloc(parser->arena, sizeof *suffix);
        bool good = parser->token.kind == '('                ? call(parser, suffix)
                    : parser->token.kind == FBLE_SELECT_OPEN ? select(parser, suffix)
                    : parser->token.kind == '|'              ? literal(parser, suffix)
                                                             : access_or_bracket(parser, suffix);
        if (!good) return NULL;
        suffix->end = behind(parser);
        *list = suffix;
        list = &suffix->next;
    }
    return expr;
}

struct fble_expr *fble_parse_expr(struct fble_parser *parser) {
    if (!fble_nest(parser)) return NULL;
    struct fble_expr *expr = with_suffixes(parser, atom(parser));
    parser->depth--;
    return expr;
}

static struct fble_body *module_body(struct fble_parser *parser) {
    struct fble_body *body = fble_parse_body(parser);
    if (body && parser->token.kind != FBLE_END)
        return fble_syntax_error(parser, "a statement or the end of the file");
    return body;
}

// After a syntax error: goes on behind the statement of the module that contains it, as far as the
// brackets tell. False if nothing is left.
static bool skip_statement(struct fble_parser *parser) {
    while (parser->token.kind != FBLE_END && (parser->token.kind != ';' || parser->brackets))
        fble_advance(parser);
    if (parser->token.kind == ';') fble_advance(parser);
    parser->failed = false;
    parser->depth = 0;
    return parser->token.kind != FBLE_END;
}

bool fble_parse(struct fble_unit *unit, struct fble_arena *arena, struct fble_words *words,
                struct fble_diagnostics *diagnostics) {
    struct fble_parser parser = {.arena = arena,
                                 .words = words,
                                 .diagnostics = diagnostics,
                                 .unit = unit,
                                 .mention = &unit->mentions,
                                 .mark = ++words->marks};
    fble_lexer_start(&parser.lexer, arena, words, unit->text, unit->length);
    fble_advance(&parser);
    unit->body = module_body(&parser);
    // The rest is read for more errors only. It begins a new body, so that an error is one.
    for (int more = 0; parser.failed && more < MOST_SYNTAX_ERRORS && skip_statement(&parser);
         more++)
        module_body(&parser);
    return unit->body != NULL;
}

struct fble_path *fble_parse_path(struct fble_arena *arena, struct fble_words *words,
                                  const char *text) {
    struct fble_diagnostics nowhere = {.arena = arena};
    struct fble_parser parser = {.arena = arena, .words = words, .diagnostics = &nowhere};
    fble_lexer_start(&parser.lexer, arena, words, text, strlen(text));
    fble_advance(&parser);
    struct fble_path *result = parser.token.kind == '/' ? path(&parser) : NULL;
    return parser.token.kind == FBLE_END ? result : NULL;
}
