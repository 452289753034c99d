// SPDX-License-Identifier: MIT
//
// From a function to its block. A Lua function is identified by its chunk, lines and parameters.
// Its name is the one in its definition, else the one that its first call used, else (anonymous). A
// C function has its name in package.loaded (string.format), else the one that its call used. Of
// several names there, the standard library's is the right one, then the shortest.
//
// This runs inside hooks, with the 20 stack slots that a hook has. It makes no Lua objects, so it
// raises no error and starts no garbage collection.

#include "session.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

// With more functions than this, chunks that were loaded from strings are no longer told apart.
enum { LOADED_MAX = 1 << 16, NAME_ROOM = 256 };

static const char *call_name(lua_State *L, lua_Debug *ar, char room[static NAME_ROOM]) {
    if (!lua_getinfo(L, "n", ar) || !ar->name || !*ar->namewhat) return NULL;
    if (strcmp(ar->namewhat, "metamethod") == 0) {
        snprintf(room, NAME_ROOM, "__%s", ar->name);
    } else if (strcmp(ar->namewhat, "for iterator") == 0 ||
               strcmp(ar->name, "(for generator)") == 0) { // 5.1
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

// Lua 5.1 does not tell the parameters.
static definition_key key_of(const lua_Debug *ar) {
#if LUA_VERSION_NUM < 502
    return (definition_key){ar->linedefined, ar->lastlinedefined, PARAMETERS_UNKNOWN, false};
#else
    return (definition_key){ar->linedefined, ar->lastlinedefined, ar->nparams, ar->isvararg};
#endif
}

static size_t source_length(const lua_Debug *ar) {
#if LUA_VERSION_NUM < 504
    return strlen(ar->source);
#else
    return ar->srclen;
#endif
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
    definition_key key = key_of(ar);
    const definition *d =
        source_find(&s->sources, ar->source, source_length(ar), key, called, several);
    if (d) info.column = d->column;
    info.name = d && d->name ? d->name : called ? called : "(anonymous)";
    return block_of_text(&s->blocks, &info);
}

static ouro_block lua_block(session *s, lua_State *L, lua_Debug *ar) {
    const char *file = file_of(s, ar);
    uint64_t key = hash_text(0, file);
    definition_key d = key_of(ar);
    key = hash_number(key, (uint64_t)(uint32_t)d.line << 32 | (uint32_t)d.last_line);
    key = hash_number(key, (uint64_t)(uint32_t)d.parameters << 16 | (uint64_t)ar->nups << 8 |
                               (unsigned char)d.vararg);
    ouro_block block;
    if (block_map_get(&s->blocks.by_function, key, &block)) return block;
    bool several;
    block = lua_block_new(s, L, ar, file, &several);
    if (!several) block_map_put(&s->blocks.by_function, key, block);
    return block;
}

// ---------------------------------------------------------------- C functions

static bool is_among(const char *const *list, const char *name) {
    while (*list && strcmp(*list, name) != 0) list++;
    return *list != NULL;
}

// Whether a name is in Lua's own library. What 5.1 kept from 5.0 is not: math.mod, string.gfind.
static bool is_standard(const char *module, const char *field) {
    static const char *const modules[] = {"string",    "table", "math",    "io",   "os",
                                          "coroutine", "debug", "package", "utf8", "jit",
                                          "bit",       "ffi",   "bit32",   NULL};
    static const char *const base[] = {
        "assert",   "collectgarbage", "dofile",   "error",      "getfenv",  "getmetatable",
        "ipairs",   "load",           "loadfile", "loadstring", "module",   "newproxy",
        "next",     "pairs",          "pcall",    "print",      "rawequal", "rawget",
        "rawlen",   "rawset",         "require",  "select",     "setfenv",  "setmetatable",
        "tonumber", "tostring",       "type",     "unpack",     "warn",     "xpcall",
        NULL};
    if (strcmp(module, "_G") == 0) return is_among(base, field);
    return is_among(modules, module) && strcmp(field, "gfind") != 0 && strcmp(field, "mod") != 0;
}

// Keeps the better of two names: one of the standard library, else the shorter one, else the first
// by alphabet, so that the choice does not depend on the order of a table.
typedef struct {
    char text[NAME_ROOM]; // empty: none yet
    bool standard;
} known_name;

static bool is_better(const known_name *a, const known_name *b) {
    if (!*b->text) return true;
    if (a->standard != b->standard) return a->standard;
    size_t length = strlen(a->text), other = strlen(b->text);
    return length != other ? length < other : strcmp(a->text, b->text) < 0;
}

static void take_name(known_name *best, const char *module, const char *field) {
    known_name name = {.standard = is_standard(module, field)};
    if (strcmp(module, "_G") == 0) {
        snprintf(name.text, sizeof name.text, "%s", field);
    } else {
        snprintf(name.text, sizeof name.text, "%s.%s", module, field);
    }
    if (is_better(&name, best)) *best = name;
}

// Lua 5.1 makes several objects of one C function: without upvalues they are the same.
static bool is_function(lua_State *L, int at, int function) {
    if (lua_rawequal(L, at, function)) return true;
    if (LUA_VERSION_NUM >= 502 || lua_type(L, at) != LUA_TFUNCTION) return false;
    lua_CFunction c = lua_tocfunction(L, at);
    if (!c || c != lua_tocfunction(L, function)) return false;
    if (!lua_getupvalue(L, function, 1)) return true;
    lua_pop(L, 1);
    return false;
}

// Looks through a module on top of the stack for the function at `function`.
static void search_module(lua_State *L, int function, const char *module, known_name *best) {
    lua_pushnil(L);
    while (lua_next(L, -2)) {
        if (lua_type(L, -2) == LUA_TSTRING && is_function(L, lua_gettop(L), function))
            take_name(best, module, lua_tostring(L, -2));
        lua_pop(L, 1);
    }
}

// The functions by which require looks for modules are in a list.
static void search_loaders(lua_State *L, int function, known_name *best) {
    const char *list = LUA_VERSION_NUM >= 502 ? "searchers" : "loaders";
    if (lua_getfield(L, -1, list) == LUA_TTABLE) {
        for (int i = 1; lua_rawgeti(L, -1, i), !lua_isnil(L, -1); i++) {
            char field[32];
            snprintf(field, sizeof field, "%s[%d]", list, i);
            if (lua_rawequal(L, -1, function)) take_name(best, "package", field);
            lua_pop(L, 1);
        }
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

// The function is on top of the stack. False if no module has it.
static bool loaded_name(lua_State *L, char room[static NAME_ROOM]) {
    int function = lua_gettop(L);
    known_name best = {0};
    lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    if (lua_istable(L, -1)) {
        lua_pushnil(L);
        while (lua_next(L, -2)) {
            if (lua_type(L, -2) == LUA_TSTRING && lua_istable(L, -1)) {
                const char *module = lua_tostring(L, -2);
                search_module(L, function, module, &best);
                if (strcmp(module, "package") == 0) search_loaders(L, function, &best);
            }
            lua_pop(L, 1);
        }
    }
    lua_settop(L, function);
    memcpy(room, best.text, sizeof best.text);
    return *room != '\0';
}

// luaopen_NAME, which require calls without a name.
static const char *exported_name(lua_CFunction function) {
    Dl_info info;
    void *address;
    memcpy(&address, &function, sizeof address);
    return dladdr(address, &info) && info.dli_saddr == address ? info.dli_sname : NULL;
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
    if (!name) name = wrap ? "(coroutine)" : exported_name(function);
    if (!name) name = "(C function)";
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

ouro_block names_block_of_frame(session *s, lua_State *L, lua_Debug *ar) {
    if (!lua_getinfo(L, "Su", ar)) return s->anonymous;
    if (*ar->what != 'C') return lua_block(s, L, ar);
    char room[NAME_ROOM];
    const char *name = call_name(L, ar, room);
    return c_block_named(s, name ? name : "(C function)");
}
