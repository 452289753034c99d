// SPDX-License-Identifier: MIT
//
// What agents send, without sockets: names, forms, messages, texts, times, and what is damaged.

#include "posted.h"
#include "questions.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static piece piece_of(const char *text) {
    return (piece){(const unsigned char *)text, strlen(text)};
}

// ---------------------------------------------------------------- names

// "service=web host=a1", in the order of names.
static const char *labels_text(const label_set *l) {
    static char text[20000];
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < l->count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s=%s", i ? " " : "",
                                 l->items[i].name, l->items[i].value);
    return text;
}

static void check_name(const char *name, const char *labels, const char *type) {
    error e = {0};
    label_set l;
    profile_type found;
    if (!CHECK(ouro__app_name_parse(name, &l, &found, &e))) {
        fprintf(stderr, "%s: %s\n", name, e.message);
        return;
    }
    CHECK_TEXT(labels_text(&l), labels);
    CHECK_TEXT(found.name ? found.name : "", type);
    ouro__label_set_free(&l);
}

TEST(names_of_applications_are_labels_and_a_type) {
    check_name("web", "service=web", "");
    check_name("web.cpu", "service=web", "cpu");
    check_name(" shop.web.alloc_space ", "service=shop.web", "alloc_space");
    check_name("shop.web", "service=shop.web", "");
    check_name(".cpu", "service=.cpu", "");
    check_name("web{}", "service=web", "");
    check_name("web.wall{ host = a1 ,zone=b=c, }", "host=a1 service=web zone=b=c", "wall");
    check_name("web{zone=\"b, c}\\\"\",x=\" y \"}", "service=web x= y  zone=b, c}\"", "");
    check_name("web{a=\"\\\"q\"}", "a=\"q service=web", "");
    check_name("web{__session_id__=1,__name__=cpu,empty=,k=v}", "k=v service=web", "");
    check_name("web{service_name=shop}", "service=shop", "");
    check_name("{service_name=shop}", "service=shop", "");
    check_name("web{hostname=a1}", "host=a1 hostname=a1 service=web", "");
    check_name("web{host=a2,hostname=a1}", "host=a2 hostname=a1 service=web", "");
    check_name("web{k=v,k=w}", "k=w service=web", "");
    check_name("web{name=\303\274,\303\244=1}", "name=\303\274 service=web \303\244=1", "");
}

TEST(names_that_make_no_sense_are_refused) {
    static const char *const wrong[] = {"",
                                        "{}",
                                        " ",
                                        ".x{a",
                                        "web{",
                                        "web{a}",
                                        "web{a=",
                                        "web{a=b",
                                        "web{=b}",
                                        "web{a=\"b}",
                                        "web{a=b}x",
                                        "web{a=\"b\"c}",
                                        "web{since=1h}",
                                        "web{until=now}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        error e = {0};
        label_set l;
        profile_type type;
        if (!CHECK(!ouro__app_name_parse(wrong[i], &l, &type, &e)))
            fprintf(stderr, "%s\n", wrong[i]);
        CHECK(e.code == EINVAL && e.message[0]);
        CHECK(l.count == 0 && !l.items);
    }
}

TEST(labels_are_bounded) {
    char *text = malloc(200000);
    size_t used = (size_t)sprintf(text, "web{");
    error e = {0};
    label_set l;
    profile_type type;
    for (int i = 0; i <= LABELS_MOST; i++) used += (size_t)sprintf(text + used, "l%d=1,", i);
    strcpy(text + used, "}");
    CHECK(!ouro__app_name_parse(text, &l, &type, &e));
    CHECK_TEXT(e.message, "a profile has more than 64 labels");
    used = (size_t)sprintf(text, "web{k=");
    memset(text + used, 'x', LABEL_LONGEST + 1);
    strcpy(text + used + LABEL_LONGEST + 1, "}");
    CHECK(!ouro__app_name_parse(text, &l, &type, &e));
    CHECK_TEXT(e.message, "a label of more than 4096 bytes");
    strcpy(text + used + LABEL_LONGEST, "}");
    CHECK(ouro__app_name_parse(text, &l, &type, &e));
    ouro__label_set_free(&l);
    free(text);
}

