// SPDX-License-Identifier: MIT
//
// A choice among the slices of a profile, and the pictures it is made in. The samples of slices
// whose trees were kept have labels, so a choice becomes conditions on labels; of other slices only
// their number is known, and it is told.
//
// WORDS
//   choice    slowest: the slowest hundredth. typical: chosen evenly among the lower nine tenths.
//             last: those that began in the last ten seconds. 12, or 12/3 of lane 3: that one.
//             FROM-UNTIL,LEAST-MOST: those that began then and took so long, in seconds. Each of
//             the four may be missing, and so may the comma with what follows
//   grid      how many slices began when, and how long they took: columns of time, rows of
//             durations, which grow by the same factor

#ifndef OURO_SLICE_CHOICE_H
#define OURO_SLICE_CHOICE_H

#include "questions.h"
#include "sliced.h"

typedef struct {
    enum { CHOICE_SLOWEST = 1, CHOICE_TYPICAL, CHOICE_LAST, CHOICE_ONE, CHOICE_REGION } kind;
    uint64_t number; // of that one
    uint32_t lane;
    uint64_t from, until; // of the region: from <= start < until, in nanoseconds,
    uint64_t least, most; // and least <= duration < most
} slice_choice;

#define LAST_NANOSECONDS UINT64_C(10000000000)

// false with *e filled: it is none.
bool ouro__slice_choice_parse(const char *text, slice_choice *c, error *e);

typedef struct {
    uint64_t count; // slices of the choice,
    bool exact;     // or about so many
    uint64_t kept;  // of which these have trees,
    uint64_t *rest; // without so much of their values, by value: there were too many paths
    // Where the slices are. What is measured by a metric has no bounds of durations.
    uint64_t from, until, least, most;
    label_condition *labels; // one per kept slice; one that never holds if there is none
    size_t label_count;
} chosen_slices;

// false: out of memory. The profile has slices.
bool ouro__choose_slices(const profile *p, const slice_choice *c, chosen_slices *to);
void ouro__chosen_free(chosen_slices *c);

// All values become those of one of `count` slices, with up to three decimals more. The profile has
// no labels.
void ouro__per_slice(profile *p, uint64_t count);

typedef struct {
    uint64_t from, step; // of columns, in nanoseconds
    uint32_t columns;
    uint32_t first, rows; // row r has the durations from ouro__grid_least(g, r) on
    uint32_t bits;        // 2^bits rows have twice the duration
    uint64_t *cells;      // by column, then by row
    uint64_t *sums;       // by row
} slice_grid;

// false: out of memory.
bool ouro__slice_grid(const slices *s, slice_grid *g);
uint64_t ouro__grid_least(const slice_grid *g, uint32_t row);
void ouro__grid_free(slice_grid *g);

#endif
