// SPDX-License-Identifier: MIT
//
// The live file: what a reader gets while the program runs, after it ended, after kill -9 at any
// moment, after fork(2), and from a file that is damaged in every way we could think of.

#include "contexts.h"
#include "live_format.h"
#include "live_read.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BLOCKS = 24, TAIL_SITE = 3, FIXED_SITE, SITES };
static const ouro_site_info site_infos[SITES] = {
    {0, false, false}, {0, false, false}, {1, false, false}, {1, true, false}, {1, false, true}};

static ouro_profile *live_profile(const char *path, uint32_t cap, int compaction) {
    static const ouro_metric_info metrics[] = {{"samples", "count"}, {"bytes", "bytes"}};
    ouro__hasty_sites = random_below(2);
    return ouro_profile_new(&(ouro_options){.path = path,
                                            .max_nodes = cap,
                                            .compaction = compaction,
                                            .metrics = metrics,
                                            .metric_count = 2});
}

static ouro_block add_blocks(ouro_profile *profile) {
    ouro_block_info infos[BLOCKS];
    char names[BLOCKS][16];
    for (int i = 0; i < BLOCKS; i++) {
        snprintf(names[i], sizeof names[i], "block %d", i);
        infos[i] = (ouro_block_info){names[i], "file.x", (uint32_t)i, 7};
    }
    ouro_block first = ouro_add_blocks(profile, infos, BLOCKS);
    for (ouro_block i = 0; i < BLOCKS; i++)
        ouro_add_site_infos(profile, first + i, site_infos, SITES);
    return first;
}

// A recursive program; tokens[] is its stack.
typedef struct {
    ouro_thread *thread;
    ouro_block first;
    ouro_position tokens[40];
    int depth;
    bool without_sites;
} program;

// Each block has a call that enters nothing but the next one. Returns whether it charged a sample.
static bool enter_fixed(program *p) {
    ouro_here *here = ouro_thread_here(p->thread);
    ouro_block from = here->node->block;
    ouro_block next = p->first + (from - p->first + 1) % BLOCKS;
    bool goes = from >= p->first && from < p->first + BLOCKS && ouro_site_go(here, FIXED_SITE);
    ouro_here *to = goes ? ouro_site_leads(here, FIXED_SITE)
                         : ouro_site_search(p->thread, here, FIXED_SITE, next, next);
    ouro_thread_stand(p->thread, to);
    return goes;
}

// Calls have the sites before that of tail calls; some charge a sample. Returns whether it did.
static bool enter_by_site(program *p, ouro_block block, bool tail) {
    ouro_here *here = ouro_thread_here(p->thread);
    if (!tail && random_below(3) == 0) return enter_fixed(p);
    ouro_site site = tail ? TAIL_SITE : (ouro_site)random_below(TAIL_SITE);
    const ouro_here *found = ouro_site_find(here, site, block);
    bool follows = found || ouro_site_knows(here, site, block);
    if (found && tail && !ouro_site_leaves(here, site)) ouro_here_leave(here);
    ouro_thread_stand(p->thread, found  ? ouro_site_follow(found, 0)
                                 : tail ? ouro_site_replace(p->thread, here, site, block)
                                        : ouro_site_enter(p->thread, here, site, block));
    return follows && ouro__site_charge(here->known + site);
}

// One random event. True: a sample was charged with it.
static bool one_call(program *p) {
    if (p->depth == 40 || (p->depth && random_below(5) < 2)) {
        ouro_exit(p->thread, p->tokens[--p->depth]);
    }
    ouro_block block = p->first + random_below(BLOCKS);
    bool tail = p->depth && random_below(4) == 0;
    bool by_site = !p->without_sites && random_below(2);
    if (!tail) p->tokens[p->depth++] = ouro_thread_position(p->thread);
    if (by_site) return enter_by_site(p, block, tail);
    if (tail)
        ouro_replace(p->thread, block);
    else
        ouro_enter(p->thread, block);
    return false;
}

// ---------------------------------------------------------------- equality

static void check_same(const contexts *all, const ouro__rows *rows) {
    ouro_block path[256];
    size_t next = 0;
    for (uint32_t i = 0; i < rows->count; i++) {
        const uint64_t *v = ouro__row_values(rows, i);
        bool pruned = rows->block[i] == OURO_PRUNED;
        if (i == 0 && !v[3] && !v[4]) continue;
        if (i > 0 && !pruned) path[rows->depth[i] - 1] = rows->block[i];
        if (!CHECK(next < all->count)) return;
        const context *c = &all->list[next++];
        size_t length = rows->depth[i] - pruned;
        CHECK(c->pruned == pruned && c->length == length &&
              !memcmp(c->path, path, length * sizeof *path));
        CHECK_EQUAL(c->calls, v[0] + v[1] + v[2]);
        CHECK_EQUAL(c->direct, v[2]);
        CHECK_EQUAL(c->self[1], v[3]);
        CHECK_EQUAL(c->self[2], v[4]);
    }
    CHECK_EQUAL(next, all->count);
}

