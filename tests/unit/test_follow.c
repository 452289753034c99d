// SPDX-License-Identifier: MIT
//
// Live files that are read and sent again and again, while the program in this process goes on at
// random: reading the counters alone against reading all of it, and tracks against the store's own
// way to push a file.

#include "track.h"

#include "format.h"
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 3, BLOCKS = 12, DEEPEST = 8 };

typedef struct {
    ouro_profile *profile;
    ouro_thread *threads[THREADS];
    ouro_block blocks[BLOCKS];
    char *path;
    int fd;
} program;

static program program_start(const char *name, uint32_t max_nodes) {
    program p = {.path = strdup(test_path(name))};
    p.profile = ouro_profile_new(&(ouro_options){.path = p.path, .max_nodes = max_nodes});
    for (int i = 0; i < THREADS; i++) p.threads[i] = ouro_thread_new(p.profile);
    for (int i = 0; i < BLOCKS; i++) {
        char text[] = {'f', (char)('a' + i), '\0'};
        p.blocks[i] = ouro_add_block(p.profile, &(ouro_block_info){.name = text, .file = "x.c"});
    }
    p.fd = open(p.path, O_RDWR | O_CLOEXEC);
    return p;
}

static void program_end(program *p) {
    for (int i = 0; i < THREADS; i++) ouro_thread_free(p->threads[i]);
    ouro_profile_free(p->profile);
}

static void program_forget(program *p) {
    close(p->fd);
    free(p->path);
}

// `names`: of so many blocks.
static void steps(program *p, uint32_t count, uint32_t names) {
    for (uint32_t i = 0; i < count; i++) {
        ouro_position callers[DEEPEST];
        ouro_thread *t = p->threads[random_below(THREADS)];
        uint32_t depth = 1 + random_below(DEEPEST);
        for (uint32_t d = 0; d < depth; d++)
            callers[d] = ouro_enter(t, p->blocks[random_below(names)]);
        ouro_sample(t, random_below(1000));
        while (depth-- > 0) ouro_exit(t, callers[depth]);
    }
}

// ---------------------------------------------------------------- reading

static bool same_rows(const ouro__rows *a, const ouro__rows *b) {
    size_t values = (size_t)a->count * ouro__row_width(a->metric_count);
    return a->count == b->count && memcmp(a->block, b->block, a->count * sizeof *a->block) == 0 &&
           memcmp(a->parent, b->parent, a->count * sizeof *a->parent) == 0 &&
           memcmp(a->values, b->values, values * sizeof *a->values) == 0;
}

static void read_all(const program *p, ouro__live_profile *live) {
    ouro__live_error problem;
    if (!CHECK(ouro__live_read_first(p->fd, live, &problem) == 0)) exit(1);
}

// How often of `rounds` the counters alone could be read; all readings must be those of all of it.
static int read_rounds(program *p, int rounds, uint32_t names) {
    ouro__live_profile kept, all;
    int again = 0;
    read_all(p, &kept);
    for (int i = 0; i < rounds; i++) {
        bool quiet = i % 10 == 0; // nothing happens: the counters alone must do, at any cap
        if (!quiet && random_below(8) == 0) ouro_profile_reset(p->profile);
        if (!quiet) steps(p, random_below(60), names);
        bool same = ouro__live_read_again(p->fd, &kept);
        CHECK(same || !quiet);
        read_all(p, &all);
        if (same) CHECK(same_rows(kept.rows, all.rows));
        again += same;
        ouro__live_profile_free(&kept);
        kept = all;
    }
    ouro__live_profile_free(&kept);
    return again;
}

TEST(the_counters_alone_are_those_of_a_whole_reading) {
    static const uint32_t caps[] = {0, 400, 30};
    for (int i = 0; i < 3; i++) {
        program p = program_start("again.ouro", caps[i]);
        steps(&p, 3000, 3);
        int again = read_rounds(&p, 120, 3); // few new paths
        CHECK(again > 0);
        again = read_rounds(&p, 60, BLOCKS); // many
        CHECK(again < 60);
        program_end(&p);
        program_forget(&p);
    }
}

TEST(a_program_that_ended_is_read_as_a_whole) {
    ouro__live_profile live;
    program p = program_start("ended.ouro", 0);
    steps(&p, 100, 3);
    read_all(&p, &live);
    CHECK(ouro__live_read_again(p.fd, &live));
    program_end(&p);
    CHECK(!ouro__live_read_again(p.fd, &live));
    ouro__live_profile_free(&live);
    read_all(&p, &live);
    CHECK(!live.running && !live.again && !ouro__live_read_again(p.fd, &live));
    ouro__live_profile_free(&live);
    program_forget(&p);
}

