// SPDX-License-Identifier: MIT
//
// Runs files of test programs for real: test_run FILE.cases... Those without compile errors are
// evaluated in several ways, which must not make a difference: with the usual collector, with
// thousands of small collections, with a full one at every allocation, and with profiles of both
// kinds. A profile must count exactly the instructions that ran.

#include "cases.h"
#include "run/measure.h"
#include "run_text.h"
#include "syntax/parser.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    struct run_how how;
    bool thorough; // takes too long on deep stacks
} ways[] = {
    {"plain", {.profile = false}, false},
    {"small nursery", {.options = {.nursery = 2048}}, false},
    {"collect always", {.options = {.collect_after = 1}}, true},
    {"profile", {.profile = true}, false},
    {"profile all", {.profile = true, .all_blocks = true}, false},
    {"profile, small nursery", {.options = {.nursery = 1024}, .profile = true}, false},
};

static bool fail(const struct test_case *test, const char *way, const char *what,
                 const char *detail) {
    fprintf(stderr, "%s, %s: %s %s\n", test->name, way, what, detail ? detail : "");
    return false;
}

// "error" lines have the location; only the first counts.
static bool right_location(const struct test_case *test, const char *error) {
    char location[64];
    const char *line = strstr(error, ": error: ");
    snprintf(location, sizeof location, ":%s", test->expected + strlen("fails "));
    size_t length = strlen(location);
    return line && (size_t)(line - error) > length && !strncmp(line - length, location, length);
}

static bool right_instructions(const struct text_run *run) {
    if (!run->profile || fble_error(run->machine)) return true;
    return ouro_profile_stats(run->profile).totals[0] == run->machine->executed;
}

static bool check_memory(const struct test_case *test, struct text_run *run, const char *way) {
    size_t small, large;
    bool growth = !strcmp(test->expected, "growth");
    if (!fble_measure(run->machine, run->value, 200, &small) ||
        !fble_measure(run->machine, run->value, 400, &large))
        return fail(test, way, "fails:", fble_error(run->machine));
    if ((large >= small + 1000) == growth) return true;
    fprintf(stderr, "%zu and %zu bytes\n", small, large);
    return fail(test, way, "does not have memory's", test->expected);
}

static bool check_run(const struct test_case *test, struct text_run *run, const char *way) {
    const char *error = fble_error(run->machine);
    if (!strncmp(test->expected, "fails", 5)) {
        if (!error) return fail(test, way, "does not fail", NULL);
        return right_location(test, error) || fail(test, way, "fails elsewhere:", error);
    }
    // Cases about warnings may declare what nobody supplies.
    if (error && !strncmp(test->expected, "warning", 7) && strstr(error, "foreign value"))
        return true;
    if (error) return fail(test, way, "fails:", error);
    if (!right_instructions(run)) return fail(test, way, "wrong number of instructions", NULL);
    return true;
}

static bool load(struct text_run *run, const char *where) {
    *run = (struct text_run){0};
    fble_program_start(&run->program);
    fble_program_search(&run->program, where);
    fble_program_load(&run->program,
                      fble_parse_path(&run->program.arena, &run->program.words, "/Main%"));
    return fble_program_check(&run->program);
}

static bool run_way(const struct test_case *test, const char *where, const char *name,
                    const struct run_how *how, bool memory) {
    struct text_run run;
    bool good = true;
    if (load(&run, where)) {
        run_program(&run, how);
        good = memory ? run.value && check_memory(test, &run, name) : check_run(test, &run, name);
    }
    run_end(&run);
    return good;
}

static bool run_case(const struct test_case *test) {
    char where[] = "/tmp/fble-run-XXXXXX";
    if (!mkdtemp(where) || !cases_write(test, where))
        return fail(test, "files", "cannot write", where);
    bool good = true, deep = !strcmp(test->name, "D01");
    bool memory = !strcmp(test->expected, "constant") || !strcmp(test->expected, "growth");
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (!deep || !ways[i].thorough)
            good &= run_way(test, where, ways[i].name, &ways[i].how, false);
    struct run_how measured = {.options = {.collect_after = FBLE_MEASURE_STEP}};
    if (memory) good &= run_way(test, where, "measured", &measured, true);
    cases_remove(test, where);
    return good;
}

int main(int argc, char **argv) {
    struct fble_arena arena = {0};
    int failures = 0;
    setvbuf(stdout, NULL, _IOLBF, 0); // so that a case without an end is seen
    for (int i = 1; i < argc; i++) {
        struct test_case *test = cases_read(&arena, argv[i]);
        if (!test) failures++;
        for (; test; test = test->next) {
            if (test->alone || !strncmp(test->expected, "error", 5) ||
                !strcmp(test->expected, "endless"))
                continue;
            bool good = run_case(test);
            printf("%s %s runs\n", good ? "ok" : "not ok", test->name);
            failures += !good;
        }
    }
    fble_arena_free(&arena);
    return failures > 0;
}
