// SPDX-License-Identifier: MIT
//
// A heap of boxes whose parents are rows of a flame graph already, the widest on top: the next row
// is always the widest box that is left.

#ifndef OURO_WIDEST_H
#define OURO_WIDEST_H

#include "questions.h"

// `from` and `to` are the user's.
typedef struct {
    flame row;
    uint32_t from, to;
} box;

typedef struct {
    box *boxes;
    uint32_t count, room;
} widest;

// false: out of memory.
bool ouro__widest_add(widest *w, const box *b);
// There must be one.
box ouro__widest_take(widest *w);

#endif
