// SPDX-License-Identifier: MIT
#ifndef OURO_PYTHON_BLOCKS_H
#define OURO_PYTHON_BLOCKS_H

#include "ouro.h"

#include <stddef.h>

// From 64-bit keys to blocks.
typedef struct {
    struct block_slot *slots;
    size_t count, size;
} block_map;

// False if the key is not there.
bool block_map_get(const block_map *map, uint64_t key, ouro_block *block);
// Without memory the block is not stored, and the next lookup misses again.
void block_map_put(block_map *map, uint64_t key, ouro_block block);
void block_map_free(block_map *map);

// The block with this text, made if it is new: code that is compiled again and again (exec,
// namedtuple) is one block. OURO_PHANTOM without memory.
ouro_block block_of_text(ouro_profile *profile, block_map *by_text, const ouro_block_info *info);

#endif
