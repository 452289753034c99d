// SPDX-License-Identifier: MIT
//
// Several OS threads record, fork, spawn and add blocks, while another reads the profile again and
// again. Run under ThreadSanitizer too.

#include "contexts.h"
#include "lane_check.h"
#include "test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS = 4, ROUNDS = 60, EVENTS = 400, DEPTH = 24 };

typedef struct {
    ouro_profile *profile;
    ouro_thread *thread; // NULL: make one
    uint64_t random, calls, samples;
    bool failed;
} worker;

static uint32_t pick(worker *w, uint32_t n) {
    w->random = w->random * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)((w->random >> 33) % n);
}

static void play(worker *w, ouro_thread *thread, ouro_block first, uint32_t blocks) {
    ouro_position tokens[DEPTH];
    int depth = 0;
    for (int i = 0; i < EVENTS; i++) {
        uint32_t dice = pick(w, 10);
        if (dice < 5 && depth < DEPTH) {
            tokens[depth++] = ouro_enter(thread, first + pick(w, blocks));
            w->calls++;
        } else if (dice < 7 && depth) {
            ouro_exit(thread, tokens[--depth]);
        } else if (dice < 8 && depth) {
            ouro_replace(thread, first + pick(w, blocks));
            w->calls++;
        } else {
            ouro_sample(thread, 1);
            w->samples++;
        }
    }
    while (depth) ouro_exit(thread, tokens[--depth]);
}

static void *spawned_main(void *argument) {
    worker *w = argument;
    ouro_block first = ouro_add_block(w->profile, &(ouro_block_info){"spawned", "f", 1, 1});
    for (int i = 0; i < 5; i++) {
        ouro_slice(w->thread);
        play(w, w->thread, first, 1);
    }
    ouro_thread_free(w->thread);
    return NULL;
}

static void run_spawned(worker *w, ouro_thread *thread) {
    worker child = {
        .profile = w->profile, .thread = ouro_thread_spawn(thread), .random = w->random + 1};
    pthread_t id;
    if (!child.thread || pthread_create(&id, NULL, spawned_main, &child)) {
        w->failed = true;
        return;
    }
    play(w, thread, 3, 3);
    pthread_join(id, NULL);
    w->calls += child.calls;
    w->samples += child.samples;
}

static void *worker_main(void *argument) {
    worker *w = argument;
    for (int round = 0; round < ROUNDS; round++) {
        ouro_thread *thread = w->thread ? w->thread : ouro_thread_new(w->profile);
        ouro_block_info infos[5] = {{"a", "f", 1, 1}, {"b", "f", 2, 1}, {"c", "f", 3, 1}};
        ouro_block first = ouro_add_blocks(w->profile, infos, 5);
        ouro_slice(thread);
        ouro_position token = ouro_enter(thread, first);
        w->calls++;
        play(w, thread, first, 5);
        ouro_slice(thread);
        ouro_thread *green = ouro_thread_fork(thread);
        play(w, green, first, 5);
        ouro_thread_free(green);
        if (round % 10 == 0) run_spawned(w, thread);
        ouro_exit(thread, token);
        w->thread = NULL;
        ouro_thread_free(thread);
    }
    return NULL;
}

typedef struct {
    ouro_profile *profile;
    _Atomic bool stop;
    uint32_t cap;
    int reads, bad;
    uint64_t last;
    char path[512];
} watcher;

static void add_calls(void *user, const ouro_visit *v) { *(uint64_t *)user += v->calls; }

typedef struct {
    uint64_t calls, samples, slices, rows;
} slice_sum;

static void add_slice(void *user, const ouro_slice_info *slice) {
    slice_sum *sum = user;
    sum->calls += slice->calls;
    sum->samples += slice->metrics[0];
    sum->rows++;
}

