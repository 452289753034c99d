// SPDX-License-Identifier: MIT
//
// fble check: reads and checks a program, and shows its errors. Errors in one module do not keep
// the others from being checked, so one run shows everything that has to be repaired. program/
// finds and checks the modules.

#include "command.h"

static int run(struct fble_program *program, struct fble_options *options) {
    fble_program_load(program, options->main);
    fble_program_check(program);
    return fble_finish(program, options->json);
}

const struct fble_command fble_command_check = {
    .name = "check",
    .summary = "check the types of a program",
    .usage =
        "usage: fble check [options] -m /Module%\n"
        "       fble check [options] FILE.fble\n"
        "       fble check [options] [-m /Module%] - < TEXT\n"
        "\n"
        "Reads the module and everything it mentions and checks all of it. A file alone is the\n"
        "module /NAME% of its folder. Messages go to stderr as FILE:LINE:COL: error: TEXT.\n"
        "With - the module's text is the standard input, as if it stood in the current folder.\n"
        "\n"
        "  -I DIR, --include DIR   look for modules in DIR too\n"
        "  -p PKG, --package PKG   and in the package PKG, found by FBLE_PACKAGE_PATH\n"
        "  -m PATH, --module PATH  the main module, such as /Foo/Bar%\n"
        "      --alone             check the main module only; headers are enough for the rest\n"
        "      --json              messages as JSON on stdout\n"
        "\n"
        "examples:\n"
        "  fble check Program.fble\n"
        "  fble check -p std -m /Std/List%\n"
        "  fble check --json -p std Program.fble\n"
        "  echo '*()();' | fble check -\n"
        "\n"
        "exit status: 0 fine, 2 compile error, 4 usage, 5 other, such as an unreadable file\n",
    .takes = FBLE_TAKES_JSON | FBLE_TAKES_STDIN,
    .run = run,
};
