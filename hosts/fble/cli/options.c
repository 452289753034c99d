// SPDX-License-Identifier: MIT
//
// Options of all commands, as a table. Options may stand after the file; `--` ends them. A file
// alone becomes a module path and a folder to search, so no other code has to know that a file
// was given.

#include "command.h"
#include "printable.h"
#include "run/profile.h"
#include "syntax/beside.h"
#include "syntax/parser.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#ifndef FBLE_PACKAGES
#define FBLE_PACKAGES "/usr/local/share/fble"
#endif

struct reader {
    struct fble_program *program;
    struct fble_options *options;
    const struct fble_command *command;
    char **at;
    struct fble_list files;
};

static int usage_error(const struct reader *r, const char *message, const char *what) {
    ouro__say("fble %s: %s%s", r->command->name, message, what);
    fputs(r->command->usage, stderr);
    return FBLE_USAGE;
}

// ---------------------------------------------------------------- what options do

static bool is_directory(const char *name) {
    struct stat status;
    return !stat(name, &status) && S_ISDIR(status.st_mode);
}

static bool package_in(struct reader *r, const char *folder, size_t length, const char *name) {
    const char *directory = fble_format(&r->program->arena, "%.*s/%s", (int)length, folder, name);
    if (!length || !is_directory(directory)) return false;
    fble_program_search(r->program, directory);
    fble_push(&r->program->arena, &r->options->packages, (void *)directory);
    return true;
}

// Beside the program: where a build folder has its packages, and where an installation has them,
// also one that was moved.
static bool package_beside(struct reader *r, const char *name) {
    static const char *const beside[] = {"packages", "../share/fble"};
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        const char *folder = fble_beside(&r->program->arena, beside[i]);
        if (folder && package_in(r, folder, strlen(folder), name)) return true;
    }
    return false;
}

// The first DIR/NAME that exists: for DIR in FBLE_PACKAGE_PATH, beside the program, and then where
// packages are installed.
static int add_package(struct reader *r, const char *name) {
    const char *path = secure_getenv("FBLE_PACKAGE_PATH");
    for (const char *end; path && *path; path = *end ? end + 1 : end) {
        end = path + strcspn(path, ":");
        if (package_in(r, path, (size_t)(end - path), name)) return FBLE_FINE;
    }
    if (package_beside(r, name)) return FBLE_FINE;
    if (package_in(r, FBLE_PACKAGES, strlen(FBLE_PACKAGES), name)) return FBLE_FINE;
    return usage_error(r, "no such package in FBLE_PACKAGE_PATH or beside fble: ", name);
}

static int set_main(struct reader *r, const char *text) {
    r->options->main = fble_parse_path(&r->program->arena, &r->program->words, text);
    if (r->options->main) return FBLE_FINE;
    return usage_error(r, "a module path looks like /Foo/Bar%, not ", text);
}

static int add_folder(struct reader *r, const char *value) {
    fble_program_search(r->program, value);
    return FBLE_FINE;
}

static int set_alone(struct reader *r, const char *value) {
    r->program->alone = true;
    (void)value;
    return FBLE_FINE;
}

// ---------------------------------------------------------------- the table

enum value { NONE, TEXT, LIST };

struct option {
    const char *name;
    char letter;                                // 0: it has none
    unsigned takers;                            // enum fble_takes: which commands have it; 0: all
    enum value value;                           // NONE: it sets a bool
    size_t field;                               // of struct fble_options
    int (*take)(struct reader *, const char *); // in place of a field
};

#define FIELD(field) offsetof(struct fble_options, field), NULL

