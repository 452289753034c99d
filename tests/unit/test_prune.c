// SPDX-License-Identifier: MIT
//
// The cap. Every stream is recorded twice, with a small cap and without; the second is the exact
// oracle (test_model compares it with the naive model). After every stretch of events all promises
// are checked: totals exact, no resident context too high, none lower than it admits, every hot
// context resident, nothing open evicted, never more nodes than the cap.

#include "contexts.h"
#include "internal.h"
#include "lane_check.h"
#include "ouro_site.h"
#include "test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 64, THREADS = 6 };

typedef struct {
    ouro_position token, exact;
    char *path; // where the token led, as text: it must still lead there at the exit
} frame;

typedef struct {
    ouro_thread *capped, *exact;
    frame *frames;
    size_t depth, room;
} pair;

typedef struct {
    ouro_profile *capped, *exact;
    ouro_block first;
    uint32_t cap;
    bool recurses; // the stream leads back to blocks of its path, and the rule compacts that
    pair threads[THREADS];
    int thread_count;
} twin;

static const ouro_metric_info two_metrics[] = {{"samples", "count"}, {"time", "nanoseconds"}};

static twin *twin_new(int compaction, uint32_t cap) {
    twin *t = calloc(1, sizeof *t);
    ouro_options options = {.compaction = compaction, .metrics = two_metrics, .metric_count = 2};
    t->exact = ouro_profile_new(&options);
    options.max_nodes = t->cap = cap;
    t->capped = ouro_profile_new(&options);
    ouro_block_info infos[BLOCKS] = {{0}};
    t->first = ouro_add_blocks(t->capped, infos, BLOCKS);
    uint32_t sites[BLOCKS];
    for (uint32_t i = 0; i < BLOCKS; i++) sites[i] = i % 3 ? 8 : 0;
    CHECK(!ouro_add_sites(t->capped, t->first, sites, BLOCKS));
    ouro_add_blocks(t->exact, infos, BLOCKS);
    t->threads[0].capped = ouro_thread_new(t->capped);
    t->threads[0].exact = ouro_thread_new(t->exact);
    t->thread_count = 1;
    return t;
}

// Sites are fewer than blocks: they know the wrong transition, or one of a node that is gone.
static ouro_position enter_capped(pair *p, ouro_block block) {
    ouro_position caller = ouro_thread_position(p->capped);
    if (block % 3 == 0) {
        ouro_here *here = ouro_thread_here(p->capped);
        here = ouro_site_enter(p->capped, here, (ouro_site)(block % 7), block);
        ouro_thread_stand(p->capped, here);
        return caller;
    }
    if (block % 3 == 2 && ouro_try_enter(p->capped, block)) return caller;
    return ouro_enter(p->capped, block);
}

static void replace_capped(ouro_thread *thread, ouro_block block) {
    ouro_here *here = ouro_thread_here(thread);
    here = ouro_site_replace(thread, here, (ouro_site)(block % 7), block);
    ouro_thread_stand(thread, here);
}

static void enter(twin *t, pair *p, uint32_t block) {
    if (p->depth == p->room) {
        p->room = p->room ? p->room * 2 : 64;
        p->frames = realloc(p->frames, p->room * sizeof *p->frames);
    }
    frame *f = &p->frames[p->depth++];
    f->token = enter_capped(p, t->first + block);
    f->exact = ouro_enter(p->exact, t->first + block);
    // Long paths are not written down: it would be quadratic.
    f->path = p->depth < 200 ? strdup(position_path(p->capped, f->token)) : NULL;
}

static void leave(pair *p) {
    if (p->depth == 0) return;
    frame *f = &p->frames[--p->depth];
    if (f->path) CHECK_TEXT(position_path(p->capped, f->token), f->path);
    free(f->path);
    ouro_exit(p->capped, f->token);
    ouro_exit(p->exact, f->exact);
}

