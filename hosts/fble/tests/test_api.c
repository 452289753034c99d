// SPDX-License-Identifier: MIT
//
// The C API: values made and taken apart, functions in C, errors. Everything is done a second time
// with a collection at every allocation, so that a value that nobody holds would be seen.

#include "run_text.h"

#include "test.h"

#include <stdlib.h>
#include <string.h>

#define BOTH(m, ...)                                                                        \
    for (int both = 0; both < 2; both++) {                                                  \
        fble_machine *m = fble_machine_new(&(fble_machine_options){.collect_after = both}); \
        __VA_ARGS__;                                                                        \
        fble_machine_free(m);                                                               \
    }

TEST(structs_keep_their_fields) {
    BOTH(m, {
        fble_ref fields[3] = {fble_make_int(m, 1000000), fble_make_int(m, -1),
                              fble_make_int(m, INT64_MAX / 3)};
        fble_ref value = fble_make_struct(m, 3, fields);
        fble_ref one = fble_make_struct(m, 1, fields + 2);
        fble_ref small = fble_make_struct(m, 1, fields + 1);
        int64_t n[5];
        for (uint32_t i = 0; i < 3; i++)
            CHECK(fble_get_int(m, fble_get_field(m, value, 3, i), n + i));
        CHECK(fble_get_int(m, fble_get_field(m, one, 1, 0), n + 3));
        CHECK(fble_get_int(m, fble_get_field(m, small, 1, 0), n + 4));
        CHECK(n[0] == 1000000 && n[1] == -1 && n[2] == INT64_MAX / 3);
        CHECK(n[3] == INT64_MAX / 3 && n[4] == -1);
    });
}

TEST(unions_keep_tag_and_payload_however_deep) {
    BOTH(m, {
        fble_ref value = fble_unit(m);
        for (uint32_t i = 0; i < 100; i++) value = fble_make_union(m, 2 + i % 7, i % 2, value);
        for (uint32_t i = 100; i-- > 0;) {
            CHECK_EQUAL(fble_get_tag(m, value, 2 + i % 7), i % 2);
            value = fble_get_payload(m, value, 2 + i % 7);
        }
        CHECK_EQUAL(m->refs[value], FBLE_UNIT);
    });
}

TEST(a_union_of_one_tag_is_no_riddle) {
    BOTH(m, {
        fble_ref inner = fble_make_union(m, 1, 0, fble_unit(m));
        fble_ref outer = fble_make_union(m, 300, 299, inner);
        CHECK_EQUAL(fble_get_tag(m, outer, 300), 299);
        CHECK_EQUAL(fble_get_tag(m, fble_get_payload(m, outer, 300), 1), 0);
    });
}

TEST(integers_of_all_sizes_survive) {
    BOTH(m, {
        for (int bit = 0; bit < 62; bit++)
            for (int64_t d = -1; d <= 1; d++)
                for (int sign = -1; sign <= 1; sign += 2) {
                    int64_t n = sign * (((int64_t)1 << bit) + d), got = 0;
                    uint32_t mark = fble_mark(m);
                    CHECK(fble_get_int(m, fble_make_int(m, n), &got) && got == n);
                    fble_release(m, mark);
                }
    });
}

