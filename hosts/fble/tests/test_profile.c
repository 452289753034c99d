// SPDX-License-Identifier: MIT
//
// Profiles: every path and every count of small programs, worked out by hand. A path is written as
// the names of its blocks without the module's, such as "/R/A/B": the module's body is "".

#include "run_text.h"

#include "test.h"

#include <stdlib.h>
#include <string.h>

struct found {
    char *text; // "PATH calls;" in the order of visits
    size_t length;
    FILE *to;
    const ouro_profile *profile;
    bool instructions; // instead of calls
};

static void visit(void *user, const ouro_visit *v) {
    struct found *f = user;
    for (size_t i = 0; i < v->length; i++) {
        ouro_block_info info;
        if (!CHECK(ouro_block_get(f->profile, v->path[i], &info))) return;
        const char *dot = strchr(info.name, '.');
        fprintf(f->to, "%s%s", i ? "/" : "",
                dot                      ? dot + 1
                : strchr(info.name, '%') ? ""
                                         : info.name);
    }
    fprintf(f->to, " %llu", (unsigned long long)(f->instructions ? v->metrics[0] : v->calls));
    if (v->direct && !f->instructions) fprintf(f->to, "(%llu)", (unsigned long long)v->direct);
    fputs("; ", f->to);
}

static char *paths(const struct text_run *run, bool instructions) {
    struct found f = {.profile = run->profile, .instructions = instructions};
    f.to = open_memstream(&f.text, &f.length);
    ouro_profile_visit(run->profile, visit, &f);
    fclose(f.to);
    return f.text;
}

static void add_put(struct fble_machine *m);
static void add_loud_put(struct fble_machine *m);
static void add_twice(struct fble_machine *m);
static void add_threads(struct fble_machine *m) { fble_register_threads(m, "/Main%"); }

static void has_paths(const char *text, const struct run_how *how, const char *wanted) {
    struct text_run run;
    struct run_how with = *how;
    with.profile = true;
    if (CHECK(run_text(&run, text, &with)) && CHECK(run.value != 0)) {
        char *got = paths(&run, false);
        CHECK_TEXT(got, wanted);
        free(got);
        CHECK_EQUAL(ouro_profile_stats(run.profile).totals[0], run.machine->executed);
    } else if (run.machine) {
        fputs(fble_error(run.machine), stderr);
    }
    run_end(&run);
}

TEST(calls_are_counted_by_path) {
    has_paths("G = (Flag@ f) { f; }; F = (Flag@ f) { x = G(f); y = G(x); @(x, y); };\n"
              "a = F(on); b = F(off); c = G(on); @(a, b, c);",
              &(struct run_how){.all_blocks = false}, " 1; /G 1; /F 2; /F/G 4; ");
}

TEST(direct_recursion_stays_at_its_node) {
    has_paths("N@ = +(N@ s, U@ z); (N@) { N@; } F = (N@ n) { n.?(z: n); N@(s: F(n.s)); };\n"
              "F(N@(s: N@(s: N@(s: N@(z: u)))));",
              &(struct run_how){.all_blocks = false}, " 1; /F 4(3); ");
}

static const char rabcd[] =
    "(Flag@) { Flag@; } Put; D = (Flag@ f) { f; };\n"
    "B = (Flag@ f) { Put(f); }; A = (Flag@ f) { x = B(f); y = D(x); @(x, y); "
    "}; R = (Flag@ f) { x = A(f); @(x); }; r = R(on); r;";

TEST(a_tail_call_of_what_is_not_instrumented_returns_to_the_callers_caller) {
    has_paths(rabcd, &(struct run_how){.prepare = add_put},
              " 1; /R 1; /R/A 1; /R/A/D 1; /R/A/B 1; ");
}

TEST(a_tail_call_is_below_its_caller_and_returns_above_it) {
    has_paths(rabcd, &(struct run_how){.prepare = add_loud_put},
              " 1; /R 1; /R/A 1; /R/A/D 1; /R/A/B 1; /R/A/B/ 1; ");
}

