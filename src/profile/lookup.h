// SPDX-License-Identifier: MIT
//
// A hash index (open addressing, linear probing) over rows that are stored elsewhere. It holds row
// numbers and 32 bits of each row's hash, so a row is read only when it is very likely the right
// one, and growing reads no row at all.
//
//     uint64_t at = ouro__lookup_first(&l, hash);
//     while ((row = ouro__lookup_next(&l, hash, &at)) != NO_ROW) {
//         if (is_same(row)) return row;
//     }

#ifndef OURO_LOOKUP_H
#define OURO_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NO_ROW UINT32_MAX

typedef struct {
    uint64_t *slots; // hash in the high half, row + 1 in the low half; 0 = empty
    uint64_t mask;   // slots - 1; 0 = no slots yet
    uint64_t count;
} lookup;

// Adds a row that is not in it. false: out of memory.
bool ouro__lookup_add(lookup *l, uint32_t hash, uint32_t row);
void ouro__lookup_free(lookup *l);

static inline uint64_t ouro__lookup_first(const lookup *l, uint32_t hash) { return hash & l->mask; }

static inline uint32_t ouro__lookup_next(const lookup *l, uint32_t hash, uint64_t *at) {
    if (!l->mask) return NO_ROW;
    for (;;) {
        uint64_t slot = l->slots[*at];
        *at = (*at + 1) & l->mask;
        if (!slot) return NO_ROW;
        if ((uint32_t)(slot >> 32) == hash) return (uint32_t)slot - 1;
    }
}

static inline uint32_t ouro__hash_pair(uint32_t a, uint32_t b) {
    uint64_t z = ((uint64_t)a << 32 | b) * UINT64_C(0x9E3779B97F4A7C15);
    z ^= z >> 29;
    return (uint32_t)((z * UINT64_C(0xBF58476D1CE4E5B9)) >> 32);
}

static inline uint64_t ouro__hash_word(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * UINT64_C(0x9FB21C651E98DF25);
    return hash ^ hash >> 35;
}

// Eight bytes at a time.
static inline uint32_t ouro__hash_bytes(const void *bytes, size_t size) {
    const unsigned char *from = bytes;
    uint64_t hash = size * UINT64_C(0x9E3779B97F4A7C15), word;
    for (; size >= 8; size -= 8, from += 8) {
        __builtin_memcpy(&word, from, 8);
        hash = ouro__hash_word(hash, word);
    }
    word = 0;
    for (size_t i = 0; i < size; i++) word = word << 8 | from[i];
    return (uint32_t)(ouro__hash_word(hash, word) >> 16);
}

#endif
