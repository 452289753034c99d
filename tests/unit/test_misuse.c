// SPDX-License-Identifier: MIT
//
// What the headers say about misuse, in a library that does not stop at it: nothing is corrupted,
// and what is charged is somewhere. First by name, then any sequence of calls (machine.h), then
// several OS threads that take each other's tokens.

#include "internal.h"
#include "lane_check.h"
#include "live_read.h"
#include "machine.h"
#include "test.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 10 };

static ouro_profile *profile_with(const ouro_options *options, ouro_block *first) {
    ouro_profile *profile = ouro_profile_new(options);
    *first = ouro_add_blocks(profile, (ouro_block_info[BLOCKS]){{"a", "f", 1, 1}}, BLOCKS);
    return profile;
}

// Enters all blocks, one below the other, and returns the last position.
static ouro_position descend(ouro_thread *thread, ouro_block first) {
    for (ouro_block b = 0; b < BLOCKS; b++) ouro_enter(thread, first + b);
    return ouro_thread_position(thread);
}

typedef struct {
    uint64_t lost, calls, all;
} found;

static void look(void *user, const ouro_visit *visit) {
    found *f = user;
    f->all += visit->metrics[0];
    if (visit->length && visit->path[0] == OURO_LOST) {
        f->lost += visit->metrics[0];
        f->calls += visit->calls;
    }
}

static found visited(ouro_profile *profile) {
    found f = {0};
    CHECK_EQUAL(ouro_profile_visit(profile, look, &f), 0);
    CHECK_EQUAL(ouro_profile_stats(profile).totals[0], f.all);
    return f;
}

// ---------------------------------------------------------------- strays

// A thread of a lane that has nothing but a root stands at a token of another thread, where it
// charges 1,000.
typedef struct {
    ouro_profile *profile;
    ouro_block first;
    ouro_thread *owner, *thief;
    ouro_position token;
} theft;

static theft theft_begin(const ouro_options *options) {
    theft t = {0};
    t.profile = profile_with(options, &t.first);
    t.owner = ouro_thread_new(t.profile);
    t.thief = ouro_thread_new(t.profile);
    t.token = descend(t.owner, t.first);
    ouro_exit(t.thief, t.token);
    ouro_sample(t.thief, 1000);
    return t;
}

static void theft_end(theft *t) {
    check_lanes(t->profile);
    ouro_thread_free(t->owner);
    ouro_thread_free(t->thief);
    ouro_profile_free(t->profile);
}

TEST(what_is_charged_at_a_token_of_another_thread_is_lost_and_shown) {
    theft t = theft_begin(NULL);
    CHECK_EQUAL(visited(t.profile).lost, 1000);
    ouro_exit(t.thief, 0);
    CHECK_EQUAL(visited(t.profile).lost, 1000);
    CHECK_EQUAL(visited(t.profile).all, 1000);
    theft_end(&t);
}

TEST(a_node_that_comes_to_a_place_does_not_take_what_was_charged_there) {
    theft t = theft_begin(NULL);
    ouro_exit(t.thief, 0);
    descend(t.thief, t.first); // the same places now
    CHECK_EQUAL(ouro_thread_position(t.thief), t.token);
    CHECK_EQUAL(visited(t.profile).lost, 1000);
    ouro_sample(t.thief, 1);
    CHECK_EQUAL(visited(t.profile).lost, 1000);
    CHECK_EQUAL(visited(t.profile).all, 1001);
    theft_end(&t);
}

TEST(a_reset_forgets_what_misuse_has_charged) {
    theft t = theft_begin(NULL);
    CHECK_EQUAL(ouro_profile_reset(t.profile), 0);
    CHECK_EQUAL(visited(t.profile).all, 0);
    ouro_sample(t.thief, 5);
    CHECK_EQUAL(visited(t.profile).lost, 5);
    ouro_exit(t.thief, 0);
    descend(t.thief, t.first);
    CHECK_EQUAL(visited(t.profile).lost, 5);
    theft_end(&t);
}

