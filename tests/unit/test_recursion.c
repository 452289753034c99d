// SPDX-License-Identifier: MIT
//
// How often and how deep blocks recursed, against the stacks that a profile was made of: letter by
// letter, before anything is compacted.

#include "questions.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LETTERS = 5, LONGEST = 60, STACKS = 40, ROUNDS = 100 };

typedef struct {
    int length;
    uint32_t letters[LONGEST];
} stack;

static const struct {
    int rule, k;
} rules[] = {{RULE_LOOPS, 0}, {RULE_CYCLES, 0}, {RULE_EDGES, 1},
             {RULE_EDGES, 2}, {RULE_EDGES, 3},  {RULE_NONE, 0}};
enum { RULES = sizeof rules / sizeof *rules };

static profile *empty_profile(void) {
    profile *p = ouro__profile_new();
    ouro__profile_add_metric(p, "samples", "count");
    for (char c = 'a'; c < 'a' + LETTERS; c++) ouro__profile_add_named(p, &c, 1);
    return p;
}

static stack random_stack(const stack *before) {
    stack s = {0};
    s.length = (int)random_below((uint32_t)before->length + 1);
    memcpy(s.letters, before->letters, sizeof s.letters);
    for (uint32_t more = 1 + random_below(6); more && s.length < LONGEST; more--)
        s.letters[s.length++] = random_below(LETTERS);
    return s;
}

// A step counts unless the stack before had it at the same place, behind the same blocks.
static void model_add(recursion model[LETTERS], const stack *before, const stack *s) {
    int shared = 0;
    while (shared < s->length && shared < before->length &&
           s->letters[shared] == before->letters[shared])
        shared++;
    for (int i = 0; i < s->length; i++) {
        uint32_t x = s->letters[i], times = 1;
        for (int j = 0; j < i; j++) times += s->letters[j] == x;
        if (times == 1) continue;
        if (times > model[x].deepest) model[x].deepest = times;
        if (i < shared) continue;
        if (s->letters[i - 1] == x) model[x].direct++;
        if (s->letters[i - 1] != x) model[x].through++;
    }
}

static profile *made(int rule, int k, recursion model[LETTERS]) {
    profile *p = empty_profile();
    builder *b = ouro__builder_new(p, rule, k);
    stack before = {0};
    for (int i = 0; i < STACKS; i++) {
        stack s = random_stack(&before);
        ouro__charge(p, 0, ouro__builder_stack(b, s.letters, (size_t)s.length), 1);
        model_add(model, &before, &s);
        before = s;
    }
    ouro__builder_free(b);
    CHECK(ouro__profile_finish(p, NULL));
    return p;
}

static void check_same(const profile *p, const recursion *model) {
    recursion *got = ouro__recursion(p);
    for (uint32_t x = 0; CHECK(got) && x < LETTERS; x++) {
        CHECK_EQUAL(got[x].direct, model[x].direct);
        CHECK_EQUAL(got[x].through, model[x].through);
        CHECK_EQUAL(got[x].deepest, model[x].deepest);
    }
    free(got);
}

TEST(recursion_is_that_of_the_stacks_whatever_the_rule) {
    for (int round = 0; round < ROUNDS && !test_failures(); round++) {
        for (int r = 0; r < RULES; r++) {
            recursion model[LETTERS] = {0};
            profile *p = made(rules[r].rule, rules[r].k, model);
            check_same(p, model);
            ouro__profile_free(p);
        }
    }
}

TEST(filters_and_compaction_keep_what_was_counted) {
    for (int round = 0; round < ROUNDS && !test_failures(); round++) {
        recursion model[LETTERS] = {0};
        profile *p = made(RULE_NONE, 0, model);
        uint32_t a = random_below(LETTERS);
        filter f = {.select = &a, .select_count = 1}, fold = {.fold = &a, .fold_count = 1};
        profile *made_of[] = {ouro__filter(p, &f, NULL), ouro__filter(p, &fold, NULL),
                              ouro__compacted(p, RULE_LOOPS, 0, NULL), ouro__divided(p, 3, NULL),
                              ouro__pruned(p, 0.1, NULL)};
        for (size_t i = 0; i < sizeof made_of / sizeof *made_of; i++) {
            if (CHECK(made_of[i])) check_same(made_of[i], model);
            ouro__profile_free(made_of[i]);
        }
        ouro__profile_free(p);
    }
}

