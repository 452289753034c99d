// SPDX-License-Identifier: MIT
//
// The names of functions as they are written. Lua knows a function by its first and last line and
// by how it is called. So a callback and a tail-called function have no name, and a method has only
// the name of its field. The source text has all of it: `function Account:deposit`,
// `local function f`, `t.x = function`, `M = { encode = function`.
//
// This is a lexer that tracks open brackets and blocks, not a parser. Text that is not Lua gives
// fewer definitions or none, and then names.c asks Lua. Nesting is a stack in memory; there is
// no recursion.

#include "source.h"

#include "blocks.h"
#include "descriptors.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SOURCES_MAX = 1024, TEXT_MAX = 64 << 20, NAME_MAX_LENGTH = 120 };

typedef enum { END_OF_TEXT, NAME, STRING, NUMBER, SIGN } kind;

typedef struct {
    kind kind;
    const char *start;
    size_t length;
    uint32_t line, column;
} token;

typedef struct {
    const char *at, *end, *line_start;
    uint32_t line;
} lexer;

// An open bracket, or an open block that ends with `end` or `until`.
typedef struct {
    char what;         // ( [ { or b
    size_t definition; // of a function: its index + 1
    char *name;        // of a table: what it is assigned to
} opener;

typedef struct {
    lexer lexer;
    source *source;
    opener *open;
    size_t depth, room;
    token last;                     // the token before this one
    char chain[NAME_MAX_LENGTH];    // the name a.b["c"] that is being read; "" = none
    char assigned[NAME_MAX_LENGTH]; // the name before `=`, if the last token was `=`
    bool several;                   // a list of names: unknown which one gets the function
    bool swallowed;                 // the token consumed others and has set `last`
    bool failed;
} reader;

static void new_line(lexer *x) {
    x->line++;
    x->line_start = x->at + 1;
}

// The number of = in [==[, or -1 if this is not a long bracket.
static int long_bracket(const lexer *x) {
    const char *p = x->at + 1;
    int level = 0;
    for (; p < x->end && *p == '='; p++) level++;
    return p < x->end && *p == '[' ? level : -1;
}

static void skip_long(lexer *x, int level) {
    x->at += level + 2;
    for (; x->at < x->end; x->at++) {
        if (*x->at == '\n') new_line(x);
        if (*x->at != ']') continue;
        const char *p = x->at + 1;
        int n = 0;
        for (; p < x->end && *p == '='; p++) n++;
        if (n == level && p < x->end && *p == ']') {
            x->at = p + 1;
            return;
        }
    }
}

static void skip_string(lexer *x) {
    char quote = *x->at++;
    for (; x->at < x->end && *x->at != quote; x->at++) {
        if (*x->at == '\\' && x->at + 1 < x->end) x->at++;
        if (*x->at == '\n') new_line(x);
    }
    if (x->at < x->end) x->at++;
}

static void skip_comment(lexer *x) {
    x->at += 2;
    int level = x->at < x->end && *x->at == '[' ? long_bracket(x) : -1;
    if (level >= 0) {
        skip_long(x, level);
    } else {
        while (x->at < x->end && *x->at != '\n') x->at++;
    }
}

static void skip_space(lexer *x) {
    for (; x->at < x->end; x->at++) {
        while (x->end - x->at > 1 && x->at[0] == '-' && x->at[1] == '-') skip_comment(x);
        if (x->at == x->end || !isspace((unsigned char)*x->at)) return;
        if (*x->at == '\n') new_line(x);
    }
}

static bool is_name(char c) { return isalnum((unsigned char)c) || c == '_' || (c & 0x80); }

static void skip_number(lexer *x) {
    for (; x->at < x->end && (is_name(*x->at) || *x->at == '.'); x->at++) {
        if (strchr("eEpP", *x->at) && x->end - x->at > 1 && strchr("+-", x->at[1])) x->at++;
    }
}

static token next_token(lexer *x) {
    skip_space(x);
    token t = {END_OF_TEXT, x->at, 0, x->line, (uint32_t)(x->at - x->line_start) + 1};
    if (x->at == x->end) return t;
    char c = *x->at;
    if (isdigit((unsigned char)c)) {
        t.kind = NUMBER;
        skip_number(x);
    } else if (is_name(c)) {
        t.kind = NAME;
        while (x->at < x->end && is_name(*x->at)) x->at++;
    } else if (c == '"' || c == '\'' || (c == '[' && long_bracket(x) >= 0)) {
        t.kind = STRING;
        if (c == '[') {
            skip_long(x, long_bracket(x));
        } else {
            skip_string(x);
        }
    } else {
        t.kind = SIGN;
        x->at++;
        // == ~= <= >= are not assignments, and .. is not a field.
        if (strchr("=~<>", c) && x->at < x->end && *x->at == '=') x->at++;
        while (c == '.' && x->at < x->end && *x->at == '.') x->at++;
    }
    t.length = (size_t)(x->at - t.start);
    return t;
}

