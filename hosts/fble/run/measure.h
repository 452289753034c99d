// SPDX-License-Identifier: MIT
//
// How much memory a call takes.

#ifndef FBLE_MEASURE_H
#define FBLE_MEASURE_H

#include "vm/machine.h"

// For fble_machine_options.collect_after: the peak is exact to this many bytes.
enum { FBLE_MEASURE_STEP = 128 };

// Calls the function with a number, as a list of bits, the most significant first, and gives the
// peak of bytes in use during the call, objects and stacks, without what was there before. False:
// the call failed.
bool fble_measure(struct fble_machine *machine, fble_ref function, uint64_t n, size_t *bytes);

#endif
