// SPDX-License-Identifier: MIT
//
// The four rules on small examples, node by node: the table of the design, the AUTO_EXIT
// example that replace is there for, and the square-free word that no rule based on repetition
// alone can bound.

#include "lane_check.h"
#include "ouro.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Blocks are single letters.
typedef struct {
    ouro_profile *profile;
    ouro_thread *thread;
    ouro_block first;
} letters;

static letters letters_new(int compaction, int edge_length) {
    letters l;
    l.profile =
        ouro_profile_new(&(ouro_options){.compaction = compaction, .edge_length = edge_length});
    ouro_block_info infos[26];
    char names[26][2];
    for (int i = 0; i < 26; i++) {
        names[i][0] = (char)('a' + i);
        names[i][1] = '\0';
        infos[i] = (ouro_block_info){names[i], "letters", 1, (uint32_t)i + 1};
    }
    l.first = ouro_add_blocks(l.profile, infos, 26);
    l.thread = ouro_thread_new(l.profile);
    return l;
}

static void letters_free(letters *l) {
    ouro_thread_free(l->thread);
    ouro_profile_free(l->profile);
}

static ouro_block letter(const letters *l, char c) { return l->first + (ouro_block)(c - 'a'); }

static void describe(void *user, const ouro_visit *v) {
    char *text = user;
    for (size_t i = 0; i < v->length; i++)
        sprintf(text + strlen(text), "%s%c", i ? "/" : "",
                v->path[i] < 3 ? '!' : (char)('a' + v->path[i] - 3));
    sprintf(text + strlen(text), " %d", (int)v->calls);
    if (v->recursions) sprintf(text + strlen(text), " (%d)", (int)v->recursions);
    if (v->direct) sprintf(text + strlen(text), " (%d direct)", (int)v->direct);
    if (v->metrics[0]) sprintf(text + strlen(text), " *%d", (int)v->metrics[0]);
    strcat(text, ", ");
}

// Enters the letters one after the other; the final position gets a sample, shown as *1.
static const char *entered(const char *word, int compaction, int edge_length) {
    static char text[4096];
    letters l = letters_new(compaction, edge_length);
    for (const char *c = word; *c; c++) ouro_enter(l.thread, letter(&l, *c));
    ouro_sample(l.thread, 1);
    text[0] = '\0';
    ouro_profile_visit(l.profile, describe, text);
    check_lanes(l.profile);
    letters_free(&l);
    return text;
}

TEST(direct_recursion_stays_where_it_is) {
    const char *want = "a 1, a/b 3 (2) (2 direct), a/b/c 1 *1, ";
    CHECK_TEXT(entered("abbbc", OURO_LOOPS, 0), want);
    CHECK_TEXT(entered("abbbc", OURO_EDGES, 1), want);
    CHECK_TEXT(entered("abbbc", OURO_CYCLES, 0), want);
}

TEST(edges_of_two_keep_one_copy_of_a_direct_recursion) {
    CHECK_TEXT(entered("abbbc", OURO_EDGES, 2),
               "a 1, a/b 1, a/b/b 2 (1) (1 direct), a/b/b/c 1 *1, ");
    CHECK_TEXT(entered("abbbc", OURO_EDGES, 0),
               "a 1, a/b 1, a/b/b 2 (1) (1 direct), a/b/b/c 1 *1, ");
}

TEST(loops_keep_one_round_of_a_cycle) {
    CHECK_TEXT(entered("ababc", OURO_LOOPS, 0), "a 1, a/b 1, a/b/a 1, a/b/a/b 1, a/b/a/b/c 1 *1, ");
    CHECK_TEXT(entered("abababac", OURO_LOOPS, 0),
               "a 1, a/b 1, a/b/a 3 (2), a/b/a/b 2, a/b/a/c 1 *1, ");
}

