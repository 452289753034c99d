// SPDX-License-Identifier: MIT
//
// Random profiles within random limits, against what must hold of any answer: totals stay, paths
// with a place of their own have what they had, and the rest is in [pruned], where it is seen.

#include "builder.h"
#include "questions.h"
#include "remote.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { METRICS = 2, NAMES = 5, DEEPEST = 12, PATH_ROOM = 200 };

static profile *random_profile(uint32_t paths) {
    profile *p = ouro__profile_new();
    builder *b = ouro__builder_new(p, RULE_AS_IT_IS, 0);
    ouro__profile_add_metric(p, "time", "nanoseconds");
    ouro__profile_add_metric(p, "calls", "count");
    for (uint32_t i = 0; i < paths; i++) {
        uint32_t at = 0;
        for (uint32_t depth = 1 + random_below(DEEPEST); depth > 0; depth--) {
            char name[] = {(char)('a' + random_below(NAMES)), '\0'};
            at = ouro__builder_enter(b, at, ouro__profile_add_named(p, name, 1));
        }
        ouro__charge(p, random_below(METRICS), at, 1 + random_below(50));
    }
    ouro__builder_free(b);
    error e;
    CHECK(ouro__profile_finish(p, &e));
    return p;
}

// "a;b;c"
static const char *path_of(const profile *p, uint32_t n, char text[static PATH_ROOM]) {
    char *at = text + PATH_ROOM - 1;
    *at = '\0';
    for (; n; n = p->parent[n]) {
        const char *name = ouro__block_name(p, p->block[n]);
        if (*at) *--at = ';';
        at -= strlen(name);
        memcpy(at, name, strlen(name));
    }
    return at;
}

static uint32_t depth_of(const profile *p, uint32_t n) {
    uint32_t depth = 0;
    for (; n; n = p->parent[n]) depth++;
    return depth;
}

static bool has_value(const profile *p, uint32_t n) { return p->values[0][n] || p->values[1][n]; }

static bool is_small(const profile *p, uint32_t n) {
    return strcmp(ouro__block_name(p, p->block[n]), "[pruned]") == 0;
}

// The node of the same path; NO_NODE: there is none.
static uint32_t find(const profile *p, const char *path) {
    char text[PATH_ROOM];
    for (uint32_t n = 1; n < p->node_count; n++) {
        if (strcmp(path_of(p, n, text), path) == 0) return n;
    }
    return NO_NODE;
}

// What [pruned] below this node must have: that of the original's nodes below it that are too deep.
static void check_deep(const profile *from, const profile *to, uint32_t small, uint32_t depth) {
    char text[PATH_ROOM], path[PATH_ROOM];
    strcpy(path, path_of(to, to->parent[small], text));
    for (uint32_t m = 0; m < METRICS; m++) {
        int64_t most = 0;
        for (uint32_t n = 1; n < from->node_count; n++) {
            const char *own = path_of(from, n, text);
            bool below = strncmp(own, path, strlen(path)) == 0 && own[strlen(path)] == ';';
            if (below && depth_of(from, n) > depth) most += from->values[m][n];
        }
        CHECK(to->values[m][small] <= most);
    }
    CHECK_EQUAL(depth_of(to, small), depth);
}

static void check_one(const profile *from, const profile *to, const taken_limits *l,
                      const folded_counts *c) {
    char text[PATH_ROOM];
    uint32_t with_value = 0, own = 0, had = 0;
    for (uint32_t n = 1; n < to->node_count; n++) {
        if (!has_value(to, n)) continue;
        with_value++;
        CHECK(depth_of(to, n) <= l->depth);
        if (is_small(to, n)) {
            if (to->parent[n]) check_deep(from, to, n, l->depth);
            continue;
        }
        own++;
        uint32_t same = find(from, path_of(to, n, text));
        if (!CHECK(same != NO_NODE)) continue;
        for (uint32_t m = 0; m < METRICS; m++) CHECK_EQUAL(to->values[m][n], from->values[m][same]);
    }
    for (uint32_t n = 1; n < from->node_count; n++) had += has_value(from, n);
    CHECK(with_value <= l->paths);
    CHECK_EQUAL(had, own + c->deep + c->small);
    CHECK((c->small > 0) == (had > l->paths));
    for (uint32_t m = 0; m < METRICS; m++) CHECK_EQUAL(ouro__total(to, m), ouro__total(from, m));
}

