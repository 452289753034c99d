// SPDX-License-Identifier: MIT
//
// The store in a file: keys as Python's hashlib makes them, choices, and random slices against a
// naive model, a list of all samples that were ever put.

#include "builder.h"
#include "format.h"
#include "questions.h"
#include "sha256.h"
#include "store.h"
#include "test.h"

#include <errno.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// ---------------------------------------------------------------- keys

static const char *hex(const unsigned char *bytes, size_t size) {
    static char text[80];
    for (size_t i = 0; i < size; i++) sprintf(text + 2 * i, "%02x", bytes[i]);
    return text;
}

TEST(sha_256_is_that_of_the_standard) {
    static const struct {
        const char *text;
        int times;
        const char *digest;
    } known[] = {
        {"", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"aaaaaaaaaa", 100000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        unsigned char digest[32];
        sha256 s;
        ouro__sha256_init(&s);
        for (int t = 0; t < known[i].times; t++)
            ouro__sha256_add(&s, known[i].text, strlen(known[i].text));
        ouro__sha256_end(&s, digest);
        CHECK_TEXT(hex(digest, 32), known[i].digest);
    }
}

// The same as in docs/fleet.md, made by hashlib.
TEST(keys_are_those_that_the_documents_define) {
    key main = ouro__block_key("main", "src/main.c", 12, 5), f = ouro__block_key("f", "", 0, 0);
    key odd = ouro__block_key("na\303\257ve()", "a b/\303\274.x", UINT32_MAX, 1);
    CHECK_TEXT(hex(main.bytes, 16), "d16757e4b2da69e48a90ab9d63c892a5");
    CHECK_TEXT(hex(f.bytes, 16), "6b0054db111e4ff908cbc6d989437af4");
    CHECK_TEXT(hex(odd.bytes, 16), "2f94a3b40780f0074d006ba95f3c4777");
    key first = ouro__node_key((key){{0}}, main), second = ouro__node_key(first, f);
    CHECK_TEXT(hex(first.bytes, 16), "31cd1c668f31ecfd90952cf0ec659bbd");
    CHECK_TEXT(hex(second.bytes, 16), "4eab7a47f064bcb1690b57d906b40766");
    CHECK_TEXT(hex(ouro__node_key(second, f).bytes, 16), "4f952d9b101a9a72c4c48e189a9cf736");
}

TEST(files_are_named_relative_to_the_root) {
    CHECK_TEXT(ouro__relative_file("/home/a/web/src/x.c", "/home/a/web"), "src/x.c");
    CHECK_TEXT(ouro__relative_file("/home/a/web/src/x.c", "/home/a/web/"), "src/x.c");
    CHECK_TEXT(ouro__relative_file("/home/a/web//x.c", "/home/a/web"), "x.c");
    CHECK_TEXT(ouro__relative_file("/home/a/web2/x.c", "/home/a/web"), "/home/a/web2/x.c");
    CHECK_TEXT(ouro__relative_file("/usr/x.c", "/home"), "/usr/x.c");
    CHECK_TEXT(ouro__relative_file("x.c", NULL), "x.c");
    CHECK_TEXT(ouro__relative_file("/home", "/home"), "/home");
}

// ---------------------------------------------------------------- where

// A new store: a file, or what OURO_TEST_STORE says, with a name in the place of {}.
static const char *place(const char *name) {
    static char url[300];
    const char *pattern = getenv("OURO_TEST_STORE"), *mark = pattern ? strstr(pattern, "{}") : NULL;
    snprintf(url, sizeof url, "%s.db", name);
    if (!mark) return test_path(url);
    snprintf(url, sizeof url, "%.*sunit_%d_%s%s", (int)(mark - pattern), pattern, (int)getpid(),
             name, mark + 2);
    return url;
}

// ---------------------------------------------------------------- choices

#define NOW UINT64_C(1794800000000)

static bool chosen(const char *where, const char *service, const char *host, uint64_t until) {
    choice c;
    error e = {0};
    label_set l = {0};
    if (!CHECK(ouro__choice_parse(where, NOW, &c, &e))) return false;
    if (service) ouro__label_set_put(&l, "service", service);
    if (host) ouro__label_set_put(&l, "host", host);
    bool holds = ouro__choice_holds(&c, &l, until);
    ouro__choice_free(&c);
    ouro__label_set_free(&l);
    return holds;
}

TEST(a_choice_is_labels_with_patterns_and_a_stretch_of_time) {
    CHECK(chosen("", "web", "a", NOW));
    CHECK(chosen("  service=web  ", "web", NULL, NOW));
    CHECK(!chosen("service=web", "web2", NULL, NOW) && !chosen("service=web", NULL, NULL, NOW));
    CHECK(chosen("service=db,web", "web", NULL, NOW) && !chosen("service=db,w", "web", NULL, NOW));
    CHECK(chosen("service=w*b host=*", "web", "x", NOW) && !chosen("host=*", "web", NULL, NOW));
    CHECK(chosen("host!=a*", "web", "b1", NOW) && !chosen("host!=a*", "web", "a1", NOW));
    CHECK(chosen("host!=a*", "web", NULL, NOW));
    CHECK(chosen("service=w\\*b", "w*b", NULL, NOW) && !chosen("service=w\\*b", "web", NULL, NOW));
    CHECK(chosen("service=\"a b, c\"", "a b, c", NULL, NOW));
    CHECK(chosen("service=a\\ b", "a b", NULL, NOW) && chosen("service=", "", NULL, NOW));
    CHECK(chosen("service=*a*b*", "xaxbx", NULL, NOW) && !chosen("service=*a*b", "ba", NULL, NOW));
    CHECK(chosen("since=2h", NULL, NULL, NOW - 7199999) &&
          !chosen("since=2h", NULL, NULL, NOW - 7200000));
    CHECK(chosen("until=now", NULL, NULL, NOW) && !chosen("until=now", NULL, NULL, NOW + 1));
    CHECK(chosen("since=2026-11-15 until=2026-11-15T00:01:30Z", NULL, NULL, 1794700890000));
    CHECK(!chosen("since=2026-11-15 until=2026-11-15T00:01:30", NULL, NULL, 1794700890001));
    CHECK(chosen("since=1794700000", NULL, NULL, 1794700000001));
}

TEST(a_choice_that_makes_no_sense_is_an_error_in_words) {
    static const char *const wrong[] = {
        "service",     "=x",        "a b=c",           "since=yesterday",
        "since=1h,2h", "since!=1h", "service=\"a",     "since=1h until=2h",
        "since=",      "since=-1h", "since=2026-13-45"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        choice c;
        error e = {0};
        CHECK(!ouro__choice_parse(wrong[i], NOW, &c, &e));
        CHECK(e.message[0]);
    }
}

// ---------------------------------------------------------------- random slices

enum { LETTERS = 5, DEEPEST = 6, PATHS = 40, SLICES_MOST = 30, METRICS = 2 };

// A server takes ten times as long for a slice as a file.
static int slice_count(void) { return getenv("OURO_TEST_STORE") ? SLICES_MOST / 3 : SLICES_MOST; }

typedef struct {
    char path[DEEPEST + 1]; // a letter per block
    int64_t values[METRICS];
} sample;

typedef struct {
    char service, host;
    uint64_t until;
    sample samples[PATHS];
} put_slice;

static profile *profile_of(const sample *samples, int count) {
    error e = {0};
    profile *p = ouro__profile_new();
    ouro__profile_add_metric(p, "calls", "count");
    ouro__profile_add_metric(p, "time", "nanoseconds");
    builder *b = ouro__builder_new(p, RULE_AS_IT_IS, 0);
    for (int i = 0; i < count; i++) {
        uint32_t at = 0;
        for (const char *c = samples[i].path; *c; c++) {
            char name[2] = {*c, '\0'}, file[8];
            snprintf(file, sizeof file, "%c.x", *c);
            block_info info = {ouro__profile_add_text(p, name), ouro__profile_add_text(p, file),
                               (uint32_t)*c, 1};
            at = ouro__builder_enter(b, at, ouro__profile_add_block(p, &info));
        }
        for (uint32_t m = 0; m < METRICS; m++) ouro__charge(p, m, at, samples[i].values[m]);
    }
    ouro__builder_free(b);
    CHECK(ouro__profile_finish(p, &e));
    return p;
}

static put_slice random_slice(void) {
    put_slice s = {.service = (char)('p' + random_below(3)),
                   .host = (char)('a' + random_below(3)),
                   .until = NOW - random_below(100)};
    for (int i = 0; i < PATHS; i++) {
        int length = 1 + (int)random_below(DEEPEST);
        for (int c = 0; c < length; c++) s.samples[i].path[c] = (char)('A' + random_below(LETTERS));
        s.samples[i].values[0] = random_below(1000);
        s.samples[i].values[1] = (int64_t)(random_next() >> 20);
    }
    return s;
}

static bool put(store *to, const put_slice *s, bool *known) {
    error e = {0};
    label_set l = {0};
    char service[2] = {s->service, '\0'}, host[2] = {s->host, '\0'};
    ouro__label_set_put(&l, "service", service);
    ouro__label_set_put(&l, "host", host);
    profile *p = profile_of(s->samples, PATHS);
    p->start_time = (s->until - 10) * 1000000;
    p->duration = 10 * 1000000;
    pushed done;
    bool ok = ouro__store_push(to, p, &(push_options){.labels = &l}, &done, &e);
    CHECK_TEXT(e.message, "");
    *known = done.known;
    ouro__profile_free(p);
    ouro__label_set_free(&l);
    return ok;
}

// The path of a node in letters.
static void path_of(const profile *p, uint32_t n, char *to) {
    uint32_t length = 0;
    for (uint32_t up = n; up; up = p->parent[up]) length++;
    to[length] = '\0';
    for (; n; n = p->parent[n]) to[--length] = ouro__block_name(p, p->block[n])[0];
}

// What the model says of a path.
static int64_t expected(const put_slice *all, const char *path, char service, char host, int m) {
    int64_t sum = 0;
    for (int i = 0; i < slice_count(); i++) {
        if ((service && all[i].service != service) || (host && all[i].host == host)) continue;
        for (int s = 0; s < PATHS; s++) {
            if (strcmp(all[i].samples[s].path, path) == 0) sum += all[i].samples[s].values[m];
        }
    }
    return sum;
}

static int64_t expected_total(const put_slice *all, char service, char host, int m) {
    int64_t sum = 0;
    for (int i = 0; i < slice_count(); i++) {
        if ((service && all[i].service != service) || (host && all[i].host == host)) continue;
        for (int s = 0; s < PATHS; s++) sum += all[i].samples[s].values[m];
    }
    return sum;
}

static profile *ask(store *s, const char *where, uint32_t paths_most) {
    choice c;
    error e = {0};
    CHECK(ouro__choice_parse(where, NOW, &c, &e));
    c.paths_most = paths_most;
    profile *p = ouro__store_ask(s, &c, &e);
    CHECK_TEXT(e.message, "");
    ouro__choice_free(&c);
    return p;
}

static void check_choice(store *s, const put_slice *all, char service, char host) {
    char where[40] = "", path[DEEPEST + 2];
    if (service) snprintf(where, sizeof where, "service=%c ", service);
    if (host) snprintf(where + strlen(where), 20, "host!=%c", host);
    profile *p = ask(s, where, 0);
    if (!CHECK(p != NULL)) return;
    for (int m = 0; m < METRICS; m++)
        CHECK_EQUAL(ouro__total(p, (uint32_t)m), expected_total(all, service, host, m));
    for (uint32_t n = 1; n < p->node_count; n++) {
        path_of(p, n, path);
        for (int m = 0; m < METRICS; m++)
            CHECK_EQUAL(p->values[m][n], expected(all, path, service, host, m));
        CHECK_EQUAL(p->blocks[p->block[n]].line, path[strlen(path) - 1]);
    }
    ouro__profile_free(p);
}

TEST(sums_over_any_choice_are_those_of_the_model) {
    static put_slice all[SLICES_MOST];
    error e = {0};
    bool known;
    const char *path = place("model");
    store *s = ouro__store_open(path, true, &e);
    if (!CHECK(s != NULL)) return;
    for (int i = 0; i < slice_count(); i++) {
        all[i] = random_slice();
        CHECK(put(s, &all[i], &known) && !known);
        if (i % 3 == 0) CHECK(put(s, &all[random_below((uint32_t)i + 1)], &known) && known);
    }
    for (const char *service = "pqrz"; *service; service++) check_choice(s, all, *service, 0);
    for (const char *host = "abz"; *host; host++) check_choice(s, all, 0, *host);
    check_choice(s, all, 0, 0);
    check_choice(s, all, 'p', 'a');
    ouro__store_close(s);
    s = ouro__store_open(path, false, &e);
    check_choice(s, all, 'q', 0);
    ouro__store_close(s);
}

TEST(too_many_paths_become_one_and_totals_stay) {
    static put_slice all[SLICES_MOST];
    error e = {0};
    bool known;
    store *s = ouro__store_open(place("small"), true, &e);
    for (int i = 0; i < slice_count(); i++) {
        all[i] = random_slice();
        put(s, &all[i], &known);
    }
    profile *p = ask(s, "", 25);
    uint32_t found, with_value = 0;
    for (int m = 0; m < METRICS; m++)
        CHECK_EQUAL(ouro__total(p, (uint32_t)m), expected_total(all, 0, 0, m));
    for (uint32_t n = 1; n < p->node_count; n++) with_value += p->values[0][n] || p->values[1][n];
    CHECK_EQUAL(with_value, 26);
    CHECK(ouro__find_block(p, "[pruned]", &found, &e));
    ouro__profile_free(p);
    ouro__store_close(s);
}

TEST(what_is_old_is_forgotten_and_the_rest_stays) {
    error e = {0};
    bool known;
    uint64_t dropped;
    int old = 0;
    store_summary is;
    store *s = ouro__store_open(place("keep"), true, &e);
    for (int i = 0; i < slice_count(); i++) {
        put_slice one = random_slice();
        put(s, &one, &known);
        old += one.until < NOW - 50;
    }
    CHECK(ouro__store_keep(s, NOW - 50, &dropped, &e));
    CHECK_EQUAL(dropped, old);
    CHECK(ouro__store_summary(s, true, &is, &e));
    CHECK(is.slices == (uint64_t)(slice_count() - old) && is.until <= NOW && is.label_values <= 6);
    ouro__store_summary_free(&is);
    ouro__store_close(s);
}

// ---------------------------------------------------------------- charts

static char label_of(const put_slice *s, char label) {
    return label == 's' ? s->service : label == 'h' ? s->host : '-';
}

static int64_t slice_total(const put_slice *s, int m) {
    int64_t sum = 0;
    for (int i = 0; i < PATHS; i++) sum += s->samples[i].values[m];
    return sum;
}

// The slices of a service (0: all) and a value of the label (0: all) that end in (from, until].
static int64_t charted(const put_slice *all, char service, char label, char value, uint64_t from,
                       uint64_t until, int m) {
    int64_t sum = 0;
    for (int i = 0; i < slice_count(); i++) {
        const put_slice *s = &all[i];
        bool in = s->until > from && s->until <= until && (!service || s->service == service) &&
                  (!value || label_of(s, label) == value);
        if (in) sum += slice_total(s, m);
    }
    return sum;
}

static void check_row(const put_slice *all, const series_question *q, const series_row *row,
                      char service, char label, int m) {
    char value = row->value ? row->value[0] : '-';
    uint64_t end = q->from + q->step * q->steps;
    CHECK_EQUAL(row->total, charted(all, service, label, value, q->from, end, m));
    for (uint32_t i = 0; i < q->steps; i++) {
        uint64_t from = q->from + i * q->step;
        CHECK_EQUAL(row->sums[i], charted(all, service, label, value, from, from + q->step, m));
    }
}

// All rows together are what the model has without telling values apart.
static void check_series(store *s, const put_slice *all, char service, char label, uint32_t most) {
    error e = {0};
    choice c;
    store_offer offer;
    series got;
    char where[40] = "";
    int m = (int)random_below(METRICS);
    if (service) snprintf(where, sizeof where, "service=%c", service);
    CHECK(ouro__choice_parse(where, NOW, &c, &e) && ouro__store_offer(s, &c, &offer, &e));
    series_question q = {.metric = ouro__offer_metric(&offer, m ? "time" : "calls"),
                         .label = label == 's'   ? "service"
                                  : label == 'h' ? "host"
                                  : label == 'n' ? "nothing"
                                                 : NULL,
                         .from = NOW - 120 + random_below(60),
                         .step = 1 + random_below(20),
                         .steps = 1 + random_below(30),
                         .most = most};
    if (CHECK(ouro__store_series(s, &c, &q, &got, &e))) {
        CHECK(got.row_count <= most && got.steps == q.steps);
        for (uint32_t r = 0; r < got.row_count; r++) {
            check_row(all, &q, &got.rows[r], service, label, m);
            CHECK(!r || got.rows[r].total <= got.rows[r - 1].total);
        }
        for (uint32_t i = 0; i < q.steps; i++) {
            uint64_t from = q.from + i * q.step;
            int64_t sum = got.others ? got.other.sums[i] : 0;
            for (uint32_t r = 0; r < got.row_count; r++) sum += got.rows[r].sums[i];
            CHECK_EQUAL(sum, charted(all, service, 0, 0, from, from + q.step, m));
        }
        ouro__series_free(&got);
    }
    CHECK_TEXT(e.message, "");
    ouro__store_offer_free(&offer);
    ouro__choice_free(&c);
}

TEST(a_chart_of_any_choice_has_the_sums_of_the_model) {
    static put_slice all[SLICES_MOST];
    error e = {0};
    bool known;
    store *s = ouro__store_open(place("chart"), true, &e);
    for (int i = 0; i < slice_count(); i++) {
        all[i] = random_slice();
        put(s, &all[i], &known);
    }
    for (int round = 0; round < 10 + slice_count(); round++)
        check_series(s, all, "pqr\0z"[random_below(5)], "shn\0"[random_below(4)], random_below(5));
    ouro__store_close(s);
}

static uint64_t slices_with(const put_slice *all, char service, const label_count *l) {
    uint64_t count = 0;
    for (int i = 0; i < slice_count(); i++)
        count += all[i].service == service && label_of(&all[i], l->name[0]) == l->value[0];
    return count;
}

TEST(what_can_be_chosen_is_counted_within_a_choice) {
    static put_slice all[SLICES_MOST];
    error e = {0};
    bool known;
    uint64_t slices = 0, first = UINT64_MAX, last = 0;
    store *s = ouro__store_open(place("offer"), true, &e);
    for (int i = 0; i < slice_count(); i++) {
        all[i] = random_slice();
        put(s, &all[i], &known);
        if (all[i].service != 'q') continue;
        slices++;
        if (all[i].until < first) first = all[i].until;
        if (all[i].until > last) last = all[i].until;
    }
    choice c;
    store_offer o;
    CHECK(ouro__choice_parse("service=q", NOW, &c, &e) && ouro__store_offer(s, &c, &o, &e));
    CHECK_EQUAL(o.slices, slices);
    CHECK(!slices || (o.first == first && o.last == last));
    CHECK_EQUAL(o.label_values, o.label_count);
    for (size_t i = 0; i < o.label_count; i++)
        CHECK_EQUAL(o.labels[i].slices, slices_with(all, 'q', &o.labels[i]));
    CHECK_EQUAL(o.metric_count, METRICS);
    CHECK_TEXT(ouro__offer_metric(&o, NULL)->name, "time");
    CHECK(ouro__offer_metric(&o, "nothing") == NULL);
    ouro__store_offer_free(&o);
    ouro__choice_free(&c);
    ouro__store_close(s);
}

TEST(slices_without_any_label_are_chosen_by_what_they_do_not_have) {
    static sample samples[1] = {{"A", {7, 7}}};
    error e = {0};
    label_set none = {0};
    pushed done;
    store *s = ouro__store_open(place("bare"), true, &e);
    profile *p = profile_of(samples, 1);
    CHECK(ouro__store_push(s, p, &(push_options){.labels = &none, .time = NOW}, &done, &e));
    ouro__profile_free(p);
    p = ask(s, "host!=a", 0);
    CHECK_EQUAL(ouro__total(p, 0), 7);
    ouro__profile_free(p);
    ouro__store_close(s);
}

// ---------------------------------------------------------------- a live recording

TEST(a_recording_that_is_pushed_again_adds_what_is_new) {
    static sample samples[PATHS];
    error e = {0};
    label_set l = {0};
    pushed done;
    store *s = ouro__store_open(place("live"), true, &e);
    put_slice some = random_slice();
    memcpy(samples, some.samples, sizeof samples);
    for (int round = 0; round < 8; round++) {
        int shown = round < 4 ? 10 * (round + 1) : PATHS; // nodes come, later some shrink
        for (int i = 0; i < PATHS; i++)
            samples[i].values[0] += round == 6 ? 0 : (int64_t)random_below(9) - 3;
        profile *p = profile_of(samples, shown);
        p->recording[3] = 7;
        CHECK(ouro__store_push(s, p, &(push_options){.labels = &l, .time = NOW}, &done, &e));
        CHECK(done.live && !done.known);
        profile *sum = ask(s, "", 0);
        CHECK_EQUAL(ouro__total(sum, 0), ouro__total(p, 0));
        CHECK_EQUAL(ouro__total(sum, 1), ouro__total(p, 1));
        ouro__profile_free(sum);
        CHECK(ouro__store_push(s, p, &(push_options){.labels = &l, .time = NOW}, &done, &e));
        CHECK_EQUAL(done.paths, 0);
        ouro__profile_free(p);
    }
    ouro__store_close(s);
}

// ---------------------------------------------------------------- what is forgotten of recordings

// Recordings whose slices are put one after the other, with clocks that are set back at times.
enum { RECORDINGS = 4, DAY = 86400000 };

typedef struct {
    key id;
    uint64_t next, last; // number of the next slice; when the newest one ended
    int64_t sums[METRICS];
} recording;

static void put_next(store *to, recording *r, uint64_t until) {
    error e = {0};
    label_set l = {0};
    keys k;
    bool known;
    put_slice some = random_slice();
    profile *p = profile_of(some.samples, PATHS);
    CHECK(ouro__keys_make(p, &k));
    slice s = {.recording = r->id,
               .number = r->next++,
               .from = until - 10,
               .until = until,
               .labels = &l,
               .profile = p,
               .keys = &k};
    CHECK(ouro__store_put(to, &s, &known, &e) && !known);
    CHECK_TEXT(e.message, "");
    for (uint32_t m = 0; m < METRICS; m++) r->sums[m] += ouro__total(p, m);
    if (until > r->last) r->last = until;
    ouro__keys_free(&k);
    ouro__profile_free(p);
}

// Who follows a recording that goes on is told all of it, and a number that no slice has.
static void check_recorded(store *s, recording *r, uint64_t since) {
    error e = {0};
    profile *sum;
    if (r->last < since) return;
    if (!CHECK(ouro__store_recorded(s, r->id, &r->next, &sum, &e)))
        fprintf(stderr, "%s\n", e.message);
    if (!sum) return;
    for (uint32_t m = 0; m < METRICS; m++)
        CHECK_EQUAL(ouro__total(sum, ouro__profile_find_metric(sum, m ? "time" : "calls")),
                    r->sums[m]);
    ouro__profile_free(sum);
}

// A slice of each at about this time; of one of them perhaps none, of another perhaps an older one.
static void put_some(store *s, recording *all, uint64_t now) {
    for (int i = 0; i < RECORDINGS; i++) {
        uint64_t until = now - random_below(DAY / 2);
        if (random_below(4) == 0) continue;
        put_next(s, &all[i], random_below(5) ? until : until - 3 * (uint64_t)DAY);
    }
}

static pid_t forget_beside(const char *path, uint64_t since) {
    pid_t child = fork();
    if (child) return child;
    error e = {0};
    uint64_t dropped;
    store *s = ouro__store_open(path, false, &e);
    _exit(!s || !ouro__store_keep(s, since, &dropped, &e));
}

// Two at once, of which one is killed. The other may find that the first was faster.
static void forget_and_die(const char *path, uint64_t since) {
    pid_t one = forget_beside(path, since), other = forget_beside(path, since);
    usleep(random_below(150000));
    kill(one, SIGKILL);
    waitpid(one, NULL, 0);
    waitpid(other, NULL, 0);
}

static bool keep(store *s, uint64_t since) {
    error e = {0};
    uint64_t dropped;
    bool ok = ouro__store_keep(s, since, &dropped, &e);
    // What a killed process began to delete may take its time.
    for (int i = 0; !ok && e.code == EBUSY && i < 100; i++)
        ok = ouro__store_keep(s, since, &dropped, &e);
    if (!CHECK(ok)) fprintf(stderr, "%s\n", e.message);
    return ok;
}

// Those whose slices are all gone begin anew.
static void begin_anew(recording *all, uint64_t since) {
    for (int i = 0; i < RECORDINGS; i++) {
        if (all[i].last < since) all[i] = (recording){.id = all[i].id};
    }
}

TEST(what_is_old_of_recordings_that_go_on_is_remembered_whoever_is_killed) {
    enum { DAYS = 5 };
    recording all[RECORDINGS] = {0};
    error e = {0};
    char path[300];
    snprintf(path, sizeof path, "%s", place("goes_on"));
    for (int i = 0; i < RECORDINGS; i++) all[i].id = (key){{1, (unsigned char)i}};
    for (int day = 0; day < DAYS; day++) {
        uint64_t now = NOW + (uint64_t)day * DAY, since = now - DAY - random_below(DAY);
        store *s = ouro__store_open(path, true, &e);
        if (!CHECK(s != NULL)) return;
        put_some(s, all, now);
        ouro__store_close(s); // SQLite's connections do not cross a fork
        if (day % 2) forget_and_die(path, since);
        s = ouro__store_open(path, false, &e);
        for (int i = 0; i < RECORDINGS; i++) check_recorded(s, &all[i], since);
        if (keep(s, since)) begin_anew(all, since);
        for (int i = 0; i < RECORDINGS; i++) check_recorded(s, &all[i], since);
        ouro__store_close(s);
    }
}

// ---------------------------------------------------------------- several writers, damage

TEST(several_processes_write_at_the_same_time) {
    enum { WRITERS = 4, EACH = 10 };
    const char *path = place("writers");
    for (int w = 0; w < WRITERS; w++) {
        if (fork() != 0) continue;
        error e = {0};
        bool known, ok = true;
        random_seed(test_seed() + (uint64_t)w);
        store *s = ouro__store_open(path, true, &e);
        for (int i = 0; i < EACH && ok && s; i++) {
            put_slice one = random_slice();
            ok = put(s, &one, &known) && !known;
        }
        ouro__store_close(s);
        _exit(!s || !ok);
    }
    for (int w = 0, status; w < WRITERS; w++) CHECK(wait(&status) > 0 && status == 0);
    error e = {0};
    store_summary is;
    store *s = ouro__store_open(path, false, &e);
    CHECK(ouro__store_summary(s, true, &is, &e));
    CHECK(is.slices == WRITERS * EACH && is.recordings == WRITERS * EACH);
    ouro__store_summary_free(&is);
    ouro__store_close(s);
}

static void damage(const char *path) {
    struct stat status;
    FILE *file = fopen(path, "r+b");
    if (!CHECK(file && fstat(fileno(file), &status) == 0)) return;
    for (int i = 0; i < 20; i++) {
        fseek(file, (long)random_below((uint32_t)status.st_size), SEEK_SET);
        fputc((int)random_below(256), file);
    }
    fclose(file);
}

static void chart_damaged(store *s) {
    error e = {0};
    choice all = {0};
    store_offer offer = {0};
    series got = {0};
    if (!s || !ouro__store_offer(s, &all, &offer, &e)) return;
    const store_metric *metric = ouro__offer_metric(&offer, NULL);
    series_question q = {metric, "host", NOW - 100, 1, 100, 2};
    if (metric && !ouro__store_series(s, &all, &q, &got, &e)) CHECK(e.message[0]);
    ouro__series_free(&got);
    ouro__store_offer_free(&offer);
}

TEST(a_damaged_file_is_an_error_and_never_a_crash) {
    const char *path = test_path("damaged.db");
    for (int round = 0; round < 60; round++) {
        error e = {0};
        bool known;
        unlink(path);
        store *s = ouro__store_open(path, true, &e);
        for (int i = 0; i < 3; i++) {
            put_slice one = random_slice();
            put(s, &one, &known);
        }
        ouro__store_close(s);
        damage(path);
        choice all = {0};
        s = ouro__store_open(path, false, &e);
        profile *p = s ? ouro__store_ask(s, &all, &e) : NULL;
        CHECK(p || e.message[0]);
        ouro__profile_free(p);
        chart_damaged(s);
        ouro__store_close(s);
    }
}

// ---------------------------------------------------------------- files of strangers

// Three slices, always the same file: one that is made anew waits for the disk.
static void make_small(const char *path) {
    static char *bytes;
    static size_t size;
    error e = {0};
    bool known;
    unlink(path);
    if (bytes) {
        FILE *file = fopen(path, "wb");
        CHECK(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
        return;
    }
    store *s = ouro__store_open(path, true, &e);
    if (!CHECK(s != NULL)) return;
    for (int i = 0; i < 3; i++) {
        put_slice one = random_slice();
        put(s, &one, &known);
    }
    ouro__store_close(s);
    FILE *file = fopen(path, "rb"), *copy = open_memstream(&bytes, &size);
    for (int c; file && copy && (c = fgetc(file)) != EOF;) fputc(c, copy);
    CHECK(file && copy && fclose(file) == 0 && fclose(copy) == 0);
}

// What only a stranger does to a store.
static bool tamper(const char *path, const char *format, ...) {
    char sql[1000];
    va_list more;
    sqlite3 *db = NULL;
    va_start(more, format);
    vsnprintf(sql, sizeof sql, format, more);
    va_end(more);
    bool ok = sqlite3_open(path, &db) == SQLITE_OK &&
              sqlite3_exec(db, "PRAGMA synchronous=OFF", NULL, NULL, NULL) == SQLITE_OK &&
              sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;
    sqlite3_close(db);
    return ok;
}

static bool makes_sense(const profile *p) {
    for (uint32_t m = 0; m < p->metric_count; m++) {
        char text[DECIMAL_ROOM];
        if (p->metrics[m].decimals > DECIMALS_MOST) return false;
        ouro__decimal(text, ouro__total(p, m), p->metrics[m].decimals);
    }
    return ouro__profile_is_valid(p);
}

static void check_metrics(const store_offer *offer) {
    for (size_t i = 0; i < offer->metric_count; i++)
        CHECK(offer->metrics[i].decimals <= DECIMALS_MOST);
}

// Each question ends with an answer that makes sense or with a message. How many had a message.
static int questions_refused(const char *path) {
    error e[4] = {{0}};
    choice all = {0};
    store_offer offer;
    store_summary summary;
    store *s = ouro__store_open(path, false, &e[0]);
    if (!s) return CHECK(e[0].message[0]) ? 4 : 0;
    profile *p = ouro__store_ask(s, &all, &e[0]);
    if (p) CHECK(makes_sense(p));
    ouro__profile_free(p);
    if (ouro__store_summary(s, true, &summary, &e[1])) ouro__store_summary_free(&summary);
    if (ouro__store_offer(s, &all, &offer, &e[2])) {
        check_metrics(&offer);
        ouro__store_offer_free(&offer);
    }
    if (ouro__store_metrics(s, &offer, &e[3])) {
        check_metrics(&offer);
        ouro__store_offer_free(&offer);
    }
    chart_damaged(s);
    ouro__store_close(s);
    return !!e[0].message[0] + !!e[1].message[0] + !!e[2].message[0];
}

static const char *const columns[] = {
    "blocks.id",        "blocks.key",       "blocks.name",      "blocks.line",   "blocks.column",
    "nodes.id",         "nodes.key",        "nodes.parent",     "nodes.block",   "metrics.id",
    "metrics.name",     "metrics.unit",     "metrics.decimals", "label_sets.id", "label_sets.key",
    "labels.label_set", "labels.name",      "labels.value",     "slices.id",     "slices.recording",
    "slices.number",    "slices.label_set", "slices.began",     "slices.ended",  "samples.slice",
    "samples.metric",   "samples.count",    "samples.packed"};

TEST(values_that_no_store_has_are_an_error_or_mean_something) {
    static const char *const values[] = {"-1",
                                         "0",
                                         "19",
                                         "64",
                                         "2147483648",
                                         "4294967299",
                                         "1152921504606846976",
                                         "2305843009213693951",
                                         "4611686018427387904",
                                         "9223372036854775807",
                                         "-9223372036854775808",
                                         "1e300",
                                         "'text'",
                                         "x'00'",
                                         "x'ffffffffffffffffffff'",
                                         "randomblob(16)"};
    const char *path = test_path("values.db");
    size_t changed = 0;
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
        char table[20];
        const char *column = strchr(columns[c], '.') + 1;
        snprintf(table, sizeof table, "%.*s", (int)(column - columns[c] - 1), columns[c]);
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            make_small(path);
            // An id that is no number is refused by SQLite itself.
            if (tamper(path, "UPDATE OR IGNORE %s SET %s = %s", table, column, values[v]))
                changed++;
            questions_refused(path);
        }
    }
    CHECK(changed > 400);
    make_small(path);
    CHECK_EQUAL(questions_refused(path), 0);
}

