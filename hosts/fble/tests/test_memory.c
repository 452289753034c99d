// SPDX-License-Identifier: MIT
//
// The collector: what is garbage goes, cycles too, what is alive stays; memory goes back; handles
// are released; deep stacks are not scanned over and over.

#include "run_text.h"

#include "test.h"

#include <string.h>

static int released;

static void release(void *data) {
    (void)data;
    released++;
}

static fble_ref make(fble_machine *m, const fble_ref *arguments) {
    (void)arguments;
    return fble_make_handle(m, &released, release);
}

static void add_make(struct fble_machine *m) {
    fble_register(m, &(fble_foreign){"/Main%", "Make", 1, make, false});
}

TEST(handles_are_released_when_nobody_has_them) {
    struct text_run run;
    struct run_how how = {.prepare = add_make};
    released = 0;
    // The module keeps one of three.
    if (CHECK(run_text(&run,
                       "(U@) { U@; } Make; F = (U@ _) { Make(u); }; a = F(u); b = F(u); "
                       "c = { _ = b; F(u); }; (U@ _) { @(a); };",
                       &how)) &&
        CHECK(run.value)) {
        fble_collect_all(run.machine);
        CHECK_EQUAL(released, 2);
        CHECK_EQUAL(run.machine->handles.count, 1);
    }
    run_end(&run);
    CHECK_EQUAL(released, 3);
}

TEST(cycles_are_collected) {
    struct text_run run;
    struct run_how how = {.options = {.nursery = 4096}};
    const char *text =
        "R@ = *(Flag@ v, R@ n); N@ = +(N@ s, U@ z); N@ z = N@(z: u);\n"
        "(N@, N@) { N@; } DD = (N@ n, N@ to) { n.?(z: to); DD(n.s, N@(s: N@(s: to))); };\n"
        "D = (N@ n) { DD(n, z); }; n = D(D(D(D(D(D(D(D(D(D(D(D(N@(s: z)))))))))))));\n"
        "(N@) { U@; } Loop = (N@ k) { k.?(z: u); R@ a = R@(on, b), R@ b = R@(off, a); "
        "U@ _ = a.n.n.n.v.off; (Flag@) { R@; } F = (Flag@ f) { f.?(on: G(off), off: a); }, "
        "(Flag@) { R@; } G = (Flag@ f) { F(f); }; U@ _ = F(on).n.v.off; Loop(k.s); };\n"
        "Loop(n);";
    if (CHECK(run_text(&run, text, &how)) && CHECK(run.value)) {
        fble_collect_all(run.machine);
        CHECK(run.machine->old.bytes < 150000); // n, and nothing of the rounds
    }
    run_end(&run);
}

TEST(memory_goes_back) {
    struct text_run run;
    struct run_how how = {.profile = false};
    const char *text =
        "N@ = +(*(N@ s, Flag@ f) s, U@ z); N@ z = N@(z: u); (N@, N@) { N@; } DD = (N@ n, N@ to) {\n"
        "n.?(z: to); DD(n.s.s, N@(s: @(s: N@(s: @(s: to, f: on)), f: on))); };\n"
        "D = (N@ n) { DD(n, z); }; K = (N@ n) { D(D(D(D(D(D(D(D(D(D(n)))))))))); };\n"
        "(N@) { U@; } End = (N@ n) { n.?(z: n.z); End(n.s.s); };\n"
        "U@ _ = End(K(D(D(D(D(D(D(D(N@(s: @(s: z, f: on))))))))))); u;";
    if (CHECK(run_text(&run, text, &how)) && CHECK(run.value)) {
        CHECK(run.machine->peak > (size_t)2 << 20);
        fble_collect_all(run.machine);
        CHECK(run.machine->old.bytes < 10000);
        size_t blocks = 0;
        for (struct fble_block *b = run.machine->old.first; b; b = b->next) blocks += b->size;
        CHECK(blocks < 200000);
    }
    run_end(&run);
}

static size_t count_spares(const struct fble_machine *m) {
    size_t count = 0;
    for (struct fble_block *b = m->old.spare; b; b = b->next) count++;
    return count;
}

