// SPDX-License-Identifier: MIT
//
// Run-time errors: the whole text, with the location, the block and the callers that wait. Where
// the location alone matters, reference.cases has it.

#include "run_text.h"

#include "test.h"

#include <string.h>

static void fails_with(const char *text, const char *message) {
    for (int way = 0; way < 3; way++) {
        struct run_how how = {.profile = way == 1, .options = {.collect_after = way == 2}};
        struct text_run run;
        if (CHECK(run_text(&run, text, &how)) && CHECK(fble_error(run.machine) != NULL))
            CHECK_TEXT(fble_error(run.machine), message);
        run_end(&run);
    }
}

TEST(an_error_has_its_place_its_block_and_its_callers) {
    fails_with("In = (Flag@ f) {\n  f.off;\n};\n"
               "Mid = (Flag@ f) { x = In(f); @(x); };\n"
               "y = Mid(on); y;",
               "Main.fble:3:5: error: the union has another tag, in /Main%.In\n"
               "Main.fble:5:23: called by /Main%.Mid\n"
               "Main.fble:6:5: called by /Main%\n");
}

TEST(tail_callers_are_gone) {
    fails_with("In = (Flag@ f) { f.off; };\nMid = (Flag@ f) { In(f); };\nx = Mid(on); x;",
               "Main.fble:2:20: error: the union has another tag, in /Main%.In\n"
               "Main.fble:4:5: called by /Main%\n");
}

TEST(arguments_that_wait_are_nobody) {
    fails_with("F = (Flag@ a) { (Flag@ b) { a.?(on: b.off, off: u); }; };\nx = F(on, on); x;",
               "Main.fble:2:39: error: the union has another tag, in /Main%.F\n"
               "Main.fble:3:5: called by /Main%\n");
}

TEST(partial_applications_do_not_show) {
    fails_with("F = (Flag@ a, Flag@ b) { @(a, x: b.off); };\nG = F(on);\nx = G(on); x;",
               "Main.fble:2:36: error: the union has another tag, in /Main%.F\n"
               "Main.fble:4:5: called by /Main%\n");
}

TEST(a_call_of_what_is_not_there_yet_is_the_callers) {
    fails_with("(Flag@) { Flag@; } f = { x = f(on); (Flag@ a) { x; }; }; f;",
               "Main.fble:2:30: error: the function is not there yet: its let is being evaluated, "
               "in /Main%\n");
}

TEST(a_tail_call_of_what_is_not_there_yet_is_the_tail_callers) {
    fails_with(
        "(Flag@) { Flag@; } f = { G = (Flag@ a) {\n  f(a); };\n x = G(on); (Flag@ a) { x; }; "
        "}; f;",
        "Main.fble:3:3: error: the function is not there yet: its let is being evaluated, in "
        "/Main%.f.G\n"
        "Main.fble:4:6: called by /Main%\n");
}

TEST(a_copy_of_what_is_not_there_yet_fails) {
    fails_with("S@ = *(Flag@ a, Flag@ b); S@ s = s.@(a: on), S@ t = s; t;",
               "Main.fble:2:34: error: the struct to copy is not there yet: its let is being "
               "evaluated, in /Main%\n");
    fails_with("S@ = *(Flag@ a); S@ s = s.@(a: on), S@ t = s; t;",
               "Main.fble:2:25: error: the value is not there yet: its let is being evaluated, in "
               "/Main%\n");
}

TEST(an_import_of_what_is_not_there_yet_is_at_the_name) {
    fails_with("S@ = *(Flag@ a, Flag@ b); S@ s = { b, a(.b) .= s; @(a, b); }; s;",
               "Main.fble:2:36: error: the value is not there yet: its let is being evaluated, in "
               "/Main%\n");
}

TEST(of_a_deep_stack_the_ends_are_shown) {
    struct text_run run;
    struct run_how how = {.profile = false};
    if (CHECK(run_text(&run,
                       "N@ = +(N@ s, U@ z); (N@) { N@; } F = (N@ n) { n.?(z: N@(z: u).s); N@(s: "
                       "F(n.s)); };\n"
                       "n1 = N@(s: N@(z: u)); (N@) { N@; } D = (N@ n) { n.?(z: n); N@(s: N@(s: "
                       "D(n.s))); };\n"
                       "x = F(D(D(D(D(D(D(D(D(n1))))))))); x;",
                       &how))) {
        const char *error = fble_error(run.machine);
        CHECK(error && strstr(error, "Main.fble:2:63: error: the union has another tag"));
        CHECK(error && strstr(error, "\n... 227 more ...\n"));
        uint32_t lines = 0;
        for (const char *at = error; at && *at; at++) lines += *at == '\n';
        CHECK_EQUAL(lines, 1 + 20 + 1 + 10);
    }
    run_end(&run);
}

TEST(a_machine_goes_on_after_an_error) {
    struct text_run run;
    struct run_how how = {.profile = true};
    if (CHECK(run_text(&run, "(Flag@ f) { x = f.off; @(x); };", &how)) && CHECK(run.value)) {
        struct fble_machine *m = run.machine;
        fble_ref on = fble_make_union(m, 2, 0, fble_unit(m));
        fble_ref off = fble_make_union(m, 2, 1, fble_unit(m));
        CHECK(!fble_call(m, run.value, 1, &on) && fble_error(m));
        fble_clear_error(m);
        CHECK(fble_call(m, run.value, 1, &off) && !fble_error(m));
    }
    run_end(&run);
}
