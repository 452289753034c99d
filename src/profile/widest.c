// SPDX-License-Identifier: MIT
//
// The heap of boxes, a binary one in an array. Of boxes that are as wide, the first node comes
// first, so that a picture does not depend on the order in which they were added.

#include "widest.h"

#include <stdlib.h>

static bool narrower(const box *a, const box *b) {
    return a->row.value != b->row.value ? a->row.value < b->row.value : a->row.node > b->row.node;
}

bool ouro__widest_add(widest *w, const box *b) {
    if (w->count == w->room) {
        uint32_t room = w->room ? w->room * 2 : 1024;
        box *boxes = realloc(w->boxes, room * sizeof *boxes);
        if (!boxes) return false;
        w->boxes = boxes;
        w->room = room;
    }
    uint32_t at = w->count++;
    for (uint32_t up; at && narrower(&w->boxes[up = (at - 1) / 2], b); at = up)
        w->boxes[at] = w->boxes[up];
    w->boxes[at] = *b;
    return true;
}

box ouro__widest_take(widest *w) {
    box top = w->boxes[0], last = w->boxes[--w->count];
    uint32_t at = 0;
    for (uint32_t child; (child = 2 * at + 1) < w->count; at = child) {
        if (child + 1 < w->count && narrower(&w->boxes[child], &w->boxes[child + 1])) child++;
        if (!narrower(&last, &w->boxes[child])) break;
        w->boxes[at] = w->boxes[child];
    }
    w->boxes[at] = last;
    return top;
}
