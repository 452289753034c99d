// SPDX-License-Identifier: MIT
//
// fble disassemble: shows the bytecode of a module, or of all of them.

#include "command.h"
#include "emit/disassemble.h"

static int run(struct fble_program *program, struct fble_options *options) {
    fble_program_load(program, options->main);
    fble_program_check(program);
    int status = fble_finish(program, options->json);
    if (status != FBLE_FINE) return status;
    if (!fble_emit_program(program, OURO_PHANTOM, false))
        return fble_finish(program, options->json);
    struct fble_module *main = program->modules.at[program->modules.count - 1];
    fble_encode(&program->arena, main->emitted);
    fble_disassemble(stdout, main->emitted);
    return FBLE_FINE;
}

const struct fble_command fble_command_disassemble = {
    .name = "disassemble",
    .summary = "show the bytecode of a module",
    .usage = "usage: fble disassemble [options] -m /Module%\n"
             "       fble disassemble [options] FILE.fble\n"
             "\n"
             "Shows the instructions of the module's functions, one per line.\n"
             "\n"
             "  -I DIR, --include DIR   look for modules in DIR too\n"
             "  -p PKG, --package PKG   and in the package PKG, found by FBLE_PACKAGE_PATH\n"
             "  -m PATH, --module PATH  the main module, such as /Foo/Bar%\n"
             "\n"
             "examples:\n"
             "  fble disassemble -p std Program.fble\n"
             "\n"
             "exit status: 0 fine, 2 compile error, 4 usage, 5 other\n",
    .run = run,
};
