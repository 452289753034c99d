// SPDX-License-Identifier: MIT
//
// Every question against a naive model: a list of paths, walked and compared letter by letter, on
// random trees. The model knows the design's sentences and none of the tricks: no columns, no
// preorder, no hashes.

#include "questions.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LETTERS = 6, LONGEST = 200, LISTED = 4000, METRICS = 2, ROUNDS = 150 };

typedef struct {
    uint8_t length, letters[LONGEST];
    int64_t values[METRICS];
} path;

typedef struct {
    path *paths;
    int count;
} list;

static list list_new(void) { return (list){calloc(LISTED, sizeof(path)), 0}; }

static bool same_path(const path *a, const path *b) {
    return a->length == b->length && memcmp(a->letters, b->letters, a->length) == 0;
}

static void list_add(list *l, const path *p) {
    int i = 0;
    while (i < l->count && !same_path(&l->paths[i], p)) i++;
    if (i == LISTED) abort();
    if (i == l->count) {
        l->paths[l->count++] = *p;
        return;
    }
    for (int m = 0; m < METRICS; m++) l->paths[i].values[m] += p->values[m];
}

// ---------------------------------------------------------------- the rules, word for word

static bool step_is(const path *p, int end, uint8_t from, uint8_t to) {
    return end >= 1 && p->letters[end] == to && p->letters[end - 1] == from;
}

// The number of distinct steps of the first n letters; the step from the root is one.
static int distinct_steps(const path *p, int n) {
    int count = 0;
    for (int i = 0; i < n; i++) {
        bool seen = false;
        for (int j = 1; j < i; j++)
            seen |= i >= 1 && step_is(p, j, p->letters[i - 1], p->letters[i]);
        count += !seen;
    }
    return count;
}

static int loops_target(const path *p, uint8_t x) {
    int n = p->length;
    if (p->letters[n - 1] == x) return n;
    int all = distinct_steps(p, n), q = n;
    while (q > 1 && distinct_steps(p, q - 1) == all) q--;
    for (int end = n; end >= q; end--) {
        if (step_is(p, end - 1, p->letters[n - 1], x)) return end;
    }
    return 0;
}

static int cycles_target(const path *p, uint8_t x) {
    path longer = *p;
    longer.letters[longer.length++] = x;
    for (int n = 1; 2 * n <= longer.length; n++) {
        const uint8_t *end = longer.letters + longer.length;
        if (memcmp(end - n, end - 2 * n, (size_t)n) == 0) return longer.length - n;
    }
    return 0;
}

static int edges_target(const path *p, uint8_t x, int k) {
    path longer = *p;
    longer.letters[longer.length++] = x;
    if (longer.length < k) return 0;
    for (int end = p->length; end >= k; end--) {
        if (memcmp(longer.letters + end - k, longer.letters + longer.length - k, (size_t)k) == 0)
            return end;
    }
    return 0;
}

static void model_enter(path *p, uint8_t x, int rule, int k) {
    int target = p->length == 0        ? 0
                 : rule == RULE_LOOPS  ? loops_target(p, x)
                 : rule == RULE_CYCLES ? cycles_target(p, x)
                 : rule == RULE_EDGES  ? edges_target(p, x, k)
                                       : 0;
    if (target) {
        p->length = (uint8_t)target;
    } else {
        p->letters[p->length++] = x;
    }
}

// Places that a stack only passes are noted in `passed`, if there is one: their steps count
// for knots.
static path model_canonical(const path *p, int rule, int k, list *passed) {
    path out = {0};
    for (int i = 0; i < p->length; i++) {
        model_enter(&out, p->letters[i], rule, k);
        if (passed) list_add(passed, &out);
    }
    memcpy(out.values, p->values, sizeof out.values);
    return out;
}

// ---------------------------------------------------------------- random stacks, in both worlds

static const struct {
    int rule, k;
} rules[] = {{RULE_LOOPS, 0}, {RULE_CYCLES, 0}, {RULE_EDGES, 1},
             {RULE_EDGES, 2}, {RULE_EDGES, 3},  {RULE_NONE, 0}};

static path random_stack(const path *before) {
    path p = {0};
    uint32_t shared = before->length ? random_below(before->length + 1u) : 0;
    memcpy(p.letters, before->letters, shared);
    p.length = (uint8_t)shared;
    uint32_t more = random_below(8);
    for (uint32_t i = 0; i < more && p.length < 40; i++)
        p.letters[p.length++] = (uint8_t)random_below(LETTERS);
    for (int m = 0; m < METRICS; m++) p.values[m] = random_below(50);
    return p;
}

static profile *empty_profile(void) {
    profile *p = ouro__profile_new();
    ouro__profile_add_metric(p, "samples", "count");
    ouro__profile_add_metric(p, "calls", "count");
    for (char c = 'a'; c < 'a' + LETTERS; c++) ouro__profile_add_named(p, &c, 1);
    return p;
}