static const struct option options[] = {
    {"include", 'I', 0, TEXT, 0, add_folder},
    {"package", 'p', 0, TEXT, 0, add_package},
    {"module", 'm', 0, TEXT, 0, set_main},
    {"alone", 0, 0, NONE, 0, set_alone},
    {"json", 0, FBLE_TAKES_JSON, NONE, FIELD(json)},
    {"stdio", 0, FBLE_TAKES_NO_MODULE, NONE, FIELD(stdio)},
    {"word", 'w', FBLE_TAKES_FOLDER, LIST, FIELD(words)},
    {"target", 't', FBLE_TAKES_TARGET, TEXT, FIELD(target)},
    {"foreign", 0, FBLE_TAKES_RUN, LIST, FIELD(run.foreign)},
    {"compiled", 0, FBLE_TAKES_RUN, LIST, FIELD(run.compiled)},
    {"output", 'o', FBLE_TAKES_COMPILE, TEXT, FIELD(compile.output)},
    {"jobs", 'j', FBLE_TAKES_COMPILE, TEXT, FIELD(compile.jobs)},
    {"emit-c", 0, FBLE_TAKES_COMPILE, TEXT, FIELD(compile.emit)},
    {"build-dir", 0, FBLE_TAKES_COMPILE, TEXT, FIELD(compile.folder)},
    {"eval", 0, FBLE_TAKES_COMPILE, NONE, FIELD(compile.eval)},
    {"library", 0, FBLE_TAKES_COMPILE, NONE, FIELD(compile.library)},
    {"profile", 0, FBLE_TAKES_COMPILE, NONE, FIELD(compile.profile)},
    {"verbose", 0, FBLE_TAKES_COMPILE, NONE, FIELD(compile.verbose)},
    {"profile-blocks", 0, FBLE_TAKES_COMPILE, TEXT, FIELD(run.blocks)},
};
enum { OPTIONS = sizeof options / sizeof *options };

// What was written: -I DIR, -IDIR, --module PATH or --module=PATH.
struct written {
    char letter;
    const char *name;
    size_t length;
    const char *value; // NULL: not in the same argument
};

static struct written split(const char *text) {
    if (text[1] != '-') return (struct written){text[1], "", 0, text[2] ? text + 2 : NULL};
    size_t length = strcspn(text + 2, "=");
    return (struct written){0, text + 2, length, text[2 + length] ? text + 3 + length : NULL};
}

static bool fits(const struct option *option, const struct written *written) {
    if (written->letter) return option->letter == written->letter;
    return strlen(option->name) == written->length &&
           !strncmp(option->name, written->name, written->length);
}

static const struct option *find(const struct reader *r, const struct written *written) {
    for (int i = 0; i < OPTIONS; i++)
        if ((!options[i].takers || options[i].takers & r->command->takes) &&
            fits(options + i, written))
            return options + i;
    return NULL;
}

static int take(struct reader *r, const struct option *option, const char *value) {
    void *field = (char *)r->options + option->field;
    if (option->take) return option->take(r, value);
    if (option->value == NONE)
        *(bool *)field = true;
    else if (option->value == TEXT)
        *(const char **)field = value;
    else
        fble_push(&r->program->arena, field, (void *)value);
    return FBLE_FINE;
}

// run/profile.c has the options of profiles, which compiled programs read, too.
static int read_option(struct reader *r) {
    const char *text = *r->at;
    struct written written = split(text);
    const struct option *option = find(r, &written);
    const char **profile = NULL;
    if (!option && r->command->takes & FBLE_TAKES_RUN)
        profile = fble_profile_option(&r->options->run, written.name, written.length);
    bool has_value = profile || (option && option->value != NONE);
    if ((!option && !profile) || (written.value && !has_value))
        return usage_error(r, "unknown option ", text);
    if (has_value && !written.value) written.value = *++r->at;
    if (has_value && !written.value) return usage_error(r, "no value for ", text);
    r->at++;
    if (option) return take(r, option, written.value);
    *profile = written.value;
    return FBLE_FINE;
}

// ---------------------------------------------------------------- the program

static void search_first(struct reader *r, const char *folder) {
    struct fble_list rest = r->program->search;
    r->program->search = (struct fble_list){0};
    fble_program_search(r->program, folder);
    for (uint32_t i = 0; i < rest.count; i++) fble_program_search(r->program, rest.at[i]);
}

