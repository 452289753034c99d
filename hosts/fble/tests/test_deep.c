// SPDX-License-Identifier: MIT
//
// Size: 100,000 levels of every bracket end with one clear error, and 100,000 of anything that is
// not a bracket just works. The stack is what this is about; the sanitizers make it larger per
// call, so that passing here leaves room elsewhere.

#include "one_file.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 100000 };

#define PRELUDE \
    "U@ = *(); U@ u = U@(); F@ = +(U@ on, U@ off); F@ on = F@(on: u); U@ _ = u; F@ _ = on;\n"

// `%d` in the parts stands for the number of the repetition, `%-` for the one before it.
static void add_part(struct fble_text *text, const char *part, int number) {
    for (; *part; part++) {
        char digits[16];
        if (*part != '%' || (part[1] != 'd' && part[1] != '-')) {
            fble_add(text, part, 1);
            continue;
        }
        part++;
        snprintf(digits, sizeof digits, "%d", *part == 'd' ? number : number - 1);
        fble_add_string(text, digits);
    }
}

static struct fble_text source(struct fble_arena *arena, const char *before, const char *repeated,
                               int times, const char *between, const char *closing,
                               const char *after) {
    struct fble_text text = {.arena = arena};
    fble_add_string(&text, before);
    for (int i = 1; i <= times; i++) add_part(&text, repeated, i);
    fble_add_string(&text, between);
    for (int i = times; i >= 1; i--) add_part(&text, closing, i);
    add_part(&text, after, times);
    return text;
}

static void too_deep(const char *open, const char *inside, const char *close) {
    struct fble_arena arena = {0};
    struct fble_text text = source(&arena, PRELUDE, open, MANY, inside, close, ";\n");
    struct fble_program program;
    check_text(&program, text.at, text.length);
    CHECK_EQUAL(program.diagnostics.errors, 1);
    if (program.diagnostics.first)
        CHECK(strstr(program.diagnostics.first->message, "nested more than") != NULL);
    fble_program_free(&program);
    fble_arena_free(&arena);
}

// The largest nesting that is allowed must not overflow anything either.
static void deep_enough(const char *open, const char *inside, const char *close, int levels) {
    struct fble_arena arena = {0};
    struct fble_text text = source(&arena, PRELUDE, open, levels, inside, close, ";\n");
    struct fble_program program;
    struct fble_module *module = check_text(&program, text.at, text.length);
    CHECK_EQUAL(program.diagnostics.errors, 0);
    if (program.diagnostics.errors) fble_diagnostics_print(&program.diagnostics, stderr);
    CHECK(survives_printing(&program, module->value));
    fble_program_free(&program);
    fble_arena_free(&arena);
}

static void works(const char *before, const char *repeated, int times, const char *after) {
    struct fble_arena arena = {0};
    struct fble_text text = source(&arena, before, repeated, times, "", "", after);
    struct fble_program program;
    struct fble_module *module = check_text(&program, text.at, text.length);
    CHECK_EQUAL(program.diagnostics.errors, 0);
    if (program.diagnostics.errors) fble_diagnostics_print(&program.diagnostics, stderr);
    CHECK(survives_printing(&program, module->value));
    fble_program_free(&program);
    fble_arena_free(&arena);
}

TEST(deep_braces_are_an_error) { too_deep("{", "u", "; }"); }
TEST(deep_round_brackets_are_an_error) { too_deep("(", "U@", ") { U@; }"); }
TEST(deep_calls_are_an_error) { too_deep("u(", "u", ")"); }
TEST(deep_square_brackets_are_an_error) { too_deep("u[", "u", "]"); }
TEST(deep_angle_brackets_are_an_error) { too_deep("U@<", "U@", ">"); }
TEST(deep_typeof_is_an_error) { too_deep("@<", "u", ">"); }
TEST(deep_struct_types_are_an_error) { too_deep("*(", "U@", " x)"); }
TEST(deep_exports_are_an_error) { too_deep("@(x: ", "u", ")"); }
TEST(deep_selects_are_an_error) { too_deep("on.?(on: ", "u", ", off: u)"); }
TEST(deep_copies_are_an_error) { too_deep("u.@(x: ", "u", ")"); }
TEST(deep_private_types_are_an_error) { too_deep("u.%(", "u", ")"); }
TEST(deep_currying_is_an_error) { too_deep("(U@)", "{ U@; }", ""); }
TEST(deep_poly_brackets_are_an_error) { too_deep("<@ T@>", "{ U@; }", ""); }
TEST(deep_kinds_are_an_error) { too_deep("<", "@", ">@"); }
TEST(deep_unclosed_brackets_are_an_error) { too_deep("(", "", ""); }

