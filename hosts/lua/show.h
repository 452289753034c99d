// SPDX-License-Identifier: MIT
#ifndef OURO_LUA_SHOW_H
#define OURO_LUA_SHOW_H

#include "ouro.h"

// Prints a summary of a profile that was written to `file`, unless quiet, and opens the viewer. The
// hint ends the sentence that the script ended before the first tick.
void show_profile(ouro_profile *profile, const char *file, bool quiet, bool view, const char *hint);

#endif
