// SPDX-License-Identifier: MIT
//
// The call graph around a block against a naive model: a list of paths, each looked through letter
// by letter, on random stacks. The model has no tree and no subtrees.

#include "questions.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

enum { LETTERS = 9, LONGEST = 14, STACKS = 60, ROUNDS = 300, LAYERS = 2, OUTSIDE = 99 };

typedef struct {
    int length, letters[LONGEST];
    int64_t value;
} path;

typedef struct {
    path paths[STACKS];
    int count;
} list;

static bool has(const path *p, int x) {
    bool found = false;
    for (int i = 0; i < p->length; i++) found |= p->letters[i] == x;
    return found;
}

// `from` and `to` are sets of letters.
static bool has_step(const path *p, const bool *from, const bool *to) {
    bool found = false;
    for (int i = 1; i < p->length; i++) found |= from[p->letters[i - 1]] && to[p->letters[i]];
    return found;
}

static int64_t sum_steps(const list *l, int x, const bool *from, const bool *to, bool *any) {
    int64_t sum = 0;
    for (int i = 0; i < l->count; i++) {
        if (!has_step(&l->paths[i], from, to)) continue;
        if (any) *any = true;
        if (has(&l->paths[i], x)) sum += l->paths[i].value;
    }
    return sum;
}

static profile *make(list *l) {
    profile *p = ouro__profile_new();
    ouro__profile_add_metric(p, "samples", "count");
    for (char c = 'a'; c < 'a' + LETTERS; c++) ouro__profile_add_named(p, &c, 1);
    builder *b = ouro__builder_new(p, RULE_NONE, 0);
    l->count = 1 + (int)random_below(STACKS);
    for (int i = 0; i < l->count; i++) {
        path *one = &l->paths[i];
        uint32_t blocks[LONGEST];
        *one = (path){.length = 1 + (int)random_below(LONGEST), .value = random_below(6)};
        for (int j = 0; j < one->length; j++)
            blocks[j] = (uint32_t)(one->letters[j] = (int)random_below(LETTERS));
        ouro__charge(p, 0, ouro__builder_stack(b, blocks, (uint32_t)one->length), one->value);
    }
    ouro__builder_free(b);
    error e;
    CHECK(ouro__profile_finish(p, &e));
    return p;
}

// ---------------------------------------------------------------- which blocks

typedef struct {
    int layer[LETTERS], order[LETTERS], count;
} chosen;

static void choose(chosen *c, const int64_t *flow, uint32_t most, int layer) {
    for (uint32_t taken = 0; taken < most; taken++) {
        int best = -1;
        for (int b = 0; b < LETTERS; b++) {
            if (c->layer[b] == OUTSIDE && flow[b] && (best < 0 || flow[b] > flow[best])) best = b;
        }
        if (best < 0) return;
        c->layer[best] = layer;
        c->order[c->count++] = best;
    }
}

static chosen model_choice(const list *l, int x, uint32_t most) {
    chosen c = {.order = {x}, .count = 1};
    for (int b = 0; b < LETTERS; b++) c.layer[b] = b == x ? 0 : OUTSIDE;
    for (int distance = 1; distance <= LAYERS; distance++) {
        bool callers[LETTERS], callees[LETTERS];
        int64_t in[LETTERS] = {0}, out[LETTERS] = {0};
        for (int b = 0; b < LETTERS; b++) {
            callers[b] = c.layer[b] == 1 - distance;
            callees[b] = c.layer[b] == distance - 1;
        }
        for (int b = 0; b < LETTERS; b++) {
            bool one[LETTERS] = {0};
            one[b] = true;
            in[b] = sum_steps(l, x, one, callers, NULL);
            out[b] = sum_steps(l, x, callees, one, NULL);
            if (in[b] > out[b]) out[b] = 0;
            if (in[b] <= out[b]) in[b] = 0;
        }
        choose(&c, in, most, -distance);
        choose(&c, out, most, distance);
    }
    return c;
}

static int64_t value_of(const list *l, int x, int b) {
    int64_t sum = 0;
    for (int i = 0; i < l->count; i++)
        sum += has(&l->paths[i], x) && has(&l->paths[i], b) ? l->paths[i].value : 0;
    return sum;
}

static void check_blocks(const neighbourhood *h, const list *l, int x, uint32_t most) {
    chosen c = model_choice(l, x, most);
    CHECK_EQUAL(h->block_count, c.count);
    for (uint32_t i = 0; i < h->block_count && !test_failures(); i++) {
        CHECK_EQUAL(h->blocks[i].block, c.order[i]);
        CHECK_EQUAL(h->blocks[i].layer, c.layer[c.order[i]]);
        CHECK_EQUAL(h->blocks[i].value, value_of(l, x, c.order[i]));
    }
}

// ---------------------------------------------------------------- what flows

static void check_flows(const neighbourhood *h, const list *l, int x) {
    uint32_t expected = 0;
    for (uint32_t i = 0; i < h->block_count; i++) {
        for (uint32_t j = 0; j < h->block_count; j++) {
            bool from[LETTERS] = {0}, to[LETTERS] = {0};
            from[h->blocks[i].block] = to[h->blocks[j].block] = true;
            int64_t sum = sum_steps(l, x, from, to, NULL), told = 0;
            for (uint32_t f = 0; f < h->flow_count; f++) {
                if (h->flows[f].from == i && h->flows[f].to == j) told += h->flows[f].value;
            }
            CHECK_EQUAL(told, sum);
            expected += sum != 0;
        }
    }
    CHECK_EQUAL(h->flow_count, expected);
    for (uint32_t f = 1; f < h->flow_count; f++) CHECK(h->flows[f - 1].value >= h->flows[f].value);
}

static void check_counts(const neighbourhood *h, const list *l, int x) {
    uint32_t callers = 0, callees = 0;
    bool itself[LETTERS] = {0};
    itself[x] = true;
    for (int b = 0; b < LETTERS; b++) {
        bool one[LETTERS] = {0}, calls = false, called = false;
        one[b] = b != x;
        sum_steps(l, x, one, itself, &calls);
        sum_steps(l, x, itself, one, &called);
        callers += calls;
        callees += called;
    }
    CHECK_EQUAL(h->caller_count, callers);
    CHECK_EQUAL(h->callee_count, callees);
}

TEST(the_call_graph_around_a_block_is_that_of_its_paths) {
    for (int round = 0; round < ROUNDS && !test_failures(); round++) {
        static list l;
        profile *p = make(&l);
        uint32_t x = random_below(LETTERS), most = 1 + random_below(3);
        neighbourhood h;
        CHECK(ouro__neighbourhood(p, 0, x, most, &h));
        check_blocks(&h, &l, (int)x, most);
        check_flows(&h, &l, (int)x);
        check_counts(&h, &l, (int)x);
        ouro__neighbourhood_free(&h);
        ouro__profile_free(p);
    }
}

TEST(a_block_that_no_path_has_stands_alone) {
    profile *p = ouro__profile_new();
    ouro__profile_add_metric(p, "samples", "count");
    ouro__profile_add_named(p, "a", 1);
    error e;
    neighbourhood h;
    CHECK(ouro__profile_finish(p, &e));
    CHECK(ouro__neighbourhood(p, 0, 0, 5, &h));
    CHECK_EQUAL(h.block_count, 1);
    CHECK_EQUAL(h.flow_count, 0);
    CHECK_EQUAL(h.blocks[0].value, 0);
    ouro__neighbourhood_free(&h);
    ouro__profile_free(p);
}