// 2^18 cells of 24 bytes, which are kept, so a full collection moves them from seven blocks to
// others. Two lists of that size more make 18 MB, of which eight blocks stay when all are dropped.
TEST(full_collections_move_to_spare_blocks) {
    struct text_run run;
    struct run_how how = {.profile = false};
    const char *text =
        "N@ = +(*(N@ s, Flag@ f) s, U@ z); N@ z = N@(z: u); (N@, N@) { N@; } DD = (N@ n, N@ to) {\n"
        "n.?(z: to); DD(n.s.s, N@(s: @(s: N@(s: @(s: to, f: on)), f: on))); };\n"
        "D = (N@ n) { DD(n, z); }; K = (N@ n) { D(D(D(D(D(D(D(D(D(n))))))))); };\n"
        "one = N@(s: @(s: z, f: on)); (U@) { N@; } L = (U@ _) { K(K(one)); };\n"
        "@(a: L(u), b: L(u), c: L(u)).a;";
    if (CHECK(run_text(&run, text, &how)) && CHECK(run.value)) {
        struct fble_machine *m = run.machine;
        fble_collect_all(m);
        size_t bytes = m->old.bytes;
        struct fble_block *spare = m->old.spare;
        CHECK(bytes > (size_t)6 << 20 && count_spares(m) == 8 && m->old.spares == 8);
        fble_collect_all(m);
        bool reused = false;
        for (struct fble_block *b = m->old.first; b; b = b->next) reused |= b == spare;
        CHECK(reused && m->old.bytes == bytes && count_spares(m) == m->old.spares);
    }
    run_end(&run);
}

// Where memory that was forgotten must be noticed, none of it is used again.
TEST(collecting_at_every_turn_keeps_no_spare_blocks) {
    struct text_run run;
    struct run_how how = {.options = {.collect_after = 64}};
    if (CHECK(run_text(&run, "@(on, off).on;", &how)) && CHECK(run.value)) {
        fble_collect_all(run.machine);
        CHECK(!count_spares(run.machine));
    }
    run_end(&run);
}

// A list of 2^20 cells, 24 MB, is dropped; the rounds after it keep nothing, so the old part
// does not grow any more.
TEST(memory_goes_back_to_a_program_that_keeps_nothing) {
    struct text_run run;
    struct run_how how = {.options = {.nursery = 65536}};
    const char *text =
        "N@ = +(*(N@ s, Flag@ f) s, U@ z); N@ z = N@(z: u); (N@, N@) { N@; } DD = (N@ n, N@ to) {\n"
        "n.?(z: to); DD(n.s.s, N@(s: @(s: N@(s: @(s: to, f: on)), f: on))); };\n"
        "D = (N@ n) { DD(n, z); }; K = (N@ n) { D(D(D(D(D(D(D(D(n)))))))); };\n"
        "(N@) { U@; } End = (N@ n) { n.?(z: n.z); End(n.s.s); }; one = N@(s: @(s: z, f: on));\n"
        "U@ _ = End(K(K(D(D(D(D(one))))))); n = K(D(D(D(D(one))))); (N@, N@) { U@; } Rounds =\n"
        "(N@ a, N@ b) { a.?(z: u); b.?(z: Rounds(a.s.s, n));\n"
        "P = @(a, b, c: a, d: b, e: a, f: b, g: a, h: b); Rounds(P.a, P.b.s.s); };\n"
        "Rounds(K(D(D(one))), n);";
    if (CHECK(run_text(&run, text, &how)) && CHECK(run.value)) {
        CHECK(run.machine->peak > (size_t)24 << 20);
        CHECK(run.machine->old.bytes <= (size_t)4 << 20);
    }
    run_end(&run);
}

// With a stack of 2^17 frames and a collection every few hundred bytes, scanning all of it each
// time would take 10^10 steps and never end.
TEST(deep_stacks_are_scanned_once) {
    struct text_run run;
    struct run_how how = {.options = {.nursery = 512}};
    const char *text =
        "N@ = +(N@ s, U@ z); N@ z = N@(z: u); (N@, N@) { N@; } DD = (N@ n, N@ to) {\n"
        "n.?(z: to); DD(n.s, N@(s: N@(s: to))); }; D = (N@ n) { DD(n, z); };\n"
        "K = (N@ n) { D(D(D(D(D(D(D(D(n)))))))); };\n"
        "(N@) { N@; } Copy = (N@ n) { n.?(z: n); N@ r = Copy(n.s); P = @(r, n); N@(s: P.r); };\n"
        "Copy(D(K(K(N@(s: z)))));";
    if (CHECK(run_text(&run, text, &how))) CHECK(run.value && run.machine->collections > 1000);
    run_end(&run);
}

