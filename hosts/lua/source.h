// SPDX-License-Identifier: MIT
#ifndef OURO_LUA_SOURCE_H
#define OURO_LUA_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A function as it is written. Lua reports the first line, the last line and the parameters of a
// running function; only the text has its name and column.
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

#define PARAMETERS_UNKNOWN (-1) // any fit, and vararg does not matter

typedef struct {
    int line, last_line, parameters;
    bool vararg;
} definition_key;

// Finds a function of a chunk; `chunk` is lua_Debug's source. NULL if the text cannot be read or is
// not Lua. Several functions fit if they are on one line. Then *several is set, and the result is
// the one that is called `name` (which may be NULL), or NULL.
const definition *source_find(source_cache *cache, const char *chunk, size_t length,
                              definition_key key, const char *name, bool *several);
void source_cache_free(source_cache *cache);

// All functions of a text, in the order of their `function` keywords. Also for tests.
bool source_read(source *s, const char *text, size_t length);
void source_free(source *s);

#endif