TEST(a_profile_within_limits_keeps_totals_and_moves_no_self) {
    for (int i = 0; i < 400 && !test_failures(); i++) {
        profile *p = random_profile(1 + random_below(80));
        taken_limits l = {
            .depth = 1 + random_below(DEEPEST + 2), .paths = 2 + random_below(60), .longest = 100};
        slice s = {.profile = p, .from = 5, .until = 9};
        folded_counts c;
        error e = {0};
        profile *to = ouro__profile_within(&s, &l, &c, &e);
        if (CHECK(to != NULL)) {
            CHECK(ouro__profile_is_valid(to));
            CHECK_EQUAL(to->start_time, 5000000);
            CHECK_EQUAL(to->duration, 4000000);
            check_one(p, to, &l, &c);
        }
        ouro__profile_free(to);
        ouro__profile_free(p);
    }
}

// The largest share of any metric decides.
TEST(the_largest_paths_are_kept) {
    profile *p = ouro__profile_new();
    builder *b = ouro__builder_new(p, RULE_AS_IT_IS, 0);
    ouro__profile_add_metric(p, "time", "nanoseconds");
    ouro__profile_add_metric(p, "calls", "count");
    static const int64_t values[][METRICS] = {{1000, 0}, {1, 0}, {10, 0}, {0, 1}, {2, 0}};
    for (uint32_t i = 0; i < 5; i++) {
        char name[] = {(char)('a' + i), '\0'};
        uint32_t at = ouro__builder_enter(b, 0, ouro__profile_add_named(p, name, 1));
        for (uint32_t m = 0; m < METRICS; m++) ouro__charge(p, m, at, values[i][m]);
    }
    ouro__builder_free(b);
    error e = {0};
    folded_counts c;
    CHECK(ouro__profile_finish(p, &e));
    profile *to = ouro__profile_within(
        &(slice){.profile = p}, &(taken_limits){.depth = 9, .paths = 4, .longest = 9}, &c, &e);
    if (CHECK(to != NULL)) {
        CHECK(find(to, "a") != NO_NODE && find(to, "c") != NO_NODE && find(to, "d") != NO_NODE);
        CHECK(find(to, "b") == NO_NODE && find(to, "e") == NO_NODE);
        CHECK_EQUAL(to->values[0][find(to, "[pruned]")], 3);
        CHECK_EQUAL(c.small, 2);
    }
    ouro__profile_free(to);
    ouro__profile_free(p);
}

TEST(long_names_are_cut_at_whole_characters) {
    profile *p = ouro__profile_new();
    builder *b = ouro__builder_new(p, RULE_AS_IT_IS, 0);
    ouro__profile_add_metric(p, "time", "nanoseconds");
    ouro__profile_add_metric(p, "calls", "count");
    const char *name = "ab\303\274cd";
    ouro__charge(p, 0, ouro__builder_enter(b, 0, ouro__profile_add_named(p, name, 6)), 1);
    ouro__builder_free(b);
    error e = {0};
    folded_counts c;
    CHECK(ouro__profile_finish(p, &e));
    static const char *const want[] = {"", "a", "ab", "ab", "ab\303\274", "ab\303\274c"};
    for (size_t longest = 0; longest < 6; longest++) {
        taken_limits l = {.depth = 9, .paths = 4, .longest = longest};
        profile *to = ouro__profile_within(&(slice){.profile = p}, &l, &c, &e);
        if (CHECK(to != NULL)) CHECK_TEXT(ouro__block_name(to, to->block[1]), want[longest]);
        CHECK(c.texts > 0);
        ouro__profile_free(to);
    }
    ouro__profile_free(p);
}

TEST(servers_of_others_cannot_say_what_they_have) {
    static const char *const urls[] = {"pyroscope+http://127.0.0.1:1", "otlp+https://127.0.0.1:1"};
    for (size_t i = 0; i < 2; i++) {
        error e = {0};
        uint64_t next;
        profile *sum;
        choice c = {0};
        CHECK(!ouro__store_open(urls[i], false, &e) && strstr(e.message, "only be written to"));
        store *s = ouro__store_open(urls[i], true, &e);
        if (!CHECK(s != NULL)) continue;
        CHECK(!ouro__store_recorded(s, (key){{1}}, &next, &sum, &e));
        CHECK(!sum && strstr(e.message, "live file"));
        CHECK(!ouro__store_ask(s, &c, &e) && strstr(e.message, "only be written to"));
        CHECK(!ouro__store_note(s));
        ouro__store_close(s);
    }
}
