// SPDX-License-Identifier: MIT
//
// Tokens to a syntax tree.

#ifndef FBLE_PARSER_H
#define FBLE_PARSER_H

#include "diagnostics.h"
#include "lexer.h"

struct fble_parser {
    struct fble_arena *arena;
    struct fble_words *words;
    struct fble_diagnostics *diagnostics;
    struct fble_unit *unit;
    struct fble_lexer lexer;
    struct fble_token token; // the next one
    struct fble_mention **mention;
    uint64_t mark; // of paths this file mentioned already
    uint32_t depth;
    uint32_t brackets; // open ones, not counting < and >
    bool failed;       // after a syntax error all functions return at once
};

// Fills unit->body and unit->mentions. On syntax errors reports them and leaves the body NULL.
bool fble_parse(struct fble_unit *unit, struct fble_arena *arena, struct fble_words *words,
                struct fble_diagnostics *diagnostics);

// A path as the command line gives it, such as /Foo/'4.2 x'%; NULL if it is none.
struct fble_path *fble_parse_path(struct fble_arena *arena, struct fble_words *words,
                                  const char *text);

// Shared by the two halves of the parser. Each returns NULL or false after a syntax error.
void fble_advance(struct fble_parser *parser);
bool fble_expect(struct fble_parser *parser, int kind, const char *wanted);
void *fble_syntax_error(struct fble_parser *parser, const char *wanted);
void *fble_syntax_error_at(struct fble_parser *parser, struct fble_loc loc, const char *message);
bool fble_parse_name(struct fble_parser *parser, struct fble_name *name, const char *wanted);
bool fble_nest(struct fble_parser *parser);
struct fble_expr *fble_parse_expr(struct fble_parser *parser);
struct fble_body *fble_parse_body(struct fble_parser *parser);

#endif