TEST(what_is_left_over_is_passed_by_the_caller) {
    has_paths("F = (Flag@ a) { G = (Flag@ b) { @(a, b); }; G; };\n"
              "H = (Flag@ a) { F(a, a); }; x = F(on, off); y = H(on); @(x, y);",
              &(struct run_how){.all_blocks = false}, " 1; /F 1; /F.G 1; /H 1; /H/F 1; /H/F.G 1; ");
}

TEST(partial_applications_are_no_calls) {
    has_paths("F = (Flag@ a, Flag@ b) { @(a, b); }; P = (Flag@ a) { F(a); };\n"
              "g = P(on); x = g(off); y = g(on); @(x, y);",
              &(struct run_how){.all_blocks = false}, " 1; /F 2; /P 1; ");
}

TEST(natives_that_call_back_are_in_between) {
    has_paths("((Flag@) { Flag@; }, Flag@) { Flag@; } Twice; F = (Flag@ f) { f; };\n"
              "G = (Flag@ f) { Twice(F, f); }; x = G(on); x;",
              &(struct run_how){.prepare = add_twice}, " 1; /G 1; /G/ 1; /G//F 2; ");
}

TEST(finer_blocks_are_lets_and_branches) {
    has_paths("F = (Flag@ f) { x = f.?(on: off, off: on); x.?(on: x, off: f); };\n"
              "a = F(on); a;",
              &(struct run_how){.all_blocks = true},
              " 1; /u 1; /on 1; /off 1; /a 1; /a/F! 1; /a/F!/F!.x 1; /a/F!/F!.x/F!.x.on 1; "
              "/a/F!/F!.off 1; ");
}

static const char loop[] =
    "N@ = +(N@ s, U@ z); (N@, N@) { N@; } DD = (N@ n, N@ to) { n.?(z: to); DD(n.s, N@(s: N@(s: "
    "to))); }; D = (N@ n) { DD(n, N@(z: u)); };\n"
    "(N@) { Flag@; } Even = (N@ n) { n.?(z: on); Odd(n.s); }, (N@) { Flag@; } Odd = (N@ n) { "
    "n.?(z: "
    "off); Even(n.s); };\n";

TEST(loops_of_tail_calls_have_a_profile_of_constant_size) {
    uint64_t nodes[2];
    for (int i = 0; i < 2; i++) {
        struct text_run run;
        struct fble_arena arena = {0};
        const char *text =
            fble_format(&arena, "%s x = Even(%s); x.on;", loop,
                        i ? "D(D(D(D(D(D(D(D(D(D(D(D(D(D(D(D(N@(s: N@(z: u))))))))))))))))))"
                          : "D(D(D(D(N@(s: N@(z: u))))))");
        if (CHECK(run_text(&run, text, &(struct run_how){.profile = true})) && CHECK(run.value))
            nodes[i] = ouro_profile_stats(run.profile).nodes;
        run_end(&run);
        fble_arena_free(&arena);
    }
    CHECK_EQUAL(nodes[0], nodes[1]);
}

TEST(instructions_are_the_same_every_time) {
    char *texts[3];
    for (int i = 0; i < 3; i++) {
        struct text_run run;
        struct fble_arena arena = {0};
        const char *text =
            fble_format(&arena, "%s x = Even(D(D(D(D(N@(s: N@(z: u))))))); x.on;", loop);
        // Other collections, and the loop that can do everything.
        struct run_how how = {.profile = true,
                              .options = {.nursery = i ? 1024 : 0, .objects = i == 2 ? 8 : 0}};
        if (CHECK(run_text(&run, text, &how)) && CHECK(run.value)) texts[i] = paths(&run, true);
        CHECK_EQUAL(ouro_profile_stats(run.profile).totals[0], run.machine->executed);
        run_end(&run);
        fble_arena_free(&arena);
    }
    CHECK_TEXT(texts[0], texts[1]);
    CHECK_TEXT(texts[0], texts[2]);
    for (int i = 0; i < 3; i++) free(texts[i]);
}

TEST(a_link_has_the_name_and_place_of_its_maker) {
    has_paths("L@ = *((U@) { Flag@; } get, (Flag@, U@) { U@; } put); (U@) { L@; } Link;\n"
              "Make = (U@ _) { l = Link(u); l; }; F = (L@ l) { U@ _ = l.put(on, u); l.get(u); };\n"
              "l = Make(u); x = F(l); x.on;",
              &(struct run_how){.prepare = add_threads},
              " 1; /Make 1; /Make/ 1; /F 1; /F/Make.get 1; /F/Make.put 1; ");
}

