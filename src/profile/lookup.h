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

#include "siphash.h"

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

#endif