// The text of the module of -m, or of /Stdin%, as if its file stood in the current folder.
static int set_stdin(struct reader *r) {
    struct fble_arena *arena = &r->program->arena;
    struct fble_text text = {.arena = arena};
    char buffer[65536];
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, stdin)) > 0;) fble_add(&text, buffer, n);
    if (ferror(stdin)) {
        ouro__say("fble %s: cannot read the standard input: %s", r->command->name, strerror(errno));
        return FBLE_OTHER;
    }
    if (!r->options->main) r->options->main = fble_parse_path(arena, &r->program->words, "/Stdin%");
    const char *file = fble_module_file(r->program, ".", r->options->main);
    if (!file) return usage_error(r, "no file can have the name of ", r->options->main->text);
    search_first(r, ".");
    fble_program_overlay(r->program, file, "<stdin>", text.at ? text.at : "", text.length);
    return FBLE_FINE;
}

// A file alone is the module of its name in its folder, which comes first in the search path.
static int set_file(struct reader *r, const char *file) {
    size_t length = strlen(file);
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
    if (length < 6 || strcmp(file + length - 5, ".fble") || name == file + length - 5)
        return usage_error(r, "a file must be called NAME.fble, not ", file);
    struct stat status;
    int failed = stat(file, &status) ? errno : S_ISDIR(status.st_mode) ? EISDIR : 0;
    if (failed) {
        ouro__say("fble %s: cannot read %s: %s", r->command->name, file, strerror(failed));
        return FBLE_OTHER;
    }
    struct fble_arena *arena = &r->program->arena;
    const char *folder = !slash          ? "."
                         : slash == file ? "/"
                                         : fble_copy(arena, file, (size_t)(slash - file));
    struct fble_word *word = fble_word(arena, &r->program->words,
                                       fble_copy(arena, name, strlen(name)), strlen(name) - 5);
    r->options->main = fble_path(arena, &r->program->words, &word, 1);
    search_first(r, folder);
    return FBLE_FINE;
}

int fble_options_read(struct fble_program *program, struct fble_options *result,
                      const struct fble_command *command, char **arguments) {
    struct reader r = {program, result, command, arguments, {0}};
    bool more = true, number = command->takes & FBLE_TAKES_NUMBER;
    while (*r.at) {
        int status = FBLE_FINE;
        if (more && !strcmp(*r.at, "--")) {
            more = false;
            r.at++;
            if (!(command->takes & FBLE_TAKES_ARGUMENTS)) continue;
            result->run.arguments = r.at;
            break;
        } else if (more && **r.at == '-' && r.at[0][1]) {
            status = read_option(&r);
        } else {
            fble_push(&program->arena, &r.files, *r.at++);
        }
        if (status != FBLE_FINE) return status;
    }
    if (command->takes & FBLE_TAKES_NO_MODULE && !result->main && !r.files.count) return FBLE_FINE;
    if (number && r.files.count > (result->main ? 0u : 1u))
        result->number = r.files.at[--r.files.count];
    if (number && !result->number) return usage_error(&r, "give a number", "");
    if (r.files.count > 1) return usage_error(&r, "one file at a time, not also ", r.files.at[1]);
    if (r.files.count && command->takes & FBLE_TAKES_STDIN && !strcmp(r.files.at[0], "-"))
        return set_stdin(&r);
    if (command->takes & FBLE_TAKES_FOLDER && !result->main) {
        const char *folder = r.files.count ? r.files.at[0] : ".";
        result->folder = is_directory(folder) ? folder : NULL;
        if (result->folder) return FBLE_FINE;
    }
    if (r.files.count && result->main) return usage_error(&r, "give a file or -m, not both", "");
    if (r.files.count) return set_file(&r, r.files.at[0]);
    if (result->main || (result->compile.library && result->packages.count)) return FBLE_FINE;
    return usage_error(&r, "give a file or -m /Module%", "");
}