TEST(what_is_charged_at_a_token_of_an_evicted_node_is_somewhere) {
    ouro_block first;
    ouro_profile *profile = profile_with(&(ouro_options){.max_nodes = 12}, &first);
    ouro_thread *thread = ouro_thread_new(profile);
    ouro_position stale[BLOCKS];
    for (ouro_block b = 0; b < BLOCKS; b++) {
        ouro_position root = ouro_enter(thread, first + b);
        stale[b] = ouro_thread_position(thread);
        ouro_exit(thread, root);
    }
    for (ouro_block b = 0; b < BLOCKS; b++) { // more than there is room for: others go
        ouro_position root = ouro_enter(thread, first + b);
        ouro_exit(thread, ouro_enter(thread, first + (b + 3) % BLOCKS));
        ouro_exit(thread, root);
    }
    CHECK(ouro_profile_stats(profile).pruned > 0);
    for (int i = 0; i < 3 * BLOCKS; i++) {
        ouro_exit(thread, stale[i % BLOCKS]);
        ouro_sample(thread, 1);
        ouro_exit(thread, ouro_enter(thread, first + (ouro_block)i % 7));
    }
    ouro_exit(thread, 0);
    CHECK_EQUAL(visited(profile).all, 3 * BLOCKS);
    CHECK_EQUAL(ouro_profile_stats(profile).calls, BLOCKS * 3 + 3 * BLOCKS);
    check_lanes(profile);
    ouro_thread_free(thread);
    ouro_profile_free(profile);
}

static uint64_t lost_in_file(const char *path) {
    ouro__live_profile file;
    ouro__live_error error;
    uint64_t lost = 0;
    if (!CHECK_EQUAL(ouro__live_read(path, &file, &error), 0)) return 0;
    for (uint32_t i = 1; i < file.rows->count; i++) {
        if (file.rows->block[i] == OURO_LOST) lost += ouro__row_values(file.rows, i)[ENTRY_KINDS];
    }
    ouro__live_profile_free(&file);
    return lost;
}

TEST(a_finished_live_file_has_what_misuse_has_charged) {
    const char *path = test_path("finished.ouro");
    theft t = theft_begin(&(ouro_options){.path = path});
    theft_end(&t);
    CHECK_EQUAL(lost_in_file(path), 1000);
}

// Below `used` of the lane: one node was evicted, and charged after that.
TEST(a_killed_programs_live_file_has_what_misuse_has_charged_to_evicted_nodes) {
    const char *path = test_path("killed.ouro");
    pid_t child = fork();
    if (child == 0) {
        ouro_block first;
        ouro_profile *profile = profile_with(&(ouro_options){.path = path, .max_nodes = 8}, &first);
        ouro_thread *thread = ouro_thread_new(profile);
        ouro_position root = ouro_enter(thread, first), stale = ouro_thread_position(thread);
        ouro_exit(thread, root);
        for (ouro_block b = 1; b < 8; b++) ouro_exit(thread, ouro_enter(thread, first + b));
        while (node_at(lane_of(thread), stale)->block) stale += lane_of(thread)->stride;
        ouro_exit(thread, stale);
        ouro_sample(thread, 1000);
        kill(getpid(), SIGKILL);
    }
    int status;
    waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    CHECK_EQUAL(lost_in_file(path), 1000);
}

// ---------------------------------------------------------------- other misuse

TEST(the_largest_block_id_is_lost_wherever_it_is_entered) {
    ouro_block first;
    ouro_profile *profile = profile_with(&(ouro_options){.max_nodes = 4}, &first);
    ouro_thread *thread = ouro_thread_new(profile);
    for (ouro_block b = 0; b < 40; b++) {
        ouro_position root = ouro_enter(thread, UINT32_MAX), inner = ouro_enter(thread, first);
        ouro_exit(thread, inner);
        ouro_exit(thread, root);
        ouro_exit(thread, ouro_enter(thread, first + b % BLOCKS));
        CHECK(!ouro_try_enter(thread, UINT32_MAX));
    }
    CHECK_EQUAL(ouro_profile_stats(profile).lost, 80);
    CHECK_EQUAL(ouro_profile_stats(profile).calls, 120);
    check_lanes(profile);
    ouro_thread_free(thread);
    ouro_profile_free(profile);
}