TEST(a_sum_has_the_recursion_of_all_and_the_deepest) {
    recursion model[2][LETTERS] = {0};
    profile *parts[] = {made(RULE_LOOPS, 0, model[0]), made(RULE_NONE, 0, model[1])};
    merger *m = ouro__merger_new(RULE_LOOPS, 0);
    CHECK(ouro__merger_add(m, parts[0], NULL) && ouro__merger_add(m, parts[1], NULL));
    profile *sum = ouro__merger_end(m, NULL);
    for (int x = 0; x < LETTERS; x++) {
        model[0][x].direct += model[1][x].direct;
        model[0][x].through += model[1][x].through;
        if (model[1][x].deepest > model[0][x].deepest) model[0][x].deepest = model[1][x].deepest;
    }
    if (CHECK(sum)) check_same(sum, model[0]);
    ouro__profile_free(sum);
    for (int i = 0; i < 2; i++) ouro__profile_free(parts[i]);
}

TEST(a_stack_of_a_million_is_a_million_deep) {
    enum { DEEP = 1000000 };
    profile *p = empty_profile();
    builder *b = ouro__builder_new(p, RULE_LOOPS, 0);
    for (int i = 0; i < DEEP; i++) ouro__builder_push(b, 1);
    ouro__charge(p, 0, ouro__builder_node(b), 1);
    ouro__builder_free(b);
    CHECK(ouro__profile_finish(p, NULL));
    recursion model[LETTERS] = {[1] = {DEEP - 1, 0, DEEP}};
    check_same(p, model);
    CHECK_EQUAL(p->node_count, 2);
    ouro__profile_free(p);
}

// ---------------------------------------------------------------- the recorder's metrics

// Enters and exits at random, as the recorder counts them, and in the model a plain stack.
static profile *recorded(recursion model[LETTERS]) {
    enum { CALLS = 1, RECURSIONS, DIRECT };
    profile *p = empty_profile();
    ouro__profile_add_metric(p, "calls", "count");
    ouro__profile_add_metric(p, "recursions", "count");
    ouro__profile_add_metric(p, "direct", "count");
    builder *b = ouro__builder_new(p, RULE_LOOPS, 0);
    uint32_t nodes[LONGEST] = {0}, letters[LONGEST];
    for (int i = 0, depth = 0; i < 600; i++) {
        if (depth && (random_below(5) < 2 || depth == LONGEST - 1)) {
            depth--;
            continue;
        }
        uint32_t x = random_below(LETTERS), before = p->node_count, times = 1;
        uint32_t at = depth ? nodes[depth - 1] : 0, to = ouro__builder_enter(b, at, x);
        bool back = p->node_count == before && p->parent[to] != at;
        ouro__charge(p, CALLS, to, 1);
        ouro__charge(p, RECURSIONS, to, back);
        ouro__charge(p, DIRECT, to, to == at);
        for (int j = 0; j < depth; j++) times += letters[j] == x;
        bool direct = depth && letters[depth - 1] == x;
        model[x].direct += times > 1 && direct;
        model[x].through += times > 1 && !direct;
        letters[depth] = x;
        nodes[depth++] = to;
    }
    ouro__builder_free(b);
    CHECK(ouro__profile_finish(p, NULL));
    return p;
}

TEST(the_recorders_metrics_tell_the_same) {
    for (int round = 0; round < ROUNDS && !test_failures(); round++) {
        recursion model[LETTERS] = {0};
        profile *p = recorded(model);
        recursion *got = ouro__recursion(p);
        for (uint32_t x = 0; CHECK(got) && x < LETTERS; x++) {
            CHECK_EQUAL(got[x].direct, model[x].direct);
            CHECK_EQUAL(got[x].through, model[x].through);
            // A back edge hides how deep the stack was.
            if (model[x].direct) CHECK_EQUAL(got[x].deepest, 0);
        }
        free(got);
        ouro__profile_free(p);
    }
}

// ---------------------------------------------------------------- what is not known

TEST(names_of_unknown_code_do_not_recurse) {
    profile *p = empty_profile();
    uint32_t unknown = ouro__profile_add_named(p, "[unknown]", 9);
    builder *b = ouro__builder_new(p, RULE_LOOPS, 0);
    ouro__charge(p, 0, ouro__builder_stack(b, (uint32_t[]){0, unknown, unknown, unknown}, 4), 1);
    ouro__builder_free(b);
    CHECK(ouro__profile_finish(p, NULL));
    recursion *got = ouro__recursion(p);
    CHECK(!ouro__recurses(&got[unknown]));
    free(got);
    ouro__profile_free(p);
}

