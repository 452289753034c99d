// SPDX-License-Identifier: MIT
//
// Readers and writers: what each reader takes and gives, what it says about damaged input and
// where, and random profiles through every format that can be read again.

#include "ouro.h"

#include "format.h"
#include "json_writer.h"
#include "questions.h"
#include "test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const read_options as_asked = {.rule = RULE_DEFAULT};
static const read_options plain = {.rule = RULE_NONE};

static profile *read_bytes(const char *name, const void *bytes, size_t size,
                           const read_options *options, error *e) {
    input in = {.bytes = bytes, .size = size, .fd = -1};
    const format *f = name ? ouro__format_named(name) : ouro__format_probe(bytes, size, e);
    return f ? f->read(&in, options, e) : NULL;
}

// Paths with their values, as folded stacks with one number per metric.
static char *describe(const profile *p) {
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    walk w = {0};
    for (uint32_t n = 0; n < p->node_count; n++) {
        bool any = false;
        ouro__walk_to(&w, p, n);
        for (uint32_t m = 0; m < p->metric_count; m++) any |= p->values[m][n] != 0;
        if (!any) continue;
        for (uint32_t d = 1; d <= w.depth; d++)
            fprintf(to, "%s%s", d > 1 ? ";" : "", ouro__block_name(p, p->block[w.nodes[d]]));
        for (uint32_t m = 0; m < p->metric_count; m++) {
            char number[DECIMAL_ROOM];
            fprintf(to, " %s", ouro__decimal(number, p->values[m][n], p->metrics[m].decimals));
        }
        fprintf(to, "\n");
    }
    ouro__walk_free(&w);
    fclose(to);
    return text;
}

static void check_read(const char *name, const char *source, const char *want) {
    error e = {0};
    profile *p = read_bytes(name, source, strlen(source), &as_asked, &e);
    if (!test_check(p != NULL, __FILE__, __LINE__, "%s: %s", name ? name : "?", e.message)) return;
    char *got = describe(p);
    CHECK_TEXT(got, want);
    CHECK(ouro__profile_is_valid(p));
    free(got);
    ouro__profile_free(p);
}

static void check_error(const char *name, const void *bytes, size_t size, const char *message,
                        uint64_t offset) {
    error e = {0};
    profile *p = read_bytes(name, bytes, size, &as_asked, &e);
    CHECK(!p);
    CHECK_TEXT(e.message, message);
    CHECK_EQUAL(e.offset, offset);
    ouro__profile_free(p);
}

static void check_text_error(const char *name, const char *source, const char *message,
                             uint64_t offset) {
    check_error(name, source, strlen(source), message, offset);
}

// ---------------------------------------------------------------- folded

TEST(folded_stacks_are_found_by_content) { check_read(NULL, "a;b 1\na;c 2\n", "a;b 1\na;c 2\n"); }

// `*` is the tag of a function and `!` a length of 33: eight fields, if it were a message.
TEST(folded_stacks_that_hang_together_like_fields_are_text) {
#define FUNCTION "*!an_odd_name_of_thirty_three_signs"
#define FUNCTIONS FUNCTION FUNCTION FUNCTION FUNCTION
    check_read(NULL, FUNCTIONS FUNCTIONS " 1\n", FUNCTIONS FUNCTIONS " 1\n");
}

TEST(folded_names_may_hold_spaces_and_escaped_semicolons) {
    check_read("folded", "main;operator new(unsigned long) 3\nLjava\\;;x\\\\ 1\n",
               "main;operator new(unsigned long) 3\nLjava;;x\\ 1\n");
}

TEST(folded_counts_may_have_decimals) {
    check_read("folded", "a 1\na;b 0.25\na 1.5\n", "a 2.5\na;b 0.25\n");
}

TEST(folded_with_two_counts_is_a_comparison) {
    error e = {0};
    const char *source = "a;b 1 2\na;c 3 0\n";
    profile *p = read_bytes("folded", source, strlen(source), &as_asked, &e);
    if (!CHECK(p)) return;
    CHECK_EQUAL(p->metric_count, 2);
    CHECK_TEXT(ouro__metric_name(p, 0), "before");
    CHECK_TEXT(ouro__metric_name(p, 1), "after");
    char *got = describe(p);
    CHECK_TEXT(got, "a;b 1 2\na;c 3 0\n");
    free(got);
    ouro__profile_free(p);
}

TEST(a_name_that_ends_with_a_number_is_no_comparison) {
    check_read("folded", "read 2 5\nwrite 7\n", "read 2 5\nwrite 7\n");
}

