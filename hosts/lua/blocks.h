// SPDX-License-Identifier: MIT
#ifndef OURO_LUA_BLOCKS_H
#define OURO_LUA_BLOCKS_H

#include "ouro.h"

#include <stddef.h>

// From 64-bit keys to blocks. A key that is not there is 0, which is OURO_PHANTOM.
typedef struct {
    struct block_slot *slots;
    size_t count, size;
} block_map;

typedef struct {
    ouro_profile *profile;
    block_map by_text;     // name, file, line, column
    block_map by_function; // file, lines, parameters: Lua's data about a function
    block_map by_pointer;  // C functions
} block_table;

uint64_t hash_text(uint64_t hash, const char *text);
uint64_t hash_number(uint64_t hash, uint64_t number);

// False if the key is not there.
bool block_map_get(const block_map *map, uint64_t key, ouro_block *block);
// Without memory the block is not stored, and the next lookup misses again.
void block_map_put(block_map *map, uint64_t key, ouro_block block);

// The block with this text, made if it is new. OURO_PHANTOM without memory.
ouro_block block_of_text(block_table *table, const ouro_block_info *info);
void block_table_free(block_table *table);

#endif