// ---------------------------------------------------------------- forms

static const char form_type[] = "multipart/form-data; charset=x; boundary=\"b0\"";
#define PART(name, text)                                                   \
    "--b0\r\ncontent-disposition: form-data; filename=\"x\"; name=\"" name \
    "\"\r\nX: y\r\n\r\n" text "\r\n"

TEST(parts_of_a_form_are_found) {
    static const char body[] = "preamble\r\n" PART("one", "a\r\n--b\r\n") PART(
        "two",
        "") "--b0\r\nContent-Disposition: form-data; name=three\r\n\r\nc\r\n--b0--\r\nepilogue";
    static const char *const want[][2] = {{"one", "a\r\n--b\r\n"}, {"two", ""}, {"three", "c"}};
    error e = {0};
    multipart m;
    part p;
    CHECK(ouro__is_multipart(form_type) && !ouro__is_multipart("text/plain"));
    CHECK(!ouro__is_multipart(NULL));
    if (!CHECK(ouro__multipart_open(&m, form_type, piece_of(body), &e))) return;
    for (size_t i = 0; i < 3; i++) {
        if (!CHECK(ouro__multipart_next(&m, &p, &e))) return;
        CHECK_TEXT(p.name, want[i][0]);
        CHECK(p.content.size == strlen(want[i][1]) &&
              memcmp(p.content.bytes, want[i][1], p.content.size) == 0);
    }
    CHECK(!ouro__multipart_next(&m, &p, &e) && !e.code);
}

TEST(forms_that_are_damaged_are_refused) {
    static const char *const types[] = {"multipart/form-data", "multipart/form-data; boundary=",
                                        "multipart/form-data; boundary=\"\""};
    static const char *const bodies[] = {
        "", "b0", "--b", "--b0", "--b0\r\n", PART("profile", "x"), "--b0\r\nX: y\r\n--b0--"};
    error e = {0};
    multipart m;
    part p;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        CHECK(!ouro__multipart_open(&m, types[i], piece_of("--\r\n"), &e));
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        e = (error){0};
        bool ok = ouro__multipart_open(&m, form_type, piece_of(bodies[i]), &e);
        while (ok && ouro__multipart_next(&m, &p, &e)) {
        }
        if (!CHECK(e.code == EILSEQ)) fprintf(stderr, "%zu\n", i);
    }
}

// ---------------------------------------------------------------- requests

typedef struct {
    char text[4000]; // of all deliveries
    key recording;
    uint64_t from, until;
    unsigned count;
} taken;

// "LABELS: METRIC UNIT VALUE PATH..."
static bool note(void *user, delivery *d, error *e) {
    taken *t = user;
    const profile *p = d->profile;
    size_t used = strlen(t->text);
    (void)e;
    t->recording = d->recording;
    t->from = d->from;
    t->until = d->until;
    t->count++;
    used += (size_t)snprintf(t->text + used, sizeof t->text - used, "%s:", labels_text(&d->labels));
    for (uint32_t m = 0; m < p->metric_count; m++) {
        used += (size_t)snprintf(t->text + used, sizeof t->text - used, " %s %s",
                                 ouro__metric_name(p, m), ouro__metric_unit(p, m));
        for (uint32_t n = 1; n < p->node_count; n++) {
            if (p->values[m][n])
                used +=
                    (size_t)snprintf(t->text + used, sizeof t->text - used, " %s=%lld",
                                     ouro__block_name(p, p->block[n]), (long long)p->values[m][n]);
        }
    }
    return CHECK(ouro__profile_is_valid(p));
}

