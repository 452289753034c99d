// SPDX-License-Identifier: MIT
//
// Names for functions that a live file knows by module and offset only, as native programs
// have them.

#ifndef OURO_NAMING_H
#define OURO_NAMING_H

#include "ouro.h"

// Fills `named` with the infos of `blocks`, with names where they are known. What it points to
// lives as long as the program. Any OS thread.
typedef void ouro__namer(const ouro_block_info *blocks, size_t count, ouro_block_info *named);

// Set once, at the start; NULL: functions stay as they are.
extern ouro__namer *ouro__name_functions;

#endif
