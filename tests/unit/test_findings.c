// SPDX-License-Identifier: MIT
//
// Findings against a naive model: a list of stacks, asked letter by letter whether each sentence is
// true, and for the shapes that profiles have, whether what matters is said.

#include "questions.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LETTERS = 26, LONGEST = 40, LISTED = 200, ROUNDS = 300 };

typedef struct {
    int length;
    uint32_t letters[LONGEST];
    int64_t value;
} path;

typedef struct {
    path paths[LISTED];
    int count;
    int64_t total;
} list;

// ---------------------------------------------------------------- both worlds

static profile *empty_profile(const char *metric, const char *unit) {
    profile *p = ouro__profile_new();
    ouro__profile_add_metric(p, metric, unit);
    for (char c = 'a'; c < 'a' + LETTERS; c++) ouro__profile_add_named(p, &c, 1);
    return p;
}

static void add(list *l, profile *p, builder *b, const path *one) {
    uint32_t node = ouro__builder_stack(b, one->letters, (size_t)one->length);
    ouro__charge(p, 0, node, one->value);
    l->paths[l->count++] = *one;
    l->total += one->value;
}

// Lines like "abc 5": a stack of letters, root first.
static profile *profile_of(const char *lines, list *l) {
    profile *p = empty_profile("work", "count");
    builder *b = ouro__builder_new(p, RULE_LOOPS, 0);
    *l = (list){0};
    for (const char *at = lines; *at; at += strcspn(at, "\n") + 1) {
        path one = {0};
        for (; *at != ' '; at++) one.letters[one.length++] = (uint32_t)(*at - 'a');
        one.value = atoi(at);
        add(l, p, b, &one);
    }
    ouro__builder_free(b);
    CHECK(ouro__profile_finish(p, NULL));
    return p;
}

static profile *random_profile(list *l) {
    profile *p = empty_profile("work", "count");
    builder *b = ouro__builder_new(p, RULE_LOOPS, 0);
    uint32_t letters = 2 + random_below(LETTERS - 1), stacks = 1 + random_below(LISTED / 2);
    path one = {0};
    *l = (list){0};
    for (uint32_t i = 0; i < stacks; i++) {
        one.length = (int)random_below((uint32_t)one.length + 1);
        for (uint32_t more = 1 + random_below(6); more && one.length < LONGEST; more--)
            one.letters[one.length++] = random_below(letters);
        one.value = random_below(4) ? random_below(20) : random_below(2000);
        add(l, p, b, &one);
    }
    ouro__builder_free(b);
    CHECK(ouro__profile_finish(p, NULL));
    return p;
}

static findings found_in(const profile *p) {
    totals t;
    knots k;
    findings f = {0};
    recursion *recursed = ouro__recursion(p);
    CHECK(recursed && ouro__totals(p, 0, NULL, 0, &t) && ouro__knots(p, 0, &k));
    CHECK(ouro__findings(p, 0, &t, &k, recursed, &f));
    ouro__totals_free(&t);
    ouro__knots_free(&k);
    free(recursed);
    return f;
}

// ---------------------------------------------------------------- the model

static bool has(const path *p, uint32_t x) {
    for (int i = 0; i < p->length; i++) {
        if (p->letters[i] == x) return true;
    }
    return false;
}

static bool has_step(const path *p, uint32_t x, uint32_t y) {
    for (int i = 1; i < p->length; i++) {
        if (p->letters[i - 1] == x && p->letters[i] == y) return true;
    }
    return false;
}

static int64_t self_of(const list *l, uint32_t x) {
    int64_t sum = 0;
    for (int i = 0; i < l->count; i++)
        sum += l->paths[i].letters[l->paths[i].length - 1] == x ? l->paths[i].value : 0;
    return sum;
}

static int64_t overall_of(const list *l, uint32_t x) {
    int64_t sum = 0;
    for (int i = 0; i < l->count; i++) sum += has(&l->paths[i], x) ? l->paths[i].value : 0;
    return sum;
}

static int64_t step_of(const list *l, uint32_t x, uint32_t y) {
    int64_t sum = 0;
    for (int i = 0; i < l->count; i++) sum += has_step(&l->paths[i], x, y) ? l->paths[i].value : 0;
    return sum;
}

