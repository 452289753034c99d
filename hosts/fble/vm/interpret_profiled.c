// SPDX-License-Identifier: MIT
//
// The interpreter with the usual profile: calls and instructions, the latter as the profile's
// metric 0. Everything else goes through interpret_metered.c.

#include "machine.h"

#ifndef FBLE_NO_PROFILE
#define MODE PROFILED
#define INTERPRET fble_interpret_profiled
#include "loop.h"
#endif
