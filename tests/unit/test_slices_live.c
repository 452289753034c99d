// SPDX-License-Identifier: MIT
//
// Slices in the live file: the same as in memory, whole whenever the program is killed, read while
// it runs, and safe to read when they are damaged.

#include "live_format.h"
#include "live_read.h"
#include "slices.h"
#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { METRICS = 2, WIDTH = ENTRY_KINDS + METRICS, BLOCKS = 9, KEPT = 6 };

static const ouro_metric_info two_metrics[METRICS] = {{"samples", "count"}, {"bytes", "bytes"}};

static ouro_profile *profile_new(const char *path, uint32_t cap, uint32_t rows, ouro_block *first) {
    ouro_profile *profile = ouro_profile_new(
        &(ouro_options){.path = path,
                        .max_nodes = cap,
                        .metrics = two_metrics,
                        .metric_count = METRICS,
                        .slices = {.name = "frame", .kept = KEPT, .rows = rows, .by = 2}});
    ouro_block_info infos[BLOCKS] = {{"a", "f", 1, 1}};
    if (profile) *first = ouro_add_blocks(profile, infos, BLOCKS);
    return profile;
}

// One slice's work: some paths, of which few are new.
static void work(ouro_thread *thread, ouro_block first, uint64_t *random) {
    ouro_position tokens[12];
    for (int i = 0; i < 6; i++) {
        int depth = 0;
        while (depth < 12 && (*random = *random * 6364136223846793005u + 1) >> 61)
            tokens[depth++] = ouro_enter(thread, first + (ouro_block)(*random >> 40) % BLOCKS);
        ouro_count(thread, 0, 1);
        ouro_count(thread, 1, *random >> 50);
        while (depth) ouro_exit(thread, tokens[--depth]);
    }
}

// ---------------------------------------------------------------- what must hold

static void add(uint64_t *sums, const uint64_t *values) {
    for (int v = 0; v < WIDTH; v++) sums[v] += values[v];
}

static bool equal(const uint64_t *a, const uint64_t *b) {
    return memcmp(a, b, WIDTH * sizeof *a) == 0;
}

static void check_tree(const ouro__lane_slices *l, const ouro__slice_tree *tree) {
    uint64_t sums[SLICE_VALUES] = {0};
    add(sums, tree->rest);
    for (uint32_t i = 0; i < tree->rows->count; i++) add(sums, ouro__row_values(tree->rows, i));
    CHECK(equal(sums, tree->totals));
    CHECK(tree->number >= 1 && tree->number <= l->count && tree->why);
    if (tree->number > l->row_count) return;
    const uint64_t *row = l->table + (tree->number - 1) * (2 + WIDTH);
    CHECK(row[0] == tree->start && row[1] == tree->duration && equal(row + 2, tree->totals));
}

// `still`: nobody has written meanwhile. A small cap has room for fewer trees.
static void check_lane(const ouro__lane_slices *l, bool still, uint32_t cap, uint64_t *sums) {
    uint64_t slots = cap / 8 / 16 < KEPT ? cap / 8 / 16 : KEPT;
    uint64_t durations = 0, values = 0, heat = 0, kept[3] = {0};
    CHECK_TEXT(l->name, "frame");
    for (uint32_t b = 0; b < OURO_SLICE_BUCKETS; b++) {
        durations += l->histograms[b];
        values += l->histograms[OURO_SLICE_BUCKETS + b];
    }
    for (uint32_t c = 0; c < HEAT_CELLS; c++) heat += l->heat[c];
    CHECK(durations >= l->count && values >= l->count);
    if (still) CHECK(durations == l->count && values == l->count && heat == l->count);
    for (uint32_t i = 0; i < l->tree_count; i++) {
        check_tree(l, &l->trees[i]);
        for (int k = 0; k < 3; k++) kept[k] += l->trees[i].why >> k & 1;
        if (still && l->trees[i].why & OURO_SLICE_LAST) CHECK(l->trees[i].number + KEPT > l->count);
    }
    for (int k = 0; still && k < 3; k++) CHECK_EQUAL(kept[k], l->count < slots ? l->count : slots);
    for (uint64_t i = 0; i < l->row_count; i++) add(sums, l->table + i * (2 + WIDTH) + 2);
    add(sums, l->outside);
    add(sums, l->open);
}

