// SPDX-License-Identifier: MIT
//
// The naive recorder that the real one is compared with. A position is a list of blocks; each rule
// is its definition, worked out from the list every time; there is no memo, no node and no sharing.
// Beside the canonical path it keeps the uncompacted one, and adds up what is true of that.

#ifndef OURO_MODEL_H
#define OURO_MODEL_H

#include "ouro.h"

enum { MODEL_BLOCKS = 32, MODEL_PATH = 512 };

// Blocks are 1 .. MODEL_BLOCKS-1; 0 stands for the root, as a caller.
typedef struct {
    uint8_t blocks[MODEL_PATH];
    size_t length;
} model_path;

typedef struct {
    model_path path;
    uint64_t calls, recursions, direct, metrics[2];
} model_node;

typedef struct {
    int compaction, edge_length;
    model_node *nodes;
    size_t node_count, node_room;
    size_t *table; // index + 1
    size_t table_size;
    // Of the uncompacted paths, for metric 0.
    uint64_t self[MODEL_BLOCKS], overall[MODEL_BLOCKS];
    uint64_t pair_calls[MODEL_BLOCKS][MODEL_BLOCKS], pair_inclusive[MODEL_BLOCKS][MODEL_BLOCKS];
    uint64_t calls, totals[2];
} model;

typedef struct {
    model_path canonical, raw;
} model_position;

model *model_new(int compaction, int edge_length);
void model_free(model *m);
model_node *model_find(model *m, const model_path *path);
void model_enter(model *m, model_position *at, uint8_t block);
// As ouro_profile_reset: nodes stay, with zeros.
void model_reset(model *m);
void model_count(model *m, const model_position *at, int metric, uint64_t n);

#endif
