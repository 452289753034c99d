// SPDX-License-Identifier: MIT
//
// The hash index: open addressing, linear probing, at most two thirds full. Rows are never removed.
// A table of many megabytes is asked for in huge pages: probes go everywhere, and most of their
// cost is the page.

#include "lookup.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { FIRST_SLOTS = 256, FAST_GROWTH = 1 << 18, HUGE_PAGE = 1 << 21 };

static void put(uint64_t *slots, uint64_t mask, uint64_t slot) {
    uint64_t at = slot >> 32 & mask;
    while (slots[at]) at = (at + 1) & mask;
    slots[at] = slot;
}

static uint64_t *new_slots(uint64_t count) {
    size_t bytes = count * sizeof(uint64_t);
    if (bytes < HUGE_PAGE) return calloc(count, sizeof(uint64_t));
    uint64_t *slots = aligned_alloc(HUGE_PAGE, bytes);
    if (!slots) return NULL;
    madvise(slots, bytes, MADV_HUGEPAGE); // only advice: nothing to do if it is not taken
    memset(slots, 0, bytes);
    return slots;
}

// Small tables grow faster, since every growth touches all slots.
static bool grow(lookup *l) {
    uint64_t size = l->mask ? (l->mask + 1) * (l->mask < FAST_GROWTH ? 4 : 2) : FIRST_SLOTS;
    uint64_t *slots = new_slots(size);
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
