// SPDX-License-Identifier: MIT
//
// What ClickHouse is told and what it answers, without a server: URLs, and rows that come back as
// they were written, cut off anywhere, or changed.

#include "clickhouse.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------- rows

static char *repeated(char c, size_t count) {
    char *text = malloc(count + 1);
    memset(text, c, count);
    text[count] = '\0';
    return text;
}

static void write_row(row_writer *w, key k, const char *text) {
    ouro__binary_u32(w, 0xfedcba98);
    ouro__binary_u64(w, 0x8000000000000001);
    ouro__binary_key(w, k);
    ouro__binary_text(w, text);
    ouro__binary_length(w, 2);
    ouro__binary_text(w, "");
    ouro__binary_text(w, "b");
}

static bool row_is(row_reader *r, key k, const char *text) {
    bool same = ouro__binary_get_u32(r) == 0xfedcba98;
    same = ouro__binary_get_u64(r) == 0x8000000000000001 && same;
    key got = ouro__binary_get_key(r);
    char *first = ouro__binary_get_text(r);
    same = same && memcmp(got.bytes, k.bytes, 16) == 0 && first && strcmp(first, text) == 0;
    free(first);
    for (uint64_t left = ouro__binary_get_length(r); left && !r->damaged; left--)
        free(ouro__binary_get_text(r));
    return same && !r->damaged;
}

TEST(rows_come_back_as_they_were_whatever_they_hold) {
    char *longest = repeated('x', 10000);
    const char *texts[] = {
        "",         "it's",  "say \"x\"", "a\nb\t\\", "'; DROP TABLE ouro_slices; --",
        "\xff\xfe", longest, "{}%s%n"};
    row_writer w = {0};
    key k = {{1, 2, 3, 255}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) write_row(&w, k, texts[i]);
    CHECK(!w.failed);
    row_reader r = {w.bytes, w.bytes + w.used, false};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) CHECK(row_is(&r, k, texts[i]));
    CHECK(!ouro__binary_left(&r) && !r.damaged);
    ouro__binary_free(&w);
    free(longest);
}

TEST(rows_that_are_cut_off_or_changed_are_damage_and_never_a_crash) {
    row_writer w = {0};
    key k = {{7}};
    write_row(&w, k, "some text");
    for (size_t size = 0; size < w.used; size++) {
        unsigned char *copy = malloc(size + 1); // the sanitizer sees what is read behind it
        memcpy(copy, w.bytes, size);
        row_reader r = {copy, copy + size, false};
        row_is(&r, k, "some text");
        CHECK(r.damaged);
        free(copy);
    }
    for (int i = 0; i < 3000; i++) {
        unsigned char *copy = malloc(w.used);
        memcpy(copy, w.bytes, w.used);
        for (int n = 0; n < 3; n++)
            copy[random_below((uint32_t)w.used)] = (unsigned char)random_next();
        row_reader r = {copy, copy + w.used, false};
        row_is(&r, k, "some text");
        free(copy);
    }
    ouro__binary_free(&w);
}

// ---------------------------------------------------------------- URLs

TEST(a_url_has_hosts_user_database_and_more) {
    clickhouse_url u;
    error e = {0};
    if (!CHECK(ouro__clickhouse_url_parse(
            "https://me:s%3Ae@c%25@a,[::1],b:99/d-1?cluster=x_y&timeout=7&"
            "ca_file=/c%20a",
            &u, &e)))
        return;
    CHECK(u.tls);
    CHECK_EQUAL(u.host_count, 3);
    CHECK_TEXT(u.hosts[0], "a:8443");
    CHECK_TEXT(u.hosts[1], "[::1]:8443");
    CHECK_TEXT(u.hosts[2], "b:99");
    CHECK_TEXT(u.user, "me");
    CHECK_TEXT(u.password, "s:e@c%");
    CHECK_TEXT(u.database, "d-1");
    CHECK_TEXT(u.cluster, "x_y");
    CHECK_TEXT(u.ca_file, "/c a");
    CHECK_EQUAL(u.seconds, 7);
    ouro__clickhouse_url_free(&u);
}

TEST(a_url_that_makes_no_sense_is_told_in_words) {
    static const char *const pairs[][2] = {
        {"http://", "a host is empty"},
        {"http:///x", "a host is empty"},
        {"http://a,,b/x", "a host is empty"},
        {"http://a", "/DATABASE"},
        {"http://a/", "/DATABASE"},
        {"http://a/x/y", "letters"},
        {"http://a/x'y", "letters"},
        {"http://a/x?cluster=", "letters"},
        {"http://a/x?cluster=`", "letters"},
        {"http://a/x?timeout=0", "seconds"},
        {"http://a/x?timeout=1s", "seconds"},
        {"http://a/x?y=1", "has no y"},
        {"http://a/x?password_file=/none/x", "password_file"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        clickhouse_url u;
        error e = {0};
        CHECK(!ouro__clickhouse_url_parse(pairs[i][0], &u, &e));
        if (!CHECK(strstr(e.message, pairs[i][1]) != NULL)) fprintf(stderr, "%s\n", e.message);
    }
}
