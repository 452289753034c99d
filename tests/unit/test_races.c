// SPDX-License-Identifier: MIT
//
// OS threads call everything that a thread may call, in a random order, with clocks that tick, and
// another one reads, resets and forks the process all the time. Run under ThreadSanitizer: what it
// reports fails the suite. In the plain build the totals are checked.

#include "lane_check.h"
#include "test.h"

#include "ouro.h"
#include "ouro_site.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS = 3, GREEN = 4, STEPS = 3000, DEPTH = 24, BLOCKS = 12, SITES = 3, HZ = 5000 };
enum { SAMPLES, TICKS };

typedef struct {
    ouro_thread *thread;
    ouro_position tokens[DEPTH];
    int depth;
} fiber;

typedef struct {
    ouro_profile *profile;
    ouro_block first;
    fiber fibers[GREEN]; // of one lane; the first is always there
    ouro_here *watched;
    uint64_t random, calls, samples;
    bool is_spawned, stays; // stays: freed by its parent
} worker;

static uint32_t pick(worker *w, uint32_t n) {
    w->random = w->random * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)((w->random >> 33) % n);
}

static ouro_block any_block(worker *w) { return w->first + pick(w, BLOCKS); }

static fiber *any_fiber(worker *w) {
    fiber *f = &w->fibers[pick(w, GREEN)];
    return f->thread ? f : &w->fibers[0];
}

// ---------------------------------------------------------------- steps

static void step_enter(worker *w) {
    fiber *f = any_fiber(w);
    if (f->depth == DEPTH) return;
    f->tokens[f->depth++] = ouro_enter(f->thread, any_block(w));
    w->calls++;
}

static void step_replace(worker *w) {
    fiber *f = any_fiber(w);
    if (!f->depth) return;
    ouro_replace(f->thread, any_block(w));
    w->calls++;
}

static void step_exit(worker *w) {
    fiber *f = any_fiber(w);
    if (f->depth) ouro_exit(f->thread, f->tokens[--f->depth]);
}

static void step_sample(worker *w) {
    ouro_sample(any_fiber(w)->thread, 1);
    w->samples++;
}

// A loop of calls and tail calls at call sites, with the clock looking at *watched.
static void step_sites(worker *w) {
    fiber *f = any_fiber(w);
    ouro_here *here = ouro_thread_here(f->thread), *outer = here;
    ouro_thread_watch(f->thread, &w->watched);
    for (int i = 0; i < 20; i++) {
        ouro_block block = any_block(w);
        here = ouro_site_enter(f->thread, here, (ouro_site)pick(w, SITES), block);
        __atomic_store_n(&w->watched, here, __ATOMIC_RELAXED);
        ouro_here_sample(here, 1);
        if (i % 4 < 2) continue;
        ouro_here_leave(here);
        here = outer;
        __atomic_store_n(&w->watched, here, __ATOMIC_RELAXED);
    }
    w->calls += 20;
    w->samples += 20;
    ouro_thread_stand(f->thread, here);
    __atomic_store_n(&w->watched, NULL, __ATOMIC_RELAXED);
    ouro_unwind(f->thread, ouro_here_position(f->thread, outer));
}

static void step_fork(worker *w) {
    fiber *parent = any_fiber(w), *f = &w->fibers[pick(w, GREEN)];
    if (!f->thread) *f = (fiber){.thread = ouro_thread_fork(parent->thread)};
}

static void fiber_end(fiber *f) {
    while (f->depth) ouro_exit(f->thread, f->tokens[--f->depth]);
    ouro_thread_free(f->thread);
    *f = (fiber){0};
}

static void step_free(worker *w) {
    fiber *f = &w->fibers[pick(w, GREEN)];
    if (f != &w->fibers[0]) fiber_end(f);
}

static void step_clock_start(worker *w) { ouro_clock_start(any_fiber(w)->thread, TICKS, HZ); }
static void step_clock_stop(worker *w) { ouro_clock_stop(any_fiber(w)->thread); }

static void step_clock_move(worker *w) {
    ouro_thread *from = any_fiber(w)->thread;
    ouro_clock_move(from, pick(w, 4) ? any_fiber(w)->thread : NULL);
}

static void step_slice(worker *w) {
    if (pick(w, 3)) {
        ouro_slice(any_fiber(w)->thread);
    } else {
        ouro_slice_stop(any_fiber(w)->thread);
    }
}

static void step_block(worker *w) {
    ouro_block block = ouro_add_block(w->profile, &(ouro_block_info){"late", "f", 1, 1});
    ouro_block_info info;
    ouro_block_get(w->profile, block, &info);
    ouro_add_sites(w->profile, block, &(uint32_t){SITES}, 1);
}

static void *worker_main(void *argument);

// On another OS thread; its parent frees it if it stays.
static void step_spawn(worker *w) {
    worker child = {.profile = w->profile, .first = w->first, .random = w->random + 1};
    child.is_spawned = true;
    child.stays = pick(w, 2);
    child.fibers[0].thread = ouro_thread_spawn(any_fiber(w)->thread);
    pthread_t id;
    if (!CHECK(pthread_create(&id, NULL, worker_main, &child) == 0)) return;
    for (int i = 0; i < 50; i++) step_enter(w), step_sample(w), step_exit(w);
    pthread_join(id, NULL);
    if (child.stays) ouro_thread_free(child.fibers[0].thread);
    w->calls += child.calls;
    w->samples += child.samples;
}

