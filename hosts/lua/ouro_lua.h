// SPDX-License-Identifier: MIT
#ifndef OURO_LUA_MODULE_H
#define OURO_LUA_MODULE_H

#include "lua_api.h"
#include "ouro.h"

OURO_API int luaopen_ouro(lua_State *L);

#endif
