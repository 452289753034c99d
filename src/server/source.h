// SPDX-License-Identifier: MIT
//
// Source files, read only inside folders that the user allowed.

#ifndef OURO_SOURCE_H
#define OURO_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

// What may be shown. The texts must outlive the server.
typedef struct {
    const char *const *roots; // folders
    size_t root_count;
    const char *const *extensions; // besides the usual ones, without a dot
    size_t extension_count;
    bool any; // any plain file inside the roots
    // FROM=TO each: /build/x=. says that /build/x/a.c is ./a.c. The first that fits counts.
    const char *const *maps;
    size_t map_count;
} source_rules;

// Is it FROM=TO?
bool ouro__is_source_map(const char *text);

// The contents with a NUL behind them, freed by the caller. NULL with *reason set to a few words:
// it is not there, not inside a root, no plain file, no source, too large. The name is one that a
// profile has; it may be anything.
char *ouro__source_read(const source_rules *rules, const char *name, size_t *size,
                        const char **reason);
// Could it be read?
bool ouro__source_readable(const source_rules *rules, const char *name);

#endif
