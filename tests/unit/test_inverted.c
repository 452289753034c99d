// SPDX-License-Identifier: MIT
//
// The tree upside down, and the trees of the callers and callees of a block, against a naive walk:
// every sequence of blocks is compared letter by letter with the end of every path.

#include "questions.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 4, ROUNDS = 60, NODES = 90, MANY = 100000 };

static profile *random_profile(uint32_t nodes, uint32_t blocks) {
    profile *p = ouro__profile_new();
    ouro__profile_add_metric(p, "samples", "count");
    for (uint32_t b = 0; b < blocks; b++) {
        char name[12];
        ouro__profile_add_named(p, name, (size_t)sprintf(name, "f%u", b));
    }
    builder *b = ouro__builder_new(p, RULE_NONE, 0);
    for (uint32_t i = 0; i < nodes; i++) {
        uint32_t at = random_below(2) ? p->node_count - 1 : random_below(p->node_count);
        uint32_t node = ouro__builder_enter(b, at, random_below(blocks));
        ouro__charge(p, 0, node, random_below(3) ? random_below(100) : 0);
    }
    ouro__builder_free(b);
    CHECK(ouro__profile_finish(p, NULL));
    return p;
}

// ---------------------------------------------------------------- the model

typedef struct {
    uint32_t blocks[NODES + 1], length; // the last of a path first
} sequence;

// The last blocks of the path to a node, at most `most`.
static sequence ending(const profile *p, uint32_t node, uint32_t most) {
    sequence s = {.length = 0};
    for (uint32_t n = node; n && s.length < most; n = p->parent[n])
        s.blocks[s.length++] = p->block[n];
    return s;
}

static bool same(const sequence *a, const sequence *b) {
    return a->length == b->length &&
           memcmp(a->blocks, b->blocks, a->length * sizeof(uint32_t)) == 0;
}

static int64_t value_of(const profile *p, const int64_t *weight, const sequence *s) {
    int64_t sum = s->length ? 0 : weight[0];
    for (uint32_t n = 1; n < p->node_count; n++) {
        sequence end = ending(p, n, s->length);
        sum += same(&end, s) ? weight[n] : 0;
    }
    return sum;
}

// Different sequences with a value that begin with `top`.
static uint32_t count_of(const profile *p, const int64_t *weight, const sequence *top) {
    sequence *seen = malloc((size_t)NODES * NODES * sizeof *seen);
    uint32_t count = 0;
    for (uint32_t n = 1; n < p->node_count; n++) {
        if (!weight[n]) continue;
        for (uint32_t length = top->length + 1; length <= NODES; length++) {
            sequence s = ending(p, n, length), start = s;
            start.length = top->length;
            if (s.length < length || !same(&start, top)) break;
            bool known = false;
            for (uint32_t i = 0; !known && i < count; i++) known = same(&seen[i], &s);
            if (!known) seen[count++] = s;
        }
    }
    free(seen);
    return count + 1;
}

static void check_layout(const flame *rows, uint32_t count) {
    int64_t *next = calloc(count, sizeof *next), *before = calloc(count, sizeof *before);
    for (uint32_t i = 1; i < count; i++) {
        const flame *f = &rows[i], *up = &rows[f->parent];
        CHECK(f->parent < i && f->depth == up->depth + 1 && f->value > 0);
        CHECK_EQUAL(f->left, up->left + next[f->parent]);
        CHECK(!before[f->parent] || f->value <= before[f->parent]);
        next[f->parent] += f->value;
        before[f->parent] = f->value;
    }
    free(next);
    free(before);
}

// The sequence of a row, by the blocks of the rows above it.
static sequence sequence_of(const profile *p, const flame *rows, uint32_t row,
                            const sequence *top) {
    sequence s = {.length = top->length + rows[row].depth};
    memcpy(s.blocks, top->blocks, sizeof s.blocks);
    for (uint32_t i = row, at = s.length; i; i = rows[i].parent)
        s.blocks[--at] = p->block[rows[i].node];
    return s;
}

static void check_inverted(const profile *p, uint32_t end, uint32_t level, uint32_t limit) {
    const int64_t *weight = p->values[0];
    sequence top = ending(p, end, level);
    flame *rows;
    uint32_t count;
    flame_rest rest;
    if (!CHECK(ouro__inverted(p, weight, end, level, limit, &rows, &count, &rest))) return;
    check_layout(rows, count);
    uint32_t all = count_of(p, weight, &top);
    CHECK_EQUAL(count, all < limit ? all : limit);
    CHECK(!rest.cut && rest.wide <= rest.boxes && (rest.boxes > 0) == (count < all));
    for (uint32_t i = 0; i < count; i++) {
        sequence s = sequence_of(p, rows, i, &top);
        CHECK_EQUAL(rows[i].value, value_of(p, weight, &s));
        sequence through = ending(p, rows[i].path_end, s.length);
        CHECK(same(&through, &s));
    }
    free(rows);
}

