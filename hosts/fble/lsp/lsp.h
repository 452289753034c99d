// SPDX-License-Identifier: MIT
//
// The language server: what its files share. From outside only fble_lsp is used.
//
// A document is a text that the editor has open. It is checked as the module of its file, together
// with all that it mentions, and the checked program stays until the next check: hover, definition
// and symbols read its tree. Places inside are byte offsets; positions of the protocol count UTF-16
// units and exist at the borders only.

#ifndef FBLE_LSP_H
#define FBLE_LSP_H

#include "program/loader.h"

#include <stdio.h>

enum {
    LSP_LONGEST_MESSAGE = 64 << 20, // bytes; so long may a document be, too
    LSP_MOST_WAITING = 1000,        // messages that are read ahead, for the sake of cancelling
    LSP_MOST_SHOWN = 1000,          // diagnostics per file
};

// Serves the client at the other end of `in` and `out` until it says exit or goes away. `search`
// has directories as absolute paths. `version` is what the client is told. *shut_down: it said so
// before it went. NULL, or what is wrong with input that is no message.
const char *fble_lsp(int in, FILE *out, const struct fble_list *search, const char *version,
                     bool *shut_down);

// ---------------------------------------------------------------- positions (position.c)

struct lsp_position {
    uint32_t line, character; // from 0; characters are UTF-16 units
};

// A text with an index of its lines, so that a place is found in no time. The checker's lines end
// at LF, those of the protocol at CR without LF, too: there are as many of them as `returns` says
// before the start of each line.
struct lsp_text {
    const char *at;
    size_t length;
    uint32_t count;
    uint32_t *starts, *returns;
};

struct lsp_text lsp_text(struct fble_arena *arena, const char *at, size_t length);
struct lsp_text lsp_unit_text(struct fble_arena *arena, const struct fble_unit *unit);

// Positions behind the end of a line or of the text are taken as that end.
size_t lsp_offset(const char *text, size_t length, struct lsp_position position);
struct lsp_position lsp_position(const struct lsp_text *text, size_t offset);
// The offset of a place of the checker, whose columns are bytes.
size_t lsp_offset_of_loc(const struct lsp_text *text, struct fble_loc loc);
// Where the token ends that begins at an offset: a word with its quotes and its @, or one byte.
size_t lsp_token_end(const struct lsp_text *text, size_t offset);
// From an old text to a new one: a place, or a range with the bytes at both ends of it. False if it
// lies in what has changed, which is all between what both begin and what both end with.
bool lsp_moved(const struct lsp_text *old, const struct lsp_text *new, size_t *from, size_t *until);
// {"start": ..., "end": ...}
void lsp_print_range(FILE *to, const struct lsp_text *text, size_t from, size_t until);

// ---------------------------------------------------------------- documents (document.c)

struct lsp_document {
    struct lsp_document *next;
    char *uri, *file;
    char *text;
    size_t length;
    struct lsp_check *check; // the last one, or NULL
    struct lsp_check *good;  // the last one of a text that parsed, perhaps the same, or NULL
    bool stale;              // something has changed since then
    char *symbols;           // the last list, for a text that does not parse at the moment
};

// Allocated memory; running out of it ends the program, as everywhere in the compiler.
void *lsp_allocate(size_t size);
char *lsp_copy(const char *text, size_t length);

// The file of a URI, and back. A new document without a file counts as one of the current folder.
char *lsp_file_of_uri(const char *uri);
char *lsp_uri_of_file(const char *file);

struct lsp_document *lsp_document_new(const char *uri, const char *text, size_t length);
void lsp_document_free(struct lsp_document *document);
void lsp_document_set(struct lsp_document *document, const char *text, size_t length);
// Replaces the text between two positions. False if the document would get too long.
bool lsp_document_edit(struct lsp_document *document, struct lsp_position from,
                       struct lsp_position until, const char *text, size_t length);

// ---------------------------------------------------------------- checking (check.c)

// A checked program, and the unit of the document in it.
struct lsp_check {
    struct fble_program program;
    struct fble_path *path;
    struct fble_unit *unit; // NULL: it could not be read
    struct lsp_text text;   // of that
};

// Checks a document; the texts of all open ones stand in for their files.
void lsp_check(struct lsp_document *document, const struct lsp_document *open,
               const struct fble_list *search);
void lsp_check_free(struct lsp_check *check);
// Did the last check read the file, or would another one perhaps do so?
bool lsp_depends_on(const struct lsp_document *document, const char *file);
// The diagnostics of one file as a JSON array.
void lsp_print_diagnostics(FILE *to, const struct lsp_check *check, const struct fble_unit *unit);

// ---------------------------------------------------------------- the tree (walk.c, find.c)

// A name in the text.
struct lsp_use {
    const struct fble_name *name;
    struct fble_declaration *declaration; // that it makes or refers to; NULL: of fields and tags
    struct fble_type *type;               // of what it stands for; NULL: unknown
    struct fble_type *owner;              // of fields and tags: the struct, union or its value
    struct fble_expr *head;               // of accesses and picks: whose field it is
    const struct fble_suffix *until;      // the head ends before this suffix; NULL: all of it
    bool pick;                            // a name or field of an import
};

// Called for each name and expression, outer ones first; for definitions at both ends.
struct lsp_walk {
    void (*use)(struct lsp_walk *walk, const struct lsp_use *use);
    void (*expr)(struct lsp_walk *walk, struct fble_expr *expr);
    void (*definition)(struct lsp_walk *walk, const struct fble_name *name, struct fble_type *type,
                       struct fble_loc start, size_t end, bool begins);
};

void lsp_walk(struct lsp_walk *walk, struct fble_body *body);
// Where an expression ends, with its suffixes.
size_t lsp_expr_end(const struct fble_expr *expr);
// What a definition or a parameter stands for.
struct fble_type *lsp_declared_type(const struct fble_declaration *declaration);

// What stands at a place. If the text does not parse at the moment, what stood there when it did,
// where nothing has changed since.
struct lsp_found {
    struct lsp_check *check;      // in which it was found
    size_t from, until;           // in the document's text
    const struct fble_name *name; // NULL: an expression or a module
    struct fble_path *module;     // NULL: none
    struct fble_type *type;       // NULL: unknown
    // Where that was declared; NULL: nowhere that is known.
    const struct fble_unit *unit;
    struct fble_loc loc;
    uint32_t first_line; // of a definition, its type included, or of a module; 0: it is neither
};

// With `behind`, a place right behind a name counts as in it: a cursor stands there.
bool lsp_find(const struct lsp_document *document, struct lsp_position position, bool behind,
              struct lsp_found *found);
// {"contents": ..., "range": ...}
void lsp_print_hover(FILE *to, const struct lsp_document *document, const struct lsp_found *found);
void lsp_print_symbols(FILE *to, struct lsp_check *check);

#endif