TEST(decimals_and_times_that_cannot_be_printed_are_refused) {
    const char *path = test_path("print.db");
    make_small(path);
    CHECK(tamper(path, "UPDATE metrics SET decimals = 64"));
    CHECK_EQUAL(questions_refused(path), 2);
    make_small(path);
    CHECK(tamper(path, "UPDATE slices SET ended = 9223372036854775807"));
    CHECK_EQUAL(questions_refused(path), 2);
}

// The type of a view is never known, so no table can be told from it by what it answers.
TEST(only_tables_that_ouro_makes_are_read) {
    static const char *const swaps[] = {
        "DROP TABLE %1$s; CREATE VIEW %1$s AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL"
        " SELECT x + 1 FROM n) SELECT x AS id, x AS key, x AS name, x AS file, x AS line,"
        " x AS column, x AS parent, x AS block, x AS unit, x AS decimals, x AS label_set,"
        " x AS value, x AS recording, x AS number, x AS began, x AS ended, x AS slice,"
        " x AS metric, x AS count, x AS packed FROM n",
        "CREATE TRIGGER t AFTER INSERT ON %1$s BEGIN SELECT 1; END",
        "CREATE INDEX i ON %1$s (hex(zeroblob(100)))",
        "ALTER TABLE %1$s ADD COLUMN more TEXT AS (hex(zeroblob(100)))",
        "ALTER TABLE %1$s ADD COLUMN more TEXT",
        "ALTER TABLE %1$s RENAME TO other; CREATE VIEW %1$s AS SELECT * FROM other"};
    static const char *const tables[] = {"blocks", "nodes",  "metrics", "label_sets",
                                         "labels", "slices", "samples"};
    const char *path = test_path("tables.db");
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
        for (size_t i = 0; i < sizeof swaps / sizeof *swaps; i++) {
            for (int make = 0; make < 2; make++) {
                error e = {0};
                make_small(path);
                if (!CHECK(tamper(path, swaps[i], tables[t]))) continue;
                CHECK(ouro__store_open(path, make, &e) == NULL);
                CHECK(strstr(e.message, "is not what ouro makes") != NULL);
            }
        }
    }
    make_small(path);
    CHECK(tamper(path, "CREATE VIEW mine AS SELECT * FROM slices; CREATE TABLE notes (text)"));
    CHECK_EQUAL(questions_refused(path), 0);
}