TEST(folded_takes_other_line_ends_comments_and_no_newline_at_the_end) {
    check_read("folded", "# made by hand\r\na;b 1\r\n\r\na;;b 2", "a;b 3\n");
}

TEST(folded_is_compacted_by_loops_unless_asked) {
    check_read("folded", "a;b;b;b;c 1\n", "a;b;c 1\n");
    error e = {0};
    profile *p = read_bytes("folded", "a;b;b 1\n", 8, &plain, &e);
    char *got = describe(p);
    CHECK_TEXT(got, "a;b;b 1\n");
    free(got);
    ouro__profile_free(p);
}

TEST(folded_errors_name_the_line) {
    check_text_error("folded", "a;b 1\na;b\n", "line 2: expected a path, a space and a count", 6);
    check_text_error("folded", "a 1\n 5\n", "line 2: expected a path before the count", 4);
    check_text_error("folded", "a 99999999999999999999\n",
                     "line 1: expected a count that fits into 63 bits", 0);
    char *many = NULL;
    size_t size;
    FILE *to = open_memstream(&many, &size);
    for (int i = 0; i < 300; i++) fprintf(to, "a;f%d 1 2\n", i);
    fprintf(to, "a;b 1\n");
    fclose(to);
    check_text_error("folded", many,
                     "line 301: expected two counts at the end, as on the lines before",
                     (uint64_t)(strstr(many, "a;b ") - many));
    free(many);
}

// ---------------------------------------------------------------- perf script

TEST(perf_headers_of_many_shapes) {
    check_read(NULL,
               "# ========\n# captured on : today\n"
               "Web Content 2  1234/1235 [003]  12.500000:     250000 cycles:u: \n"
               "\t    7f01 leaf+0x1f (/lib/a (deleted))\n"
               "\t    7f00 operator()(int) const+0x2 (/bin/x)\n"
               "\n"
               "w x 17590  4298.204134:    1001001 cpu-clock: \n"
               "\t     1160 fib+0x7 (/bin/w x)\n\t    2724a [unknown] ([unknown])\n\n",
               "Web Content 2;operator()(int) const;leaf 1 250000 0\n"
               "w x;[unknown];fib 1 0 1001001\n");
}

TEST(perf_without_call_chains_has_the_frame_on_the_line) {
    check_read(NULL,
               "     w x 17590    1001001 cpu-clock:      562a72565160 fib\n"
               "     w x 17590    1001001 cpu-clock:      562a7256516b main (/bin/w)\n",
               "w x;fib 1 1001001\nw x;main 1 1001001\n");
}

TEST(perf_headers_may_lack_the_event_and_the_time) {
    check_read(NULL, "w x 17590  4298.204134: \n\t            1160 fib\n\n", "w x;fib 1\n");
    check_read(NULL, "w x 17590 \n\t            1160 fib+0x7 (/bin/w x)\n  w.c:3\n\n",
               "w x;fib 1\n");
}

TEST(perf_inlined_frames_belong_to_the_object_of_their_container) {
    const char *source = "p 1 1.0: 7 cycles: \n\t 10 inner (inlined)\n\t 10 outer+0x4 (/bin/p)\n\t "
                         "20 main+0x1 (/bin/p)\n\n";
    error e = {0};
    profile *p = read_bytes("perf", source, strlen(source), &as_asked, &e);
    if (!CHECK(p)) return;
    uint32_t inner;
    char *got = describe(p);
    CHECK_TEXT(got, "p;main;outer;inner 1 7\n");
    CHECK(ouro__find_block(p, "inner", &inner, &e));
    CHECK_TEXT(ouro__block_file(p, inner), "/bin/p");
    free(got);
    ouro__profile_free(p);
}

TEST(perf_source_lines_below_frames_are_passed_over) {
    check_read("perf", "p 1 1.0: 7 cycles: \n\t 20 main+0x1 (/bin/p)\n  main.c:12\n\n",
               "p;main 1 7\n");
}

TEST(perf_stacks_that_are_full_stand_under_truncated) {
    char *source = NULL;
    size_t size;
    FILE *to = open_memstream(&source, &size);
    fprintf(to, "p 1 1.0: 7 cycles: \n");
    for (int i = 0; i < 127; i++) fprintf(to, "\t %x f%d+0x1 (/bin/p)\n", i + 16, i);
    fprintf(to, "\n");
    fclose(to);
    error e = {0};
    profile *p = read_bytes("perf", source, size, &as_asked, &e);
    if (CHECK(p)) CHECK_TEXT(ouro__block_name(p, p->block[1]), "[truncated]");
    CHECK_EQUAL(p->node_count, 130);
    ouro__profile_free(p);
    free(source);
}

