// SPDX-License-Identifier: MIT
//
// Regular expressions: random ones against those of the C library, which nobody here wrote, on
// random texts; what the C library does not have, by examples; and what asks for too much work.

#include "pattern.h"
#include "test.h"

#include <errno.h>
#include <locale.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool matches(const char *expression, const char *text) {
    error e = {0};
    name_pattern *p = ouro__pattern_new(expression, &e);
    test_check(p != NULL, __FILE__, __LINE__, "%s: %s", expression, e.message);
    bool match = p && ouro__pattern_matches(p, text);
    ouro__pattern_free(p);
    return match;
}

static void check_match(const char *expression, const char *text, bool wanted) {
    bool match = matches(expression, text);
    test_check(match == wanted, __FILE__, __LINE__, "/%s/ and \"%s\": %d", expression, text, match);
}

static void check_refused(const char *expression, const char *why) {
    error e = {0};
    name_pattern *p = ouro__pattern_new(expression, &e);
    test_check(!p && e.code == EINVAL && strstr(e.message, why), __FILE__, __LINE__,
               "/%.40s/: \"%s\" and not \"%s\"", expression, e.message, why);
    ouro__pattern_free(p);
}

// ---------------------------------------------------------------- random expressions

typedef struct {
    char text[400];
    size_t length;
    int depth;
} draft;

static void put(draft *d, const char *text) {
    d->length += (size_t)snprintf(d->text + d->length, sizeof d->text - d->length, "%s", text);
}

static void put_choice(draft *d);

// Without ends in repeated groups and without {0}: glibc 2.36 lets /b([^a]+$){2}b?/ match texts where
// nothing is left after the first end.
static void put_atom(draft *d) {
    static const char *const atoms[] = {"a",    "b",     "C",      "c",    ".",   "[ab]",
                                        "[^a]", "[b-d]", "[^b-d]", "[]a]", "\\.", "x"};
    if (d->depth < 3 && d->length < 120 && random_below(4) == 0) {
        d->depth++;
        put(d, "(");
        put_choice(d);
        put(d, ")");
        d->depth--;
    } else {
        put(d, atoms[random_below(sizeof atoms / sizeof *atoms)]);
    }
}

static void put_sequence(draft *d) {
    static const char *const repeats[] = {"*", "+", "?", "{2}", "{0,2}", "{1,}", "{1,3}"};
    if (!d->depth && random_below(12) == 0) put(d, "^");
    for (uint32_t i = 0, n = 1 + random_below(4); i < n; i++) {
        put_atom(d);
        if (random_below(3) == 0) put(d, repeats[random_below(sizeof repeats / sizeof *repeats)]);
    }
    if (!d->depth && random_below(12) == 0) put(d, "$");
}

static void put_choice(draft *d) {
    put_sequence(d);
    while (random_below(4) == 0) {
        put(d, "|");
        put_sequence(d);
    }
}

static void random_text(char *text, size_t most) {
    size_t n = random_below((uint32_t)most);
    for (size_t i = 0; i < n; i++) text[i] = "abcdABC.x]"[random_below(10)];
    text[n] = '\0';
}

TEST(random_expressions_match_what_the_c_library_says) {
    for (int round = 0; round < 3000; round++) {
        draft d = {.length = 0};
        put_choice(&d);
        regex_t wanted;
        if (regcomp(&wanted, d.text, REG_EXTENDED | REG_ICASE | REG_NOSUB) != 0) continue;
        error e = {0};
        name_pattern *p = ouro__pattern_new(d.text, &e);
        test_check(p != NULL, __FILE__, __LINE__, "%s: %s", d.text, e.message);
        for (int i = 0; p && i < 12; i++) {
            char text[24];
            random_text(text, sizeof text);
            bool match = ouro__pattern_matches(p, text);
            bool right = match == (regexec(&wanted, text, 0, NULL, 0) == 0);
            if (!test_check(right, __FILE__, __LINE__, "/%s/ and \"%s\": %d", d.text, text, match))
                break;
        }
        ouro__pattern_free(p);
        regfree(&wanted);
        if (test_failures()) return;
    }
}

// ---------------------------------------------------------------- examples

TEST(classes_words_and_ends_mean_what_people_expect) {
    check_match("^std::", "std::sort", true);
    check_match("^std::", "my::std::sort", false);
    check_match("Int.*Add$", "int_fast_add", true);
    check_match("\\bget\\b", "x.get(y)", true);
    check_match("\\bget\\b", "x.getter", false);
    check_match("\\Bter\\b", "x.getter", true);
    check_match("^\\d+$", "2048", true);
    check_match("^\\d+$", "20a8", false);
    check_match("\\.(c|h)$", "src/lib/tree.h", true);
    check_match("\\.(c|h)$", "src/lib/tree_h", false);
    check_match("[\\w.]+@\\S", "mail a.b@c", true);
    check_match("^[^\\s]+$", "a b", false);
    check_match("\\W", "a_b9", false);
    check_match("a{,2}", "a{,2}", true);
    check_match("operator\\(\\)", "T::operator()", true);
    check_match("(?:ab)+?c", "ababc", true);
    check_match("", "anything", true);
    check_match("a||b", "", true);
    check_match("b([^a]+$){2}", "bbb", false);
    check_match("^ab{0}c$", "ac", true);
    check_match("^a(^b|c$)", "ac", true);
}

