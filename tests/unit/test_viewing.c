// SPDX-License-Identifier: MIT
//
// The questions that only the viewer asks, against what a naive walk says: pages of a ranking,
// labels, searches, the widest boxes below a node. Random trees, blocks with names of any bytes.

#include "path_ids.h"
#include "questions.h"
#include "test.h"
#include "utf8.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 9, ROUNDS = 60 };

static profile *random_profile(uint32_t nodes) {
    profile *p = ouro__profile_new();
    ouro__profile_add_metric(p, "samples", "count");
    for (uint32_t b = 0; b < BLOCKS; b++) {
        char name[8];
        ouro__profile_add_named(p, name, (size_t)sprintf(name, "Name%u", b));
    }
    builder *b = ouro__builder_new(p, RULE_NONE, 0);
    for (uint32_t i = 0; i < nodes; i++) {
        uint32_t at = random_below(p->node_count);
        uint32_t node = ouro__builder_enter(b, at, random_below(BLOCKS));
        ouro__charge(p, 0, node, random_below(4) ? random_below(100) : 0);
    }
    ouro__builder_free(b);
    CHECK(ouro__profile_finish(p, NULL));
    return p;
}

// ---------------------------------------------------------------- order

typedef struct {
    const int64_t *values;
    bool ascending;
} naive_order;

static int compare(const void *a, const void *b, void *user) {
    const naive_order *o = user;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (o->values[x] != o->values[y]) return (o->values[x] < o->values[y]) == o->ascending ? -1 : 1;
    return x < y ? -1 : 1;
}

static void check_page(const int64_t *values, uint32_t count, const uint8_t *keep, bool ascending,
                       uint32_t offset, uint32_t limit) {
    uint32_t *sorted = malloc((count + 1) * sizeof *sorted), kept = 0, used = 99;
    for (uint32_t i = 0; i < count; i++) {
        if (keep[i]) sorted[kept++] = i;
    }
    qsort_r(sorted, kept, sizeof *sorted, compare, &(naive_order){values, ascending});
    uint32_t *page = ouro__order(values, count, keep, ascending, offset, limit, &used);
    uint32_t want = offset >= kept ? 0 : kept - offset < limit ? kept - offset : limit;
    CHECK_EQUAL(used, want);
    CHECK(used != want || memcmp(page, sorted + offset, want * sizeof *page) == 0 || !want);
    free(page);
    free(sorted);
}

TEST(a_page_of_a_ranking_is_a_part_of_the_sorted_whole) {
    enum { MOST = 9000 };
    int64_t *values = malloc(MOST * sizeof *values);
    uint8_t *keep = malloc(MOST);
    for (int round = 0; round < ROUNDS; round++) {
        uint32_t count = random_below(round % 2 ? MOST : 20), range = random_below(3) ? 1000000 : 5;
        for (uint32_t i = 0; i < count; i++) {
            values[i] = (int64_t)random_below(range) - 2;
            keep[i] = random_below(4) != 0;
        }
        uint32_t offset = random_below(count + 10), limit = random_below(round % 3 ? 200 : 20000);
        check_page(values, count, keep, random_below(2), offset, limit);
        check_page(values, count, keep, random_below(2), 0, 100);
    }
    check_page(values, 0, keep, false, 0, UINT32_MAX);
    check_page(values, 20, keep, false, UINT32_MAX, UINT32_MAX);
    free(values);
    free(keep);
}

// ---------------------------------------------------------------- flame graph