// A lane for the next.
static void step_renew(worker *w) {
    for (int i = GREEN - 1; i >= 0; i--) fiber_end(&w->fibers[i]);
    w->fibers[0].thread = ouro_thread_new(w->profile);
}

static void *worker_main(void *argument) {
    static const struct {
        void (*run)(worker *);
        int chance;
    } steps[] = {{step_enter, 30},     {step_exit, 25},       {step_replace, 5},
                 {step_sample, 10},    {step_sites, 5},       {step_fork, 5},
                 {step_free, 5},       {step_clock_start, 5}, {step_clock_move, 5},
                 {step_clock_stop, 3}, {step_slice, 3},       {step_block, 1},
                 {step_renew, 1}};
    worker *w = argument;
    if (!w->is_spawned) w->fibers[0].thread = ouro_thread_new(w->profile);
    for (int i = 0; i < (w->is_spawned ? STEPS / 20 : STEPS); i++) {
        int dice = (int)pick(w, 103), step = 0;
        while (dice >= steps[step].chance) dice -= steps[step++].chance;
        bool keeps = w->is_spawned && steps[step].run == step_renew;
        if (!keeps) steps[step].run(w);
        if (!w->is_spawned && i % 400 == 0) step_spawn(w);
    }
    ouro_thread_watch(w->fibers[0].thread, NULL);
    for (int i = GREEN - 1; i > 0; i--) fiber_end(&w->fibers[i]);
    ouro_clock_stop(w->fibers[0].thread);
    if (!w->stays) fiber_end(&w->fibers[0]);
    return NULL;
}

// ---------------------------------------------------------------- meanwhile

static void add_calls(void *user, const ouro_visit *v) { *(uint64_t *)user += v->calls; }

// A child of fork(2) has a profile of its own, and none of the OS threads.
static int in_child(ouro_profile *profile, ouro_block first) {
    alarm(60); // instead of hanging for ever
    worker w = {.profile = profile, .first = first, .random = test_seed(), .is_spawned = true};
    w.fibers[0].thread = ouro_thread_new(profile);
    uint64_t before = ouro_profile_stats(profile).calls;
    worker_main(&w);
    if (ouro_profile_stats(profile).calls != before + w.calls) return 1;
    if (ouro_profile_reset(profile)) return 2;
    return ouro_profile_stats(profile).calls ? 3 : 0;
}

// To a child, the OS threads of its parent look like threads that were never joined.
const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "report_thread_leaks=0"; }

static void check_fork(ouro_profile *profile, ouro_block first) {
    int status;
    pid_t child = fork();
    if (child == 0) _exit(in_child(profile, first));
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK_EQUAL(WEXITSTATUS(status), 0);
}

typedef struct {
    pthread_t id;
    worker worker;
    atomic_bool done;
} running;

static void *running_main(void *argument) {
    running *r = argument;
    worker_main(&r->worker);
    atomic_store(&r->done, true);
    return NULL;
}

static void check_races(uint32_t cap, const char *live, bool resets) {
    const ouro_metric_info metrics[] = {{"samples", "count"}, {"ticks", "nanoseconds"}};
    ouro_profile *profile = ouro_profile_new(
        &(ouro_options){.max_nodes = cap, .path = live, .metrics = metrics, .metric_count = 2});
    if (!CHECK(profile != NULL)) return;
    ouro_block first = ouro_add_blocks(profile, (ouro_block_info[BLOCKS]){{0}}, BLOCKS);
    for (ouro_block i = 0; i < BLOCKS; i++)
        ouro_add_sites(profile, first + i, &(uint32_t){SITES}, 1);
    static running all[WORKERS];
    memset(all, 0, sizeof all);
    for (int i = 0; i < WORKERS; i++) {
        all[i].worker = (worker){.profile = profile, .first = first, .random = random_next()};
        CHECK(pthread_create(&all[i].id, NULL, running_main, &all[i]) == 0);
    }
    for (bool busy = true; busy;) {
        uint64_t calls = 0;
        CHECK_EQUAL(ouro_profile_visit(profile, add_calls, &calls), 0);
        ouro_profile_stats(profile);
        check_fork(profile, first);
        if (resets) CHECK_EQUAL(ouro_profile_reset(profile), 0);
        busy = false;
        for (int i = 0; i < WORKERS; i++) busy |= !atomic_load(&all[i].done);
    }
    uint64_t calls = 0, samples = 0;
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(all[i].id, NULL);
        calls += all[i].worker.calls;
        samples += all[i].worker.samples;
    }
    ouro_stats stats = ouro_profile_stats(profile);
    CHECK(resets ? stats.calls <= calls : stats.calls == calls);
    CHECK(resets ? stats.totals[SAMPLES] <= samples : stats.totals[SAMPLES] == samples);
    check_lanes(profile);
    ouro_profile_free(profile);
}

TEST(any_calls_on_any_threads_do_not_race) { check_races(1000000, NULL, false); }
TEST(any_calls_under_a_cap_do_not_race) { check_races(100, NULL, false); }
TEST(any_calls_do_not_race_with_resets) { check_races(1000000, NULL, true); }
TEST(any_calls_into_a_live_file_do_not_race) {
    char live[512];
    snprintf(live, sizeof live, "%s", test_path("races.ouro"));
    check_races(1000000, live, false);
    check_races(200, live, true);
}