static int deepest_of(const list *l, uint32_t x) {
    int deepest = 0;
    for (int i = 0; i < l->count; i++) {
        int times = 0;
        for (int j = 0; j < l->paths[i].length; j++) times += l->paths[i].letters[j] == x;
        deepest = times > deepest ? times : deepest;
    }
    return deepest;
}

// A caller is only named if there is another, and it is nearly the only one.
static void check_caller(const list *l, const finding *f) {
    if (f->other == NO_BLOCK) return;
    int64_t callers = 0, main = step_of(l, f->other, f->block);
    for (int i = 0; i < l->count; i++) // the root
        callers += l->paths[i].letters[0] == f->block ? l->paths[i].value : 0;
    for (uint32_t x = 0; x < LETTERS; x++) callers += x != f->block ? step_of(l, x, f->block) : 0;
    CHECK(callers > main);
    CHECK(main * 10 >= callers * 9);
    CHECK(main * 10 >= overall_of(l, f->block) * 9);
}

static void check_self(const list *l, const finding *f) {
    CHECK_EQUAL(f->value, self_of(l, f->block));
    CHECK(f->value * 5 >= l->total);
    for (uint32_t x = 0; x < LETTERS; x++) CHECK(self_of(l, x) <= f->value);
    check_caller(l, f);
}

static void check_under(const list *l, const finding *f) {
    CHECK_EQUAL(f->value, overall_of(l, f->block));
    CHECK(f->value * 100 >= l->total * 15);
    CHECK(f->value * 10 < l->total * 9); // not the trunk
    check_caller(l, f);
}

static void find_reach(const list *l, bool reach[LETTERS][LETTERS]) {
    for (int i = 0; i < l->count; i++) {
        const path *p = &l->paths[i];
        for (int j = 1; j < p->length; j++) reach[p->letters[j - 1]][p->letters[j]] = true;
    }
    for (int k = 0; k < LETTERS; k++)
        for (int i = 0; i < LETTERS; i++)
            for (int j = 0; j < LETTERS; j++) reach[i][j] |= reach[i][k] && reach[k][j];
}

static void check_group(const list *l, const finding *f) {
    uint64_t members = 0;
    int64_t overall = 0;
    bool in[LETTERS] = {0}, reach[LETTERS][LETTERS] = {{0}};
    find_reach(l, reach);
    for (uint32_t x = 0; x < LETTERS; x++)
        members += in[x] = reach[f->block][x] && reach[x][f->block];
    for (int i = 0; i < l->count; i++) {
        bool any = false;
        for (int j = 0; j < l->paths[i].length; j++) any |= in[l->paths[i].letters[j]];
        overall += any ? l->paths[i].value : 0;
    }
    CHECK(f->count > 1 && in[f->other]);
    CHECK_EQUAL(f->count, members);
    CHECK_EQUAL(f->value, overall);
}

static void check_recursion(const list *l, const finding *f) {
    CHECK(f->deep);
    CHECK_EQUAL(f->count, deepest_of(l, f->block));
    CHECK_EQUAL(f->value, overall_of(l, f->block));
    for (uint32_t x = 0; x < LETTERS; x++)
        CHECK(deepest_of(l, x) <= (int)f->count || overall_of(l, x) * 100 < l->total);
}

static void check_flat(const list *l, const finding *f) {
    int64_t selves[LETTERS], sum = 0;
    uint64_t half = 0;
    for (uint32_t x = 0; x < LETTERS; x++) selves[x] = self_of(l, x);
    CHECK_EQUAL(f->value, selves[f->block]);
    for (; sum * 2 < l->total; half++) {
        uint32_t most = 0;
        for (uint32_t x = 0; x < LETTERS; x++) most = selves[x] > selves[most] ? x : most;
        CHECK(selves[most] <= f->value && f->value * 10 < l->total);
        sum += selves[most];
        selves[most] = -1;
    }
    CHECK_EQUAL(f->count, half);
}

static void check_finding(const profile *p, const list *l, const finding *f) {
    finding_part parts[FINDING_PARTS];
    CHECK(ouro__finding_parts(p, f, l->total, parts) <= FINDING_PARTS);
    if (f->kind == FINDING_SELF) check_self(l, f);
    if (f->kind == FINDING_UNDER) check_under(l, f);
    if (f->kind == FINDING_GROUP) check_group(l, f);
    if (f->kind == FINDING_RECURSION) check_recursion(l, f);
    if (f->kind == FINDING_FLAT) check_flat(l, f);
    if (f->kind == FINDING_PATH || f->kind == FINDING_SPREAD) CHECK(f->value * 10 >= l->total);
}