static bool read_posted(const char *target, const char *type, piece body, taken *t, error *e) {
    posted p = {.target = target,
                .content_type = type,
                .body = body,
                .host = "peer",
                .now = 1800000000123,
                .limit = 64 << 20};
    *t = (taken){0};
    *e = (error){0};
    return ouro__posted_read(&p, note, t, e);
}

static void check_posted(const char *target, const char *body, const char *want) {
    taken t;
    error e;
    if (!CHECK(read_posted(target, NULL, piece_of(body), &t, &e)))
        fprintf(stderr, "%s: %s\n", target, e.message);
    CHECK_TEXT(t.text, want);
}

TEST(texts_become_times_or_counts_by_name_and_units) {
    check_posted("/ingest?name=web", "main;f 3\n",
                 "host=peer service=web: cpu nanoseconds f=30000000");
    check_posted("/ingest?name=web.wall&sampleRate=1000&format=folded", "main;f 3\n",
                 "host=peer service=web: wall nanoseconds f=3000000");
    check_posted("/ingest?name=web.cpu&sampleRate=x&spyName=rbspy", "main;f 3\n",
                 "host=peer service=web spy=rbspy: cpu nanoseconds f=30000000");
    check_posted("/ingest?name=web.alloc_space&units=bytes", "main;f 3\n",
                 "host=peer service=web: alloc_space bytes f=3");
    check_posted("/ingest?name=web&units=objects", "main;f 3\n",
                 "host=peer service=web: objects count f=3");
    check_posted("/ingest?name=web&units=lock_nanoseconds", "f 3\n",
                 "host=peer service=web: lock_nanoseconds nanoseconds f=3");
    check_posted("/ingest?name=web%7Bhost%3Da1%7D", "f 3\n",
                 "host=a1 service=web: cpu nanoseconds f=30000000");
    check_posted("/ingest?name=web&format=lines", "main;f\r\n\nmain;f\nmain;g",
                 "host=peer service=web: cpu nanoseconds f=20000000 g=10000000");
    check_posted("/ingest?name=web", "", "host=peer service=web: cpu nanoseconds");
}

TEST(recursion_is_compacted_as_everywhere) {
    check_posted("/ingest?name=web", "main;f;g;f;g;f;g 3\nmain;f;g;f;g 1\n",
                 "host=peer service=web: cpu nanoseconds g=40000000");
}

TEST(times_are_those_of_the_request) {
    static const struct {
        const char *target;
        uint64_t from, until;
    } known[] = {
        {"/ingest?name=a&from=1700000000&until=1700000010", 1700000000000, 1700000010000},
        {"/ingest?name=a&from=1700000000500&until=1700000010", 1700000000500, 1700000010000},
        {"/ingest?name=a&from=1700000000000000&until=1700000010000000000", 1700000000000,
         1700000010000},
        {"/ingest?name=a&until=1700000010", 1700000010000, 1700000010000},
        {"/ingest?name=a", 1800000000123, 1800000000123},
        {"/ingest?name=a&from=1900000000", 1900000000000, 1900000000000}};
    taken t;
    error e;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        CHECK(read_posted(known[i].target, NULL, piece_of("f 1\n"), &t, &e));
        CHECK_EQUAL(t.from, known[i].from);
        CHECK_EQUAL(t.until, known[i].until);
    }
}

