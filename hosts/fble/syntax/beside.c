// SPDX-License-Identifier: MIT
//
// Files beside the running program.

#include "beside.h"
#include "own_path.h"

#include <string.h>

// Cuts the last folder of a path that ends with a slash.
static void cut_last(char *folder) {
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 2] != '/') length--;
    if (length > 1) folder[length - 1] = '\0';
}

// The folder has no links in it, so `..` is the same as its name without the last part. Paths of
// modules are in messages and profiles, where they are read, and compared with others.
const char *fble_beside(struct fble_arena *arena, const char *name) {
    char folder[PATH_MAX];
    if (!ouro__own_folder(folder)) return NULL;
    for (; strncmp(name, "../", 3) == 0; name += 3) cut_last(folder);
    return fble_format(arena, "%s%s", folder, name);
}