static void replace(twin *t, pair *p, uint32_t block) {
    if (p->depth == 0) return;
    if (block % 3 == 2)
        replace_capped(p->capped, t->first + block);
    else
        ouro_replace(p->capped, t->first + block);
    ouro_replace(p->exact, t->first + block);
}

static void count(pair *p, ouro_metric metric, uint64_t n) {
    ouro_count(p->capped, metric, n);
    ouro_count(p->exact, metric, n);
}

static void reset(twin *t) {
    CHECK_EQUAL(ouro_profile_reset(t->capped), 0);
    CHECK_EQUAL(ouro_profile_reset(t->exact), 0);
}

static void unwind(pair *p) {
    while (p->depth) leave(p);
}

static void twin_free(twin *t) {
    for (int i = 0; i < t->thread_count; i++) {
        unwind(&t->threads[i]);
        free(t->threads[i].frames);
        ouro_thread_free(t->threads[i].capped);
        ouro_thread_free(t->threads[i].exact);
    }
    ouro_profile_free(t->capped);
    ouro_profile_free(t->exact);
    free(t);
}

// ---------------------------------------------------------------- the promises

// `slack`: what may be too high after an overflow, see ouro_stats; zero where there was none.
static void check_resident(const context *c, const contexts *exact, const uint64_t *slack) {
    const context *truth = contexts_find(exact, c->path, c->length);
    if (!CHECK(truth != NULL)) return;
    for (int w = 0; w < WEIGHTS; w++) {
        CHECK(c->inclusive[w] <= truth->inclusive[w] + slack[w]);
        CHECK(truth->inclusive[w] <= c->inclusive[w] + c->missing[w]);
        CHECK(c->self[w] <= truth->self[w]);
    }
}

static void check_hot_are_resident(const contexts *capped, const contexts *exact,
                                   double threshold) {
    for (size_t i = 0; i < exact->count; i++) {
        const context *truth = &exact->list[i];
        double share = 0;
        for (int w = 0; w < WEIGHTS; w++) {
            double of =
                exact->totals[w] ? (double)truth->inclusive[w] / (double)exact->totals[w] : 0;
            if (of > share) share = of;
        }
        if (share > threshold && truth->length > 0)
            CHECK(contexts_find(capped, truth->path, truth->length) != NULL);
    }
}

static void check_promises(twin *t) {
    uint64_t slack[WEIGHTS] = {0};
    contexts *capped = contexts_of(t->capped, 2), *exact = contexts_of(t->exact, 2);
    ouro_stats stats = ouro_profile_stats(t->capped);
    for (int w = 0; w < WEIGHTS; w++) CHECK_EQUAL(capped->totals[w], exact->totals[w]);
    CHECK_EQUAL(stats.calls, exact->totals[0]);
    CHECK_EQUAL(stats.totals[0], exact->totals[1]);
    CHECK_EQUAL(stats.lost, 0);
    CHECK(stats.nodes <= t->cap);
    for (size_t i = 0; stats.overflow && t->recurses && i < capped->count; i++) {
        for (int w = 0; w < WEIGHTS; w++)
            slack[w] += capped->list[i].pruned ? capped->list[i].self[w] : 0;
    }
    size_t resident = 1;
    for (size_t i = 0; i < capped->count; i++) {
        if (capped->list[i].pruned) continue;
        resident += capped->list[i].length > 0;
        check_resident(&capped->list[i], exact, slack);
    }
    CHECK(resident <= t->cap);
    check_hot_are_resident(capped, exact, stats.threshold);
    check_lanes(t->capped);
    contexts_free(capped);
    contexts_free(exact);
}

// ---------------------------------------------------------------- streams

static const uint32_t caps[] = {2, 3, 8, 16, 64, 200, 1000};
enum { CAPS = sizeof caps / sizeof caps[0] };