static void check_file_equals(const char *path, ouro_profile *profile, bool running) {
    ouro__live_profile file;
    ouro__live_error error;
    if (!CHECK(ouro__live_read(path, &file, &error) == 0)) {
        CHECK_TEXT(error.message, "");
        return;
    }
    contexts *all = contexts_of(profile, 2);
    check_same(all, file.rows);
    CHECK(file.running == running && file.finished == false);
    CHECK_EQUAL(file.block_count, ouro_profile_stats(profile).blocks);
    for (ouro_block b = 0; b < file.block_count; b++) {
        ouro_block_info info;
        CHECK(ouro_block_get(profile, b, &info));
        CHECK_TEXT(file.blocks[b].name, info.name);
        CHECK_TEXT(file.blocks[b].file, info.file);
        CHECK(file.blocks[b].line == info.line && file.blocks[b].column == info.column);
    }
    CHECK_EQUAL(file.metric_count, 2);
    CHECK_TEXT(file.metrics[1].name, "bytes");
    CHECK_EQUAL(file.process, getpid());
    contexts_free(all);
    ouro__live_profile_free(&file);
}

TEST(the_file_has_what_the_profile_has) {
    static const uint32_t caps[] = {0, 5000, 300, 20};
    for (int i = 0; i < 4; i++) {
        const char *path = test_path("equal.ouro");
        ouro_profile *profile = live_profile(path, caps[i], OURO_LOOPS);
        if (!CHECK(profile != NULL)) return;
        program p = {.thread = ouro_thread_new(profile), .first = add_blocks(profile)};
        for (int e = 0; e < 20000; e++) {
            one_call(&p);
            ouro_count(p.thread, random_below(2), random_below(9));
            if (e % 4000 == 3000) CHECK_EQUAL(ouro_profile_reset(profile), 0);
            if (e % 5000 == 0 || e % 4000 == 3000) check_file_equals(path, profile, true);
        }
        ouro_thread *other = ouro_thread_spawn(p.thread);
        program q = {.thread = other, .first = p.first};
        for (int e = 0; e < 5000; e++) one_call(&q);
        add_blocks(profile);
        check_file_equals(path, profile, true);
        ouro_thread_free(other);
        ouro_thread_free(p.thread);
        ouro_profile_free(profile);
        ouro__live_profile file;
        ouro__live_error error;
        CHECK(ouro__live_read(path, &file, &error) == 0);
        CHECK(file.finished && !file.running && file.end_time >= file.start_time);
        ouro__live_profile_free(&file);
    }
}

TEST(many_blocks_and_long_names_are_read_back) {
    const char *path = test_path("blocks.ouro");
    ouro_profile *profile = live_profile(path, 100, OURO_LOOPS);
    char *name = malloc(200001);
    memset(name, 'n', 200000);
    name[200000] = '\0';
    for (uint32_t i = 0; i < 5000; i++)
        ouro_add_block(profile, &(ouro_block_info){i == 2500 ? name : "f", "some file", i, i});
    check_file_equals(path, profile, true);
    free(name);
    ouro_profile_free(profile);
}

// ---------------------------------------------------------------- what stacks showed

enum { NOTED_BLOCKS = 3000, STACK_MOST = 60 }; // blocks of two segments

// By the definition: each occurrence is compared with all others.
static void note_naively(ouro__noted *wanted, const ouro_block *stack, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        uint32_t times = 1;
        for (uint32_t above = 0; above < i; above++) times += stack[above] == stack[i];
        if (times == 1) continue;
        ouro__noted *w = &wanted[stack[i]];
        if (times > w->deepest) w->deepest = times;
        w->kinds |= stack[i - 1] == stack[i] ? NOTED_DIRECT : NOTED_THROUGH;
    }
}

static void note_stacks(ouro_profile *profile, ouro_block first, int stacks, ouro__noted *wanted) {
    for (int s = 0; s < stacks; s++) {
        ouro_block stack[STACK_MOST];
        uint32_t n = random_below(STACK_MOST), different = 1 + random_below(40);
        uint32_t from = first + random_below(NOTED_BLOCKS - 40);
        for (uint32_t i = 0; i < n; i++) stack[i] = from + random_below(different);
        ouro_note_stack(profile, stack, n);
        if (wanted) note_naively(wanted, stack, n);
    }
}

static void check_noted(const char *path, const ouro__noted *wanted) {
    ouro__live_profile file;
    ouro__live_error error;
    if (!CHECK(ouro__live_read(path, &file, &error) == 0)) return;
    for (uint32_t b = 0; b < file.block_count; b++) {
        CHECK_EQUAL(file.noted[b].deepest, wanted[b].deepest);
        CHECK_EQUAL(file.noted[b].kinds, wanted[b].kinds);
    }
    ouro__live_profile_free(&file);
}

