// SPDX-License-Identifier: MIT
//
// The timer clock: what it charges, where, and that its handler does no harm while the tree grows
// and is pruned. Nothing here depends on how fast the machine is.

#include "contexts.h"
#include "lane_check.h"
#include "ouro_site.h"
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const ouro_metric_info metrics[] = {{"ticks", "count"}, {"time", "nanoseconds"}};

static ouro_profile *clocked(uint32_t cap, int signal_number) {
    return ouro_profile_new(&(ouro_options){
        .metrics = metrics, .metric_count = 2, .max_nodes = cap, .clock.signal = signal_number});
}

static ouro_block add(ouro_profile *profile) {
    return ouro_add_block(profile, &(ouro_block_info){"a", "f", 1, 1});
}

static uint64_t total(ouro_profile *profile, int metric) {
    return ouro_profile_stats(profile).totals[metric];
}

// What a block has been charged that was called by nobody.
static uint64_t alone(ouro_profile *profile, ouro_block block) {
    contexts *all = contexts_of(profile, 2);
    const context *c = contexts_find(all, &block, 1);
    uint64_t self = c ? c->self[2] : 0;
    contexts_free(all);
    return self;
}

TEST(the_clock_charges_the_block_that_runs) {
    ouro_profile *profile = clocked(0, 0);
    ouro_block a = add(profile), b = add(profile);
    ouro_thread *thread = ouro_thread_new(profile);
    ouro_enter(thread, a);
    ouro_position token = ouro_enter(thread, b);
    CHECK_EQUAL(ouro_clock_start(thread, 1, 1000), 0);
    while (total(profile, 1) < 5000000) {
    }
    ouro_exit(thread, token);
    ouro_clock_stop(thread);
    contexts *all = contexts_of(profile, 2);
    const context *c = contexts_find(all, (ouro_block[]){a, b}, 2);
    CHECK(c && c->self[2] >= 5000000 && c->self[2] % 1000000 == 0 && c->self[1] == 0);
    contexts_free(all);
    uint64_t then = total(profile, 1);
    usleep(20000);
    CHECK_EQUAL(total(profile, 1), then); // it is stopped
    ouro_thread_free(thread);
    ouro_profile_free(profile);
}

static const void *last_context;

static void charge_ticks(ouro_thread *thread, ouro_metric metric, uint64_t amount,
                         const void *context) {
    last_context = context;
    CHECK_EQUAL(metric, 1);
    ouro_count(thread, 0, amount);
}

TEST(a_host_that_charges_ticks_itself_gets_them_all) {
    ouro_profile *profile = ouro_profile_new(
        &(ouro_options){.metrics = metrics, .metric_count = 2, .clock.charge = charge_ticks});
    ouro_block a = add(profile);
    ouro_thread *thread = ouro_thread_new(profile);
    ouro_position token = ouro_enter(thread, a);
    CHECK_EQUAL(ouro_clock_start(thread, 1, 1000), 0);
    while (total(profile, 0) < 5000000) {
    }
    ouro_exit(thread, token);
    ouro_clock_stop(thread);
    CHECK(last_context != NULL);
    CHECK_EQUAL(total(profile, 1), 0); // the clock itself charges nothing then
    CHECK_EQUAL(total(profile, 0) % 1000000, 0);
    ouro_thread_free(thread);
    ouro_profile_free(profile);
}

static void wait_for(ouro_profile *profile, uint64_t more) {
    for (uint64_t then = total(profile, 1); total(profile, 1) < then + more;) {
    }
}

// As compiled code does it: a store for each event, and none of the thread's own.
TEST(the_clock_charges_what_it_watches_also_for_forks_and_the_position_after_that) {
    ouro_profile *profile = clocked(0, 0);
    ouro_block a = add(profile), b = add(profile), c = add(profile);
    ouro_thread *thread = ouro_thread_new(profile);
    ouro_here *here = NULL, *volatile *at = &here;
    ouro_thread_watch(NULL, &here);
    ouro_thread_watch(thread, &here);
    ouro_enter(thread, a);
    ouro_here *caller = ouro_thread_here(thread);
    CHECK_EQUAL(ouro_clock_start(thread, 1, 1000), 0);
    wait_for(profile, 5000000); // in a: nothing to look at yet
    *at = ouro_site_enter(thread, caller, 0, b);
    wait_for(profile, 5000000);
    ouro_thread *fork = ouro_thread_fork(thread);
    ouro_clock_move(thread, fork);
    *at = ouro_site_replace(fork, here, 1, c);
    wait_for(profile, 5000000);
    ouro_clock_stop(fork);
    ouro_here_leave(here);
    *at = NULL;
    contexts *all = contexts_of(profile, 2);
    const context *in_a = contexts_find(all, (ouro_block[]){a}, 1);
    const context *in_b = contexts_find(all, (ouro_block[]){a, b}, 2);
    CHECK(in_a && in_a->self[2] >= 5000000);
    CHECK(in_b && in_b->self[2] >= 5000000);
    CHECK_EQUAL(in_a->self[2] + in_b->self[2] < total(profile, 1), true);
    contexts_free(all);
    ouro_thread_free(fork);
    ouro_thread_free(thread);
    // The lane is used again, by somebody who watches nothing.
    thread = ouro_thread_new(profile);
    here = caller;
    ouro_enter(thread, c);
    uint64_t before = alone(profile, c);
    CHECK_EQUAL(ouro_clock_start(thread, 1, 1000), 0);
    wait_for(profile, 5000000);
    ouro_clock_stop(thread);
    CHECK(alone(profile, c) >= before + 5000000);
    ouro_thread_free(thread);
    ouro_profile_free(profile);
}

