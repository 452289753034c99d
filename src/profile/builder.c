// SPDX-License-Identifier: MIT
//
// Finds and makes nodes. The children of a node are a linked list, the newest first. A node with
// more than FEW children has them in a hash table of (parent, block) too. Most nodes have few, and
// a new path is made near nodes that were just touched, so it costs no cache misses. Back edges
// have a hash table of their own. Only a transition that was never taken before asks the rule.
//
// The rules need to know where a block occurs on the path. So the builder keeps the path on which
// it made its last node, and per block the greatest depth on that path, with a chain to the depths
// above. A rule that looks for some blocks in a row goes along the shortest of their chains, not
// along the path; a block that is new on its path, as most are, costs nothing. docs/algorithm.md
// defines the rules.
//
// Compaction takes recursion away, so it is counted before: readers push and pop the blocks of
// their stacks, and the builder knows how often each block stands on the stack.

#include "builder.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

// Occurrences of a block that a rule looks at. Where that is too few, the path only stays longer.
enum { LOOKBACK = 4096, EDGE_MOST = 3 };
// Children that are compared one by one before the hash table is asked.
enum { FEW = 4 };
// Steps of work, see budget.h: for a block that is entered, and for each node of the path that is
// left or pushed again.
enum { ENTER_STEPS = 4, PATH_STEPS = 4 };

typedef struct {
    uint32_t from, block, to;
} back_edge;

typedef struct {
    uint32_t block, node;
} frame;

struct builder {
    profile *profile;
    int rule, edge_length;
    lookup children; // of nodes with more than FEW
    lookup backs;
    back_edge *back;
    uint32_t back_count, back_room;

    // By node: its newest child, and the next older child of its parent; 0 = none.
    uint32_t *first, *next;
    // By node, for the rules: distinct steps on its path, and its depth.
    uint32_t *distinct, *depth;
    uint32_t node_room;

    // The path: nodes and blocks by depth, the root at 0. deepest[b]: the greatest depth of block
    // b, 0 = none; before[d]: the next smaller depth of the same block.
    uint32_t *path, *blocks, *before, *deepest;
    uint32_t path_depth, path_room, block_room;

    // The last stack, uncompacted: frames 1 to stack_length, the root at 0. standing[b]: how often
    // block b stands on it.
    frame *stack;
    size_t stack_length, stack_room;
    uint32_t *standing, standing_room;
    bool silent; // recursion is told by metrics
};

// The column with more room. Without memory: as it was, and *ok is cleared.
static void *grown(void *column, uint64_t room, size_t size, bool *ok) {
    void *larger = realloc(column, room * size);
    if (!larger) *ok = false;
    return larger ? larger : column;
}

static uint32_t *grown_words(uint32_t *column, uint64_t room, bool *ok) {
    return grown(column, room, sizeof *column, ok);
}

static void out_of_memory(builder *b) {
    if (!b->profile->failed) b->profile->failed = ENOMEM;
}

builder *ouro__builder_new(profile *p, int rule, int edge_length) {
    builder *b = calloc(1, sizeof *b);
    if (!b) return NULL;
    b->profile = p;
    b->rule = rule == RULE_AS_IT_IS ? RULE_NONE : rule;
    b->edge_length = edge_length ? edge_length : 2;
    p->rule = rule;
    p->edge_length = b->edge_length;
    return b;
}

bool ouro__builder_is_valid(const builder *b) {
    const profile *p = b->profile;
    if (p->failed || p->end) return true; // a finished profile has moved its nodes
    uint32_t listed = 0;
    bool ok = true;
    for (uint32_t n = 0; ok && b->node_room && n < p->node_count; n++) {
        for (uint32_t child = b->first[n]; ok && child; child = b->next[child], listed++)
            ok = p->parent[child] == n && b->next[child] < child;
    }
    for (uint32_t i = 0; ok && i < b->back_count; i++) {
        const back_edge *e = &b->back[i];
        ok = p->block[e->to] == e->block && b->depth[e->to] <= b->depth[e->from];
    }
    for (size_t i = 1; ok && i <= b->stack_length; i++) ok = b->standing[b->stack[i].block] > 0;
    return ok && (!b->node_room || listed == p->node_count - 1);
}

