// SPDX-License-Identifier: MIT
//
// ouro_profile_write, read back field by field with a small decoder of our own. That others read it
// too is shown by tests/scripts/pprof_oracle, with go tool pprof and protoc.

#include "test.h"

#include "ouro.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
    unsigned char *bytes;
    size_t size;
} file;

static file file_read(const char *path) {
    file f = {0};
    struct stat status;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &status)) return f;
    f.size = (size_t)status.st_size;
    f.bytes = malloc(f.size + 1);
    if (read(fd, f.bytes, f.size) != (ssize_t)f.size) f.size = 0;
    close(fd);
    return f;
}

// One field of a message; `at` moves on. Returns false at the end.
typedef struct {
    int number;
    uint64_t value;             // of a varint
    const unsigned char *bytes; // of a length-delimited field
    size_t size;
} field;

static uint64_t varint(const unsigned char **at, const unsigned char *end) {
    uint64_t value = 0;
    for (int shift = 0; *at < end; shift += 7) {
        unsigned char byte = *(*at)++;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) break;
    }
    return value;
}

static bool next_field(const unsigned char **at, const unsigned char *end, field *f) {
    if (*at >= end) return false;
    uint64_t key = varint(at, end);
    f->number = (int)(key >> 3);
    f->bytes = NULL;
    f->value = varint(at, end);
    if ((key & 7) == 2) {
        f->bytes = *at;
        f->size = (size_t)f->value;
        *at += f->size;
        return CHECK(*at <= end);
    }
    return CHECK_EQUAL(key & 7, 0);
}

typedef struct {
    char strings[64][32];
    int string_count, types, samples, locations, functions, mappings;
    uint64_t values[8]; // sums
    size_t longest;     // locations of a sample
    uint64_t default_type, time, duration;
    int column, system_names;
} decoded;

static void decode_sample(decoded *d, const field *sample) {
    const unsigned char *at = sample->bytes, *end = at + sample->size;
    for (field f; next_field(&at, end, &f);) {
        const unsigned char *item = f.bytes, *items_end = f.bytes + f.size;
        size_t n = 0;
        for (; item < items_end; n++) {
            uint64_t value = varint(&item, items_end);
            if (f.number == 2 && n < 8) d->values[n] += value;
            if (f.number == 1) CHECK(value != 0);
        }
        if (f.number == 1 && n > d->longest) d->longest = n;
    }
    d->samples++;
}

static void decode_location(decoded *d, const field *location) {
    const unsigned char *at = location->bytes, *end = at + location->size;
    for (field f; next_field(&at, end, &f);) {
        if (f.number != 4) continue;
        const unsigned char *line = f.bytes;
        for (field g; next_field(&line, f.bytes + f.size, &g);) d->column += g.number == 3;
    }
    d->locations++;
}

static void decode_function(decoded *d, const field *function) {
    const unsigned char *at = function->bytes, *end = at + function->size;
    for (field f; next_field(&at, end, &f);) d->system_names += f.number == 3;
    d->functions++;
}

static decoded *decode(const char *path) {
    decoded *d = calloc(1, sizeof *d);
    file f = file_read(path);
    const unsigned char *at = f.bytes, *end = f.bytes + f.size;
    CHECK(f.size > 0);
    for (field g; f.size && next_field(&at, end, &g);) {
        d->types += g.number == 1;
        d->mappings += g.number == 3;
        if (g.number == 2) decode_sample(d, &g);
        if (g.number == 4) decode_location(d, &g);
        if (g.number == 5) decode_function(d, &g);
        if (g.number == 6 && d->string_count < 64)
            snprintf(d->strings[d->string_count++], 32, "%.*s", (int)g.size, (const char *)g.bytes);
        if (g.number == 9) d->time = g.value;
        if (g.number == 10) d->duration = g.value;
        if (g.number == 14) d->default_type = g.value;
    }
    free(f.bytes);
    return d;
}

static ouro_block add(ouro_profile *profile, const char *name, uint32_t line) {
    return ouro_add_block(profile, &(ouro_block_info){name, "source.x", line, 9});
}

