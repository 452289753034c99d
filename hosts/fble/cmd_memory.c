// SPDX-License-Identifier: MIT
//
// fble memory: how much memory a call takes. The main module is a function of a number, which is
// given as a list of bits, the most significant first. All garbage is collected after every few
// bytes, and stacks grow in small chunks, so that the peak is that of what is really in use.

#include "runner.h"

#include <stdio.h>
#include <stdlib.h>

enum { BITS = 16, COLLECT_AFTER = 128 };

// The same number of bits for any number that fits, so that two runs can be compared.
static fble_ref bit_list(struct fble_machine *m, uint64_t n) {
    fble_ref bits[64];
    uint32_t count = BITS;
    while (count < 64 && n >> count) count++;
    for (uint32_t i = 0; i < count; i++)
        bits[i] = fble_make_union(m, 2, (uint32_t)(n >> (count - 1 - i) & 1), fble_unit(m));
    return fble_make_list(m, count, bits);
}

static int measure(struct fble_machine *m, fble_ref function, uint64_t n) {
    fble_ref argument = bit_list(m, n);
    fble_peak_reset(m);
    size_t before = fble_peak(m);
    if (!fble_call(m, function, 1, &argument)) return FBLE_RUNTIME_ERROR;
    fble_collect_all(m);
    printf("%zu\n", fble_peak(m) - before);
    return FBLE_FINE;
}

static int run(struct fble_program *program, struct fble_options *options) {
    struct fble_runner runner = {.program = program, .options = options, .command = "memory"};
    char *end;
    uint64_t n = strtoull(options->number, &end, 10);
    fble_ref value;
    if (*end || end == options->number) {
        fprintf(stderr, "fble memory: not a number: %s\n", options->number);
        return FBLE_USAGE;
    }
    int status =
        fble_runner_start(&runner, &(fble_machine_options){.collect_after = COLLECT_AFTER}, &value);
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
        "exit status: 0 fine, 2 compile error, 3 run-time error, 4 usage, 5 other\n",
    .runs = true,
    .has_number = true,
    .run = run,
};
