// SPDX-License-Identifier: MIT
//
// Which functions have loops, as gcc says it (-fdump-tree-cfg).

#ifndef OURO_NATIVE_LOOPS_H
#define OURO_NATIVE_LOOPS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    char **names;
    size_t count, room;
} loops;

// Adds the functions with loops that a dump tells of. Sorts them: call it for all, then ask.
void loops_read(loops *l, const char *dump);
// By its name with classes and namespaces, without parameters.
bool loops_has(const loops *l, const char *name);
void loops_free(loops *l);

#endif