static void add_summary(void *user, const ouro_slice_summary *summary) {
    slice_sum *sum = user;
    add_slice(sum, &summary->outside);
    add_slice(sum, &summary->open);
    sum->rows -= 2;
    sum->slices += summary->count;
}

static slice_sum sum_slices(ouro_profile *profile, int *bad) {
    static const ouro_slice_visitor add = {.lane = add_summary, .slice = add_slice};
    slice_sum sum = {0};
    if (ouro_slices_visit(profile, &add, &sum) || sum.rows != sum.slices) ++*bad;
    return sum;
}

// Totals only ever grow, and what is written can be read.
static void *watcher_main(void *argument) {
    watcher *w = argument;
    while (!atomic_load(&w->stop)) {
        uint64_t calls = 0;
        if (ouro_profile_visit(w->profile, add_calls, &calls)) w->bad++;
        if (calls < w->last) w->bad++;
        w->last = calls;
        ouro_stats stats = ouro_profile_stats(w->profile);
        if (stats.nodes > w->cap || stats.calls < calls) w->bad++;
        if (sum_slices(w->profile, &w->bad).calls > ouro_profile_stats(w->profile).calls) w->bad++;
        if (ouro_profile_write(w->profile, w->path)) w->bad++;
        w->reads++;
    }
    return NULL;
}

static void check_workers(uint32_t cap, const char *live) {
    ouro_profile *profile = ouro_profile_new(&(ouro_options){.max_nodes = cap, .path = live});
    if (!CHECK(profile != NULL)) return;
    ouro_add_blocks(profile, (ouro_block_info[3]){{0}}, 3);
    watcher reader = {.profile = profile, .cap = cap};
    snprintf(reader.path, sizeof reader.path, "%s", test_path("threads.pb"));
    pthread_t reader_id, ids[WORKERS];
    worker workers[WORKERS] = {{0}};
    pthread_create(&reader_id, NULL, watcher_main, &reader);
    for (int i = 0; i < WORKERS; i++) {
        workers[i].profile = profile;
        workers[i].random = random_next();
        if (i == 0) workers[i].thread = ouro_thread_new(profile); // made here, used there
        pthread_create(&ids[i], NULL, worker_main, &workers[i]);
    }
    uint64_t calls = 0, samples = 0;
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(ids[i], NULL);
        calls += workers[i].calls;
        samples += workers[i].samples;
        CHECK(!workers[i].failed);
    }
    atomic_store(&reader.stop, true);
    pthread_join(reader_id, NULL);
    CHECK(reader.reads > 0 && reader.bad == 0);
    ouro_stats stats = ouro_profile_stats(profile);
    CHECK_EQUAL(stats.calls, calls);
    CHECK_EQUAL(stats.totals[0], samples);
    CHECK(stats.lanes <= 2 * WORKERS + 1);
    int bad = 0;
    slice_sum slices = sum_slices(profile, &bad);
    CHECK(slices.slices > 0 && !bad);
    CHECK_EQUAL(slices.calls, calls);
    CHECK_EQUAL(slices.samples, samples);
    check_lanes(profile);
    ouro_profile_free(profile);
}

TEST(threads_record_while_another_reads) { check_workers(1000000, NULL); }
TEST(threads_share_a_small_cap) { check_workers(500, NULL); }
TEST(threads_share_a_live_file) {
    char live[512];
    snprintf(live, sizeof live, "%s", test_path("threads.ouro"));
    check_workers(20000, live);
}