TEST(edges_and_cycles_go_back_to_the_first_copy) {
    const char *want = "a 1, a/b 2 (1), a/b/a 1, a/b/c 1 *1, ";
    CHECK_TEXT(entered("ababc", OURO_EDGES, 2), want);
    CHECK_TEXT(entered("ababc", OURO_CYCLES, 0), want);
}

TEST(a_repeated_step_after_something_new_is_no_cycle) {
    const char *row =
        "p 1, p/q 1, p/q/r 1, p/q/r/s 1, p/q/r/s/q 1, p/q/r/s/q/r 1, p/q/r/s/q/r/t 1 *1, ";
    CHECK_TEXT(entered("pqrsqrt", OURO_LOOPS, 0), row);
    CHECK_TEXT(entered("pqrsqrt", OURO_EDGES, 3), row);
    CHECK_TEXT(entered("pqrsqrt", OURO_CYCLES, 0), row);
    CHECK_TEXT(entered("pqrsqrt", OURO_EDGES, 2),
               "p 1, p/q 1, p/q/r 2 (1), p/q/r/s 1, p/q/r/s/q 1, p/q/r/t 1 *1, ");
}

TEST(cycles_takes_the_shortest_repetition_first) {
    CHECK_TEXT(entered("acecacecce", OURO_CYCLES, 0),
               "a 1, a/c 1, a/c/e 2 (1) *1, a/c/e/c 3 (2) (1 direct), a/c/e/c/a 1, a/c/e/c/a/c 1, "
               "a/c/e/c/a/c/e 1, ");
}

TEST(none_keeps_every_frame) {
    CHECK_TEXT(entered("abab", OURO_NONE, 0), "a 1, a/b 1, a/b/a 1, a/b/a/b 1 *1, ");
}

// The word over three letters in which nothing is ever repeated at once: a -> abc, b -> ac, c -> b.
static char *square_free(size_t length) {
    char *word = malloc(length + 3);
    size_t written = 1;
    word[0] = 'a';
    for (size_t read = 0; written < length; read++) {
        // The word is its own image: letter `read` gives what comes next.
        const char *image = word[read] == 'a' ? "abc" : word[read] == 'b' ? "ac" : "b";
        if (read == 0) image++; // its first letter is there already
        for (; *image; image++) word[written++] = *image;
    }
    word[length] = '\0';
    return word;
}

static void deepest(void *user, const ouro_visit *v) {
    size_t *depth = user;
    if (v->length > *depth) *depth = v->length;
}

static void check_square_free(int compaction, int edge_length, size_t nodes, size_t depth) {
    letters l = letters_new(compaction, edge_length);
    char *word = square_free(1000);
    for (const char *c = word; *c; c++) ouro_enter(l.thread, letter(&l, *c));
    size_t seen = 0;
    ouro_profile_visit(l.profile, deepest, &seen);
    CHECK_EQUAL(ouro_profile_stats(l.profile).nodes - 1, nodes);
    CHECK_EQUAL(seen, depth);
    CHECK_EQUAL(ouro_profile_stats(l.profile).calls, 1000);
    free(word);
    letters_free(&l);
}

TEST(the_square_free_word_is_bounded_by_steps_and_by_nothing_else) {
    check_square_free(OURO_LOOPS, 0, 19, 12);
    check_square_free(OURO_EDGES, 2, 11, 7);
    check_square_free(OURO_CYCLES, 0, 1000, 1000);
    check_square_free(OURO_NONE, 0, 1000, 1000);
}

// R calls A, A calls B, B tail calls C, A calls D. With AUTO_EXIT and a C that is not instrumented,
// D would show as called by B.
static const char *tail_call_example(bool c_is_instrumented) {
    static char text[1024];
    letters l = letters_new(OURO_LOOPS, 0);
    ouro_position outside = ouro_enter(l.thread, letter(&l, 'r'));
    ouro_position in_r = ouro_enter(l.thread, letter(&l, 'a'));
    ouro_position in_a = ouro_enter(l.thread, letter(&l, 'b'));
    ouro_replace(l.thread, c_is_instrumented ? letter(&l, 'c') : OURO_PHANTOM);
    ouro_sample(l.thread, 5);
    ouro_exit(l.thread, in_a);
    in_a = ouro_enter(l.thread, letter(&l, 'd'));
    ouro_sample(l.thread, 7);
    ouro_exit(l.thread, in_a);
    ouro_exit(l.thread, in_r);
    ouro_exit(l.thread, outside);
    text[0] = '\0';
    ouro_profile_visit(l.profile, describe, text);
    check_lanes(l.profile);
    letters_free(&l);
    return text;
}

