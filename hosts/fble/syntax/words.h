// SPDX-License-Identifier: MIT
//
// Words, names and paths. A word is kept once per compilation, so two words are the same word if
// and only if they are the same pointer. Paths likewise.

#ifndef FBLE_WORDS_H
#define FBLE_WORDS_H

#include "arena.h"

#include <stdbool.h>

// Lines and columns count from 1, columns in bytes. Line 0: no location.
struct fble_loc {
    uint32_t line, column;
};

struct fble_declaration;
struct fble_module;

struct fble_word {
    const char *text; // not ended by a NUL
    uint32_t length, hash;
    struct fble_word *next; // in its bucket
    // The innermost declaration in scope, for the normal and for the type namespace. It stands
    // here so that looking up a variable is one load; the checker restores it at a scope's end.
    struct fble_declaration *scope[2];
    uint64_t mark[2]; // the last list of names this one was seen in, see fble_seen
    struct fble_path *path;
};

struct fble_words {
    struct fble_word **buckets;
    uint32_t count, capacity;
    uint64_t marks;
};

// `text` must live as long as the arena.
struct fble_word *fble_word(struct fble_arena *arena, struct fble_words *words, const char *text,
                            size_t length);

// A word in one of the two namespaces; `loc` is its first byte or its opening quote, in the file of
// this number (fble_unit).
struct fble_name {
    struct fble_word *word;
    struct fble_loc loc;
    uint32_t file;
    bool type;
};

static inline bool fble_same_name(const struct fble_name *a, const struct fble_name *b) {
    return a->word == b->word && a->type == b->type;
}

// Duplicates in a list of names without a search: take a new mark, then ask for each name whether
// it had that mark already.
static inline bool fble_seen(const struct fble_name *name, uint64_t mark) {
    bool seen = name->word->mark[name->type] == mark;
    name->word->mark[name->type] = mark;
    return seen;
}

// A module path or a package path.
struct fble_path {
    uint32_t count;
    struct fble_word **words;
    const char *text;           // with quotes where needed: /Foo/'4.2 x'%
    struct fble_module *module; // once the loader has met it
    struct fble_type *type;     // [checker] of the module, as dependents see it; NULL: errors
    uint64_t mark;              // the last file that mentioned it
};

struct fble_path *fble_path(struct fble_arena *arena, struct fble_words *words,
                            struct fble_word **elements, uint32_t count);

// Is `path` the package itself or below it?
bool fble_path_within(const struct fble_path *path, const struct fble_path *package);

// As source: quoted only where that is needed, with its @ if it is a type name.
void fble_add_word(struct fble_text *text, const struct fble_word *word);
void fble_add_name(struct fble_text *text, const struct fble_name *name);
const char *fble_name_text(struct fble_arena *arena, const struct fble_name *name);

// The number of edits between two words, or a number above `most` if there are more.
uint32_t fble_word_distance(const struct fble_word *a, const struct fble_word *b, uint32_t most);

#endif