// The sum of all slices is the profile, if the table has all.
static uint64_t check_file(const char *path, bool still) {
    ouro__live_profile file;
    ouro__live_error error;
    if (ouro__live_read(path, &file, &error)) {
        CHECK_TEXT(error.message, "");
        return 0;
    }
    uint64_t sums[SLICE_VALUES] = {0}, rows[SLICE_VALUES] = {0}, count = 0;
    bool all = true;
    for (uint32_t i = 0; i < file.slices.count; i++) {
        const ouro__lane_slices *l = &file.slices.lanes[i];
        check_lane(l, still, file.max_nodes, sums);
        all &= l->row_count == l->count;
        count += l->count;
    }
    for (uint32_t i = 0; i < file.rows->count; i++) add(rows, ouro__row_values(file.rows, i));
    if (all && file.slices.count) CHECK(equal(sums, rows));
    ouro__live_profile_free(&file);
    return count;
}

// ---------------------------------------------------------------- the file is the profile

typedef struct {
    const ouro__lane_slices *lane;
    uint32_t tree;
    uint64_t paths;
} against;

static void same_summary(void *user, const ouro_slice_summary *s) {
    const ouro__lane_slices *l = ((against *)user)->lane;
    CHECK(s->count == l->count && s->rows == l->row_count && s->is_open == l->is_open);
    CHECK(s->slowest == l->slowest && s->open.start == l->open_start && s->by == l->by);
    CHECK(!memcmp(s->open.metrics, l->open + ENTRY_KINDS, METRICS * 8));
    CHECK(!memcmp(s->outside.metrics, l->outside + ENTRY_KINDS, METRICS * 8));
    CHECK(!memcmp(s->durations, l->histograms, OURO_SLICE_BUCKETS * 8));
    CHECK(!memcmp(s->values, l->histograms + OURO_SLICE_BUCKETS, OURO_SLICE_BUCKETS * 8));
    CHECK(!memcmp(s->heat, l->heat, HEAT_CELLS * sizeof *l->heat));
    CHECK(s->heat_start == l->heat_start && s->heat_step == l->heat_step);
}

static void same_slice(void *user, const ouro_slice_info *s) {
    const uint64_t *row = ((against *)user)->lane->table + (s->number - 1) * (2 + WIDTH);
    CHECK(row[0] == s->start && row[1] == s->duration && s->calls == ouro__row_calls(row + 2));
}

static void same_tree(void *user, const ouro_slice_info *s, unsigned why,
                      const ouro_slice_info *rest) {
    against *a = user;
    const ouro__slice_tree *tree = &a->lane->trees[a->tree++];
    CHECK(tree->number == s->number && tree->why == why);
    CHECK(rest->calls == ouro__row_calls(tree->rest));
    a->paths += tree->rows->count;
}

static void same_path(void *user, const ouro_visit *visit) {
    against *a = user;
    if (visit->length) a->paths--;
}

static void check_same(const char *path, ouro_profile *profile) {
    static const ouro_slice_visitor same = {same_summary, same_slice, same_tree, same_path};
    ouro__live_profile file;
    ouro__live_error error;
    if (!CHECK(ouro__live_read(path, &file, &error) == 0)) return;
    if (CHECK_EQUAL(file.slices.count, 1)) {
        against a = {.lane = &file.slices.lanes[0]};
        CHECK_EQUAL(ouro_slices_visit(profile, &same, &a), 0);
        CHECK_EQUAL(a.tree, a.lane->tree_count);
        // The roots of trees are visited only if they are charged.
        CHECK(a.paths <= a.tree);
    }
    ouro__live_profile_free(&file);
}

TEST(the_file_has_the_slices_of_the_profile) {
    const char *path = test_path("slices.ouro");
    ouro_block first = 0;
    uint64_t random = random_next();
    ouro_profile *profile = profile_new(path, 3000, 700, &first);
    ouro_thread *thread = ouro_thread_new(profile);
    for (int i = 0; i < 1200; i++) {
        ouro_slice(thread);
        work(thread, first, &random);
        if (i == 3 || i == 255 || i == 256 || i == 900) check_same(path, profile);
        if (i == 500) CHECK_EQUAL(ouro_profile_reset(profile), 0);
    }
    check_same(path, profile);
    ouro_thread_free(thread);
    ouro_profile_free(profile);
    CHECK_EQUAL(check_file(path, true), 698); // 501 to 1199 began after the reset
}

