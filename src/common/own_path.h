// SPDX-License-Identifier: MIT
//
// Where this program is. What was built or installed together is found from there, also after
// the whole was moved.

#ifndef OURO_OWN_PATH_H
#define OURO_OWN_PATH_H

#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

// The path of the running program. false, and an empty path: the system does not tell.
// Uses no memory of its own, so that it may run on a small stack.
static inline bool ouro__own_path(char path[static PATH_MAX]) {
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = '\0';
    return length > 0;
}

// The folder of the running program, with a slash at its end.
static inline bool ouro__own_folder(char path[static PATH_MAX]) {
    bool known = ouro__own_path(path);
    char *slash = strrchr(path, '/');
    path[slash ? slash + 1 - path : 0] = '\0';
    return known && slash;
}

#endif