static void put_big_endian(unsigned char *at, size_t n, int size) {
    for (; size--; n >>= 8) at[size] = (unsigned char)n;
}

// Makes a tree of a few pages that has more rows than anybody can count: each page above the leaf
// names the page below 300 times.
static void make_bomb(const char *path, const char *table) {
    enum { PAGE = 4096, CELLS = 300, LEVELS = 6, CELL = 5, HEADER = 12 };
    unsigned char page[PAGE], first[100];
    sqlite3 *db = NULL;
    sqlite3_stmt *s = NULL;
    sqlite3_open(path, &db);
    sqlite3_prepare_v2(db, "SELECT rootpage FROM sqlite_master WHERE name = ?", -1, &s, NULL);
    sqlite3_bind_text(s, 1, table, -1, SQLITE_STATIC);
    if (!CHECK(sqlite3_step(s) == SQLITE_ROW)) return;
    long root = sqlite3_column_int(s, 0);
    sqlite3_finalize(s);
    sqlite3_exec(db, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL);
    sqlite3_close(db);
    FILE *file = fopen(path, "r+b");
    fseek(file, 0, SEEK_END);
    size_t pages = (size_t)ftell(file) / PAGE;
    fseek(file, (root - 1) * PAGE, SEEK_SET);
    CHECK_EQUAL(fread(page, 1, PAGE, file), PAGE);
    fseek(file, 0, SEEK_END);
    fwrite(page, 1, PAGE, file); // the leaf
    for (size_t level = 1; level <= LEVELS; level++) {
        memset(page, 0, PAGE);
        page[0] = 5; // above leaves of a table
        put_big_endian(page + 3, CELLS, 2);
        put_big_endian(page + 5, PAGE - CELLS * CELL, 2);
        put_big_endian(page + 8, pages + level, 4);
        for (int i = 0; i < CELLS; i++) {
            int at = PAGE - (i + 1) * CELL;
            put_big_endian(page + HEADER + 2 * i, (size_t)at, 2);
            put_big_endian(page + at, pages + level, 4);
            page[at + 4] = 1;
        }
        if (level == LEVELS) fseek(file, (root - 1) * PAGE, SEEK_SET);
        fwrite(page, 1, PAGE, file);
    }
    fseek(file, 0, SEEK_SET);
    CHECK_EQUAL(fread(first, 1, sizeof first, file), sizeof first);
    put_big_endian(first + 28, pages + LEVELS, 4);
    fseek(file, 0, SEEK_SET);
    fwrite(first, 1, sizeof first, file);
    fclose(file);
}

