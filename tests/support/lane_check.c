// SPDX-License-Identifier: MIT
//
// The invariants of all lanes together, and a position as text.

#include "lane_check.h"
#include "internal.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

void check_lanes(ouro_profile *profile) {
    uint32_t nodes = 1;
    for (uint32_t i = 0; i < profile->lane_count; i++) {
        CHECK(ouro__lane_is_valid(profile->lanes[i]));
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