TEST(perf_errors_name_the_line) {
    check_text_error("perf", "p 1 1.0: 7 cycles: \n\t zz main\n",
                     "line 2: expected a frame: address, name, (object)", 20);
    check_text_error(
        "perf", "nonsense\n",
        "line 1: expected a sample: command, process id, time, event; or an empty line", 0);
    check_text_error("perf", "\t 20 main (/bin/p)\n", "line 1: expected a sample before its frames",
                     0);
}

// ---------------------------------------------------------------- JSON formats

static const char speedscope_sampled[] =
    "{\"$schema\":\"https://www.speedscope.app/"
    "file-format-schema.json\",\"shared\":{\"frames\":[{\"name\":\"a\"},"
    "{\"name\":\"b\",\"file\":\"b.c\",\"line\":3,\"col\":4}]},\"profiles\":[{\"type\":\"sampled\","
    "\"name\":\"x\","
    "\"unit\":\"milliseconds\",\"startValue\":0,\"endValue\":3,\"samples\":[[0],[0,1],[0,1,1]],"
    "\"weights\":[1,0.5,0.25]},"
    "{\"type\":\"sampled\",\"name\":\"y\",\"unit\":\"milliseconds\",\"startValue\":0,\"endValue\":"
    "1,"
    "\"samples\":[[0]],\"weights\":[2]}]}";

TEST(speedscope_samples_are_summed_over_threads_in_nanoseconds) {
    check_read(NULL, speedscope_sampled, "a 3000000\na;b 750000\n");
}

TEST(speedscope_events_charge_what_is_open) {
    check_read(NULL,
               "{\"shared\":{\"frames\":[{\"name\":\"a\"},{\"name\":\"b\"}]},\"profiles\":[{"
               "\"type\":\"evented\","
               "\"name\":\"x\",\"unit\":\"none\",\"startValue\":0,\"endValue\":10,\"events\":["
               "{\"type\":\"O\",\"frame\":0,\"at\":0},{\"type\":\"O\",\"frame\":1,\"at\":2},"
               "{\"type\":\"C\",\"frame\":1,\"at\":7},{\"type\":\"C\",\"frame\":0,\"at\":10}]}]}",
               "a 5\na;b 5\n");
}

#define SPEEDSCOPE(profiles) \
    "{\"shared\":{\"frames\":[{\"name\":\"a\"}]},\"profiles\":[" profiles "]}"

TEST(speedscope_errors_name_the_item) {
    check_text_error(
        "speedscope",
        SPEEDSCOPE(
            "{\"type\":\"sampled\",\"unit\":\"none\",\"samples\":[[0],[7]],\"weights\":[1,1]}"),
        "profiles[0].samples[1]: frame 7 of 1", 0);
    check_text_error(
        "speedscope",
        SPEEDSCOPE("{\"type\":\"sampled\",\"unit\":\"none\",\"samples\":[[0]],\"weights\":[1,1]}"),
        "profiles[0]: 2 weights for 1 samples", 0);
    check_text_error("speedscope",
                     SPEEDSCOPE("{\"type\":\"evented\",\"unit\":\"none\",\"events\":[{\"type\":"
                                "\"C\",\"frame\":0,\"at\":0}]}"),
                     "profiles[0].events[0]: expected no close: no frame is open", 0);
    check_text_error("speedscope",
                     SPEEDSCOPE("{\"type\":\"evented\",\"unit\":\"none\",\"events\":[{\"type\":"
                                "\"O\",\"frame\":0,\"at\":0}]}"),
                     "profiles[0]: 1 frames are never closed", 0);
    check_text_error("speedscope", SPEEDSCOPE("{\"type\":\"other\"}"),
                     "profiles[0]: expected the type sampled or evented", 0);
    check_text_error("speedscope", "{\"shared\":{}}", "expected a list shared.frames", 0);
}

TEST(broken_json_names_the_byte) {
    error e = {0};
    const char *source = "{\"profiles\": [1, 2,, 3], \"frames\": 1}";
    CHECK(!read_bytes("speedscope", source, strlen(source), &as_asked, &e));
    CHECK(strncmp(e.message, "byte 20: expected JSON: ", 24) == 0);
    CHECK_EQUAL(e.offset, 20);
}

