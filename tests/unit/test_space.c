// SPDX-License-Identifier: MIT
//
// Recording where address space is limited: each case in a child of its own, with the limit of
// `ulimit -v 2000000`.

#include "heap.h"
#include "ouro.h"
#include "test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 500, FAN = 10, LEVELS = 5, STEPS = 40, STACK = 128 * 1024 };
#define LIMIT ((rlim_t)2000000 * 1024)

static ouro_block blocks[FAN * LEVELS];

static ouro_profile *profile_of(const ouro_options *options) {
    ouro_profile *p = ouro_profile_new(options);
    for (int i = 0; p && i < FAN * LEVELS; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%d", i);
        blocks[i] = ouro_add_block(p, &(ouro_block_info){.name = name});
    }
    return p;
}

// Path number i, of FAN^LEVELS; charges 1.
static ouro_position path(ouro_thread *t, uint32_t i) {
    ouro_position callers[LEVELS], there;
    for (int level = 0; level < LEVELS; level++, i /= FAN)
        callers[level] = ouro_enter(t, blocks[level * FAN + (int)(i % FAN)]);
    ouro_sample(t, 1);
    there = ouro_thread_position(t);
    for (int level = LEVELS; level-- > 0;) ouro_exit(t, callers[level]);
    return there;
}

// In a child with a limit. Its exit status says whether all was as expected.
static void limited(bool (*body)(void)) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct rlimit limit = {LIMIT, LIMIT};
        ouro__heap_is_shared(); // each arena would take 64 MB of it
        setrlimit(RLIMIT_AS, &limit);
        _exit(body() ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK_EQUAL(status, 0);
}

// ---------------------------------------------------------------- many threads

static ouro_profile *shared;
static pthread_barrier_t all_there;

static void *work(void *number) {
    ouro_thread *t = ouro_thread_new(shared);
    pthread_barrier_wait(&all_there); // so that each has a lane of its own
    for (uint32_t i = 0; i < STEPS; i++) path(t, (uint32_t)(uintptr_t)number * STEPS + i);
    pthread_barrier_wait(&all_there);
    ouro_thread_free(t);
    return t;
}

static bool run_threads(void) {
    static pthread_t threads[THREADS];
    pthread_attr_t small;
    bool ok = true;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK);
    pthread_barrier_init(&all_there, NULL, THREADS);
    for (uintptr_t i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], &small, work, (void *)i)) return false;
    }
    for (int i = 0; i < THREADS; i++) {
        void *recorded;
        pthread_join(threads[i], &recorded);
        ok = ok && recorded;
    }
    return ok;
}

static bool many_threads(void) {
    shared = profile_of(NULL);
    if (!shared || !run_threads()) return false;
    ouro_stats s = ouro_profile_stats(shared);
    printf("# %llu lanes, %llu nodes\n", (unsigned long long)s.lanes, (unsigned long long)s.nodes);
    fflush(stdout);
    bool ok = s.lanes == THREADS && s.totals[0] == THREADS * STEPS && !s.lost && !s.pruned &&
              s.calls == THREADS * STEPS * LEVELS && !s.no_space;
    ouro_profile_free(shared);
    return ok;
}

TEST(five_hundred_threads_record_in_two_gigabytes) { limited(many_threads); }

// One of them wants more than there is for all: it prunes itself, and totals stay.
static bool too_much(void) {
    shared = profile_of(NULL);
    if (!shared || !run_threads()) return false;
    ouro_thread *t = ouro_thread_new(shared);
    for (uint32_t i = 0; i < 100000; i++) path(t, i);
    ouro_thread_free(t);
    ouro_stats s = ouro_profile_stats(shared);
    bool ok = s.totals[0] == THREADS * STEPS + 100000 && s.no_space && !s.lost && s.pruned;
    ouro_profile_free(shared);
    return ok;
}

TEST(beyond_the_limit_the_cap_stands_and_totals_are_exact) { limited(too_much); }

// ---------------------------------------------------------------- one thread

static bool one_grows(const ouro_options *options) {
    ouro_profile *p = profile_of(options);
    ouro_thread *t = ouro_thread_new(p);
    if (!t) return false;
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 100000; i++) path(t, i);
        if (round == 0 && ouro_profile_reset(p)) return false;
    }
    ouro_stats s = ouro_profile_stats(p);
    ouro_thread_free(t);
    ouro_profile_free(p);
    return s.totals[0] == 100000 && s.nodes == 1 + 111110 && !s.no_space && !s.pruned;
}

static bool in_memory(void) { return one_grows(NULL); }
static bool in_a_file(void) { return one_grows(&(ouro_options){.path = test_path("x.ouro")}); }

TEST(a_thread_that_is_alone_has_the_whole_cap) { limited(in_memory); }
TEST(a_live_file_grows_under_the_limit_as_without_it) { limited(in_a_file); }

// ---------------------------------------------------------------- misuse

// Tokens of a thread with many nodes, in the hands of one with few: all of it is [lost] at worst.
static bool foreign_tokens(void) {
    ouro_profile *p = profile_of(NULL);
    ouro_thread *large = ouro_thread_new(p), *small = ouro_thread_new(p);
    uint64_t charged = 0;
    for (uint32_t i = 0; i < 30000; i++) {
        ouro_position there = path(large, i);
        if (i % 100) continue;
        ouro_exit(small, there);
        ouro_sample(small, 1);
        charged++;
    }
    ouro_thread *late = ouro_thread_new(p); // has memory for as many from the start
    ouro_exit(late, path(large, 29999));
    ouro_sample(late, 1);
    ouro_stats s = ouro_profile_stats(p);
    return s.totals[0] == 30000 + 1 + charged + 1;
}

TEST(a_token_of_another_thread_leads_to_memory) { limited(foreign_tokens); }

// ---------------------------------------------------------------- again and again

static bool many_profiles(void) {
    for (int i = 0; i < 300; i++) {
        ouro_profile *p = profile_of(NULL);
        ouro_thread *t = ouro_thread_new(p);
        if (!t) return false;
        for (uint32_t k = 0; k < 5000; k++) path(t, k);
        bool ok = ouro_profile_stats(p).totals[0] == 5000;
        ouro_thread_free(t);
        ouro_profile_free(p);
        if (!ok) return false;
    }
    return true;
}

TEST(what_a_profile_had_is_given_back) { limited(many_profiles); }