TEST(nesting_below_the_limit_works) {
    enum { LEVELS = FBLE_DEEPEST - 5 };
    deep_enough("{ ", "u", "; }", LEVELS);
    deep_enough("@(x: ", "u", ")", LEVELS);
    deep_enough("*(", "U@", " x)", LEVELS);
    deep_enough("on.?(on: ", "u", ", off: u)", LEVELS);
    deep_enough("(U@ _)", "{ u; }", "", LEVELS);
    deep_enough("<@ T@>", "{ U@; }", "", LEVELS);
    deep_enough("(U@ _) { ", "u", "; }", LEVELS);
    deep_enough("(U@ _x) { _y = ", "u", "; _y; }", LEVELS);
    deep_enough("(U@ _x) { on.?(on: ", "u", ", off: u); }(u)", LEVELS / 2);
    deep_enough("{ on.?(on: ", "u", "); u; }", LEVELS / 2);
    deep_enough("@<", "@(x: u)", ">", LEVELS);
}

TEST(long_bodies_of_lets) { works(PRELUDE "x0 = u; ", "x%d = x%-;\n", MANY, "x%d;\n"); }
TEST(long_bodies_of_guards) { works(PRELUDE, "on.?(on: u);\n", MANY, "u;\n"); }
TEST(long_bodies_of_imports) { works(PRELUDE, "x .= @(x: u);\n", MANY, "x;\n"); }
TEST(long_bodies_of_foreign_values) { works(PRELUDE, "U@ x;\n", MANY, "x;\n"); }
TEST(long_bodies_of_binds) {
    works(PRELUDE "B = ((U@) { U@; } f) { f(u); };", "U@ _ := B;\n", MANY, "u;\n");
}
TEST(one_let_with_many_definitions) {
    works(PRELUDE "U@ x0 = u", ", U@ x%d = x%-", MANY, "; x%d;\n");
}
TEST(one_let_with_definitions_in_reverse) {
    works(PRELUDE "T0@ = T1@", ", T%d@ = *(T%-@ x)", MANY, "; u;\n");
    works(PRELUDE "U@ x0 = x1, U@ x1 = x2, U@ x2 = u", ", U@ y%d = x0", MANY, "; y%d;\n");
}
TEST(long_chains_of_accesses) { works(PRELUDE "A@ = *(A@ n); (A@ a) { a", ".n", MANY, "; };\n"); }
TEST(long_chains_of_calls) {
    works(PRELUDE "A@ = (U@) { A@; }; (A@ a) { a", "(u)", MANY, "; };\n");
}
TEST(calls_with_many_arguments) {
    works(PRELUDE "A@ = (U@) { A@; }; (A@ a) { a(u", ", u", MANY, "); };\n");
}
TEST(functions_with_many_parameters) { works(PRELUDE "(U@ x0", ", U@ x%d", MANY, ") { u; };\n"); }
TEST(types_with_many_fields) { works(PRELUDE "*(U@ x0", ", U@ x%d", MANY, ");\n"); }
TEST(unions_with_many_tags_used_often) {
    struct fble_arena arena = {0};
    struct fble_text all = source(&arena, PRELUDE "T@ = +(U@ x0", ", U@ x%d", MANY, "", "", ");\n");
    struct fble_text uses = source(&arena, "", "_ = T@(x%d: u).x%d;\n", MANY, "", "", "u;\n");
    works(all.at, "", 0, uses.at);
    fble_arena_free(&arena);
}
TEST(polys_with_many_parameters) { works(PRELUDE "<@ T0@", ", @ T%d@", MANY, "> { U@; };\n"); }
TEST(long_chains_of_types_are_compared) {
    works(PRELUDE "A0@ = U@; B0@ = U@;", "A%d@ = *(A%-@ x); B%d@ = *(B%-@ x);\n", MANY,
          "(A%d@ a) { B%d@ b = a; b; };\n");
}
TEST(types_with_exponential_unfoldings_are_compared) {
    works(PRELUDE "A0@ = U@; B0@ = U@;", "A%d@ = *(A%-@ x, A%-@ y); B%d@ = *(B%-@ x, B%-@ y);\n",
          MANY, "(A%d@ a) { B%d@ b = a; b; };\n");
}
TEST(instances_with_exponential_unfoldings_are_compared) {
    works(PRELUDE "P@ = <@ T@> { *(T@ x, T@ y); }; A0@ = U@; B0@ = U@;",
          "A%d@ = P@<A%-@>; B%d@ = P@<B%-@>;\n", MANY, "(A%d@ a) { B%d@ b = a; b; };\n");
}
TEST(nested_instances_of_a_recursive_type_are_compared) {
    works(PRELUDE "L@ = <@ T@> { X@ = +(*(T@ h, X@ t) c, U@ n); X@; }; A0@ = U@; B0@ = U@;",
          "A%d@ = L@<A%-@>; B%d@ = L@<B%-@>;\n", MANY / 2, "(A%d@ a) { B%d@ b = a; b; };\n");
}
TEST(letters_behind_many_unions) {
    works(PRELUDE "D0@ = +(U@ a);", "D%d@ = +(D%-@ x, D%-@ y);\n", MANY,
          "L@ = +(*(D%d@ h, L@ t) c, U@ n); (L@ l) { l; }|aaa;\n");
}
TEST(words_of_a_million_letters) {
    works(PRELUDE "L@ = +(*(F@ h, L@ t) c, U@ n); (L@ l) { l; }|", "onoffonoff", MANY, ";\n");
}
TEST(applications_with_many_arguments) {
    struct fble_arena arena = {0};
    struct fble_text text = {.arena = &arena};
    fble_add_string(&text, PRELUDE "<<@");
    for (int i = 1; i < MANY; i++) fble_add_string(&text, ",@");
    fble_add_string(&text, ">@ M@>(M@<U@");
    for (int i = 1; i < MANY; i++) fble_add_string(&text, ",U@");
    fble_add_string(&text, "> m) { m; };\n");
    struct fble_program program;
    check_text(&program, text.at, text.length);
    CHECK_EQUAL(program.diagnostics.errors, 0);
    fble_program_free(&program);
    fble_arena_free(&arena);
}