TEST(a_tree_of_rows_without_end_costs_what_its_file_may_cost) {
    const char *path = test_path("bomb.db");
    choice all = {0};
    for (int labels = 0; labels < 2; labels++) {
        error e = {0};
        store_summary summary;
        store_offer offer;
        make_small(path);
        make_bomb(path, labels ? "label_sets" : "slices");
        store *s = ouro__store_open(path, false, &e);
        if (!CHECK(s != NULL)) return;
        CHECK(labels ? !ouro__store_offer(s, &all, &offer, &e)
                     : !ouro__store_summary(s, true, &summary, &e));
        CHECK(strstr(e.message, "steps of work") && strstr(e.message, "--limit"));
        ouro__store_close(s);
    }
}

TEST(a_file_of_another_kind_is_refused_in_words) {
    error e = {0};
    const char *path = test_path("other.db");
    CHECK(ouro__store_open(path, false, &e) == NULL && strstr(e.message, "ouro push"));
    FILE *file = fopen(path, "wb");
    for (int i = 0; i < 1000; i++) fputs("not a database\n", file);
    fclose(file);
    CHECK(ouro__store_open(path, true, &e) == NULL && strstr(e.message, "not a database"));
    CHECK(ouro__store_open("ftp://x/y", true, &e) == NULL);
}
