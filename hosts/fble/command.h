// SPDX-License-Identifier: MIT
//
// The command line. One file per command; options.c reads what they have in common.

#ifndef FBLE_COMMAND_H
#define FBLE_COMMAND_H

#include "loader.h"

enum fble_exit { FBLE_FINE = 0, FBLE_COMPILE_ERROR = 2, FBLE_USAGE = 4, FBLE_OTHER = 5 };

struct fble_options {
    struct fble_path *main; // from -m or from a file
    const char *file;       // the file, if one was given
    const char *target;     // of deps
    bool json, alone;
};

struct fble_command {
    const char *name, *summary, *usage;
    bool reports;    // takes --json
    bool has_target; // takes -t
    int (*run)(struct fble_program *program, struct fble_options *options);
};

extern const struct fble_command fble_command_check, fble_command_deps;

// Reads the arguments of a command. FBLE_FINE, or what to exit with, after a message.
int fble_options_read(struct fble_program *program, struct fble_options *options,
                      const struct fble_command *command, char **arguments);

// Shows all messages, on stderr as text or on stdout as JSON, and gives the exit status.
int fble_finish(struct fble_program *program, const struct fble_options *options);

#endif
