// SPDX-License-Identifier: MIT
//
// The floor of any profiler that uses hooks: a C hook for calls and returns that does nothing.

#include "lua_api.h"
#include "ouro.h"

static void nothing(lua_State *L, lua_Debug *ar) {
    (void)L;
    (void)ar;
}

static int floor_start(lua_State *L) {
    lua_sethook(L, nothing, LUA_MASKCALL | LUA_MASKRET, 0);
    return 0;
}

OURO_API int luaopen_floor(lua_State *L);
int luaopen_floor(lua_State *L) {
    lua_pushcfunction(L, floor_start);
    return 1;
}
