// SPDX-License-Identifier: MIT
//
// ouro_unwind, against a stack of our own that knows where every frame stands. After every event:
// what is open by that stack is open in the tree and still the same path; where the header promises
// it, nothing else is; and the totals are exact. Under every rule, with green threads, and with
// caps that prune and overflow.

#include "contexts.h"
#include "internal.h"
#include "lane_check.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 24, FRAMES = 40, THREADS = 5 };

typedef struct {
    ouro_position token, stands;
    char *path; // of `stands`, as text
} frame;

typedef struct {
    ouro_thread *thread;
    ouro_position base;
    char *base_path;
    frame frames[FRAMES];
    int depth;
} player;

typedef struct {
    ouro_profile *profile;
    ouro_block first;
    bool recurses; // else a block only calls blocks of higher numbers
    bool phantoms;
    player players[THREADS];
    int player_count;
    uint64_t calls, samples;
} world;

static char *path_of(const ouro_thread *thread, ouro_position position) {
    return strdup(position_path(thread, position));
}

static void player_begin(world *w, ouro_thread *thread) {
    player *p = &w->players[w->player_count++];
    *p = (player){.thread = thread, .base = ouro_thread_position(thread)};
    p->base_path = path_of(thread, p->base);
}

static world *world_new(int compaction, int edge_length, uint32_t cap) {
    world *w = calloc(1, sizeof *w);
    w->profile = ouro_profile_new(
        &(ouro_options){.compaction = compaction, .edge_length = edge_length, .max_nodes = cap});
    w->first = ouro_add_blocks(w->profile, (ouro_block_info[BLOCKS]){{0}}, BLOCKS);
    player_begin(w, ouro_thread_new(w->profile));
    return w;
}

static ouro_position catcher(const player *p, int depth) {
    return depth ? p->frames[depth - 1].stands : p->base;
}

static void cut(player *p, int depth) {
    while (p->depth > depth) free(p->frames[--p->depth].path);
}

static void unwind(player *p, int depth) {
    ouro_unwind(p->thread, catcher(p, depth));
    CHECK_EQUAL(ouro_thread_position(p->thread), catcher(p, depth));
    cut(p, depth);
}

static void player_end(world *w, int i) {
    player *p = &w->players[i];
    unwind(p, 0);
    ouro_thread_free(p->thread);
    free(p->base_path);
    w->players[i] = w->players[--w->player_count];
}

static void world_free(world *w) {
    while (w->player_count) player_end(w, 0);
    check_lanes(w->profile);
    ouro_profile_free(w->profile);
    free(w);
}

static void stand(player *p) {
    frame *top = &p->frames[p->depth - 1];
    free(top->path);
    top->stands = ouro_thread_position(p->thread);
    top->path = path_of(p->thread, top->stands);
}

// A block to enter, or OURO_PHANTOM if there is none.
static ouro_block pick(const world *w, const player *p) {
    if (w->phantoms && random_below(10) == 0) return OURO_PHANTOM;
    if (w->recurses) return w->first + random_below(4 + random_below(4));
    ouro_position here = ouro_thread_position(p->thread);
    if (here == ROOT_POSITION) return w->first + random_below(BLOCKS / 2);
    ouro_block block = node_at(lane_of(p->thread), here)->block;
    if (block < w->first) return OURO_PHANTOM; // [pruned]: what is inside is not told
    uint32_t left = w->first + BLOCKS - 1 - block;
    return left ? block + 1 + random_below(left < 4 ? left : 4) : OURO_PHANTOM;
}

static void enter(world *w, player *p) {
    ouro_block block = pick(w, p);
    if (p->depth == FRAMES || (block == OURO_PHANTOM && !w->phantoms)) return;
    p->frames[p->depth++] = (frame){.token = ouro_enter(p->thread, block)};
    w->calls += block != OURO_PHANTOM;
    stand(p);
}

static void replace(world *w, player *p) {
    ouro_block block = pick(w, p);
    if (p->depth == 0 || (block == OURO_PHANTOM && !w->phantoms)) return;
    ouro_replace(p->thread, block);
    w->calls += block != OURO_PHANTOM;
    stand(p);
}

static void leave(player *p) {
    if (p->depth == 0) return;
    ouro_exit(p->thread, p->frames[p->depth - 1].token);
    cut(p, p->depth - 1);
}