TEST(what_is_sent_again_has_the_same_id_and_what_differs_another) {
    static const char *const targets[] = {"/ingest?name=a&from=1700000000&until=1700000010",
                                          "/ingest?name=b&from=1700000000&until=1700000010",
                                          "/ingest?name=a&from=1700000001&until=1700000010",
                                          "/ingest?name=a&from=1700000000&until=1700000011"};
    taken first, t;
    error e;
    CHECK(read_posted(targets[0], NULL, piece_of("f 1\n"), &first, &e));
    CHECK(read_posted(targets[0], NULL, piece_of("f 1\n"), &t, &e));
    CHECK(memcmp(&first.recording, &t.recording, sizeof t.recording) == 0);
    CHECK(read_posted(targets[0], NULL, piece_of("f 2\n"), &t, &e));
    CHECK(memcmp(&first.recording, &t.recording, sizeof t.recording) != 0);
    for (size_t i = 1; i < 4; i++) {
        CHECK(read_posted(targets[i], NULL, piece_of("f 1\n"), &t, &e));
        CHECK(memcmp(&first.recording, &t.recording, sizeof t.recording) != 0);
    }
}

TEST(what_is_wrong_is_refused_with_a_sentence) {
    static const struct {
        const char *target, *type, *body;
        int code;
    } wrong[] = {
        {"/", NULL, "f 1\n", ENOENT},
        {"/ingest", NULL, "f 1\n", EINVAL},
        {"ingest?name=a", NULL, "f 1\n", EINVAL},
        {"/ingest?name=%zz", NULL, "f 1\n", EINVAL},
        {"/ingest?name=%ff", NULL, "f 1\n", EINVAL},
        {"/ingest?name=a%00b", NULL, "f 1\n", EINVAL},
        {"/ingest?name=a&from=x", NULL, "f 1\n", EINVAL},
        {"/ingest?name=a&from=-1", NULL, "f 1\n", EINVAL},
        {"/ingest?name=a&until=99999999999", NULL, "f 1\n", EINVAL},
        {"/ingest?name=a&from=99999999999999999999", NULL, "f 1\n", EINVAL},
        {"/ingest?name=a&from=2&until=1", NULL, "f 1\n", EINVAL},
        {"/ingest?name=a&format=trie", NULL, "f 1\n", ENOTSUP},
        {"/ingest?name=a&format=jfr", NULL, "f 1\n", ENOTSUP},
        {"/ingest?name=a&format=pprof", NULL, "f 1\n", EILSEQ},
        {"/ingest?name=a&format=speedscope", NULL, "f 1\n", EILSEQ},
        {"/ingest?name=a", NULL, "f\n", EILSEQ},
        {"/ingest?name=a", NULL, "f 1 2\ng 1 2\n", EILSEQ},
        {"/ingest?name=a", NULL, "f 9000000000000000000\n", EINVAL},
        {"/ingest?name=a", NULL, "\x1f\x8b\x08 no gzip", EILSEQ},
        {"/ingest?name=a", form_type, "f 1\n", EILSEQ},
        {"/ingest?name=a", form_type, PART("other", "f 1\n") "--b0--", EINVAL},
        {"/ingest?name=a", form_type, PART("profile", "f 1\n") PART("profile", "f 1\n") "--b0--",
         EINVAL},
        {"/ingest?name=a", form_type, PART("profile", "f 1\n") PART("prev_profile", "f\n") "--b0--",
         EILSEQ},
        {"/ingest?name=a", form_type,
         PART("profile", "f 1\n") PART("prev_profile", "f 1\n")
             PART("sample_type_config", "{") "--b0--",
         EILSEQ},
        {"/push.v1.PusherService/Push", NULL, "f 1\n", EILSEQ},
        {"/push.v1.PusherService/Push", "application/json", "{}", ENOTSUP},
        {"/push.v1.PusherService/Push", NULL, "\x0a\x00", EINVAL},
        {"/push.v1.PusherService/Push", NULL, "\x0a\x7f", EILSEQ},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        taken t;
        error e;
        bool zero = strcmp(wrong[i].body, "\x0a") == 0;
        piece body = {(const unsigned char *)wrong[i].body, strlen(wrong[i].body) + zero};
        if (!CHECK(!read_posted(wrong[i].target, wrong[i].type, body, &t, &e)) ||
            !CHECK(e.code == wrong[i].code && e.message[0] && t.count == 0))
            fprintf(stderr, "%zu: %d %s\n", i, e.code, e.message);
    }
}

