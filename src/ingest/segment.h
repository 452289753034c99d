// SPDX-License-Identifier: MIT
//
// The files of the journal. A segment has requests in the order in which they came. Its process
// holds a lock on it, so a segment without a lock is one that a killed process left.

#ifndef OURO_SEGMENT_H
#define OURO_SEGMENT_H

#include "posted.h"

typedef struct segment {
    struct segment *next; // of a list
    char *path;
    int fd;
    uint64_t size, synced; // bytes that were written, and bytes that are on disk
    uint64_t sent;         // bytes that are in the store
    unsigned users;        // threads that write to it or wait for the disk
    bool syncing;          // one of them asks the disk
} segment;

// The folder for segments, made if it is not there; freed by the caller. NULL with *e filled.
char *ouro__segment_folder(error *e);
// A new segment for a store. NULL with *e filled.
segment *ouro__segment_new(const char *folder, const char *url, error *e);
// Those that killed processes left for a store, the oldest first.
segment *ouro__segments_left(const char *folder, const char *url);
// Closes the file, and removes it if `remove` is set.
void ouro__segment_free(segment *s, bool remove);

// Writes a request behind the others. After a failure the segment is as before.
bool ouro__segment_write(segment *s, const posted *p, error *e);
// The request at *at, and where the next one begins; its memory is freed by the caller as
// *memory. false: there is no other whole one, or with e->code set, it could not be read.
bool ouro__segment_read(const segment *s, uint64_t *at, posted *p, void **memory, error *e);

#endif