static void event(world *w, int threads) {
    int i = (int)random_below((uint32_t)w->player_count);
    player *p = &w->players[i];
    uint32_t dice = random_below(100);
    if (dice < 45) {
        enter(w, p);
    } else if (dice < 60) {
        leave(p);
    } else if (dice < 75) {
        replace(w, p);
    } else if (dice < 83) {
        unwind(p, (int)random_below((uint32_t)p->depth + 1));
    } else if (dice < 96) {
        ouro_sample(p->thread, 1);
        w->samples++;
    } else if (dice < 98 && w->player_count < threads) {
        player_begin(w,
                     random_below(4) ? ouro_thread_fork(p->thread) : ouro_thread_spawn(p->thread));
    } else if (w->player_count > 1) {
        player_end(w, i);
    }
}

// ---------------------------------------------------------------- the truth

// How often each position of a lane is open by our stacks, nodes and then accounts.
static int64_t *true_opens(const world *w, const ouro__lane *lane) {
    int64_t *opens = calloc(2 * (size_t)w->profile->capacity, sizeof *opens);
    for (int i = 0; i < w->player_count; i++) {
        const player *p = &w->players[i];
        if (lane_of(p->thread) != lane) continue;
        opens[p->base / lane->stride]++;
        CHECK_TEXT(position_path(p->thread, p->base), p->base_path);
        for (int d = 0; d < p->depth; d++) {
            opens[p->frames[d].stands / lane->stride]++;
            CHECK_TEXT(position_path(p->thread, p->frames[d].stands), p->frames[d].path);
        }
    }
    return opens;
}

static void check_lane(const world *w, const ouro__lane *lane, bool exact) {
    int64_t *opens = true_opens(w, lane);
    for (uint32_t i = 0; i < 2 * w->profile->capacity; i++) {
        const ouro_node_ *node = node_at(lane, i * lane->stride);
        if (opens[i]) CHECK(node->block != 0);
        if (!node->block || i == 1) continue; // [lost] is never evicted
        CHECK(node_open(node) >= opens[i]);
        if (exact) CHECK_EQUAL(node_open(node), opens[i]);
    }
    free(opens);
}

static void check_world(const world *w, bool exact) {
    for (uint32_t i = 0; i < w->profile->lane_count; i++)
        check_lane(w, w->profile->lanes[i], exact);
    ouro_stats stats = ouro_profile_stats(w->profile);
    CHECK_EQUAL(stats.calls, w->calls);
    CHECK_EQUAL(stats.totals[0], w->samples);
    CHECK(stats.nodes <= stats.max_nodes);
}

static const struct {
    int compaction, edge_length;
} rules[] = {{OURO_LOOPS, 0}, {OURO_CYCLES, 0}, {OURO_EDGES, 1},
             {OURO_EDGES, 2}, {OURO_EDGES, 3},  {OURO_NONE, 0}};
enum { RULES = sizeof rules / sizeof rules[0] };

static world *play(int rule, uint32_t cap, bool recurses, bool phantoms, int threads, bool exact) {
    world *w = world_new(rules[rule].compaction, rules[rule].edge_length, cap);
    w->recurses = recurses;
    w->phantoms = phantoms;
    for (int e = 0; e < 400 && !test_failures(); e++) {
        event(w, threads);
        check_world(w, exact);
    }
    return w;
}

TEST(without_recursion_exactly_the_abandoned_frames_are_closed_under_every_rule) {
    for (int i = 0; i < 10 * RULES && !test_failures(); i++)
        world_free(play(i % RULES, 3000, false, false, 1, true));
}

TEST(under_none_exactly_the_abandoned_frames_are_closed_also_of_a_recursion) {
    for (int i = 0; i < 20 && !test_failures(); i++)
        world_free(play(RULES - 1, 3000, true, false, 1, true));
}

TEST(what_is_open_stays_open_under_every_rule_with_green_threads) {
    for (int i = 0; i < 15 * RULES && !test_failures(); i++)
        world_free(play(i % RULES, 3000, i / RULES % 3 != 0, i % 2, THREADS, false));
}

TEST(what_is_open_stays_open_under_the_cap) {
    static const uint32_t caps[] = {2, 5, 12, 30, 80};
    uint64_t pruned = 0, overflow = 0;
    for (int i = 0; i < 30 * RULES && !test_failures(); i++) {
        world *w = play(i % RULES, caps[random_below(5)], random_below(3), random_below(2), THREADS,
                        false);
        pruned += ouro_profile_stats(w->profile).pruned;
        overflow += ouro_profile_stats(w->profile).overflow;
        world_free(w);
    }
    CHECK(pruned > 0 && overflow > 0);
}

// ---------------------------------------------------------------- single cases

