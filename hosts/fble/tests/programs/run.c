// SPDX-License-Identifier: MIT
//
// Runs generated programs in every way that must not make a difference. Reads lines from standard
// input: a folder, a module, and perhaps a library of compiled modules, with tabs between them; a
// + in front says that the program is small. Evaluates the module and prints a line per way:
// `ok WAY`, or `WAY: ` and the place of the error; then a line with a dot. Ways differ in the
// collector, which in one runs at every allocation, and in the profile. A library can be used once,
// so every way of it is a process.
//
// A number after the library says that the module's value is a struct of so many functions. Each of
// them is called, and prints such a line; the one after an error finds a machine that works. Of
// functions, the whole errors are printed, and profiles are written to FOLDER/WAY.pb.

#include "run_text.h"
#include "syntax/parser.h"
#include "vm/compiled.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
    const char *name;
    struct run_how how;
    bool thorough; // a full collection at every allocation: for small programs
} ways[] = {
    {"plain", {.profile = false}, false},
    {"small nursery", {.options = {.nursery = 1024}}, false},
    {"collect always", {.options = {.collect_after = 1}}, true},
    {"profile", {.profile = true}, false},
    {"profile all", {.profile = true, .all_blocks = true}, false},
    {"profile, small nursery", {.options = {.nursery = 1024}, .profile = true}, false},
    {"profile, collect always", {.options = {.collect_after = 1}, .profile = true}, true},
};

static bool load(struct text_run *run, const char *folder, const char *module) {
    *run = (struct text_run){0};
    fble_program_start(&run->program);
    fble_program_search(&run->program, folder);
    fble_program_load(&run->program,
                      fble_parse_path(&run->program.arena, &run->program.words, module));
    if (fble_program_check(&run->program)) return true;
    fble_diagnostics_print(&run->program.diagnostics, stderr);
    return false;
}

// A library has one kind of blocks. Without a profile it does not matter.
static bool use_library(struct text_run *run, const char *file, const struct run_how *how,
                        struct fble_list *compiled) {
    void *library = dlopen(file, RTLD_NOW | RTLD_GLOBAL);
    if (!library) return fprintf(stderr, "%s\n", dlerror()), false;
    const struct fble_compiled *made = dlsym(library, FBLE_COMPILED_LIBRARY);
    if (how->profile && (!made->profiled || made->all_blocks != how->all_blocks)) exit(0);
    for (uint32_t i = 0; i < made->count; i++)
        fble_push(&run->program.arena, compiled,
                  (void *)(how->profile ? made->profiled : made->modules)[i]);
    return true;
}

// The first line, up to the message: names of files may have newlines, which become spaces.
static void tell_error(const char *way, const char *error) {
    printf("%s: ", way);
    for (const char *end = strstr(error, ": error: "); error < end; error++)
        putchar(*error == '\n' ? ' ' : *error);
    puts(": error: ");
}

// Errors end in a newline.
static void call_functions(const struct text_run *run, const char *folder, const char *way,
                           uint32_t count) {
    char file[8192];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t mark = fble_mark(run->machine);
        fble_ref function = fble_get_field(run->machine, run->value, count, i);
        if (fble_call(run->machine, function, 1, (fble_ref[]){fble_unit(run->machine)}))
            printf("%s: no error in function %u\n", way, (unsigned)i);
        else
            printf("%s: %s", way, fble_error(run->machine));
        fble_clear_error(run->machine);
        fble_release(run->machine, mark);
    }
    snprintf(file, sizeof file, "%s/%s.pb", folder, way);
    if (run->profile && ouro_profile_write(run->profile, file)) perror(file);
}

static void tell(const struct text_run *run, const char *way) {
    const char *error = fble_error(run->machine);
    const ouro_stats stats = ouro_profile_stats(run->profile);
    if (error)
        tell_error(way, error);
    else if (run->profile)
        printf("ok %s %llu\n", way, (unsigned long long)stats.totals[0]);
    else
        printf("ok %s\n", way);
}

// What a line of the input says.
struct line {
    const char *folder, *module, *library; // NULL: the module is interpreted
    uint32_t functions;                    // 0: the module is only evaluated
    bool thorough;
};

static int run_way(const struct line *line, size_t way) {
    struct text_run run;
    struct fble_list compiled = {0};
    const struct run_how *how = &ways[way].how;
    if (ways[way].thorough && !line->thorough) return 0;
    if (!load(&run, line->folder, line->module)) return 2;
    if (line->library && !use_library(&run, line->library, how, &compiled)) return 2;
    run_program_with(&run, how, &compiled);
    if (line->functions && run.value)
        call_functions(&run, line->folder, ways[way].name, line->functions);
    else
        tell(&run, ways[way].name);
    run_end(&run);
    return 0;
}

enum { WAYS = sizeof ways / sizeof *ways };

// A process takes longer to end than most programs to run, because it looks for leaks. So ways that
// need no process of their own share one.
static void run_all(const struct line *line) {
    for (size_t first = 0, end; first < WAYS; first = end) {
        int status = 0;
        end = line->library ? first + 1 : WAYS;
        fflush(stdout);
        pid_t child = fork();
        for (size_t i = first; !child && i < end; i++)
            if ((status = run_way(line, i)) || i + 1 == end) exit(status);
        if (child < 0 || waitpid(child, &status, 0) < 0 || status)
            printf("%s: exit status %d\n", ways[first].name, status);
    }
    puts(".");
}

int main(void) {
    char text[8192], *at;
    while (fgets(at = text, sizeof text, stdin)) {
        struct line line = {.thorough = *text == '+'};
        at[strcspn(at, "\n")] = 0;
        at += line.thorough;
        line.folder = strsep(&at, "\t");
        line.module = strsep(&at, "\t");
        line.library = strsep(&at, "\t");
        if (line.library && !*line.library) line.library = NULL;
        if (at) line.functions = (uint32_t)atoi(at);
        run_all(&line);
    }
    return 0;
}