// ---------------------------------------------------------------- pprof

// A profile with two sample types, alloc_space and inuse_space, and one path, f.
static size_t make_pprof(unsigned char *to, unsigned char alloc, unsigned char inuse) {
    static const unsigned char fixed[] = {
        0x0a, 4,    8,    1,   16,  3,   0x0a, 4,   8,   2,    16,  3, // sample types
        0x22, 6,    8,    1,   34,  2,   8,    1,                      // a location
        0x2a, 4,    8,    1,   16,  4,                                 // a function
        0x32, 0,                                                       // strings
        0x32, 11,   'a',  'l', 'l', 'o', 'c',  '_', 's', 'p',  'a', 'c',
        'e',  0x32, 11,   'i', 'n', 'u', 's',  'e', '_', 's',  'p', 'a',
        'c',  'e',  0x32, 5,   'b', 'y', 't',  'e', 's', 0x32, 1,   'f'};
    const unsigned char sample[] = {0x12, 7, 10, 1, 1, 18, 2, alloc, inuse};
    memcpy(to, fixed, sizeof fixed);
    memcpy(to + sizeof fixed, sample, sizeof sample);
    return sizeof fixed + sizeof sample;
}

static size_t put_part(char *to, const char *name, const void *content, size_t size) {
    size_t n =
        (size_t)sprintf(to, "--b0\r\nContent-Disposition: form-data; name=\"%s\"\r\n\r\n", name);
    memcpy(to + n, content, size);
    memcpy(to + n + size, "\r\n", 2);
    return n + size + 2;
}

TEST(what_counts_since_the_start_is_counted_since_the_profile_before) {
    static const char *const configs[] = {
        "", "{\"inuse_space\":{\"cumulative\":true},\"alloc_space\":{\"cumulative\":false}}"};
    static const char *const want[] = {
        "host=peer service=web: alloc_space bytes f=60 inuse_space bytes f=50",
        "host=peer service=web: alloc_space bytes f=100 inuse_space bytes f=20"};
    unsigned char now[200], before[200];
    size_t now_size = make_pprof(now, 100, 50), before_size = make_pprof(before, 40, 30);
    for (size_t i = 0; i < 2; i++) {
        char body[2000];
        taken t;
        error e;
        size_t n = put_part(body, "profile", now, now_size);
        n += put_part(body + n, "prev_profile", before, before_size);
        if (*configs[i])
            n += put_part(body + n, "sample_type_config", configs[i], strlen(configs[i]));
        n += (size_t)sprintf(body + n, "--b0--\r\n");
        if (!CHECK(read_posted("/ingest?name=web", form_type, (piece){(unsigned char *)body, n}, &t,
                               &e)))
            fprintf(stderr, "%s\n", e.message);
        CHECK_TEXT(t.text, want[i]);
    }
}

static size_t put_field(unsigned char *to, unsigned char number, const void *bytes, size_t size) {
    to[0] = (unsigned char)(number << 3 | 2);
    to[1] = (unsigned char)(size & 127) | 128;
    to[2] = (unsigned char)(size >> 7);
    memcpy(to + 3, bytes, size);
    return size + 3;
}

static size_t put_label(unsigned char *to, const char *name, const char *value) {
    unsigned char pair[200];
    size_t n = put_field(pair, 1, name, strlen(name));
    n += put_field(pair + n, 2, value, strlen(value));
    return put_field(to, 1, pair, n);
}

