// SPDX-License-Identifier: MIT
//
// The ring between a program that samples itself by a timer (ticks.c of the run-time library) and
// `ouro run`: a file FOLDER/PID.N.ring, with the mark of the run (scratch.h), mapped by both. Its
// records are those of perf events.

#ifndef OURO_NATIVE_RING_H
#define OURO_NATIVE_RING_H

#include <stdint.h>

#define RING_ENDING ".ring"

enum { RING_BYTES = 4 << 20, RING_STACK = 16384 };

typedef struct {
    uint64_t head; // bytes ever written; by the program
    uint64_t tail; // bytes ever taken; by `ouro run`
    uint64_t lost; // records that found no room
    uint64_t reserved[5];
    unsigned char bytes[RING_BYTES];
} ticks_ring;

#endif
