// SPDX-License-Identifier: MIT
//
// fble test: runs the tests of a module, or of all modules of a folder. A module of tests is one
// whose value has the type Tests@ of /Std/Test%. Each is a program of its own, so that one that
// fails to compile or to be evaluated does not keep the others from running. A run-time error in a
// test fails that test only.

#include "command.h"
#include "printable.h"

#include "syntax/parser.h"

#include <stdlib.h>
#include <string.h>

static const char framework[] = "/Std/Test%";

struct testing {
    struct fble_program *program; // of the options, for its search path
    const struct fble_options *options;
    uint32_t passed, failed, left_out;
};

// ---------------------------------------------------------------- which modules

static void start_program(const struct testing *t, struct fble_program *program) {
    const struct fble_list *search = &t->program->search;
    fble_program_start(program);
    for (uint32_t i = 0; i < search->count; i++) fble_program_search(program, search->at[i]);
}

// The type Tests@ as the framework exports it; NULL if it is no part of the program.
static struct fble_type *tests_type(struct fble_program *program) {
    struct fble_path *path = fble_parse_path(&program->arena, &program->words, framework);
    struct fble_name name = {.word = fble_word(&program->arena, &program->words, "Tests", 5),
                             .type = true};
    struct fble_type *type = path->type ? fble_normal(&program->types, path->type) : NULL;
    uint32_t index;
    if (!type || type->kind != FBLE_T_STRUCT) return NULL;
    const struct fble_field *field = fble_find_field(&program->types, type, &name, &index);
    return field && field->type->kind == FBLE_T_TYPEOF ? field->type->inner : NULL;
}

static bool mentions_framework(const struct fble_module *module) {
    const struct fble_mention *m = module && module->value ? module->value->mentions : NULL;
    while (m && strcmp(m->path->text, framework)) m = m->next;
    return m;
}

// One that does not compile counts if it was named, or mentions the framework: it will say why.
static bool has_tests(const struct testing *t, const char *module, bool named) {
    struct fble_program program;
    start_program(t, &program);
    struct fble_path *path = fble_parse_path(&program.arena, &program.words, module);
    bool good = fble_program_load(&program, path), found = named;
    if (!named) found = mentions_framework(path->module);
    if (found && good && fble_program_check(&program)) {
        struct fble_type *wanted = tests_type(&program);
        found = wanted && fble_equal(&program.types, wanted, path->type);
    }
    fble_program_free(&program);
    return found;
}

// The part of the folder's name behind a directory of the search path that it lies below, or NULL.
static const char *inside(struct testing *t, const char *folder) {
    char *real = realpath(folder, NULL);
    const char *best = NULL;
    for (uint32_t i = 0; real && i < t->program->search.count; i++) {
        char *root = realpath(t->program->search.at[i], NULL);
        size_t length = root ? strlen(root) : 0;
        const char *rest = real + length;
        if (root && !strncmp(root, real, length) && (!*rest || *rest == '/') &&
            (!best || strlen(rest) < strlen(best)))
            best = fble_copy(&t->program->arena, rest, strlen(rest));
        free(root);
    }
    free(real);
    return best;
}

static void find_modules(struct testing *t, struct fble_list *modules) {
    const char *folder = t->options->folder, *within = folder ? inside(t, folder) : NULL;
    struct fble_list paths = {0};
    if (folder && !within) fble_program_search(t->program, folder);
    if (folder)
        fble_folder_modules(t->program, folder, within ? within : "", &paths);
    else
        fble_push(&t->program->arena, &paths, t->options->main);
    for (uint32_t i = 0; i < paths.count; i++) {
        const struct fble_path *path = paths.at[i];
        if (has_tests(t, path->text, !folder))
            fble_push(&t->program->arena, modules, (void *)path->text);
    }
}

// ---------------------------------------------------------------- one test

// One line, whatever the text contains.
static void print_line(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        putchar((unsigned char)text[i] < ' ' || text[i] == 127 ? ' ' : text[i]);
    putchar('\n');
}

static void print_indented(const char *text, size_t length) {
    while (length && text[length - 1] == '\n') length--;
    while (length) {
        const char *end = memchr(text, '\n', length);
        size_t line = end ? (size_t)(end - text) : length;
        fputs("    ", stdout);
        print_line(text, line);
        text += line + (end != NULL);
        length -= line + (end != NULL);
    }
}

static void print_verdict(struct testing *t, const char *module, const char *name, size_t length,
                          bool passed) {
    printf("%s %s ", passed ? "ok" : "not ok", module);
    print_line(name, length);
    t->passed += passed;
    t->failed += !passed;
}

static void print_reason(struct fble_machine *m, fble_ref run, fble_ref reason) {
    const char *file;
    uint32_t line, column;
    size_t length, whole;
    char *text = fble_get_string(m, reason, &length), *shown = NULL;
    FILE *to = open_memstream(&shown, &whole);
    if (!to) fble_out_of_memory();
    if (fble_function_place(m, run, &file, &line, &column))
        fprintf(to, "%s:%u:%u: ", file, line, column);
    if (text) fwrite(text, 1, length, to);
    fclose(to);
    print_indented(shown, whole);
    free(shown);
    free(text);
}