TEST(cpuprofile_with_a_list_of_nodes) {
    check_read(
        NULL,
        "{\"nodes\":[{\"id\":1,\"callFrame\":{\"functionName\":\"(root)\",\"url\":\"\","
        "\"lineNumber\":-1,"
        "\"columnNumber\":-1},\"children\":[2]},{\"id\":2,\"callFrame\":{\"functionName\":\"f\","
        "\"url\":\"f.js\","
        "\"lineNumber\":0,\"columnNumber\":4},\"children\":[3]},{\"id\":3,\"callFrame\":{"
        "\"functionName\":\"\","
        "\"url\":\"f.js\",\"lineNumber\":5,\"columnNumber\":1}}],\"startTime\":0,\"endTime\":30,"
        "\"samples\":[2,3,3],\"timeDeltas\":[10,5,-2]}",
        "f 1 10000\nf;(anonymous) 2 5000\n");
}

TEST(cpuprofile_in_the_older_nested_form) {
    check_read(NULL,
               "{\"head\":{\"functionName\":\"(root)\",\"url\":\"\",\"lineNumber\":0,\"id\":1,"
               "\"hitCount\":0,"
               "\"children\":[{\"functionName\":\"g\",\"url\":\"g.js\",\"lineNumber\":7,\"id\":2,"
               "\"hitCount\":3,"
               "\"children\":[]}]},\"startTime\":1,\"endTime\":2}",
               "g 3\n");
}

TEST(cpuprofile_errors_name_the_node) {
    check_text_error(
        "cpuprofile",
        "{\"nodes\":[{\"id\":1,\"callFrame\":{\"functionName\":\"f\"},\"children\":[9]}]}",
        "nodes[0]: child 9 is not in the file; is it cut off?", 0);
    check_text_error(
        "cpuprofile",
        "{\"nodes\":[{\"id\":1,\"callFrame\":{\"functionName\":\"f\"}}],\"samples\":[4]}",
        "samples[0]: node 4 is not in the file; is it cut off?", 0);
    check_text_error("cpuprofile", "{\"nodes\":[{\"id\":1,\"parent\":2},{\"id\":2,\"parent\":1}]}",
                     "nodes[0]: it is its own ancestor", 0);
    check_text_error("cpuprofile", "{\"functionName\":1}", "expected a list of nodes, or a head",
                     0);
}

// ---------------------------------------------------------------- pprof

// A message by hand: m(number, ...) for bytes.
typedef struct {
    unsigned char bytes[4096];
    size_t size;
} message;

static void put(message *m, uint64_t value) {
    for (; value > 127; value >>= 7) m->bytes[m->size++] = (unsigned char)(value | 128);
    m->bytes[m->size++] = (unsigned char)value;
}

static void put_number(message *m, unsigned field, uint64_t value) {
    put(m, field << 3);
    put(m, value);
}

static void put_bytes(message *m, unsigned field, const void *bytes, size_t size) {
    put(m, field << 3 | 2);
    put(m, size);
    memcpy(m->bytes + m->size, bytes, size);
    m->size += size;
}

static void put_message(message *m, unsigned field, const message *inner) {
    put_bytes(m, field, inner->bytes, inner->size);
}

static message pair_of(unsigned first, uint64_t a, unsigned second, uint64_t b) {
    message m = {.size = 0};
    put_number(&m, first, a);
    put_number(&m, second, b);
    return m;
}

static void put_strings(message *m, const char *const *strings) {
    for (; *strings; strings++) put_bytes(m, 6, *strings, strlen(*strings));
}

// One location (id 5) with two lines: `inner` inlined into `outer`. `packed`: how its sample
// lists numbers.
static message inlined_profile(bool packed) {
    message m = {.size = 0}, sample = {.size = 0}, location = {.size = 0}, label;
    message type = pair_of(1, 1, 2, 2), inner = pair_of(1, 7, 2, 30), outer = pair_of(1, 8, 2, 12);
    put_message(&m, 1, &type);
    if (packed) {
        put_bytes(&sample, 1, "\5\5", 2);
        put_bytes(&sample, 2, "\11", 1);
    } else {
        put_number(&sample, 1, 5);
        put_number(&sample, 1, 5);
        put_number(&sample, 2, 9);
    }
    label = pair_of(1, 3, 2, 4);
    put_message(&sample, 3, &label);
    put_message(&m, 2, &sample);
    put_number(&location, 1, 5);
    put_number(&location, 3, 0x1234);
    put_message(&location, 4, &inner);
    put_message(&location, 4, &outer);
    put_message(&m, 4, &location);
    message f = pair_of(1, 7, 2, 5), g = pair_of(1, 8, 2, 6);
    put_message(&m, 5, &f);
    put_message(&m, 5, &g);
    put_strings(&m, (const char *const[]){"", "cpu", "nanoseconds", "request", "home", "inner",
                                          "outer", NULL});
    return m;
}

