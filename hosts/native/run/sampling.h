// SPDX-License-Identifier: MIT
//
// Sampling for `ouro run`: is it wanted, is it permitted, and what is said about it.

#ifndef OURO_NATIVE_SAMPLING_H
#define OURO_NATIVE_SAMPLING_H

#include "sampled.h"

#include <limits.h>
#include <sys/types.h>

// Live files of sampled programs end so.
#define SAMPLED_ENDING ".sampled.ouro"

typedef struct sampling sampling;

typedef struct {
    const char *folder, *name; // of the live file
    const char *mark;          // in its name, NULL: none
    const char *rule, *nodes, *debug_folders;
    unsigned hz;
    bool waits, by_thread, by_timer, off;
} sampling_options;

// The file of a program, by PATH if its name has no slash.
bool find_program(const char *program, char path[static PATH_MAX]);

// Was the program built with hooks or sleds, so that its calls are counted?
bool is_instrumented(const char *program);

// Samples a process: from its next exec on, or at once. NULL with errno. With `by_timer` the
// program samples itself, see ring.h.
sampling *sampling_start(const sampling_options *options, pid_t pid, bool on_exec);
// Until the process ends, *stop is set, or `seconds` have passed (0: never).
void sampling_run(sampling *s, const volatile int *stop, double seconds);
// Ends and frees; the live file stays. The number of samples.
uint64_t sampling_end(sampling *s, bool quiet);

// Says why events cannot be opened, and what to do. `instead`: a timer will sample.
void tell_not_permitted(int error, bool instead);

#endif
