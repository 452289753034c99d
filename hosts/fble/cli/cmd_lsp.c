// SPDX-License-Identifier: MIT
//
// fble lsp: the language server, on standard input and output.

#include "command.h"
#include "lsp/lsp.h"
#include "printable.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef FBLE_VERSION
#define FBLE_VERSION "unknown"
#endif

// Documents are files with absolute names, so the search path must be absolute, too.
static void make_absolute(struct fble_program *program) {
    for (uint32_t i = 0; i < program->search.count; i++) {
        char *real = realpath(program->search.at[i], NULL);
        if (real) program->search.at[i] = fble_copy(&program->arena, real, strlen(real));
        free(real);
    }
}

static int run(struct fble_program *program, struct fble_options *options) {
    (void)options;
    make_absolute(program);
    signal(SIGPIPE, SIG_IGN); // an editor that goes away is the end of the input
    bool shut_down;
    const char *wrong = fble_lsp(STDIN_FILENO, stdout, &program->search, FBLE_VERSION, &shut_down);
    if (wrong) ouro__say("fble lsp: %s", wrong);
    return wrong ? FBLE_OTHER : shut_down ? FBLE_FINE : 1;
}

const struct fble_command fble_command_lsp = {
    .name = "lsp",
    .summary = "serve an editor: errors, types, definitions",
    .usage =
        "usage: fble lsp [options]\n"
        "\n"
        "A language server: editors start it and talk with it on standard input and output.\n"
        "It shows errors and warnings while a file is edited, the type of what is under the\n"
        "cursor, where that is defined, and the definitions of a file. docs/fble.md says how\n"
        "editors are told of it.\n"
        "\n"
        "  -I DIR, --include DIR   look for modules in DIR too; files below it are its modules\n"
        "  -p PKG, --package PKG   and in the package PKG, found by FBLE_PACKAGE_PATH\n"
        "      --stdio             the only way to talk; editors may say so\n"
        "\n"
        "examples:\n"
        "  fble lsp -p std\n"
        "  fble lsp -I src -p std --stdio\n"
        "\n"
        "exit status: 0 fine, 1 the editor went away without saying shutdown, 4 usage,\n"
        "             5 other, such as input that is no message\n",
    .takes = FBLE_TAKES_NO_MODULE,
    .run = run,
};
