// SPDX-License-Identifier: MIT
//
// The invariants of a lane, as internal.h states them. Builds with assertions check them after
// every pruning, and stop at the one that does not hold; the tests ask in all builds. One pass
// over nodes, accounts and transitions. Only the lane's own OS thread may ask, or anybody while
// nothing records.

#include "memo.h"

#define HOLDS(condition)                \
    do {                                \
        assert(condition);              \
        if (!(condition)) return false; \
    } while (0)

static bool is_in_use(const ouro__lane *lane, ouro_position position) {
    bool inside = position % lane->stride == 0 && position / lane->stride < lane->state->used;
    return inside && node_at(lane, position)->block != 0;
}

static bool is_ancestor(const ouro__lane *lane, ouro_position ancestor, ouro_position of) {
    while (of != ancestor && of != ROOT_POSITION) of = node_at(lane, of)->parent;
    return of == ancestor;
}

static bool node_is_valid(const ouro__lane *lane, ouro_position position) {
    const ouro_node_ *node = node_at(lane, position);
    HOLDS(is_in_use(lane, node->memo_target));
    if (node->memo_block == OURO_PHANTOM) HOLDS(node->memo_slot == position + ENTRY_PHANTOM);
    if (position == ROOT_POSITION || position == lost_position(lane)) return true;
    HOLDS(node->block >= FIRST_USER_BLOCK && ouro__block_exists(lane->profile, node->block));
    HOLDS(is_in_use(lane, node->parent));
    HOLDS(ouro__memo_find(lane, node->parent, node->block) == position + ENTRY_TREE);
    return true;
}

static bool account_is_valid(const ouro__lane *lane, ouro_position position) {
    const ouro_node_ *account = node_at(lane, account_of(lane, position));
    if (!account->block) return true;
    HOLDS(account->block == OURO_PRUNED && account->parent == position);
    HOLDS(lane->has_accounts && is_in_use(lane, position));
    return true;
}

static bool nodes_are_valid(const ouro__lane *lane) {
    uint32_t live = 0;
    HOLDS(node_at(lane, ROOT_POSITION)->block == ROOT_BLOCK);
    HOLDS(node_at(lane, lost_position(lane))->block == OURO_LOST);
    for (uint32_t i = 0; i < lane->state->used; i++) {
        ouro_position position = i * lane->stride;
        if (!account_is_valid(lane, position)) return false;
        if (!is_in_use(lane, position)) continue;
        live += position != lost_position(lane);
        if (!node_is_valid(lane, position)) return false;
    }
    HOLDS(live == lane->live);
    return true;
}

// Every place that was ever used is a node, [lost], or free.
static bool free_list_is_valid(const ouro__lane *lane) {
    uint32_t free = 0, most = lane->state->used;
    for (ouro_position p = lane->free_list; p; p = node_at(lane, p)->parent) {
        HOLDS(p / lane->stride < most && !is_in_use(lane, p));
        free++;
        HOLDS(free < most);
    }
    HOLDS(lane->live + 1 + free == most);
    return true;
}

static bool transition_is_valid(const ouro__lane *lane, ouro_position from, uint32_t slot) {
    ouro_position to = slot_position(slot);
    HOLDS(is_in_use(lane, from) && is_in_use(lane, to));
    HOLDS(ouro__memo_find(lane, from, node_at(lane, to)->block) == slot);
    if (slot == to + ENTRY_TREE) HOLDS(node_at(lane, to)->parent == from);
    if (slot == to + ENTRY_BACK) HOLDS(to != from && is_ancestor(lane, to, from));
    if (slot == to + ENTRY_BACK) HOLDS(lane->back_target[index_of(lane, to)]);
    if (slot == to + ENTRY_DIRECT) HOLDS(to == from);
    return true;
}

static bool memo_is_valid(const ouro__lane *lane) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < lane->memo.size; i++) {
        uint64_t entry = lane->memo.entries[i];
        if (!entry) continue;
        count++;
        if (!transition_is_valid(lane, ouro__entry_from(entry), ouro__entry_slot(entry)))
            return false;
    }
    HOLDS(count == lane->memo.count);
    return true;
}

