// SPDX-License-Identifier: MIT
//
// The rest of the header, point by point: options, blocks, enabling, NULL, metrics, totals, the
// stack, misuse.

#include "contexts.h"
#include "lane_check.h"
#include "ouro_site.h"
#include "test.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static ouro_block add(ouro_profile *profile, const char *name) {
    return ouro_add_block(profile, &(ouro_block_info){name, "file", 1, 1});
}

TEST(options_out_of_range_are_refused) {
    static const ouro_metric_info metric = {"m", "u"}, unnamed = {"", "u"};
    static const ouro_metric_info twice[] = {{"m", "u"}, {"other", "u"}, {"m", "v"}};
    const ouro_options bad[] = {
        {.compaction = 4},
        {.compaction = -1},
        {.compaction = OURO_EDGES, .edge_length = 4},
        {.edge_length = -1},
        {.max_nodes = 1},
        {.max_nodes = OURO_MAX_NODES_MOST + 1},
        {.max_nodes = UINT32_MAX},
        {.clock = {.signal = 9999}},
        {.clock = {.signal = -1}},
        {.clock = {.measures = -1}},
        {.clock = {.measures = OURO_CLOCK_CPU + 1}},
        {.metrics = &metric, .metric_count = OURO_METRICS_MAX + 1},
        {.metric_count = 1},
        {.metrics = &unnamed, .metric_count = 1},
        {.metrics = twice, .metric_count = 3},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        errno = 0;
        CHECK(ouro_profile_new(&bad[i]) == NULL);
        CHECK_EQUAL(errno, EINVAL);
    }
}

TEST(the_largest_cap_is_accepted_with_any_number_of_metrics) {
    ouro_metric_info metrics[OURO_METRICS_MAX];
    char names[OURO_METRICS_MAX][2] = {{0}};
    for (int m = 0; m < OURO_METRICS_MAX; m++) {
        names[m][0] = (char)('a' + m);
        metrics[m] = (ouro_metric_info){names[m], NULL};
    }
    for (size_t n = 0; n <= OURO_METRICS_MAX; n++) {
        ouro_profile *profile = ouro_profile_new(&(ouro_options){
            .max_nodes = OURO_MAX_NODES_MOST, .metrics = metrics, .metric_count = n});
        CHECK(profile != NULL);
        CHECK_EQUAL(ouro_profile_stats(profile).max_nodes, OURO_MAX_NODES_MOST);
        ouro_profile_free(profile);
    }
}

TEST(a_rule_is_known_by_its_name) {
    static const struct {
        const char *name;
        int compaction, edge_length;
    } rules[] = {{"loops", OURO_LOOPS, 0},   {"cycles", OURO_CYCLES, 0}, {"edges", OURO_EDGES, 2},
                 {"edges:1", OURO_EDGES, 1}, {"edges:2", OURO_EDGES, 2}, {"edges:3", OURO_EDGES, 3},
                 {"none", OURO_NONE, 0}};
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        ouro_options options = {.compaction = -1, .edge_length = -1, .max_nodes = 77};
        CHECK_EQUAL(ouro_compaction_from_name(rules[i].name, &options), 0);
        CHECK_EQUAL(options.compaction, rules[i].compaction);
        CHECK_EQUAL(options.edge_length, rules[i].edge_length);
        CHECK_EQUAL(options.max_nodes, 77);
        ouro_profile *profile = ouro_profile_new(&options);
        CHECK(profile != NULL);
        ouro_profile_free(profile);
    }
    static const char *const wrong[] = {"", "loop", "Loops", "edges:0", "edges:4", "edges:", NULL};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        ouro_options options = {.compaction = OURO_CYCLES, .edge_length = 3};
        errno = 0;
        CHECK(ouro_compaction_from_name(wrong[i], &options) == -1 && errno == EINVAL);
        CHECK(options.compaction == OURO_CYCLES && options.edge_length == 3);
    }
}

TEST(null_is_off_everywhere) {
    CHECK(ouro_thread_new(NULL) == NULL);
    CHECK(ouro_thread_fork(NULL) == NULL);
    CHECK(ouro_thread_spawn(NULL) == NULL);
    CHECK_EQUAL(ouro_add_block(NULL, NULL), OURO_PHANTOM);
    CHECK_EQUAL(ouro_enter(NULL, 5), 0);
    ouro_exit(NULL, 0);
    ouro_replace(NULL, 5);
    ouro_unwind(NULL, 5);
    CHECK_EQUAL(ouro_reenter(NULL, 5), 0);
    ouro_note_stack(NULL, &(ouro_block){5}, 1);
    ouro_sample(NULL, 1);
    ouro_count(NULL, 0, 1);
    CHECK_EQUAL(ouro_clock_start(NULL, 0, 0), 0);
    ouro_clock_stop(NULL);
    ouro_clock_move(NULL, NULL);
    ouro_thread_free(NULL);
    CHECK_EQUAL(ouro_profile_stats(NULL).nodes, 0);
    CHECK_EQUAL(ouro_profile_visit(NULL, NULL, NULL), 0);
    CHECK_EQUAL(ouro_profile_write(NULL, "x"), 0);
    CHECK_EQUAL(ouro_profile_reset(NULL), 0);
    ouro_profile_enable(NULL, true);
    ouro_profile_free(NULL);
    ouro_profile_detach(NULL);
}

