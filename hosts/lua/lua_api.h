// SPDX-License-Identifier: MIT
//
// Lua's headers, in one file: all of this host includes them from here, except luajit.c.

#ifndef OURO_LUA_API_H
#define OURO_LUA_API_H

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#if LUA_VERSION_NUM != 504
#error "this host needs Lua 5.4"
#endif

#endif
