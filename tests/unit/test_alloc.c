// SPDX-License-Identifier: MIT
//
// Every allocation fails in turn: the n-th, and then all from the n-th on. Linked with --wrap, so
// that the library itself has nothing to do with it. Creating functions must return NULL with
// ENOMEM, recording must go on and lose nothing from the totals, and nothing may leak (the address
// sanitizer looks on).

#include "contexts.h"
#include "live_read.h"
#include "ouro_site.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static long countdown = -1; // -1: no failure planned
static bool then_all;
static long refused;

static bool refuse(void) {
    if (countdown < 0) return false;
    if (countdown > 0) {
        countdown--;
        return false;
    }
    if (!then_all) countdown = -1;
    refused++;
    errno = ENOMEM;
    return true;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_mmap(void *where, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_mmap(void *where, size_t size, int protection, int flags, int fd, off_t offset);

void *__wrap_malloc(size_t size) { return refuse() ? NULL : __real_malloc(size); }
void *__wrap_calloc(size_t n, size_t size) { return refuse() ? NULL : __real_calloc(n, size); }
void *__wrap_realloc(void *p, size_t size) { return refuse() ? NULL : __real_realloc(p, size); }
void *__wrap_mmap(void *where, size_t size, int protection, int flags, int fd, off_t offset) {
    return refuse() ? MAP_FAILED : __real_mmap(where, size, protection, flags, fd, offset);
}

typedef struct {
    uint64_t calls, samples; // made
    bool complete;           // nothing was refused on the way to the end
} outcome;

static void add_visit(void *user, const ouro_visit *v) {
    outcome *seen = user;
    seen->calls += v->calls;
    seen->samples += v->metrics[0];
}

static ouro_block block_at(ouro_block first, int i, int depth) {
    return first + (uint32_t)(i * (depth + 1) * 7 % 30);
}

static void go(ouro_thread *thread, ouro_block first, int i) {
    ouro_position tokens[6];
    for (int d = 0; d < 6; d++) tokens[d] = ouro_enter(thread, block_at(first, i, d));
    ouro_sample(thread, 1);
    for (int d = 6; d-- > 0;) ouro_exit(thread, tokens[d]);
}

// The same by ouro_site.h.
static void go_by_sites(ouro_thread *thread, ouro_block first, int i) {
    ouro_here *here = ouro_thread_here(thread), *tokens[6];
    for (int d = 0; d < 6; d++) {
        ouro_block block = block_at(first, i, d);
        tokens[d] = here;
        here = ouro_site_enter(thread, here, (ouro_site)d, block);
    }
    ouro_here_sample(here, 1);
    for (int d = 6; d-- > 0; here = tokens[d]) ouro_here_leave(here);
    ouro_thread_stand(thread, here);
}

typedef struct {
    uint64_t slices[8], rows[8], kept;
} slices_seen;

static void see_summary(void *user, const ouro_slice_summary *summary) {
    ((slices_seen *)user)->slices[summary->lane] = summary->count;
}

static void see_row(void *user, const ouro_slice_info *slice) {
    ((slices_seen *)user)->rows[slice->lane]++;
}

static void see_tree(void *user, const ouro_slice_info *slice, unsigned why,
                     const ouro_slice_info *rest) {
    CHECK(why && rest->calls <= slice->calls);
    ((slices_seen *)user)->kept++;
}

// What there was memory for hangs together.
static void check_slices(ouro_profile *profile) {
    static const ouro_slice_visitor all = {.lane = see_summary, .slice = see_row, .kept = see_tree};
    slices_seen seen = {0};
    if (ouro_slices_visit(profile, &all, &seen)) CHECK_EQUAL(errno, ENOMEM);
    for (int i = 0; i < 8; i++) CHECK(seen.rows[i] <= seen.slices[i]);
}

// A whole life: every function that allocates, with a cap small enough to prune.
static void scenario(const char *live, int compaction, outcome *made) {
    ouro_profile *profile =
        ouro_profile_new(&(ouro_options){.path = live, .max_nodes = 300, .compaction = compaction});
    if (!profile) {
        CHECK_EQUAL(errno, ENOMEM);
        return;
    }
    ouro_block_info infos[30];
    for (int i = 0; i < 30; i++) infos[i] = (ouro_block_info){"name", "file", 1, 1};
    ouro_block first = ouro_add_blocks(profile, infos, 30);
    if (first == OURO_PHANTOM) CHECK_EQUAL(errno, ENOMEM);
    uint32_t sites[30];
    for (uint32_t i = 0; i < 30; i++) sites[i] = 6 + i % 3;
    if (first && ouro_add_sites(profile, first, sites, 20)) CHECK_EQUAL(errno, ENOMEM);
    ouro_thread *thread = ouro_thread_new(profile);
    if (!thread) CHECK_EQUAL(errno, ENOMEM);
    ouro_thread *threads[3] = {thread, ouro_thread_fork(thread), ouro_thread_spawn(thread)};
    ouro_stack stack;
    ouro_stack_init(&stack, thread);
    for (int i = 0; first && i < 1500; i++) {
        ouro_thread *t = threads[i % 3];
        if (i == 750 && ouro_profile_reset(profile) == 0) {
            made->calls = made->samples = 0;
        } else if (i == 750) {
            CHECK_EQUAL(errno, ENOMEM); // and nothing has changed
        }
        if (i % 20 == 0) ouro_slice(t);
        made->calls += t ? 6 : 0;
        made->samples += t ? 1 : 0;
        if (t && i % 2)
            go_by_sites(t, first, i);
        else
            go(t, first, i);
    }
    for (int i = 0; i < 200; i++) ouro_stack_push(&stack, OURO_PHANTOM);
    CHECK_EQUAL(ouro_stack_depth(&stack), 200);
    ouro_stack_clear(&stack);
    outcome seen = {0};
    if (ouro_profile_visit(profile, add_visit, &seen)) {
        CHECK_EQUAL(errno, ENOMEM);
    } else {
        CHECK_EQUAL(seen.calls, made->calls);
        CHECK_EQUAL(seen.samples, made->samples);
    }
    check_slices(profile);
    ouro_stats stats = ouro_profile_stats(profile);
    CHECK_EQUAL(stats.calls, made->calls);
    CHECK(stats.nodes <= 300);
    if (ouro_profile_write(profile, test_path("out.pb"))) CHECK_EQUAL(errno, ENOMEM);
    for (int i = 0; i < 3; i++) ouro_thread_free(threads[i]);
    ouro_profile_free(profile);
}

static void sweep(const char *live, int compaction, bool all) {
    long n = 0;
    for (bool any = true; any && !test_failures(); n++) {
        outcome made = {0};
        then_all = all;
        refused = 0;
        countdown = n;
        scenario(live, compaction, &made);
        countdown = -1;
        any = refused > 0;
        if (!any) CHECK(made.calls == 4500 && made.samples == 750); // after the reset
    }
    CHECK(n > 30); // there were that many places to fail
}

TEST(one_failed_allocation_anywhere_is_survived) { sweep(NULL, OURO_LOOPS, false); }
TEST(no_more_memory_from_any_point_on_is_survived) { sweep(NULL, OURO_LOOPS, true); }
TEST(so_it_is_with_cycles) { sweep(NULL, OURO_CYCLES, false); }

TEST(so_it_is_with_a_live_file) {
    char live[512];
    snprintf(live, sizeof live, "%s", test_path("alloc.ouro"));
    sweep(live, OURO_LOOPS, false);
    sweep(live, OURO_LOOPS, true);
}

TEST(the_reader_of_live_files_survives_it_too) {
    char live[512];
    snprintf(live, sizeof live, "%s", test_path("read.ouro"));
    outcome made = {0};
    scenario(live, OURO_LOOPS, &made);
    long n = 0;
    for (bool any = true; any && !test_failures(); n++) {
        ouro__live_profile file;
        ouro__live_error error;
        then_all = n % 2;
        refused = 0;
        countdown = n / 2;
        int result = ouro__live_read(live, &file, &error);
        countdown = -1;
        any = refused > 0 || n % 2;
        if (result) CHECK_EQUAL(error.code, ENOMEM);
        if (!result) ouro__live_profile_free(&file);
        CHECK(refused == 0 || result != 0);
    }
    CHECK(n > 20);
}

TEST(without_memory_for_memos_new_paths_are_lost_and_shown_as_lost) {
    ouro_profile *profile = ouro_profile_new(NULL);
    ouro_block first = ouro_add_blocks(profile, (ouro_block_info[100]){{0}}, 100);
    ouro_thread *thread = ouro_thread_new(profile);
    then_all = true;
    countdown = 0;
    for (uint32_t i = 0; i < 100; i++) ouro_exit(thread, ouro_enter(thread, first + i));
    countdown = -1;
    ouro_stats stats = ouro_profile_stats(profile);
    CHECK(stats.lost > 0 && stats.lost < 100 && stats.calls == 100);
    contexts *all = contexts_of(profile, 1);
    const context *lost = contexts_find(all, (ouro_block[]){OURO_LOST}, 1);
    CHECK(lost && lost->calls == stats.lost);
    contexts_free(all);
    // With memory again, nothing more is lost.
    for (uint32_t i = 0; i < 100; i++) ouro_exit(thread, ouro_enter(thread, first + i));
    CHECK_EQUAL(ouro_profile_stats(profile).lost, stats.lost);
    ouro_thread_free(thread);
    ouro_profile_free(profile);
}
