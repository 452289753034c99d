// SPDX-License-Identifier: MIT
//
// Runs files of test programs: test_cases FILE.cases... For each case the messages must be the
// expected ones, at the expected locations, and every file that parses must survive printing:
// parse(print(parse(x))) = parse(x).

#include "cases.h"
#include "one_file.h"
#include "syntax/parser.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static bool fail(const struct test_case *test, const char *what, const char *detail) {
    fprintf(stderr, "%s: %s%s\n", test->name, what, detail);
    return false;
}

// " error 2:5 error 1:1@A.fble": what was reported, in the form of EXPECTED.
static const char *reported(struct fble_program *program, enum fble_severity severity,
                            const char *where) {
    struct fble_text text = {.arena = &program->arena};
    for (struct fble_diagnostic *d = program->diagnostics.first; d; d = d->next) {
        if (d->severity != severity) continue;
        const char *file = d->unit->file;
        if (!strncmp(file, where, strlen(where))) file += strlen(where) + 1;
        fble_add_string(&text, text.length ? " " : "");
        fble_add_string(&text, fble_format(&program->arena, "%s %u:%u",
                                           severity == FBLE_ERROR ? "error" : "warning",
                                           d->loc.line, d->loc.column));
        if (!strcmp(file, "Main.fble")) continue;
        fble_add_string(&text, "@");
        fble_add_string(&text, file);
    }
    return text.at ? text.at : "";
}

static bool check_places(struct fble_program *program, const struct test_case *test,
                         const char *where) {
    const char *errors = reported(program, FBLE_ERROR, where);
    const char *warnings = reported(program, FBLE_WARNING, where);
    if (!strncmp(test->expected, "error", 5))
        return !strcmp(errors, test->expected) || fail(test, "reported are ", errors);
    if (*errors) return fail(test, "unexpected ", errors);
    static const char *const at_run_time[] = {"ok", "fails", "constant", "growth", "endless"};
    for (int i = 0; i < 5; i++)
        if (!strncmp(test->expected, at_run_time[i], strlen(at_run_time[i]))) return true;
    const char *wanted = strcmp(test->expected, "clean") ? test->expected : "";
    return !strcmp(warnings, wanted) || fail(test, "warnings are ", warnings);
}

static bool check_texts(struct fble_program *program, const struct test_case *test) {
    char *shown = NULL;
    size_t length = 0;
    FILE *memory = open_memstream(&shown, &length);
    if (!memory) return fail(test, "no memory", "");
    fble_diagnostics_print(&program->diagnostics, memory);
    fclose(memory);
    bool good = true;
    for (uint32_t i = 0; i < test->says.count; i++)
        if (!strstr(shown, test->says.at[i])) good = fail(test, "not said: ", test->says.at[i]);
    if (!good) fputs(shown, stderr);
    free(shown);
    return good;
}

static bool survives(struct fble_program *program, const struct test_case *test,
                     const struct fble_unit *unit) {
    return survives_printing(program, unit) || fail(test, "does not survive printing", "");
}

static bool check_printing(struct fble_program *program, const struct test_case *test) {
    bool good = true;
    for (uint32_t i = 0; i < program->modules.count; i++) {
        struct fble_module *module = program->modules.at[i];
        good &= survives(program, test, module->value) && survives(program, test, module->header);
    }
    return good;
}

static bool run(const struct test_case *test) {
    char where[] = "/tmp/fble-cases-XXXXXX";
    if (!mkdtemp(where) || !cases_write(test, where)) return fail(test, "cannot write files", "");
    struct fble_program program;
    fble_program_start(&program);
    fble_program_search(&program, where);
    program.alone = test->alone;
    fble_program_load(&program, fble_parse_path(&program.arena, &program.words, "/Main%"));
    fble_program_check(&program);
    fble_diagnostics_sort(&program.diagnostics);
    bool good = check_places(&program, test, where);
    good &= check_texts(&program, test);
    good &= check_printing(&program, test);
    fble_program_free(&program);
    cases_remove(test, where);
    return good;
}

int main(int argc, char **argv) {
    struct fble_arena arena = {0};
    for (int i = 1; i < argc; i++) {
        struct test_case *test = cases_read(&arena, argv[i]);
        if (!test) failures++;
        for (; test; test = test->next) {
            bool good = run(test);
            printf("%s %s\n", good ? "ok" : "not ok", test->name);
            failures += !good;
        }
    }
    fble_arena_free(&arena);
    return failures > 0;
}
