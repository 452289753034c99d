// SPDX-License-Identifier: MIT
//
// The command line. One file per command; options.c reads what they have in common.

#ifndef FBLE_COMMAND_H
#define FBLE_COMMAND_H

#include "run/runner.h"

// Of compile.
struct fble_compile_options {
    const char *output, *emit, *folder, *jobs;
    bool eval, library, profile, verbose;
};

struct fble_options {
    struct fble_path *main; // from -m or from a file
    const char *target;     // of deps
    const char *number;     // of memory
    const char *folder;     // of test
    struct fble_list words; // of test, const char *
    struct fble_run_options run;
    struct fble_compile_options compile;
    struct fble_list packages; // const char *, folders of -p
    bool json, stdio;
};

// What a command takes beside the options that all have.
enum fble_takes {
    FBLE_TAKES_JSON = 1,
    FBLE_TAKES_TARGET = 2,     // -t
    FBLE_TAKES_RUN = 4,        // --profile and the like
    FBLE_TAKES_COMPILE = 8,    // -o and the like
    FBLE_TAKES_ARGUMENTS = 16, // those after -- are the program's
    FBLE_TAKES_NUMBER = 32,    // one more argument
    FBLE_TAKES_STDIN = 64,     // - is the standard input
    FBLE_TAKES_NO_MODULE = 128,
    FBLE_TAKES_FOLDER = 256, // in place of a file; nothing is the current one
};

struct fble_command {
    const char *name, *summary, *usage;
    unsigned takes; // enum fble_takes, several
    // The exit statuses of other commands, as this one gives them; NULL: the same.
    const int *statuses;
    int (*run)(struct fble_program *program, struct fble_options *options);
};

#define FBLE_RUN_USAGE                                                                     \
    "      --foreign LIB.so    functions in C, see fble.h\n"                               \
    "      --compiled LIB.so   modules that fble compile --library made\n"                 \
    "      --profile FILE      write a profile; the format goes by the extension\n"        \
    "      --profile-live FILE a profile that can be looked at while the program runs\n"   \
    "      --profile-blocks functions|all\n"                                               \
    "      --profile-metrics LIST   of instructions, time, objects, bytes\n"               \
    "      --profile-compact RULE   loops, cycles, edges, edges:1 to edges:3, none\n"      \
    "      --profile-max-nodes N    the most paths to keep\n"                              \
    "      --profile-period N       charge instructions N at a time\n"                     \
    "      --slice BLOCK            each call of BLOCK is a slice: ouro report --slices\n" \
    "      --slice-by METRIC        what slow slices have more of; default: duration\n"

extern const struct fble_command fble_command_check, fble_command_deps, fble_command_eval,
    fble_command_run, fble_command_memory, fble_command_disassemble, fble_command_compile,
    fble_command_lsp, fble_command_test;

// Reads the arguments of a command. FBLE_FINE, or what to exit with, after a message.
int fble_options_read(struct fble_program *program, struct fble_options *options,
                      const struct fble_command *command, char **arguments);

#endif