static bool is(const token *t, const char *text) {
    return t->kind != STRING && strlen(text) == t->length && !memcmp(t->start, text, t->length);
}

static void append(char *chain, const char *before, const token *t) {
    size_t have = strlen(chain);
    snprintf(chain + have, NAME_MAX_LENGTH - have, "%s%.*s", before, (int)t->length, t->start);
}

static char top(const reader *r) { return r->depth ? r->open[r->depth - 1].what : 'b'; }

static void push(reader *r, char what, size_t index, const char *name) {
    if (r->depth == r->room) {
        size_t room = r->room ? r->room * 2 : 32;
        opener *open = realloc(r->open, room * sizeof *open);
        if (!open) {
            r->failed = true;
            return;
        }
        r->open = open;
        r->room = room;
    }
    r->open[r->depth++] = (opener){what, index, name && *name ? strdup(name) : NULL};
}

static void pop(reader *r, char what, uint32_t line) {
    if (!r->depth || top(r) != what) {
        r->failed = true;
        return;
    }
    const opener *o = &r->open[--r->depth];
    if (o->definition) r->source->list[o->definition - 1].last_line = line;
    free(o->name);
}

static definition *add_definition(reader *r) {
    source *s = r->source;
    if (s->count == s->room) {
        size_t room = s->room ? s->room * 2 : 32;
        definition *list = realloc(s->list, room * sizeof *list);
        if (!list) return NULL;
        s->list = list;
        s->room = room;
    }
    s->list[s->count] = (definition){0};
    return &s->list[s->count++];
}

static void parameters(reader *r, definition *d) {
    token t;
    do {
        t = next_token(&r->lexer);
        if (t.kind == NAME) d->parameters++;
        if (is(&t, "...")) d->vararg = true;
    } while (t.kind != END_OF_TEXT && !is(&t, ")"));
    r->last = t;
    r->swallowed = true;
}

// After the token `function`: a name or none, then parameters.
static void function_begins(reader *r, const token *at) {
    definition *d = add_definition(r);
    if (!d) {
        r->failed = true;
        return;
    }
    d->line = d->last_line = at->line;
    d->column = at->column;
    char name[NAME_MAX_LENGTH] = "";
    token t = next_token(&r->lexer);
    for (; t.kind == NAME || is(&t, ".") || is(&t, ":"); t = next_token(&r->lexer)) {
        if (is(&t, ":")) d->method = true;
        append(name, "", &t);
    }
    if (!*name) snprintf(name, sizeof name, "%s", r->assigned);
    if (*name) d->name = strdup(name);
    if (!is(&t, "(")) r->failed = true;
    parameters(r, d);
    push(r, 'b', r->source->count, NULL);
}

// A name that the program chose, not a keyword.
static void on_name(reader *r, const token *t) {
    if (is(&r->last, ".") && *r->chain) {
        append(r->chain, ".", t);
        return;
    }
    r->several = is(&r->last, ",") && top(r) != '{';
    r->chain[0] = '\0';
    const char *table = top(r) == '{' ? r->open[r->depth - 1].name : NULL;
    if (table) snprintf(r->chain, sizeof r->chain, "%s.", table);
    append(r->chain, "", t);
}

static void on_string(reader *r, const token *t) {
    if (!is(&r->last, "[")) {
        r->chain[0] = '\0';
        return;
    }
    // t["x"] = function, or ["x"] = function in a constructor. The bracket has been pushed.
    if (r->depth > 1 && r->open[r->depth - 2].what == '{') {
        const char *table = r->open[r->depth - 2].name;
        snprintf(r->chain, sizeof r->chain, "%s", table ? table : "");
    }
    append(r->chain, "[", t);
    size_t have = strlen(r->chain);
    snprintf(r->chain + have, sizeof r->chain - have, "]");
}

static void on_sign(reader *r, const token *t) {
    char c = t->length == 1 ? *t->start : '\0';
    if (c && strchr("([{", c)) push(r, c, 0, c == '{' ? r->assigned : NULL);
    if (c == ')') pop(r, '(', t->line);
    if (c == ']') pop(r, '[', t->line);
    if (c == '}') pop(r, '{', t->line);
    r->assigned[0] = '\0';
    if (c == '=' && !r->several) memcpy(r->assigned, r->chain, sizeof r->assigned);
    // A name continues with these: a.b, a["b"], and `local a <const> =`.
    bool goes_on = c && strchr("<>.[", c);
    if (c == ']') goes_on = r->last.kind == STRING;
    if (!goes_on) r->chain[0] = '\0';
}

