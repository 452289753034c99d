// SPDX-License-Identifier: MIT
//
// Call chains from registers and a copy of the stack, by the unwinding tables of the modules.

#ifndef OURO_NATIVE_UNWIND_H
#define OURO_NATIVE_UNWIND_H

#include "modules.h"
#include "records.h"

// The registers that samples must have, as bits of sample_regs_user; 0: unwinding is not possible
// on this machine.
uint64_t unwind_registers(void);

// Writes the addresses of the frames, the innermost first; all but that are return addresses less
// one, which is inside the call. Returns how many, 0 if nothing can be said. *cut: the copy of the
// stack ended before the stack did.
size_t unwind(modules *all, process *p, const record *sample, uint64_t mask, uint64_t *frames,
              size_t most, bool *cut);

void unwinder_free(void *unwinder);

#endif
