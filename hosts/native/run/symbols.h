// SPDX-License-Identifier: MIT
//
// Names for the functions of a program, from the program's file or its separate debug file.

#ifndef OURO_NATIVE_SYMBOLS_H
#define OURO_NATIVE_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct symbols symbols;

typedef struct {
    const char *name; // demangled; lives as long as the symbols
    const char *file; // the module if not known
    uint32_t line;    // 0 if not known
    uint64_t start;   // where the function begins, as the file counts addresses
    bool is_part;     // a part that the rest of the function calls: gcc's `f.part.0`
} symbol;

// `debug_folders`: the folders of separate debug files, which are found by build id and by name,
// separated by `:`; NULL is /usr/lib/debug. Returns NULL if there is no memory.
symbols *symbols_new(const char *debug_folders);
void symbols_free(symbols *all);

// The function that begins at `offset` of the module, as its file counts addresses. `build_id` is
// hexadecimal, "" if the module had none. A file with another id is not the one that ran, and is
// not used. False if nothing is known.
bool symbols_find(symbols *all, const char *path, const char *build_id, uint64_t offset,
                  symbol *found);

// The function that `offset` is in. If it has no name, false; found->start is then where it begins
// by the unwinding tables, or 0.
bool symbols_containing(symbols *all, const char *path, const char *build_id, uint64_t offset,
                        symbol *found);

#endif
