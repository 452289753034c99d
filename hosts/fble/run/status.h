// SPDX-License-Identifier: MIT
//
// Exit statuses of the command and of compiled programs.

#ifndef FBLE_STATUS_H
#define FBLE_STATUS_H

#include "program/loader.h"

enum fble_exit {
    FBLE_FINE = 0,
    FBLE_COMPILE_ERROR = 2,
    FBLE_RUNTIME_ERROR = 3,
    FBLE_USAGE = 4,
    FBLE_OTHER = 5,
};

// The same as `fble run` and compiled programs give them, since 0 to 111 are the program's own.
extern const int fble_run_statuses[];

// Shows all messages, on stderr as text or on stdout as JSON, and gives the exit status.
int fble_finish(struct fble_program *program, bool json);

#endif