TEST(a_disabled_profile_gives_no_threads) {
    ouro_profile *profile = ouro_profile_new(&(ouro_options){.disabled = true});
    CHECK(ouro_thread_new(profile) == NULL);
    ouro_profile_enable(profile, true);
    ouro_thread *thread = ouro_thread_new(profile);
    CHECK(thread != NULL);
    ouro_profile_enable(profile, false);
    CHECK(ouro_thread_fork(thread) == NULL && ouro_thread_spawn(thread) == NULL);
    // A thread that exists goes on.
    ouro_exit(thread, ouro_enter(thread, add(profile, "a")));
    CHECK_EQUAL(ouro_profile_stats(profile).calls, 1);
    ouro_thread_free(thread);
    ouro_profile_free(profile);
}

TEST(blocks_have_consecutive_ids_and_keep_their_text) {
    ouro_profile *profile = ouro_profile_new(NULL);
    ouro_block_info infos[3000];
    char name[32];
    ouro_block first = OURO_PHANTOM;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 3000; i++) infos[i] = (ouro_block_info){"same", NULL, (uint32_t)i, 2};
        strcpy(name, "changed later");
        infos[7].name = name;
        first = ouro_add_blocks(profile, infos, 3000);
        strcpy(name, "gone");
        CHECK_EQUAL(first, 3 + 3000 * round);
    }
    ouro_block_info info;
    CHECK(ouro_block_get(profile, first + 7, &info));
    CHECK_TEXT(info.name, "changed later");
    CHECK_TEXT(info.file, "");
    CHECK(ouro_block_get(profile, first + 2999, &info) && info.line == 2999);
    CHECK(!ouro_block_get(profile, first + 3000, &info));
    CHECK(ouro_block_get(profile, OURO_LOST, &info));
    CHECK_TEXT(info.name, "[lost]");
    CHECK_EQUAL(ouro_add_blocks(profile, NULL, 0), first + 3000);
    CHECK_EQUAL(add(profile, "next"), first + 3000);
    ouro_profile_free(profile);
}

TEST(samples_at_the_root_are_shown_at_the_empty_path) {
    ouro_profile *profile = ouro_profile_new(NULL);
    ouro_thread *thread = ouro_thread_new(profile);
    contexts *all = contexts_of(profile, 1);
    CHECK_EQUAL(all->count, 0);
    contexts_free(all);
    ouro_sample(thread, 5);
    all = contexts_of(profile, 1);
    CHECK(all->count == 1 && all->list[0].length == 0 && all->list[0].self[1] == 5);
    contexts_free(all);
    ouro_thread_free(thread);
    ouro_profile_free(profile);
}

TEST(eight_metrics_are_kept_apart) {
    ouro_metric_info metrics[8];
    char names[8][2] = {{0}};
    for (int m = 0; m < 8; m++) {
        names[m][0] = (char)('a' + m);
        metrics[m] = (ouro_metric_info){names[m], NULL};
    }
    for (size_t n = 1; n <= 8; n++) {
        ouro_profile *profile =
            ouro_profile_new(&(ouro_options){.metrics = metrics, .metric_count = n});
        ouro_block a = add(profile, "a"), b = add(profile, "b");
        ouro_thread *thread = ouro_thread_new(profile);
        ouro_enter(thread, a);
        for (uint32_t m = 0; m < 10; m++)
            ouro_count(thread, m, m + 1); // those that do not exist are ignored
        ouro_enter(thread, b);
        for (uint32_t m = 0; m < n; m++) ouro_count(thread, m, 100 * (m + 1));
        ouro_stats stats = ouro_profile_stats(profile);
        for (uint32_t m = 0; m < n; m++) CHECK_EQUAL(stats.totals[m], 101 * (m + 1));
        CHECK_EQUAL(stats.nodes, 3);
        ouro_thread_free(thread);
        ouro_profile_free(profile);
    }
}

TEST(forks_start_where_their_parent_stands) {
    ouro_profile *profile = ouro_profile_new(NULL);
    ouro_block a = add(profile, "a"), b = add(profile, "b");
    ouro_thread *thread = ouro_thread_new(profile);
    ouro_position token = ouro_enter(thread, a);
    ouro_thread *fork = ouro_thread_fork(thread), *spawn = ouro_thread_spawn(thread);
    ouro_exit(thread, token);
    CHECK(sizeof *fork < 64);
    ouro_exit(fork, ouro_enter(fork, b));
    ouro_exit(spawn, ouro_enter(spawn, b));
    ouro_sample(spawn, 3);
    ouro_exit(thread, ouro_enter(thread, b));
    contexts *all = contexts_of(profile, 1);
    CHECK_EQUAL(all->count, 3);
    CHECK(all->list[0].calls == 1 && all->list[0].self[1] == 3); // a
    CHECK(all->list[1].length == 2 && all->list[1].calls == 2);  // a/b
    CHECK(all->list[2].length == 1 && all->list[2].calls == 1);  // b
    contexts_free(all);
    CHECK_EQUAL(ouro_profile_stats(profile).lanes, 2);
    ouro_thread_free(fork);
    ouro_thread_free(spawn);
    // The spawned lane is free again and is used by the next.
    ouro_thread *next = ouro_thread_new(profile);
    CHECK_EQUAL(ouro_profile_stats(profile).lanes, 2);
    ouro_thread_free(next);
    ouro_thread_free(thread);
    check_lanes(profile);
    ouro_profile_free(profile);
}

