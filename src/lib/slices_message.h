// SPDX-License-Identifier: MIT

#ifndef OURO_SLICES_MESSAGE_H
#define OURO_SLICES_MESSAGE_H

#include "slices_read.h"

typedef struct {
    unsigned char *bytes;
    size_t used, room;
    bool failed;
} ouro__message;

// The message of a lane, to be freed by the caller. false: out of memory.
bool ouro__slices_message(const ouro__lane_slices *l, uint32_t metric_count, ouro__message *m);

#endif