static void check_below(const profile *p, const int64_t *running, uint32_t node, uint32_t limit) {
    flame *rows;
    uint32_t count, wide = 1;
    if (!CHECK(ouro__flame_below(p, running, node, limit, &rows, &count))) return;
    uint8_t *sent = calloc(p->node_count, 1);
    for (uint32_t i = 0; i < count; i++) sent[rows[i].node] = 1;
    int64_t narrowest = INT64_MAX, widest_hidden = 0;
    for (uint32_t n = node; n < p->end[node]; n++) {
        int64_t value = ouro__inclusive(p, running, n);
        wide += n > node && value > 0;
        if (sent[n] && n > node && value < narrowest) narrowest = value;
        if (!sent[n] && value > widest_hidden) widest_hidden = value;
    }
    CHECK_EQUAL(count, wide < limit ? wide : limit);
    CHECK(widest_hidden <= narrowest || limit == 1);
    CHECK(rows[0].node == node && rows[0].left == 0 && rows[0].depth == 0);
    int64_t *next = calloc(count, sizeof *next), *before = calloc(count, sizeof *before);
    for (uint32_t i = 1; i < count; i++) {
        const flame *f = &rows[i], *up = &rows[f->parent];
        CHECK(f->parent < i && p->parent[f->node] == up->node && f->depth == up->depth + 1);
        CHECK_EQUAL(f->value, ouro__inclusive(p, running, f->node));
        CHECK_EQUAL(f->left, up->left + next[f->parent]);
        CHECK(before[f->parent] == 0 || f->value <= before[f->parent]);
        next[f->parent] += f->value;
        before[f->parent] = f->value;
    }
    free(next);
    free(before);
    free(sent);
    free(rows);
}

TEST(the_widest_boxes_below_a_node) {
    for (int round = 0; round < ROUNDS && !test_failures(); round++) {
        profile *p = random_profile(1 + random_below(400));
        int64_t *running = ouro__running(p, 0);
        for (int i = 0; i < 8; i++)
            check_below(p, running, random_below(p->node_count), 1 + random_below(i < 4 ? 500 : 9));
        check_below(p, running, 0, UINT32_MAX);
        free(running);
        ouro__profile_free(p);
    }
}

// ---------------------------------------------------------------- paths and searches

TEST(a_path_finds_its_node_and_no_other_path_does) {
    profile *p = random_profile(300);
    for (uint32_t n = 0; n < p->node_count; n++) {
        uint32_t path[400], length = 0;
        for (uint32_t up = n; up; up = p->parent[up]) length++;
        uint32_t at = length;
        for (uint32_t up = n; up; up = p->parent[up]) path[--at] = p->block[up];
        CHECK_EQUAL(ouro__path_node(p, path, length), n);
        path[length] = BLOCKS + 5;
        CHECK_EQUAL(ouro__path_node(p, path, length + 1), NO_NODE);
    }
    ouro__profile_free(p);
}

TEST(of_a_path_that_is_not_there_the_longest_prefix_is_found) {
    profile *p = random_profile(300);
    for (int round = 0; round < 500; round++) {
        uint32_t path[12], length = random_below(12);
        size_t found, want = length;
        for (uint32_t i = 0; i < length; i++) path[i] = random_below(BLOCKS);
        while (ouro__path_node(p, path, want) == NO_NODE) want--;
        CHECK_EQUAL(ouro__path_nearest(p, path, length, &found), ouro__path_node(p, path, want));
        CHECK_EQUAL(found, want);
    }
    ouro__profile_free(p);
}

// ---------------------------------------------------------------- ids of paths

static char *labels_to(const profile *p, const labels *l, uint32_t node) {
    char *text = calloc(1, 1);
    for (uint32_t n = node; n; n = p->parent[n]) {
        char *label = ouro__label(l, p->block[n]), *longer;
        CHECK(asprintf(&longer, "%s;%s", label, text) > 0);
        free(label);
        free(text);
        text = longer;
    }
    return text;
}

// The node of q with the same path, by comparing texts.
static uint32_t same_path(const profile *q, const labels *l, const char *text) {
    for (uint32_t n = 1; n < q->node_count; n++) {
        char *other = labels_to(q, l, n);
        bool same = strcmp(other, text) == 0;
        free(other);
        if (same) return n;
    }
    return NO_NODE;
}

TEST(an_id_finds_its_path_and_the_same_path_in_another_profile) {
    for (int round = 0; round < 8; round++) {
        profile *p = random_profile(120), *q = random_profile(120);
        labels l, m;
        CHECK(ouro__labels_init(&l, p) && ouro__labels_init(&m, q));
        uint64_t *ids = ouro__path_ids(p, &l), *others = ouro__path_ids(q, &m), id;
        for (uint32_t n = 1; n < p->node_count; n++) {
            bool several;
            char text[PATH_ID_ROOM], *labelled = labels_to(p, &l, n);
            ouro__path_id_print(ids[n], text);
            CHECK_EQUAL(strlen(text), PATH_ID_LENGTH);
            CHECK(ouro__path_id_parse(text, &id) && id == ids[n]);
            CHECK_EQUAL(ouro__path_id_find(ids, p->node_count, id, &several), n);
            CHECK_EQUAL(ouro__path_id_find(others, q->node_count, id, &several),
                        same_path(q, &m, labelled));
            free(labelled);
        }
        free(ids);
        free(others);
        ouro__labels_free(&l);
        ouro__labels_free(&m);
        ouro__profile_free(p);
        ouro__profile_free(q);
    }
}

