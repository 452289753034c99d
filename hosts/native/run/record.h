// SPDX-License-Identifier: MIT
//
// `ouro record on PID`, `ouro record off PID`: switches the recording of a process that runs.

#ifndef OURO_NATIVE_RECORD_H
#define OURO_NATIVE_RECORD_H

#include <stdbool.h>

int record_switch(int argc, char **argv);

// In `ouro run` itself, for programs that it samples: *off follows what is asked for.
void record_listen(volatile bool *off);

#endif
