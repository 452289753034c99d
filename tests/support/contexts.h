// SPDX-License-Identifier: MIT
//
// All paths of a profile with their inclusive weights, to be compared with those of
// another profile.

#ifndef OURO_CONTEXTS_H
#define OURO_CONTEXTS_H

#include "ouro.h"

enum { WEIGHTS = 3 }; // calls, metric 0, metric 1

typedef struct {
    ouro_block *path;
    size_t length;
    bool pruned;
    uint64_t calls, recursions, direct;
    uint64_t self[WEIGHTS], inclusive[WEIGHTS], missing[WEIGHTS];
} context;

typedef struct {
    context *list; // preorder
    size_t count, room;
    size_t *sorted;
    uint64_t totals[WEIGHTS];
    uint32_t metric_count;
} contexts;

// `metric_count` of the profile; at most WEIGHTS - 1 are looked at.
contexts *contexts_of(ouro_profile *profile, uint32_t metric_count);
void contexts_free(contexts *all);
// The path itself, not its [pruned] account; NULL if there is none.
const context *contexts_find(const contexts *all, const ouro_block *path, size_t length);

#endif
