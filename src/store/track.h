// SPDX-License-Identifier: MIT
//
// One recording that is followed: what its store has of it, and how to send what is new.
// For follow.c.

#ifndef OURO_TRACK_H
#define OURO_TRACK_H

#include "live_read.h"
#include "store.h"

typedef struct track track;

track *ouro__track_new(void);
void ouro__track_free(track *t);

typedef struct {
    const label_set *labels;
    const char *root; // of the sources; NULL: found
    // Milliseconds since 1970. from: if it is the recording's first slice; seen: else, if it is the
    // first that is sent from here.
    uint64_t from, seen, until;
    bool same_paths; // the rows are those of the last time, only their values changed
} track_options;

typedef struct {
    uint64_t paths; // that changed; 0: nothing was sent
    bool reached;   // the store was asked something, and answered
} track_result;

// Sends what the live file has and the store does not. Asks the store what it has if that is not
// certain. false: nothing is certain, and the next call asks.
bool ouro__track_send(track *t, store *to, const ouro__live_profile *live, const track_options *o,
                      track_result *done, error *e);

// Nothing is certain: the next call asks.
void ouro__track_doubt(track *t);

#endif