// A counter that was lost or doubled by a race would show as a total that no events explain.
static void check_resets(uint32_t cap, const char *live) {
    ouro_profile *profile = ouro_profile_new(&(ouro_options){.max_nodes = cap, .path = live});
    if (!CHECK(profile != NULL)) return;
    ouro_add_blocks(profile, (ouro_block_info[3]){{0}}, 3);
    pthread_t ids[WORKERS];
    worker workers[WORKERS] = {{0}};
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = (worker){.profile = profile, .random = random_next()};
        pthread_create(&ids[i], NULL, worker_main, &workers[i]);
    }
    uint64_t most = (uint64_t)WORKERS * ROUNDS * EVENTS * 10;
    for (int i = 0; i < 50; i++) {
        CHECK_EQUAL(ouro_profile_reset(profile), 0);
        CHECK(ouro_profile_stats(profile).calls < most);
        uint64_t calls = 0;
        CHECK_EQUAL(ouro_profile_visit(profile, add_calls, &calls), 0);
        CHECK(calls < most);
        int bad = 0;
        CHECK(sum_slices(profile, &bad).calls < most && !bad);
    }
    uint64_t made = 0;
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(ids[i], NULL);
        made += workers[i].calls;
    }
    CHECK(ouro_profile_stats(profile).calls <= made);
    CHECK_EQUAL(ouro_profile_reset(profile), 0);
    ouro_stats stats = ouro_profile_stats(profile);
    CHECK(stats.calls == 0 && stats.totals[0] == 0);
    worker last = {.profile = profile, .random = 1};
    worker_main(&last);
    stats = ouro_profile_stats(profile);
    CHECK(stats.calls == last.calls && stats.totals[0] == last.samples);
    int bad = 0;
    slice_sum slices = sum_slices(profile, &bad);
    CHECK(slices.calls == last.calls && slices.samples == last.samples && !bad);
    check_lanes(profile);
    ouro_profile_free(profile);
}

TEST(threads_record_while_another_resets) { check_resets(1000000, NULL); }
TEST(threads_record_under_a_cap_while_another_resets) { check_resets(500, NULL); }
TEST(threads_record_into_a_live_file_while_another_resets) {
    char live[512];
    snprintf(live, sizeof live, "%s", test_path("resets.ouro"));
    check_resets(20000, live);
}

static void *short_main(void *argument) {
    ouro_profile *profile = argument;
    ouro_thread *thread = ouro_thread_new(profile);
    ouro_exit(thread, ouro_enter(thread, 3));
    ouro_thread_free(thread);
    return NULL;
}

TEST(thousands_of_short_threads_use_few_lanes) {
    ouro_profile *profile = ouro_profile_new(NULL);
    ouro_add_block(profile, &(ouro_block_info){"a", "f", 1, 1});
    for (int i = 0; i < 2000; i++) {
        pthread_t id;
        pthread_create(&id, NULL, short_main, profile);
        pthread_join(id, NULL);
    }
    ouro_stats stats = ouro_profile_stats(profile);
    CHECK(stats.lanes == 1 && stats.calls == 2000 && stats.nodes == 2);
    ouro_profile_free(profile);
}

// A fork(2) while other threads are in the middle of things: the child's locks must be free.
TEST(a_process_that_forks_among_threads_can_go_on_in_both) {
    ouro_profile *profile = ouro_profile_new(NULL);
    ouro_add_blocks(profile, (ouro_block_info[3]){{0}}, 3);
    watcher reader = {.profile = profile, .cap = 1000000};
    snprintf(reader.path, sizeof reader.path, "%s", test_path("forks.pb"));
    worker w = {.profile = profile, .random = 1};
    pthread_t reader_id, id;
    pthread_create(&reader_id, NULL, watcher_main, &reader);
    pthread_create(&id, NULL, worker_main, &w);
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(20); // instead of hanging for ever
            ouro_thread *thread = ouro_thread_new(profile);
            ouro_exit(thread, ouro_enter(thread, 3));
            ouro_add_block(profile, &(ouro_block_info){"child", "f", 1, 1});
            _exit(ouro_profile_stats(profile).calls == 0);
        }
        int status;
        waitpid(child, &status, 0);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    pthread_join(id, NULL);
    atomic_store(&reader.stop, true);
    pthread_join(reader_id, NULL);
    CHECK_EQUAL(reader.bad, 0);
    ouro_profile_free(profile);
}