TEST(the_message_has_what_readers_depend_on) {
    const char *path = test_path("out.pb");
    static const ouro_metric_info metrics[] = {{"time", "nanoseconds"}, {"bytes", "bytes"}};
    ouro_profile *profile =
        ouro_profile_new(&(ouro_options){.metrics = metrics, .metric_count = 2});
    ouro_block a = add(profile, "a", 1), b = add(profile, "vector<int>", 2);
    add(profile, "never entered", 3);
    ouro_thread *thread = ouro_thread_new(profile);
    ouro_enter(thread, a);
    for (int i = 0; i < 5; i++) ouro_enter(thread, b);
    ouro_count(thread, 1, 1000);
    CHECK_EQUAL(ouro_profile_write(profile, path), 0);
    decoded *d = decode(path);
    CHECK_TEXT(d->strings[0], "");
    CHECK_EQUAL(d->types, 4);
    CHECK_EQUAL(d->samples, 2);
    CHECK_EQUAL(d->locations, 2);
    CHECK_EQUAL(d->functions, 2);
    CHECK_EQUAL(d->mappings, 1);
    CHECK_EQUAL(d->values[0], 6);
    CHECK_EQUAL(d->values[1], 4);
    CHECK_EQUAL(d->values[2], 0);
    CHECK_EQUAL(d->values[3], 1000);
    CHECK_TEXT(d->strings[d->default_type], "bytes"); // the first metric that has anything
    CHECK(d->column == 2 && d->system_names == 0);
    CHECK(d->time > UINT64_C(1500000000000000000) && d->duration > 0);
    free(d);
    ouro_thread_free(thread);
    ouro_profile_free(profile);
}

TEST(pruned_is_a_block_of_its_own) {
    const char *path = test_path("pruned.pb");
    ouro_profile *profile = ouro_profile_new(&(ouro_options){.max_nodes = 4});
    ouro_thread *thread = ouro_thread_new(profile);
    for (uint32_t i = 0; i < 40; i++) {
        ouro_position token = ouro_enter(thread, add(profile, "b", i + 1));
        ouro_sample(thread, 1);
        ouro_exit(thread, token);
    }
    CHECK_EQUAL(ouro_profile_write(profile, path), 0);
    decoded *d = decode(path);
    bool found = false;
    for (int i = 0; i < d->string_count; i++) found |= strcmp(d->strings[i], "[pruned]") == 0;
    CHECK(found);
    CHECK_EQUAL(d->values[0], 40);
    CHECK_EQUAL(d->values[2], 40);
    free(d);
    ouro_thread_free(thread);
    ouro_profile_free(profile);
}

TEST(a_deep_path_is_cut_at_the_root_and_the_file_stays_linear) {
    const char *path = test_path("deep.pb");
    ouro_profile *profile = ouro_profile_new(&(ouro_options){.compaction = OURO_NONE});
    ouro_block a = add(profile, "a", 1);
    ouro_thread *thread = ouro_thread_new(profile);
    for (int i = 0; i < 20000; i++) ouro_enter(thread, a);
    CHECK_EQUAL(ouro_profile_write(profile, path), 0);
    decoded *d = decode(path);
    CHECK_EQUAL(d->longest, 4096 + 1);
    CHECK_EQUAL(d->samples, 20000);
    CHECK_EQUAL(d->values[0], 20000);
    bool found = false;
    for (int i = 0; i < d->string_count; i++) found |= strcmp(d->strings[i], "[truncated]") == 0;
    CHECK(found);
    free(d);
    struct stat status;
    CHECK(stat(path, &status) == 0 && status.st_size < 20000 * 4200);
    ouro_thread_free(thread);
    ouro_profile_free(profile);
}

static void drop_times(file *f) {
    const unsigned char *at = f->bytes, *end = f->bytes + f->size;
    size_t kept = 0;
    for (field g; at < end;) {
        const unsigned char *begin = at;
        if (!next_field(&at, end, &g)) break;
        if (g.number == 9 || g.number == 10) continue;
        memmove(f->bytes + kept, begin, (size_t)(at - begin));
        kept += (size_t)(at - begin);
    }
    f->size = kept;
}

