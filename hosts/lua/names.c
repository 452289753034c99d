// SPDX-License-Identifier: MIT
//
// From a function to its block. A Lua function is identified by its chunk, lines and parameters.
// Its name is the one in its definition, else the one that its first call used, else (anonymous). A
// C function has its name in package.loaded (string.format), else the one that its call used.
//
// This runs inside hooks, with the 20 stack slots that a hook has. It makes no Lua objects, so it
// raises no error and starts no garbage collection.

#include "session.h"

#include <stdio.h>
#include <string.h>

// With more functions than this, chunks that were loaded from strings are no longer told apart.
enum { LOADED_MAX = 1 << 16, NAME_ROOM = 256 };

static const char *call_name(lua_State *L, lua_Debug *ar, char room[static NAME_ROOM]) {
    if (!lua_getinfo(L, "n", ar) || !ar->name || !*ar->namewhat) return NULL;
    if (strcmp(ar->namewhat, "metamethod") == 0) {
        snprintf(room, NAME_ROOM, "__%s", ar->name);
    } else if (strcmp(ar->namewhat, "for iterator") == 0) {
        return "(for iterator)";
    } else if (strcmp(ar->name, "?") == 0) {
        return NULL;
    } else {
        snprintf(room, NAME_ROOM, "%s", ar->name);
    }
    return room;
}

static const char *file_of(session *s, const lua_Debug *ar) {
    if (*ar->source == '@' || *ar->source == '=') return ar->source + 1;
    return s->blocks.by_function.count < LOADED_MAX ? ar->short_src : "[string]";
}

// *several: other functions have the same lines, so this is the block of this call only.
static ouro_block lua_block_new(session *s, lua_State *L, lua_Debug *ar, const char *file,
                                bool *several) {
    ouro_block_info info = {.file = file, .line = (uint32_t)ar->linedefined};
    *several = false;
    if (*ar->what == 'm') {
        info.name = "main chunk";
        info.line = 1;
        return block_of_text(&s->blocks, &info);
    }
    char room[NAME_ROOM];
    const char *called = call_name(L, ar, room);
    definition_key key = {ar->linedefined, ar->lastlinedefined, ar->nparams, ar->isvararg};
    const definition *d = source_find(&s->sources, ar->source, ar->srclen, key, called, several);
    if (d) info.column = d->column;
    info.name = d && d->name ? d->name : called ? called : "(anonymous)";
    return block_of_text(&s->blocks, &info);
}

static ouro_block lua_block(session *s, lua_State *L, lua_Debug *ar) {
    const char *file = file_of(s, ar);
    uint64_t key = hash_text(0, file);
    key =
        hash_number(key, (uint64_t)(uint32_t)ar->linedefined << 32 | (uint32_t)ar->lastlinedefined);
    key = hash_number(key, (uint64_t)ar->nparams << 16 | (uint64_t)ar->nups << 8 |
                               (unsigned char)ar->isvararg);
    ouro_block block;
    if (block_map_get(&s->blocks.by_function, key, &block)) return block;
    bool several;
    block = lua_block_new(s, L, ar, file, &several);
    if (!several) block_map_put(&s->blocks.by_function, key, block);
    return block;
}

// ---------------------------------------------------------------- C functions

// Keeps the better of two names: a global one, else the first by alphabet, so that the choice does
// not depend on the order of a table.
static void take_name(char best[static NAME_ROOM], const char *module, const char *field) {
    char name[NAME_ROOM];
    if (strcmp(module, "_G") == 0) {
        snprintf(name, sizeof name, "%s", field);
    } else {
        snprintf(name, sizeof name, "%s.%s", module, field);
    }
    bool global = !strchr(name, '.'), best_global = *best && !strchr(best, '.');
    if (!*best || (global && !best_global) || (global == best_global && strcmp(name, best) < 0))
        memcpy(best, name, sizeof name);
}

// Looks through a module on top of the stack for the function at `function`.
static void search_module(lua_State *L, int function, const char *module, char *best) {
    lua_pushnil(L);
    while (lua_next(L, -2)) {
        if (lua_type(L, -2) == LUA_TSTRING && lua_rawequal(L, -1, function))
            take_name(best, module, lua_tostring(L, -2));
        lua_pop(L, 1);
    }
}

// The function is on top of the stack. False if no module has it.
static bool loaded_name(lua_State *L, char best[static NAME_ROOM]) {
    int function = lua_gettop(L);
    *best = '\0';
    lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    if (lua_istable(L, -1)) {
        lua_pushnil(L);
        while (lua_next(L, -2)) {
            if (lua_type(L, -2) == LUA_TSTRING && lua_istable(L, -1))
                search_module(L, function, lua_tostring(L, -2), best);
            lua_pop(L, 1);
        }
    }
    lua_settop(L, function);
    return *best != '\0';
}

static ouro_block c_block_named(session *s, const char *name) {
    return block_of_text(&s->blocks, &(ouro_block_info){.name = name, .file = "[C]"});
}

static bool has_thread(lua_State *L) {
    bool thread = lua_getupvalue(L, -1, 1) != NULL;
    if (!thread) return false;
    thread = lua_isthread(L, -1);
    lua_pop(L, 1);
    return thread;
}

// A C function without upvalues is an address that never changes, so its name is kept. With
// upvalues each closure may be a different function to the program. If the first closure of a C
// function is in no module, the others are not searched for: iterators are made all the time.
static ouro_block c_block(session *s, lua_State *L, lua_Debug *ar, bool *resumes) {
    enum { LISTED = 1, UNLISTED = 2 }; // kept in place of a block; never entered
    lua_CFunction function = lua_tocfunction(L, -1);
    uint64_t key = hash_number(0, (uint64_t)(uintptr_t)function);
    bool closure = ar->nups > 0, wrap = closure && has_thread(L);
    *resumes = wrap || function == s->resume || function == s->close;
    ouro_block known = 0;
    bool seen = block_map_get(&s->blocks.by_pointer, key, &known);
    if (seen && !closure) return known;
    char room[NAME_ROOM];
    const char *name = NULL;
    if (!(closure && seen && known == UNLISTED) && loaded_name(L, room)) name = room;
    if (closure) block_map_put(&s->blocks.by_pointer, key, name ? LISTED : UNLISTED);
    if (!name) name = call_name(L, ar, room);
    if (!name) name = wrap ? "(coroutine)" : "(C function)";
    ouro_block block = c_block_named(s, name);
    if (!closure) block_map_put(&s->blocks.by_pointer, key, block);
    return block;
}

ouro_block names_block(session *s, lua_State *L, lua_Debug *ar, bool *resumes) {
    *resumes = false;
    if (!lua_getinfo(L, "Su", ar)) return s->anonymous;
    s->quiet = true;
    ouro_block block = *ar->what == 'C' ? c_block(s, L, ar, resumes) : lua_block(s, L, ar);
    s->quiet = false;
    return block;
}
