// SPDX-License-Identifier: MIT
#ifndef OURO_LUA_OPTIONS_H
#define OURO_LUA_OPTIONS_H

#include "session.h"

// Which interpreter this is, as in `ouro lua5.3`.
#ifndef OURO_LUA_NAME
#define OURO_LUA_NAME "lua"
#endif
#define OURO_LUA "ouro " OURO_LUA_NAME
#ifdef OURO_LUAJIT
#define OURO_LUA_RELEASE LUAJIT_VERSION
#define OURO_LUA_COPYRIGHT LUAJIT_VERSION " -- " LUAJIT_COPYRIGHT ". " LUAJIT_URL
#else
#define OURO_LUA_RELEASE LUA_RELEASE
#if LUA_VERSION_NUM >= 502
#define OURO_LUA_COPYRIGHT LUA_COPYRIGHT
#else
#define OURO_LUA_COPYRIGHT LUA_RELEASE "  " LUA_COPYRIGHT
#endif
#endif

// An option of lua itself that is done before the script, in its place among the others.
typedef struct {
    char kind; // 'e', 'l' or 'W'
    const char *text;
} lua_option;

typedef struct {
    settings settings;
    const char *output; // where to write
    bool view, quiet;
    bool interactive, show_version, ignore_environment; // lua's -i, -v, -E
    lua_option *before;                                 // room for all arguments
    int before_count;
    int count; // of all arguments
    char **arguments;
    int script; // index of the script's name; its arguments follow. `count` if there is none
} command_line;

// -1: go on. Else the status to exit with: after --help, --version, or a message.
int options_parse(command_line *command, int count, char **arguments);

#endif