static void enter_all(world *w, const uint32_t *blocks, size_t n) {
    player *p = &w->players[0];
    for (size_t i = 0; i < n; i++) {
        p->frames[p->depth++] = (frame){.token = ouro_enter(p->thread, w->first + blocks[i])};
        w->calls++;
        stand(p);
    }
}

static int64_t open_of(const world *w, ouro_position position) {
    return node_open(node_at(w->profile->lanes[0], position));
}

TEST(abandoned_paths_can_be_evicted) {
    world *w = world_new(OURO_LOOPS, 0, 20);
    ouro_thread *thread = w->players[0].thread;
    for (int round = 0; round < 100; round++) {
        enter_all(w, (uint32_t[]){1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 12);
        unwind(&w->players[0], 0);
        for (uint32_t i = 13; i < BLOCKS; i++) {
            ouro_exit(thread, ouro_enter(thread, w->first + i));
            w->calls++;
        }
        check_world(w, true);
    }
    CHECK(ouro_profile_stats(w->profile).pruned > 100);
    CHECK_EQUAL(ouro_profile_stats(w->profile).overflow, 0);
    world_free(w);
}

TEST(a_tail_call_on_the_way_is_not_closed_twice) {
    world *w = world_new(OURO_LOOPS, 0, 100);
    player *p = &w->players[0];
    enter_all(w, (uint32_t[]){1, 2}, 2);
    ouro_position passed = ouro_thread_position(p->thread);
    ouro_replace(p->thread, w->first + 3);
    w->calls++;
    stand(p);
    enter_all(w, (uint32_t[]){4}, 1);
    CHECK_EQUAL(open_of(w, passed), 0);
    unwind(p, 1);
    CHECK_EQUAL(open_of(w, passed), 0);
    check_world(w, true);
    world_free(w);
}

// a b a b: under edges 2 the second b goes back to the first, and the second a stands below it.
TEST(where_recursion_led_back_only_the_last_block_is_closed) {
    world *w = world_new(OURO_EDGES, 2, 100);
    player *p = &w->players[0];
    enter_all(w, (uint32_t[]){1, 2, 1, 2}, 4);
    CHECK_EQUAL(p->frames[3].stands, p->frames[1].stands);
    enter_all(w, (uint32_t[]){1, 3}, 2); // through the node where the third frame stands
    CHECK_EQUAL(p->frames[4].stands, p->frames[2].stands);
    ouro_position between = p->frames[4].stands, last = p->frames[5].stands;
    unwind(p, 4);
    CHECK_EQUAL(open_of(w, last), 0);
    CHECK_EQUAL(open_of(w, between), 2); // one of them has gone, and nobody can know which
    check_world(w, false);
    world_free(w);
}

TEST(where_a_green_thread_stands_below_only_the_last_block_is_closed) {
    world *w = world_new(OURO_NONE, 0, 100);
    player *p = &w->players[0];
    enter_all(w, (uint32_t[]){1, 2, 3, 4}, 4);
    player_begin(w, ouro_thread_fork(p->thread));
    enter_all(w, (uint32_t[]){5}, 1);
    ouro_position between = p->frames[2].stands, last = p->frames[4].stands;
    unwind(p, 1);
    CHECK_EQUAL(open_of(w, last), 0);
    CHECK_EQUAL(open_of(w, between), 1);
    check_world(w, false);
    player_end(w, 1);
    enter_all(w, (uint32_t[]){2, 3, 4}, 3);
    unwind(p, 1); // nobody is there now: what stayed open is closed, too
    CHECK_EQUAL(open_of(w, between), 0);
    check_world(w, true);
    world_free(w);
}

TEST(unwinding_to_where_the_thread_stands_changes_nothing) {
    world *w = world_new(OURO_LOOPS, 0, 100);
    enter_all(w, (uint32_t[]){1, 2}, 2);
    unwind(&w->players[0], 2);
    check_world(w, true);
    world_free(w);
}

// The thread has gone back above the catcher: recursion made the path shorter.
TEST(a_catcher_below_the_thread_is_reached_again) {
    world *w = world_new(OURO_EDGES, 1, 100);
    player *p = &w->players[0];
    enter_all(w, (uint32_t[]){1, 2, 3, 1, 4}, 5);
    CHECK_EQUAL(p->frames[3].stands, p->frames[0].stands);
    unwind(p, 3);
    CHECK_TEXT(position_path(p->thread, ouro_thread_position(p->thread)), p->frames[2].path);
    check_world(w, false);
    world_free(w);
}