TEST(a_reentered_path_counts_no_calls_but_takes_charges) {
    ouro_profile *profile = ouro_profile_new(NULL);
    ouro_thread *thread = ouro_thread_new(profile);
    ouro_block a = add(profile, "a"), b = add(profile, "b");
    ouro_position outer = ouro_reenter(thread, a), inner = ouro_reenter(thread, b);
    ouro_exit(thread, ouro_enter(thread, b)); // from b to itself
    ouro_sample(thread, 3);
    ouro_exit(thread, inner);
    ouro_exit(thread, ouro_enter(thread, b));
    ouro_exit(thread, outer);
    contexts *all = contexts_of(profile, 1);
    const context *c = contexts_find(all, (ouro_block[]){a, b}, 2);
    CHECK(c && c->self[0] == 2 && c->self[1] == 3);
    CHECK_EQUAL(ouro_profile_stats(profile).calls, 2);
    contexts_free(all);
    ouro_thread_free(thread);
    ouro_profile_free(profile);
}

TEST(a_million_deep_path_is_no_problem) {
    ouro_profile *profile =
        ouro_profile_new(&(ouro_options){.compaction = OURO_NONE, .max_nodes = 1100000});
    ouro_block a = add(profile, "a");
    ouro_thread *thread = ouro_thread_new(profile);
    for (int i = 0; i < 1000000; i++) ouro_enter(thread, a);
    ouro_thread *spawned =
        ouro_thread_spawn(thread); // finds no room for a second copy: the cap holds
    CHECK(spawned != NULL);
    ouro_stats stats = ouro_profile_stats(profile);
    CHECK(stats.nodes <= 1100000 && stats.calls == 1000000);
    ouro_thread_free(spawned);
    ouro_thread_free(thread);
    ouro_profile_free(profile);
}

// ---------------------------------------------------------------- reset

TEST(a_reset_counts_from_zero_and_keeps_blocks_paths_and_positions) {
    ouro_profile *profile = ouro_profile_new(NULL);
    CHECK_EQUAL(ouro_profile_reset(profile), 0); // nothing to reset
    ouro_block a = add(profile, "a"), b = add(profile, "b");
    ouro_thread *thread = ouro_thread_new(profile);
    ouro_position in_root = ouro_enter(thread, a), in_a = ouro_enter(thread, b);
    ouro_enter(thread, b);
    ouro_sample(thread, 5);
    for (int round = 1; round <= 3; round++) {
        ouro_position here = ouro_thread_position(thread);
        CHECK_EQUAL(ouro_profile_reset(profile), 0);
        CHECK_EQUAL(ouro_thread_position(thread), here);
        ouro_stats stats = ouro_profile_stats(profile);
        CHECK(stats.calls == 0 && stats.recursions == 0 && stats.direct == 0);
        CHECK(stats.totals[0] == 0 && stats.nodes == 3 && stats.blocks == 5);
        contexts *all = contexts_of(profile, 1);
        CHECK_EQUAL(all->count, 2); // the paths are there, with zeros
        CHECK_EQUAL(all->totals[0] + all->totals[1], 0);
        contexts_free(all);
        for (int i = 0; i < round; i++) ouro_exit(thread, ouro_enter(thread, b));
        ouro_sample(thread, 7);
        stats = ouro_profile_stats(profile);
        CHECK(stats.calls == (uint64_t)round && stats.direct == (uint64_t)round);
        CHECK_EQUAL(stats.totals[0], 7);
    }
    ouro_exit(thread, ouro_thread_position(thread));
    ouro_exit(thread, in_a);
    ouro_exit(thread, in_root);
    CHECK_EQUAL(ouro_profile_stats(profile).calls, 3);
    ouro_thread_free(thread);
    check_lanes(profile);
    ouro_profile_free(profile);
}

TEST(what_is_open_at_a_reset_stays_open_and_is_closed_by_its_exit) {
    ouro_profile *profile = ouro_profile_new(&(ouro_options){.max_nodes = 20});
    ouro_block blocks[60];
    for (int i = 0; i < 60; i++) blocks[i] = add(profile, "b");
    ouro_thread *thread = ouro_thread_new(profile);
    ouro_position tokens[5];
    for (int i = 0; i < 5; i++) tokens[i] = ouro_enter(thread, blocks[i]);
    char path[64];
    snprintf(path, sizeof path, "%s", position_path(thread, ouro_thread_position(thread)));
    for (int round = 0; round < 2; round++) {
        CHECK_EQUAL(ouro_profile_reset(profile), 0);
        for (int i = 10; i < 60; i++) ouro_exit(thread, ouro_enter(thread, blocks[i]));
        CHECK(ouro_profile_stats(profile).pruned > 10);
        CHECK_TEXT(position_path(thread, ouro_thread_position(thread)), path);
        CHECK_EQUAL(ouro_profile_stats(profile).calls, 50);
    }
    for (int i = 5; i-- > 0;) ouro_exit(thread, tokens[i]);
    CHECK_EQUAL(ouro_profile_reset(profile), 0);
    ouro_stats stats = ouro_profile_stats(profile);
    CHECK(stats.pruned == 0 && stats.overflow == 0 && stats.threshold == 0);
    for (int i = 10; i < 60; i++) ouro_exit(thread, ouro_enter(thread, blocks[i]));
    contexts *all = contexts_of(profile, 1);
    CHECK(contexts_find(all, blocks, 5) == NULL); // nobody was there any more
    CHECK_EQUAL(all->totals[0], 50);
    contexts_free(all);
    ouro_thread_free(thread);
    check_lanes(profile);
    ouro_profile_free(profile);
}

// ---------------------------------------------------------------- the stack

