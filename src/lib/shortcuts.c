// SPDX-License-Identifier: MIT
//
// The shortcuts of a lane: a direct-mapped cache of transitions (ouro_shortcut_ in ouro.h). When
// two transitions fall on the same entry, the later one has it, and the other is searched for in
// the table of the memo. If that happens too often, the cache is made larger. Most lanes have
// none: a thread that does little, or the same again and again, finds its transitions in the
// nodes' memos.
//
// Written by the OS thread that uses the lane, with one exception: another lane that asks for room
// switches the cache off, so that this one takes the slow path and sees the request.

#include "memo.h"

#include <stdlib.h>

// Bits of the first and of the largest table: 8 and 256 KB.
enum { BITS_FIRST = 10, BITS_MAX = 15, MISSED_FIRST = 128 };

static ouro_shortcuts_ none = {.shift = 31, .entries = {NO_SHORTCUT, NO_SHORTCUT}};

static uint32_t size_of(const ouro_shortcuts_ *shortcuts) {
    return UINT32_C(1) << (32 - shortcuts->shift);
}

static size_t bytes_for(uint32_t size) {
    return offsetof(ouro_shortcuts_, entries) + size * sizeof(uint64_t);
}

static void use(ouro__lane *lane, ouro_shortcuts_ *shortcuts) {
    __atomic_store_n(&lane->head.shortcuts, shortcuts, __ATOMIC_RELAXED);
}

void ouro__shortcuts_off(ouro__lane *lane) { use(lane, &none); }

void ouro__shortcuts_on(ouro__lane *lane) {
    if (lane->own_shortcuts) use(lane, lane->own_shortcuts);
}

static void fill(ouro_shortcuts_ *shortcuts) {
    uint64_t *entries = shortcuts->entries;
    for (uint32_t i = 0; i < size_of(shortcuts); i++) entries[i] = NO_SHORTCUT;
}

void ouro__shortcuts_clear(ouro__lane *lane) {
    ouro_shortcuts_ *own = lane->own_shortcuts;
    if (own) fill(own);
}

uint64_t ouro__shortcuts_bytes(const ouro__lane *lane) {
    return lane->own_shortcuts ? bytes_for(size_of(lane->own_shortcuts)) : 0;
}

// The old ones are forgotten: they come back as they are missed. Without memory all stays as it is.
static __attribute__((noinline)) void grow(ouro__lane *lane) {
    lane->shortcuts_missed = 0;
    ouro_shortcuts_ *old = lane->own_shortcuts;
    uint32_t bits = old ? 32 - old->shift + 1 : BITS_FIRST;
    ouro_shortcuts_ *larger = malloc(bytes_for(UINT32_C(1) << bits));
    if (!larger) return;
    larger->shift = 32 - bits;
    fill(larger);
    // The lock, because somebody may be asking for room.
    pthread_mutex_lock(&lane->lock);
    lane->own_shortcuts = larger;
    if (!atomic_load_explicit(&lane->asked, memory_order_relaxed)) use(lane, larger);
    pthread_mutex_unlock(&lane->lock);
    free(old);
}

void ouro__shortcut_put(ouro__lane *lane, ouro_position from, ouro_block block, uint32_t slot) {
    ouro_shortcuts_ *own = lane->own_shortcuts;
    uint32_t enough = own ? size_of(own) * 2 : MISSED_FIRST;
    if (++lane->shortcuts_missed > enough && (!own || own->shift > 32 - BITS_MAX)) {
        grow(lane);
        own = lane->own_shortcuts;
    }
    if (!own) return;
    uint64_t *entries = own->entries;
    entries[ouro_shortcut_hash_(from, block) >> own->shift] = ouro__entry(from, slot);
}
