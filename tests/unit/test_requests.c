// SPDX-License-Identifier: MIT
//
// Requests taken apart, whether a Host header is ours, and the secret. tests/server asks the same
// through sockets; here are the corners that a client does not let through.

#include "request.h"
#include "secret.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int status_of(const char *target) {
    request r;
    int status = ouro__request_parse(&r, target);
    ouro__request_free(&r);
    return status;
}

TEST(a_target_is_a_path_and_parameters) {
    request r;
    CHECK_EQUAL(ouro__request_parse(&r, "/a%20b/c?x=1&y=a%26b+c&x=2&flag&=e&&z=%E2%98%83=="), 0);
    CHECK_TEXT(r.path, "/a b/c");
    CHECK_EQUAL(r.count, 6);
    CHECK_TEXT(ouro__request_value(&r, "x"), "1");
    CHECK_EQUAL(ouro__request_count(&r, "x"), 2);
    CHECK_TEXT(ouro__request_value(&r, "y"), "a&b c");
    CHECK_TEXT(ouro__request_value(&r, "flag"), "");
    CHECK_TEXT(ouro__request_value(&r, "z"), "☃==");
    CHECK(!ouro__request_value(&r, "X"));
    ouro__request_free(&r);
    CHECK_EQUAL(ouro__request_parse(&r, "/a+b?"), 0);
    CHECK_TEXT(r.path, "/a+b");
    CHECK_EQUAL(r.count, 0);
    ouro__request_free(&r);
}