TEST(the_stack_keeps_the_tokens) {
    ouro_profile *profile = ouro_profile_new(NULL);
    ouro_block a = add(profile, "a"), b = add(profile, "b"), c = add(profile, "c");
    ouro_stack stack;
    ouro_stack_init(&stack, ouro_thread_new(profile));
    ouro_stack_pop(&stack); // nothing to pop
    ouro_stack_replace(&stack, a);
    CHECK_EQUAL(ouro_stack_depth(&stack), 1);
    for (int i = 0; i < 1000; i++) ouro_stack_push(&stack, i % 2 ? a : b);
    ouro_stack_unwind(&stack, 1);
    ouro_stack_push(&stack, b);
    ouro_stack_replace(&stack, c);
    ouro_stack_pop(&stack);
    ouro_sample(stack.thread, 9);
    CHECK_EQUAL(ouro_stack_depth(&stack), 1);
    contexts *all = contexts_of(profile, 1);
    CHECK(all->list[0].length == 1 && all->list[0].self[1] == 9);
    contexts_free(all);
    ouro_thread *thread = stack.thread;
    ouro_stack_clear(&stack);
    CHECK_EQUAL(ouro_stack_depth(&stack), 0);
    CHECK_EQUAL(thread->position_, 0);
    ouro_thread_free(thread);
    ouro_profile_free(profile);
}

TEST(what_is_reentered_counts_no_call) {
    ouro_profile *profile = ouro_profile_new(NULL);
    ouro_block a = add(profile, "a"), b = add(profile, "b");
    ouro_thread *thread = ouro_thread_new(profile);
    ouro_position root = ouro_thread_position(thread);
    for (int i = 0; i < 3; i++) {
        ouro_position in_root = ouro_reenter(thread, a), in_a = ouro_reenter(thread, b);
        CHECK_EQUAL(ouro_reenter(thread, b), ouro_thread_position(thread)); // direct recursion
        ouro_sample(thread, 1);
        check_lanes(profile);
        ouro_exit(thread, ouro_thread_position(thread));
        ouro_exit(thread, in_a);
        ouro_exit(thread, in_root);
        CHECK_EQUAL(ouro_thread_position(thread), root);
    }
    ouro_exit(thread, ouro_enter(thread, a)); // the same node, and this one counts
    ouro_exit(thread, ouro_reenter(thread, OURO_PHANTOM));
    CHECK_EQUAL(ouro_reenter(NULL, a), 0);
    CHECK_EQUAL(ouro_thread_position(NULL), 0);
    contexts *all = contexts_of(profile, 1);
    CHECK_EQUAL(all->count, 2);
    CHECK(contexts_find(all, &a, 1)->calls == 1);
    const context *leaf = contexts_find(all, (ouro_block[]){a, b}, 2);
    CHECK(leaf && leaf->calls == 0 && leaf->self[1] == 3);
    contexts_free(all);
    ouro_thread_free(thread);
    check_lanes(profile);
    ouro_profile_free(profile);
}

// From many callees in turn on, a lane has shortcuts; try_enter finds what they and the memo know.
TEST(try_enter_enters_what_is_known_and_nothing_else) {
    ouro_profile *profile = ouro_profile_new(&(ouro_options){0});
    ouro_thread *thread = ouro_thread_new(profile);
    ouro_block blocks[100];
    for (int i = 0; i < 100; i++) blocks[i] = add(profile, "callee");
    CHECK(!ouro_try_enter(thread, blocks[0]));
    CHECK_EQUAL(ouro_thread_position(thread), 0);
    for (int i = 0; i < 1000; i++) ouro_exit(thread, ouro_enter(thread, blocks[i % 100]));
    uint64_t before = ouro_profile_stats(profile).calls;
    int found = 0;
    for (int i = 0; i < 100; i++) {
        if (!ouro_try_enter(thread, blocks[i])) continue;
        found++;
        ouro_exit(thread, 0);
    }
    CHECK(found > 80);
    CHECK_EQUAL(ouro_profile_stats(profile).calls, before + (uint64_t)found);
    CHECK(!ouro_try_enter(thread, 12345));
    ouro_thread_free(thread);
    ouro_profile_free(profile);
}

TEST(a_call_site_knows_what_it_entered_last_at_each_position) {
    ouro_profile *profile = ouro_profile_new(NULL);
    ouro_thread *thread = ouro_thread_new(profile);
    ouro_block callers[] = {add(profile, "a"), add(profile, "b")}, f = add(profile, "f");
    ouro_block callees[] = {add(profile, "x"), add(profile, "y")};
    CHECK(!ouro_add_sites(profile, f, &(uint32_t){2}, 1));
    ouro_here *here[2];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 2; i++) {
            ouro_enter(thread, callers[i]);
            ouro_enter(thread, f);
            here[i] = ouro_thread_here(thread);
            // The first time nothing is known; the second time each context has its own callee.
            CHECK(ouro_site_knows(here[i], 1, callees[i]) == (round == 1));
            CHECK(!ouro_site_knows(here[i], 0, callees[i]));
            ouro_here *to = ouro_site_enter(thread, here[i], 1, callees[i]);
            CHECK(to == ouro_site_leads(here[i], 1));
            ouro_here_leave(to);
            ouro_exit(thread, 0);
        }
    }
    CHECK(!ouro_site_knows(here[0], 1, callees[1]));
    check_lanes(profile);
    ouro_thread_free(thread);
    ouro_profile_free(profile);
}

