// SPDX-License-Identifier: MIT
//
// The table of transitions of a lane: (position, block) -> slot. Open addressing, linear probing,
// eight bytes an entry: the source and the slot. The block is not stored, because every
// transition to a node is made by entering that node's block: the target tells it, and the target
// is about to be used anyway. Any size will do (a multiplication spreads the hash over it), so
// the table grows by half and stays small. Entries are never removed one by one: a pruning keeps
// those that still hold.

#include "memo.h"

#include <stdlib.h>
#include <string.h>

enum { SIZE_FIRST = 16 };

static void put(uint64_t *entries, uint32_t size, const ouro__lane *lane, uint64_t entry) {
    ouro_block block = node_at(lane, slot_position(ouro__entry_slot(entry)))->block;
    uint32_t i = ouro__memo_home(size, ouro__entry_from(entry), block);
    while (entries[i] != 0) {
        if (++i == size) i = 0;
    }
    entries[i] = entry;
}

// At most four of five places are in use.
bool ouro__memo_has_room(const ouro__memo *memo) {
    return (uint64_t)(memo->count + 1) * 5 <= (uint64_t)memo->size * 4;
}

// Makes room for one more entry.
bool ouro__memo_reserve(ouro__memo *memo, const ouro__lane *lane) {
    if (ouro__memo_has_room(memo)) return true;
    uint64_t size = memo->size ? (uint64_t)memo->size + memo->size / 2 : SIZE_FIRST;
    if (size > UINT32_MAX) return false;
    uint64_t *entries = calloc(size, sizeof *entries);
    if (!entries) return false;
    for (uint32_t i = 0; i < memo->size; i++) {
        if (memo->entries[i]) put(entries, (uint32_t)size, lane, memo->entries[i]);
    }
    free(memo->entries);
    memo->entries = entries;
    memo->size = (uint32_t)size;
    return true;
}

void ouro__memo_put(ouro__memo *memo, const ouro__lane *lane, ouro_position from, uint32_t slot) {
    put(memo->entries, memo->size, lane, ouro__entry(from, slot));
    memo->count++;
}

// Keeps the transitions whose source and target are both in use. `fresh` is zeroed memory for
// memo->size entries and becomes the table; the old one is freed.
void ouro__memo_keep_live(ouro__memo *memo, const ouro__lane *lane, uint64_t *fresh) {
    memo->count = 0;
    for (uint32_t i = 0; i < memo->size; i++) {
        uint64_t entry = memo->entries[i];
        if (!entry || !node_at(lane, ouro__entry_from(entry))->block) continue;
        if (!node_at(lane, slot_position(ouro__entry_slot(entry)))->block) continue;
        put(fresh, memo->size, lane, entry);
        memo->count++;
    }
    free(memo->entries);
    memo->entries = fresh;
}