static bool shortcuts_are_valid(const ouro__lane *lane) {
    const ouro_shortcuts_ *own = lane->own_shortcuts;
    const uint64_t *entries = own ? own->entries : NULL;
    for (uint64_t i = 0; own && i < UINT64_C(1) << (32 - own->shift); i++) {
        if (entries[i] == NO_SHORTCUT) continue;
        ouro_position from = ouro__entry_from(entries[i]);
        uint32_t slot = ouro__entry_slot(entries[i]);
        ouro_block block = node_at(lane, slot_position(slot))->block;
        HOLDS(ouro__memo_find(lane, from, block) == slot);
        HOLDS(ouro_shortcut_hash_(from, block) >> own->shift == i);
    }
    return true;
}

static bool turn_is_valid(const ouro__lane *lane, ouro_position from, uint32_t slot,
                          const ouro_here *to) {
    const ouro_node_ *node = node_at(lane, slot_position(slot));
    HOLDS(to->node == node);
    HOLDS(slot == from + ENTRY_PHANTOM || ouro__memo_find(lane, from, node->block) == slot);
    return true;
}

// What a call site of a node knows is a transition of that node.
static bool entry_is_valid(const ouro__lane *lane, ouro_position from, const ouro_known_ *known) {
    if (known->key == OURO_NO_KEY_) return true;
    return turn_is_valid(lane, from, known->slot, known->to);
}

// Its entries mean what the site means, and are found by their keys.
static bool table_is_valid(const ouro__lane *lane, const ouro_here *here, uint32_t site) {
    const ouro_known_ *known = here->known + site;
    const ouro_here *table = known->to;
    HOLDS(table->node == here->node && table->position == here->position);
    HOLDS(table->table == site + 1 && table->sites == 1 << OURO_TABLE_BITS_);
    for (uint32_t i = 0; i < table->sites; i++) {
        HOLDS(entry_is_valid(lane, here->position, table->known + i));
        HOLDS(table->known[i].means == known->means);
        ouro_key key = table->known[i].key;
        HOLDS(key == OURO_NO_KEY_ || ouro_table_at_(key) == i);
    }
    return true;
}

static bool here_is_valid(const ouro__lane *lane, ouro_position from) {
    const ouro_here *here = *ouro__here_at(lane, from);
    if (!here) return true;
    HOLDS(here->node == node_at(lane, from) && here->position == from && !here->table);
    HOLDS(here->sites <= here->room && here->room <= OURO_SITES_MOST);
    for (uint32_t i = 0; i < here->room; i++) {
        const ouro_known_ *known = here->known + i;
        bool has_table = ouro__site_has_table(known);
        HOLDS(i < here->sites || known->key == OURO_NO_KEY_);
        HOLDS(has_table || known->key != OURO_MANY_);
        HOLDS(!(known->means & OURO_FIXED_) || known->slot || known->count & OURO_UNCOUNTED_);
        HOLDS(has_table ? table_is_valid(lane, here, i) : entry_is_valid(lane, from, known));
    }
    return true;
}

// But for [lost], where everything stays.
static bool heres_are_valid(const ouro__lane *lane) {
    for (uint32_t i = 0; i < lane->state->used; i++)
        if (i != 1 && !here_is_valid(lane, i * lane->stride)) return false;
    return true;
}

// And so is what it knew before, unless that is forgotten.
static bool turns_are_valid(const ouro__lane *lane) {
    for (int i = 0; i < 1 << OURO_TURN_BITS_; i++) {
        const ouro_turn_ *turn = lane->head.turns + i;
        if (!turn->from) continue;
        ouro_position from = (ouro_position)((const uint64_t *)turn->from->node - lane->nodes);
        if (is_account(lane, from) || from == lost_position(lane)) continue; // everything stays
        HOLDS(*ouro__here_at(lane, from) == turn->from);
        uint32_t slot = (uint32_t)(turn->counter - lane->nodes);
        HOLDS(turn_is_valid(lane, from, slot, turn->to));
    }
    return true;
}

bool ouro__lane_is_valid(const ouro__lane *lane) {
    return nodes_are_valid(lane) && free_list_is_valid(lane) && memo_is_valid(lane) &&
           shortcuts_are_valid(lane) && heres_are_valid(lane) && turns_are_valid(lane);
}
