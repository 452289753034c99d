// SPDX-License-Identifier: MIT
//
// What the questions about two files have in common: the views of both sides, the metric that both
// have, and blocks that are of one side or the other.

#ifndef OURO_COMPARE_H
#define OURO_COMPARE_H

#include "api.h"

typedef struct {
    view *views[2];
    uint32_t metrics[2];
    uint32_t decimals; // of all amounts: the larger of both sides
    int64_t whole[2];  // totals without filters
} compared;

// false: refused, or out of memory. To be released in any case.
bool ouro__find_compared(question *q, compared *c);
void ouro__release_compared(question *q, compared *c);

// The metric and the totals, as members. `left` is what the filters leave.
void ouro__write_compared(question *q, const compared *c, const int64_t left[2]);
// A block with the side that has it, as a member of `blocks`.
void ouro__write_side_block(question *q, const compared *c, bool after, uint32_t block);

#endif