TEST(case_matters_only_if_it_is_asked_for) {
    check_match("ADD", "add", true);
    check_match("(?-i)ADD", "add", false);
    check_match("(?-i)[A-Z]dd", "Add", true);
    check_match("(?-i)[A-Z]dd", "add", false);
    check_match("[A-Z]dd", "add", true);
}

TEST(other_scripts_and_broken_bytes_are_characters) {
    setlocale(LC_CTYPE, "C.UTF-8");
    check_match("^gr.ße$", "Größe", true);
    check_match("[à-ÿ]", "\xc3\x89t\xc3\xa9", true);
    check_match("ПРИ.ЕТ", "привет", true);
    check_match("^a.b$",
                "a\xff"
                "b",
                true);
    check_match("^a..b$",
                "a\xff"
                "b",
                false);
}

TEST(what_is_not_understood_is_refused_with_the_reason) {
    check_refused("a(b", "a ( without its )");
    check_refused("a)b", "a ) without its (");
    check_refused("[ab", "a [ without its ]");
    check_refused("[b-a]", "backwards");
    check_refused("*a", "nothing stands before");
    check_refused("a|+", "nothing stands before");
    check_refused("a\\", "a backslash at the end");
    check_refused("(a)\\1", "back references");
    check_refused("(?=a)", "only (?:");
    check_refused("[[:alpha:]]", "named classes");
    check_refused("\\pL", "unknown letter");
    check_refused("a{2,1}", "before its beginning");
    check_refused("a{2", "a { without its }");
    check_refused("a{1001}", "more than 1,000");
    check_refused("((a{100}){100}){100}", "too large");
    char *many = calloc(1, 5000);
    memset(many, 'a', 2000);
    check_refused(many, "more than 1000 bytes");
    memset(many, '(', 900);
    many[900] = '\0';
    check_refused(many, "too many parentheses");
    free(many);
}

// ---------------------------------------------------------------- too much

static char *repeated(char c, size_t n) {
    char *text = malloc(n + 2);
    memset(text, c, n);
    memcpy(text + n, "!", 2);
    return text;
}

TEST(expressions_that_hang_a_backtracking_matcher_are_linear) {
    char *text = repeated('a', 1000000);
    static const char *const hostile[] = {"^(a+)+$",
                                          "^(a|a)*$",
                                          "^(a|aa)+$",
                                          "(x+x+)+y",
                                          "^(.*)*b$",
                                          "(a*)*c",
                                          "^(([a-z])+.)+[A-Z]([a-z])+$",
                                          "(a?){50}a{50}$"};
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        error e = {0};
        name_pattern *p = ouro__pattern_new(hostile[i], &e);
        if (!CHECK(p)) break;
        CHECK(!ouro__pattern_matches(p, text));
        CHECK(!ouro__pattern_gave_up(p, &e));
        ouro__pattern_free(p);
    }
    free(text);
}

// The states of this one double with every letter, so no table holds them.
TEST(an_expression_with_too_many_states_gives_up_and_says_so) {
    error e = {0};
    name_pattern *p = ouro__pattern_new("(a|b)*a(a|b){300}!", &e);
    if (!CHECK(p)) return;
    char text[4096];
    int texts = 0;
    while (!ouro__pattern_gave_up(p, &e) && ++texts < 100000) {
        for (size_t i = 0; i < sizeof text - 1; i++) text[i] = random_below(2) ? 'a' : 'b';
        text[sizeof text - 1] = '\0';
        CHECK(!ouro__pattern_matches(p, text));
    }
    CHECK(texts > 1 && texts < 100000 && e.code == EINVAL && strstr(e.message, "too long"));
    CHECK(!ouro__pattern_matches(p, "aaaa!"));
    ouro__pattern_free(p);
}

TEST(a_search_with_slashes_around_it_is_an_expression) {
    static const struct {
        const char *search, *text;
        bool match;
    } cases[] = {{"/a.c/", "abc", true},     {"a.c", "abc", false}, {"A.C", "xa.cx", true},
                 {"/usr", "/usr/lib", true}, {"//", "a//b", true},  {"//", "a/b", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        error e;
        name_pattern *p = ouro__pattern_of_search(cases[i].search, &e);
        if (!CHECK(p)) return;
        CHECK_EQUAL(ouro__pattern_matches(p, cases[i].text), cases[i].match);
        ouro__pattern_free(p);
    }
    error e = {0};
    CHECK(!ouro__pattern_of_search("/a(/", &e) && e.code == EINVAL);
}