// What was charged before it is noticed is at the block before.
TEST(a_key_that_means_another_block_is_forgotten_when_it_is_noticed) {
    ouro_block first;
    ouro_profile *profile = profile_with(NULL, &first);
    ouro_thread *thread = ouro_thread_new(profile);
    ouro_enter(thread, first);
    ouro_here *here = ouro_thread_here(thread);
    static const char code[3];
    for (ouro_block i = 0; i < 3; i++)
        ouro_site_search(thread, here, (ouro_site)i, (uintptr_t)&code[i], first + 1 + i);
    for (ouro_site i = 0; i < 3; i++) CHECK(ouro_site_knows(here, i, (uintptr_t)&code[i]));
    ouro_site_search(thread, here, 3, (uintptr_t)&code[1], first + 4);
    for (ouro_site i = 0; i < 3; i++) CHECK(!ouro_site_knows(here, i, (uintptr_t)&code[i]));
    CHECK(ouro_site_leads(here, 3)->node->block == first + 4);
    ouro_site_search(thread, here, 1, (uintptr_t)&code[1], first + 4); // it is the new one's now
    CHECK(ouro_site_knows(here, 3, (uintptr_t)&code[1]));
    CHECK_EQUAL(ouro_profile_stats(profile).calls, 6);
    check_lanes(profile);
    ouro_thread_free(thread);
    ouro_profile_free(profile);
}

TEST(a_here_of_another_thread_leads_to_a_position_of_the_lane) {
    ouro_block first;
    ouro_profile *profile = profile_with(NULL, &first);
    ouro_thread *one = ouro_thread_new(profile), *two = ouro_thread_new(profile);
    descend(one, first);
    ouro_here *here = ouro_thread_here(one);
    ouro_thread_stand(two, here);
    CHECK_EQUAL(ouro_thread_position(two), ouro_thread_position(one));
    ouro_sample(two, 3);
    for (int i = 0; i < 3; i++) ouro_site_enter(two, here, 0, first + 1);
    CHECK(!ouro_site_knows(here, 0, first + 1)); // or it would lead the other thread here
    CHECK_EQUAL(ouro_profile_stats(profile).calls, BLOCKS + 3);
    CHECK_EQUAL(visited(profile).all, 3);
    check_lanes(profile);
    ouro_thread_free(one);
    ouro_thread_free(two);
    ouro_profile_free(profile);
}

// Accounts have numbers behind all nodes.
TEST(a_thread_may_be_unwound_to_an_account) {
    ouro_block first;
    ouro_profile *profile = profile_with(&(ouro_options){.max_nodes = 2}, &first);
    ouro_thread *thread = ouro_thread_new(profile);
    descend(thread, first);
    ouro_position account = ouro_thread_position(thread);
    CHECK(is_account(lane_of(thread), account));
    ouro_exit(thread, 0);
    ouro_unwind(thread, account);
    ouro_sample(thread, 2);
    CHECK_EQUAL(visited(profile).all, 2);
    check_lanes(profile);
    ouro_thread_free(thread);
    ouro_profile_free(profile);
}

// Another lane asks for a pruning, which begins at a place that is not in use, and opens accounts.
TEST(two_lanes_may_exchange_their_tokens_under_a_small_cap) {
    for (int run = 0; run < 40; run++) {
        ouro_block first;
        ouro_profile *profile =
            profile_with(&(ouro_options){.max_nodes = 2 + random_below(30)}, &first);
        ouro_thread *threads[2] = {ouro_thread_new(profile), ouro_thread_new(profile)};
        ouro_position tokens[16] = {0};
        uint64_t calls = 0;
        for (int i = 0; i < 5000; i++) {
            ouro_thread *thread = threads[random_below(2)];
            ouro_position *token = &tokens[random_below(16)];
            if (random_below(5) < 3) {
                *token = ouro_enter(thread, first + random_below(BLOCKS));
                calls++;
            } else {
                ouro_exit(thread, *token);
            }
            ouro_sample(thread, 1);
        }
        CHECK_EQUAL(ouro_profile_stats(profile).calls, calls);
        CHECK_EQUAL(visited(profile).all, 5000);
        check_lanes(profile);
        for (int i = 0; i < 2; i++) ouro_thread_free(threads[i]);
        ouro_profile_free(profile);
    }
}

