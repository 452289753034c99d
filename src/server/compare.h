// SPDX-License-Identifier: MIT
//
// What the questions about two files have in common: the views of both sides, and the metric that
// both have.

#ifndef OURO_COMPARE_H
#define OURO_COMPARE_H

#include "api.h"

typedef struct {
    view *views[2];
    uint32_t metrics[2];
    uint32_t decimals; // of all amounts: the larger of both sides
    int64_t scale[2];  // what the values of a side are multiplied by to count in these
    int64_t whole[2];  // totals without filters
} compared;

// The numbers of a metric that both sides have; false: refused.
bool ouro__find_common(question *q, uint32_t metrics[2]);
// false: refused, or out of memory. To be released in any case.
bool ouro__find_compared(question *q, compared *c);
void ouro__release_compared(question *q, compared *c);

// The totals, as members. `left` is what the filters leave.
void ouro__write_sides(question *q, const compared *c, const int64_t left[2]);

#endif
