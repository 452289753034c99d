// SPDX-License-Identifier: MIT
//
// Profiles of programs that the command line runs.

#ifndef FBLE_PROFILE_H
#define FBLE_PROFILE_H

#include "runner.h"

// Reads the options, makes the profile and tells the machine which metric is which.
int fble_profile_start(struct fble_runner *runner, fble_machine_options *options);
// The machine is there: starts the clock, and sees to it that signals end the program properly.
int fble_profile_begin(struct fble_runner *runner);
// Writes the profile.
int fble_profile_finish(struct fble_runner *runner);

#endif