// ---------------------------------------------------------------- any calls

static const char *machine_folder(void) {
    static char folder[256];
    const char *path = test_path("x");
    memcpy(folder, path, strlen(path) - 2);
    return folder;
}

TEST(any_sequence_of_calls_keeps_the_invariants_and_the_totals) {
    static uint8_t bytes[3000];
    for (int run = 0; run < 400; run++) {
        size_t size = 50 + random_below(sizeof bytes - 50);
        for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t)random_below(256);
        if (run % 2) bytes[2] %= 24; // a small cap
        const char *failure = machine_run(bytes, size, machine_folder());
        if (failure && !CHECK_TEXT(failure, "")) return;
    }
}

// ---------------------------------------------------------------- OS threads

enum { WORKERS = 4, TURNS = 20000, GREEN = 3, SHARED_TOKENS = 16 };

typedef struct {
    ouro_profile *profile;
    ouro_block first;
    _Atomic ouro_position tokens[SHARED_TOKENS]; // of all OS threads
    pthread_mutex_t lock;
    ouro_thread *handed_over; // spawned by one OS thread, for another; under the lock
    _Atomic bool done;
    bool resets;
} crowd;

typedef struct {
    crowd *crowd;
    uint64_t state; // of the random numbers
    ouro_thread *threads[GREEN];
    uint64_t calls, samples;
} worker;

static uint32_t below(worker *w, uint32_t n) {
    w->state = w->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((w->state >> 33) % n);
}

static _Atomic ouro_position *token(worker *w) {
    return &w->crowd->tokens[below(w, SHARED_TOKENS)];
}

static void green_end(worker *w) {
    for (int i = 0; i < GREEN; i++) {
        ouro_thread_free(w->threads[i]);
        w->threads[i] = NULL;
    }
}

// Another thread for this OS thread: a lane of its own, or one that somebody else has spawned.
static void lane_change(worker *w) {
    ouro_thread *mine = NULL;
    pthread_mutex_lock(&w->crowd->lock);
    if (!w->crowd->handed_over) {
        w->crowd->handed_over = ouro_thread_spawn(w->threads[0]);
    } else {
        mine = w->crowd->handed_over;
        w->crowd->handed_over = NULL;
    }
    pthread_mutex_unlock(&w->crowd->lock);
    if (!mine) return;
    green_end(w);
    w->threads[0] = mine;
}

static void green_fork(worker *w) {
    int i = 1 + (int)below(w, GREEN - 1);
    if (w->threads[i]) {
        ouro_thread_free(w->threads[i]);
        w->threads[i] = NULL;
    } else {
        w->threads[i] = ouro_thread_fork(w->threads[0]);
    }
}

static void by_sites(worker *w, ouro_thread *thread) {
    ouro_here *here = ouro_thread_here(thread), *caller = here;
    for (int i = 0; i < 4; i++) {
        ouro_block block = w->crowd->first + below(w, BLOCKS);
        here = ouro_site_enter(thread, here, (ouro_site)below(w, 4), block);
        ouro_here_sample(here, 1);
    }
    w->calls += 4;
    w->samples += 4;
    ouro_here_leave(here);
    ouro_thread_stand(thread, caller);
}

