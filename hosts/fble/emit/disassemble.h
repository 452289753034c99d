// SPDX-License-Identifier: MIT
//
// Bytecode as text.

#ifndef FBLE_DISASSEMBLE_H
#define FBLE_DISASSEMBLE_H

#include "instructions.h"

#include <stdio.h>

void fble_disassemble(FILE *to, const struct fble_emitted *emitted);

#endif
