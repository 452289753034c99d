// SPDX-License-Identifier: MIT
//
// Memory of one compilation. Everything is allocated from here and goes away at once; nothing is
// freed alone, so no tree, type or message has an owner to think about.

#ifndef FBLE_ARENA_H
#define FBLE_ARENA_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

struct fble_chunk;

struct fble_arena {
    struct fble_chunk *chunks;
    char *at, *end;
    size_t bytes; // handed out so far
};

// Zeroed memory, aligned for any type of ours. Never NULL: see fble_out_of_memory.
void *fble_alloc(struct fble_arena *arena, size_t size);
void fble_arena_free(struct fble_arena *arena);

char *fble_copy(struct fble_arena *arena, const char *text, size_t length);
char *fble_format(struct fble_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
char *fble_vformat(struct fble_arena *arena, const char *format, va_list arguments);

// What happens when the system has no memory left; must not return. The default aborts, the
// command line prints one line and exits.
extern void (*fble_out_of_memory)(void);

// A growing array of pointers. Old storage stays in the arena: at most as much again.
struct fble_list {
    void **at;
    uint32_t count, capacity;
};

void fble_push(struct fble_arena *arena, struct fble_list *list, void *item);

// Text under construction, always ended by a NUL.
struct fble_text {
    struct fble_arena *arena;
    char *at;
    size_t length, capacity;
};

void fble_add(struct fble_text *text, const char *bytes, size_t length);
void fble_add_string(struct fble_text *text, const char *string);

// Two pointers -> one pointer, open addressing. Nothing is ever removed.
struct fble_pair {
    const void *a, *b;
    void *value;
};

struct fble_pairs {
    struct fble_pair *at;
    uint32_t count, capacity;
};

// The address of the value for (a, b), which is NULL when new.
void **fble_pair(struct fble_arena *arena, struct fble_pairs *pairs, const void *a, const void *b);

#endif