static file random_run(const char *path) {
    ouro_profile *profile = ouro_profile_new(NULL);
    ouro_block first = ouro_add_blocks(profile, (ouro_block_info[20]){{"n", "f", 1, 1}}, 20);
    ouro_thread *thread = ouro_thread_new(profile);
    for (int i = 0; i < 3000; i++) {
        ouro_position tokens[8];
        for (int d = 0; d < 8; d++) tokens[d] = ouro_enter(thread, first + random_below(20));
        ouro_sample(thread, 1);
        for (int d = 8; d-- > 0;) ouro_exit(thread, tokens[d]);
    }
    CHECK_EQUAL(ouro_profile_write(profile, path), 0);
    ouro_thread_free(thread);
    ouro_profile_free(profile);
    file f = file_read(path);
    drop_times(&f);
    return f;
}

TEST(the_same_run_gives_the_same_bytes_apart_from_the_times) {
    const char *path = test_path("same.pb");
    random_seed(42);
    file one = random_run(path);
    random_seed(42);
    file two = random_run(path);
    CHECK(one.size > 1000 && one.size == two.size && !memcmp(one.bytes, two.bytes, one.size));
    free(one.bytes);
    free(two.bytes);
}

// The metric that the host wants to be shown first, unless it has nothing, or there is none such.
TEST(a_host_says_what_is_shown_first) {
    static const ouro_metric_info metrics[] = {{"steps", "count"}, {"time", "nanoseconds"}};
    const char *path = test_path("shown.pb"), *const want[] = {"steps", "time", "steps"};
    for (ouro_metric shown = 0; shown < 3; shown++) {
        ouro_profile *profile = ouro_profile_new(
            &(ouro_options){.metrics = metrics, .metric_count = 2, .shown_metric = shown});
        ouro_thread *thread = ouro_thread_new(profile);
        ouro_enter(thread, add(profile, "a", 1));
        for (int round = 0; round < 2; round++) {
            ouro_count(thread, (ouro_metric)round, 5);
            CHECK_EQUAL(ouro_profile_write(profile, path), 0);
            decoded *d = decode(path);
            CHECK_TEXT(d->strings[d->default_type], round ? want[shown] : "steps");
            free(d);
        }
        ouro_thread_free(thread);
        ouro_profile_free(profile);
    }
}

TEST(an_empty_profile_is_a_valid_file) {
    const char *path = test_path("empty.pb");
    ouro_profile *profile = ouro_profile_new(NULL);
    CHECK_EQUAL(ouro_profile_write(profile, path), 0);
    decoded *d = decode(path);
    CHECK(d->samples == 0 && d->types == 3 && d->mappings == 1);
    CHECK_TEXT(d->strings[d->default_type], "calls");
    free(d);
    ouro_profile_free(profile);
}

TEST(a_device_is_written_to_and_a_link_is_followed) {
    char target[512], link[512], long_name[512];
    snprintf(target, sizeof target, "%s", test_path("target.pb"));
    snprintf(link, sizeof link, "%s", test_path("link.pb"));
    memset(long_name, 0, sizeof long_name);
    snprintf(long_name, sizeof long_name, "%s", test_path(""));
    memset(long_name + strlen(long_name), 'n', 250);
    ouro_profile *profile = ouro_profile_new(NULL);
    CHECK_EQUAL(ouro_profile_write(profile, target), 0);
    CHECK_EQUAL(symlink(target, link), 0);
    CHECK_EQUAL(truncate(target, 0), 0);
    CHECK_EQUAL(ouro_profile_write(profile, link), 0);
    struct stat status;
    CHECK(lstat(link, &status) == 0 && S_ISLNK(status.st_mode));
    CHECK(stat(target, &status) == 0 && status.st_size > 0);
    CHECK_EQUAL(ouro_profile_write(profile, "/dev/null"), 0);
    CHECK(stat("/dev/null", &status) == 0 && S_ISCHR(status.st_mode));
    CHECK_EQUAL(ouro_profile_write(profile, long_name), 0);
    ouro_profile_free(profile);
}

TEST(what_cannot_be_written_leaves_the_old_file) {
    ouro_profile *profile = ouro_profile_new(NULL);
    errno = 0;
    CHECK(ouro_profile_write(profile, "/nonexistent/x.pb") == -1 && errno == ENOENT);
    const char *folder = test_path("folder");
    mkdir(folder, 0700);
    CHECK(ouro_profile_write(profile, folder) == -1 && errno != 0);
    rmdir(folder);
    ouro_profile_free(profile);
}