static void make(int rule, int k, int stacks, profile **real, list *model) {
    *real = empty_profile();
    *model = list_new();
    builder *b = ouro__builder_new(*real, rule, k);
    path p = {0};
    for (int i = 0; i < stacks; i++) {
        p = random_stack(&p);
        uint32_t blocks[LONGEST];
        for (int j = 0; j < p.length; j++) blocks[j] = p.letters[j];
        uint32_t node = ouro__builder_stack(b, blocks, p.length);
        for (uint32_t m = 0; m < METRICS; m++) ouro__charge(*real, m, node, p.values[m]);
        path canonical = model_canonical(&p, rule, k, model);
        list_add(model, &canonical);
    }
    ouro__builder_free(b);
    error e;
    CHECK(ouro__profile_finish(*real, &e));
    CHECK(ouro__profile_is_valid(*real));
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

// Lines "abc 1 2", sorted; paths without values are left out, as filters may or may not keep
// such nodes.
static char *joined(char **lines, int count) {
    size_t size = 1;
    qsort(lines, (size_t)count, sizeof *lines, by_text);
    for (int i = 0; i < count; i++) size += strlen(lines[i]);
    char *text = calloc(size, 1), *end = text;
    for (int i = 0; i < count; i++) {
        end = stpcpy(end, lines[i]);
        free(lines[i]);
    }
    return text;
}

static char *describe_model(const list *l) {
    char **lines = calloc(LISTED, sizeof *lines);
    int count = 0;
    for (int i = 0; i < l->count; i++) {
        const path *p = &l->paths[i];
        if (!p->values[0] && !p->values[1]) continue;
        char letters[LONGEST + 1] = "";
        for (int j = 0; j < p->length; j++) letters[j] = (char)('a' + p->letters[j]);
        if (asprintf(&lines[count++], "%s %d %d\n", letters, (int)p->values[0], (int)p->values[1]) <
            0)
            abort();
    }
    char *text = joined(lines, count);
    free(lines);
    return text;
}

static char letter_of(const profile *p, uint32_t block) {
    const char *name = ouro__block_name(p, block);
    return strcmp(name, "(folded)") == 0   ? 'a' + LETTERS
           : strcmp(name, "[pruned]") == 0 ? 'z'
                                           : name[0];
}

static char *describe_real(const profile *p) {
    char **lines = calloc(p->node_count, sizeof *lines);
    int count = 0;
    for (uint32_t n = 0; n < p->node_count; n++) {
        if (!p->values[0][n] && !p->values[1][n]) continue;
        char letters[LONGEST + 1], *from = letters + LONGEST;
        *from = '\0';
        for (uint32_t up = n; up; up = p->parent[up]) *--from = letter_of(p, p->block[up]);
        if (asprintf(&lines[count++], "%s %d %d\n", from, (int)p->values[0][n],
                     (int)p->values[1][n]) < 0)
            abort();
    }
    char *text = joined(lines, count);
    free(lines);
    return text;
}

static void check_same(const profile *real, const list *model) {
    char *a = describe_real(real), *b = describe_model(model);
    CHECK_TEXT(a, b);
    CHECK(ouro__profile_is_valid(real));
    free(a);
    free(b);
}

static void each_rule(void check(profile *, const list *)) {
    for (size_t r = 0; r < sizeof rules / sizeof *rules; r++) {
        for (int round = 0; round < ROUNDS / 10; round++) {
            profile *real;
            list model;
            make(rules[r].rule, rules[r].k, 1 + (int)random_below(60), &real, &model);
            check(real, &model);
            ouro__profile_free(real);
            free(model.paths);
            if (test_failures()) return;
        }
    }
}

// ---------------------------------------------------------------- building

static void check_tree(profile *real, const list *model) { check_same(real, model); }

TEST(stacks_are_compacted_as_the_design_words_it) { each_rule(check_tree); }

TEST(compacting_a_canonical_tree_again_changes_nothing) {
    for (size_t r = 0; r < sizeof rules / sizeof *rules; r++) {
        profile *real;
        list model;
        make(rules[r].rule, rules[r].k, 80, &real, &model);
        profile *again = ouro__compacted(real, rules[r].rule, rules[r].k, NULL);
        if (CHECK(again)) check_same(again, &model);
        CHECK_EQUAL(again->node_count, real->node_count);
        ouro__profile_free(again);
        ouro__profile_free(real);
        free(model.paths);
    }
}

TEST(a_path_of_a_million_blocks_is_linear) {
    profile *p = empty_profile();
    builder *b = ouro__builder_new(p, RULE_LOOPS, 0);
    enum { LONG = 1000000 };
    uint32_t *blocks = malloc(LONG * sizeof *blocks);
    for (uint32_t i = 0; i < LONG; i++) {
        char name[16];
        blocks[i] = ouro__profile_add_named(p, name, (size_t)sprintf(name, "f%u", i));
    }
    ouro__charge(p, 0, ouro__builder_stack(b, blocks, LONG), 7);
    ouro__builder_free(b);
    CHECK(ouro__profile_finish(p, NULL));
    totals t;
    CHECK(ouro__totals(p, 0, NULL, 0, &t));
    CHECK_EQUAL(p->node_count, LONG + 1);
    CHECK_EQUAL(t.overall[blocks[0]], 7);
    CHECK_EQUAL(t.self[blocks[LONG - 1]], 7);
    ouro__totals_free(&t);
    ouro__profile_free(p);
    free(blocks);
}

TEST(sums_that_need_more_than_63_bits_are_refused) {
    profile *p = empty_profile();
    builder *b = ouro__builder_new(p, RULE_NONE, 0);
    ouro__charge(p, 0, ouro__builder_enter(b, 0, 1), INT64_MAX);
    ouro__charge(p, 0, ouro__builder_enter(b, 0, 2), 1);
    ouro__builder_free(b);
    error e = {0};
    CHECK(!ouro__profile_finish(p, &e));
    CHECK_TEXT(e.message, "the values of metric samples add up to more than 63 bits hold");
    ouro__charge(p, 0, 1, INT64_MAX);
    CHECK(!ouro__profile_finish(p, &e));
    CHECK_TEXT(e.message, "the values of a path add up to more than 63 bits hold");
    ouro__profile_free(p);
}

// ---------------------------------------------------------------- self and overall

static bool has_run(const path *p, const uint8_t *run, int length) {
    for (int i = 0; i + length <= p->length; i++) {
        if (memcmp(p->letters + i, run, (size_t)length) == 0) return true;
    }
    return false;
}

static int64_t model_total(const list *l, int m) {
    int64_t sum = 0;
    for (int i = 0; i < l->count; i++) sum += l->paths[i].values[m];
    return sum;
}

// What is known of a number of calls of x: nothing, if no path has a call of it.
static int64_t model_calls(const list *l, uint8_t x, int64_t calls) {
    for (int i = 0; i < l->count; i++) {
        const path *p = &l->paths[i];
        if (p->length && p->letters[p->length - 1] == x && p->values[1]) return calls;
    }
    return NOT_COUNTED;
}

static void check_totals(profile *real, const list *model) {
    totals t;
    if (!CHECK(ouro__totals(real, 0, NULL, 0, &t))) return;
    int64_t self_sum = real->values[0][0];
    for (uint8_t x = 0; x < LETTERS; x++) {
        int64_t self = 0, overall = 0, calls = 0;
        for (int i = 0; i < model->count; i++) {
            const path *p = &model->paths[i];
            bool last = p->length && p->letters[p->length - 1] == x;
            self += last ? p->values[0] : 0;
            calls += last ? p->values[1] : 0;
            overall += has_run(p, &x, 1) ? p->values[0] : 0;
        }
        CHECK_EQUAL(t.self[x], self);
        CHECK_EQUAL(t.overall[x], overall);
        // Without any call there is no column.
        CHECK_EQUAL(t.calls ? t.calls[x] : NOT_COUNTED, model_calls(model, x, calls));
        CHECK(t.overall[x] <= t.total);
        self_sum += self;
    }
    CHECK_EQUAL(t.total, model_total(model, 0));
    CHECK_EQUAL(self_sum, t.total);
    ouro__totals_free(&t);
}

TEST(self_and_overall_are_those_of_the_paths) { each_rule(check_totals); }

TEST(ranking_is_a_sort) {
    for (int round = 0; round < ROUNDS; round++) {
        int64_t values[40];
        uint32_t out[40], count = random_below(40), top = random_below(45);
        for (uint32_t i = 0; i < count; i++) values[i] = (int64_t)random_below(12) - 3;
        uint32_t used = ouro__rank(values, count, top, out), nonzero = 0;
        for (uint32_t i = 0; i < count; i++) nonzero += values[i] != 0;
        CHECK_EQUAL(used, nonzero < top ? nonzero : top);
        for (uint32_t r = 0; r < used; r++) {
            uint32_t ahead = 0; // how many stand before out[r] in the full order
            for (uint32_t i = 0; i < count; i++)
                ahead += values[i] && (values[i] > values[out[r]] ||
                                       (values[i] == values[out[r]] && i < out[r]));
            CHECK_EQUAL(ahead, r);
        }
    }
}

// ---------------------------------------------------------------- callers and callees

// What is charged to paths with the run, each once, and the calls of those that end with it.
static neighbour model_run(const list *l, const uint8_t *run, int length, bool at_root) {
    neighbour sum = {0, 0, 0};
    for (int i = 0; i < l->count; i++) {
        const path *p = &l->paths[i];
        bool has = at_root ? p->length >= length && !memcmp(p->letters, run, (size_t)length)
                           : has_run(p, run, length);
        bool ends = p->length >= length &&
                    !memcmp(p->letters + p->length - length, run, (size_t)length) &&
                    (!at_root || p->length == length);
        sum.overall += has ? p->values[0] : 0;
        sum.calls += ends ? p->values[1] : 0;
    }
    return sum;
}

static neighbour row_of(const neighbour *rows, uint32_t count, uint32_t block) {
    for (uint32_t i = 0; i < count; i++) {
        if (rows[i].block == block) return rows[i];
    }
    return (neighbour){block, 0, 0};
}

// `last`: the block whose calls the row has. A row that is not there has nothing.
static void check_row(neighbour got, const list *model, uint8_t last, neighbour want) {
    bool is_there = got.overall || got.calls;
    CHECK_EQUAL(got.overall, want.overall);
    CHECK_EQUAL(got.calls, is_there ? model_calls(model, last, want.calls) : want.calls);
}

static void check_neighbours(const around *a, const list *model, const uint8_t *run, int length) {
    uint8_t longer[8], last = run[length - 1];
    int64_t calls = 0;
    for (uint8_t x = 0; x < LETTERS; x++) {
        longer[0] = x;
        memcpy(longer + 1, run, (size_t)length);
        neighbour want = model_run(model, longer, length + 1, false);
        check_row(row_of(a->callers, a->caller_count, x), model, last, want);
        memcpy(longer, run, (size_t)length);
        longer[length] = x;
        want = model_run(model, longer, length + 1, false);
        check_row(row_of(a->callees, a->callee_count, x), model, x, want);
    }
    neighbour want = model_run(model, run, length, true);
    check_row(row_of(a->callers, a->caller_count, NO_BLOCK), model, last, want);
    if (a->calls == NOT_COUNTED) return;
    for (uint32_t i = 0; i < a->caller_count; i++) calls += a->callers[i].calls;
    CHECK_EQUAL(calls, a->calls); // callers of X sum to X's entries
}

static void check_around(profile *real, const list *model) {
    for (int tries = 0; tries < 12; tries++) {
        int length = 1 + (int)random_below(3);
        uint8_t run[4];
        uint32_t blocks[4];
        for (int i = 0; i < length; i++) blocks[i] = run[i] = (uint8_t)random_below(LETTERS);
        around a;
        if (!CHECK(ouro__around(real, 0, blocks, (size_t)length, &a))) return;
        neighbour want = model_run(model, run, length, false);
        CHECK_EQUAL(a.overall, want.overall);
        CHECK_EQUAL(a.calls, model_calls(model, run[length - 1], want.calls));
        check_neighbours(&a, model, run, length);
        ouro__around_free(&a);
    }
}

TEST(callers_and_callees_of_any_sequence) { each_rule(check_around); }

TEST(direct_recursion_counts_as_a_call_of_itself) {
    profile *p = empty_profile();
    ouro__profile_add_metric(p, "direct", "count");
    builder *b = ouro__builder_new(p, RULE_LOOPS, 0);
    uint32_t node = ouro__builder_stack(b, (uint32_t[]){0, 1}, 2);
    ouro__charge(p, 1, node, 10); // b was entered ten times, nine of these by itself
    ouro__charge(p, 2, node, 9);
    ouro__builder_free(b);
    ouro__profile_finish(p, NULL);
    around a;
    ouro__around(p, 0, (uint32_t[]){1}, 1, &a);
    CHECK_EQUAL(row_of(a.callers, a.caller_count, 0).calls, 1);
    CHECK_EQUAL(row_of(a.callers, a.caller_count, 1).calls, 9);
    CHECK_EQUAL(row_of(a.callees, a.callee_count, 1).calls, 9);
    CHECK_EQUAL(a.calls, 10);
    ouro__around_free(&a);
    ouro__profile_free(p);
}

// ---------------------------------------------------------------- knots

static void model_reach(const list *l, bool reach[LETTERS][LETTERS]) {
    for (int i = 0; i < l->count; i++) {
        const path *p = &l->paths[i];
        for (int j = 1; j < p->length; j++) reach[p->letters[j - 1]][p->letters[j]] = true;
    }
    for (int k = 0; k < LETTERS; k++)
        for (int i = 0; i < LETTERS; i++)
            for (int j = 0; j < LETTERS; j++) reach[i][j] |= reach[i][k] && reach[k][j];
}

static void check_knot(const knot *k, const list *model) {
    bool in[LETTERS] = {0};
    int64_t self = 0, overall = 0, out[LETTERS] = {0};
    for (uint32_t i = 0; i < k->block_count; i++) in[k->blocks[i]] = true;
    for (int i = 0; i < model->count; i++) {
        const path *p = &model->paths[i];
        bool any = false, flows[LETTERS] = {0};
        for (int j = 0; j < p->length; j++) {
            any |= in[p->letters[j]];
            if (j && in[p->letters[j - 1]] && !in[p->letters[j]]) flows[p->letters[j]] = true;
        }
        overall += any ? p->values[0] : 0;
        self += p->length && in[p->letters[p->length - 1]] ? p->values[0] : 0;
        for (int x = 0; x < LETTERS; x++) out[x] += flows[x] ? p->values[0] : 0;
    }
    CHECK_EQUAL(k->self, self);
    CHECK_EQUAL(k->overall, overall);
    for (uint32_t x = 0; x < LETTERS; x++)
        CHECK_EQUAL(row_of(k->out, k->out_count, x).overall, out[x]);
}

static void check_knots(profile *real, const list *model) {
    bool reach[LETTERS][LETTERS] = {0};
    model_reach(model, reach);
    knots k;
    recursion *recursed = ouro__recursion(real);
    if (!CHECK(recursed && ouro__knots(real, 0, &k))) return;
    uint32_t knot_of[LETTERS];
    memset(knot_of, 255, sizeof knot_of);
    for (uint32_t i = 0; i < k.count; i++) {
        for (uint32_t j = 0; j < k.knots[i].block_count; j++) knot_of[k.knots[i].blocks[j]] = i;
        check_knot(&k.knots[i], model);
    }
    for (int i = 0; i < LETTERS; i++) {
        bool circle = false;
        for (int j = 0; j < LETTERS; j++) {
            bool together = i != j && reach[i][j] && reach[j][i];
            circle |= together;
            if (i != j) CHECK_EQUAL(together, knot_of[i] != NO_ROW && knot_of[i] == knot_of[j]);
        }
        // test_recursion.c has a model of what recursed alone.
        CHECK_EQUAL(circle || ouro__recurses(&recursed[i]), knot_of[i] != NO_ROW);
    }
    free(recursed);
    ouro__knots_free(&k);
}

TEST(knots_are_circles_of_calls) { each_rule(check_knots); }

// Few steps, so that there are knots and blocks outside.
TEST(knots_of_sparse_graphs) {
    for (int round = 0; round < ROUNDS; round++) {
        profile *real = empty_profile();
        list model = list_new();
        builder *b = ouro__builder_new(real, RULE_NONE, 0);
        for (int i = 0; i < 5; i++) {
            path p = {.values = {1 + random_below(9), 1}};
            uint32_t blocks[4];
            for (int j = 0; j < 4; j++)
                blocks[j] = p.letters[p.length++] = (uint8_t)random_below(LETTERS);
            uint32_t node = ouro__builder_stack(b, blocks, 4);
            for (uint32_t m = 0; m < METRICS; m++) ouro__charge(real, m, node, p.values[m]);
            list_add(&model, &p);
        }
        ouro__builder_free(b);
        ouro__profile_finish(real, NULL);
        check_knots(real, &model);
        ouro__profile_free(real);
        free(model.paths);
    }
}

// ---------------------------------------------------------------- filters

typedef struct {
    uint32_t blocks[3];
    size_t count;
} choice;

static choice choose(uint32_t most) {
    choice c = {.count = random_below(most + 1)};
    for (size_t i = 0; i < c.count; i++) c.blocks[i] = random_below(LETTERS);
    return c;
}

static bool chosen(const choice *c, uint8_t x) {
    for (size_t i = 0; i < c->count; i++) {
        if (c->blocks[i] == x) return true;
    }
    return false;
}

static bool model_keeps(const path *p, const choice *select, const choice *exclude) {
    bool kept = true;
    for (size_t i = 0; i < select->count; i++)
        kept &= has_run(p, &(uint8_t){(uint8_t)select->blocks[i]}, 1);
    for (size_t i = 0; i < exclude->count; i++)
        kept &= !has_run(p, &(uint8_t){(uint8_t)exclude->blocks[i]}, 1);
    return kept;
}

static list model_filter(const list *l, const choice *select, const choice *exclude,
                         const choice *fold, int rule, int k) {
    list out = list_new();
    for (int i = 0; i < l->count; i++) {
        const path *p = &l->paths[i];
        if (!model_keeps(p, select, exclude)) continue;
        path folded = *p;
        folded.length = 0;
        for (int j = 0; j < p->length; j++) {
            if (!chosen(fold, p->letters[j])) folded.letters[folded.length++] = p->letters[j];
        }
        if (p->length && !folded.length) folded.letters[folded.length++] = LETTERS; // (folded)
        if (fold->count) folded = model_canonical(&folded, rule, k, NULL);
        list_add(&out, &folded);
    }
    return out;
}

static void check_filters(profile *real, const list *model) {
    for (int tries = 0; tries < 8; tries++) {
        choice select = choose(2), exclude = choose(1), fold = choose(3);
        filter f = {.select = select.blocks,
                    .select_count = select.count,
                    .exclude = exclude.blocks,
                    .exclude_count = exclude.count,
                    .fold = fold.blocks,
                    .fold_count = fold.count};
        profile *got = ouro__filter(real, &f, NULL);
        list want = model_filter(model, &select, &exclude, &fold, real->rule, real->edge_length);
        if (CHECK(got)) check_same(got, &want);
        ouro__profile_free(got);
        free(want.paths);
    }
}

TEST(filters_do_what_the_design_says) { each_rule(check_filters); }

// Each filter alone, one after the other, in any order that leaves folding to the end, and all
// at once.
static void check_order(profile *real, const list *model) {
    (void)model;
    uint32_t a = random_below(LETTERS), b = random_below(LETTERS);
    filter both = {.select = &a, .select_count = 1, .exclude = &b, .exclude_count = 1};
    filter select = {.select = &a, .select_count = 1},
           exclude = {.exclude = &b, .exclude_count = 1};
    profile *s = ouro__filter(real, &select, NULL), *se = ouro__filter(s, &exclude, NULL);
    profile *x = ouro__filter(real, &exclude, NULL), *xs = ouro__filter(x, &select, NULL);
    profile *at_once = ouro__filter(real, &both, NULL);
    char *one = describe_real(se), *two = describe_real(xs), *three = describe_real(at_once);
    CHECK_TEXT(one, two);
    CHECK_TEXT(one, three);
    free(one);
    free(two);
    free(three);
    profile *all[] = {s, se, x, xs, at_once};
    for (int i = 0; i < 5; i++) ouro__profile_free(all[i]);
}

TEST(the_order_of_filters_does_not_matter) { each_rule(check_order); }

static void check_folding_keeps_totals(profile *real, const list *model) {
    uint32_t all[LETTERS];
    for (uint32_t i = 0; i < LETTERS; i++) all[i] = i;
    profile *got =
        ouro__filter(real, &(filter){.fold = all, .fold_count = 1 + random_below(LETTERS)}, NULL);
    for (uint32_t m = 0; m < METRICS; m++)
        CHECK_EQUAL(ouro__total(got, m), model_total(model, (int)m));
    ouro__profile_free(got);
}

TEST(folding_keeps_totals_whatever_is_folded) { each_rule(check_folding_keeps_totals); }

TEST(more_than_64_blocks_can_be_selected) {
    profile *p = empty_profile();
    builder *b = ouro__builder_new(p, RULE_NONE, 0);
    uint32_t blocks[100];
    for (uint32_t i = 0; i < 100; i++) {
        char name[16];
        blocks[i] = ouro__profile_add_named(p, name, (size_t)sprintf(name, "f%u", i));
    }
    ouro__charge(p, 0, ouro__builder_stack(b, blocks, 100), 5);
    ouro__charge(p, 0, ouro__builder_stack(b, blocks, 99), 3);
    ouro__builder_free(b);
    ouro__profile_finish(p, NULL);
    profile *got = ouro__filter(p, &(filter){.select = blocks, .select_count = 100}, NULL);
    CHECK_EQUAL(ouro__total(got, 0), 5);
    ouro__profile_free(got);
    ouro__profile_free(p);
}

// ---------------------------------------------------------------- smaller, summed, compared

static void check_divided(profile *real, const list *model) {
    int64_t by = 1 + random_below(30);
    profile *got = ouro__divided(real, by, NULL);
    for (uint32_t m = 0; m < METRICS; m++)
        CHECK_EQUAL(ouro__total(got, m), model_total(model, (int)m) / by);
    for (uint32_t n = 1; n < got->node_count; n++) {
        bool any = false;
        for (uint32_t i = n; i < got->end[n]; i++) any |= got->values[0][i] || got->values[1][i];
        CHECK(any); // what became 0 is dropped
    }
    ouro__profile_free(got);
}

TEST(dividing_rounds_only_the_total) { each_rule(check_divided); }

static void check_pruned(profile *real, const list *model) {
    profile *got = ouro__pruned(real, 0.1, NULL);
    for (uint32_t m = 0; m < METRICS; m++)
        CHECK_EQUAL(ouro__total(got, m), model_total(model, (int)m));
    int64_t *running[] = {ouro__running(got, 0), ouro__running(got, 1)};
    for (uint32_t n = 1; n < got->node_count; n++) {
        bool large = false;
        for (uint32_t m = 0; m < METRICS; m++)
            large |=
                (double)ouro__inclusive(got, running[m], n) >= 0.1 * (double)ouro__total(got, m);
        CHECK(large || letter_of(got, got->block[n]) == 'z');
    }
    free(running[0]);
    free(running[1]);
    ouro__profile_free(got);
}

TEST(pruning_keeps_totals_and_what_is_large) { each_rule(check_pruned); }

TEST(merging_adds_path_by_path) {
    for (int round = 0; round < ROUNDS / 3; round++) {
        profile *a, *b;
        list model_a, model_b;
        make(RULE_NONE, 0, 20, &a, &model_a);
        make(RULE_NONE, 0, 20, &b, &model_b);
        for (int i = 0; i < model_b.count; i++) list_add(&model_a, &model_b.paths[i]);
        merger *m = ouro__merger_new(RULE_AS_IT_IS, 0);
        CHECK(ouro__merger_add(m, a, NULL) && ouro__merger_add(m, b, NULL));
        profile *sum = ouro__merger_end(m, NULL);
        if (CHECK(sum)) check_same(sum, &model_a);
        ouro__profile_free(sum);
        ouro__profile_free(a);
        ouro__profile_free(b);
        free(model_a.paths);
        free(model_b.paths);
    }
}

static uint32_t letters_of_both(const profile *a, const profile *b) {
    bool seen[LETTERS] = {0};
    uint32_t count = 0;
    for (uint32_t n = 1; n < a->node_count; n++) seen[letter_of(a, a->block[n]) - 'a'] = true;
    for (uint32_t n = 1; n < b->node_count; n++) seen[letter_of(b, b->block[n]) - 'a'] = true;
    for (int i = 0; i < LETTERS; i++) count += seen[i];
    return count;
}

TEST(comparing_matches_blocks_by_name) {
    for (int round = 0; round < ROUNDS / 3; round++) {
        profile *a, *b;
        list model_a, model_b;
        make(RULE_LOOPS, 0, 20, &a, &model_a);
        make(RULE_LOOPS, 0, 20, &b, &model_b);
        comparison c;
        totals ta, tb;
        if (!CHECK(ouro__compare(a, 0, b, 0, &c, NULL))) return;
        CHECK(ouro__totals(a, 0, NULL, 0, &ta) && ouro__totals(b, 0, NULL, 0, &tb));
        CHECK_EQUAL(c.count, letters_of_both(a, b));
        for (uint32_t i = 0; i < c.count; i++) {
            int x = c.rows[i].name[0] - 'a';
            CHECK(c.rows[i].in_before || c.rows[i].in_after);
            CHECK_EQUAL(c.rows[i].self_before, ta.self[x]);
            CHECK_EQUAL(c.rows[i].self_after, tb.self[x]);
            CHECK_EQUAL(c.rows[i].overall_before, ta.overall[x]);
            CHECK_EQUAL(c.rows[i].overall_after, tb.overall[x]);
        }
        ouro__comparison_free(&c);
        ouro__totals_free(&ta);
        ouro__totals_free(&tb);
        ouro__profile_free(a);
        ouro__profile_free(b);
        free(model_a.paths);
        free(model_b.paths);
    }
}

static void check_flame(profile *real, const list *model) {
    (void)model;
    flame *rows;
    uint32_t count, kept = 1;
    int64_t *running = ouro__running(real, 0);
    double share = random_below(2) ? 0 : 0.05, least = share * (double)running[real->node_count];
    if (!CHECK(ouro__flame_tree(real, 0, share, &rows, &count))) return;
    for (uint32_t n = 1; n < real->node_count; n++) {
        int64_t value = ouro__inclusive(real, running, n);
        kept += value > 0 && (double)value >= least;
    }
    CHECK_EQUAL(count, kept);
    for (uint32_t i = 1; i < count; i++) {
        const flame *f = &rows[i], *up = &rows[f->parent];
        CHECK(f->parent < i && f->depth == up->depth + 1);
        CHECK_EQUAL(real->parent[f->node], up->node);
        CHECK_EQUAL(f->value, ouro__inclusive(real, running, f->node));
        CHECK(f->left >= up->left && f->left + f->value <= up->left + up->value);
        // The next row is a child, or a sibling of somebody on the path that begins where this one
        // ends, and is no wider.
        if (i + 1 < count && rows[i + 1].parent == f->parent)
            CHECK(rows[i + 1].left == f->left + f->value && rows[i + 1].value <= f->value);
    }
    free(rows);
    free(running);
}

TEST(the_flame_tree_has_every_wide_node_in_its_place) { each_rule(check_flame); }

// ---------------------------------------------------------------- names

TEST(names_that_several_blocks_have_are_told_apart_by_place) {
    profile *p = ouro__profile_new();
    uint32_t f = ouro__profile_add_text(p, "f"), file = ouro__profile_add_text(p, "src/a.c");
    ouro__profile_add_block(p, &(block_info){f, file, 3, 1});
    ouro__profile_add_block(p, &(block_info){f, file, 9, 1});
    ouro__profile_add_block(p, &(block_info){f, file, 9, 5});
    ouro__profile_add_named(p, "alone", 5);
    error e = {0};
    uint32_t found = 99;
    CHECK(!ouro__find_block(p, "f", &found, &e));
    CHECK_TEXT(e.message,
               "3 blocks are called f; say which: f@src/a.c:3, f@src/a.c:9:1, f@src/a.c:9:5");
    CHECK(ouro__find_block(p, "f@src/a.c:3", &found, &e) && found == 0);
    CHECK(ouro__find_block(p, "src/a.c:9:5", &found, &e) && found == 2);
    CHECK(ouro__find_block(p, "alone", &found, &e) && found == 3);
    CHECK(!ouro__find_block(p, "lon", &found, &e));
    CHECK_TEXT(e.message, "no block is called lon; there is alone");
    CHECK(!ouro__find_block(p, "quux", &found, &e));
    ouro__profile_free(p);
}

// ---------------------------------------------------------------- hashes

// What CPython 3.11 says, which uses the same function, with the key 0 if PYTHONHASHSEED is 0:
// python3 -c 'print(hash(b"main") & 2**64 - 1)'.
TEST(names_are_hashed_as_cpython_hashes_them) {
    static const char text[] = "abcdefghijklmnop";
    static const uint64_t beginnings[] = {
        UINT64_C(0x407448d2b89b1813), UINT64_C(0x555508cbc6add439), UINT64_C(0xc03bc3a0042630f2),
        UINT64_C(0xe3d1d5fdd52aae89), UINT64_C(0x251f3c725bd784a2), UINT64_C(0x62207e654289df28),
        UINT64_C(0x6db12aae9070f506), UINT64_C(0x3f7b849c0b8e35ea), UINT64_C(0xf89b34a3d11eb6e5),
        UINT64_C(0xf47c264806c40ff1), UINT64_C(0x14215fc65e2c3bd4), UINT64_C(0x83275255f37565c1),
        UINT64_C(0x954aa964997ae4e6), UINT64_C(0xfdbd7fa99ace11da), UINT64_C(0x1fd27a29b0e9dc7a),
        UINT64_C(0x94f60d3d29e6a312)};
    static const hash_key key = {{0, 0}};
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        CHECK_EQUAL(ouro__siphash(&key, text, i + 1), beginnings[i]);
    CHECK_EQUAL(ouro__siphash(&key, "a name of more words", 20), UINT64_C(0xeaea33cfa3af98a0));
}

TEST(the_key_of_a_process_is_drawn) { CHECK(ouro__hash_key.words[0] && ouro__hash_key.words[1]); }

// ---------------------------------------------------------------- invariants

// Nodes: 0 the root, 1 a, 2 a;b, 3 a;c.
TEST(a_profile_with_a_damaged_column_is_not_valid) {
    profile *p = ouro__profile_new();
    ouro__profile_add_metric(p, "samples", "count");
    uint32_t a = ouro__profile_add_named(p, "a", 1), b = ouro__profile_add_named(p, "b", 1),
             c = ouro__profile_add_named(p, "c", 1);
    builder *build = ouro__builder_new(p, RULE_NONE, 0);
    ouro__charge(p, 0, ouro__builder_stack(build, (uint32_t[]){a, b}, 2), 1);
    ouro__charge(p, 0, ouro__builder_stack(build, (uint32_t[]){a, c}, 2), 2);
    CHECK(ouro__builder_is_valid(build));
    ouro__builder_free(build);
    CHECK(ouro__profile_finish(p, NULL) && ouro__profile_is_valid(p));
    struct {
        uint32_t *word, wrong;
    } damages[] = {{&p->parent[2], 2},     {&p->parent[3], 0},        {&p->end[1], 3},
                   {&p->end[0], 3},        {&p->block[0], 0},         {&p->block[3], b},
                   {&p->block[2], 3},      {&p->blocks[b].name, 999}, {&p->metrics[0].unit, 999},
                   {&p->default_metric, 1}};
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        uint32_t right = *damages[i].word;
        *damages[i].word = damages[i].wrong;
        test_check(!ouro__profile_is_valid(p), __FILE__, __LINE__, "damage %zu is not noticed", i);
        *damages[i].word = right;
    }
    p->values[0][3] = INT64_MAX;
    CHECK(!ouro__profile_is_valid(p));
    ouro__profile_free(p);
}