TEST(upside_down_a_box_has_what_ends_with_its_blocks) {
    for (int round = 0; round < ROUNDS && !test_failures(); round++) {
        profile *p = random_profile(1 + random_below(NODES - 1), 1 + random_below(BLOCKS));
        check_inverted(p, 0, 0, NODES * NODES);
        check_inverted(p, 0, 0, 1 + random_below(30));
        for (int i = 0; i < 4; i++) {
            uint32_t end = 1 + random_below(p->node_count - 1);
            uint32_t level = 1 + random_below(ending(p, end, NODES).length);
            check_inverted(p, end, level, random_below(2) ? 5 : 10000);
        }
        ouro__profile_free(p);
    }
}

// ---------------------------------------------------------------- around a block

// What was charged to paths in which `s`, last block first, follows or leads to the first `block`.
static int64_t naive_around(const profile *p, uint32_t block, const sequence *s, bool callers) {
    int64_t sum = 0;
    for (uint32_t n = 1; n < p->node_count; n++) {
        uint32_t path[NODES + 1], length = 0, first = 0;
        for (uint32_t up = n; up; up = p->parent[up]) length++;
        uint32_t at = length;
        for (uint32_t up = n; up; up = p->parent[up]) path[--at] = p->block[up];
        while (first < length && path[first] != block) first++;
        bool fits = first < length;
        for (uint32_t i = 0; fits && i < s->length; i++) {
            fits = callers ? first >= i && path[first - i] == s->blocks[i]
                           : first + i < length && path[first + i] == s->blocks[i];
        }
        sum += fits ? p->values[0][n] : 0;
    }
    return sum;
}

static void check_around(const profile *p, const int64_t *running, uint32_t block, bool callers) {
    flame *rows;
    uint32_t count;
    flame_rest rest;
    bool ok = (callers ? ouro__flame_callers : ouro__flame_callees)(p, running, block, MANY, &rows,
                                                                    &count, &rest);
    if (!CHECK(ok)) return;
    check_layout(rows, count);
    CHECK(rest.boxes == 0 && !rest.cut);
    sequence top = {.blocks = {block}, .length = 1};
    int64_t *below = calloc(count, sizeof *below);
    for (uint32_t i = 0; i < count; i++) {
        sequence s = sequence_of(p, rows, i, &top);
        CHECK_EQUAL(rows[i].value, naive_around(p, block, &s, callers));
        if (i) below[rows[i].parent] += rows[i].value;
    }
    // Nothing is missing: what a box has beyond its callers came from the root.
    for (uint32_t i = 0; i < count; i++) CHECK(below[i] <= rows[i].value);
    for (uint32_t n = 1; n < p->node_count && callers; n++) {
        bool first = p->block[n] == block;
        for (uint32_t up = p->parent[n]; up; up = p->parent[up]) first &= p->block[up] != block;
        if (!first || ouro__inclusive(p, running, n) <= 0) continue;
        sequence wanted = ending(p, n, NODES);
        bool found = false;
        for (uint32_t i = 0; !found && i < count; i++) {
            sequence s = sequence_of(p, rows, i, &top);
            found = same(&s, &wanted);
        }
        CHECK(found);
    }
    free(below);
    free(rows);
}

TEST(callers_and_callees_of_a_block_count_each_path_once) {
    for (int round = 0; round < ROUNDS && !test_failures(); round++) {
        profile *p = random_profile(1 + random_below(NODES - 1), BLOCKS);
        int64_t *running = ouro__running(p, 0);
        for (uint32_t b = 0; b < BLOCKS; b++) {
            check_around(p, running, b, true);
            check_around(p, running, b, false);
        }
        free(running);
        ouro__profile_free(p);
    }
}

// ---------------------------------------------------------------- very deep

// One block that calls itself, not compacted: every node ends a path. The whole tree would have
// five thousand million entries.
TEST(a_recursion_that_was_not_compacted_is_cut_where_the_work_is_too_much) {
    profile *p = ouro__profile_new();
    ouro__profile_add_metric(p, "samples", "count");
    uint32_t node = 0, f = ouro__profile_add_named(p, "f", 1);
    for (uint32_t i = 0; i < MANY; i++) {
        node = ouro__profile_add_node(p, node, f);
        ouro__charge(p, 0, node, 1);
    }
    CHECK(ouro__profile_finish(p, NULL));
    for (uint32_t level = 0; level <= MANY; level += MANY / 2) {
        flame *rows;
        uint32_t count;
        flame_rest rest;
        CHECK(ouro__inverted(p, p->values[0], node, level, 4000, &rows, &count, &rest));
        CHECK_EQUAL(rows[0].value, level ? MANY - level + 1 : MANY);
        CHECK(level == MANY ? count == 1 && !rest.cut : count > 1 && count < 4000 && rest.cut);
        for (uint32_t i = 1; i < count; i++) CHECK_EQUAL(rows[i].value, MANY - level - i + 1);
        free(rows);
    }
    ouro__profile_free(p);
}
