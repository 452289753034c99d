// SPDX-License-Identifier: MIT
//
// The main function of compiled programs. Options about profiles come first and are ended by --;
// if the first argument is none of them, all arguments are the program's. FBLE_PROFILE is a file,
// or options separated by spaces, and goes before what the command line says. A program that has
// rights that its caller does not have (setuid, capabilities) obeys neither: options name files to
// write and libraries to load.

#include "descriptors.h"
#include "printable.h"
#include "profile.h"
#include "vm/compiled.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

static int other_status;

static void no_memory(void) {
    if (!fble_runner_no_memory()) fputs("out of memory\n", stderr);
    exit(other_status);
}

static int usage(const char *program, const char *message, const char *what) {
    ouro__say("%s: %s%s", program, message, what);
    ouro__say("usage: %s [--profile FILE] [--profile-live FILE] [--profile-metrics LIST]", program);
    fputs("       [--profile-compact RULE] [--profile-max-nodes N] [--profile-period N]\n"
          "       [--slice BLOCK] [--slice-by METRIC] [--foreign LIB.so] [--] [ARGUMENTS]\n",
          stderr);
    return FBLE_USAGE;
}

// --NAME VALUE or --NAME=VALUE, of which `at` may take a second word. NULL: it is no option.
static const char **option_at(struct fble_runner *r, struct fble_run_options *run, char **at) {
    static const char *foreign;
    size_t length = strcspn(at[0], "=");
    if (strncmp(at[0], "--", 2) || length < 3) return NULL;
    const char **to = fble_profile_option(run, at[0] + 2, length - 2);
    if (to || length != 9 || strncmp(at[0] + 2, "foreign", 7)) return to;
    fble_push(r->arena, &run->foreign, at[0][9] ? at[0] + 10 : at[1]);
    return &foreign;
}

// Gives the arguments after the options, or NULL after a message.
static char **read_options(struct fble_runner *r, struct fble_run_options *run, char **at) {
    const char **to;
    bool any = false;
    for (; *at && strcmp(*at, "--") && (to = option_at(r, run, at)); at++) {
        char *equals = strchr(*at, '=');
        if (getauxval(AT_SECURE)) {
            usage(r->command, "a program with rights of its own does not obey ", *at);
            return NULL;
        }
        if (!equals && !at[1]) {
            usage(r->command, "no value for ", *at);
            return NULL;
        }
        *to = equals ? equals + 1 : *++at;
        any = true;
    }
    if (*at && !strcmp(*at, "--")) return at + 1;
    if (!*at || !any) return at;
    usage(r->command, "-- must stand before the program's own arguments, such as ", *at);
    return NULL;
}

static bool read_environment(struct fble_runner *r, struct fble_run_options *run) {
    const char *value = secure_getenv("FBLE_PROFILE");
    struct fble_arena *arena = r->arena;
    struct fble_list words = {0};
    if (!value || !*value) return true;
    if (strncmp(value, "--", 2)) {
        run->profile = value;
        return true;
    }
    char *text = fble_copy(arena, value, strlen(value)), *next = NULL;
    for (char *word = strtok_r(text, " ", &next); word; word = strtok_r(NULL, " ", &next))
        fble_push(arena, &words, word);
    fble_push(arena, &words, NULL);
    char **rest = read_options(r, run, (char **)words.at);
    if (rest && *rest) usage(r->command, "FBLE_PROFILE is a file or options, not ", *rest);
    return rest && !*rest;
}

// The modules with or without profiling, as the options ask.
static const struct fble_compiled_module *const *choose(const struct fble_runner *r,
                                                        const struct fble_compiled *program) {
    const char *blocks = r->options->blocks;
    if (!r->profile) return program->modules;
    if (!program->profiled) {
        usage(r->command, "the program was compiled without --profile", "");
        return NULL;
    }
    if (blocks && !strcmp(blocks, "all") != program->all_blocks) {
        usage(r->command, "it must be compiled with --profile-blocks ", blocks);
        return NULL;
    }
    return program->profiled;
}

static int check_slice(struct fble_runner *r, const struct fble_compiled *program,
                       const struct fble_compiled_module *const *modules) {
    struct fble_list names = {0};
    if (!r->options->slice) return FBLE_FINE;
    for (uint32_t i = 0; i < program->count; i++)
        for (uint32_t k = 0; k < modules[i]->block_count; k++)
            fble_push(r->arena, &names, (void *)modules[i]->blocks[k].name);
    return fble_slice_check(r, &names);
}

// The value of the last module; 0: an error.
static fble_ref evaluate(struct fble_machine *m, const struct fble_compiled_module *const *modules,
                         uint32_t count) {
    fble_value value = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!fble_compiled_load(m, modules[i])) return 0;
        value = fble_run(m, fble_pointer(&modules[i]->codes[0].self), NULL, 0);
        if (!value) return 0;
        modules[i]->globals[0] = value;
    }
    return fble_ref_new(m, value);
}

static int start(struct fble_runner *r, const struct fble_compiled *program, fble_ref *value) {
    fble_machine_options options = {0};
    int status = fble_profile_start(r, &options);
    if (status != FBLE_FINE) return status;
    const struct fble_compiled_module *const *modules = choose(r, program);
    if (!modules) return FBLE_USAGE;
    status = check_slice(r, program, modules);
    if (status != FBLE_FINE) return status;
    status = fble_runner_machine(r, &options);
    if (status != FBLE_FINE) return status;
    *value = evaluate(r->machine, modules, program->count);
    return *value ? FBLE_FINE : FBLE_RUNTIME_ERROR;
}

static int run(struct fble_runner *r, const struct fble_compiled *program) {
    fble_ref value;
    int status = start(r, program, &value);
    if (status == FBLE_FINE && !program->evaluates) return fble_run_main(r, value);
    status = fble_runner_end(r, status);
    return program->evaluates ? status : fble_run_statuses[status];
}

int fble_compiled_main(int argc, char **argv, const struct fble_compiled *program) {
    struct fble_arena arena = {0};
    struct fble_run_options options = {0};
    struct fble_runner runner = {
        .arena = &arena, .options = &options, .command = argc ? argv[0] : "program"};
    bool good = program->format == FBLE_COMPILED_FORMAT;
    ouro__hold_streams();
    other_status = program->evaluates ? FBLE_OTHER : fble_run_statuses[FBLE_OTHER];
    fble_out_of_memory = fble_no_memory = no_memory;
    if (!good) fputs("the program was compiled for another version of the runtime\n", stderr);
    good = good && read_environment(&runner, &options);
    options.arguments = good && argc ? read_options(&runner, &options, argv + 1) : argv;
    int status = good && options.arguments ? run(&runner, program)
                 : program->evaluates      ? FBLE_USAGE
                                           : fble_run_statuses[FBLE_USAGE];
    fble_arena_free(&arena);
    if (fflush(stdout) || ferror(stdout)) status = other_status;
    return status;
}