// Result@ is +(Unit@ passed, String@ failed).
static void run_test(struct testing *t, struct fble_machine *m, const char *module,
                     const char *name, size_t length, fble_ref run) {
    uint32_t mark = fble_mark(m);
    fble_ref unit = fble_unit(m), result = fble_call(m, run, 1, &unit);
    int32_t tag = result ? fble_get_tag(m, result, 2) : -1;
    print_verdict(t, module, name, length, tag == 0);
    if (tag == 1) print_reason(m, run, fble_get_payload(m, result, 2));
    if (tag < 0) print_indented(fble_error(m), strlen(fble_error(m)));
    fble_clear_error(m);
    fble_release(m, mark);
    fflush(stdout);
}

// ---------------------------------------------------------------- a module

static bool is_wanted(const struct testing *t, const char *module, const char *name) {
    const struct fble_list *words = &t->options->words;
    for (uint32_t i = 0; i < words->count; i++)
        if (strstr(module, words->at[i]) || strstr(name, words->at[i])) return true;
    return !words->count;
}

// Test@ is *(String@ name, (Unit@) { Result@; } run).
static void run_tests(struct testing *t, struct fble_machine *m, const char *module,
                      fble_ref tests) {
    while (fble_get_tag(m, tests, 2) == 0) {
        fble_ref cell = fble_get_payload(m, tests, 2), test = fble_get_field(m, cell, 2, 0);
        size_t length;
        char *name = fble_get_string(m, fble_get_field(m, test, 2, 0), &length);
        if (name && is_wanted(t, module, name))
            run_test(t, m, module, name, length, fble_get_field(m, test, 2, 1));
        else
            t->left_out++;
        free(name);
        tests = fble_get_field(m, cell, 2, 1);
    }
}

static int run_module(struct testing *t, const char *module) {
    struct fble_program program;
    start_program(t, &program);
    struct fble_path *path = fble_parse_path(&program.arena, &program.words, module);
    struct fble_runner runner = {
        .program = &program, .main = path, .options = &t->options->run, .command = "test"};
    fble_ref tests;
    int status = fble_runner_start(&runner, &(fble_machine_options){0}, &tests);
    if (status == FBLE_FINE) run_tests(t, runner.machine, module, tests);
    status = fble_runner_end(&runner, status);
    fble_program_free(&program);
    if (status != FBLE_COMPILE_ERROR && status != FBLE_RUNTIME_ERROR) return status;
    const char *why = status == FBLE_COMPILE_ERROR ? "(it does not compile)" : "(it fails)";
    print_verdict(t, module, why, strlen(why), false);
    return FBLE_FINE;
}

// ---------------------------------------------------------------- the command

static int refuse(const char *message, const char *what) {
    ouro__say("fble test: %s%s", message, what);
    return FBLE_OTHER;
}

static int run(struct fble_program *program, struct fble_options *options) {
    struct testing t = {.program = program, .options = options};
    struct fble_list modules = {0};
    int status = FBLE_FINE;
    find_modules(&t, &modules);
    if (!modules.count && options->folder)
        return refuse("there is no module of tests in the folder ", options->folder);
    if (!modules.count)
        return refuse("not a module of type /Std/Test%.Tests@: ", options->main->text);
    if (modules.count > 1 && (options->run.profile || options->run.live))
        return refuse("a profile is of one module; give it with -m or as a file", "");
    for (uint32_t i = 0; i < modules.count && status == FBLE_FINE; i++)
        status = run_module(&t, modules.at[i]);
    if (status != FBLE_FINE) return status;
    printf("# %u passed, %u failed", t.passed, t.failed);
    if (t.left_out) printf(", %u left out", t.left_out);
    putchar('\n');
    if (!t.passed && !t.failed) return refuse("there was no test to run", "");
    return t.failed ? 1 : FBLE_FINE;
}

const struct fble_command fble_command_test = {
    .name = "test",
    .summary = "run the tests of modules",
    .usage =
        "usage: fble test [options] [FOLDER]\n"
        "       fble test [options] FILE.fble\n"
        "       fble test [options] -m /Module%\n"
        "\n"
        "Runs the tests of a module whose value has the type /Std/Test%.Tests@, or of all such\n"
        "modules of a folder, which is the current one if none is given. Prints `ok` or `not ok`\n"
        "per test, for one that failed its place and the values, and how many there were.\n"
        "\n"
        "  -I DIR, --include DIR   look for modules in DIR too\n"
        "  -p PKG, --package PKG   and in the package PKG, found by FBLE_PACKAGE_PATH\n"
        "  -m PATH, --module PATH  the main module, such as /Foo/Bar%\n"
        "  -w WORD, --word WORD    only tests that have the word in their names or modules;\n"
        "                          of several words, one is enough\n" FBLE_RUN_USAGE "\n"
        "examples:\n"
        "  fble test -p std tests\n"
        "  fble test -p std --word sort Tests.fble\n"
        "  fble test -p std --compiled std.so tests\n"
        "\n"
        "exit status: 0 all passed, 1 some failed, 4 usage, 5 other, such as no tests\n",
    .takes = FBLE_TAKES_RUN | FBLE_TAKES_FOLDER,
    .run = run,
};
