// SPDX-License-Identifier: MIT
//
// Rewrites a pprof profile whose functions are `module+0xoffset` with the names of symbols.h.

#ifndef OURO_NATIVE_RENAME_H
#define OURO_NATIVE_RENAME_H

#include "symbols.h"

typedef struct {
    uint64_t functions; // that are named by module and offset,
    uint64_t named;     // and now have a name
} rename_counts;

// From one file to another, as a profile of `program`, NULL: as it is. 0, or -1 with errno; EILSEQ:
// not a pprof profile.
int rename_functions(const char *from, const char *to, const char *program, symbols *all,
                     rename_counts *counts);

// One function: `name` is MODULE+0xOFFSET and `file` is PATH (build id HEX), or PATH alone; `file`
// is changed. *asks: they are of this form.
bool rename_find(symbols *all, const char *name, char *file, bool *asks, symbol *found);

#endif
