// SPDX-License-Identifier: MIT
//
// What happened to a live file between two looks at it.
//
// WORDS
//   look     a reading of the file that found something new; looks are numbered from 1
//   slice    what was charged between two looks: the paths that changed, and by how much
//
// A slice is known by its number, which is that of the look at its end. The first look has none:
// nobody knows when its amounts were charged. Slices are kept for as long as they fit; the oldest
// leave first. All functions may be called by several threads.

#ifndef OURO_HISTORY_H
#define OURO_HISTORY_H

#include "profile.h"

typedef struct history history;

// NULL: out of memory. `most`: bytes that all slices may take.
history *ouro__history_new(size_t most);
void ouro__history_free(history *h);

// The file held p at the time `now`, in seconds on any clock that only goes forward. Returns the
// look's number; 0 if memory ran out: then everything before is forgotten.
uint64_t ouro__history_add(history *h, const profile *p, double now);

typedef struct {
    double from, until;
} history_span;

// What was charged in the slices up to `look` that touch the span. The result has the blocks of p,
// which must be what the look found or what a later one found. Slices are not cut: the span becomes
// what they span together, if there are some. NULL with *e filled.
profile *ouro__history_profile(history *h, const profile *p, uint64_t look, history_span *span,
                               error *e);

typedef struct {
    uint64_t number;
    double from, to;
    int64_t *totals; // by metric, those of the last look
} slice_totals;

// The slices up to `look` that end after `from`, the oldest first, at most `room` of the newest.
// Returns how many. The totals are one block of memory that begins at out[0].totals; freed by the
// caller. UINT32_MAX: out of memory.
uint32_t ouro__history_totals(history *h, uint64_t look, double from, slice_totals *out,
                              uint32_t room, uint32_t metric_count);

size_t ouro__history_bytes(history *h); // of all slices

#endif