// A file with slices is read anew each time, also if it has none at the moment: those that come
// after a reset change no segment.
TEST(a_followed_file_with_slices_is_read_anew) {
    const char *path = test_path("followed.ouro");
    ouro_block first = 0;
    uint64_t random = random_next();
    ouro__live_error error;
    ouro_profile *profile = profile_new(path, 3000, 700, &first);
    ouro_thread *thread = ouro_thread_new(profile);
    work(thread, first, &random);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ouro__live_profile file;
    CHECK_EQUAL(ouro__live_read_first(fd, &file, &error), 0);
    CHECK(file.slices.count == 0 && ouro__live_read_again(fd, &file));
    ouro_slice(thread);
    CHECK(!ouro__live_read_again(fd, &file));
    ouro__live_profile_free(&file);
    CHECK_EQUAL(ouro__live_read_first(fd, &file, &error), 0);
    CHECK(file.slices.count == 1 && !ouro__live_read_again(fd, &file));
    ouro__live_profile_free(&file);
    CHECK_EQUAL(ouro_profile_reset(profile), 0);
    CHECK_EQUAL(ouro__live_read_first(fd, &file, &error), 0);
    CHECK(file.slices.count == 0);
    ouro_slice(thread);
    CHECK(!ouro__live_read_again(fd, &file));
    ouro__live_profile_free(&file);
    close(fd);
    ouro_thread_free(thread);
    ouro_profile_free(profile);
}

// ---------------------------------------------------------------- killed

static void slice_until_killed(const char *path, uint32_t cap, bool resets, uint64_t seed) {
    ouro_block first = 0;
    ouro_profile *profile = profile_new(path, cap, 100000, &first);
    ouro_thread *thread = profile ? ouro_thread_new(profile) : NULL;
    if (!thread) _exit(3);
    for (uint64_t i = 1;; i++) {
        ouro_slice(thread);
        work(thread, first, &seed);
        if (resets && i % 50 == 0 && ouro_profile_reset(profile)) _exit(4);
    }
}

static pid_t start(const char *path, uint32_t cap, bool resets) {
    uint64_t seed = random_next();
    unlink(path);
    pid_t child = fork();
    if (child == 0) slice_until_killed(path, cap, resets, seed);
    while (access(path, F_OK)) nanosleep(&(struct timespec){0, 100000}, NULL);
    return child;
}

