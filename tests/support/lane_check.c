// SPDX-License-Identifier: MIT
//
// The invariants of a lane, as internal.h states them.

#include "lane_check.h"
#include "memo.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static bool is_ancestor(const ouro__lane *lane, ouro_position ancestor, ouro_position of) {
    for (ouro_position p = of;; p = node_at(lane, p)->parent) {
        if (p == ancestor) return true;
        if (p == ROOT_POSITION) return false;
    }
}

static void check_memos(const ouro__lane *lane) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < lane->memo.size; i++) {
        uint64_t entry = lane->memo.entries[i];
        if (!entry) continue;
        count++;
        ouro_position from = ouro__entry_from(entry);
        uint32_t slot = ouro__entry_slot(entry);
        ouro_position to = slot_position(slot);
        const ouro_node_ *target = node_at(lane, to);
        CHECK(node_at(lane, from)->block != 0 && target->block != 0);
        CHECK_EQUAL(ouro__memo_find(lane, from, target->block), slot);
        if (slot == to + ENTRY_TREE) CHECK(target->parent == from);
        if (slot == to + ENTRY_BACK) CHECK(to != from && is_ancestor(lane, to, from));
        if (slot == to + ENTRY_DIRECT) CHECK(to == from);
    }
    CHECK_EQUAL(count, lane->memo.count);
}

static void check_nodes(const ouro__lane *lane) {
    uint32_t live = 0;
    for (uint32_t i = 0; i < lane->state->used; i++) {
        ouro_position position = i * lane->stride;
        const ouro_node_ *node = node_at(lane, position);
        if (!node->block) continue;
        live += i != 1;
        const ouro_node_ *memo = node_at(lane, node->memo_target);
        CHECK(memo->block != 0);
        if (node->memo_block == OURO_PHANTOM)
            CHECK_EQUAL(node->memo_slot, position + ENTRY_PHANTOM);
        if (i == 0 || i == 1) continue;
        CHECK(node_at(lane, node->parent)->block != 0);
        CHECK_EQUAL(ouro__memo_find(lane, node->parent, node->block), position + ENTRY_TREE);
    }
    CHECK_EQUAL(live, lane->live);
}

static void check_shortcuts(const ouro__lane *lane) {
    const ouro_shortcuts_ *own = lane->own_shortcuts;
    const uint64_t *entries = own ? own->entries : NULL;
    for (uint64_t i = 0; own && i < UINT64_C(1) << (32 - own->shift); i++) {
        if (!entries[i]) continue;
        ouro_position from = ouro__entry_from(entries[i]);
        uint32_t slot = ouro__entry_slot(entries[i]);
        ouro_block block = node_at(lane, slot_position(slot))->block;
        CHECK_EQUAL(ouro__memo_find(lane, from, block), slot);
        CHECK_EQUAL(ouro_shortcut_hash_(from, block) >> own->shift, i);
    }
}

// What a call site of a node knows is a transition of that node.
static void check_sites(const ouro__lane *lane) {
    for (uint32_t i = 0; i < lane->state->used; i++) {
        ouro_position from = i * lane->stride;
        const ouro_here *here = *ouro__here_at(lane, from);
        if (!here) continue;
        CHECK(here->node == node_at(lane, from));
        for (size_t s = 0; s < here->count; s++) {
            const ouro_known_ *known = here->known + s;
            uint32_t slot = (uint32_t)(known->counter - lane->nodes);
            if (!known->key || (slot & 3) == ENTRY_PHANTOM) continue;
            ouro_block block = node_at(lane, slot_position(slot))->block;
            CHECK_EQUAL(ouro__memo_find(lane, from, block), slot);
            CHECK(known->to->node == node_at(lane, slot_position(slot)));
        }
    }
}

void check_lanes(ouro_profile *profile) {
    uint32_t nodes = 1;
    for (uint32_t i = 0; i < profile->lane_count; i++) {
        check_nodes(profile->lanes[i]);
        check_memos(profile->lanes[i]);
        check_shortcuts(profile->lanes[i]);
        check_sites(profile->lanes[i]);
        nodes += profile->lanes[i]->live - 1;
    }
    CHECK_EQUAL(nodes, atomic_load(&profile->nodes_used));
    CHECK(nodes <= profile->max_nodes);
}

const char *position_path(const ouro_thread *thread, ouro_position position) {
    static char text[1 << 16];
    const ouro__lane *lane = lane_of(thread);
    size_t at = sizeof text - 1;
    text[at] = '\0';
    for (; position != ROOT_POSITION; position = node_at(lane, position)->parent) {
        char part[16];
        int n = snprintf(part, sizeof part, "/%u", node_at(lane, position)->block);
        if (at < (size_t)n) break;
        at -= (size_t)n;
        memcpy(text + at, part, (size_t)n);
    }
    return text + at;
}
