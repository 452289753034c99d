// SPDX-License-Identifier: MIT
//
// fble deps: the files that a program reads, as a rule for make. The program is loaded, not
// checked, so the rule is there before the types are right; but a file that is missing or does not
// parse leaves the list incomplete, and then there is no rule.

#include "command.h"
#include "printable.h"

#include <string.h>

// No quoting gets these through make: the one ends the line, the other begins a recipe.
static bool make_can_name(const char *name) { return !strpbrk(name, "\n;"); }

// Make splits at blanks, and gives these a meaning that a backslash takes away. The patterns of
// files are undone by it only where files of that name exist, so not in targets.
static bool needs_backslash(char byte, bool target) {
    return byte && strchr(target ? " \t#:%" : " \t#:|*?[", byte);
}

// Backslashes stand for themselves, unless one of those follows them, or the colon of the rule.
static void print_name(const char *name, bool target) {
    size_t backslashes = 0;
    if (!target && *name == '~') fputs("./", stdout); // make would look for a home directory
    for (; *name; name++) {
        bool quoted = needs_backslash(*name, target);
        for (; quoted && backslashes; backslashes--) putchar('\\');
        if (quoted) putchar('\\');
        backslashes = *name == '\\' ? backslashes + 1 : 0;
        if (*name == '=')
            fputs("$(if ,,=)", stdout); // else the line would be the definition of a variable
        else
            fputs(*name == '$' ? "$$" : (char[]){*name, 0}, stdout);
    }
    for (; target && backslashes; backslashes--) putchar('\\');
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

// False, with a message, if the rule cannot be written.
static bool can_print(const struct fble_program *program, const char *target) {
    const char *bad = make_can_name(target) ? NULL : target;
    for (uint32_t i = 0; i < program->files.count && !bad; i++)
        if (!make_can_name(program->files.at[i])) bad = program->files.at[i];
    if (bad) ouro__say("fble deps: a rule for make cannot name the file %s", bad);
    return !bad;
}

static int run(struct fble_program *program, struct fble_options *options) {
    fble_program_load(program, options->main);
    int status = fble_finish(program, options->json);
    if (status != FBLE_FINE) return status;
    const char *target = options->target ? options->target : default_target(program, options);
    if (!can_print(program, target)) return FBLE_OTHER;
    print_name(target, true);
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
             "examples:\n"
             "  fble deps -p std -t program Program.fble > program.d\n"
             "\n"
             "exit status: 0 fine, 2 compile error, 4 usage, 5 other, such as an unreadable file\n",
    .takes = FBLE_TAKES_TARGET,
    .run = run,
};