static void stop(pid_t child) {
    int status;
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

// Up to some milliseconds: some hundred slices, in which table and trees grow. On a busy machine it
// takes more kills to see so many.
static void kill_often(uint32_t cap, bool resets) {
    const char *path = test_path("killed.ouro");
    uint64_t slices = 0;
    for (int i = 0; i < 60 || slices <= 100; i++) {
        pid_t child = start(path, cap, resets);
        uint32_t wait = random_below(1u << random_below(24)); // nanoseconds
        nanosleep(&(struct timespec){0, wait}, NULL);
        stop(child);
        slices += check_file(path, true);
    }
}

TEST(a_kill_9_leaves_whole_slices) { kill_often(100000, false); }
TEST(a_kill_9_leaves_whole_slices_under_a_cap) { kill_often(400, false); }
TEST(a_kill_9_leaves_whole_slices_or_none_in_a_reset) { kill_often(2000, true); }

TEST(a_program_with_fast_slices_is_read_while_it_runs) {
    const char *path = test_path("running.ouro");
    pid_t child = start(path, 20000, false);
    uint64_t last = 0;
    for (int i = 0; i < 40; i++) {
        uint64_t count = check_file(path, false);
        CHECK(count >= last);
        last = count;
    }
    while (check_file(path, false) == 0) continue; // a busy machine
    stop(child);
    CHECK(check_file(path, true) >= last);
}

// ---------------------------------------------------------------- older and damaged files

static uint64_t file_size(const char *path) {
    struct stat status;
    return CHECK(stat(path, &status) == 0) ? (uint64_t)status.st_size : 0;
}

static void put_at(const char *path, uint64_t offset, const void *bytes, size_t n) {
    int fd = open(path, O_WRONLY);
    CHECK(pwrite(fd, bytes, n, (off_t)offset) == (ssize_t)n);
    close(fd);
}

TEST(the_version_before_slices_is_still_read) {
    const char *path = test_path("older.ouro");
    ouro_block first = 0;
    uint64_t random = 1;
    ouro_profile *profile = profile_new(path, 0, 0, &first);
    ouro_thread *thread = ouro_thread_new(profile);
    work(thread, first, &random);
    ouro_thread_free(thread);
    ouro_profile_free(profile);
    put_at(path, offsetof(live_header, version), &(uint32_t){3}, 4);
    ouro__live_profile file;
    ouro__live_error error;
    if (CHECK(ouro__live_read(path, &file, &error) == 0)) {
        CHECK_EQUAL(file.slices.count, 0);
        CHECK(file.rows->count > 1);
        ouro__live_profile_free(&file);
    }
    put_at(path, offsetof(live_header, version), &(uint32_t){2}, 4);
    CHECK(ouro__live_read(path, &file, &error) != 0);
}

static void make_file(const char *path) {
    ouro_block first = 0;
    uint64_t random = random_next();
    ouro_profile *profile = profile_new(path, 500, 40, &first);
    ouro_thread *thread = ouro_thread_new(profile);
    for (int i = 0; i < 30; i++) {
        ouro_slice(thread);
        work(thread, first, &random);
    }
    ouro_thread_free(thread);
    ouro_profile_free(profile);
}

// Where the states are, and any slot: what is wrong there leads far.
static uint64_t interesting_offset(const unsigned char *bytes, uint64_t size) {
    const live_header *h = (const live_header *)(const void *)bytes;
    uint64_t found[16], count = 0;
    for (uint64_t at = h->page; at < h->end && at + h->page < size;) {
        const live_segment *s = (const live_segment *)(const void *)(bytes + at);
        if (s->kind == LIVE_SLICES && count < 16) found[count++] = at + h->page;
        at += h->page + s->data_bytes;
    }
    if (!CHECK(count >= 3)) return 0;
    return found[random_below((uint32_t)count)] + random_below(2000);
}

TEST(damaged_slices_are_refused_or_read_but_never_followed) {
    const char *path = test_path("damaged.ouro");
    make_file(path);
    uint64_t size = file_size(path), refused = 0;
    unsigned char *bytes = malloc(size);
    int fd = open(path, O_RDWR);
    CHECK(pread(fd, bytes, size, 0) == (ssize_t)size);
    for (int i = 0; i < 1500; i++) {
        uint64_t at = interesting_offset(bytes, size);
        uint64_t value = random_below(2) ? random_next() : random_below(300);
        size_t n = (size_t)1 << random_below(4);
        CHECK(pwrite(fd, &value, n, (off_t)at) == (ssize_t)n);
        ouro__live_profile file;
        ouro__live_error error;
        if (ouro__live_read(path, &file, &error) == 0) {
            ouro__live_profile_free(&file);
        } else {
            CHECK(error.message[0]);
            refused++;
        }
        CHECK(pwrite(fd, bytes + at, n, (off_t)at) == (ssize_t)n);
    }
    CHECK(refused > 0);
    close(fd);
    free(bytes);
    CHECK_EQUAL(check_file(path, true), 29);
}

// ---------------------------------------------------------------- fork(2)

TEST(a_child_of_fork_goes_on_with_slices_of_its_own) {
    const char *path = test_path("forked.ouro");
    ouro_block first = 0;
    uint64_t random = 1;
    ouro_profile *profile = profile_new(path, 0, 0, &first);
    ouro_thread *thread = ouro_thread_new(profile);
    for (int i = 0; i < 20; i++) {
        ouro_slice(thread);
        work(thread, first, &random);
    }
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 500; i++) { // table and trees grow, in memory
            ouro_slice(thread);
            work(thread, first, &random);
        }
        ouro_thread_free(thread);
        ouro_profile_free(profile);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK_EQUAL(check_file(path, true), 19);
    ouro_slice(thread);
    check_same(path, profile);
    ouro_thread_free(thread);
    ouro_profile_free(profile);
    CHECK_EQUAL(check_file(path, true), 20);
}