TEST(strings_are_utf8) {
    BOTH(m, {
        const char text[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z";
        size_t length;
        char *got = fble_get_string(m, fble_make_string(m, text, sizeof text - 1), &length);
        CHECK_TEXT(got, text);
        CHECK_EQUAL(length, sizeof text - 1);
        free(got);
        // What is not UTF-8 is taken byte by byte.
        got = fble_get_string(m, fble_make_string(m, "\xff\xc3(\xed", 4), &length);
        CHECK_TEXT(got, "\xc3\xbf\xc3\x83(\xc3\xad");
        free(got);
    });
}

static fble_ref add(fble_machine *m, const fble_ref *a) {
    int64_t x, y;
    if (!fble_get_int(m, a[0], &x) || !fble_get_int(m, a[1], &y)) return fble_fail(m, "too large");
    return fble_make_int(m, x + y);
}

TEST(functions_in_c_are_called_with_any_portions_of_arguments) {
    BOTH(m, {
        fble_ref function = fble_make_function(m, "add", 2, add, OURO_PHANTOM);
        fble_ref numbers[2] = {fble_make_int(m, 40), fble_make_int(m, 2)};
        int64_t n = 0;
        CHECK(fble_get_int(m, fble_call(m, function, 2, numbers), &n) && n == 42);
        fble_ref partial = fble_call(m, function, 1, numbers);
        CHECK(fble_get_int(m, fble_call(m, partial, 1, numbers), &n) && n == 80);
    });
}

// Calls back, deeply: each level is a run of its own.
static fble_ref count_down(fble_machine *m, const fble_ref *a) {
    int64_t n;
    fble_get_int(m, a[1], &n);
    if (!n) return fble_make_int(m, 7);
    fble_ref arguments[2] = {a[0], fble_make_int(m, n - 1)};
    fble_ref result = fble_call(m, a[0], 2, arguments);
    CHECK(fble_get_int(m, a[1], &n)); // still the same
    return result;
}

TEST(functions_in_c_call_back) {
    BOTH(m, {
        fble_ref function = fble_make_function(m, "down", 2, count_down, OURO_PHANTOM);
        fble_ref arguments[2] = {function, fble_make_int(m, 200)};
        int64_t n = 0;
        CHECK(fble_get_int(m, fble_call(m, function, 2, arguments), &n) && n == 7);
    });
}

TEST(functions_in_c_that_call_back_without_end_fail) {
    BOTH(m, {
        fble_ref function = fble_make_function(m, "down", 2, count_down, OURO_PHANTOM);
        fble_ref arguments[2] = {function, fble_make_int(m, 1000000)};
        CHECK(!fble_call(m, function, 2, arguments));
        CHECK(fble_error(m) && strstr(fble_error(m), "levels deep"));
        fble_clear_error(m);
        int64_t n = 0;
        fble_ref again[2] = {function, fble_make_int(m, 20)};
        CHECK(fble_get_int(m, fble_call(m, function, 2, again), &n) && n == 7);
    });
}

static fble_ref refuse(fble_machine *m, const fble_ref *a) {
    (void)a;
    return fble_fail(m, "no %s", "way");
}

static fble_ref nothing(fble_machine *m, const fble_ref *a) {
    (void)m;
    (void)a;
    return 0;
}

TEST(functions_in_c_fail) {
    BOTH(m, {
        fble_ref function = fble_make_function(m, "refuse", 1, refuse, OURO_PHANTOM),
                 u = fble_unit(m);
        CHECK(!fble_call(m, function, 1, &u));
        CHECK_TEXT(fble_error(m), "error: no way\n");
        fble_clear_error(m);
        function = fble_make_function(m, "nothing", 1, nothing, OURO_PHANTOM);
        CHECK(!fble_call(m, function, 1, &u) && fble_error(m));
    });
}

static fble_ref make_true(fble_machine *m, const fble_ref *a) {
    (void)a;
    return fble_make_union(m, 2, 0, fble_unit(m));
}

static fble_ref swap(fble_machine *m, const fble_ref *a) {
    return fble_make_union(m, 2, 1 - (uint32_t)fble_get_tag(m, a[0], 2), fble_unit(m));
}

static fble_ref wrap(fble_machine *m, const fble_ref *a) { return fble_make_union(m, 2, 0, a[0]); }

static void add_foreign(struct fble_machine *m) {
    fble_register(m, &(fble_foreign){"/Main%", "Not", 1, refuse, false});
    fble_register(m, &(fble_foreign){"/Main%", "Not", 1, swap, false}); // replaces it
    fble_register(m, &(fble_foreign){"/Main%", "Just", 1, wrap, false});
    fble_register(m, &(fble_foreign){"/Main%", "True", 0, make_true, false});
    fble_register(m, &(fble_foreign){"/Other%", "False", 0, make_true, false});
}

TEST(foreign_values_are_found_by_module_and_name) {
    for (int way = 0; way < 3; way++) {
        struct text_run run;
        struct run_how how = {
            .prepare = add_foreign, .profile = way == 1, .options = {.collect_after = way == 2}};
        const char *text =
            "(Flag@) { Flag@; } Not; Flag@ True; M@ = <@ T@> { +(T@ just, U@ none); };\n"
            "<@ T@>(T@) { M@<T@>; } Just; U@ _ = Not(True).off; U@ _ = Not(Not(on)).on;\n"
            "S@ = *(Flag@ a, Flag@ b); Just(S@(on, True)).just.b.on;";
        if (CHECK(run_text(&run, text, &how)) && !CHECK(run.value))
            fputs(fble_error(run.machine), stderr);
        run_end(&run);
    }
    struct text_run run;
    struct run_how how = {.prepare = add_foreign};
    if (CHECK(run_text(&run, "Flag@ False; False;", &how)))
        CHECK(fble_error(run.machine) && strstr(fble_error(run.machine), "Main.fble:2:7: error"));
    run_end(&run);
}

static void add_callback(struct fble_machine *m) {
    fble_register_threads(m, "/Main%");
    fble_register(m, &(fble_foreign){"/Main%", "Down", 2, count_down, false});
    fble_register(m, &(fble_foreign){"/Main%", "Swap", 1, swap, false});
}

static fble_ref call_it(fble_machine *m, const fble_ref *a) {
    fble_ref u = fble_unit(m);
    return fble_call(m, a[0], 1, &u);
}

static void add_call_it(struct fble_machine *m) {
    add_callback(m);
    fble_register(m, &(fble_foreign){"/Main%", "CallIt", 1, call_it, false});
}

TEST(what_c_calls_cannot_wait) {
    struct text_run run;
    struct run_how how = {.prepare = add_call_it};
    if (CHECK(run_text(&run,
                       "L@ = *((U@) { Flag@; } get, (Flag@, U@) { U@; } put); (U@) { L@; } Link; "
                       "((U@) { Flag@; }) { Flag@; } CallIt;\n l = Link(u); x = CallIt(l.get); x;",
                       &how)))
        CHECK(fble_error(run.machine) && strstr(fble_error(run.machine), "cannot wait"));
    run_end(&run);
}
