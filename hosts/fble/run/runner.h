// SPDX-License-Identifier: MIT
//
// What the commands that run programs have in common: a machine for a program, with a profile if
// one is asked for, and everything that is due at the end.

#ifndef FBLE_RUNNER_H
#define FBLE_RUNNER_H

#include "evaluate.h"
#include "status.h"

// What can be said about a run: profile.c reads the options of profiles.
struct fble_run_options {
    const char *profile, *live; // files
    const char *metrics;        // names with commas
    const char *compact, *max_nodes, *period, *blocks;
    const char *slice;         // the name of the blocks whose calls are slices
    const char *slice_by;      // the metric that tells which are slow
    struct fble_list foreign;  // const char *, shared objects
    struct fble_list compiled; // the same, of compiled modules
    char **arguments;          // of the program
};

// What will be done with the main module's value: calling.c has the types that it must have then.
enum fble_calling {
    FBLE_NOT_CALLED,
    FBLE_CALLED_AS_PROGRAM,   // as a Main@
    FBLE_CALLED_WITH_A_NUMBER // as a function of a list of bits
};

// Reports it if the value of a program that was checked has another type.
void fble_check_main(struct fble_program *program, const struct fble_module *main,
                     enum fble_calling calling);

struct fble_runner {
    struct fble_arena *arena;     // the program's, if there is one
    struct fble_program *program; // NULL: compiled
    struct fble_path *main;       // of the program's sources
    const struct fble_run_options *options;
    const char *command; // for messages
    enum fble_calling calling;
    struct fble_machine *machine;
    ouro_profile *profile;
    // Writes a packed profile. NULL: the program ouro has to, as for other formats.
    int (*pack)(ouro_profile *profile, const char *path);
    struct fble_list libraries; // handles of dlopen
    struct fble_list metric_names;
    bool clock; // the profile has a metric of time
    ouro_metric time;
};

// Loads, checks and evaluates the program. FBLE_FINE, with the main module's value, or what to exit
// with, after a message.
int fble_runner_start(struct fble_runner *runner, const fble_machine_options *options,
                      fble_ref *value);
// Shows the machine's error, if there is one; writes the profile; frees the machine. The status, or
// another if something fails only now.
int fble_runner_end(struct fble_runner *runner, int status);

// Opens a shared object, also one in the current folder, and keeps it open; flags as of dlopen.
void *fble_runner_open(struct fble_runner *runner, const char *file, int flags);
// Makes the machine, starts the profile, and loads the shared objects of --foreign.
int fble_runner_machine(struct fble_runner *runner, const fble_machine_options *options);
// For fble_no_memory: shows where the program was, and writes the profile. The process must end
// then. Returns false if no program runs.
bool fble_runner_no_memory(void);
// Runs a value of type Main@ and ends the runner. The exit status.
int fble_run_main(struct fble_runner *runner, fble_ref main);

#endif