TEST(every_finding_of_a_random_profile_is_true) {
    list *l = malloc(sizeof *l);
    for (int round = 0; round < ROUNDS && !test_failures(); round++) {
        profile *p = random_profile(l);
        findings f = found_in(p);
        CHECK(f.count <= FINDINGS_MOST);
        for (uint32_t i = 0; i < f.count; i++) {
            check_finding(p, l, &f.rows[i]);
            for (uint32_t j = 0; j < i; j++) CHECK(f.rows[j].kind != f.rows[i].kind);
        }
        ouro__profile_free(p);
    }
    free(l);
}

// ---------------------------------------------------------------- the shapes that profiles have

static void check_said(const profile *p, const char *want) {
    char text[2048] = "";
    findings f = found_in(p);
    for (uint32_t i = 0; i < f.count; i++) {
        finding_part parts[FINDING_PARTS];
        uint32_t count = ouro__finding_parts(p, &f.rows[i], f.total, parts);
        for (uint32_t j = 0; j < count; j++)
            strcat(text, parts[j].block == NO_BLOCK ? parts[j].text
                                                    : ouro__block_name(p, parts[j].block));
        strcat(text, "\n");
    }
    CHECK_TEXT(text, want);
}

static void check_shape(const char *lines, const char *want) {
    list *l = malloc(sizeof *l);
    profile *p = profile_of(lines, l);
    check_said(p, want);
    ouro__profile_free(p);
    free(l);
}

TEST(that_main_has_everything_is_not_said) {
    check_shape("m 100\n", "");
    check_shape("ma 10\nmb 11\nmc 10\nmd 9\n", "27.5% is spent in b itself.\n");
}

TEST(one_hot_leaf_is_said_with_the_caller_that_it_is_due_to) {
    check_shape("mabx 95\nmcx 5\nmc 50\nmd 50\n",
                "50.0% is spent in x itself, nearly all of it called by b.\n");
}

// Each of l and r is on nearly all paths of x, and calls it about as often as the other.
TEST(of_two_callers_that_call_each_other_none_is_the_one) {
    check_shape("mlxrx 50\nmrxlx 50\nmb 2\n",
                "98.0% is spent in x itself.\n"
                "One group of 3 blocks that call each other, l among them, holds 98.0%.\n");
}

TEST(one_hot_subtree_is_said_below_what_only_leads_to_it) {
    check_shape("matv 15\nmatw 15\nmatx 15\nmaty 15\nmb 13\nmc 13\nmd 13\nme 1\n",
                "60.0% is spent under t.\n");
}

// Ten blocks that only call the next, below a trunk that has a little more.
TEST(a_long_chain_is_said_by_its_end) {
    check_shape("mabcdefghijkx 190\nmabcdefghijky 190\nmabcdefghijkz 190\n"
                "mp 150\nmq 150\nmr 130\n",
                "57.0% is spent under k.\n");
}

TEST(one_hot_path_is_said_if_its_block_has_others) {
    check_shape("mabx 30\nmcx 10\nmx 10\nmdq 15\nmeq 15\nmfp 20\n",
                "50.0% is spent in x itself.\n"
                "The hottest path ends in x: it is 4 blocks long and takes 30.0%.\n");
}

TEST(recursion_is_said_with_its_depth) {
    check_shape("mrrrrrrrrrrrr 90\nmq 110\n", "55.0% is spent in q itself.\n"
                                              "r recurses 12 deep and holds 45.0%.\n");
}

TEST(blocks_that_call_each_other_are_one_group) {
    check_shape("mabab 40\nmabca 40\nmq 100\n",
                "55.6% is spent in q itself.\n"
                "One group of 3 blocks that call each other, a among them, holds 44.4%.\n");
    check_shape("mabab 80\nmq 100\n", "55.6% is spent in q itself.\n"
                                      "a and b call each other and hold 44.4%.\n");
}

