// SPDX-License-Identifier: MIT
//
// Bytes to tokens. A compound token such as ".?(" is one token and allows no blanks inside.

#ifndef FBLE_LEXER_H
#define FBLE_LEXER_H

#include "words.h"

// Simple punctuation is its own byte; these are the rest.
enum fble_token_kind {
    FBLE_END = 256,
    FBLE_WORD,
    FBLE_STRUCT_OPEN,  // *(
    FBLE_UNION_OPEN,   // +(
    FBLE_SELECT_OPEN,  // .?(
    FBLE_COPY_OPEN,    // .@(
    FBLE_PRIVATE_OPEN, // .%(
    FBLE_IMPORT,       // .=
    FBLE_BIND,         // :=
    FBLE_FIELD_OPEN,   // (.
    FBLE_MALFORMED,    // what no program contains; the location is the byte at fault
};

struct fble_token {
    int kind;
    struct fble_loc loc;
    struct fble_word *word; // of FBLE_WORD
    const char *wrong;      // of FBLE_MALFORMED: what is wrong
};

struct fble_lexer {
    struct fble_arena *arena;
    struct fble_words *words;
    const char *at, *end, *line_start;
    const char *behind; // the token before the last one
    uint32_t line;
    struct fble_loc open_quote; // where the quoted word began that the file ends in; line 0: none
};

void fble_lexer_start(struct fble_lexer *lexer, struct fble_arena *arena, struct fble_words *words,
                      const char *text, size_t length);
struct fble_token fble_lex(struct fble_lexer *lexer);

// Does the byte stand in unquoted words?
bool fble_word_byte(char byte);

// A token's text for messages: the word itself, or the punctuation in quotes.
const char *fble_token_text(struct fble_arena *arena, const struct fble_token *token);

#endif
