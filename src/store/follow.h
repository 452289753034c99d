// SPDX-License-Identifier: MIT
//
// Live files, and folders of them, sent to a store again and again. What is sent is what was added
// since the last time, exactly once, whatever is killed meanwhile; see track.h.

#ifndef OURO_FOLLOW_H
#define OURO_FOLLOW_H

#include "store.h"

typedef struct follow follow;

// What changed, for people. Each is said once.
typedef enum {
    FOLLOW_BEGAN,   // a file is followed from now on
    FOLLOW_ENDED,   // its program is gone, and all of it is in the store
    FOLLOW_BUSY,    // another process follows it; it is taken over when that one ends
    FOLLOW_TROUBLE, // `text` says what is wrong with the file; it is tried again
    FOLLOW_OUTAGE,  // the store cannot be reached; `text` says why. No path
    FOLLOW_BACK     // the store is reached again. No path
} follow_event;

typedef struct {
    const char *store;       // its URL
    const label_set *labels; // of all files. Without them: service is the name of the file
    const char *root;        // of the sources; NULL: found
    uint32_t patience;       // milliseconds; see ouro__store_patience
    void (*say)(void *user, follow_event event, const char *path, const char *text);
    void *user;
} follow_options;

typedef struct {
    uint32_t followed; // files whose programs run
    uint32_t waiting;  // of these: not all of what they have is in the store
    uint64_t slices;   // that were sent, since the beginning
} follow_counts;

// The options must stay. NULL: out of memory.
follow *ouro__follow_new(const follow_options *o);
void ouro__follow_free(follow *f);
// A live file, or a folder; it need not be there yet. false: out of memory.
bool ouro__follow_add(follow *f, const char *path);
// Looks for files, and sends what is new of each. false: something is not in the store, and the
// next round sends it.
bool ouro__follow_round(follow *f);
follow_counts ouro__follow_counts(const follow *f);

#endif