TEST(pprof_inlined_lines_are_blocks_of_their_own) {
    for (int packed = 0; packed < 2; packed++) {
        message m = inlined_profile(packed);
        error e = {0};
        profile *p = read_bytes(NULL, m.bytes, m.size, &as_asked, &e);
        if (!CHECK(p)) return;
        char *got = describe(p);
        CHECK_TEXT(got, "outer;inner;outer;inner 9\n");
        free(got);
        ouro__profile_free(p);
    }
}

TEST(pprof_with_its_origin_is_written_again_byte_for_byte) {
    message m = inlined_profile(true);
    error e = {0};
    read_options keep = {.rule = RULE_DEFAULT, .keep_origin = true};
    profile *p = read_bytes("pprof", m.bytes, m.size, &keep, &e);
    const char *path = test_path("again.pb");
    CHECK(ouro__profile_write(p, path, ouro__format_named("pprof"), &(write_options){0}, &e));
    ouro__profile_free(p);
    input in;
    if (!CHECK(ouro__input_open(&in, path, 0, &e))) return;
    CHECK_EQUAL(in.size, m.size);
    CHECK(in.size == m.size && memcmp(in.bytes, m.bytes, m.size) == 0);
    ouro__input_close(&in);
}

TEST(pprof_errors_name_the_byte) {
    message type = pair_of(1, 1, 2, 77), m = {.size = 0}, sample = {.size = 0};
    put_message(&m, 1, &type);
    put_strings(&m, (const char *const[]){"", "cpu", NULL});
    check_error("pprof", m.bytes, m.size, "byte 2: string index 77 of 2; is the file cut off?", 2);
    m.size = 0;
    type = pair_of(1, 1, 2, 1);
    put_message(&m, 1, &type);
    put_bytes(&sample, 1, "\11", 1);
    put_bytes(&sample, 2, "\1", 1);
    put_message(&m, 2, &sample);
    put_strings(&m, (const char *const[]){"", "cpu", NULL});
    check_error("pprof", m.bytes, m.size, "byte 6: location 9 is not in the file; is it cut off?",
                6);
    m.size = 6;
    sample.size = 0;
    put_bytes(&sample, 2, "\1\2", 2);
    put_message(&m, 2, &sample);
    put_strings(&m, (const char *const[]){"", "cpu", NULL});
    check_error("pprof", m.bytes, m.size, "byte 6: a sample with 2 values of 1", 6);
    check_error("pprof", m.bytes, 9,
                "byte 6: field 2 has 4 bytes and 1 are left; is the file cut off?", 6);
    check_error("pprof", "\12\200", 2,
                "byte 1: a number begins here and does not end; is the file cut off?", 1);
    check_error("pprof", "\7x", 2, "byte 0: expected a field of a pprof profile, found the tag 7",
                0);
    check_error("pprof", "\62\0", 2,
                "byte 2: the profile names no sample type; is the file cut off?", 2);
}

// Cut anywhere, or with any byte changed: an error or a valid profile, never a crash.
TEST(damaged_profiles_are_errors_or_profiles) {
    message m = inlined_profile(true);
    for (size_t size = 0; size < m.size; size++) {
        error e = {0};
        profile *p = read_bytes("pprof", m.bytes, size, &as_asked, &e);
        CHECK(p ? ouro__profile_is_valid(p) : e.code != 0 && e.message[0]);
        ouro__profile_free(p);
    }
    for (int i = 0; i < 20000; i++) {
        message changed = m;
        changed.bytes[random_below((uint32_t)m.size)] = (unsigned char)random_next();
        error e = {0};
        profile *p = read_bytes("pprof", changed.bytes, changed.size, &as_asked, &e);
        CHECK(p ? ouro__profile_is_valid(p) : e.code != 0 && e.message[0]);
        ouro__profile_free(p);
    }
}

// ---------------------------------------------------------------- round trips

// Never leaves a 0: formats without a line for it give siblings another order.
static void charge_some(profile *p, uint32_t metric, uint32_t node) {
    ouro__charge(p, metric, node, (int64_t)random_below(1000000) - 1000);
    if (!p->values[metric][node]) ouro__charge(p, metric, node, 1);
}