TEST(ids_of_some_paths_are_those_of_all) {
    for (int round = 0; round < 8; round++) {
        profile *p = random_profile(120);
        labels l;
        CHECK(ouro__labels_init(&l, p));
        uint8_t *wanted = calloc(p->node_count, 1);
        for (uint32_t i = 0; i < 10; i++) {
            for (uint32_t n = (uint32_t)random_below(p->node_count); n; n = p->parent[n])
                wanted[n] = 1;
        }
        uint64_t *all = ouro__path_ids(p, &l), *some = ouro__path_ids_of(p, &l, wanted);
        for (uint32_t n = 0; n < p->node_count; n++) CHECK_EQUAL(some[n], wanted[n] ? all[n] : 0);
        free(wanted);
        free(all);
        free(some);
        ouro__labels_free(&l);
        ouro__profile_free(p);
    }
}

TEST(two_paths_with_one_id_are_noticed) {
    bool several;
    const uint64_t ids[] = {0, 7, 9, 7, 8};
    CHECK_EQUAL(ouro__path_id_find(ids, 5, 7, &several), NO_NODE);
    CHECK(several);
    CHECK_EQUAL(ouro__path_id_find(ids, 5, 8, &several), 4);
    CHECK(!several);
    CHECK_EQUAL(ouro__path_id_find(ids, 5, 0, &several), NO_NODE);
    CHECK(!several);
}

TEST(what_is_no_id_is_refused) {
    static const char *const bad[] = {"", "AAAAAAAAAA", "QAAAAAAAAAA", "AAAAA AAAAA",
                                      "AAAAAAAAAA+"};
    uint64_t id;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) CHECK(!ouro__path_id_parse(bad[i], &id));
    CHECK(ouro__path_id_parse("P__________", &id) && id == UINT64_MAX);
    CHECK(ouro__path_id_parse("AAAAAAAAAAB", &id) && id == 1);
}

TEST(what_matches_is_counted_once_per_path) {
    for (int round = 0; round < ROUNDS; round++) {
        profile *p = random_profile(random_below(200));
        int64_t *running = ouro__running(p, 0), sum = 0;
        char text[] = {'A', 'm', 'E', (char)('0' + random_below(BLOCKS)), '\0'};
        uint32_t count;
        uint8_t *match = ouro__matching(p, text, &count, &(error){0});
        CHECK_EQUAL(count, 1);
        for (uint32_t n = 1; n < p->node_count; n++) {
            bool found = false;
            for (uint32_t up = n; up; up = p->parent[up]) found |= match[p->block[up]];
            sum += found ? p->values[0][n] : 0;
        }
        CHECK_EQUAL(ouro__matched(p, running, match), sum);
        free(match);
        free(running);
        ouro__profile_free(p);
    }
}

TEST(case_does_not_matter_in_any_script) {
    setlocale(LC_CTYPE, "C.UTF-8");
    CHECK(ouro__contains("Größe", "GRÖ") && ouro__contains("ПРИВЕТ", "вет"));
    CHECK(ouro__contains("anything", "") && !ouro__contains("", "x") && ouro__contains("x", "X"));
    CHECK(!ouro__contains("Größe", "größen") && !ouro__contains("\xff\xfe", "é"));
    CHECK(ouro__contains("a\xff☃b", "☃B"));
}

// ---------------------------------------------------------------- labels

static void check_labels(const profile *p) {
    labels l;
    if (!CHECK(ouro__labels_init(&l, p))) return;
    for (uint32_t b = 0; b < p->block_count; b++) {
        char *label = ouro__label(&l, b), *clean = ouro__utf8_clean(label);
        CHECK_EQUAL(ouro__label_find(&l, label), b);
        CHECK_TEXT(label, clean);
        free(label);
        free(clean);
    }
    CHECK_EQUAL(ouro__label_find(&l, "no such label"), NO_ROW);
    ouro__labels_free(&l);
}