// ---------------------------------------------------------------- knots

static const knot *knot_of(const knots *k, uint32_t block) {
    for (uint32_t i = 0; i < k->count; i++) {
        for (uint32_t j = 0; j < k->knots[i].block_count; j++) {
            if (k->knots[i].blocks[j] == block) return &k->knots[i];
        }
    }
    return NULL;
}

TEST(a_block_that_only_calls_itself_is_a_knot) {
    profile *p = empty_profile();
    builder *b = ouro__builder_new(p, RULE_LOOPS, 0);
    ouro__charge(p, 0, ouro__builder_stack(b, (uint32_t[]){0, 1, 1, 1, 2}, 5), 7);
    ouro__builder_free(b);
    CHECK(ouro__profile_finish(p, NULL));
    knots k;
    CHECK(ouro__knots(p, 0, &k));
    const knot *one = knot_of(&k, 1);
    CHECK_EQUAL(k.count, 1);
    if (CHECK(one)) {
        CHECK_EQUAL(one->block_count, 1);
        CHECK_EQUAL(one->overall, 7);
        CHECK_EQUAL(one->recursion.direct, 2);
        CHECK_EQUAL(one->recursion.deepest, 3);
        CHECK_EQUAL(one->in_count, 1);
        CHECK_EQUAL(one->out_count, 1);
        CHECK_EQUAL(one->edge_count, 0);
    }
    ouro__knots_free(&k);
    ouro__profile_free(p);
}

// What is spent on paths with the step, each path once, letter by letter in the finished tree.
static int64_t model_step(const profile *p, uint32_t from, uint32_t to) {
    int64_t sum = 0;
    for (uint32_t n = 1; n < p->node_count; n++) {
        bool has = false;
        for (uint32_t up = n; p->parent[up]; up = p->parent[up])
            has |= p->block[up] == to && p->block[p->parent[up]] == from;
        sum += has ? p->values[0][n] : 0;
    }
    return sum;
}

TEST(the_edges_of_a_knot_are_the_steps_inside) {
    for (int round = 0; round < ROUNDS / 4 && !test_failures(); round++) {
        recursion model[LETTERS] = {0};
        profile *p = made(RULE_LOOPS, 0, model);
        knots k;
        CHECK(ouro__knots(p, 0, &k));
        for (uint32_t i = 0; i < k.count; i++) {
            const knot *one = &k.knots[i];
            uint32_t count = 0;
            for (uint32_t x = 0; x < LETTERS; x++) {
                for (uint32_t y = 0; y < LETTERS; y++)
                    count += x != y && knot_of(&k, x) == one && knot_of(&k, y) == one &&
                             model_step(p, x, y) > 0;
            }
            CHECK_EQUAL(one->edge_count, count);
            for (uint32_t e = 0; e < one->edge_count; e++) {
                const knot_edge *edge = &one->edges[e];
                CHECK_EQUAL(edge->value, model_step(p, edge->from, edge->to));
                CHECK(e == 0 || edge->value <= one->edges[e - 1].value);
            }
        }
        ouro__knots_free(&k);
        ouro__profile_free(p);
    }
}

// What a block calls itself does not come in from outside: `--knots` and `--block` tell one number.
TEST(calls_into_a_knot_are_those_that_its_blocks_get_from_outside) {
    for (int round = 0; round < ROUNDS / 4 && !test_failures(); round++) {
        recursion model[LETTERS] = {0};
        profile *p = recorded(model);
        knots k;
        CHECK(ouro__knots(p, 1, &k));
        for (uint32_t i = 0; i < k.count; i++) {
            int64_t in = 0, listed = 0;
            for (uint32_t j = 0; j < k.knots[i].block_count; j++) {
                around a;
                CHECK(ouro__around(p, 1, &k.knots[i].blocks[j], 1, &a));
                for (uint32_t c = 0; c < a.caller_count; c++) {
                    uint32_t caller = a.callers[c].block;
                    if (caller == NO_BLOCK || knot_of(&k, caller) != &k.knots[i])
                        in += a.callers[c].calls;
                }
                ouro__around_free(&a);
            }
            for (uint32_t c = 0; c < k.knots[i].in_count; c++) listed += k.knots[i].in[c].calls;
            CHECK_EQUAL(k.knots[i].calls, in);
            CHECK_EQUAL(listed, in);
        }
        ouro__knots_free(&k);
        ouro__profile_free(p);
    }
}