static profile *random_profile(uint32_t metrics) {
    profile *p = ouro__profile_new();
    builder *b = ouro__builder_new(p, RULE_NONE, 0);
    for (uint32_t m = 0; m < metrics; m++) {
        char name[16];
        sprintf(name, "m%u", m);
        ouro__profile_add_metric(p, name, "count");
    }
    const char *names[] = {"main",    "a;b", "c\\d", "with space", "\xc3\xa4\xc3\xb6",
                           "x\"<>&'", "e\\", "plain"};
    uint32_t stack[40], depth = 0;
    for (int i = 0; i < 200; i++) {
        depth = random_below(depth + 1);
        while (depth < 40 && (depth == 0 || random_below(4))) {
            block_info info = {.name = ouro__profile_add_text(p, names[random_below(8)]),
                               .file =
                                   ouro__profile_add_text(p, random_below(2) ? "one.c" : "two.c"),
                               .line = 1 + random_below(3),
                               .column = random_below(3)};
            stack[depth++] = ouro__profile_add_block(p, &info);
        }
        uint32_t node = ouro__builder_stack(b, stack, depth);
        for (uint32_t m = 0; m < metrics; m++) charge_some(p, m, node);
    }
    ouro__builder_free(b);
    ouro__profile_finish(p, NULL);
    return p;
}

static void check_round_trip(const profile *p, const char *name, const char *file,
                             const char *want) {
    error e = {0};
    char *path = strdup(test_path(file));
    const format *f = ouro__format_named(name);
    if (!test_check(ouro__profile_write(p, path, f, &(write_options){.title = "t"}, &e), __FILE__,
                    __LINE__, "%s: %s", name, e.message))
        return;
    profile *again = ouro__profile_read(path, NULL, &plain, &e);
    if (test_check(again != NULL, __FILE__, __LINE__, "%s: %s", name, e.message)) {
        char *got = describe(again);
        CHECK_TEXT(got, want);
        free(got);
    }
    ouro__profile_free(again);
    free(path);
}

TEST(random_profiles_survive_pprof_and_speedscope_with_every_metric) {
    for (int round = 0; round < 20; round++) {
        profile *p = random_profile(1 + random_below(4));
        char *want = describe(p);
        check_round_trip(p, "pprof", "r.pb", want);
        check_round_trip(p, "pprof", "r.pb.gz", want);
        check_round_trip(p, "speedscope", "r.speedscope.json", want);
        free(want);
        ouro__profile_free(p);
    }
}

// Folded stacks have names only: blocks of one name become one.
TEST(random_profiles_survive_folded_stacks_by_name) {
    for (int round = 0; round < 20; round++) {
        profile *p = random_profile(1);
        profile *by_name = ouro__profile_like(p);
        builder *b = ouro__builder_new(by_name, RULE_NONE, 0);
        uint32_t *place = calloc(p->node_count, sizeof *place);
        for (uint32_t n = 1; n < p->node_count; n++) {
            const char *name = ouro__block_name(p, p->block[n]);
            place[n] = ouro__builder_enter(b, place[p->parent[n]],
                                           ouro__profile_add_named(by_name, name, strlen(name)));
            ouro__charge(by_name, 0, place[n], p->values[0][n]);
        }
        ouro__builder_free(b);
        ouro__profile_finish(by_name, NULL);
        char *want = describe(by_name);
        check_round_trip(p, "folded", "r.folded", want);
        free(want);
        free(place);
        ouro__profile_free(by_name);
        ouro__profile_free(p);
    }
}

TEST(decimals_are_rounded_with_a_carry_where_a_format_has_none) {
    error e = {0};
    const char *source = "a 0.4\nb 0.4\nc 0.4\nd 0.8\n";
    profile *p = read_bytes("folded", source, strlen(source), &as_asked, &e);
    const char *path = test_path("whole.pb");
    CHECK(ouro__profile_write(p, path, ouro__format_named("pprof"), &(write_options){0}, &e));
    profile *again = ouro__profile_read(path, NULL, &plain, &e);
    CHECK_EQUAL(ouro__total(again, 0), 2);
    ouro__profile_free(again);
    ouro__profile_free(p);
}

// ---------------------------------------------------------------- files

TEST(what_recording_took_is_not_what_a_live_file_shows_first) {
    char *path = strdup(test_path("short.ouro"));
    ouro_metric_info metrics[] = {{"time", "nanoseconds"}, {"recording", "nanoseconds"}};
    ouro_options options = {.path = path, .metrics = metrics, .metric_count = 2};
    ouro_profile *live = ouro_profile_new(&options);
    if (!CHECK(live)) return;
    ouro_thread *thread = ouro_thread_new(live);
    ouro_enter(thread, ouro_add_block(live, &(ouro_block_info){"f", "f.c", 3, 1}));
    for (int charged = 0; charged < 2; charged++) {
        error e = {0};
        ouro_count(thread, charged ? 0 : 1, 5);
        profile *p = ouro__profile_read(path, NULL, &as_asked, &e);
        if (CHECK(p))
            CHECK_TEXT(ouro__metric_name(p, p->default_metric), charged ? "time" : "calls");
        ouro__profile_free(p);
    }
    ouro_thread_free(thread);
    ouro_profile_free(live);
    unlink(path);
    free(path);
}

