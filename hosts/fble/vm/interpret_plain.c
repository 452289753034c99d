// SPDX-License-Identifier: MIT
//
// The interpreter without a profile: loop.h, as it is.

#include "machine.h"

#define MODE PLAIN
#define INTERPRET fble_interpret_plain
#include "loop.h"