TEST(a_file_that_was_cut_is_not_read_again) {
    ouro__live_profile live;
    program p = program_start("cut.ouro", 0);
    steps(&p, 2000, BLOCKS);
    char *copy = strdup(test_path("copy.ouro")), command[4096];
    snprintf(command, sizeof command, "cp '%s' '%s'", p.path, copy);
    CHECK(system(command) == 0);
    int original = p.fd;
    p.fd = open(copy, O_RDWR | O_CLOEXEC);
    read_all(&p, &live);
    CHECK(ouro__live_read_again(p.fd, &live));
    for (off_t size = lseek(p.fd, 0, SEEK_END); size > 0; size -= 4096 * 3) {
        CHECK(ftruncate(p.fd, size - 1) == 0);
        bool same = ouro__live_read_again(p.fd, &live); // a part that is not in use may be gone
        ouro__live_profile all;
        ouro__live_error problem;
        bool whole = ouro__live_read_fd(p.fd, &all, &problem) == 0;
        if (whole) ouro__live_profile_free(&all);
        CHECK(!same || size > 4096);
    }
    CHECK(!ouro__live_read_again(p.fd, &live));
    ouro__live_profile_free(&live);
    close(original);
    free(copy);
    program_end(&p);
    program_forget(&p);
}

// ---------------------------------------------------------------- sending

static const label_set no_labels;

static void send_now(track *t, store *s, const program *p, track_result *done) {
    ouro__live_profile live;
    error e = {0};
    read_all(p, &live);
    track_options o = {.labels = &no_labels, .from = 5, .seen = 6, .until = 7};
    if (!CHECK(ouro__track_send(t, s, &live, &o, done, &e))) printf("# %s\n", e.message);
    ouro__live_profile_free(&live);
}

// The store's other way to take a live file finds nothing more to do.
static void check_stored(store *s, const program *p) {
    error e = {0};
    pushed done;
    profile *file = ouro__profile_read(p->path, NULL, &(read_options){.rule = RULE_DEFAULT}, &e);
    if (!CHECK(file != NULL)) return;
    push_options o = {.labels = &no_labels};
    CHECK(ouro__store_push(s, file, &o, &done, &e));
    CHECK_EQUAL(done.paths, 0);
    ouro__profile_free(file);
}

TEST(tracks_that_take_turns_or_are_in_doubt_send_everything_once) {
    static const uint32_t caps[] = {0, 40};
    for (int i = 0; i < 2; i++) {
        error e = {0};
        char name[32];
        track_result done;
        snprintf(name, sizeof name, "turns%d.db", i);
        store *s = ouro__store_open(test_path(name), true, &e);
        program p = program_start("turns.ouro", caps[i]);
        track *tracks[2] = {ouro__track_new(), ouro__track_new()};
        for (int round = 0; round < 60; round++) {
            track *t = tracks[random_below(2)];
            steps(&p, random_below(50), round % 20 < 10 ? 3 : BLOCKS);
            if (random_below(10) == 0) ouro_profile_reset(p.profile);
            if (random_below(5) == 0) ouro__track_doubt(t);
            send_now(t, s, &p, &done);
            if (round % 10 == 0) check_stored(s, &p);
        }
        program_end(&p);
        send_now(tracks[0], s, &p, &done);
        send_now(tracks[1], s, &p, &done);
        CHECK_EQUAL(done.paths, 0);
        check_stored(s, &p);
        program_forget(&p);
        ouro__track_free(tracks[0]);
        ouro__track_free(tracks[1]);
        ouro__store_close(s);
    }
}

TEST(while_all_is_well_nothing_is_asked) {
    error e = {0};
    track_result done;
    store *s = ouro__store_open(test_path("well.db"), true, &e);
    program p = program_start("well.ouro", 0);
    track *t = ouro__track_new();
    steps(&p, 50, 3);
    send_now(t, s, &p, &done);
    CHECK(done.reached && done.paths);
    send_now(t, s, &p, &done);
    CHECK(!done.reached && !done.paths);
    ouro__track_doubt(t);
    send_now(t, s, &p, &done);
    CHECK(done.reached && !done.paths);
    program_end(&p);
    program_forget(&p);
    ouro__track_free(t);
    ouro__store_close(s);
}