// At each level one of two ways: 2^levels paths. Some ways are much hotter than others.
static void walk_diamonds(twin *t, pair *p, uint32_t levels, uint32_t bias) {
    for (uint32_t i = 0; i < levels; i++) {
        enter(t, p, 2 * i + (random_below(100) < bias ? 0 : 1));
        if (random_below(4) == 0) count(p, random_below(2), random_below(100));
    }
    unwind(p);
}

TEST(a_chain_of_diamonds_keeps_every_promise) {
    for (int c = 0; c < CAPS; c++) {
        twin *t = twin_new(OURO_LOOPS, caps[c]);
        for (int i = 0; i < 2000 && !test_failures(); i++) {
            walk_diamonds(t, &t->threads[0], 10, 80);
            if (i % 250 == 0) check_promises(t);
        }
        check_promises(t);
        if (caps[c] > 2 && caps[c] < 1000) CHECK(ouro_profile_stats(t->capped).pruned > 0);
        twin_free(t);
    }
}

TEST(phases_with_other_hot_contexts_keep_every_promise) {
    for (int c = 1; c < CAPS; c++) {
        twin *t = twin_new(OURO_LOOPS, caps[c]);
        for (int phase = 0; phase < 6 && !test_failures(); phase++) {
            for (int i = 0; i < 300; i++) walk_diamonds(t, &t->threads[0], 8, phase % 2 ? 90 : 10);
            check_promises(t);
        }
        twin_free(t);
    }
}

static size_t square_free(char *word, size_t length) {
    size_t written = 1;
    word[0] = 0;
    for (size_t read = 0; written < length; read++) {
        static const char images[3][3] = {{0, 1, 2}, {0, 2, 3}, {1, 3, 3}}; // 3 = nothing
        for (int i = read == 0; i < 3; i++) {
            if (images[(int)word[read]][i] < 3) word[written++] = images[(int)word[read]][i];
        }
    }
    return length;
}

TEST(square_free_nesting_under_cycles_keeps_every_promise) {
    char word[2048];
    size_t length = square_free(word, 1500);
    for (int c = 0; c < CAPS; c++) {
        twin *t = twin_new(OURO_CYCLES, caps[c]);
        for (int round = 0; round < 6 && !test_failures(); round++) {
            size_t from = random_below(200), to = 300 + random_below((uint32_t)length - 300);
            for (size_t i = from; i < to; i++) {
                enter(t, &t->threads[0], (uint32_t)word[i] + (uint32_t)round % 2);
                if (i % 7 == 0) count(&t->threads[0], 0, 3);
            }
            check_promises(t); // everything is open
            unwind(&t->threads[0]);
            check_promises(t);
        }
        twin_free(t);
    }
}

TEST(resets_in_the_middle_keep_every_promise) {
    for (int c = 1; c < CAPS; c++) {
        twin *t = twin_new(OURO_LOOPS, caps[c]);
        for (int i = 0; i < 1500 && !test_failures(); i++) {
            walk_diamonds(t, &t->threads[0], 8, 70);
            if (random_below(300) == 0) {
                reset(t);
                check_promises(t);
            }
            if (i % 200 == 0) check_promises(t);
        }
        check_promises(t);
        twin_free(t);
    }
}

TEST(one_long_call_is_hot_although_it_was_called_once) {
    twin *t = twin_new(OURO_LOOPS, 50);
    pair *p = &t->threads[0];
    enter(t, p, 60);
    enter(t, p, 61);
    count(p, 1, 1000000000);
    unwind(p);
    for (int i = 0; i < 3000; i++) walk_diamonds(t, p, 9, 50);
    contexts *all = contexts_of(t->capped, 2);
    ouro_block path[] = {t->first + 60, t->first + 61};
    const context *c = contexts_find(all, path, 2);
    if (CHECK(c != NULL)) CHECK_EQUAL(c->self[2], 1000000000);
    contexts_free(all);
    check_promises(t);
    twin_free(t);
}