void ouro__builder_free(builder *b) {
    if (!b) return;
    assert(ouro__builder_is_valid(b));
    ouro__lookup_free(&b->children);
    ouro__lookup_free(&b->backs);
    free(b->back);
    free(b->first);
    free(b->next);
    free(b->distinct);
    free(b->depth);
    free(b->deepest);
    free(b->path);
    free(b->before);
    free(b->blocks);
    free(b->stack);
    free(b->standing);
    free(b);
}

// ---------------------------------------------------------------- the path

static bool room_for_block(builder *b, uint32_t block) {
    if (block < b->block_room) return true;
    uint32_t room = b->block_room ? b->block_room : 1024;
    while (room <= block) room *= 2;
    bool ok = true;
    b->deepest = grown_words(b->deepest, room, &ok);
    if (!ok) return false;
    memset(b->deepest + b->block_room, 0, (room - b->block_room) * sizeof *b->deepest);
    b->block_room = room;
    return true;
}

static bool room_for_path(builder *b, uint32_t depth) {
    if (depth < b->path_room) return true;
    uint64_t room = b->path_room ? (uint64_t)b->path_room * 2 : 1024;
    while (room <= depth) room *= 2;
    bool ok = true;
    b->path = grown_words(b->path, room, &ok);
    b->before = grown_words(b->before, room, &ok);
    b->blocks = grown_words(b->blocks, room, &ok);
    if (!ok) return false;
    b->path_room = (uint32_t)room;
    return true;
}

static void path_pop_to(builder *b, uint32_t depth) {
    for (; b->path_depth > depth; b->path_depth--)
        b->deepest[b->blocks[b->path_depth]] = b->before[b->path_depth];
}

static void path_push(builder *b, uint32_t node) {
    uint32_t d = ++b->path_depth, block = b->profile->block[node];
    b->path[d] = node;
    b->blocks[d] = block;
    b->before[d] = b->deepest[block];
    b->deepest[block] = d;
}

// Makes `path` the path of `node`: pops what differs, and pushes the rest. The rest is found from
// the node up, so it is written where it goes before it is pushed.
static bool path_seek(builder *b, uint32_t node) {
    const uint32_t *parent = b->profile->parent;
    uint32_t depth = b->depth[node], shared = depth, up = node;
    if (!room_for_path(b, depth)) return false;
    b->path[0] = 0;
    if (b->path_depth > depth) {
        ouro__spend(b->profile, PATH_STEPS * ((uint64_t)b->path_depth - depth));
        path_pop_to(b, depth);
    }
    while (shared > b->path_depth || (shared > 0 && b->path[shared] != up)) {
        up = parent[up];
        shared--;
    }
    ouro__spend(b->profile, PATH_STEPS * ((uint64_t)b->path_depth - shared + depth - shared));
    path_pop_to(b, shared);
    up = node;
    for (uint32_t d = depth; d > shared; d--, up = parent[up]) b->path[d] = up;
    for (uint32_t d = shared + 1; d <= depth; d++) path_push(b, b->path[d]);
    return true;
}

// ---------------------------------------------------------------- the rules

// Each returns the node to go back to, or NO_NODE for a new child. `path` leads to `at`.

// Do the last k - 1 blocks of the path and then `block` stand at `depth` and above it?
static bool stands_at(const builder *b, uint32_t depth, uint32_t block, uint32_t k) {
    if (depth < k || b->blocks[depth] != block) return false;
    for (uint32_t i = 1; i < k; i++) {
        if (b->blocks[depth - i] != b->blocks[b->path_depth + 1 - i]) return false;
    }
    return true;
}

