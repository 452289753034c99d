// SPDX-License-Identifier: MIT
//
// libdw, for the files that need it: symbols.c (names), unwind.c (stacks), advice.c (gcc's notes)
// and ../cc/tiny.c (sizes of functions).

#ifndef OURO_NATIVE_DW_H
#define OURO_NATIVE_DW_H

#include <dwarf.h>
#include <elfutils/libdwfl.h>

#endif
