// SPDX-License-Identifier: MIT
//
// The lexer. One table gives each byte its class; everything that is not blank, quote, comment or
// punctuation is part of a word, so there is no decoding and UTF-8 just passes through. Words
// point into the source, except quoted ones that contain a doubled quote.

#include "lexer.h"

#include <string.h>

enum { WORD, BLANK, COMMENT, QUOTE, PUNCTUATION, NOTHING };

static const unsigned char class_of[256] = {
    ['\0'] = NOTHING,    [' '] = BLANK,       ['\t'] = BLANK,      ['\n'] = BLANK,
    ['\v'] = BLANK,      ['\f'] = BLANK,      ['\r'] = BLANK,      ['#'] = COMMENT,
    ['\''] = QUOTE,      ['('] = PUNCTUATION, [')'] = PUNCTUATION, ['{'] = PUNCTUATION,
    ['}'] = PUNCTUATION, ['['] = PUNCTUATION, [']'] = PUNCTUATION, ['<'] = PUNCTUATION,
    ['>'] = PUNCTUATION, [';'] = PUNCTUATION, [','] = PUNCTUATION, [':'] = PUNCTUATION,
    ['?'] = PUNCTUATION, ['='] = PUNCTUATION, ['.'] = PUNCTUATION, ['+'] = PUNCTUATION,
    ['*'] = PUNCTUATION, ['-'] = PUNCTUATION, ['!'] = PUNCTUATION, ['$'] = PUNCTUATION,
    ['@'] = PUNCTUATION, ['~'] = PUNCTUATION, ['&'] = PUNCTUATION, ['|'] = PUNCTUATION,
    ['%'] = PUNCTUATION, ['/'] = PUNCTUATION, ['^'] = PUNCTUATION,
};

bool fble_word_byte(char byte) { return class_of[(unsigned char)byte] == WORD; }

void fble_lexer_start(struct fble_lexer *lexer, struct fble_arena *arena, struct fble_words *words,
                      const char *text, size_t length) {
    *lexer = (struct fble_lexer){.arena = arena,
                                 .words = words,
                                 .at = text,
                                 .end = text + length,
                                 .line_start = text,
                                 .line = 1};
}

static struct fble_loc here(const struct fble_lexer *lexer) {
    return (struct fble_loc){lexer->line, (uint32_t)(lexer->at - lexer->line_start) + 1};
}

static void new_line(struct fble_lexer *lexer, const char *after) {
    lexer->line++;
    lexer->line_start = after;
}

static void skip_blanks(struct fble_lexer *lexer) {
    for (; lexer->at < lexer->end; lexer->at++) {
        unsigned char class = class_of[(unsigned char)*lexer->at];
        if (class == COMMENT) {
            const char *end = memchr(lexer->at, '\n', (size_t)(lexer->end - lexer->at));
            lexer->at = end ? end : lexer->end - 1;
            class = BLANK;
        }
        if (class != BLANK) return;
        if (*lexer->at == '\n') new_line(lexer, lexer->at + 1);
    }
}

static struct fble_word *plain_word(struct fble_lexer *lexer) {
    const char *start = lexer->at;
    while (lexer->at < lexer->end && fble_word_byte(*lexer->at)) lexer->at++;
    return fble_word(lexer->arena, lexer->words, start, (size_t)(lexer->at - start));
}

// Doubled quotes become one: `doubled` of them are in start..end.
static struct fble_word *unquote(struct fble_lexer *lexer, const char *start, const char *end,
                                 size_t doubled) {
    size_t length = (size_t)(end - start) - doubled;
    if (!doubled) return fble_word(lexer->arena, lexer->words, start, length);
    char *text = fble_alloc(lexer->arena, length + 1), *to = text;
    for (const char *from = start; from < end; from++) {
        if (*from == '\'') from++;
        *to++ = *from;
    }
    return fble_word(lexer->arena, lexer->words, text, length);
}

