// SPDX-License-Identifier: MIT
//
// fble eval: evaluates a program's main module and forgets the value.

#include "command.h"

static int run(struct fble_program *program, struct fble_options *options) {
    struct fble_runner runner = {
        .program = program, .main = options->main, .options = &options->run, .command = "eval"};
    fble_ref value;
    int status = fble_runner_start(&runner, &(fble_machine_options){0}, &value);
    return fble_runner_end(&runner, status);
}

const struct fble_command fble_command_eval = {
    .name = "eval",
    .summary = "evaluate a module",
    .usage = "usage: fble eval [options] -m /Module%\n"
             "       fble eval [options] FILE.fble\n"
             "\n"
             "Checks the program and evaluates its modules. The value is not shown.\n"
             "\n"
             "  -I DIR, --include DIR   look for modules in DIR too\n"
             "  -p PKG, --package PKG   and in the package PKG, found by FBLE_PACKAGE_PATH\n"
             "  -m PATH, --module PATH  the main module, such as /Foo/Bar%\n" FBLE_RUN_USAGE "\n"
             "examples:\n"
             "  fble eval -p std Program.fble\n"
             "  fble eval --profile eval.pb.gz -I src -m /Foo/Bar%\n"
             "\n"
             "exit status: 0 fine, 2 compile error, 3 run-time error, 4 usage, 5 other\n",
    .takes = FBLE_TAKES_RUN,
    .run = run,
};