TEST(a_metric_that_is_no_time_counts_ticks) {
    ouro_profile *profile = clocked(0, SIGUSR2);
    ouro_thread *thread = ouro_thread_new(profile);
    ouro_enter(thread, add(profile));
    CHECK_EQUAL(ouro_clock_start(thread, 0, 0), 0);
    while (total(profile, 0) < 3) {
    }
    CHECK(total(profile, 0) < 1000000);
    ouro_thread_free(thread); // stops it
    ouro_profile_free(profile);
}

TEST(a_cpu_clock_does_not_tick_for_a_thread_that_waits) {
    ouro_profile *profile = ouro_profile_new(
        &(ouro_options){.metrics = metrics, .metric_count = 2, .clock.measures = OURO_CLOCK_CPU});
    ouro_thread *thread = ouro_thread_new(profile);
    ouro_enter(thread, add(profile));
    CHECK_EQUAL(ouro_clock_start(thread, 1, 1000), 0);
    CHECK_EQUAL(usleep(50000), 0); // not cut short
    CHECK(total(profile, 1) < 50000000);
    while (total(profile, 1) < 5000000) {
    }
    ouro_thread_free(thread);
    ouro_profile_free(profile);
}

TEST(the_clock_moves_with_the_scheduler) {
    ouro_profile *profile = clocked(0, 0);
    ouro_block a = add(profile), b = add(profile);
    ouro_thread *one = ouro_thread_new(profile), *two = ouro_thread_fork(one);
    ouro_enter(one, a);
    ouro_enter(two, b);
    ouro_clock_start(one, 0, 2000);
    while (total(profile, 0) < 3) {
    }
    ouro_clock_move(one, two);
    uint64_t moved = total(profile, 0);
    while (total(profile, 0) < moved + 3) {
    }
    ouro_clock_move(two, one);
    ouro_clock_stop(one);
    contexts *all = contexts_of(profile, 2);
    CHECK(contexts_find(all, &a, 1)->self[1] >= 3);
    CHECK(contexts_find(all, &b, 1)->self[1] >= 3);
    contexts_free(all);
    ouro_thread_free(two);
    ouro_thread_free(one);
    ouro_profile_free(profile);
}

TEST(a_clock_that_is_moved_to_nobody_charges_nobody) {
    ouro_profile *profile = clocked(0, 0);
    ouro_thread *one = ouro_thread_new(profile), *two = ouro_thread_fork(one);
    ouro_clock_start(one, 0, 2000);
    while (total(profile, 0) < 2) {
    }
    ouro_clock_move(one, NULL);
    ouro_clock_move(NULL, two);
    uint64_t parked = total(profile, 0);
    usleep(10000);
    CHECK_EQUAL(total(profile, 0), parked);
    ouro_clock_move(one, two); // it is still one's
    while (total(profile, 0) < parked + 2) {
    }
    ouro_thread_free(two);
    CHECK_EQUAL(ouro_clock_start(one, 0, 100), 0);
    ouro_thread_free(one);
    ouro_profile_free(profile);
}

static void move_to_another_profile(void) {
    ouro_profile *profile = clocked(0, 0), *other = ouro_profile_new(NULL);
    ouro_thread *one = ouro_thread_new(profile), *two = ouro_thread_new(other);
    ouro_clock_start(one, 1, 2000);
    ouro_clock_move(one, two);
    usleep(10000);
    _exit(ouro_profile_stats(other).totals[0] == 0 ? 0 : 1);
}

TEST(a_clock_stays_in_its_lane) {
    pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr)) _exit(9);
        move_to_another_profile();
    }
    int status;
    waitpid(child, &status, 0);
#ifdef NDEBUG
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
#else
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
#endif
}

// Every tick that is charged is found again, however the tree changes meanwhile.
static void record_under_ticks(uint32_t cap) {
    ouro_profile *profile = clocked(cap, 0);
    ouro_block first = ouro_add_blocks(profile, (ouro_block_info[40]){{0}}, 40);
    ouro_thread *thread = ouro_thread_new(profile);
    uint64_t samples = 0;
    // The same metric as the program's own samples: none of either may be lost.
    CHECK_EQUAL(ouro_clock_start(thread, 1, 20000), 0);
    for (int round = 0; round < 4000; round++) {
        ouro_position tokens[12];
        for (int d = 0; d < 12; d++) {
            tokens[d] = ouro_enter(thread, first + random_below(40));
            ouro_count(thread, 1, 50000);
            samples++;
        }
        for (int d = 12; d-- > 0;) ouro_exit(thread, tokens[d]);
    }
    ouro_clock_stop(thread);
    uint64_t sum = total(profile, 1);
    CHECK(sum >= samples * 50000 && sum % 50000 == 0); // a tick is 50,000 ns, too
    ouro_thread_free(thread);
    check_lanes(profile);
    ouro_profile_free(profile);
}

