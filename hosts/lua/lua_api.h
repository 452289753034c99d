// SPDX-License-Identifier: MIT
//
// Lua's headers, in one file: all of this host includes them from here. The host is written for Lua
// 5.4; what 5.1 and 5.3 lack or call otherwise is added here, under 5.4's names.
//
// OURO_LUA_MODULE: the module refers to Lua's functions weakly, so that it can be loaded by any
// version of Lua. luaopen_ouro then says which one it needs, instead of the loader's "undefined
// symbol". Programs refer to them as usual: a weak reference takes nothing from a static library.

#ifndef OURO_LUA_API_H
#define OURO_LUA_API_H

#include <luaconf.h>
#ifdef OURO_LUA_MODULE
#undef LUA_API
#define LUA_API extern __attribute__((weak))
#endif
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#ifdef OURO_LUAJIT
#include <luajit.h>
#endif

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if LUA_VERSION_NUM != 501 && LUA_VERSION_NUM != 503 && LUA_VERSION_NUM != 504 && \
    LUA_VERSION_NUM != 505
#error "this host needs Lua 5.1, 5.3, 5.4 or 5.5, or LuaJIT"
#endif

// ---------------------------------------------------------------- LuaJIT

// LuaJIT has the interface of Lua 5.1 and loads the same modules, so one module serves both, and
// asks at run time where it is. In Lua 5.1 these functions are not there.
#if LUA_VERSION_NUM == 501
typedef void (*ouro_jit_callback)(void *data, lua_State *L, int samples, int state);
extern __attribute__((weak)) void luaJIT_profile_start(lua_State *L, const char *mode,
                                                       ouro_jit_callback callback, void *data);
extern __attribute__((weak)) void luaJIT_profile_stop(lua_State *L);
static inline bool lua_is_jit(void) { return luaJIT_profile_start != NULL; }
#else
static inline bool lua_is_jit(void) { return false; }
#endif

// ---------------------------------------------------------------- before 5.4

#if LUA_VERSION_NUM < 504
#define lua_newuserdatauv(L, size, values) lua_newuserdata(L, size)
#define luaL_argexpected(L, condition, argument, type) \
    luaL_argcheck(L, condition, argument, type " expected")
#endif

// Results on top of the stack of `co`.
static inline int resume_state(lua_State *co, lua_State *from, int arguments, int *results) {
#if LUA_VERSION_NUM >= 504
    return lua_resume(co, from, arguments, results);
#elif LUA_VERSION_NUM >= 502
    int status = lua_resume(co, from, arguments);
    *results = lua_gettop(co);
    return status;
#else
    (void)from;
    int status = lua_resume(co, arguments);
    *results = lua_gettop(co);
    return status;
#endif
}

// ---------------------------------------------------------------- before 5.3

#if LUA_VERSION_NUM < 503
#define LUA_OK 0
#define LUA_LOADED_TABLE "_LOADED"
#define LUA_EXTRASPACE 0
#define LUA_HOOKTAILCALL (-1) // Lua 5.1 reports a tail call as a call: see precise.c

static inline int rawgetp(lua_State *L, int index, const void *key) {
    lua_pushlightuserdata(L, (void *)key);
    lua_rawget(L, index < 0 && index > LUA_REGISTRYINDEX ? index - 1 : index);
    return lua_type(L, -1);
}

static inline void rawsetp(lua_State *L, int index, const void *key) {
    lua_pushlightuserdata(L, (void *)key);
    lua_insert(L, -2);
    lua_rawset(L, index < 0 && index > LUA_REGISTRYINDEX ? index - 1 : index);
}

static inline int getfield(lua_State *L, int index, const char *name) {
    (lua_getfield)(L, index, name);
    return lua_type(L, -1);
}

static inline int geti(lua_State *L, int index, int i) {
    lua_rawgeti(L, index, i);
    return lua_type(L, -1);
}

static inline int fileresult(lua_State *L, const char *path) {
    int error = errno;
    lua_pushnil(L);
    lua_pushfstring(L, "%s: %s", path, strerror(error));
    lua_pushinteger(L, error);
    return 3;
}

// Takes no upvalues.
static inline void setfuncs(lua_State *L, const luaL_Reg *list) {
    for (; list->name; list++) {
        lua_pushcfunction(L, list->func);
        lua_setfield(L, -2, list->name);
    }
}

// Lua 5.1 has no continuations: nothing can yield across such a call.
typedef ptrdiff_t lua_KContext;
#define lua_pcallk(L, arguments, results, handler, context, continuation) \
    ((void)(context), lua_pcall(L, arguments, results, handler))

#define lua_rawgetp rawgetp
#define lua_rawsetp rawsetp
#define lua_getfield getfield
#define lua_geti geti
#define luaL_fileresult(L, good, path) fileresult(L, path)
#define luaL_setfuncs(L, list, upvalues) setfuncs(L, list)
#define luaL_setmetatable(L, type) (luaL_getmetatable(L, type), lua_setmetatable(L, -2))
#define luaL_checkversion(L) ((void)(L))
#endif

// ---------------------------------------------------------------- frames

// What identifies a frame: see session.h. In 5.1 it is an index. LuaJIT adds a size to it in the
// upper half, which changes while the frame stays.
static inline void *frame_id(const lua_Debug *ar) {
#if LUA_VERSION_NUM == 501
    return (void *)(uintptr_t)(lua_is_jit() ? ar->i_ci & 0xffff : ar->i_ci);
#else
    return (void *)ar->i_ci;
#endif
}

// Before 5.4 a function that is tail called has a frame of its own during its event, above the one
// that it replaces.
static inline bool event_is_in_callee(const lua_Debug *ar) {
    return ar->event == LUA_HOOKCALL ||
           (LUA_VERSION_NUM < 504 && LUA_HOOKTAILCALL >= 0 && ar->event == LUA_HOOKTAILCALL);
}

#endif