// The greatest depth at which the last k - 1 blocks of the path and then `block` occur; 0 = none.
// Each of the k blocks has a chain of its occurrences, and what is looked for is on all of them.
// They are followed side by side, so the shortest decides.
static uint32_t find_run(const builder *b, uint32_t block, uint32_t k) {
    uint32_t end = b->path_depth, chain[EDGE_MOST], seen = 0;
    if (end + 1 < k) return 0;
    chain[0] = b->deepest[block];
    for (uint32_t i = 1; i < k; i++) chain[i] = b->before[end + 1 - i];
    for (; chain[0] && seen < LOOKBACK; seen++) {
        for (uint32_t i = 0; i < k; i++) {
            if (chain[i] == 0 || stands_at(b, chain[i] + i, block, k)) {
                ouro__spend(b->profile, (uint64_t)seen * k);
                return chain[i] ? chain[i] + i : 0;
            }
            chain[i] = b->before[chain[i]];
        }
    }
    ouro__spend(b->profile, (uint64_t)seen * k);
    return 0;
}

// loops: a step may be repeated only after a new step. `distinct` counts the distinct steps of a
// path, so a node with as many as `at` lies after the last new step.
static uint32_t loops(const builder *b, uint32_t at, uint32_t block, uint32_t *distinct) {
    uint32_t depth = find_run(b, block, 2);
    *distinct = b->distinct[at] + (depth == 0);
    if (depth == 0) return NO_NODE;
    uint32_t node = b->path[depth];
    return b->distinct[node] == b->distinct[at] ? node : NO_NODE;
}

// edges: do the last k blocks of path + block already occur, adjacent, on the path?
static uint32_t edges(const builder *b, uint32_t block) {
    uint32_t depth = find_run(b, block, (uint32_t)b->edge_length);
    return depth ? b->path[depth] : NO_NODE;
}

// cycles: if the last n blocks of path + block repeat the n just before them, go back to the node
// that ended the first copy; shortest first.
static uint32_t cycles(const builder *b, uint32_t block) {
    const uint32_t *end = b->blocks + b->path_depth + 1;
    uint32_t length = b->path_depth, longest = (length < LOOKBACK ? length + 1 : LOOKBACK) / 2;
    if (longest && end[-1] == block) return b->path[length];
    ouro__spend(b->profile, longest);
    for (uint32_t n = 2; n <= longest; n++) {
        if (end[-(int64_t)n] != block || end[-(int64_t)n - 1] != end[-1]) continue;
        ouro__spend(b->profile, n);
        if (memcmp(end - (n - 1), end - (2 * (size_t)n - 1), (n - 1) * sizeof *end) == 0)
            return b->path[length + 1 - n];
    }
    return NO_NODE;
}

static uint32_t ask_rule(builder *b, uint32_t at, uint32_t block, uint32_t *distinct) {
    *distinct = 1;
    if (at == 0) return NO_NODE;
    if (b->rule == RULE_LOOPS) return loops(b, at, block, distinct);
    if (b->rule == RULE_EDGES) return edges(b, block);
    return cycles(b, block);
}

// ---------------------------------------------------------------- transitions

static bool room_for_node(builder *b, uint32_t node) {
    if (node < b->node_room) return true;
    uint64_t room = b->node_room ? (uint64_t)b->node_room * 2 : 1024;
    if (room < b->profile->node_room) room = b->profile->node_room;
    bool ok = true;
    b->first = grown_words(b->first, room, &ok);
    b->next = grown_words(b->next, room, &ok);
    if (b->rule != RULE_NONE) b->distinct = grown_words(b->distinct, room, &ok);
    if (b->rule != RULE_NONE) b->depth = grown_words(b->depth, room, &ok);
    if (!ok) return false;
    if (!b->node_room) b->first[0] = b->next[0] = 0;
    if (!b->node_room && b->rule != RULE_NONE) b->distinct[0] = b->depth[0] = 0;
    b->node_room = (uint32_t)room;
    return true;
}

