// SPDX-License-Identifier: MIT
//
// How fast the front end is: lines per second on generated modules, a literal of 1,100,000 letters
// in one file, and the growth of type equality with the size of the types. Each figure is the best
// of some runs, since the machine does other things too. Prints a table in Markdown.

#include "generate.h"
#include "program/loader.h"
#include "syntax/parser.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// Reads and checks the program in a folder; the time, or below 0 if it has errors.
static double check_program(const char *folder, double *megabytes) {
    struct fble_program program;
    double start = now();
    fble_program_start(&program);
    fble_program_search(&program, folder);
    bool good =
        fble_program_load(&program, fble_parse_path(&program.arena, &program.words, "/Main%"));
    good = fble_program_check(&program) && good;
    double seconds = now() - start;
    if (!good) fble_diagnostics_print(&program.diagnostics, stderr);
    *megabytes = (double)program.arena.bytes / 1e6;
    fble_program_free(&program);
    return good ? seconds : -1;
}

static double best_of(int runs, const char *folder, double *megabytes) {
    double best = 1e9;
    for (int i = 0; i < runs; i++) {
        double seconds = check_program(folder, megabytes);
        if (seconds < 0) exit(1);
        if (seconds < best) best = seconds;
    }
    return best;
}

static double check_text(const struct fble_text *text, int runs, double *megabytes) {
    char folder[] = "/tmp/fble-bench-XXXXXX", path[60];
    if (!mkdtemp(folder)) exit(1);
    snprintf(path, sizeof path, "%s/Main.fble", folder);
    FILE *file = fopen(path, "w");
    if (!file || fwrite(text->at, 1, text->length, file) != text->length || fclose(file)) exit(1);
    double seconds = best_of(runs, folder, megabytes);
    remove_program(folder, 0);
    return seconds;
}

static void bench_lines(void) {
    char folder[] = "/tmp/fble-bench-XXXXXX";
    double megabytes;
    enum { MODULES = 100 };
    if (!mkdtemp(folder)) exit(1);
    unsigned long lines = generate_program(folder, MODULES, 100000);
    if (!lines) exit(1);
    double seconds = best_of(7, folder, &megabytes);
    printf("| check %lu lines in %d modules | %.3f s | %.0f lines/s, %.0f MB |\n", lines,
           MODULES + 2, seconds, (double)lines / seconds, megabytes);
    remove_program(folder, MODULES);
}

static void bench_literal(void) {
    struct fble_arena arena = {0};
    struct fble_text text = {.arena = &arena};
    double megabytes;
    generate_literal(&text, 1100000);
    double seconds = check_text(&text, 5, &megabytes);
    printf("| a literal of 1,100,000 letters | %.3f s | %.0f MB |\n", seconds, megabytes);
    fble_arena_free(&arena);
}

static void bench_equality(void) {
    for (enum equality_kind kind = 0; kind < EQUAL_KINDS; kind++) {
        for (unsigned n = 10; n <= 10000; n *= 10) {
            struct fble_arena arena = {0};
            struct fble_text text = {.arena = &arena};
            double megabytes;
            generate_equality(&text, kind, n);
            double seconds = check_text(&text, n < 1000 ? 50 : 5, &megabytes);
            printf("| equality, %s of %u | %.6f s | %.2f us each |\n", equality_names[kind], n,
                   seconds, seconds / n * 1e6);
            fble_arena_free(&arena);
        }
    }
}

int main(void) {
    printf("| what | time | |\n| --- | --- | --- |\n");
    bench_lines();
    bench_literal();
    bench_equality();
    return 0;
}
