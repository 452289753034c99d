// SPDX-License-Identifier: MIT
//
// Blocks by what identifies them. Two functions with the same name, file, line and column are one
// block, because a reader could not tell them apart. So a program that loads the same text a
// million times, or makes a million closures, has one block for each function that it wrote.
//
// Keys are 64-bit hashes, and a match is not verified: two texts with the same hash would share a
// block. With a million blocks that happens in one of 37 million programs.

#include "blocks.h"

#include <stdlib.h>

struct block_slot {
    uint64_t key; // 0: free
    ouro_block block;
};

uint64_t hash_number(uint64_t hash, uint64_t number) {
    hash ^= number;
    hash *= UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 29);
}

uint64_t hash_text(uint64_t hash, const char *text) {
    for (; text && *text; text++) hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash_number(hash, 0xff);
}

static struct block_slot *slot_of(const block_map *map, uint64_t key) {
    size_t i = (size_t)key & (map->size - 1);
    while (map->slots[i].key && map->slots[i].key != key) i = (i + 1) & (map->size - 1);
    return &map->slots[i];
}

bool block_map_get(const block_map *map, uint64_t key, ouro_block *block) {
    if (!map->size) return false;
    const struct block_slot *slot = slot_of(map, key ? key : 1);
    if (!slot->key) return false;
    *block = slot->block;
    return true;
}

static bool block_map_grow(block_map *map) {
    block_map larger = {.count = map->count, .size = map->size ? map->size * 2 : 64};
    larger.slots = calloc(larger.size, sizeof *larger.slots);
    if (!larger.slots) return false;
    for (size_t i = 0; i < map->size; i++) {
        if (map->slots[i].key) *slot_of(&larger, map->slots[i].key) = map->slots[i];
    }
    free(map->slots);
    *map = larger;
    return true;
}

void block_map_put(block_map *map, uint64_t key, ouro_block block) {
    if (map->count * 2 >= map->size && !block_map_grow(map)) return;
    struct block_slot *slot = slot_of(map, key ? key : 1);
    if (!slot->key) map->count++;
    *slot = (struct block_slot){key ? key : 1, block};
}

ouro_block block_of_text(block_table *table, const ouro_block_info *info) {
    uint64_t key = hash_text(hash_text(0, info->name), info->file);
    key = hash_number(key, (uint64_t)info->line << 32 | info->column);
    ouro_block block;
    if (block_map_get(&table->by_text, key, &block)) return block;
    block = ouro_add_block(table->profile, info);
    if (block != OURO_PHANTOM) block_map_put(&table->by_text, key, block);
    return block;
}

void block_table_free(block_table *table) {
    free(table->by_text.slots);
    free(table->by_function.slots);
    free(table->by_pointer.slots);
}
