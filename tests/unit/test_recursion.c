// SPDX-License-Identifier: MIT
//
// How often and how deep blocks recursed, against the stacks that a profile was made of: letter by
// letter, before anything is compacted.

#include "format.h"
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

// ---------------------------------------------------------------- files

// What a file tells of the model's blocks, whose numbers may be others there.
static void check_read(const char *path, int rule, const recursion model[static LETTERS]) {
    error e = {0};
    recursion in_order[LETTERS] = {0};
    profile *read = ouro__profile_read(path, NULL, &(read_options){.rule = rule}, &e);
    for (uint32_t b = 0; CHECK(read) && b < read->block_count; b++)
        in_order[b] = model[ouro__block_name(read, b)[0] - 'a'];
    if (read) check_same(read, in_order);
    ouro__profile_free(read);
}

TEST(files_of_ours_keep_the_recursion_of_compacted_paths) {
    static const int again[] = {RULE_DEFAULT, RULE_LOOPS, RULE_NONE};
    char *path = strdup(test_path("r.pb.gz"));
    for (int round = 0; round < 3 * RULES && !test_failures(); round++) {
        error e = {0};
        recursion model[LETTERS] = {0};
        profile *p = made(rules[round % RULES].rule, rules[round % RULES].k, model);
        CHECK(ouro__profile_write(p, path, ouro__format_named("pprof"), &(write_options){0}, &e));
        for (size_t i = 0; i < sizeof again / sizeof *again; i++) {
            check_read(path, again[i], model);
        }
        ouro__profile_free(p);
    }
    free(path);
}

