// SPDX-License-Identifier: MIT
//
// What a profile is a part of, and the words for it.

#ifndef OURO_PART_H
#define OURO_PART_H

#include "output.h"
#include "profile.h"

// What a profile is a part of, so that a part never reads as the whole.
typedef struct {
    const char *const *filters; // in words: "select eval"
    uint32_t filter_count;
    const int64_t *totals; // by metric
    uint32_t paths;
    uint32_t cut; // how many of the paths that filters left are in [pruned], to make a small file
} part_info;

// What percentages are of: the whole if the profile is a part, else its own total.
int64_t ouro__part_total(const profile *p, uint32_t m, const part_info *w);
// " 45 of 100 ms (45.00%)", or " 100 ms" of a whole. Text for HTML and XML.
void ouro__put_part_amount(const profile *p, uint32_t m, const part_info *w, output *out);
// "select eval, exclude print"; "" without filters. The caller frees it. NULL: out of memory.
char *ouro__part_filters(const part_info *w);

#endif
