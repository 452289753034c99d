// SPDX-License-Identifier: MIT
#ifndef OURO_LUA_SOURCE_H
#define OURO_LUA_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A function as it is written. The first line, the last line and the parameters are what Lua tells
// of a running function; name and column are what it does not.
typedef struct {
    uint32_t line, last_line, column;
    uint32_t parameters; // without `...` and `self`, as they are written
    bool vararg, method;
    char *name; // NULL: it has none
} definition;

typedef struct {
    uint64_t key; // of the name or text of the source
    definition *list;
    size_t count, room;
} source;

typedef struct {
    source *list;
    size_t count, room;
} source_cache;

typedef struct {
    int line, last_line, parameters;
    bool vararg;
} definition_key;

// Finds a function of a chunk; `chunk` is lua_Debug's source. NULL if the text cannot be had or is
// not Lua. If several functions fit, which is to say that they stand in one line, the one that is
// called `name` (which may be NULL), or NULL; and *several is set.
const definition *source_find(source_cache *cache, const char *chunk, size_t length,
                              definition_key key, const char *name, bool *several);
void source_cache_free(source_cache *cache);

// For tests, too: all functions of a text, in the order of their `function`.
bool source_read(source *s, const char *text, size_t length);
void source_free(source *s);

#endif
