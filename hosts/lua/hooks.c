// SPDX-License-Identifier: MIT
//
// Hooks that the program sets itself. Lua has one hook per coroutine, and in precise mode it is
// ours. So while a session runs, debug.sethook and debug.gethook are replaced: ours put the
// program's hook into place, call the original, and then set our hook again, which calls the
// program's for the events that it asked for, after recording them. The costs of such a hook are
// charged to the function that it interrupted, because Lua calls no hook inside a hook.
//
// A program that kept the original debug.sethook, or C code that calls lua_sethook, removes our
// hook. Everything in that coroutine is then charged to its last known frame, until a call from
// another coroutine, or its own next start, sets our hook again.

#include "session.h"

// The original is a C function without upvalues, so it can be called as one, without a frame.
typedef struct {
    const char *name;
    lua_CFunction replacement;
} replaced;

static lua_State *target(lua_State *L) { return lua_isthread(L, 1) ? lua_tothread(L, 1) : L; }

static lua_CFunction original_of(lua_State *L) { return lua_tocfunction(L, lua_upvalueindex(1)); }

static coroutine *lay_bare(lua_State *L1) {
    session *s = session_of(L1);
    if (!s || !s->running || lua_gethook(L1) != precise_hook) return NULL;
    coroutine *co = coroutine_find(s, L1);
    if (!co) co = coroutine_add(s, L1);
    lua_sethook(L1, co ? co->chain.hook : NULL, co ? co->chain.mask : 0, co ? co->chain.count : 0);
    return co;
}

static int hooked_sethook(lua_State *L) {
    lua_State *L1 = target(L);
    lua_CFunction original = original_of(L);
    // Wrong arguments raise an error here, before anything has changed.
    if (lua_gettop(L) > (L1 == L ? 0 : 1) && !lua_isnoneornil(L, L1 == L ? 1 : 2)) {
        luaL_checktype(L, L1 == L ? 1 : 2, LUA_TFUNCTION);
        luaL_checkstring(L, L1 == L ? 2 : 3);
        luaL_optinteger(L, L1 == L ? 3 : 4, 0);
    }
    coroutine *co = lay_bare(L1);
    int results = original(L);
    if (co) {
        co->chain = (chain){lua_gethook(L1), lua_gethookmask(L1), lua_gethookcount(L1)};
        co->owed = 0;
        precise_rehook(co);
    }
    return results;
}

static int hooked_gethook(lua_State *L) {
    lua_CFunction original = original_of(L);
    lua_State *L1 = target(L);
    coroutine *co = lay_bare(L1);
    int results = original(L);
    if (co) precise_rehook(co);
    return results;
}

static const replaced functions[] = {{"sethook", hooked_sethook}, {"gethook", hooked_gethook}};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static bool push_debug(lua_State *L) {
    lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    lua_getfield(L, -1, LUA_DBLIBNAME);
    lua_remove(L, -2);
    return lua_istable(L, -1);
}

void hooks_install(lua_State *L) {
    bool there = push_debug(L);
    for (int i = 0; there && i < FUNCTIONS; i++) {
        lua_getfield(L, -1, functions[i].name);
        // A function that the program has already replaced stays as it is.
        bool plain = lua_iscfunction(L, -1) && !lua_getupvalue(L, -1, 1);
        if (plain) {
            lua_pushcclosure(L, functions[i].replacement, 1);
            lua_setfield(L, -2, functions[i].name);
        }
        lua_settop(L, plain ? -1 : -2);
    }
    lua_pop(L, 1);
}

void hooks_remove(lua_State *L) {
    bool there = push_debug(L);
    for (int i = 0; there && i < FUNCTIONS; i++) {
        lua_getfield(L, -1, functions[i].name);
        bool ours = lua_tocfunction(L, -1) == functions[i].replacement;
        if (ours && lua_getupvalue(L, -1, 1)) lua_setfield(L, -3, functions[i].name);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

// Calls the program's hook for the events that it asked for. While we count instructions, its own
// count events come late, by one period of ours at most.
void hooks_call(coroutine *co, lua_State *L, lua_Debug *ar) {
#if LUA_VERSION_NUM == 501
    enum { LAST = LUA_HOOKTAILRET, LAST_MASK = LUA_MASKRET };
#else
    enum { LAST = LUA_HOOKTAILCALL, LAST_MASK = LUA_MASKCALL };
#endif
    static const int masks[] = {[LUA_HOOKCALL] = LUA_MASKCALL,
                                [LUA_HOOKRET] = LUA_MASKRET,
                                [LUA_HOOKLINE] = LUA_MASKLINE,
                                [LUA_HOOKCOUNT] = LUA_MASKCOUNT,
                                [LAST] = LAST_MASK};
    if (!(co->chain.mask & masks[ar->event])) return;
    if (ar->event == LUA_HOOKCOUNT && co->session->settings.instructions) {
        co->owed += co->session->settings.period;
        // It may take itself away meanwhile.
        while (co->chain.mask & LUA_MASKCOUNT && co->owed >= co->chain.count) {
            co->owed -= co->chain.count;
            co->chain.hook(L, ar);
        }
        return;
    }
    co->chain.hook(L, ar);
}
