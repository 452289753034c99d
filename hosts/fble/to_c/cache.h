// SPDX-License-Identifier: MIT
//
// The folder where objects are kept. Objects become part of programs, so whoever can put one there
// runs code as this user: the folder is ours alone, or it is not used.

#ifndef FBLE_CACHE_H
#define FBLE_CACHE_H

#include "syntax/arena.h"

#include <stdbool.h>

struct fble_cache {
    const char *folder;
    bool temporary; // removed at the end
};

// Finds the folder, or makes it: `given` if the user named one, else $XDG_CACHE_HOME/fble,
// ~/.cache/fble, or a temporary one. False, with a message on stderr.
bool fble_cache_open(struct fble_arena *arena, struct fble_cache *cache, const char *given);
// Is there such an object, and is it ours?
bool fble_cache_has(const char *object);
void fble_cache_close(const struct fble_cache *cache);

#endif