TEST(live_files_are_read_with_their_calls) {
    char *path = strdup(test_path("live.ouro"));
    ouro_profile *live = ouro_profile_new(&(ouro_options){.path = path});
    if (!CHECK(live)) return;
    ouro_block block =
        ouro_add_blocks(live, (ouro_block_info[]){{"f", "f.c", 3, 1}, {"g", "g.c", 4, 2}}, 2);
    ouro_thread *thread = ouro_thread_new(live);
    ouro_position a = ouro_enter(thread, block), b = ouro_enter(thread, block),
                  c = ouro_enter(thread, block + 1);
    ouro_sample(thread, 5);
    ouro_exit(thread, c);
    ouro_exit(thread, b);
    ouro_exit(thread, a);
    error e = {0};
    for (int finished = 0; finished < 2; finished++) {
        profile *p = ouro__profile_read(path, NULL, &as_asked, &e);
        if (test_check(p != NULL, __FILE__, __LINE__, "%s", e.message)) {
            char *got = describe(p); // calls, recursions, direct, samples
            CHECK_TEXT(got, "f 2 1 1 0\nf;g 1 0 0 5\n");
            CHECK_TEXT(ouro__metric_name(p, p->default_metric), "samples");
            free(got);
        }
        ouro__profile_free(p);
        if (finished) break;
        ouro_thread_free(thread);
        ouro_profile_free(live);
    }
    unlink(path);
    free(path);
}

TEST(live_files_of_a_killed_program_keep_what_was_counted) {
    char *path = strdup(test_path("killed.ouro"));
    pid_t child = fork();
    if (child == 0) {
        ouro_profile *live = ouro_profile_new(&(ouro_options){.path = path});
        ouro_thread *thread = ouro_thread_new(live);
        ouro_enter(thread, ouro_add_block(live, &(ouro_block_info){"forever", "f.c", 1, 1}));
        ouro_sample(thread, 42);
        raise(SIGKILL);
    }
    waitpid(child, NULL, 0);
    error e = {0};
    profile *p = ouro__profile_read(path, NULL, &as_asked, &e);
    if (test_check(p != NULL, __FILE__, __LINE__, "%s", e.message)) {
        char *got = describe(p);
        CHECK_TEXT(got, "forever 1 0 0 42\n");
        free(got);
    }
    ouro__profile_free(p);
    unlink(path);
    free(path);
}

TEST(a_live_file_that_is_cut_names_the_byte) {
    error e = {0};
    char bytes[600] = "OUROLIVE";
    CHECK(!read_bytes(NULL, bytes, sizeof bytes, &as_asked, &e));
    CHECK_TEXT(e.message, "byte 12: damaged: no byte order");
    CHECK_EQUAL(e.offset, 12);
}

static void write_file(const char *path, const void *bytes, size_t size) {
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, size, f) != size || fclose(f)) abort();
}

static void check_file_error(const char *name, const void *bytes, size_t size,
                             const char *message) {
    error e = {0};
    char *path = strdup(test_path(name));
    write_file(path, bytes, size);
    CHECK(!ouro__profile_read(path, NULL, &as_asked, &e));
    CHECK_TEXT(e.message, message);
    free(path);
}

TEST(files_that_are_no_profiles_have_a_sentence_each) {
    error e = {0};
    check_file_error("empty", "", 0, "the file is empty");
    check_file_error("elf", "\177ELF\2\1\1", 7,
                     "an executable (ELF), not a profile; to make one, run it under a profiler");
    check_file_error(
        "perf.data", "PERFILE2xxxx", 12,
        "perf.data as perf record writes it; try: perf script -i FILE | ouro report -");
    check_file_error("random", "\xff\xfe\x01\x02", 4,
                     "not a profile of a known kind; it begins with \\xff\\xfe\\x01\\x02 (--from "
                     "says which kind it is)");
    char zeros[100000] = {0};
    check_file_error("zeros", zeros, sizeof zeros,
                     "nothing but zeros at the beginning: this is no profile");
    char *folder = strdup(test_path("x"));
    *strrchr(folder, '/') = '\0';
    CHECK(!ouro__profile_read(folder, NULL, &as_asked, &e));
    CHECK_TEXT(e.message, "a directory; a profile is a file");
    free(folder);
    CHECK(!ouro__profile_read(test_path("nowhere"), NULL, &as_asked, &e));
    CHECK_TEXT(e.message, "cannot open: No such file or directory");
}