// Compares the newest children. *family: how many children there are, or FEW + 1 if there are more:
// then all are in the hash table.
static inline __attribute__((always_inline)) uint32_t find_among_few(const builder *b, uint32_t at,
                                                                     uint32_t block, int *family) {
    uint32_t child = b->node_room ? b->first[at] : 0;
    for (*family = 0; child && *family < FEW; ++*family, child = b->next[child]) {
        if (b->profile->block[child] == block) return child;
    }
    if (child) *family = FEW + 1;
    return NO_NODE;
}

static inline __attribute__((always_inline)) uint32_t find_among_many(const builder *b, uint32_t at,
                                                                      uint32_t block,
                                                                      uint32_t hash) {
    const profile *p = b->profile;
    uint32_t row;
    for (uint64_t i = ouro__lookup_first(&b->children, hash);
         (row = ouro__lookup_next(&b->children, hash, &i)) != NO_ROW;) {
        if (p->parent[row] == at && p->block[row] == block) return row;
    }
    return NO_NODE;
}

// When the number of children exceeds FEW, all of them go into the hash table.
static bool index_family(builder *b, uint32_t at, uint32_t hash, int family) {
    uint32_t child = b->first[at];
    if (family > FEW) return ouro__lookup_add(&b->children, hash, child);
    for (; family == FEW && child; child = b->next[child]) {
        if (!ouro__lookup_add(&b->children, ouro__hash_pair(at, b->profile->block[child]), child))
            return false;
    }
    return true;
}

static uint32_t add_child(builder *b, uint32_t at, uint32_t block, uint32_t hash, int family) {
    if (!room_for_node(b, b->profile->node_count)) {
        out_of_memory(b);
        return 0;
    }
    uint32_t node = ouro__profile_add_node(b->profile, at, block);
    if (!node) return 0;
    b->first[node] = 0;
    b->next[node] = b->first[at];
    b->first[at] = node;
    if (!index_family(b, at, hash, family)) out_of_memory(b);
    return node;
}

static void add_back_edge(builder *b, uint32_t at, uint32_t block, uint32_t hash, uint32_t to) {
    if (b->back_count == b->back_room) {
        uint32_t room = b->back_room ? b->back_room * 2 : 256;
        bool ok = true;
        b->back = grown(b->back, room, sizeof *b->back, &ok);
        if (!ok) return out_of_memory(b);
        b->back_room = room;
    }
    if (!ouro__lookup_add(&b->backs, hash, b->back_count)) return out_of_memory(b);
    b->back[b->back_count++] = (back_edge){at, block, to};
}

static uint32_t first_time(builder *b, uint32_t at, uint32_t block, uint32_t hash, int family) {
    if (!room_for_node(b, b->profile->node_count) || !room_for_block(b, block) ||
        !path_seek(b, at)) {
        out_of_memory(b);
        return 0;
    }
    uint32_t distinct, to = ask_rule(b, at, block, &distinct);
    if (to != NO_NODE) {
        add_back_edge(b, at, block, hash, to);
        return to;
    }
    to = add_child(b, at, block, hash, family);
    if (!to || !room_for_path(b, b->path_depth + 1)) {
        out_of_memory(b);
        return 0;
    }
    b->distinct[to] = distinct;
    b->depth[to] = b->path_depth + 1;
    path_push(b, to);
    return to;
}

static uint32_t find_back_edge(const builder *b, uint32_t at, uint32_t block, uint32_t hash) {
    uint32_t row;
    for (uint64_t i = ouro__lookup_first(&b->backs, hash);
         (row = ouro__lookup_next(&b->backs, hash, &i)) != NO_ROW;) {
        if (b->back[row].from == at && b->back[row].block == block) return b->back[row].to;
    }
    return NO_NODE;
}