TEST(ticks_during_growth_are_not_lost) { record_under_ticks(0); }
TEST(ticks_during_pruning_are_not_lost) { record_under_ticks(64); }

static volatile sig_atomic_t reached;
static void note_signal(int number) { reached = number; }

// The program takes one signal after the other, until none is left for the clocks.
TEST(a_signal_that_the_program_takes_gets_no_ticks) {
    ouro_profile *profile = clocked(0, 0);
    ouro_thread *thread = ouro_thread_new(profile), *fork = ouro_thread_fork(thread);
    int left = 0, now = 1;
    CHECK_EQUAL(ouro_clock_leave(SIGUSR1), SIGUSR1);
    CHECK_EQUAL(ouro_clock_start(thread, 1, 5000), 0);
    CHECK_EQUAL(ouro_clock_start(fork, 1, 5000), 0);
    for (int round = 0; round < 2 && now; round++) {
        for (int i = SIGRTMIN - 1; i <= SIGRTMAX && now; i++) {
            int number = i < SIGRTMIN ? SIGURG : i;
            now = ouro_clock_leave(number);
            left += now != number;
            signal(number, round ? note_signal : SIG_DFL);
            if (now && now != number) wait_for(profile, 1000000);
        }
    }
    CHECK(left >= 2 && now == 0 && reached == 0);
    uint64_t then = total(profile, 1);
    usleep(20000);
    CHECK_EQUAL(total(profile, 1), then);
    ouro_clock_stop(thread);
    CHECK(ouro_clock_start(thread, 1, 5000) == -1 && errno == EBUSY);
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) signal(number, SIG_DFL);
    signal(SIGURG, SIG_DFL);
    CHECK_EQUAL(ouro_clock_start(thread, 1, 5000), 0);
    wait_for(profile, 1000000);
    ouro_thread_free(fork);
    ouro_thread_free(thread);
    ouro_profile_free(profile);
}

TEST(what_cannot_be_started_says_why) {
    ouro_profile *profile = clocked(0, 0);
    ouro_thread *thread = ouro_thread_new(profile);
    CHECK(ouro_clock_start(thread, 2, 0) == -1 && errno == EINVAL);
    CHECK(ouro_clock_start(thread, 0, 1000000) == -1 && errno == EINVAL);
    CHECK_EQUAL(ouro_clock_start(thread, 0, 100), 0);
    CHECK(ouro_clock_start(thread, 0, 100) == -1 && errno == EBUSY);
    ouro_thread_free(thread);
    ouro_profile_free(profile);
    // The program's own handler is left alone.
    signal(SIGUSR1, SIG_IGN);
    struct sigaction own;
    memset(&own, 0, sizeof own);
    own.sa_handler = (void (*)(int))abort;
    sigaction(SIGUSR1, &own, NULL);
    profile = clocked(0, SIGUSR1);
    thread = ouro_thread_new(profile);
    CHECK(ouro_clock_start(thread, 0, 100) == -1 && errno == EBUSY);
    signal(SIGUSR1, SIG_DFL);
    ouro_thread_free(thread);
    ouro_profile_free(profile);
}

static void *clocked_main(void *argument) {
    ouro_profile *profile = argument;
    ouro_thread *thread = ouro_thread_new(profile);
    ouro_enter(thread, 3);
    if (ouro_clock_start(thread, 0, 1000)) return (void *)1;
    uint64_t before = total(profile, 0);
    while (total(profile, 0) < before + 5) {
    }
    ouro_thread_free(thread);
    return NULL;
}

TEST(each_os_thread_has_its_own_clock) {
    ouro_profile *profile = clocked(0, 0);
    add(profile);
    pthread_t ids[4];
    for (int i = 0; i < 4; i++) pthread_create(&ids[i], NULL, clocked_main, profile);
    for (int i = 0; i < 4; i++) {
        void *result;
        pthread_join(ids[i], &result);
        CHECK(result == NULL);
    }
    ouro_profile_free(profile);
}

TEST(a_child_of_fork_has_no_clock_and_may_start_one) {
    ouro_profile *profile = clocked(0, 0);
    ouro_thread *thread = ouro_thread_new(profile);
    ouro_enter(thread, add(profile));
    ouro_clock_start(thread, 0, 1000);
    pid_t child = fork();
    if (child == 0) {
        uint64_t before = total(profile, 0);
        usleep(20000);
        bool still = total(profile, 0) <= before + 1;
        bool again = ouro_clock_start(thread, 0, 1000) == 0;
        before = total(profile, 0);
        while (total(profile, 0) < before + 2) {
        }
        ouro_thread_free(thread);
        _exit(still && again ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    uint64_t before = total(profile, 0);
    while (total(profile, 0) < before + 2) {
    } // the parent's goes on
    ouro_thread_free(thread);
    ouro_profile_free(profile);
}