// How often call sites search: some nodes enter the same blocks in turn. Nodes and keys are
// neighbours in memory, as functions of a module are; without keys, blocks are.
static int searches_of_neighbours(const char *keys, int nodes, int blocks, int rounds) {
    enum { MOST = 16, APART = 48 };
    ouro_profile *profile = ouro_profile_new(NULL);
    ouro_thread *thread = ouro_thread_new(profile);
    ouro_block callees[MOST];
    ouro_here *here[MOST];
    for (int i = 0; i < blocks; i++) callees[i] = add(profile, "callee");
    for (int i = 0; i < nodes; i++) {
        ouro_block f = add(profile, "f");
        CHECK(!ouro_add_sites(profile, f, &(uint32_t){1}, 1));
        ouro_position caller = ouro_enter(thread, f);
        here[i] = ouro_thread_here(thread);
        ouro_exit(thread, caller);
    }
    int searches = 0;
    for (int i = 0; i < rounds * nodes * blocks; i++) {
        ouro_here *from = here[i / blocks % nodes], *to;
        ouro_key key = keys ? (uintptr_t)(keys + i % blocks * APART) : callees[i % blocks];
        to = ouro_site_knows(from, 0, key) ? ouro_site_follow(from, 0)
                                           : ouro_site_recall(thread, from, key);
        searches += !to;
        if (!to) to = ouro_site_search(thread, from, 0, key, callees[i % blocks]);
        ouro_here_leave(to);
    }
    ouro_thread_free(thread);
    ouro_profile_free(profile);
    return searches;
}

// Two pairs may share an entry of the cache by chance, so many places of the keys are counted.
TEST(call_sites_of_many_nodes_that_enter_the_same_blocks_rarely_displace_one_another) {
    enum { PLACES = 200, NODES = 8, BLOCKS = 9, ROUNDS = 20 };
    static const char keys[PLACES * 64 + BLOCKS * 48];
    int searches = searches_of_neighbours(NULL, NODES, BLOCKS, ROUNDS);
    CHECK(searches < ROUNDS * NODES * BLOCKS / 6);
    searches = 0;
    for (int i = 0; i < PLACES; i++)
        searches += searches_of_neighbours(keys + i * 64, NODES, BLOCKS, ROUNDS);
    CHECK(searches < PLACES * ROUNDS * NODES * BLOCKS / 6);
}

// The ways of a host's slow path, in their order. Says whether it took a search.
static bool go_by_site(ouro_thread *thread, ouro_here *here, ouro_block callee) {
    const ouro_here *found = ouro_site_find(here, 0, callee);
    ouro_here *to = ouro_site_knows(here, 0, callee) ? ouro_site_follow(here, 0)
                    : found                          ? ouro_site_follow(found, 0)
                                                     : ouro_site_recall(thread, here, callee);
    bool searched = !to;
    if (searched) to = ouro_site_search(thread, here, 0, callee, callee);
    ouro_here_leave(to);
    return searched;
}

TEST(a_call_site_that_enters_many_blocks_in_turn_finds_them_in_its_table) {
    enum { BLOCKS = 9, ROUNDS = 200 };
    ouro_profile *profile = ouro_profile_new(NULL);
    ouro_thread *thread = ouro_thread_new(profile);
    ouro_block f = add(profile, "f"), callees[BLOCKS];
    ouro_site_info means = {.charge = 3};
    for (int i = 0; i < BLOCKS; i++) callees[i] = add(profile, "callee");
    CHECK(!ouro_add_site_infos(profile, f, &means, 1));
    ouro_enter(thread, f);
    ouro_here *here = ouro_thread_here(thread);
    int searches = 0, found = 0;
    uint64_t charged = 0;
    for (int i = 0; i < ROUNDS * BLOCKS; i++) {
        ouro_block callee = callees[i % BLOCKS];
        bool follows = ouro_site_knows(here, 0, callee) || ouro_site_find(here, 0, callee);
        charged += follows ? 3 : 0;
        searches += go_by_site(thread, here, callee);
        if (i % 100 == 0) check_lanes(profile);
    }
    CHECK(searches < ROUNDS * BLOCKS / 20);
    for (int i = 0; i < BLOCKS; i++) found += ouro_site_find(here, 0, callees[i]) != NULL;
    CHECK(found > BLOCKS / 2); // two may have the same place in it
    CHECK(!ouro_site_find(here, 0, f));
    CHECK_EQUAL(ouro_profile_stats(profile).calls, 1 + ROUNDS * BLOCKS);
    CHECK_EQUAL(ouro_profile_stats(profile).totals[0], charged);
    check_lanes(profile);
    ouro_thread_free(thread);
    ouro_profile_free(profile);
}

// Every so often a site that could recall must search, so that it learns what it enters now.
TEST(a_call_site_that_enters_another_block_from_now_on_learns_it) {
    enum { CALLS = 1000 };
    ouro_profile *profile = ouro_profile_new(NULL);
    ouro_thread *thread = ouro_thread_new(profile);
    ouro_block f = add(profile, "f"), callees[] = {add(profile, "a"), add(profile, "b")};
    CHECK(!ouro_add_sites(profile, f, &(uint32_t){1}, 1));
    ouro_enter(thread, f);
    ouro_here *here = ouro_thread_here(thread);
    for (int i = 0; i < CALLS; i++) go_by_site(thread, here, callees[0]);
    int calls = 0;
    while (!ouro_site_knows(here, 0, callees[1]) && calls++ < 100)
        ouro_here_leave(ouro_site_enter(thread, here, 0, callees[1]));
    CHECK(calls < 70);
    CHECK_EQUAL(ouro_profile_stats(profile).calls, (uint64_t)(1 + CALLS + calls));
    ouro_thread_free(thread);
    ouro_profile_free(profile);
}

