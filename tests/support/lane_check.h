// SPDX-License-Identifier: MIT
#ifndef OURO_LANE_CHECK_H
#define OURO_LANE_CHECK_H

#include "ouro.h"

// Checks the invariants of internal.h in every lane. Call it while nothing records.
void check_lanes(ouro_profile *profile);

// The path of a position as text, "a/b/c" with block ids.
const char *position_path(const ouro_thread *thread, ouro_position position);

#endif
