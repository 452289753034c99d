// SPDX-License-Identifier: MIT
//
// Runs the program, counted or sampled.

#ifndef OURO_NATIVE_START_H
#define OURO_NATIVE_START_H

#include "live.h"
#include "sampling.h"

// Programs whose calls are not counted are sampled. A script may start one of either kind.
bool wants_sampling(const options *o);
sampling *start_sampling(const options *o, const folders *f, const char *name, pid_t pid,
                         bool on_exec, bool by_timer);
// *started: it ran; its own status may be 126 or 127, too. *sampled_too: see wants_sampling.
int run_program(const options *o, const folders *f, bool *started, bool *sampled_too);

const char *base_name(const char *path);

#endif