// A collector gives the memory of a function to the next one, as `eval` does it all the time: what
// is called is a block, whatever its address was before.
TEST(call_sites_charge_the_function_that_has_the_address_now) {
    enum { PLACES = 8, SITES = 5, CALLS = 40000 };
    typedef struct {
        ouro_block block;
        uint64_t calls;
    } function;
    static function memory[PLACES];
    static uint64_t wanted[CALLS]; // by block
    ouro_profile *profile = ouro_profile_new(NULL);
    ouro_thread *thread = ouro_thread_new(profile);
    ouro_block f = add(profile, "f"), last = f;
    CHECK(!ouro_add_sites(profile, f, &(uint32_t){SITES}, 1));
    ouro_enter(thread, f);
    ouro_here *top = ouro_thread_here(thread), *here = top;
    for (int i = 0; i < CALLS; i++) {
        function *g = &memory[random_below(PLACES)];
        if (!g->block || random_below(20) == 0) {
            g->block = last = add(profile, "g");
            CHECK(!ouro_add_sites(profile, last, &(uint32_t){SITES}, 1));
        }
        bool tail = here != top && random_below(2);
        ouro_site site = (ouro_site)random_below(SITES);
        if (!tail && here != top) {
            ouro_here_leave(here);
            here = top;
        }
        here = tail ? ouro_site_replace(thread, here, site, g->block)
                    : ouro_site_enter(thread, here, site, g->block);
        ouro_here_sample(here, 1);
        wanted[g->block]++;
    }
    ouro_thread_stand(thread, here);
    contexts *all = contexts_of(profile, 1);
    for (size_t i = 0; i < all->count; i++) {
        const context *c = &all->list[i];
        if (c->length < 2) continue;
        ouro_block block = c->path[c->length - 1];
        CHECK_EQUAL(c->calls, c->self[1]); // a block is sampled where it is entered
        wanted[block] -= c->calls;
    }
    for (ouro_block b = f; b <= last; b++) CHECK_EQUAL(wanted[b], 0);
    CHECK(last - f > CALLS / 40);
    contexts_free(all);
    check_lanes(profile);
    ouro_exit(thread, 0);
    ouro_thread_free(thread);
    ouro_profile_free(profile);
}

// Counts, charges and leaves as its info says, once it knows the way.
TEST(a_fixed_site_needs_no_key) {
    enum { CALLS = 1000 };
    ouro_profile *profile = ouro_profile_new(NULL);
    ouro_thread *thread = ouro_thread_new(profile);
    ouro_block f = add(profile, "f"), g = add(profile, "g");
    static const ouro_site_info infos[] = {{3, false, true}, {5, true, true}};
    CHECK(!ouro_add_site_infos(profile, f, infos, 2));
    int searches = 0;
    for (int i = 0; i < CALLS; i++) {
        ouro_position caller = ouro_enter(thread, f);
        ouro_here *here = ouro_thread_here(thread);
        for (ouro_site site = 0; site < 2; site++) {
            bool goes = ouro_site_go(here, site);
            ouro_here *to =
                goes ? ouro_site_leads(here, site) : ouro_site_search(thread, here, site, g, g);
            if (!goes && site == 1) ouro_here_leave(here);
            searches += !goes;
            CHECK(to->node->block == g);
            ouro_here_leave(to);
            if (random_below(2)) continue;
            CHECK(ouro_site_go(here, site)); // and it is not entered after all
            ouro_site_stay(here, site);
        }
        ouro_thread_stand(thread, here);
        ouro_here_stay(here); // the tail call has left it
        ouro_exit(thread, caller);
        if (i % 100 == 0) check_lanes(profile);
    }
    CHECK_EQUAL(searches, 2);
    CHECK_EQUAL(ouro_profile_stats(profile).calls, 3 * CALLS);
    CHECK_EQUAL(ouro_profile_stats(profile).totals[0], 8 * (CALLS - 1));
    check_lanes(profile);
    ouro_thread_free(thread);
    ouro_profile_free(profile);
}

static void call_each(ouro_profile *profile, ouro_thread *thread, int n) {
    for (int i = 0; i < n; i++) {
        ouro_position caller = ouro_enter(thread, add(profile, "filler"));
        ouro_exit(thread, caller);
    }
}

// Else a thread that goes by nothing but fixed sites would keep all the room.
TEST(a_fixed_site_looks_up_again_when_another_thread_needs_room) {
    enum { CAP = 100 };
    ouro_profile *profile = ouro_profile_new(&(ouro_options){.max_nodes = CAP});
    ouro_thread *one = ouro_thread_new(profile), *two = ouro_thread_new(profile);
    ouro_block f = add(profile, "f"), g = add(profile, "g");
    static const ouro_site_info infos[] = {{3, false, true}};
    CHECK(!ouro_add_site_infos(profile, f, infos, 1));
    ouro_enter(one, f);
    ouro_here *here = ouro_thread_here(one);
    ouro_here_leave(ouro_site_search(one, here, 0, g, g));
    call_each(profile, one, CAP - 10);
    for (int i = 0; i < 1000; i++) {
        CHECK(ouro_site_go(here, 0));
        ouro_here_leave(ouro_site_leads(here, 0));
    }
    call_each(profile, two, CAP / 4);
    CHECK(!ouro_site_go(here, 0));
    ouro_here_leave(ouro_site_search(one, here, 0, g, g));
    CHECK(ouro_site_go(here, 0));
    ouro_here_leave(ouro_site_leads(here, 0));
    ouro_stats stats = ouro_profile_stats(profile);
    CHECK_EQUAL(stats.calls, (uint64_t)(1 + 1 + CAP - 10 + 1000 + CAP / 4 + 2));
    CHECK_EQUAL(stats.totals[0], 3 * 1001);
    check_lanes(profile);
    ouro_thread_free(one);
    ouro_thread_free(two);
    ouro_profile_free(profile);
}