TEST(profiles_of_a_message_are_taken_with_the_labels_of_their_series) {
    unsigned char raw[200], sample[300], series[1500], body[4000];
    size_t size = 0;
    for (int i = 0; i < 2; i++) {
        size_t sample_size = put_field(sample, 1, raw, make_pprof(raw, (unsigned char)(10 + i), 0));
        size_t n = put_field(series, 2, sample, sample_size); // labels may come later
        n += put_label(series + n, "service_name", i ? "db" : "web");
        n += put_label(series + n, "__name__", "memory");
        n += put_label(series + n, "pyroscope_spy", "x");
        size += put_field(body + size, 1, series, n);
    }
    taken t;
    error e;
    if (!CHECK(read_posted("/push.v1.PusherService/Push", "application/proto", (piece){body, size},
                           &t, &e)))
        fprintf(stderr, "%s\n", e.message);
    CHECK_EQUAL(t.count, 2);
    CHECK_TEXT(t.text, "host=peer service=web spy=x: alloc_space bytes f=10 inuse_space bytes"
                       "host=peer service=db spy=x: alloc_space bytes f=11 inuse_space bytes");
}

static bool count_one(void *user, delivery *d, error *e) {
    (void)d, (void)e;
    ++*(unsigned *)user;
    return true;
}

TEST(a_message_has_a_thousand_profiles_at_most) {
    unsigned char raw[200], sample[300], series[600], *body = malloc(400000);
    size_t size = 0, n = put_label(series, "service_name", "web");
    unsigned count = 0;
    error e = {0};
    size_t sample_size = put_field(sample, 1, raw, make_pprof(raw, 1, 1));
    n += put_field(series + n, 2, sample, sample_size);
    for (int i = 0; i < PROFILES_MOST; i++) size += put_field(body + size, 1, series, n);
    posted p = {.target = "/push.v1.PusherService/Push",
                .body = {body, size},
                .host = "h",
                .now = 1,
                .limit = 1 << 24};
    CHECK(ouro__posted_read(&p, count_one, &count, &e));
    CHECK_EQUAL(count, PROFILES_MOST);
    memcpy(body + size, body, size / PROFILES_MOST);
    p.body.size += size / PROFILES_MOST;
    CHECK(!ouro__posted_read(&p, count_one, &count, &e) && e.code == EFBIG);
    CHECK_TEXT(e.message, "a message of more than 1000 profiles");
    free(body);
}

// The time of the profile, unless it is none.
TEST(a_profile_without_times_in_the_request_has_its_own) {
    static const struct {
        uint64_t nanoseconds, from;
    } known[] = {{1700000000000000000, 1700000000000}, {1700000000000000, 1800000000123}};
    for (size_t i = 0; i < 2; i++) {
        unsigned char raw[200];
        size_t n = make_pprof(raw, 1, 1);
        raw[n++] = 9 << 3;
        for (uint64_t left = known[i].nanoseconds; left || raw[n - 1] == 9 << 3; left >>= 7)
            raw[n++] = (unsigned char)(left & 127) | (left > 127 ? 128 : 0);
        taken t;
        error e;
        CHECK(read_posted("/ingest?name=a&format=pprof", NULL, (piece){raw, n}, &t, &e));
        CHECK_EQUAL(t.from, known[i].from);
        CHECK_EQUAL(t.until, known[i].from);
    }
}

// Cut anywhere, or with any byte changed: taken or refused with a sentence.
TEST(noise_in_a_form_is_refused_or_taken) {
    unsigned char now[200];
    char whole[1000];
    size_t n = put_part(whole, "profile", now, make_pprof(now, 100, 50));
    n += (size_t)sprintf(whole + n, "--b0--\r\n");
    for (int i = 0; i < 3000; i++) {
        unsigned char *body = malloc(n + 1); // of its own, so that reading behind it is noticed
        size_t size = i % 2 ? n : random_below((uint32_t)n);
        memcpy(body, whole, size);
        for (uint32_t j = random_below(4); size && j > 0; j--)
            body[random_below((uint32_t)size)] = (unsigned char)random_next();
        taken t;
        error e;
        bool ok = read_posted("/ingest?name=a", form_type, (piece){body, size}, &t, &e);
        CHECK(ok || e.message[0]);
        free(body);
    }
}
