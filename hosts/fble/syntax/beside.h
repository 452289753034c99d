// SPDX-License-Identifier: MIT
//
// Files beside the running program: in a build folder, or where it was installed.

#ifndef FBLE_BESIDE_H
#define FBLE_BESIDE_H

#include "arena.h"

// FOLDER/NAME, where FOLDER has the running program. NULL: the system does not say where that is.
const char *fble_beside(struct fble_arena *arena, const char *name);

#endif
