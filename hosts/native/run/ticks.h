// SPDX-License-Identifier: MIT
//
// Reads the rings of programs that sample themselves: see ring.h.

#ifndef OURO_NATIVE_TICKS_H
#define OURO_NATIVE_TICKS_H

#include "sampled.h"

#include <sys/types.h>

typedef struct ticks ticks;

// `mark`: see scratch.h. NULL with errno.
ticks *ticks_open(sampled *to, const char *folder, const char *mark, pid_t pid);
// Until the process ends, *stop is set, or `seconds` have passed (0: never).
void ticks_run(ticks *t, const volatile int *stop, double seconds);
// Removes the rings.
void ticks_close(ticks *t);

#endif
