// SPDX-License-Identifier: MIT
//
// Calls: random programs that pass arguments in all possible portions, recursion that is millions
// deep, tail calls that go on for millions of steps. Nothing here may depend on the C stack.

#include "run_text.h"

#include "test.h"

#include <string.h>

// A chain of literals with statements in between is several functions. `parts` are their arities.
static void add_function(struct fble_text *text, const uint32_t *parts, uint32_t count) {
    uint32_t n = 0;
    fble_add_string(text, "F = ");
    for (uint32_t p = 0; p < count; p++) {
        fble_add_string(text, "(");
        for (uint32_t i = 0; i < parts[p]; i++, n++)
            fble_add_string(text, fble_format(text->arena, "%sFlag@ a%u", i ? ", " : "", n));
        fble_add_string(text, p + 1 < count ? fble_format(text->arena, ") { y%u = a%u; ", p, n - 1)
                                            : ") { @(");
    }
    for (uint32_t i = 0; i < n; i++)
        fble_add_string(text, fble_format(text->arena, "%sa%u", i ? ", " : "", i));
    for (uint32_t p = 0; p + 1 < count; p++)
        fble_add_string(text, fble_format(text->arena, ", y%u", p));
    fble_add_string(text, "); }");
    for (uint32_t p = 0; p + 1 < count; p++) fble_add_string(text, "; }");
    fble_add_string(text, ";\n");
}

static void add_values(struct fble_text *text, const bool *values, uint32_t n, bool first) {
    for (uint32_t i = 0; i < n; i++) {
        if (i || !first) fble_add_string(text, ", ");
        fble_add_string(text, values[i] ? "on" : "off");
    }
}

// Applies g to some values by a tail call, while others wait for the result: in T by tail calls
// too, or where T is called. Gives the number of all.
static uint32_t add_tail(struct fble_text *text, uint32_t step, const bool *values, uint32_t n) {
    uint32_t some = 1 + random_below(n), more = random_below(n - some + 1);
    uint32_t most = random_below(n - some - more + 1);
    fble_add_string(text, fble_format(text->arena, "S%u = (U@ _) { g%u(", step, step));
    add_values(text, values, some, true);
    fble_add_string(text, fble_format(text->arena, "); }; T%u = (U@ _) { S%u(u", step, step));
    add_values(text, values + some, more, false);
    fble_add_string(text, fble_format(text->arena, "); }; g%u = T%u(u", step + 1, step));
    add_values(text, values + some + more, most, false);
    fble_add_string(text, ");\n");
    return some + more + most;
}

// Applies F step by step through variables, so that partial applications are made, or inside of
// functions, so that they are tail calls.
static void add_calls(struct fble_text *text, const bool *values, uint32_t n) {
    fble_add_string(text, "g0 = F;\n");
    uint32_t step = 0;
    for (uint32_t done = 0; done < n; step++) {
        if (random_below(2)) {
            done += add_tail(text, step, values + done, n - done);
            continue;
        }
        uint32_t some = 1 + random_below(n - done);
        fble_add_string(text, fble_format(text->arena, "g%u = g%u(", step + 1, step));
        add_values(text, values + done, some, true);
        fble_add_string(text, ");\n");
        done += some;
    }
    fble_add_string(text, fble_format(text->arena, "r = g%u;\n", step));
    for (uint32_t i = 0; i < n; i++)
        fble_add_string(text,
                        fble_format(text->arena, "U@ _ = r.a%u.%s; ", i, values[i] ? "on" : "off"));
    fble_add_string(text, "r;");
}

static void random_program(struct fble_text *text, uint32_t most) {
    uint32_t parts[4], count = 1 + random_below(4), n = 0;
    bool values[400];
    for (uint32_t p = 0; p < count; p++) n += parts[p] = 1 + random_below(most);
    for (uint32_t i = 0; i < n; i++) values[i] = random_below(2);
    add_function(text, parts, count);
    add_calls(text, values, n);
}

static void runs_well(const char *text, const struct run_how *how) {
    struct text_run run;
    if (CHECK(run_text(&run, text, how)) && !CHECK(run.value != 0))
        fprintf(stderr, "%s\n%s", text, fble_error(run.machine));
    if (run.profile && run.value)
        CHECK_EQUAL(ouro_profile_stats(run.profile).totals[0], run.machine->executed);
    run_end(&run);
}

TEST(arguments_may_come_in_any_portions) {
    for (int i = 0; i < 300; i++) {
        struct fble_arena arena = {0};
        struct fble_text text = {.arena = &arena};
        random_program(&text, i % 50 == 0 ? 90 : 5);
        struct run_how how = {.profile = i % 3 == 1,
                              .all_blocks = i % 2,
                              .options = {.collect_after = i % 3 == 2 ? 1 : 0}};
        runs_well(text.at, &how);
        fble_arena_free(&arena);
        if (test_failures()) break;
    }
}

// More arguments than a call can have at once.
TEST(six_hundred_arguments_arrive) {
    for (int way = 0; way < 2; way++) {
        struct fble_arena arena = {0};
        struct fble_text text = {.arena = &arena};
        uint32_t parts[] = {600};
        bool values[600];
        for (uint32_t i = 0; i < 600; i++) values[i] = random_below(2);
        add_function(&text, parts, 1);
        fble_add_string(&text, "r = F(");
        for (uint32_t i = 0; i < 600; i++) {
            fble_add_string(&text, i ? ", " : "");
            fble_add_string(&text, values[i] ? "on" : "off");
        }
        fble_add_string(&text, ");\n");
        for (uint32_t i = 0; i < 600; i++)
            fble_add_string(&text,
                            fble_format(&arena, "U@ _ = r.a%u.%s; ", i, values[i] ? "on" : "off"));
        fble_add_string(&text, "r;");
        runs_well(text.at, &(struct run_how){.options = {.collect_after = way ? 1 : 0}});
        fble_arena_free(&arena);
    }
}

