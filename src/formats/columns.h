// SPDX-License-Identifier: MIT
//
// A profile as bytes that hold its columns as they are: what reads them answers every question with
// the same numbers. For pages, which have the bytes inside; no file of its own.
//
//   numbers    LEB128, seven bits in each byte; those that may be negative zigzag
//   texts      their length, and the bytes
//
//   version, title, format, rule, edge length, start, duration
//   metrics    their count, the default one; of each: name, unit, decimals
//   blocks     their count, and the columns name, file, line, column. Blocks without a path are
//              left out
//   recursion  of each block: direct, through, deepest
//   paths      their count without the root, and the columns: how many levels up from the path
//              before is the parent, block
//   values     a column per metric, the root first
//   labels     the sets but the empty one: their count, of each its tags as key and value; rows:
//              their count, of each its node, set and values
//   slices     the count of lanes; if there are some: metrics, the first own metric, and of each
//              lane its message as in a pprof file (docs/pprof-mapping.md), as a text. A large
//              table is left out. Only with the labels that say which samples are of which slice
//   part       0, or 1 and: totals by metric, paths, cut, the count of filters and their texts

#ifndef OURO_COLUMNS_H
#define OURO_COLUMNS_H

#include "format.h"

enum { COLUMNS_VERSION = 2 };

// `m` is the metric to be shown first. false: out of memory.
bool ouro__columns_put(const shared_profile *s, uint32_t m, output *out);

typedef struct {
    profile *profile; // taken from here by setting it to NULL
    char *title, *format;
    part_info *part; // NULL: it is whole itself
} columns;

// Reads from *at, and moves it behind what was read. false with *e filled: nothing is to be freed.
bool ouro__columns_read(columns *c, const unsigned char **at, const unsigned char *end, error *e);
void ouro__columns_free(columns *c);

#endif