TEST(a_gzip_file_that_is_cut_or_damaged_says_so) {
    error e = {0};
    profile *p = random_profile(1);
    char *path = strdup(test_path("cut.pb.gz"));
    CHECK(ouro__profile_write(p, path, ouro__format_named("pprof"), &(write_options){0}, &e));
    ouro__profile_free(p);
    struct stat info;
    stat(path, &info);
    CHECK(truncate(path, info.st_size / 2) == 0);
    CHECK(!ouro__profile_read(path, NULL, &as_asked, &e));
    CHECK(strstr(e.message, ": the gzip data ends in the middle; is the file cut off?"));
    CHECK_EQUAL(e.offset, info.st_size / 2);
    check_file_error("broken.gz", "\x1f\x8b\x08\0\0\0\0\0\0\3\xff\xff\xff\xff", 14,
                     "byte 11: damaged gzip data: invalid block type");
    free(path);
}

// One of everything, with and without values.
static char *written_json(bool spread) {
    json_writer w = {.out = ouro__output_memory(), .spread = spread};
    ouro__write_object(&w, NULL);
    ouro__write_text(&w, "text", "a\"\n");
    ouro__write_text(&w, "none", NULL);
    ouro__write_object(&w, "empty");
    ouro__write_end(&w);
    ouro__write_array(&w, "array");
    ouro__write_integer(&w, NULL, INT64_MIN);
    ouro__write_bool(&w, NULL, true);
    ouro__write_number(&w, NULL, "1.25");
    ouro__write_end(&w);
    ouro__write_rows(&w, "rows");
    ouro__write_array(&w, NULL);
    ouro__write_end(&w);
    ouro__write_null(&w, NULL);
    ouro__write_end(&w);
    ouro__write_integer(&w, "last", 0);
    ouro__write_end(&w);
    size_t size;
    return ouro__output_take(w.out, &size, NULL);
}

TEST(json_has_commas_between_values_and_nowhere_else) {
    char *plain_rows = written_json(false), *spread_rows = written_json(true);
    CHECK_TEXT(plain_rows, "{\"text\":\"a\\\"\\u000a\",\"none\":null,\"empty\":{},\"array\":"
                           "[-9223372036854775808,true,1.25],\"rows\":[[],\nnull],\"last\":0}");
    CHECK_TEXT(spread_rows, "{\"text\":\"a\\\"\\u000a\",\"none\":null,\"empty\":{},\"array\":"
                            "[-9223372036854775808,true,1.25],\"rows\":[\n[],\nnull],\"last\":0}");
    free(plain_rows);
    free(spread_rows);
}

TEST(an_output_whose_writer_ran_out_of_memory_gives_no_bytes) {
    output *out = ouro__output_memory();
    size_t size;
    error e = {0};
    ouro__put_text(out, "half");
    ouro__output_fail_memory(out);
    CHECK(!ouro__output_take(out, &size, &e));
    CHECK_EQUAL(e.code, ENOMEM);
}

TEST(an_output_that_fails_leaves_what_stood_there) {
    error e = {0};
    char *path = strdup(test_path("kept.txt"));
    write_file(path, "old", 3);
    output *out = ouro__output_open(path, false, &e);
    ouro__put_text(out, "new");
    ouro__output_close(out, false, NULL);
    char text[8] = "";
    FILE *f = fopen(path, "r");
    CHECK(fread(text, 1, 7, f) == 3);
    fclose(f);
    CHECK_TEXT(text, "old");
    free(path);
}

TEST(extensions_name_formats_the_longest_first) {
    CHECK_TEXT(ouro__format_of_path("x.speedscope.json")->name, "speedscope");
    CHECK_TEXT(ouro__format_of_path("x.json")->name, "json");
    CHECK_TEXT(ouro__format_of_path("x.pb.gz")->name, "pprof");
    CHECK_TEXT(ouro__format_of_path("x.svg.gz")->name, "svg");
    CHECK_TEXT(ouro__format_of_path("callgrind.out")->name, "callgrind");
    CHECK_TEXT(ouro__format_of_path("a.pb/callgrind.out.1234")->name, "callgrind");
    CHECK(!ouro__format_of_path("callgrind.outer"));
    CHECK(!ouro__format_of_path(".gz"));
    CHECK(!ouro__format_of_path("x.gz"));
    CHECK(!ouro__format_of_path("x.cpuprofile"));
}