static void random_event(twin *t, uint32_t blocks) {
    int i = (int)random_below((uint32_t)t->thread_count);
    pair *p = &t->threads[i];
    uint32_t dice = random_below(100);
    if (dice < 38 && p->depth < 60) {
        enter(t, p, random_below(blocks));
    } else if (dice < 75) {
        leave(p);
    } else if (dice < 85) {
        replace(t, p, random_below(blocks));
    } else if (dice < 99) {
        count(p, random_below(2), random_below(10));
    } else if (t->thread_count < THREADS) {
        bool fork = random_below(2);
        pair child = {.capped = fork ? ouro_thread_fork(p->capped) : ouro_thread_spawn(p->capped)};
        // A fork or a spawn of a thread that stands in an account begins there; the exact one has
        // the path.
        child.exact = fork ? ouro_thread_fork(p->exact) : ouro_thread_spawn(p->exact);
        t->threads[t->thread_count++] = child;
    }
}

TEST(random_streams_with_forks_and_lanes_keep_every_promise) {
    static const int rules[] = {OURO_LOOPS, OURO_CYCLES, OURO_EDGES, OURO_NONE};
    for (int i = 0; i < 60 && !test_failures(); i++) {
        twin *t = twin_new(rules[i % 4], caps[random_below(CAPS)]);
        t->recurses = rules[i % 4] != OURO_NONE;
        uint32_t blocks = 2 + random_below(20);
        for (int e = 0; e < 4000 && !test_failures(); e++) {
            random_event(t, blocks);
            if (random_below(2000) == 0) reset(t);
            if (e % 1000 == 999) check_promises(t);
        }
        twin_free(t);
    }
}

TEST(a_thread_that_stands_somewhere_keeps_its_path) {
    twin *t = twin_new(OURO_LOOPS, 20);
    pair *p = &t->threads[0];
    for (uint32_t i = 40; i < 46; i++) enter(t, p, i);
    ouro_thread *green = ouro_thread_fork(p->capped);
    char *path = strdup(position_path(green, green->position_));
    unwind(p);
    for (int i = 0; i < 500; i++) walk_diamonds(t, p, 8, 50);
    CHECK(ouro_profile_stats(t->capped).pruned > 100);
    CHECK_TEXT(position_path(green, green->position_), path);
    ouro_thread_free(green);
    // Now it may go.
    for (int i = 0; i < 500; i++) walk_diamonds(t, p, 8, 50);
    contexts *all = contexts_of(t->capped, 2);
    ouro_block deep[6];
    for (uint32_t i = 0; i < 6; i++) deep[i] = t->first + 40 + i;
    CHECK(contexts_find(all, deep, 6) == NULL);
    contexts_free(all);
    free(path);
    twin_free(t);
}

TEST(call_sites_forget_what_the_cap_removed) {
    twin *t = twin_new(OURO_LOOPS, 8);
    ouro_thread *thread = t->threads[0].capped;
    ouro_block f = t->first + 1, callee = t->first;
    ouro_enter(thread, f);
    ouro_here *here = ouro_thread_here(thread);
    ouro_here_leave(ouro_site_enter(thread, here, 0, callee));
    CHECK(ouro_site_knows(here, 0, callee));
    for (uint32_t i = 2; i < BLOCKS; i++) {
        bool known = ouro_site_knows(here, 0, callee);
        uint64_t before = ouro_profile_stats(t->capped).pruned;
        ouro_site site = (ouro_site)(i % 7 + 1);
        ouro_here_leave(ouro_site_enter(thread, here, site, t->first + i));
        bool removed = ouro_profile_stats(t->capped).pruned != before;
        CHECK_EQUAL(ouro_site_knows(here, 0, callee), known && !removed);
        ouro_here_leave(ouro_site_enter(thread, here, 0, callee));
    }
    CHECK(ouro_profile_stats(t->capped).pruned > 10);
    CHECK_EQUAL(ouro_profile_stats(t->capped).calls, 2 + 2 * (BLOCKS - 2));
    check_lanes(t->capped);
    ouro_exit(thread, 0);
    twin_free(t);
}

