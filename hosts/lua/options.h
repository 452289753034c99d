// SPDX-License-Identifier: MIT
#ifndef OURO_LUA_OPTIONS_H
#define OURO_LUA_OPTIONS_H

#include "session.h"

typedef struct {
    settings settings;
    const char *output; // where to write
    bool view, quiet;
    int count; // of all arguments
    char **arguments;
    int script; // index of the script's name; its arguments follow
} command_line;

// -1: go on. Else the status to exit with: after --help, --version, or a message.
int options_parse(command_line *command, int count, char **arguments);

#endif