static void turn(worker *w) {
    ouro_thread *thread = w->threads[below(w, GREEN)];
    if (!thread) thread = w->threads[0];
    ouro_block block = w->crowd->first + below(w, BLOCKS);
    uint32_t choice = below(w, 100);
    if (choice < 40) {
        *token(w) = ouro_enter(thread, block);
        w->calls += thread != NULL;
    } else if (choice < 65) {
        ouro_exit(thread, *token(w));
    } else if (choice < 75) {
        ouro_replace(thread, block);
        w->calls += thread != NULL;
    } else if (choice < 85) {
        ouro_sample(thread, choice);
        w->samples += thread ? choice : 0;
    } else if (choice < 88) {
        ouro_unwind(thread, *token(w));
    } else if (choice < 92) {
        *token(w) = ouro_reenter(thread, block);
    } else if (choice < 95) {
        if (thread) by_sites(w, thread);
    } else if (choice < 98) {
        green_fork(w);
    } else if (below(w, 10) == 0) {
        lane_change(w);
    }
}

static void *work(void *user) {
    worker *w = user;
    w->threads[0] = ouro_thread_new(w->crowd->profile);
    ouro_thread *ticking = ouro_thread_fork(w->threads[0]);
    ouro_clock_start(ticking, 1, 500);
    for (int i = 0; i < TURNS; i++) {
        turn(w);
        if (i % 64 == 0) ouro_exit(ticking, *token(w));
    }
    ouro_clock_stop(ticking);
    ouro_thread_free(ticking);
    green_end(w);
    return NULL;
}

static void ignore(void *user, const ouro_visit *visit) {
    (void)user;
    (void)visit;
}

static void *read_on(void *user) {
    crowd *c = user;
    for (int i = 0; !c->done; i++) {
        ouro_profile_stats(c->profile);
        ouro_profile_visit(c->profile, ignore, NULL);
        ouro_add_block(c->profile, &(ouro_block_info){"later", "f", 1, 1});
        ouro_profile_enable(c->profile, i % 3);
        if (c->resets && i % 4 == 0) ouro_profile_reset(c->profile);
        usleep(1000);
    }
    return NULL;
}

static void run_crowd(crowd *c, const ouro_options *options, worker workers[WORKERS]) {
    pthread_t ids[WORKERS], reader;
    ouro__hasty_sites = random_below(2);
    c->profile = profile_with(options, &c->first);
    pthread_mutex_init(&c->lock, NULL);
    pthread_create(&reader, NULL, read_on, c);
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = (worker){.crowd = c, .state = random_next()};
        pthread_create(&ids[i], NULL, work, &workers[i]);
    }
    for (int i = 0; i < WORKERS; i++) pthread_join(ids[i], NULL);
    c->done = true;
    pthread_join(reader, NULL);
    ouro_thread_free(c->handed_over);
    check_lanes(c->profile);
    pthread_mutex_destroy(&c->lock);
}

static const ouro_metric_info two_metrics[] = {{"samples", "count"}, {"ticks", "count"}};

TEST(os_threads_that_take_each_others_tokens_lose_nothing) {
    for (uint32_t cap = 2; cap < 3000; cap = cap * 3 + 1) {
        crowd c = {0};
        worker workers[WORKERS];
        run_crowd(&c, &(ouro_options){.max_nodes = cap, .metrics = two_metrics, .metric_count = 2},
                  workers);
        uint64_t calls = 0, samples = 0;
        for (int i = 0; i < WORKERS; i++) {
            calls += workers[i].calls;
            samples += workers[i].samples;
        }
        CHECK_EQUAL(ouro_profile_stats(c.profile).calls, calls);
        CHECK_EQUAL(visited(c.profile).all, samples);
        ouro_profile_free(c.profile);
    }
}

// How much is left is not known, but it hangs together, also in the file.
TEST(os_threads_that_take_each_others_tokens_may_be_reset) {
    const char *path = test_path("crowd.ouro");
    crowd c = {.resets = true};
    worker workers[WORKERS];
    run_crowd(
        &c,
        &(ouro_options){.max_nodes = 30, .path = path, .metrics = two_metrics, .metric_count = 2},
        workers);
    CHECK_EQUAL(ouro_profile_reset(c.profile), 0);
    CHECK_EQUAL(visited(c.profile).all, 0);
    ouro_profile_free(c.profile);
    CHECK_EQUAL(lost_in_file(path), 0);
}
