// SPDX-License-Identifier: MIT
//
// What sampled stacks showed of recursion, by block.

#ifndef OURO_NOTED_H
#define OURO_NOTED_H

#include "internal.h"

// Returns zeros for a block that never recursed.
ouro__noted ouro__noted_of(ouro_profile *profile, ouro_block block);
// The caller holds the profile's lock.
void ouro__noted_reset(ouro_profile *profile);
void ouro__noted_free(ouro_profile *profile);

#endif
