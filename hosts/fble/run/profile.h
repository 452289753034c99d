// SPDX-License-Identifier: MIT
//
// Profiles of programs that the command line runs.

#ifndef FBLE_PROFILE_H
#define FBLE_PROFILE_H

#include "runner.h"

// Where the value of the option --NAME goes; NULL: it is no option about profiles.
const char **fble_profile_option(struct fble_run_options *run, const char *name, size_t length);
// What --slice says, for the profile and the machine. So also those below: FBLE_FINE, or what to
// exit with, after a message.
int fble_slice_option(const struct fble_runner *runner, ouro_options *options,
                      fble_machine_options *machine);
// Is there a block of that name among these (const char *)? If not, says which look like it.
int fble_slice_check(const struct fble_runner *runner, const struct fble_list *names);
// Reads the options, makes the profile and tells the machine which metric is which.
int fble_profile_start(struct fble_runner *runner, fble_machine_options *options);
// The machine is there: starts the clock, and sees to it that signals end the program properly.
int fble_profile_begin(struct fble_runner *runner);
// Writes the profile.
int fble_profile_finish(struct fble_runner *runner);

#endif
