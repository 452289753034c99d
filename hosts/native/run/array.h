// SPDX-License-Identifier: MIT
//
// Arrays that double.

#ifndef OURO_NATIVE_ARRAY_H
#define OURO_NATIVE_ARRAY_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { ARRAY_FIRST_ROOM = 64 };

// Room for `needed` items of `size` bytes; `array` is the address of its pointer. false: there is
// not enough memory, and nothing has changed.
static inline bool array_reserve(void *array, size_t needed, size_t *room, size_t size) {
    void *old;
    size_t larger = *room ? *room : ARRAY_FIRST_ROOM;
    if (needed <= *room) return true;
    while (larger < needed) larger *= 2;
    memcpy(&old, array, sizeof old);
    void *grown = realloc(old, larger * size);
    if (!grown) return false;
    memcpy(array, &grown, sizeof grown);
    *room = larger;
    return true;
}

#endif