// In both functions that enter, because a call of its own would cost a tenth of it.
static inline __attribute__((always_inline)) uint32_t enter(builder *b, uint32_t at,
                                                            uint32_t block) {
    if (b->rule == RULE_LOOPS && b->profile->block[at] == block) return at;
    ouro__spend(b->profile, ENTER_STEPS);
    int family;
    uint32_t to = find_among_few(b, at, block, &family);
    if (to != NO_NODE) return to;
    // A keyed hash costs more than comparing a few children: it is made only if a table is asked.
    bool asked = family >= FEW || b->rule != RULE_NONE;
    uint32_t hash = asked ? ouro__hash_pair(at, block) : 0;
    if (family > FEW) to = find_among_many(b, at, block, hash);
    if (to != NO_NODE) return to;
    if (b->profile->failed) return 0;
    if (b->rule == RULE_NONE) return add_child(b, at, block, hash, family);
    to = find_back_edge(b, at, block, hash);
    return to != NO_NODE ? to : first_time(b, at, block, hash, family);
}

uint32_t ouro__builder_enter(builder *b, uint32_t at, uint32_t block) {
    return enter(b, at, block);
}

// ---------------------------------------------------------------- the stack, uncompacted

__attribute__((noinline)) static bool room_for_stack(builder *b, uint32_t block) {
    bool ok = true;
    if (b->stack_length + 1 >= b->stack_room) {
        size_t room = b->stack_room * 2 + 64;
        b->stack = grown(b->stack, room, sizeof *b->stack, &ok);
        if (!ok) return false;
        b->stack[0] = (frame){NO_BLOCK, 0};
        b->stack_room = room;
    }
    if (block < b->standing_room) return true;
    uint32_t room = b->standing_room ? b->standing_room : 1024;
    while (room <= block) room *= 2;
    b->standing = grown_words(b->standing, room, &ok);
    if (!ok) return false;
    memset(b->standing + b->standing_room, 0, (room - b->standing_room) * sizeof *b->standing);
    b->standing_room = room;
    return true;
}

// The block stands on the stack twice or more.
__attribute__((noinline)) static void count_recursion(builder *b, uint32_t block, bool direct) {
    uint32_t times = b->standing[block];
    recursion *r = b->silent ? NULL : ouro__profile_recursed(b->profile, block);
    if (!r) return;
    r->direct += direct;
    r->through += !direct;
    if (times > r->deepest) r->deepest = times;
}

// Every step of every stack comes here: what is rare is in functions of its own.
uint32_t ouro__builder_push(builder *b, uint32_t block) {
    bool room = b->stack_length + 1 < b->stack_room && block < b->standing_room;
    if (!room && !room_for_stack(b, block)) {
        out_of_memory(b);
        return 0;
    }
    frame *here = &b->stack[++b->stack_length];
    here->block = block;
    if (++b->standing[block] > 1) count_recursion(b, block, here[-1].block == block);
    return here->node = enter(b, here[-1].node, block);
}

void ouro__builder_count_none(builder *b) { b->silent = true; }

void ouro__builder_pop_to(builder *b, size_t depth) {
    for (; b->stack_length > depth; b->stack_length--)
        b->standing[b->stack[b->stack_length].block]--;
}

size_t ouro__builder_depth(const builder *b) { return b->stack_length; }

uint32_t ouro__builder_node(const builder *b) {
    return b->stack ? b->stack[b->stack_length].node : 0;
}

uint32_t ouro__builder_stack(builder *b, const uint32_t *blocks, size_t length) {
    size_t same = 0, most = length < b->stack_length ? length : b->stack_length;
    while (same < most && b->stack[same + 1].block == blocks[same]) same++;
    ouro__builder_pop_to(b, same);
    for (size_t i = same; i < length && !b->profile->failed; i++) ouro__builder_push(b, blocks[i]);
    return ouro__builder_node(b);
}
