// SPDX-License-Identifier: MIT
//
// What a file may cost: memory, steps of work, and the bytes that are written of it. All are in
// proportion to the file's size, because a few bytes can ask for gigabytes: a path of a thousand
// blocks that is repeated by one byte, a tree whose every path is spelled out. `--limit` says
// another amount.
//
// A profile has a budget. What builds it asks the budget before it takes memory, and counts its
// steps; what is made of the profile (a filter's result, an export) has the same budget.

#ifndef OURO_BUDGET_H
#define OURO_BUDGET_H

#include "error.h"

typedef struct {
    uint64_t bytes;  // of the file, as they count: see ouro__budget_of
    uint64_t memory; // bytes that its profile may take
    uint64_t output; // bytes that a file written of it may have
    uint64_t work;   // steps that building it may take, each about a nanosecond
    uint64_t spent;  // of them
} budget;

// More is refused without --limit, and not left to the system's out-of-memory killer.
#define MEMORY_MOST (UINT64_C(7200) << 20)

// Of a file of so many bytes, which were unpacked from `packed` (0: it was not packed). `limit` 0:
// not asked.
budget ouro__budget_of(uint64_t bytes, uint64_t packed, uint64_t limit);
// Of a file that turned out to have so many bytes; what is spent stays.
void ouro__budget_follow(budget *b, uint64_t bytes, uint64_t limit);
// Of what no file asks for: only the memory is limited.
budget ouro__budget_of_none(void);
// How large so many packed bytes may become.
uint64_t ouro__unpacked_most(uint64_t packed);
// For a sum of profiles.
void ouro__budget_add(budget *to, const budget *b);

// What is said: `code` is EFBIG for memory and ETIME for work.
bool ouro__budget_fail(const budget *b, int code, error *e);
// The same of another limit: "more than 256 MB to read: too much for a file of 213 bytes;
// --limit 1G allows more". `what` is "B to read" then. No bytes: it is a pipe.
bool ouro__limit_fail(uint64_t limit, const char *what, uint64_t bytes, error *e);

#endif