TEST(every_label_finds_its_block_and_is_valid_text) {
    static const char *const names[] = {"f",    "f@a.c:1", "f@a.c:1:2", "f@a.c:1:2#1",
                                        "\xff", "\xfe",    "\xff\xff",  "é",
                                        "\xc3", "",        "f@a.c:2",   "f@:0"};
    static const char *const files[] = {"", "a.c", "b\xff.c", "b\xfe.c"};
    for (int round = 0; round < ROUNDS; round++) {
        profile *p = ouro__profile_new();
        for (uint32_t i = random_below(80); i > 0; i--) {
            block_info b = {ouro__profile_add_text(p, names[random_below(12)]),
                            ouro__profile_add_text(p, files[random_below(4)]), random_below(3),
                            random_below(3)};
            ouro__profile_add_block(p, &b);
        }
        CHECK(ouro__profile_finish(p, NULL));
        check_labels(p);
        ouro__profile_free(p);
    }
}

TEST(labels_are_as_short_as_can_be) {
    profile *p = ouro__profile_new();
    uint32_t f = ouro__profile_add_text(p, "f"), a = ouro__profile_add_text(p, "a.c");
    ouro__profile_add_block(p, &(block_info){f, a, 3, 1});
    ouro__profile_add_block(p, &(block_info){f, a, 9, 1});
    ouro__profile_add_block(p, &(block_info){f, a, 9, 5});
    ouro__profile_add_named(p, "alone", 5);
    ouro__profile_add_named(p, "f@a.c:3", 7); // a name that looks like a place comes first
    CHECK(ouro__profile_finish(p, NULL));
    labels l;
    CHECK(ouro__labels_init(&l, p));
    static const char *const want[] = {"f@a.c:3:1", "f@a.c:9:1", "f@a.c:9:5", "alone", "f@a.c:3"};
    for (uint32_t b = 0; b < 5; b++) {
        char *label = ouro__label(&l, b);
        CHECK_TEXT(label, want[b]);
        free(label);
    }
    uint32_t found[4];
    CHECK_EQUAL(ouro__label_candidates(&l, "f", found, 4), 3);
    CHECK_EQUAL(ouro__label_candidates(&l, "LON", found, 4), 1);
    CHECK_EQUAL(ouro__label_candidates(&l, "nothing", found, 4), 0);
    ouro__labels_free(&l);
    ouro__profile_free(p);
}

TEST(a_hundred_thousand_blocks_that_look_alike_are_labelled_in_time) {
    profile *p = ouro__profile_new();
    enum { MANY = 100000 };
    for (uint32_t i = 0; i < MANY; i++) {
        // Different bytes, none of them characters: all look the same.
        char name[4] = {(char)(0x80 + i % 64), (char)(0x80 + i / 64 % 64),
                        (char)(0x80 + i / 4096 % 64), '\0'};
        ouro__profile_add_block(p, &(block_info){ouro__profile_add_text(p, name), 0, 0, i});
    }
    CHECK(ouro__profile_finish(p, NULL));
    check_labels(p);
    ouro__profile_free(p);
}

// ---------------------------------------------------------------- UTF-8

TEST(only_characters_stay) {
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"", ""},
        {"plain", "plain"},
        {"é☃🐍", "é☃🐍"},
        {"\x80", OURO_REPLACEMENT},
        {"\xc3", OURO_REPLACEMENT},
        {"\xe2\x98", OURO_REPLACEMENT OURO_REPLACEMENT},
        {"\xc0\xaf", OURO_REPLACEMENT OURO_REPLACEMENT},                      // overlong
        {"\xed\xa0\x80", OURO_REPLACEMENT OURO_REPLACEMENT OURO_REPLACEMENT}, // surrogate
        {"\xf4\x90\x80\x80", OURO_REPLACEMENT OURO_REPLACEMENT OURO_REPLACEMENT OURO_REPLACEMENT},
        {"a\xff"
         "b",
         "a" OURO_REPLACEMENT "b"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *clean = ouro__utf8_clean(cases[i].in);
        CHECK_TEXT(clean, cases[i].out);
        free(clean);
    }
    CHECK_EQUAL(ouro__utf8_decode("☃", 3), 0x2603);
    CHECK_EQUAL(ouro__utf8_decode("🐍", 4), 0x1f40d);
}
