// SPDX-License-Identifier: MIT
//
// A C program that runs Lua scripts, and the three lines that record one. It links Lua and nothing
// else: `require` finds the module of Ouro. For Lua 5.1, 5.3, 5.4, 5.5 and LuaJIT alike.
//
//     cc embed.c $(pkg-config --cflags --libs lua5.4) -o embed
//     ./embed script.lua && ouro report embed.pb.gz
//
// A program with Lua inside (a static liblua) must let modules see it: add -Wl,-E.

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>

static void check(lua_State *L, int failed) {
    if (failed) fprintf(stderr, "%s\n", lua_tostring(L, -1));
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    check(L, luaL_dostring(L, "require('ouro').start()"));
    int failed = luaL_dofile(L, arguments[1]);
    check(L, failed);
    check(L, luaL_dostring(L, "require('ouro').stop()"));
    check(L, luaL_dostring(L, "assert(require('ouro').write('embed.pb.gz'))"));
    lua_close(L);
    return failed;
}
