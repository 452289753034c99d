// SPDX-License-Identifier: MIT
//
// Looking up a transition, inline because it is the second fastest way through enter. The table is
// described in memo.c.

#ifndef OURO_MEMO_H
#define OURO_MEMO_H

#include "internal.h"

static inline uint32_t ouro__memo_home(uint32_t size, ouro_position from, ouro_block block) {
    return (uint32_t)((uint64_t)ouro_shortcut_hash_(from, block) * size >> 32);
}

static inline uint64_t ouro__entry(ouro_position from, uint32_t slot) {
    return (uint64_t)slot << 32 | from;
}
static inline ouro_position ouro__entry_from(uint64_t entry) { return (uint32_t)entry; }
static inline uint32_t ouro__entry_slot(uint64_t entry) { return (uint32_t)(entry >> 32); }

// The slot of the transition; 0 if it is not known.
static inline uint32_t ouro__memo_find(const ouro__lane *lane, ouro_position from,
                                       ouro_block block) {
    const ouro__memo *memo = &lane->memo;
    for (uint32_t i = ouro__memo_home(memo->size, from, block);;) {
        uint64_t entry = memo->entries[i];
        if (entry == 0) return 0;
        uint32_t slot = ouro__entry_slot(entry);
        if (ouro__entry_from(entry) == from && node_at(lane, slot_position(slot))->block == block)
            return slot;
        if (++i == memo->size) i = 0;
    }
}

bool ouro__memo_has_room(const ouro__memo *memo);
bool ouro__memo_reserve(ouro__memo *memo, const ouro__lane *lane);
void ouro__memo_put(ouro__memo *memo, const ouro__lane *lane, ouro_position from, uint32_t slot);
void ouro__memo_keep_live(ouro__memo *memo, const ouro__lane *lane, uint64_t *fresh);

#endif
