// SPDX-License-Identifier: MIT
#ifndef OURO_LUA_INTERPRETER_H
#define OURO_LUA_INTERPRETER_H

#include "options.h"

// Does with a state what lua does with its command line: libraries, LUA_INIT, options, the script,
// and what is typed. Calls `begin` before the first thing that is to be recorded; false ends it.
// Prints errors as lua does. Returns whether all went well. May raise an error of Lua.
bool interpreter_run(lua_State *L, const command_line *command, bool (*begin)(lua_State *L));

// An error message, as lua prints it.
void interpreter_complain(const char *message);

#endif
