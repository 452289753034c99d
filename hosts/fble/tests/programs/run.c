// SPDX-License-Identifier: MIT
//
// Runs generated programs in every way that must not make a difference. Reads lines from standard
// input: a folder, a module, and perhaps a library of compiled modules, with tabs between them; a
// + in front says that the program is small. Evaluates the module and prints a line per way:
// `ok WAY`, or `WAY: ` and the place of the error; then a line with a dot. Ways differ in the
// collector, which in one runs at every allocation, and in the profile. Every way is a process,
// because a library can be used once.

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

static int run_way(const char *folder, const char *module, const char *file, size_t way) {
    struct text_run run;
    struct fble_list compiled = {0};
    const struct run_how *how = &ways[way].how;
    if (!load(&run, folder, module)) return 2;
    if (file && !use_library(&run, file, how, &compiled)) return 2;
    run_program_with(&run, how, &compiled);
    tell(&run, ways[way].name);
    run_end(&run);
    return 0;
}

static void run_all(const char *folder, const char *module, const char *file, bool thorough) {
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        int status = 0;
        if (ways[i].thorough && !thorough) continue;
        fflush(stdout);
        pid_t child = fork();
        if (!child) exit(run_way(folder, module, file, i));
        if (child < 0 || waitpid(child, &status, 0) < 0 || status)
            printf("%s: exit status %d\n", ways[i].name, status);
    }
    puts(".");
}

int main(void) {
    char line[8192];
    while (fgets(line, sizeof line, stdin)) {
        bool thorough = line[0] == '+';
        char *folder = strtok(line + thorough, "\n\t"), *module = strtok(NULL, "\n\t");
        run_all(folder, module, strtok(NULL, "\n\t"), thorough);
    }
    return 0;
}