// Threads that are forked everywhere on a deep path cost no more than themselves.
TEST(two_thousand_threads_on_two_thousand_positions) {
    enum { N = 2000 };
    struct fble_arena arena = {0};
    struct fble_text text = {.arena = &arena};
    fble_add_string(&text, "T@ = *(U@ a, U@ b); ((U@) { U@; }, U@) { T@; } Fork; (T@, U@) { U@; } "
                           "Wait;\nWork = (U@ x) { x; };\n");
    fble_add_string(&text, fble_format(&arena, "F%d = (U@ x) { x; };\n", N));
    for (int i = N; i-- > 0;)
        fble_add_string(&text,
                        fble_format(&arena,
                                    "F%d = (U@ x) { t = Fork(Work, x); r = F%d(x); w = Wait(t, "
                                    "x); @(r, w).r; };\n",
                                    i, i + 1));
    fble_add_string(&text, "F0(u);");
    struct text_run run;
    struct run_how how = {.profile = true, .prepare = add_threads, .options = {.nursery = 4096}};
    if (CHECK(run_text(&run, text.at, &how)) && CHECK(run.value)) {
        ouro_stats stats = ouro_profile_stats(run.profile);
        // The root, the module, F0 to F2000; below each of the first 2000: Fork, Work, Wait.
        CHECK_EQUAL(stats.nodes, 1 + 1 + N + 1 + 3 * N);
        CHECK_EQUAL(stats.calls, 1 + N + 1 + 3 * N);
        CHECK(stats.bytes < 4 << 20);
        CHECK_EQUAL(stats.totals[0], run.machine->executed);
    }
    run_end(&run);
    fble_arena_free(&arena);
}

TEST(a_deadlock_is_reported) {
    struct text_run run;
    struct run_how how = {.profile = true, .prepare = add_threads};
    if (CHECK(run_text(&run,
                       "L@ = *((U@) { Flag@; } get, (Flag@, U@) { U@; } put); (U@) { L@; } Link;\n"
                       "l = Link(u); x = l.get(u); x;",
                       &how)))
        CHECK(fble_error(run.machine) && strstr(fble_error(run.machine), "deadlock"));
    run_end(&run);
}

// Swap is called by a native, which makes nothing itself; the module makes d and an application of
// too few arguments.
TEST(objects_are_counted_once_where_they_are_made) {
    struct text_run run;
    struct run_how how = {
        .profile = true, .prepare = add_twice, .options = {.objects = 1, .instructions = 2}};
    if (CHECK(run_text(&run,
                       "Duo@ = *(Flag@ l, Flag@ r); ((Duo@) { Duo@; }, Duo@) { Duo@; } Twice;\n"
                       "Swap = (Duo@ d) { Duo@(d.r, d.l); }; Keep = (Duo@ _, Duo@ d) { d; };\n"
                       "d = Duo@(on, off); e = Twice(Swap, d); p = Keep(d); p(e);",
                       &how))) {
        char *got = paths(&run, true);
        CHECK_TEXT(got, " 2; / 0; //Swap 2; /Keep 0; ");
        free(got);
    }
    run_end(&run);
}

// ---------------------------------------------------------------- natives of these tests

static fble_ref same(fble_machine *m, const fble_ref *arguments) {
    (void)m;
    return arguments[0];
}

static fble_ref twice(fble_machine *m, const fble_ref *arguments) {
    fble_ref once = fble_call(m, arguments[0], 1, arguments + 1);
    return once ? fble_call(m, arguments[0], 1, &once) : 0;
}

static void add_put(struct fble_machine *m) {
    fble_register(m, &(fble_foreign){"/Main%", "Put", 1, same, true});
}

static void add_loud_put(struct fble_machine *m) {
    fble_register(m, &(fble_foreign){"/Main%", "Put", 1, same, false});
}

static void add_twice(struct fble_machine *m) {
    fble_register(m, &(fble_foreign){"/Main%", "Twice", 2, twice, false});
}