// One stack in the words of every format that has stacks: main a b a a.
TEST(every_format_of_stacks_tells_the_same) {
    static const struct {
        const char *format, *text;
    } files[] = {
        {"folded", "main;a;b;a;a 1\n"},
        {"perf", "main 1 1.5: 7 cycles:\n\t5 a (x)\n\t4 a (x)\n\t3 b (x)\n\t2 a (x)\n\n"},
        {"speedscope",
         "{\"shared\":{\"frames\":[{\"name\":\"main\"},{\"name\":\"a\"},{\"name\":\"b\"}]},"
         "\"profiles\":"
         "[{\"type\":\"sampled\",\"name\":\"t\",\"unit\":\"none\",\"samples\":[[0,1,2,1,1]],"
         "\"weights\":[1]}]}"},
        {"speedscope",
         "{\"shared\":{\"frames\":[{\"name\":\"main\"},{\"name\":\"a\"},{\"name\":\"b\"}]},"
         "\"profiles\":"
         "[{\"type\":\"evented\",\"name\":\"t\",\"unit\":\"none\",\"startValue\":0,\"events\":["
         "{\"type\":\"O\",\"frame\":0,\"at\":0},{\"type\":\"O\",\"frame\":1,\"at\":0},"
         "{\"type\":\"O\",\"frame\":2,\"at\":0},{\"type\":\"O\",\"frame\":1,\"at\":0},"
         "{\"type\":\"O\",\"frame\":1,\"at\":0},{\"type\":\"C\",\"frame\":1,\"at\":1},"
         "{\"type\":\"C\",\"frame\":1,\"at\":1},{\"type\":\"C\",\"frame\":2,\"at\":1},"
         "{\"type\":\"C\",\"frame\":1,\"at\":1},{\"type\":\"C\",\"frame\":0,\"at\":1}]}]}"},
        {"cpuprofile",
         "{\"nodes\":[{\"id\":1,\"callFrame\":{\"functionName\":\"main\"},\"children\":[2]},"
         "{\"id\":2,\"callFrame\":{\"functionName\":\"a\"},\"children\":[3]},"
         "{\"id\":3,\"callFrame\":{\"functionName\":\"b\"},\"children\":[4]},"
         "{\"id\":4,\"callFrame\":{\"functionName\":\"a\"},\"children\":[5]},"
         "{\"id\":5,\"callFrame\":{\"functionName\":\"a\"}}],\"samples\":[5]}"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        for (int rule = RULE_DEFAULT; rule <= RULE_NONE; rule++) {
            error e = {0};
            input in = {.bytes = (const unsigned char *)files[i].text,
                        .size = strlen(files[i].text),
                        .fd = -1};
            profile *p =
                ouro__format_named(files[i].format)->read(&in, &(read_options){.rule = rule}, &e);
            if (!test_check(p != NULL, __FILE__, __LINE__, "%s: %s", files[i].format, e.message))
                continue;
            recursion *got = ouro__recursion(p);
            for (uint32_t b = 0; got && b < p->block_count; b++) {
                bool a = strcmp(ouro__block_name(p, b), "a") == 0;
                test_check(got[b].direct == a && got[b].through == a && got[b].deepest == 3u * a,
                           __FILE__, __LINE__, "%s, rule %d, %s: %d %d %d", files[i].format, rule,
                           ouro__block_name(p, b), (int)got[b].direct, (int)got[b].through,
                           (int)got[b].deepest);
            }
            free(got);
            ouro__profile_free(p);
        }
    }
}

// ---------------------------------------------------------------- the recorder's metrics

// Enters and exits at random, as the recorder counts them, and in the model a plain stack. In a
// `circle`, most blocks call the next one, and the last calls the first.
static profile *recorded_of(int rule, uint32_t steps, bool circle, recursion model[LETTERS]) {
    enum { CALLS = 1, RECURSIONS, DIRECT };
    profile *p = empty_profile();
    ouro__profile_add_metric(p, "calls", "count");
    ouro__profile_add_metric(p, "recursions", "count");
    ouro__profile_add_metric(p, "direct", "count");
    builder *b = ouro__builder_new(p, rule, 0);
    uint32_t nodes[LONGEST] = {0}, letters[LONGEST];
    int depth = 0;
    for (uint32_t i = 0; i < steps; i++) {
        if (depth && (random_below(5) < 2 || depth == LONGEST - 1)) {
            depth--;
            continue;
        }
        uint32_t x = random_below(LETTERS), before = p->node_count, times = 1;
        if (circle && depth && random_below(8)) x = (letters[depth - 1] + 1) % LETTERS;
        uint32_t at = depth ? nodes[depth - 1] : 0, to = ouro__builder_enter(b, at, x);
        bool back = p->node_count == before && p->parent[to] != at;
        ouro__charge(p, CALLS, to, 1);
        ouro__charge(p, RECURSIONS, to, back);
        ouro__charge(p, DIRECT, to, to == at);
        for (int j = 0; j < depth; j++) times += letters[j] == x;
        bool direct = depth && letters[depth - 1] == x;
        if (times > 1 && times > model[x].deepest) model[x].deepest = times;
        model[x].direct += times > 1 && direct;
        model[x].through += times > 1 && !direct;
        letters[depth] = x;
        nodes[depth++] = to;
    }
    ouro__builder_free(b);
    CHECK(ouro__profile_finish(p, NULL));
    return p;
}

static profile *recorded(int rule, recursion model[LETTERS]) {
    return recorded_of(rule, 600, false, model);
}

TEST(the_recorders_metrics_tell_the_same) {
    for (int round = 0; round < ROUNDS && !test_failures(); round++) {
        recursion model[LETTERS] = {0};
        uint32_t steps = random_below(600);
        profile *p = recorded_of(RULE_LOOPS, steps, random_below(2), model);
        recursion *got = ouro__recursion(p);
        for (uint32_t x = 0; CHECK(got) && x < LETTERS; x++) {
            CHECK_EQUAL(got[x].direct, model[x].direct);
            CHECK_EQUAL(got[x].through, model[x].through);
            // A back edge hides how deep the stack was, for all blocks below it.
            if (model[x].direct) CHECK_EQUAL(got[x].deepest, 0);
            if (got[x].deepest) CHECK_EQUAL(got[x].deepest, model[x].deepest);
        }
        free(got);
        ouro__profile_free(p);
    }
}

// Without compaction the paths are the stacks: then the depth is known, too. Where nodes are moved
// together, the sums of the metrics would tell less.
TEST(what_metrics_told_is_kept_where_nodes_are_moved_together) {
    char *path = strdup(test_path("m.pb"));
    for (int round = 0; round < ROUNDS / 4 && !test_failures(); round++) {
        recursion model[LETTERS] = {0};
        profile *p = recorded(RULE_NONE, model);
        uint32_t a = random_below(LETTERS);
        filter fold = {.fold = &a, .fold_count = 1};
        merger *m = ouro__merger_new(RULE_LOOPS, 0);
        error e = {0};
        CHECK(ouro__merger_add(m, p, &e));
        CHECK(ouro__profile_write(p, path, ouro__format_named("pprof"), &(write_options){0}, &e));
        profile *made_of[] = {ouro__compacted(p, RULE_LOOPS, 0, NULL),
                              ouro__filter(p, &fold, NULL),
                              ouro__merger_end(m, NULL),
                              ouro__pruned(p, 0.1, NULL),
                              ouro__divided(p, 3, NULL),
                              NULL};
        CHECK(ouro__profile_write(made_of[0], path, ouro__format_named("pprof"),
                                  &(write_options){0}, &e));
        made_of[5] = ouro__profile_read(path, NULL, &(read_options){.rule = RULE_LOOPS}, &e);
        check_same(p, model);
        for (size_t i = 0; i < sizeof made_of / sizeof *made_of; i++) {
            recursion in_order[LETTERS] = {0};
            for (uint32_t b = 0; CHECK(made_of[i]) && b < made_of[i]->block_count; b++) {
                int letter = ouro__block_name(made_of[i], b)[0] - 'a';
                if (letter >= 0 && letter < LETTERS) in_order[b] = model[letter];
            }
            if (made_of[i]) check_same(made_of[i], in_order);
            ouro__profile_free(made_of[i]);
        }
        ouro__profile_free(p);
    }
    free(path);
}

TEST(files_of_the_recorder_are_compacted_after_their_recursion_was_told) {
    char *path = strdup(test_path("n.pb"));
    for (int rule = RULE_LOOPS; rule <= RULE_NONE; rule++) {
        recursion model[LETTERS] = {0};
        error e = {0};
        profile *p = recorded(RULE_NONE, model);
        CHECK(ouro__profile_write(p, path, ouro__format_named("pprof"), &(write_options){0}, &e));
        check_read(path, rule, model);
        ouro__profile_free(p);
    }
    free(path);
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
    CHECK(ouro__knots(p, 0, &k) && ouro__knot_edges(p, 0, &k));
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
        CHECK(ouro__knots(p, 0, &k) && ouro__knot_edges(p, 0, &k));
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
        profile *p = recorded(RULE_LOOPS, model);
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