// Each of MANY + 1 types that are one cycle is reported, and the cycle is not followed from each.
static void cycle(const char *first, const char *repeated, const char *after) {
    struct fble_arena arena = {0};
    struct fble_text text = source(&arena, first, repeated, MANY, "", "", after);
    struct fble_program program;
    check_text(&program, text.at, text.length);
    CHECK_EQUAL(program.diagnostics.errors, MANY + 1);
    fble_program_free(&program);
    fble_arena_free(&arena);
}
TEST(long_cycles_of_aliases_are_vacuous) { cycle("", "A%d@ = A%-@, ", "A0@ = A%d@; *();\n"); }
TEST(long_cycles_of_annotated_aliases_are_vacuous) {
    cycle("U@ = *(); ", "@<U@> A%d@ = A%-@, ", "@<U@> A0@ = A%d@; *();\n");
}
TEST(long_cycles_of_private_types_are_vacuous) {
    cycle("", "A%d@ = A%-@.%(@/X%), ", "A0@ = A%d@.%(@/X%); *();\n");
}
TEST(long_chains_of_private_types_are_walked_once) {
    works(PRELUDE, "A%d@ = A%-@.%(@/X%), ", MANY, "A0@ = U@; (A%d@ a) { a; };\n");
}

// N25@<U@> has 2^25 levels: whoever compares it has to give up, with one message.
TEST(types_that_grow_without_sense_are_an_error) {
    struct fble_arena arena = {0};
    struct fble_text text =
        source(&arena, PRELUDE "N0@ = <@ X@> { *(X@ a); }; M0@ = <@ X@> { *(X@ a); };\n",
               "N%d@ = <@ X@> { N%-@<N%-@<X@>>; }; M%d@ = <@ X@> { M%-@<M%-@<X@>>; };\n", 25, "",
               "", "(N%d@<U@> a) {\n  M%d@<U@> b = a; b; };\n");
    struct fble_program program;
    check_text(&program, text.at, text.length);
    if (CHECK_EQUAL(program.diagnostics.errors, 1)) {
        struct fble_diagnostic *d = program.diagnostics.first;
        while (d->severity != FBLE_ERROR) d = d->next;
        CHECK_TEXT(d->message, "the types of this expression are too large to compute");
        CHECK_EQUAL(d->loc.line, 29);
    }
    fble_program_free(&program);
    fble_arena_free(&arena);
}
