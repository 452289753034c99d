// SPDX-License-Identifier: MIT
//
// coroutine.resume and coroutine.wrap for sampling mode. They do what the manual of Lua says of the
// originals, and keep a list of the coroutines that wait for each other. The timer's handler finds
// the running state in it, and the sampler the whole path.
//
// The list's links are locals of C functions. No error can jump over them, because lua_resume
// catches every error.

#include "sample.h"

// Runs `co` with a link for it, if the session that made this function still runs.
static int resume_linked(lua_State *L, lua_State *co, int arguments, int *results,
                         const void *ticket) {
    const ticker *t = ticker_of_ticket(ticket);
    sampler *p = t ? t->session->sampler : NULL;
    if (!p) return resume_state(co, L, arguments, results);
    resume_link link = {.L = co, .from = p->link};
    p->link = &link;
    int status = resume_state(co, L, arguments, results);
    // Meanwhile the session may have been stopped, and another one started.
    if (ticker_of_ticket(ticket)) p->link = link.from;
    return status;
}

// From 5.4 on, lua_resume itself finds out that a coroutine cannot be resumed. NULL: it can.
static const char *why_not(lua_State *L, lua_State *co) {
#if LUA_VERSION_NUM < 504
    lua_Debug ar;
    if (co == L) return "running";
    if (lua_status(co) == LUA_YIELD) return NULL;
    if (lua_status(co) != LUA_OK) return "dead";
    if (lua_getstack(co, 0, &ar)) return "normal";
    if (lua_gettop(co) == 0) return "dead";
#else
    (void)L;
    (void)co;
#endif
    return NULL;
}

// As each version says it.
static int refuse(lua_State *L, const char *status) {
    bool dead = strcmp(status, "dead") == 0;
    lua_pushfstring(L, "cannot resume %s coroutine",
                    LUA_VERSION_NUM == 501 || dead ? status : "non-suspended");
    return -1;
}

// Results, or -1 with an error value on top of L.
static int resume(const void *ticket, lua_State *L, lua_State *co, int arguments) {
    const char *status_now = why_not(L, co);
    if (status_now) return refuse(L, status_now);
    if (!lua_checkstack(co, arguments)) {
        lua_pushliteral(L, "too many arguments to resume");
        return -1;
    }
    lua_xmove(L, co, arguments);
    int results = 0;
    int status = resume_linked(L, co, arguments, &results, ticket);
    if (status != LUA_OK && status != LUA_YIELD) {
        lua_xmove(co, L, 1);
        return -1;
    }
    if (!lua_checkstack(L, results + 1)) {
        lua_pop(co, results);
        lua_pushliteral(L, "too many results to resume");
        return -1;
    }
    lua_xmove(co, L, results);
    return results;
}

static int linked_resume(lua_State *L) {
    lua_State *co = lua_tothread(L, 1);
    luaL_argexpected(L, co, 1, "coroutine");
    int results = resume(lua_touserdata(L, lua_upvalueindex(1)), L, co, lua_gettop(L) - 1);
    lua_pushboolean(L, results >= 0);
    if (results < 0) results = 1;
    lua_insert(L, -(results + 1));
    return results + 1;
}

// Raises the error in the caller, with its position if it is a string. The coroutine is closed.
static int wrap_failed(lua_State *L, lua_State *co) {
    int status = lua_status(co);
#if LUA_VERSION_NUM >= 504
    if (status != LUA_OK && status != LUA_YIELD) {
        status = lua_resetthread(co);
        lua_xmove(co, L, 1);
    }
#endif
    if (status != LUA_ERRMEM && lua_type(L, -1) == LUA_TSTRING) {
        luaL_where(L, 1);
        lua_insert(L, -2);
        lua_concat(L, 2);
    }
    return lua_error(L);
}

static int linked_wrapped(lua_State *L) {
    lua_State *co = lua_tothread(L, lua_upvalueindex(1));
    int results = resume(lua_touserdata(L, lua_upvalueindex(2)), L, co, lua_gettop(L));
    return results < 0 ? wrap_failed(L, co) : results;
}

static int linked_wrap(lua_State *L) {
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_State *co = lua_newthread(L);
    lua_pushvalue(L, 1);
    lua_xmove(L, co, 1);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushcclosure(L, linked_wrapped, 2);
    return 1;
}

static const luaL_Reg functions[] = {{"resume", linked_resume}, {"wrap", linked_wrap}};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static bool push_coroutine(lua_State *L) {
    lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    lua_getfield(L, -1, LUA_COLIBNAME);
    lua_remove(L, -2);
    return lua_istable(L, -1);
}

// Upvalue 2 is the original. A function that is not a C function was replaced by the program and
// stays as it is.
void resume_install(const session *s, lua_State *L) {
    bool there = push_coroutine(L);
    for (int i = 0; there && i < FUNCTIONS; i++) {
        lua_pushlightuserdata(L, (void *)s->ticker->ticket);
        lua_getfield(L, -2, functions[i].name);
        bool plain = lua_iscfunction(L, -1);
        if (plain) {
            lua_pushcclosure(L, functions[i].func, 2);
            lua_setfield(L, -2, functions[i].name);
        } else {
            lua_pop(L, 2);
        }
    }
    lua_pop(L, 1);
}

void resume_remove(lua_State *L) {
    bool there = push_coroutine(L);
    for (int i = 0; there && i < FUNCTIONS; i++) {
        lua_getfield(L, -1, functions[i].name);
        bool ours = lua_tocfunction(L, -1) == functions[i].func;
        if (ours && lua_getupvalue(L, -1, 2)) lua_setfield(L, -3, functions[i].name);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}
