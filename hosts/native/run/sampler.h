// SPDX-License-Identifier: MIT
//
// Samples programs by perf_event_open: opens the events, and brings their records into order.

#ifndef OURO_NATIVE_SAMPLER_H
#define OURO_NATIVE_SAMPLER_H

#include "sampled.h"

#include <sys/types.h>

typedef struct sampler sampler;

// Opens events for a process, its threads and all that they start. `on_exec`: they count from its
// next exec on. NULL with errno; EACCES or EPERM: the system does not permit it.
sampler *sampler_open(sampled *to, pid_t pid, unsigned hz, bool waits, bool on_exec);
bool sampler_has_kernel(const sampler *s);

// Takes records until the process ends, `*stop` is set or `seconds` have passed (0: never).
void sampler_run(sampler *s, const volatile int *stop, double seconds);
// Takes what is left, and closes.
void sampler_close(sampler *s);

#endif