static void add_threads(struct fble_machine *m) { fble_register_threads(m, "/Main%"); }

// Two threads that keep values while they wait, and collect in turns.
TEST(threads_that_wait_keep_what_they_need) {
    const char *text =
        "N@ = +(N@ s, U@ z); N@ z = N@(z: u); (N@, N@) { N@; } DD = (N@ n, N@ to) {\n"
        "n.?(z: to); DD(n.s, N@(s: N@(s: to))); }; D = (N@ n) { DD(n, z); };\n"
        "(N@, N@) { U@; } Same = (N@ a, N@ b) { a.?(z: b.z); Same(a.s, b.s); };\n"
        "T@ = *(U@ a, U@ b); L@ = *((U@) { N@; } get, (N@, U@) { U@; } put); (U@) { L@; } Link;\n"
        "((U@) { U@; }, U@) { T@; } Fork; (T@, U@) { U@; } Wait; in = Link(u); out = Link(u);\n"
        "(N@) { U@; } Echo = (N@ left) { left.?(z: u); N@ keep = D(D(D(D(N@(s: z))))); N@ n = "
        "in.get(u); U@ _ = out.put(D(n), u); N@ m = in.get(u); U@ _ = Same(D(n), m); U@ _ = "
        "Same(keep, D(D(D(D(N@(s: z)))))); Echo(left.s); };\n"
        "(N@, N@) { U@; } Ask = (N@ left, N@ k) { left.?(z: u); N@ big = D(D(k)); U@ _ = "
        "in.put(big, "
        "u); N@ got = out.get(u); U@ _ = Same(D(big), got); U@ _ = in.put(got, u); Ask(left.s, k); "
        "};\n"
        "n = D(D(D(D(D(N@(s: z)))))); t = Fork((U@ _) { Echo(n); }, u); U@ _ = Ask(n, n); Wait(t, "
        "u);";
    for (int way = 0; way < 4; way++) {
        struct text_run run;
        struct run_how how = {.prepare = add_threads, .options = {.nursery = 700u << 2 * way}};
        if (way == 3) how.options = (fble_machine_options){.collect_after = 1};
        if (CHECK(run_text(&run, text, &how)) && !CHECK(run.value))
            fputs(fble_error(run.machine), stderr);
        run_end(&run);
    }
}

TEST(a_literal_larger_than_the_nursery_is_built) {
    struct fble_arena arena = {0};
    struct fble_text text = {.arena = &arena};
    fble_add_string(&text, "B@ = +(U@ 0, U@ 1); L@ = +(*(B@ h, L@ t) c, U@ n); F = (L@ l) { l; };\n"
                           "(L@) { U@; } End = (L@ l) { l.?(n: u); End(l.c.t); }; End(F|");
    for (int i = 0; i < 100000; i++) fble_add_string(&text, i % 3 ? "0" : "1");
    fble_add_string(&text, ");");
    struct text_run run;
    struct run_how how = {.options = {.nursery = 4096}};
    if (CHECK(run_text(&run, text.at, &how))) CHECK(run.value);
    run_end(&run);
    fble_arena_free(&arena);
}

TEST(long_lists_of_expressions_are_built) {
    struct fble_arena arena = {0};
    struct fble_text text = {.arena = &arena};
    fble_add_string(&text, "L@ = +(*(Flag@ h, L@ t) c, U@ n); F = (L@ l) { l; };\n"
                           "(L@, L@) { U@; } Same = (L@ a, L@ b) { a.?(n: b.n); "
                           "a.c.h.?(on: Same(a.c.t, { U@ _ = b.c.h.on; b.c.t; }), "
                           "off: Same(a.c.t, { U@ _ = b.c.h.off; b.c.t; })); };\n l = F[");
    for (int i = 0; i < 1700; i++)
        fble_add_string(&text, i % 7 ? i ? ", on" : "on" : i ? ", off" : "off");
    fble_add_string(&text, "]; Same(l, F[");
    for (int i = 0; i < 1700; i++) fble_add_string(&text, i % 7 ? ", on" : i ? ", off" : "off");
    fble_add_string(&text, "]);");
    struct text_run run;
    struct run_how how = {.options = {.collect_after = 1}};
    if (CHECK(run_text(&run, text.at, &how)) && !CHECK(run.value))
        fputs(fble_error(run.machine), stderr);
    run_end(&run);
    fble_arena_free(&arena);
}