// A number n is n bits of `s`; D doubles it.
#define NUMBERS                                                                         \
    "N@ = +(N@ s, U@ z); N@ one = N@(s: N@(z: u));\n"                                   \
    "(N@, N@) { N@; } DD = (N@ n, N@ to) { n.?(z: to); DD(n.s, N@(s: N@(s: to))); };\n" \
    "D = (N@ n) { DD(n, N@(z: u)); };\n"                                                \
    "K = (N@ n) { D(D(D(D(D(D(D(D(D(D(n)))))))))); };\n"

TEST(recursion_is_as_deep_as_memory) {
    // 2^21 calls that all wait.
    runs_well(NUMBERS "(N@) { N@; } Copy = (N@ n) { n.?(z: n); N@(s: Copy(n.s)); };\n"
                      "(N@) { U@; } End = (N@ n) { n.?(z: n.z); End(n.s); };\n"
                      "End(Copy(D(K(K(one)))));",
              &(struct run_how){.profile = false});
    runs_well(NUMBERS "(N@) { N@; } Copy = (N@ n) { n.?(z: n); N@(s: Copy(n.s)); };\n"
                      "Copy(K(K(one)));",
              &(struct run_how){.profile = true});
}

TEST(tail_calls_take_neither_stack_nor_heap) {
    struct text_run run;
    struct run_how how = {.options = {.nursery = 65536}};
    const char *text =
        NUMBERS "(N@, N@) { U@; } Down = (N@ n, N@ m) { n.?(z: m.?(s: Down(K(one), m.s), z: u)); "
                "(Flag@) { U@; } L = (Flag@ f) { f.?(on: L(off), off: Down(n.s, m)); }; L(on); };\n"
                "Down(one, K(one));"; // 2^20 rounds, each with a function that captures
    if (CHECK(run_text(&run, text, &how)) && CHECK(run.value)) {
        CHECK(run.machine->stack_bytes < 100000);
        fble_collect_all(run.machine);
        CHECK(run.machine->old.bytes < 1000000);
        CHECK(run.machine->collections > 10);
    }
    run_end(&run);
}

// Bytes that the program allocates. It does not collect.
static size_t bytes_of(const char *text, bool profile) {
    struct text_run run;
    size_t bytes = 0;
    struct run_how how = {.profile = profile, .options = {.nursery = 1 << 20}};
    if (CHECK(run_text(&run, text, &how)) && CHECK(run.value) && CHECK(!run.machine->collections))
        bytes = (size_t)(run.machine->hp - run.machine->nursery);
    run_end(&run);
    return bytes;
}

// F takes three arguments and gets one or two by a tail call, while the others wait for its caller:
// after a call, after a tail call, and for a caller in between. Numbers are immediate, so the
// rounds allocate nothing.
TEST(a_function_that_gets_the_rest_of_its_arguments_at_once_is_no_object) {
    static const char *const rounds[] = {
        "(N@) { N@; } Go = (N@ n) { n.?(z: n); N@ m = G(n, n.s, n); Go(m); };",
        "(N@) { N@; } Go = (N@ n) { n.?(z: n); N@ m = H(n, n.s, n); Go(m); };",
        "(N@) { N@; } Go = (N@ n) { n.?(z: n); N@ m = L(n, n, n.s, n); Go(m); };",
        "(N@) { N@; } Go = (N@ n) { n.?(z: n); Next(n, n.s, n); }, "
        "(N@, N@, N@) { N@; } Next = (N@ n) { Tail(n); }, "
        "(N@, N@, N@) { N@; } Tail = (N@ _, N@ b, N@ _) { Go(b); };",
        "(N@) { N@; } Go = (N@ n) { n.?(z: n); Next(n, n, n.s, n); }, "
        "(N@, N@, N@, N@) { N@; } Next = (N@ n) { More(n); }, "
        "(N@, N@, N@, N@) { N@; } More = (N@ _n, N@ m) { Tail(m); }, "
        "(N@, N@, N@) { N@; } Tail = (N@ _, N@ b, N@ _) { Go(b); };",
    };
    for (size_t i = 0; i < sizeof rounds / sizeof *rounds; i++)
        for (int profile = 0; profile < 2; profile++) {
            size_t bytes[2];
            for (int more = 0; more < 2; more++) {
                struct fble_arena arena = {0};
                bytes[more] = bytes_of(
                    fble_format(&arena,
                                NUMBERS
                                "F = (N@ _, N@ b, N@ _) { b; }; G = (N@ n) { F(n); };\n"
                                "H = (N@ n, N@ m) { F(n, m); }; L = (N@ _, N@ m) { G(m); };\n"
                                "n = D(D(D(one))); n2 = D(D(n)); %s\nGo(%s);",
                                rounds[i], more ? "n2" : "n"),
                    profile);
                fble_arena_free(&arena);
            }
            CHECK_EQUAL(bytes[1], bytes[0]);
        }
}

TEST(long_lists_are_collected_without_recursion) {
    runs_well(NUMBERS "x = K(K(one)); y = K(K(one)); @(x, y);",
              &(struct run_how){.options = {.nursery = 8192}});
}
