// SPDX-License-Identifier: MIT
//
// The interpreter without a profile: loop.h, as it is. Also the way back from compiled code into
// whichever loop the machine uses.

#include "machine.h"

#define MODE 0
#define INTERPRET fble_interpret_plain
#include "loop.h"

fble_any_step fble_interpret(struct fble_machine *machine) { return machine->interpret(machine); }
