// SPDX-License-Identifier: MIT
//
// fble deps: the files that a program reads, as a rule for make. The program is loaded, not
// checked, so the rule is there before the types are right; but a file that is missing or does not
// parse leaves the list incomplete, and then there is no rule.

#include "command.h"

// Make splits at blanks and gives $ and # a meaning; a target also must not look like a pattern.
static void print_name(const char *name, bool target) {
    for (; *name; name++) {
        if (*name == '$') putchar('$');
        if (*name == ' ' || *name == '\t' || *name == '#') putchar('\\');
        if (target && (*name == '%' || *name == ':')) putchar('\\');
        putchar(*name);
    }
}

static const char *default_target(struct fble_program *program,
                                  const struct fble_options *options) {
    struct fble_text text = {.arena = &program->arena};
    for (uint32_t i = 0; i < options->main->count; i++) {
        const struct fble_word *word = options->main->words[i];
        if (i) fble_add_string(&text, "/");
        fble_add(&text, word->text, word->length);
    }
    return text.at;
}

static int run(struct fble_program *program, struct fble_options *options) {
    fble_program_load(program, options->main);
    int status = fble_finish(program, options);
    if (status != FBLE_FINE) return status;
    print_name(options->target ? options->target : default_target(program, options), true);
    putchar(':');
    for (uint32_t i = 0; i < program->files.count; i++) {
        fputs(" \\\n  ", stdout);
        print_name(program->files.at[i], false);
    }
    putchar('\n');
    return FBLE_FINE;
}

const struct fble_command fble_command_deps = {
    .name = "deps",
    .summary = "list the files of a program as a make rule",
    .usage = "usage: fble deps [options] -m /Module%\n"
             "       fble deps [options] FILE.fble\n"
             "\n"
             "Prints a rule for make: the target depends on every file that the program reads.\n"
             "\n"
             "  -I DIR, --include DIR   look for modules in DIR too\n"
             "  -p PKG, --package PKG   and in the package PKG, found by FBLE_PACKAGE_PATH\n"
             "  -m PATH, --module PATH  the main module, such as /Foo/Bar%\n"
             "  -t NAME, --target NAME  the target; by default the module's path without / and %\n"
             "      --alone             of other modules, files that are not needed for checking\n"
             "                          this one alone are left out\n"
             "\n"
             "exit status: 0 fine, 2 compile error, 4 usage, 5 other, such as an unreadable file\n",
    .run = run,
};
