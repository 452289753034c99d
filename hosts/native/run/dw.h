// SPDX-License-Identifier: MIT
//
// libdw, for the files of this folder that need it: symbols.c (names) and unwind.c (stacks).

#ifndef OURO_NATIVE_DW_H
#define OURO_NATIVE_DW_H

#include <dwarf.h>
#include <elfutils/libdwfl.h>

#endif