TEST(recursion_deeper_than_the_cap_is_charged_to_the_deepest_account) {
    twin *t = twin_new(OURO_NONE, 100);
    pair *p = &t->threads[0];
    for (int i = 0; i < 5000; i++) {
        enter(t, p, (uint32_t)i % 5);
        count(p, 0, 1);
    }
    ouro_stats stats = ouro_profile_stats(t->capped);
    CHECK_EQUAL(stats.nodes, 100);
    CHECK_EQUAL(stats.calls, 5000);
    CHECK_EQUAL(stats.totals[0], 5000);
    check_promises(t);
    unwind(p);
    // And when it is over, new contexts find room again.
    for (int i = 0; i < 200; i++) {
        enter(t, p, 50);
        leave(p);
    }
    contexts *all = contexts_of(t->capped, 2);
    ouro_block path[] = {t->first + 50};
    CHECK(contexts_find(all, path, 1) != NULL);
    contexts_free(all);
    check_promises(t);
    twin_free(t);
}

// Many prunings: epochs are merged, and the bounds still hold.
TEST(thousands_of_prunings_keep_every_promise) {
    twin *t = twin_new(OURO_LOOPS, 12);
    for (int i = 0; i < 15000 && !test_failures(); i++) {
        walk_diamonds(t, &t->threads[0], 6, 70);
        if (i % 1500 == 0) check_promises(t);
    }
    check_promises(t);
    twin_free(t);
}

TEST(what_ended_lanes_hold_is_given_up_to_those_that_run) {
    twin *t = twin_new(OURO_LOOPS, 200);
    t->threads[1] =
        (pair){.capped = ouro_thread_new(t->capped), .exact = ouro_thread_new(t->exact)};
    for (int i = 0; i < 500; i++) walk_diamonds(t, &t->threads[1], 9, 50);
    ouro_thread_free(t->threads[1].capped); // its lane has the whole cap, and nobody to prune it
    ouro_thread_free(t->threads[1].exact);
    free(t->threads[1].frames);
    for (int i = 0; i < 100; i++) walk_diamonds(t, &t->threads[0], 5, 100);
    contexts *all = contexts_of(t->capped, 2);
    ouro_block path[] = {t->first + 0, t->first + 2, t->first + 4, t->first + 6, t->first + 8};
    CHECK(contexts_find(all, path, 5) != NULL);
    contexts_free(all);
    check_promises(t);
    twin_free(t);
}

// Also from one that runs and needs no new nodes itself: it is asked.
TEST(a_lane_that_is_warm_gives_room_to_one_that_begins) {
    twin *t = twin_new(OURO_LOOPS, 300);
    pair *warm = &t->threads[0];
    for (uint32_t a = 0; a < 60; a++) {
        for (uint32_t b = 0; b < 4; b++) {
            enter(t, warm, a);
            enter(t, warm, 60 + b);
            unwind(warm);
        }
    }
    t->threads[1] =
        (pair){.capped = ouro_thread_new(t->capped), .exact = ouro_thread_new(t->exact)};
    t->thread_count = 2;
    for (int i = 0; i < 2000; i++) {
        enter(t, warm, random_below(60));
        enter(t, warm, 60 + random_below(4));
        unwind(warm);
        for (uint32_t d = 0; d < 5; d++) enter(t, &t->threads[1], 10 * d + random_below(2));
        unwind(&t->threads[1]);
    }
    check_promises(t);
    ouro_stats stats = ouro_profile_stats(t->capped);
    CHECK(stats.overflow < stats.calls / 20);
    twin_free(t);
}

TEST(where_nothing_is_open_nothing_overflows) {
    for (uint32_t cap = 2; cap < 40; cap++) {
        twin *t = twin_new(OURO_LOOPS, cap);
        for (int i = 0; i < 2000; i++) {
            enter(t, &t->threads[0], random_below(BLOCKS));
            leave(&t->threads[0]);
        }
        CHECK_EQUAL(ouro_profile_stats(t->capped).overflow, 0);
        check_promises(t);
        twin_free(t);
    }
}