TEST(malformed_targets_are_refused) {
    static const char *const bad[] = {"",      "a",       "*",          "http://x/", "/%",
                                      "/%4",   "/%zz",    "/%00",       "/?a=%0",    "/?a=%00",
                                      "/?%ff", "/%c3%28", "/?a=%C0%AF", "/a b",      "/a#b",
                                      "/a\tb", "/\x7f",   "/\xff",      "/?a=\xc3"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        test_check(status_of(bad[i]) == 400, __FILE__, __LINE__, "%s", bad[i]);
    CHECK_EQUAL(status_of("/\xc3\xa9"), 0);
}

TEST(sizes_have_bounds) {
    char *target = malloc(TARGET_LONGEST + 3);
    memset(target, 'a', TARGET_LONGEST + 2);
    target[0] = '/';
    target[TARGET_LONGEST] = '\0';
    CHECK_EQUAL(status_of(target), 0);
    target[TARGET_LONGEST] = 'a';
    target[TARGET_LONGEST + 1] = '\0';
    CHECK_EQUAL(status_of(target), 414);
    strcpy(target, "/?");
    for (int i = 0; i < PARAMETERS_MOST; i++) strcpy(target + 2 + 2 * i, "a&");
    CHECK_EQUAL(status_of(target), 0);
    strcpy(target + 2 + 2 * PARAMETERS_MOST, "a");
    CHECK_EQUAL(status_of(target), 400);
    free(target);
}

TEST(numbers_are_whole_and_in_range) {
    static const struct {
        const char *text;
        bool good;
        uint32_t value;
    } cases[] = {{"", true, 7},
                 {"n=5", true, 5},
                 {"n=0", false, 0},
                 {"n=10", true, 10},
                 {"n=11", false, 0},
                 {"n=-1", false, 0},
                 {"n=", false, 0},
                 {"n=1.5", false, 0},
                 {"n=%205", false, 0},
                 {"n=0005", true, 5},
                 {"n=99999999999", false, 0},
                 {"n=4294967297", false, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char target[64];
        request r;
        uint32_t n = 99;
        snprintf(target, sizeof target, "/?%s", cases[i].text);
        CHECK_EQUAL(ouro__request_parse(&r, target), 0);
        bool good = ouro__request_number(&r, "n", 1, 10, 7, &n);
        test_check(good == cases[i].good && (!good || n == cases[i].value), __FILE__, __LINE__,
                   "%s", cases[i].text);
        ouro__request_free(&r);
    }
}

TEST(only_our_names_with_our_port_are_ours) {
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]", NULL};
    static const char *const good[] = {"127.0.0.1:8080", "localhost:8080", "LocalHost:8080",
                                       "[::1]:8080"};
    static const char *const bad[] = {"",
                                      "127.0.0.1",
                                      ":8080",
                                      "127.0.0.1:",
                                      "127.0.0.1:80",
                                      "x:8080",
                                      "127.0.0.1:08080",
                                      "127.0.0.1:8080 ",
                                      " 127.0.0.1:8080",
                                      "127.0.0.1:8080/",
                                      "[::1",
                                      "[::1]x:8080",
                                      "::1:8080",
                                      "localhost.:8080",
                                      "127.0.0.1:808",
                                      "127.0.0.1:80800",
                                      "a@localhost:8080",
                                      "localhost:8080:8080",
                                      "[]:8080",
                                      "localhos:8080"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        test_check(ouro__host_is_ours(good[i], 8080, names), __FILE__, __LINE__, "%s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        test_check(!ouro__host_is_ours(bad[i], 8080, names), __FILE__, __LINE__, "%s", bad[i]);
    CHECK(!ouro__host_is_ours(NULL, 8080, names));
    CHECK(ouro__host_is_ours("localhost", 80, names) && ouro__host_is_ours("[::1]", 80, names));
}

TEST(only_our_origin_is_ours) {
    CHECK(ouro__origin_is_ours(NULL, "localhost:1"));
    CHECK(ouro__origin_is_ours("http://localhost:1", "localhost:1"));
    CHECK(!ouro__origin_is_ours("https://localhost:1", "localhost:1"));
    CHECK(!ouro__origin_is_ours("http://localhost:12", "localhost:1"));
    CHECK(!ouro__origin_is_ours("http://localhost", "localhost:1"));
    CHECK(!ouro__origin_is_ours("null", "localhost:1") && !ouro__origin_is_ours("", "localhost:1"));
}

TEST(the_secret_is_found_in_cookies_of_its_name_only) {
    static const char *const good[] = {"n=%s", "a=b; n=%s", "n=x; n=%s; n=y", ";;n=%s", " n=%s ;"};
    static const char *const bad[] = {
        "",       "n",        "n=",     "n=x%s",    "n=%sx", "m=%s", "nn=%s",
        "a=n=%s", "a n=%s",   "N=%s",   "n =%s",    "n= ",   ";",    "n=x;",
        "n=;%s",  "a=b,n=%s", "n\t=%s", "n=\"%s\"", "%s",    "=%s",  "n;%s"};
    char secret[SECRET_ROOM], other[SECRET_ROOM], header[128];
    CHECK(ouro__secret_make(secret) && ouro__secret_make(other));
    CHECK(strlen(secret) == 32 && strcmp(secret, other) != 0);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        snprintf(header, sizeof header, good[i], secret);
        test_check(ouro__secret_in_cookies(secret, "n", header), __FILE__, __LINE__, "%s", header);
        snprintf(header, sizeof header, good[i], other);
        test_check(!ouro__secret_in_cookies(secret, "n", header), __FILE__, __LINE__, "%s", header);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(header, sizeof header, bad[i], secret);
        test_check(!ouro__secret_in_cookies(secret, "n", header), __FILE__, __LINE__, "%s", header);
    }
}

TEST(the_secret_leaves_a_target_and_nothing_else_does) {
    static const char *const cases[][2] = {
        {"/?secret=x", "/"},
        {"/?secret=x&a=1", "/?a=1"},
        {"/f?a=1&secret=x&b=2", "/f?a=1&b=2"},
        {"/f?a=1&secret=", "/f?a=1"},
        {"/f?secret=1&secret=2&&", "/f"},
        {"/f?Secret=1&secrets=2&secret", "/f?Secret=1&secrets=2&secret"},
        {"/f?a=secret=x", "/f?a=secret=x"},
        {"/f", "/f"},
        {"/f?a=%20+b", "/f?a=%20+b"},
        {"/f?a=\xc3\xa9<\"'>\\;", "/f?a=%C3%A9%3C%22%27%3E%5C%3B"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *clean = ouro__secret_removed(cases[i][0]);
        CHECK_TEXT(clean, cases[i][1]);
        free(clean);
    }
    size_t length = 0;
    const char *value = ouro__secret_in_target("/f?a=1&secret=abc&b", &length);
    CHECK(value && length == 3 && strncmp(value, "abc", 3) == 0);
    CHECK(!ouro__secret_in_target("/f?a=1&b", &length));
    CHECK(!ouro__secret_in_target("/secret=abc", &length));
    CHECK(!ouro__secret_in_target("/?%73ecret=abc", &length));
}