static bool on_word(reader *r, const token *t) {
    static const char *const plain[] = {"and",  "break", "else",   "elseif", "false", "for",
                                        "goto", "in",    "local",  "nil",    "not",   "or",
                                        "then", "true",  "return", "while"};
    if (is(t, "function")) {
        function_begins(r, t);
    } else if (is(t, "do") || is(t, "if") || is(t, "repeat")) {
        push(r, 'b', 0, NULL);
    } else if (is(t, "end") || is(t, "until")) {
        pop(r, 'b', t->line);
    } else {
        for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
            if (is(t, plain[i])) return true;
        }
        return false;
    }
    return true;
}

static void on_name_or_word(reader *r, const token *t) {
    bool attribute = is(&r->last, "<") && (is(t, "const") || is(t, "close"));
    if (attribute) return;
    if (on_word(r, t)) {
        r->chain[0] = '\0';
    } else {
        on_name(r, t);
    }
}

static void on_token(reader *r, const token *t) {
    r->swallowed = false;
    if (t->kind == SIGN) {
        on_sign(r, t);
    } else {
        if (t->kind == NAME) on_name_or_word(r, t);
        if (t->kind == STRING) on_string(r, t);
        if (t->kind == NUMBER) r->chain[0] = '\0';
        r->assigned[0] = '\0';
    }
    if (!r->swallowed) r->last = *t;
}

bool source_read(source *s, const char *text, size_t length) {
    reader r = {.lexer = {text, text + length, text, 1}, .source = s};
    if (length && *text == '#') {
        while (r.lexer.at < r.lexer.end && *r.lexer.at != '\n') r.lexer.at++;
    }
    token t;
    while (!r.failed && (t = next_token(&r.lexer)).kind != END_OF_TEXT) on_token(&r, &t);
    while (r.depth) free(r.open[--r.depth].name);
    free(r.open);
    return !r.failed;
}

void source_free(source *s) {
    for (size_t i = 0; i < s->count; i++) free(s->list[i].name);
    free(s->list);
}

static char *file_text(const char *path, size_t *length) {
    int fd = ouro__open(path, O_RDONLY, 0);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "rb");
    if (!f) return NULL;
    size_t room = 1 << 16, have = 0;
    char *text = malloc(room);
    while (text) {
        have += fread(text + have, 1, room - have, f);
        if (have < room || room >= TEXT_MAX) break;
        char *larger = realloc(text, room *= 2);
        if (!larger) free(text);
        text = larger;
    }
    fclose(f);
    *length = have;
    return text;
}

static void read_chunk(source *s, const char *chunk, size_t length) {
    if (*chunk == '=') return;
    if (*chunk != '@') {
        source_read(s, chunk, length);
        return;
    }
    char *text = file_text(chunk + 1, &length);
    if (text) source_read(s, text, length);
    free(text);
}

static const source *source_get(source_cache *cache, const char *chunk, size_t length) {
    uint64_t key = hash_text(hash_number(0, length), chunk);
    for (size_t i = cache->count; i > 0; i--) {
        if (cache->list[i - 1].key == key) return &cache->list[i - 1];
    }
    if (cache->count == SOURCES_MAX) source_cache_free(cache); // a program that keeps loading
    if (cache->count == cache->room) {
        size_t room = cache->room ? cache->room * 2 : 8;
        source *list = realloc(cache->list, room * sizeof *list);
        if (!list) return NULL;
        cache->list = list;
        cache->room = room;
    }
    source *s = &cache->list[cache->count++];
    *s = (source){.key = key};
    read_chunk(s, chunk, length);
    return s;
}

static bool fits(const definition *d, const definition_key *key) {
    if ((int)d->line != key->line || (int)d->last_line != key->last_line) return false;
    return key->parameters == PARAMETERS_UNKNOWN ||
           ((int)d->parameters + d->method == key->parameters && d->vararg == key->vararg);
}

// Does a.b, a:b or a["b"] end in b?
static bool ends_in(const char *written, const char *name) {
    size_t length = strlen(written), tail = strlen(name);
    if (length >= 2 && strcmp(written + length - 2, "\"]") == 0) length -= 2;
    if (length < tail || memcmp(written + length - tail, name, tail) != 0) return false;
    return length == tail || !is_name(written[length - tail - 1]);
}

const definition *source_find(source_cache *cache, const char *chunk, size_t length,
                              definition_key key, const char *name, bool *several) {
    const source *s = source_get(cache, chunk, length);
    const definition *first = NULL, *named = NULL;
    *several = false;
    for (size_t i = 0; s && i < s->count; i++) {
        const definition *d = &s->list[i];
        if (!fits(d, &key)) continue;
        if (first) *several = true;
        if (!first) first = d;
        if (!named && name && d->name && ends_in(d->name, name)) named = d;
    }
    return *several ? named : first;
}

void source_cache_free(source_cache *cache) {
    for (size_t i = 0; i < cache->count; i++) source_free(&cache->list[i]);
    free(cache->list);
    *cache = (source_cache){0};
}
