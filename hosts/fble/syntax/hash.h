// SPDX-License-Identifier: MIT
//
// Names for contents.

#ifndef FBLE_HASH_H
#define FBLE_HASH_H

#include "arena.h"

// 128 bits of anything, as 32 hex digits.
const char *fble_hash(struct fble_arena *arena, const char *bytes, size_t length);

#endif
