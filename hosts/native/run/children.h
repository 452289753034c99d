// SPDX-License-Identifier: MIT
//
// The processes that `ouro run` starts: the program, and `ouro` itself, which reads and writes
// profiles. Signals that would end us are passed on to them.

#ifndef OURO_NATIVE_CHILDREN_H
#define OURO_NATIVE_CHILDREN_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

void pass_signals(void);
void pass_on(int signal_number); // to the child; a handler
pid_t start_child(void);         // fork
int wait_for_child(void);        // its status; 128 + N if signal N ended it

// Runs ouro. Its output goes to standard error, because standard output is the program's.
enum how { QUIETLY, HEARD, SHOWN }; // SHOWN: Ctrl-C ends it
extern char ouro[PATH_MAX];         // the first of its arguments
void find_ouro_once(void);
int status_of_ouro(char **arguments, enum how how);
bool run_ouro(char **arguments);
char *heard_from_ouro(char **arguments); // what it prints; freed by the caller

#endif
