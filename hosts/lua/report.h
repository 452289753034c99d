// SPDX-License-Identifier: MIT
#ifndef OURO_LUA_REPORT_H
#define OURO_LUA_REPORT_H

#include "ouro.h"

// The caller frees it. NULL without memory.
char *report_text(ouro_profile *profile);

#endif
