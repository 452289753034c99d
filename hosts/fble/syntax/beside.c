// SPDX-License-Identifier: MIT
//
// Files beside the running program.

#include "beside.h"
#include "own_path.h"

const char *fble_beside(struct fble_arena *arena, const char *name) {
    char folder[PATH_MAX];
    return ouro__own_folder(folder) ? fble_format(arena, "%s%s", folder, name) : NULL;
}