TEST(a_charge_of_a_site_is_below_2_to_the_30th) {
    ouro_profile *profile = ouro_profile_new(NULL);
    ouro_block f = add(profile, "f");
    ouro_site_info most = {.charge = (1u << 30) - 1}, more = {.charge = 1u << 30};
    CHECK_EQUAL(ouro_add_site_infos(profile, f, &more, 1), -1);
    CHECK_EQUAL(errno, EINVAL);
    CHECK(!ouro_add_site_infos(profile, f, &most, 1));
    ouro_profile_free(profile);
}

// There are only so many tables: one for four nodes, and 64.
TEST(tables_of_call_sites_are_few) {
    enum { SITES = OURO_SITES_MOST, NODES = 3, CALLS = 4000 };
    ouro_profile *profile = ouro_profile_new(NULL);
    ouro_thread *thread = ouro_thread_new(profile);
    ouro_block callees[] = {add(profile, "a"), add(profile, "b")};
    uint64_t before = ouro_profile_stats(profile).bytes;
    for (int n = 0; n < NODES; n++) {
        ouro_position caller = ouro_enter(thread, add(profile, "f"));
        ouro_here *here = ouro_thread_here(thread);
        for (int i = 0; i < SITES * CALLS; i++) {
            ouro_site site = (ouro_site)(i / CALLS);
            ouro_here_leave(ouro_site_enter(thread, here, site, callees[i % 2]));
        }
        ouro_exit(thread, caller);
    }
    check_lanes(profile);
    CHECK_EQUAL(ouro_profile_stats(profile).calls, NODES * (1 + SITES * CALLS));
    CHECK(ouro_profile_stats(profile).bytes - before < 300000);
    ouro_thread_free(thread);
    ouro_profile_free(profile);
}

TEST(call_sites_are_said_once_and_of_blocks_that_exist) {
    ouro_profile *profile = ouro_profile_new(NULL);
    ouro_block a = add(profile, "a");
    uint32_t counts[] = {2, 3};
    CHECK_EQUAL(ouro_add_sites(NULL, a, counts, 1), 0);
    CHECK_EQUAL(ouro_add_sites(profile, a, counts, 2), -1);
    CHECK_EQUAL(errno, EINVAL);
    CHECK_EQUAL(ouro_add_sites(profile, OURO_LOST, counts, 1), -1);
    CHECK_EQUAL(ouro_add_sites(profile, a, counts, 1), 0);
    CHECK_EQUAL(ouro_add_sites(profile, a, counts, 1), -1);
    CHECK_EQUAL(errno, EINVAL);
    CHECK_EQUAL(ouro_add_sites(profile, a + 1, counts, 0), 0);
    ouro_profile_free(profile);
}

// Any number is safe, in blocks that have sites, that have none, and at the root.
TEST(a_site_number_that_the_block_does_not_have_is_recorded_all_the_same) {
    ouro_profile *profile = ouro_profile_new(&(ouro_options){.max_nodes = 40});
    ouro_thread *thread = ouro_thread_new(profile);
    ouro_here *root = ouro_thread_here(thread), *here = root;
    ouro_block blocks[30];
    for (uint32_t i = 0; i < 30; i++) {
        blocks[i] = add(profile, "b");
        CHECK(!ouro_add_sites(profile, blocks[i], &(uint32_t){i % 5 * 20}, 1));
    }
    for (uint32_t i = 0; i < 20000; i++) {
        ouro_site site = (ouro_site)(i * 79 % OURO_SITES_MOST);
        here = ouro_site_enter(thread, here, site, blocks[i * 31 % 30]);
        if (i % 5 == 4) ouro_here_leave(here), here = root;
    }
    ouro_thread_stand(thread, here);
    CHECK_EQUAL(ouro_profile_stats(profile).calls, 20000);
    check_lanes(profile);
    ouro_thread_free(thread);
    ouro_profile_free(profile);
}

// The thread is told where it stands when the library has to know, and else when the host says so.
TEST(a_thread_stands_where_its_host_says) {
    ouro_profile *profile = ouro_profile_new(NULL);
    ouro_thread *thread = ouro_thread_new(profile);
    CHECK(thread);
    if (!thread) return; // ouro_site.h is for threads, and gcc 14 warns where one may be NULL
    ouro_here *root = ouro_thread_here(thread);
    ouro_here *a = ouro_site_enter(thread, root, 0, add(profile, "a"));
    ouro_here_sample(a, 2);
    CHECK_EQUAL(ouro_thread_position(thread), ouro_here_position(thread, root));
    ouro_thread_stand(thread, a);
    CHECK(ouro_thread_here(thread) == a);
    ouro_sample(thread, 3);
    CHECK_EQUAL(ouro_profile_stats(profile).totals[0], 5);
    ouro_here_leave(a);
    ouro_thread_stand(thread, root);
    ouro_thread_free(thread);
    ouro_profile_free(profile);
}

TEST(what_is_charged_aside_is_in_no_profile) {
    static ouro_aside aside;
    ouro_aside_start(&aside);
    ouro_here *here = ouro_aside_here(&aside, NULL);
    for (ouro_key key = 0; key < 5; key++) // 0 is OURO_PHANTOM
        CHECK(!ouro_site_knows(here, 0, key) && !ouro_site_knows(here, OURO_SITES_MOST - 1, key));
    CHECK(!ouro_here_leave_by(here, 0) && !ouro_here_leave_by(here, OURO_SITES_MOST - 1));
    ouro_here_sample(here, 7);
    ouro_here_leave(here);
    CHECK_EQUAL(*ouro_aside_sampled(&aside), 7);
}

