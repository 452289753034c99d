// SPDX-License-Identifier: MIT
//
// The options of `ouro run`.

#ifndef OURO_NATIVE_OPTIONS_H
#define OURO_NATIVE_OPTIONS_H

#include <stdbool.h>

enum { EXIT_FAILED = 1, EXIT_USAGE = 2 };

typedef struct {
    const char *output, *live, *debug_folders, *clock, *hz, *rule, *nodes;
    bool view, quiet, memory, tiny, symbolise, sample, by_thread, off, timer;
    const char *pid, *duration, *slice, *slice_by, *without;
    char **rest;
} options;

// Ends the program if they make no sense, and after --help.
void read_options(options *o, int argc, char **argv);
double duration_of(const options *o); // 0: no end

_Noreturn void fail(const char *what, const char *which); // with errno

#endif