TEST(tail_call_returns_to_the_callers_caller) {
    CHECK_TEXT(tail_call_example(true), "r 1, r/a 1, r/a/b 1, r/a/b/c 1 *5, r/a/d 1 *7, ");
}

TEST(tail_call_of_code_that_is_not_instrumented_changes_nothing) {
    CHECK_TEXT(tail_call_example(false), "r 1, r/a 1, r/a/b 1 *5, r/a/d 1 *7, ");
}

TEST(exit_and_enter_show_a_tail_call_without_its_caller) {
    char text[1024] = "";
    letters l = letters_new(OURO_LOOPS, 0);
    ouro_enter(l.thread, letter(&l, 'a'));
    ouro_position token = ouro_enter(l.thread, letter(&l, 'b'));
    ouro_exit(l.thread, token);
    ouro_enter(l.thread, letter(&l, 'c'));
    ouro_profile_visit(l.profile, describe, text);
    CHECK_TEXT(text, "a 1, a/b 1, a/c 1, ");
    letters_free(&l);
}

TEST(a_loop_of_tail_calls_has_constant_size) {
    letters l = letters_new(OURO_LOOPS, 0);
    ouro_position token = ouro_enter(l.thread, letter(&l, 'a'));
    for (int i = 0; i < 100000; i++) {
        ouro_replace(l.thread, letter(&l, 'b'));
        ouro_replace(l.thread, letter(&l, 'c'));
        ouro_replace(l.thread, letter(&l, 'a'));
    }
    ouro_exit(l.thread, token);
    char text[1024] = "";
    ouro_profile_visit(l.profile, describe, text);
    CHECK_TEXT(text,
               "a 1, a/b 1, a/b/c 1, a/b/c/a 100000 (99999), a/b/c/a/b 99999, a/b/c/a/b/c 99999, ");
    letters_free(&l);
}

TEST(an_outer_token_repairs_what_was_skipped) {
    letters l = letters_new(OURO_LOOPS, 0);
    ouro_position outside = ouro_enter(l.thread, letter(&l, 'a'));
    ouro_position in_a = ouro_enter(l.thread, letter(&l, 'b'));
    ouro_enter(l.thread, letter(&l, 'c'));
    ouro_enter(l.thread, letter(&l, 'd'));
    ouro_exit(l.thread, in_a); // longjmp from d to a
    ouro_sample(l.thread, 1);
    ouro_exit(l.thread, outside);
    char text[1024] = "";
    ouro_profile_visit(l.profile, describe, text);
    CHECK_TEXT(text, "a 1 *1, a/b 1, a/b/c 1, a/b/c/d 1, ");
    letters_free(&l);
}

TEST(phantom_keeps_the_position_and_charges_nothing) {
    letters l = letters_new(OURO_LOOPS, 0);
    ouro_position outside = ouro_enter(l.thread, letter(&l, 'a'));
    for (int i = 0; i < 3; i++) {
        ouro_position in_a = ouro_enter(l.thread, OURO_PHANTOM);
        ouro_position in_phantom = ouro_enter(l.thread, letter(&l, 'b'));
        ouro_sample(l.thread, 1);
        ouro_exit(l.thread, in_phantom);
        ouro_exit(l.thread, in_a);
    }
    ouro_exit(l.thread, outside);
    char text[1024] = "";
    ouro_profile_visit(l.profile, describe, text);
    CHECK_TEXT(text, "a 1, a/b 3 *3, ");
    letters_free(&l);
}
