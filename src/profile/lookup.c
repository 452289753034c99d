// SPDX-License-Identifier: MIT
//
// The hash index: open addressing, linear probing, at most two thirds full. Rows are never removed.

#include "lookup.h"

#include <stdlib.h>

enum { FIRST_SLOTS = 256 };

static void put(uint64_t *slots, uint64_t mask, uint64_t slot) {
    uint64_t at = slot >> 32 & mask;
    while (slots[at]) at = (at + 1) & mask;
    slots[at] = slot;
}

static bool grow(lookup *l) {
    uint64_t size = l->mask ? (l->mask + 1) * 2 : FIRST_SLOTS;
    uint64_t *slots = calloc(size, sizeof *slots);
    if (!slots) return false;
    for (uint64_t i = 0; l->mask && i <= l->mask; i++) {
        if (l->slots[i]) put(slots, size - 1, l->slots[i]);
    }
    free(l->slots);
    l->slots = slots;
    l->mask = size - 1;
    return true;
}

bool ouro__lookup_add(lookup *l, uint32_t hash, uint32_t row) {
    if (l->count * 3 >= l->mask * 2 && !grow(l)) return false;
    put(l->slots, l->mask, (uint64_t)hash << 32 | (row + 1));
    l->count++;
    return true;
}

void ouro__lookup_free(lookup *l) {
    free(l->slots);
    *l = (lookup){0};
}
