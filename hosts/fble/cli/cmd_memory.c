// SPDX-License-Identifier: MIT
//
// fble memory: how much memory a call of the main module's function takes, see measure.h.

#include "command.h"
#include "printable.h"
#include "run/measure.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static int measure(struct fble_machine *m, fble_ref function, uint64_t n) {
    size_t bytes;
    if (!fble_measure(m, function, n, &bytes)) return FBLE_RUNTIME_ERROR;
    printf("%zu\n", bytes);
    return FBLE_FINE;
}

static int run(struct fble_program *program, struct fble_options *options) {
    struct fble_runner runner = {.program = program,
                                 .main = options->main,
                                 .options = &options->run,
                                 .command = "memory",
                                 .calling = FBLE_CALLED_WITH_A_NUMBER};
    char *end;
    errno = 0;
    uint64_t n = strtoull(options->number, &end, 10);
    fble_ref value;
    if (*end || errno || *options->number < '0' || *options->number > '9') {
        ouro__say("fble memory: not a number: %s", options->number);
        return FBLE_USAGE;
    }
    int status = fble_runner_start(
        &runner, &(fble_machine_options){.collect_after = FBLE_MEASURE_STEP}, &value);
    if (status == FBLE_FINE) status = measure(runner.machine, value, n);
    return fble_runner_end(&runner, status);
}

const struct fble_command fble_command_memory = {
    .name = "memory",
    .summary = "measure the memory that a function takes",
    .usage =
        "usage: fble memory [options] -m /Module% N\n"
        "       fble memory [options] FILE.fble N\n"
        "\n"
        "Calls the module's function with the number N, as a list of bits, and prints the peak\n"
        "of bytes in use during the call, objects and stack, without what was there before.\n"
        "\n"
        "  -I DIR, --include DIR   look for modules in DIR too\n"
        "  -p PKG, --package PKG   and in the package PKG, found by FBLE_PACKAGE_PATH\n"
        "  -m PATH, --module PATH  the main module, such as /Foo/Bar%\n" FBLE_RUN_USAGE "\n"
        "examples:\n"
        "  fble memory Program.fble 1000\n"
        "\n"
        "exit status: 0 fine, 2 compile error, 3 run-time error, 4 usage, 5 other\n",
    .takes = FBLE_TAKES_RUN | FBLE_TAKES_NUMBER,
    .run = run,
};