TEST(a_thread_that_left_frames_of_its_parent_keeps_its_counts) {
    twin *t = twin_new(OURO_LOOPS, 20);
    ouro_thread *thread = t->threads[0].capped;
    ouro_position outside = ouro_enter(thread, t->first + 40);
    ouro_position inside = ouro_enter(thread, t->first + 41);
    ouro_thread *green = ouro_thread_fork(thread);
    ouro_exit(thread, inside);
    ouro_exit(thread, outside);
    ouro_exit(green, inside); // its parent's frames
    ouro_enter(t->threads[0].exact, t->first + 40);
    ouro_sample(t->threads[0].exact, 1000);
    ouro_exit(t->threads[0].exact, 0);
    for (int i = 0; i < 1000; i++) {
        walk_diamonds(t, &t->threads[0], 8, 50);
        ouro_sample(green, 1);
    }
    ouro_stats stats = ouro_profile_stats(t->capped), exact = ouro_profile_stats(t->exact);
    CHECK(stats.totals[0] == exact.totals[0] && stats.pruned > 100);
    ouro_thread_free(green);
    twin_free(t);
}

// Lanes share the cap: a lane that has it all gives some of it up when another one needs it.
TEST(a_new_lane_gets_room_under_a_full_cap) {
    twin *t = twin_new(OURO_LOOPS, 200);
    pair *p = &t->threads[0];
    for (int i = 0; i < 500; i++) walk_diamonds(t, p, 9, 50);
    t->threads[1] =
        (pair){.capped = ouro_thread_new(t->capped), .exact = ouro_thread_new(t->exact)};
    t->thread_count = 2;
    for (int i = 0; i < 500; i++) {
        walk_diamonds(t, &t->threads[1], 4, 90);
        walk_diamonds(t, p, 9, 50);
    }
    check_promises(t);
    contexts *all = contexts_of(t->capped, 2);
    ouro_block path[] = {t->first + 0, t->first + 2, t->first + 4, t->first + 6};
    CHECK(contexts_find(all, path, 4) != NULL);
    contexts_free(all);
    twin_free(t);
}

// ---------------------------------------------------------------- the invariants

static void break_parent(ouro__lane *lane) {
    node_at(lane, lane->stride * 3)->parent = lane->stride;
}
static void break_block(ouro__lane *lane) { node_at(lane, lane->stride * 3)->block = 12345; }
static void break_live(ouro__lane *lane) { lane->live++; }
static void break_free_list(ouro__lane *lane) { lane->free_list = lane->stride * 3; }
static void break_memo(ouro__lane *lane) { lane->memo.count--; }
static void break_account(ouro__lane *lane) {
    ouro__account_open(lane, account_of(lane, lane->stride * 3));
    node_at(lane, account_of(lane, lane->stride * 3))->parent = 0;
}

// In a child: with assertions it must stop, without it must say so.
static void check_found_out(void (*break_it)(ouro__lane *)) {
    pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr)) _exit(9);
        twin *t = twin_new(OURO_LOOPS, 100);
        for (uint32_t i = 0; i < 9; i++) enter(t, &t->threads[0], i);
        unwind(&t->threads[0]);
        ouro__lane *lane = t->capped->lanes[0];
        if (!ouro__lane_is_valid(lane)) _exit(8);
        break_it(lane);
        _exit(ouro__lane_is_valid(lane));
    }
    int status;
    waitpid(child, &status, 0);
#ifdef NDEBUG
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
#else
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
#endif
}

TEST(a_lane_that_is_broken_is_found_out) {
    check_found_out(break_parent);
    check_found_out(break_block);
    check_found_out(break_live);
    check_found_out(break_free_list);
    check_found_out(break_memo);
    check_found_out(break_account);
}