TEST(what_stacks_showed_is_in_the_file_of_this_process_until_a_reset) {
    const char *path = test_path("noted.ouro");
    ouro_profile *profile = live_profile(path, 100, OURO_LOOPS);
    ouro__noted *wanted = calloc(NOTED_BLOCKS + 100, sizeof *wanted);
    ouro_block first = ouro_add_block(profile, &(ouro_block_info){"f", "", 0, 0});
    for (uint32_t i = 1; i < NOTED_BLOCKS; i++)
        ouro_add_block(profile, &(ouro_block_info){"f", "", i, 0});
    check_noted(path, wanted);
    note_stacks(profile, first, 300, wanted);
    check_noted(path, wanted);
    pid_t child = fork();
    if (child == 0) {
        note_stacks(profile, first, 300, NULL);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    check_noted(path, wanted);
    CHECK_EQUAL(ouro_profile_reset(profile), 0);
    memset(wanted, 0, (NOTED_BLOCKS + 100) * sizeof *wanted);
    check_noted(path, wanted);
    note_stacks(profile, first, 10, wanted);
    ouro_note_stack(profile, (ouro_block[]){OURO_PHANTOM, 7000, 7000, OURO_PHANTOM}, 4);
    ouro_profile_free(profile);
    check_noted(path, wanted);
    free(wanted);
}

// ---------------------------------------------------------------- kill -9

typedef struct {
    uint64_t calls, samples; // made so far, or one more
} made;

static void record_until_killed(const char *path, made *counter, uint32_t cap, uint64_t seed) {
    random_seed(seed);
    ouro_profile *profile = live_profile(path, cap, seed % 3 ? OURO_LOOPS : OURO_CYCLES);
    program p = {.thread = ouro_thread_new(profile), .first = add_blocks(profile)};
    if (!p.thread) _exit(3);
    for (uint64_t e = 1;; e++) {
        bool charged = one_call(&p);
        __atomic_store_n(&counter->calls, e, __ATOMIC_SEQ_CST);
        if (!charged) ouro_sample(p.thread, 1);
        __atomic_store_n(&counter->samples, e, __ATOMIC_SEQ_CST);
        if (e % 1000 == 0 && e < 100000) add_blocks(profile);
    }
}

static void sum_rows(const ouro__rows *rows, uint64_t *calls, uint64_t *samples) {
    *calls = *samples = 0;
    for (uint32_t i = 0; i < rows->count; i++) {
        const uint64_t *v = ouro__row_values(rows, i);
        *calls += v[0] + v[1] + v[2];
        *samples += v[3];
    }
}

// Returns true if there was something to read.
static bool check_after_kill(const char *path, const made *counter) {
    ouro__live_profile file;
    ouro__live_error error;
    if (access(path, F_OK)) {
        CHECK_EQUAL(counter->calls, 0); // killed before the file was there
        return false;
    }
    if (!CHECK(ouro__live_read(path, &file, &error) == 0)) {
        CHECK_TEXT(error.message, "");
        return false;
    }
    uint64_t calls, samples;
    sum_rows(file.rows, &calls, &samples);
    CHECK(calls == counter->calls || calls == counter->calls + 1);
    CHECK(samples == counter->samples || samples == counter->samples + 1);
    CHECK(!file.running && !file.finished);
    ouro__live_profile_free(&file);
    return calls > 0;
}

TEST(nothing_is_lost_by_kill_9_at_any_moment) {
    static const uint32_t caps[] = {20, 64, 500, 3000, 200000}; // the last one only grows
    const char *path = test_path("killed.ouro");
    made *counter =
        mmap(NULL, sizeof *counter, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int with_data = 0;
    for (int i = 0; i < 400 && !test_failures(); i++) {
        unlink(path);
        memset(counter, 0, sizeof *counter);
        uint64_t seed = random_next();
        pid_t child = fork();
        if (child == 0) record_until_killed(path, counter, caps[i % 5], seed);
        // Half of them anywhere, half of them when events are under way.
        for (int wait = 0;
             i % 2 && !__atomic_load_n(&counter->calls, __ATOMIC_RELAXED) && wait < 20000; wait++)
            usleep(100);
        nanosleep(&(struct timespec){0, (long)random_below(4000000)}, NULL);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        with_data += check_after_kill(path, counter);
    }
    CHECK(with_data >= 200);
    munmap(counter, sizeof *counter);
}

TEST(a_running_program_can_be_read_at_any_moment) {
    const char *path = test_path("running.ouro");
    made *counter =
        mmap(NULL, sizeof *counter, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint64_t seed = random_next();
    pid_t child = fork();
    if (child == 0) record_until_killed(path, counter, 2000, seed);
    while (!__atomic_load_n(&counter->calls, __ATOMIC_SEQ_CST)) usleep(1000);
    for (int i = 0; i < 200 && !test_failures(); i++) {
        uint64_t before = __atomic_load_n(&counter->calls, __ATOMIC_SEQ_CST);
        ouro__live_profile file;
        ouro__live_error error;
        if (!CHECK(ouro__live_read(path, &file, &error) == 0)) {
            CHECK_TEXT(error.message, "");
            break;
        }
        uint64_t after = __atomic_load_n(&counter->calls, __ATOMIC_SEQ_CST), calls, samples;
        sum_rows(file.rows, &calls, &samples);
        CHECK(calls >= before && calls <= after + 1);
        CHECK(file.running);
        ouro__live_profile_free(&file);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    munmap(counter, sizeof *counter);
}

// ---------------------------------------------------------------- resets

typedef struct {
    uint64_t calls; // made so far, or one more
    uint64_t base;  // of these, before the last reset
    uint32_t resetting;
} since;

static void reset_until_killed(const char *path, since *s, uint64_t every, uint64_t seed) {
    random_seed(seed);
    ouro_profile *profile = live_profile(path, 500, OURO_LOOPS);
    program p = {.thread = ouro_thread_new(profile), .first = add_blocks(profile)};
    program q = {.thread = ouro_thread_new(profile), .first = p.first};
    if (!p.thread || !q.thread) _exit(3);
    for (uint64_t e = 1;; e++) {
        one_call(e % 2 ? &p : &q);
        __atomic_store_n(&s->calls, e, __ATOMIC_SEQ_CST);
        if (e % every) continue;
        __atomic_store_n(&s->resetting, 1, __ATOMIC_SEQ_CST);
        if (ouro_profile_reset(profile)) _exit(4);
        __atomic_store_n(&s->base, e, __ATOMIC_SEQ_CST);
        __atomic_store_n(&s->resetting, 0, __ATOMIC_SEQ_CST);
    }
}

static bool read_calls(const char *path, uint64_t *calls) {
    ouro__live_profile file;
    ouro__live_error error;
    uint64_t samples;
    if (!CHECK(ouro__live_read(path, &file, &error) == 0)) return CHECK_TEXT(error.message, "");
    sum_rows(file.rows, calls, &samples);
    ouro__live_profile_free(&file);
    return true;
}

static pid_t start_resetting(const char *path, since *s, uint64_t every) {
    unlink(path);
    memset(s, 0, sizeof *s);
    uint64_t seed = random_next();
    pid_t child = fork();
    if (child == 0) reset_until_killed(path, s, every, seed);
    while (!__atomic_load_n(&s->calls, __ATOMIC_SEQ_CST)) usleep(100);
    return child;
}

static void end_child(pid_t child) {
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

TEST(a_kill_9_in_a_reset_leaves_the_counts_before_it_or_none) {
    const char *path = test_path("reset.ouro");
    since *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int inside = 0;
    for (int i = 0; i < 300 && !test_failures(); i++) {
        pid_t child = start_resetting(path, s, 1 + random_below(60));
        nanosleep(&(struct timespec){0, (long)random_below(3000000)}, NULL);
        end_child(child);
        uint64_t calls, now = s->calls - s->base;
        if (!read_calls(path, &calls)) break;
        if (s->resetting) {
            CHECK(calls == now || calls == 0);
            inside++;
        } else {
            CHECK(calls == now || calls == now + 1);
        }
    }
    CHECK(inside > 20);
    munmap(s, sizeof *s);
}

TEST(a_running_program_that_resets_is_read_between_two_resets) {
    enum { EVERY = 20000 };
    const char *path = test_path("resetting.ouro");
    since *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = start_resetting(path, s, EVERY);
    for (uint64_t past = 0; past < 10 * EVERY && !test_failures();) {
        uint64_t calls;
        if (read_calls(path, &calls)) CHECK(calls <= EVERY);
        past = __atomic_load_n(&s->base, __ATOMIC_SEQ_CST);
    }
    end_child(child);
    munmap(s, sizeof *s);
}

static void write_resets(const char *path, uint32_t resets) {
    int fd = open(path, O_RDWR);
    CHECK(pwrite(fd, &resets, sizeof resets, offsetof(live_header, resets)) == sizeof resets);
    close(fd);
}

TEST(a_reset_that_was_cut_short_is_done_by_the_reader) {
    const char *path = test_path("half.ouro");
    since *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = start_resetting(path, s, 1000000000);
    usleep(1000);
    end_child(child);
    uint64_t calls;
    CHECK(read_calls(path, &calls) && calls > 0);
    write_resets(path, 1);
    CHECK(read_calls(path, &calls) && calls == 0);
    munmap(s, sizeof *s);
}

TEST(a_child_of_fork_resets_its_own_copy) {
    const char *path = test_path("forked_reset.ouro");
    ouro_profile *profile = live_profile(path, 100, OURO_LOOPS);
    program p = {.thread = ouro_thread_new(profile), .first = add_blocks(profile)};
    for (int i = 0; i < 1000; i++) one_call(&p);
    CHECK_EQUAL(ouro_profile_reset(profile), 0);
    for (int i = 0; i < 500; i++) one_call(&p);
    pid_t child = fork();
    if (child == 0) {
        bool good = ouro_profile_stats(profile).calls == 500;
        for (int i = 0; i < 300; i++) one_call(&p);
        good = good && ouro_profile_stats(profile).calls == 800;
        good = good && ouro_profile_reset(profile) == 0 && ouro_profile_stats(profile).calls == 0;
        for (int i = 0; i < 300; i++) one_call(&p);
        _exit(good && ouro_profile_stats(profile).calls == 300 ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    check_file_equals(path, profile, true);
    CHECK_EQUAL(ouro_profile_stats(profile).calls, 500);
    ouro_thread_free(p.thread);
    ouro_profile_free(profile);
}

// ---------------------------------------------------------------- fork(2), other files, full disks

static void leaves_the_file(const char *path, pid_t make_child(void)) {
    ouro_profile *profile = live_profile(path, 100, OURO_LOOPS);
    program p = {.thread = ouro_thread_new(profile), .first = add_blocks(profile)};
    for (int i = 0; i < 1000; i++) one_call(&p);
    pid_t child = make_child();
    if (child == 0) {
        if (make_child != fork) ouro_profile_detach(profile);
        uint64_t before = ouro_profile_stats(profile).calls;
        for (int i = 0; i < 5000; i++) one_call(&p);
        add_blocks(profile);
        bool own = before == 1000 && ouro_profile_stats(profile).calls == 6000;
        ouro_thread_free(p.thread);
        ouro_profile_free(profile);
        _exit(own ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    check_file_equals(path, profile, true);
    for (int i = 0; i < 1000; i++) one_call(&p);
    check_file_equals(path, profile, true);
    CHECK_EQUAL(ouro_profile_stats(profile).calls, 2000);
    ouro_thread_free(p.thread);
    ouro_profile_free(profile);
}

TEST(a_child_of_fork_leaves_the_file_to_its_parent) {
    leaves_the_file(test_path("forked.ouro"), fork);
}

TEST(a_child_without_handlers_leaves_the_file_when_it_is_told_to) {
    leaves_the_file(test_path("cloned.ouro"), _Fork);
}

// The parent goes on before the child runs, and the child must not see that.
TEST(a_child_of_fork_has_the_profile_of_that_moment) {
    const char *path = test_path("moment.ouro");
    ouro_profile *profile = live_profile(path, 300, OURO_LOOPS);
    program p = {.thread = ouro_thread_new(profile), .first = add_blocks(profile)};
    for (int round = 1; round <= 30; round++) {
        for (int i = 0; i < 100; i++) one_call(&p);
        uint64_t then = ouro_profile_stats(profile).calls;
        pid_t child = fork();
        if (child == 0) {
            ouro_stats stats = ouro_profile_stats(profile);
            for (int i = 0; i < 2000; i++) one_call(&p);
            bool good = stats.calls == then && ouro_profile_stats(profile).calls == then + 2000;
            _exit(good ? 0 : 1);
        }
        for (int i = 0; i < 20000; i++) one_call(&p);
        int status;
        waitpid(child, &status, 0);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    check_file_equals(path, profile, true);
    ouro_thread_free(p.thread);
    ouro_profile_free(profile);
}

static void *make_profiles(void *path) {
    for (int i = 0; i < 50; i++) {
        ouro_profile *profile = live_profile(path, 20, OURO_LOOPS);
        if (!profile) return (void *)1;
        ouro_profile_free(profile);
    }
    return NULL;
}

TEST(threads_may_make_live_files_of_the_same_name) {
    char path[512];
    snprintf(path, sizeof path, "%s", test_path("same.ouro"));
    pthread_t ids[2];
    for (int i = 0; i < 2; i++) pthread_create(&ids[i], NULL, make_profiles, path);
    for (int i = 0; i < 2; i++) {
        void *failed;
        pthread_join(ids[i], &failed);
        CHECK(failed == NULL);
    }
}

TEST(a_name_of_20_megabytes_is_read_back) {
    const char *path = test_path("long.ouro");
    ouro_profile *profile = live_profile(path, 20, OURO_LOOPS);
    size_t size = 20 << 20;
    char *name = malloc(size + 1);
    memset(name, 'x', size);
    name[size] = '\0';
    ouro_add_block(profile, &(ouro_block_info){name, "f", 1, 1});
    check_file_equals(path, profile, true);
    free(name);
    ouro_profile_free(profile);
}

TEST(a_second_profile_of_the_same_name_replaces_the_first_without_disturbing_it) {
    const char *path = test_path("twice.ouro");
    ouro_profile *old = live_profile(path, 100, OURO_LOOPS);
    program p = {.thread = ouro_thread_new(old), .first = add_blocks(old)};
    ouro_profile *new = live_profile(path, 100, OURO_LOOPS);
    for (int i = 0; i < 3000; i++) one_call(&p);
    CHECK_EQUAL(ouro_profile_stats(old).calls, 3000);
    check_file_equals(path, new, true);
    ouro_thread_free(p.thread);
    ouro_profile_free(old);
    check_file_equals(path, new, true);
    ouro_profile_free(new);
}

// ---------------------------------------------------------------- space

static uint64_t file_bytes(const char *path) {
    struct stat status = {0};
    CHECK(stat(path, &status) == 0);
    uint64_t taken = (uint64_t)status.st_blocks * 512;
    return taken > (uint64_t)status.st_size ? taken : (uint64_t)status.st_size;
}

static void check_size(bool without_sites) {
    enum { NODE_BYTES = 96, CELL_BYTES = 32 }; // two metrics
    const char *path = test_path("small.ouro");
    ouro_profile *profile = live_profile(path, 0, OURO_LOOPS);
    ouro__hasty_sites = false;
    program p = {.thread = ouro_thread_new(profile),
                 .first = add_blocks(profile),
                 .without_sites = without_sites};
    CHECK(file_bytes(path) < 200000);
    for (int e = 0; e < 200000; e++) {
        one_call(&p);
        if (e % 10000 != 9999) continue;
        uint64_t in_use = 2 * NODE_BYTES; // accounts, too
        if (!without_sites) in_use += (1 + SITES) * CELL_BYTES;
        in_use *= ouro_profile_stats(profile).nodes;
        CHECK(file_bytes(path) < in_use + in_use / 4 + 200000);
    }
    CHECK(ouro_profile_stats(profile).nodes > 50000);
    ouro_thread_free(p.thread);
    ouro_profile_free(profile);
}

TEST(a_live_file_begins_small_and_follows_what_is_in_use) {
    check_size(true);
    check_size(false);
}

// Files of this process may not grow beyond `bytes`: what a full disk is like, but that the kernel
// also sends a signal, which would end this process.
static struct rlimit space_limit(rlim_t bytes) {
    struct rlimit before, small;
    getrlimit(RLIMIT_FSIZE, &before);
    small = (struct rlimit){bytes, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    return before;
}

static void space_back(const struct rlimit *before) { setrlimit(RLIMIT_FSIZE, before); }

TEST(a_full_disk_is_an_error_at_the_start) {
    struct rlimit before = space_limit(1 << 12);
    errno = 0;
    const char *path = test_path("full.ouro");
    CHECK(live_profile(path, 0, OURO_LOOPS) == NULL);
    CHECK(errno == EFBIG || errno == ENOSPC);
    CHECK(access(path, F_OK) != 0);
    space_back(&before);
}

static bool file_says_full(const char *path) {
    ouro__live_profile file;
    ouro__live_error error;
    if (!CHECK(ouro__live_read(path, &file, &error) == 0)) return false;
    bool full = file.full;
    ouro__live_profile_free(&file);
    return full;
}

TEST(a_disk_that_gets_full_is_a_cap_where_it_stands) {
    const char *path = test_path("grown.ouro");
    ouro_profile *profile = live_profile(path, 0, OURO_LOOPS);
    program p = {.thread = ouro_thread_new(profile), .first = add_blocks(profile)};
    program q = {.thread = ouro_thread_spawn(p.thread), .first = p.first};
    struct rlimit before = space_limit(1 << 20);
    for (int e = 0; e < 100000; e++) one_call(e % 3 ? &p : &q);
    ouro_stats stats = ouro_profile_stats(profile);
    CHECK_EQUAL(stats.calls, 100000);
    CHECK(stats.lost == 0 && stats.pruned > 0 && stats.no_space);
    CHECK(stats.nodes > 1000 && stats.nodes < 10000);
    CHECK(file_says_full(path));
    check_file_equals(path, profile, true);
    space_back(&before);
    for (int e = 0; e < 100000; e++) one_call(e % 3 ? &p : &q);
    CHECK(ouro_profile_stats(profile).nodes > 2 * stats.nodes);
    CHECK(!ouro_profile_stats(profile).no_space && !file_says_full(path));
    check_file_equals(path, profile, true);
    ouro_thread_free(q.thread);
    ouro_thread_free(p.thread);
    ouro_profile_free(profile);
}

TEST(blocks_that_find_no_space_in_the_file_leave_nothing_behind) {
    ouro_profile *profile = live_profile(test_path("space.ouro"), 20, OURO_LOOPS);
    size_t size = 3 << 20;
    char *name = malloc(size + 1);
    memset(name, 'n', size);
    name[size] = '\0';
    struct rlimit before = space_limit(0);
    uint64_t bytes = ouro_profile_stats(profile).bytes;
    for (int i = 0; i < 20; i++) {
        ouro_block block = ouro_add_block(profile, &(ouro_block_info){name, "f", 1, 1});
        CHECK(block == OURO_PHANTOM && errno != 0);
    }
    CHECK_EQUAL(ouro_profile_stats(profile).bytes, bytes);
    space_back(&before);
    CHECK(ouro_add_block(profile, &(ouro_block_info){name, "f", 1, 1}) != OURO_PHANTOM);
    check_file_equals(test_path("space.ouro"), profile, true);
    free(name);
    ouro_profile_free(profile);
}

// ---------------------------------------------------------------- ulimit -f

static atomic_int limit_signals;

static void on_limit(int signal_number) {
    (void)signal_number;
    atomic_fetch_add(&limit_signals, 1);
}

static bool limit_is_pending(void) {
    sigset_t pending;
    return sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
}

static void *record_on_another_thread(void *argument) {
    program *p = argument;
    for (int e = 0; e < 3000; e++) one_call(p);
    return NULL;
}

// Everything that writes a file, on several OS threads, under a limit that comes at some time.
static void record_under_limit(rlim_t bytes, int when) {
    enum { THREADS = 6 };
    const char *path = test_path("limited.ouro"), *written = test_path("limited.pb");
    program programs[THREADS];
    pthread_t ids[THREADS];
    struct rlimit before = space_limit(when == 0 ? bytes : RLIM_INFINITY);
    ouro_profile *profile = live_profile(path, 0, OURO_LOOPS);
    if (!CHECK(profile || (when == 0 && errno == EFBIG))) return;
    ouro_block first = profile ? add_blocks(profile) : OURO_PHANTOM;
    if (when == 1) space_limit(bytes);
    int running = 0;
    for (int i = 0; i < THREADS; i++) {
        ouro_thread *thread = ouro_thread_new(profile);
        if (when == 2 && i == 1) space_limit(bytes);
        if (thread && first != OURO_PHANTOM)
            programs[running++] = (program){.thread = thread, .first = first};
        else
            ouro_thread_free(thread);
    }
    for (int i = 1; i < running; i++)
        CHECK(pthread_create(&ids[i], NULL, record_on_another_thread, &programs[i]) == 0);
    if (running) record_on_another_thread(&programs[0]);
    if (profile) ouro_profile_reset(profile);
    if (running) record_on_another_thread(&programs[0]);
    if (running) ouro_slice(programs[0].thread);
    for (int i = 1; i < running; i++) pthread_join(ids[i], NULL);
    ouro_stats stats = ouro_profile_stats(profile);
    CHECK(!running || stats.calls >= 3000);
    if (profile && first != OURO_PHANTOM) check_file_equals(path, profile, true);
    if (ouro_profile_write(profile, written)) CHECK(errno == EFBIG);
    setrlimit(RLIMIT_FSIZE, &before);
    CHECK_EQUAL(ouro_profile_stats(profile).calls, stats.calls);
    for (int i = 0; i < running; i++) ouro_thread_free(programs[i].thread);
    ouro_profile_free(profile);
}

TEST(a_limit_on_the_size_of_files_sends_the_program_no_signal) {
    signal(SIGXFSZ, on_limit);
    for (int when = 0; when < 3; when++) {
        record_under_limit(0, when);
        for (int i = 0; i < 8; i++) record_under_limit(random_below(400) * 1024u, when);
    }
    CHECK_EQUAL(limit_signals, 0);
    CHECK(!limit_is_pending());
    signal(SIGXFSZ, SIG_DFL);
}

TEST(a_signal_of_the_programs_own_writes_stays_pending) {
    sigset_t limit;
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &limit, NULL);
    raise(SIGXFSZ);
    record_under_limit(100000, 2);
    CHECK(limit_is_pending());
    CHECK(sigtimedwait(&limit, NULL, &(struct timespec){0, 0}) == SIGXFSZ);
    record_under_limit(100000, 2);
    CHECK(!limit_is_pending());
    sigset_t now;
    CHECK(pthread_sigmask(SIG_UNBLOCK, &limit, &now) == 0 && sigismember(&now, SIGXFSZ) == 1);
}

TEST(a_folder_that_is_not_there_is_an_error) {
    errno = 0;
    CHECK(live_profile("/nonexistent/folder/x.ouro", 0, OURO_LOOPS) == NULL);
    CHECK_EQUAL(errno, ENOENT);
}

// ---------------------------------------------------------------- damaged files

typedef struct {
    char *bytes;
    size_t size;
} image;

static image valid_image(void) {
    const char *path = test_path("valid.ouro");
    ouro_profile *profile = live_profile(path, 200, OURO_LOOPS);
    program p = {.thread = ouro_thread_new(profile), .first = add_blocks(profile)};
    for (int i = 0; i < 5000; i++) one_call(&p);
    ouro_thread_free(p.thread);
    ouro_profile_free(profile);
    image i = {0};
    int fd = open(path, O_RDONLY);
    live_header header;
    if (read(fd, &header, sizeof header) == (ssize_t)sizeof header) {
        i.size = header.end;
        i.bytes = malloc(i.size);
        if (pread(fd, i.bytes, i.size, 0) != (ssize_t)i.size) i.size = 0;
    }
    close(fd);
    return i;
}

// 0 if it can be read; else the error, which must say something.
static ouro__live_error read_bytes(const char *bytes, size_t size) {
    int fd = memfd_create("live", MFD_CLOEXEC);
    ouro__live_profile file;
    ouro__live_error error = {0};
    if (size && write(fd, bytes, size) != (ssize_t)size) abort();
    if (ouro__live_read_fd(fd, &file, &error) == 0) {
        ouro__live_profile_free(&file);
        error.code = 0;
    } else {
        CHECK(error.code != 0 && error.message[0] != '\0');
        CHECK(file.rows == NULL && file.blocks == NULL);
    }
    close(fd);
    return error;
}

static void check_error(const char *bytes, size_t size, uint64_t offset, const char *part) {
    ouro__live_error error = read_bytes(bytes, size);
    CHECK(error.code != 0);
    CHECK_EQUAL(error.offset, offset);
    if (!CHECK(strstr(error.message, part) != NULL)) CHECK_TEXT(error.message, part);
}

TEST(files_of_another_kind_have_their_sentence) {
    image good = valid_image();
    char *bytes = malloc(good.size);
    check_error("", 0, 0, "empty");
    check_error("#!/bin/sh\n", 10, 10, "not a live profile");
    memset(bytes, 'x', good.size);
    check_error(bytes, good.size, 0, "not a live profile");
    memset(bytes, 0, good.size);
    check_error(bytes, good.size, 0, "not a live profile");
    memcpy(bytes, good.bytes, good.size);
    ((live_header *)(void *)bytes)->version = LIVE_VERSION + 1;
    check_error(bytes, good.size, 8, "newer program");
    ((live_header *)(void *)bytes)->version = 0;
    check_error(bytes, good.size, 8, "program that wrote it");
    ((live_header *)(void *)bytes)->version = LIVE_VERSION;
    ((live_header *)(void *)bytes)->byte_order = 0x04030201;
    check_error(bytes, good.size, 12, "other byte order");
    free(bytes);
    free(good.bytes);
    ouro__live_profile file;
    ouro__live_error error;
    CHECK(ouro__live_read("/", &file, &error) != 0 && strstr(error.message, "regular"));
    CHECK(ouro__live_read("/nonexistent.ouro", &file, &error) != 0 &&
          strstr(error.message, "cannot open"));
}

TEST(a_file_that_is_cut_off_says_so) {
    image good = valid_image();
    CHECK_EQUAL(read_bytes(good.bytes, good.size).code, 0);
    for (size_t size = good.size - 1; size > sizeof(live_header);
         size -= size > 4000 ? 1 + size / 50 : 100)
        check_error(good.bytes, size, size, "cut off");
    free(good.bytes);
}

TEST(damage_is_an_error_with_a_position_and_never_a_crash) {
    image good = valid_image();
    char *bytes = malloc(good.size);
    int errors = 0;
    for (int i = 0; i < 3000; i++) {
        memcpy(bytes, good.bytes, good.size);
        // Damage the header or the start of a page. Pages start with the head of a segment, the
        // state of the lane, nodes, blocks or text.
        for (uint32_t n = 1 + random_below(4); n > 0; n--) {
            size_t pages = good.size / 4096;
            size_t at = random_below(3) == 0
                            ? random_below(sizeof(live_header))
                            : 4096 * random_below((uint32_t)pages) + random_below(256);
            if (random_below(2)) {
                bytes[at] = (char)random_next();
            } else {
                uint32_t value = random_below(2) ? (uint32_t)random_next() : random_below(5) - 2;
                memcpy(bytes + at / 4 * 4, &value, 4);
            }
        }
        errors += read_bytes(bytes, good.size).code != 0;
    }
    CHECK(errors > 500);
    for (int i = 0; i < 200; i++) {
        for (size_t k = 0; k < good.size; k++) bytes[k] = (char)random_next();
        if (i % 2) memcpy(bytes, good.bytes, sizeof(live_header));
        CHECK(read_bytes(bytes, good.size / 8).code != 0);
    }
    free(bytes);
    free(good.bytes);
}
