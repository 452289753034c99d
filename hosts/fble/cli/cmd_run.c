// SPDX-License-Identifier: MIT
//
// fble run: runs a command-line program. Its main module is a function of a monad, the actions of
// io and the arguments, and gives an action; an action is a function of unit. Everything that is
// native in this is in vm/std_natives.c.

#include "command.h"

static int run(struct fble_program *program, struct fble_options *options) {
    struct fble_runner runner = {.program = program,
                                 .main = options->main,
                                 .options = &options->run,
                                 .command = "run",
                                 .calling = FBLE_CALLED_AS_PROGRAM};
    fble_ref main;
    int status = fble_runner_start(&runner, &(fble_machine_options){0}, &main);
    if (status != FBLE_FINE) return fble_run_statuses[fble_runner_end(&runner, status)];
    return fble_run_main(&runner, main);
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
             "examples:\n"
             "  fble run -p std Program.fble -- one two\n"
             "  fble run --profile program.pb.gz -p std Program.fble && ouro view program.pb.gz\n"
             "  fble run --profile-live /dev/shm/program.ouro -p std Program.fble\n"
             "\n"
             "exit status: 0-111 the program's, 112 the program's is out of range,\n"
             "             114 compile error, 115 run-time error, 116 usage, 117 other\n",
    .statuses = fble_run_statuses,
    .takes = FBLE_TAKES_RUN | FBLE_TAKES_ARGUMENTS,
    .run = run,
};