TEST(a_stack_without_a_thread_still_counts_its_depth) {
    ouro_stack stack;
    ouro_stack_init(&stack, NULL);
    for (int i = 0; i < 100; i++) ouro_stack_push(&stack, 1);
    CHECK_EQUAL(ouro_stack_depth(&stack), 100);
    ouro_stack_clear(&stack);
}

// ---------------------------------------------------------------- misuse

// Runs `misuse` in a child. With assertions it must stop, without it must go on and end well.
static void check_misuse(int (*misuse)(void), bool asserted) {
    pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr)) _exit(9);
        _exit(misuse());
    }
    int status;
    waitpid(child, &status, 0);
#ifdef NDEBUG
    asserted = false;
#endif
    if (asserted) {
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    } else {
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

static int exit_without_enter(void) {
    ouro_profile *profile = ouro_profile_new(NULL);
    ouro_thread *thread = ouro_thread_new(profile);
    ouro_block a = add(profile, "a");
    for (int i = 0; i < 5; i++) ouro_exit(thread, 0);
    ouro_exit(thread, ouro_enter(thread, a));
    ouro_exit(thread, 0);
    ouro_stats stats = ouro_profile_stats(profile);
    return !(stats.calls == 1 && stats.lost == 0);
}

static int unknown_block(void) {
    ouro_profile *profile = ouro_profile_new(NULL);
    ouro_thread *thread = ouro_thread_new(profile);
    ouro_block a = add(profile, "a");
    ouro_position token = ouro_enter(thread, 12345);
    ouro_position inner = ouro_enter(thread, a); // inside [lost] all is lost
    ouro_sample(thread, 7);
    ouro_exit(thread, inner);
    ouro_exit(thread, token);
    ouro_replace(thread, OURO_PRUNED);
    ouro_exit(thread, 0);
    ouro_exit(thread, ouro_enter(thread, a));
    ouro_stats stats = ouro_profile_stats(profile);
    contexts *all = contexts_of(profile, 1);
    bool shown = all->count == 2 && all->list[0].path[0] == OURO_LOST && all->list[0].self[1] == 7;
    return !(shown && stats.lost == 3 && stats.calls == 4);
}

static int token_of_another_thread(void) {
    ouro_profile *profile = ouro_profile_new(NULL);
    ouro_thread *one = ouro_thread_new(profile), *two = ouro_thread_new(profile);
    ouro_block blocks[50];
    for (int i = 0; i < 50; i++) blocks[i] = add(profile, "b");
    ouro_position token = 0;
    for (int i = 0; i < 50; i++) token = ouro_enter(one, blocks[i]);
    ouro_exit(two, token); // a place that lane two has never used
    ouro_sample(two, 1);
    ouro_position caller = ouro_enter(two, blocks[3]);
    ouro_exit(two, caller);
    ouro_enter(two, OURO_PHANTOM);
    ouro_exit(two, 0);
    ouro_exit(two, ouro_enter(two, blocks[0]));
    ouro_stats stats = ouro_profile_stats(profile);
    ouro_thread_free(one);
    ouro_thread_free(two);
    ouro_profile_free(profile);
    return !(stats.lost == 1 && stats.calls >= 52);
}

static int unwind_to_a_position_of_another_thread(void) {
    ouro_profile *profile = ouro_profile_new(NULL);
    ouro_thread *one = ouro_thread_new(profile), *two = ouro_thread_new(profile);
    ouro_block blocks[50];
    for (int i = 0; i < 50; i++) blocks[i] = add(profile, "b");
    for (int i = 0; i < 50; i++) ouro_enter(one, blocks[i]);
    ouro_enter(two, blocks[0]);
    ouro_unwind(two, ouro_thread_position(one)); // a place that lane two has never used
    ouro_sample(two, 7);
    ouro_stats stats = ouro_profile_stats(profile);
    ouro_unwind(two, 0);
    ouro_exit(two, ouro_enter(two, blocks[1]));
    return !(stats.totals[0] == 7 && ouro_profile_stats(profile).lost == 0 && stats.calls == 51);
}

static int unwind_to_a_number(void) {
    ouro_profile *profile = ouro_profile_new(&(ouro_options){.max_nodes = 10});
    ouro_thread *thread = ouro_thread_new(profile);
    ouro_block a = add(profile, "a");
    static const ouro_position numbers[] = {1,        7,        1000,           4096,
                                            1u << 20, 1u << 31, UINT32_MAX - 7, UINT32_MAX};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        ouro_enter(thread, a);
        ouro_unwind(thread, numbers[i]);
        ouro_sample(thread, 1);
        ouro_exit(thread, 0);
    }
    ouro_stats stats = ouro_profile_stats(profile);
    return !(stats.totals[0] == 8 && stats.calls == 8 && stats.lost == 0);
}

TEST(unwinding_to_another_threads_position_does_not_leave_the_lane) {
    check_misuse(unwind_to_a_position_of_another_thread, true);
}
TEST(unwinding_to_any_number_does_not_leave_the_lane) { check_misuse(unwind_to_a_number, true); }
TEST(an_exit_too_many_has_no_effect) { check_misuse(exit_without_enter, false); }
TEST(a_block_that_does_not_exist_is_charged_to_lost) { check_misuse(unknown_block, true); }
TEST(a_token_of_another_thread_does_not_leave_the_lane) {
    check_misuse(token_of_another_thread, true);
}