TEST(a_dispatcher_is_said_to_spread) {
    check_shape("mra 15\nmrb 15\nmrc 15\nmrd 15\nmre 15\nmrf 15\nmrg 14\n",
                "r hands out 100.0% to 7 callees; the largest part, 14.4%, to a.\n");
}

TEST(a_flat_profile_is_said_to_be_flat) {
    char lines[LETTERS * 8] = "", *at = lines;
    for (int i = 2; i < LETTERS; i++) at += sprintf(at, "ab%c 10\n", 'a' + i);
    check_shape(lines,
                "b hands out 100.0% to 24 callees; the largest part, 4.2%, to c.\n"
                "No block stands out: c spends the most itself, 4.2%; it takes 12 blocks to make "
                "half.\n");
}

// ---------------------------------------------------------------- how much to trust it

TEST(few_samples_are_said_first) {
    profile *p = empty_profile("samples", "count");
    builder *b = ouro__builder_new(p, RULE_LOOPS, 0);
    ouro__charge(p, 0, ouro__builder_stack(b, (uint32_t[]){0, 1}, 2), 14);
    ouro__builder_free(b);
    CHECK(ouro__profile_finish(p, NULL));
    check_said(p, "Only 14 samples: too few to trust the shares.\n"
                  "100.0% is spent in b itself.\n");
    ouro__profile_free(p);
}

// The recorder's clock adds a period per tick; other times are no ticks.
TEST(few_ticks_of_the_clock_are_told_from_few_nanoseconds) {
    for (int64_t tick = 1003009; tick <= 1003010; tick++) {
        profile *p = empty_profile("time", "nanoseconds");
        ouro__profile_add_metric(p, "calls", "count");
        ouro__profile_add_metric(p, "recursions", "count");
        builder *b = ouro__builder_new(p, RULE_LOOPS, 0);
        ouro__charge(p, 0, ouro__builder_stack(b, (uint32_t[]){0, 1}, 2), 14 * tick);
        ouro__builder_free(b);
        CHECK(ouro__profile_finish(p, NULL));
        check_said(p, tick == 1003009 ? "The time is 14 ticks: too few to trust the shares.\n"
                                        "100.0% is spent in b itself.\n"
                                      : "100.0% is spent in b itself.\n");
        ouro__profile_free(p);
    }
}

TEST(what_was_cut_is_said_and_is_no_block_that_stands_out) {
    static const struct {
        const char *mark, *want;
    } cuts[] = {
        {"[pruned]", "60.0% is on paths that were pruned: what they called is not known.\n"},
        {"[lost]", "60.0% was lost: there was no path to charge it to.\n"},
        {"[truncated]",
         "60.0% is on stacks that were cut off: their first callers are not known.\n"},
    };
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        profile *p = empty_profile("work", "count");
        uint32_t mark = ouro__profile_add_named(p, cuts[i].mark, strlen(cuts[i].mark));
        builder *b = ouro__builder_new(p, RULE_LOOPS, 0);
        ouro__charge(p, 0, ouro__builder_stack(b, (uint32_t[]){mark}, 1), 600);
        for (uint32_t x = 1; x < 5; x++)
            ouro__charge(p, 0, ouro__builder_stack(b, (uint32_t[]){0, x}, 2), 100);
        ouro__builder_free(b);
        CHECK(ouro__profile_finish(p, NULL));
        char want[512];
        snprintf(want, sizeof want, "%s40.0%% is spent under a.\n", cuts[i].want);
        check_said(p, want);
        ouro__profile_free(p);
    }
}

TEST(nothing_is_said_of_nothing_and_of_sums_with_negative_parts) {
    check_shape("ab 0\n", "There is nothing to show: no path was charged anything.\n");
    check_shape("ab -5\nac 90\n", "");
}

TEST(deep_profiles_take_no_longer_than_their_size) {
    enum { DEEP = 1000000 };
    profile *p = empty_profile("work", "count");
    builder *b = ouro__builder_new(p, RULE_NONE, 0);
    for (uint32_t i = 0; i < DEEP; i++) ouro__charge(p, 0, ouro__builder_push(b, i % LETTERS), 1);
    ouro__builder_free(b);
    CHECK(ouro__profile_finish(p, NULL));
    findings f = found_in(p);
    CHECK(f.count > 0);
    ouro__profile_free(p);
}
