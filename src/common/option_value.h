// SPDX-License-Identifier: MIT
//
// An option that is `--name VALUE` or `--name=VALUE`, for programs whose other arguments belong to
// somebody else, so that getopt cannot be used.

#ifndef OURO_OPTION_VALUE_H
#define OURO_OPTION_VALUE_H

#include <string.h>

// The value, with *at at the last argument that it took; "" if it is missing. NULL: another option
// stands here.
static inline const char *ouro__option_value(int count, char **arguments, int *at,
                                             const char *name) {
    const char *argument = arguments[*at];
    size_t length = strlen(name);
    if (strncmp(argument, name, length) != 0) return NULL;
    if (argument[length] == '=') return argument + length + 1;
    if (argument[length] != '\0') return NULL;
    if (*at + 1 < count) return arguments[++*at];
    return "";
}

#endif
