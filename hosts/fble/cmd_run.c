// SPDX-License-Identifier: MIT
//
// fble run: runs a command-line program. Its main module is a function of a monad, the actions of
// io and the arguments, and gives an action; an action is a function of unit. Everything that is
// native in this is in vm/std_natives.c.

#include "runner.h"

#include <stdio.h>
#include <string.h>

enum { LAST_STATUS = 111, OUT_OF_RANGE = 112 };

static const int statuses[] = {[FBLE_FINE] = 0,
                               [FBLE_COMPILE_ERROR] = 114,
                               [FBLE_RUNTIME_ERROR] = 115,
                               [FBLE_USAGE] = 116,
                               [FBLE_OTHER] = 117};

static fble_ref argument_list(struct fble_machine *m, struct fble_arena *arena, char **arguments) {
    uint32_t count = 0;
    while (arguments && arguments[count]) count++;
    fble_ref *items = fble_alloc(arena, (count + 1) * sizeof *items);
    for (uint32_t i = 0; i < count; i++)
        items[i] = fble_make_string(m, arguments[i], strlen(arguments[i]));
    return fble_make_list(m, count, items);
}

// Applies main and turns its result into an exit status.
static int run_main(struct fble_runner *r, fble_ref main) {
    struct fble_machine *m = r->machine;
    fble_ref arguments[] = {
        fble_ref_new(m, fble_monad_value(m)),
        fble_ref_new(m, fble_io_value(m)),
        argument_list(m, &r->program->arena, r->options->arguments),
        fble_unit(m),
    };
    fble_ref result = fble_call(m, main, 4, arguments);
    int64_t status;
    if (!result) return FBLE_RUNTIME_ERROR;
    if (fble_get_int(m, result, &status) && status >= 0 && status <= LAST_STATUS)
        return (int)status;
    return OUT_OF_RANGE;
}

static int run(struct fble_program *program, struct fble_options *options) {
    struct fble_runner runner = {.program = program,
                                 .options = options,
                                 .command = "run",
                                 .arguments = 3,
                                 .gives_action = true};
    fble_ref main;
    int status = fble_runner_start(&runner, &(fble_machine_options){0}, &main);
    if (status != FBLE_FINE) return statuses[fble_runner_end(&runner, status)];
    status = run_main(&runner, main);
    bool failed = fble_error(runner.machine) != NULL;
    int end = fble_runner_end(&runner, FBLE_FINE);
    return failed || end != FBLE_FINE ? statuses[end] : status;
}

const struct fble_command fble_command_run = {
    .name = "run",
    .summary = "run a command-line program",
    .usage = "usage: fble run [options] -m /Module% [-- ARGUMENTS]\n"
             "       fble run [options] FILE.fble [-- ARGUMENTS]\n"
             "\n"
             "Runs a module of type /Std/Io/Cli%.Main@.\n"
             "\n"
             "  -I DIR, --include DIR   look for modules in DIR too\n"
             "  -p PKG, --package PKG   and in the package PKG, found by FBLE_PACKAGE_PATH\n"
             "  -m PATH, --module PATH  the main module, such as /Foo/Bar%\n" FBLE_RUN_USAGE "\n"
             "exit status: 0-111 the program's, 112 the program's is out of range,\n"
             "             114 compile error, 115 run-time error, 116 usage, 117 other\n",
    .runs = true,
    .has_arguments = true,
    .statuses = statuses,
    .run = run,
};
