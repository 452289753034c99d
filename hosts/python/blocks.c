// SPDX-License-Identifier: MIT
//
// Which block a key stands for: an open-addressing table of 64-bit hashes. Two keys with the same
// hash would share a block; with 64 bits that does not happen.

#include "blocks.h"

#include <stdlib.h>

struct block_slot {
    uint64_t key; // 0: free
    ouro_block block;
};

static struct block_slot *place(const block_map *map, uint64_t key) {
    size_t i = (size_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> 20) & (map->size - 1);
    while (map->slots[i].key && map->slots[i].key != key) i = (i + 1) & (map->size - 1);
    return &map->slots[i];
}

bool block_map_get(const block_map *map, uint64_t key, ouro_block *block) {
    const struct block_slot *slot = map->size ? place(map, key ? key : 1) : NULL;
    if (!slot || !slot->key) return false;
    *block = slot->block;
    return true;
}

static bool grow(block_map *map) {
    block_map larger = {.count = map->count, .size = map->size ? map->size * 2 : 1024};
    larger.slots = calloc(larger.size, sizeof *larger.slots);
    if (!larger.slots) return false;
    for (size_t i = 0; i < map->size; i++) {
        if (map->slots[i].key) *place(&larger, map->slots[i].key) = map->slots[i];
    }
    free(map->slots);
    *map = larger;
    return true;
}

void block_map_put(block_map *map, uint64_t key, ouro_block block) {
    if (map->count * 2 >= map->size && !grow(map)) return;
    struct block_slot *slot = place(map, key ? key : 1);
    if (!slot->key) map->count++;
    *slot = (struct block_slot){key ? key : 1, block};
}

void block_map_free(block_map *map) {
    free(map->slots);
    *map = (block_map){0};
}

static uint64_t hash_text(uint64_t hash, const char *text) {
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001B3);
    return (hash ^ 0xFF) * UINT64_C(0x100000001B3);
}

ouro_block block_of_text(ouro_profile *profile, block_map *by_text, const ouro_block_info *info) {
    uint64_t key = hash_text(UINT64_C(0xCBF29CE484222325), info->name);
    key = hash_text(key, info->file) ^ info->line * UINT64_C(0x9E3779B97F4A7C15);
    ouro_block block;
    if (block_map_get(by_text, key, &block)) return block;
    block = ouro_add_block(profile, info);
    block_map_put(by_text, key, block);
    return block;
}