static struct fble_word *quoted_word(struct fble_lexer *lexer) {
    struct fble_loc open = here(lexer);
    const char *start = ++lexer->at;
    size_t doubled = 0;
    for (; lexer->at < lexer->end; lexer->at++) {
        if (*lexer->at == '\n') new_line(lexer, lexer->at + 1);
        if (*lexer->at != '\'') continue;
        if (lexer->at + 1 == lexer->end || lexer->at[1] != '\'')
            return unquote(lexer, start, lexer->at++, doubled);
        doubled++;
        lexer->at++;
    }
    lexer->open_quote = open;
    return unquote(lexer, start, lexer->end, doubled);
}

static int byte_after(const struct fble_lexer *lexer, int n) {
    return lexer->end - lexer->at > n ? (unsigned char)lexer->at[n] : -1;
}

// A "." that begins a compound. Where the third byte is missing, the location is that byte's.
static int dot(struct fble_lexer *lexer, struct fble_token *token) {
    int second = byte_after(lexer, 1);
    if (second == '=') {
        lexer->at += 2;
        return FBLE_IMPORT;
    }
    if (second != '?' && second != '@' && second != '%') {
        lexer->at++;
        return '.';
    }
    lexer->at += 2;
    if (byte_after(lexer, 0) != '(') {
        token->loc = here(lexer);
        token->wrong = second == '?'   ? "'(' must follow '.?' at once"
                       : second == '@' ? "'(' must follow '.@' at once"
                                       : "'(' must follow '.%' at once";
        return FBLE_MALFORMED;
    }
    lexer->at++;
    return second == '?' ? FBLE_SELECT_OPEN : second == '@' ? FBLE_COPY_OPEN : FBLE_PRIVATE_OPEN;
}

static int punctuation(struct fble_lexer *lexer, struct fble_token *token) {
    static const struct {
        char first, second;
        int kind;
    } compounds[] = {{'*', '(', FBLE_STRUCT_OPEN},
                     {'+', '(', FBLE_UNION_OPEN},
                     {':', '=', FBLE_BIND},
                     {'(', '.', FBLE_FIELD_OPEN}};
    if (*lexer->at == '.') return dot(lexer, token);
    int second = byte_after(lexer, 1);
    for (size_t i = 0; i < sizeof compounds / sizeof *compounds; i++) {
        if (*lexer->at != compounds[i].first || second != compounds[i].second) continue;
        lexer->at += 2;
        return compounds[i].kind;
    }
    return (unsigned char)*lexer->at++;
}

struct fble_token fble_lex(struct fble_lexer *lexer) {
    lexer->behind = lexer->at;
    skip_blanks(lexer);
    struct fble_token token = {.kind = FBLE_END, .loc = here(lexer)};
    if (lexer->at == lexer->end) return token;
    switch (class_of[(unsigned char)*lexer->at]) {
    case WORD:
        token.kind = FBLE_WORD;
        token.word = plain_word(lexer);
        break;
    case QUOTE:
        token.kind = FBLE_WORD;
        token.word = quoted_word(lexer);
        break;
    case PUNCTUATION:
        token.kind = punctuation(lexer, &token);
        break;
    default:
        token.kind = FBLE_MALFORMED;
        token.wrong = "a NUL byte has no meaning";
        lexer->at++;
    }
    return token;
}

const char *fble_token_text(struct fble_arena *arena, const struct fble_token *token) {
    static const char *const compounds[] = {"*(", "+(", ".?(", ".@(", ".%(", ".=", ":=", "(."};
    if (token->kind == FBLE_END) return "the end of the file";
    if (token->kind == FBLE_WORD) {
        if (token->word->length > 40) return "this word";
        struct fble_text text = {.arena = arena};
        fble_add(&text, "the word ", 9);
        fble_add_word(&text, token->word);
        return text.at;
    }
    if (token->kind > FBLE_WORD)
        return fble_format(arena, "'%s'", compounds[token->kind - FBLE_STRUCT_OPEN]);
    return fble_format(arena, "'%c'", token->kind);
}
