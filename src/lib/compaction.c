// SPDX-License-Identifier: MIT
//
// The four rules: where does a thread go that stands at `from` and enters `block` for the first
// time? Back to a node of its own path, or to a new child. docs/algorithm.md gives the rules, what
// each keeps exact, and why; this file is only reached when a transition has no memo.
//
// Every rule looks at LOOKBACK nodes of the path at most. Where that bound cuts, a repetition is
// not seen and the path just grows longer.

#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// loops: a step may be repeated only after something new. `steps` counts the distinct steps of a
// path, so a node with as many steps as `from` is on the stretch since the last new one.
static ouro_position loops(const ouro__lane *lane, ouro_position from, ouro_block block,
                           uint32_t *steps) {
    const ouro_node_ *here = node_at(lane, from);
    const uint32_t here_steps = lane->steps[index_of(lane, from)];
    if (here->block == block) return from;
    const ouro_node_ *node = here;
    ouro_position position = from;
    for (int seen = 0; seen < LOOKBACK && position != ROOT_POSITION; seen++) {
        const ouro_node_ *parent = node_at(lane, node->parent);
        if (node->block == block && parent->block == here->block) {
            if (lane->steps[index_of(lane, position)] == here_steps) return position;
            *steps = here_steps;
            return 0;
        }
        position = node->parent;
        node = parent;
    }
    *steps = here_steps + 1;
    return 0;
}

// edges: do the last k blocks of path + block already stand on the path?
static ouro_position edges(const ouro__lane *lane, ouro_position from, ouro_block block, int k) {
    ouro_block before[2] = {0, 0}; // the k - 1 blocks before `block`, nearest first
    ouro_position position = from;
    for (int i = 0; i < k - 1; i++) {
        if (position == ROOT_POSITION) return 0;
        before[i] = node_at(lane, position)->block;
        position = node_at(lane, position)->parent;
    }
    position = from;
    for (int seen = 0; seen < LOOKBACK && position != ROOT_POSITION; seen++) {
        const ouro_node_ *node = node_at(lane, position);
        if (node->block == block) {
            ouro_position up = node->parent;
            int same = 0;
            while (same < k - 1 && node_at(lane, up)->block == before[same]) {
                up = node_at(lane, up)->parent;
                same++;
            }
            if (same == k - 1) return position;
        }
        position = node->parent;
    }
    return 0;
}

// The trail is the blocks of the path to one node, in one array, because `cycles` compares the path
// with itself at every distance. It is kept for the node that was added last: a path that grows
// node by node is not walked again and again.
static bool trail_load(ouro__lane *lane, ouro_position leaf) {
    if (lane->trail && lane->trail_leaf == leaf) return true;
    if (!lane->trail) {
        lane->trail = malloc(2 * LOOKBACK * sizeof *lane->trail);
        if (!lane->trail) return false;
    }
    uint32_t length = 0;
    ouro_position position = leaf;
    while (length < LOOKBACK && position != ROOT_POSITION) {
        const ouro_node_ *node = node_at(lane, position);
        lane->trail[length++] = node->block;
        position = node->parent;
    }
    for (uint32_t i = 0; i < length / 2; i++) {
        uint32_t other = lane->trail[i];
        lane->trail[i] = lane->trail[length - 1 - i];
        lane->trail[length - 1 - i] = other;
    }
    lane->trail_length = length;
    lane->trail_leaf = leaf;
    return true;
}

void ouro__trail_extend(ouro__lane *lane, ouro_position from, ouro_position child) {
    if (!lane->trail || lane->trail_leaf != from) return;
    if (lane->trail_length == 2 * LOOKBACK) {
        // Elements, not bytes: the halves do not overlap.
        // cppcheck-suppress overlappingWriteFunction
        memcpy(lane->trail, lane->trail + LOOKBACK, LOOKBACK * sizeof *lane->trail);
        lane->trail_length = LOOKBACK;
    }
    lane->trail[lane->trail_length++] = node_at(lane, child)->block;
    lane->trail_leaf = child;
}

// The length n of the shortest tail of trail + block that repeats the n blocks before it; 0 if
// none does.
static uint32_t repeated_tail(const uint32_t *trail, uint32_t length, ouro_block block) {
    const uint32_t *end = trail + length;
    uint32_t longest = (length < LOOKBACK ? length + 1 : LOOKBACK) / 2;
    if (longest >= 1 && end[-1] == block) return 1;
    // From here on two blocks are compared at once: the last two decide most cases.
    for (uint32_t n = 2; n <= longest; n++) {
        if (end[-(int64_t)n] != block || end[-(int64_t)n - 1] != end[-1]) continue;
        if (memcmp(end - (n - 1), end - (2 * n - 1), (n - 1) * sizeof *trail) == 0) return n;
    }
    return 0;
}

// cycles: if the last n blocks of path + block repeat the n just before them, go back to the node
// that ended the first copy; shortest first.
static ouro_position cycles(ouro__lane *lane, ouro_position from, ouro_block block) {
    if (!trail_load(lane, from)) return 0;
    uint32_t n = repeated_tail(lane->trail, lane->trail_length, block);
    if (n == 0) return 0;
    ouro_position position = from;
    for (uint32_t i = 1; i < n; i++) position = node_at(lane, position)->parent;
    return position;
}

int ouro_compaction_from_name(const char *name, ouro_options *options) {
    static const struct {
        const char *name;
        int compaction, edge_length;
    } rules[] = {{"loops", OURO_LOOPS, 0},   {"cycles", OURO_CYCLES, 0}, {"edges", OURO_EDGES, 2},
                 {"edges:1", OURO_EDGES, 1}, {"edges:2", OURO_EDGES, 2}, {"edges:3", OURO_EDGES, 3},
                 {"none", OURO_NONE, 0}};
    for (size_t i = 0; name && i < sizeof rules / sizeof *rules; i++) {
        if (strcmp(name, rules[i].name) != 0) continue;
        options->compaction = rules[i].compaction;
        options->edge_length = rules[i].edge_length;
        return 0;
    }
    errno = EINVAL;
    return -1;
}

// The position to go back to, or 0 for a new child, whose number of distinct steps is then
// in *steps.
ouro_position ouro__compact(ouro__lane *lane, ouro_position from, ouro_block block,
                            uint32_t *steps) {
    *steps = 1;
    if (from == ROOT_POSITION) return 0;
    switch (lane->profile->compaction) {
    case OURO_LOOPS:
        return loops(lane, from, block, steps);
    case OURO_CYCLES:
        return cycles(lane, from, block);
    case OURO_EDGES:
        return edges(lane, from, block, lane->profile->edge_length);
    default:
        return 0;
    }
}
