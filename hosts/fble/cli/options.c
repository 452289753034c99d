// SPDX-License-Identifier: MIT
//
// Options of all commands: the search path, packages, the main module or file. Options may stand
// after the file; `--` ends them. A file alone is turned into a module path and a directory, so
// that nothing behind this point knows of files given by hand.

#include "command.h"
#include "own_path.h"
#include "run/profile.h"
#include "syntax/parser.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
    fprintf(stderr, "fble %s: %s%s\n%s", r->command->name, message, what, r->command->usage);
    return FBLE_USAGE;
}

// The value of an option with one, as in -I DIR, -IDIR, --module PATH or --module=PATH.
static bool takes(struct reader *r, char letter, const char *word, const char **value) {
    const char *text = *r->at;
    size_t length = strlen(word);
    if (letter && text[0] == '-' && text[1] == letter) {
        *value = text[2] ? text + 2 : *++r->at;
        return true;
    }
    if (strncmp(text, "--", 2) || strncmp(text + 2, word, length)) return false;
    if (text[2 + length] && text[2 + length] != '=') return false;
    *value = text[2 + length] ? text + 3 + length : *++r->at;
    return true;
}

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
    char beside[PATH_MAX];
    if (!ouro__own_folder(beside)) return false;
    const char *places[] = {"packages", "../share/fble"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const char *folder = fble_format(&r->program->arena, "%s%s", beside, places[i]);
        if (package_in(r, folder, strlen(folder), name)) return true;
    }
    return false;
}

// The first DIR/NAME that exists: for DIR in FBLE_PACKAGE_PATH, beside the program, and then where
// packages are installed.
static int add_package(struct reader *r, const char *name) {
    const char *path = getenv("FBLE_PACKAGE_PATH");
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

// Options of commands that run programs: --name VALUE, each into its place.
static bool takes_run_option(struct reader *r, const char **value) {
    struct fble_run_options *run = &r->options->run;
    if (!r->command->runs) return false;
    size_t length = strcspn(*r->at, "=");
    const char **to = length > 2 ? fble_profile_option(run, *r->at + 2, length - 2) : NULL;
    if (to && !strncmp(*r->at, "--", 2)) {
        *to = *value = (*r->at)[length] ? *r->at + length + 1 : *++r->at;
        return true;
    }
    if (takes(r, 0, "compiled", value)) {
        if (*value) fble_push(&r->program->arena, &run->compiled, (void *)*value);
        return true;
    }
    if (!takes(r, 0, "foreign", value)) return false;
    if (*value) fble_push(&r->program->arena, &run->foreign, (void *)*value);
    return true;
}

static bool is_flag(const char *text, const char *name, bool *flag) {
    if (strcmp(text, name)) return false;
    return *flag = true;
}

// Options of compile, those with a value and those without.
static bool takes_compile_option(struct reader *r, const char **value) {
    struct fble_compile_options *compile = &r->options->compile;
    if (!r->command->compiles) return false;
    if (takes(r, 'o', "output", value)) {
        compile->output = *value;
    } else if (takes(r, 'j', "jobs", value)) {
        compile->jobs = *value;
    } else if (takes(r, 0, "emit-c", value)) {
        compile->emit = *value;
    } else if (takes(r, 0, "build-dir", value)) {
        compile->folder = *value;
    } else if (takes(r, 0, "profile-blocks", value)) {
        r->options->run.blocks = *value;
    } else {
        *value = "";
        return is_flag(*r->at, "--eval", &compile->eval) ||
               is_flag(*r->at, "--library", &compile->library) ||
               is_flag(*r->at, "--no-profile", &compile->no_profile) ||
               is_flag(*r->at, "--verbose", &compile->verbose);
    }
    return true;
}

static int read_option(struct reader *r) {
    const char *value = "", *text = *r->at;
    int status = FBLE_FINE;
    if (r->command->reports && !strcmp(text, "--json"))
        r->options->json = true;
    else if (!strcmp(text, "--alone"))
        r->options->alone = r->program->alone = true;
    else if (takes(r, 'I', "include", &value) && value)
        fble_program_search(r->program, value);
    else if (value && takes(r, 'p', "package", &value) && value)
        status = add_package(r, value);
    else if (value && takes(r, 'm', "module", &value) && value)
        status = set_main(r, value);
    else if (value && r->command->has_target && takes(r, 't', "target", &value) && value)
        r->options->target = value;
    else if (!value || (!takes_run_option(r, &value) && !takes_compile_option(r, &value)) || !value)
        return usage_error(r, value ? "unknown option " : "no value for ", text);
    if (status == FBLE_FINE) r->at++;
    return status;
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
        fprintf(stderr, "fble %s: cannot read %s: %s\n", r->command->name, file, strerror(failed));
        return FBLE_OTHER;
    }
    struct fble_arena *arena = &r->program->arena;
    const char *folder = !slash          ? "."
                         : slash == file ? "/"
                                         : fble_copy(arena, file, (size_t)(slash - file));
    struct fble_word *word = fble_word(arena, &r->program->words,
                                       fble_copy(arena, name, strlen(name)), strlen(name) - 5);
    r->options->main = fble_path(arena, &r->program->words, &word, 1);
    r->options->file = file;
    struct fble_list rest = r->program->search;
    r->program->search = (struct fble_list){0};
    fble_program_search(r->program, folder);
    for (uint32_t i = 0; i < rest.count; i++) fble_program_search(r->program, rest.at[i]);
    return FBLE_FINE;
}

int fble_options_read(struct fble_program *program, struct fble_options *options,
                      const struct fble_command *command, char **arguments) {
    struct reader r = {program, options, command, arguments, {0}};
    bool more = true;
    while (*r.at) {
        int status = FBLE_FINE;
        if (more && !strcmp(*r.at, "--")) {
            more = false;
            r.at++;
            if (!command->has_arguments) continue;
            options->arguments = r.at;
            break;
        } else if (more && **r.at == '-' && r.at[0][1]) {
            status = read_option(&r);
        } else {
            fble_push(&program->arena, &r.files, *r.at++);
        }
        if (status != FBLE_FINE) return status;
    }
    if (command->has_number && r.files.count > (options->main ? 0u : 1u))
        options->number = r.files.at[--r.files.count];
    if (command->has_number && !options->number) return usage_error(&r, "give a number", "");
    if (r.files.count > 1) return usage_error(&r, "one file at a time, not also ", r.files.at[1]);
    if (r.files.count && options->main) return usage_error(&r, "give a file or -m, not both", "");
    if (r.files.count) return set_file(&r, r.files.at[0]);
    if (options->main || (options->compile.library && options->packages.count)) return FBLE_FINE;
    return usage_error(&r, "give a file or -m /Module%", "");
}
