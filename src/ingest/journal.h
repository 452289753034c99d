// SPDX-License-Identifier: MIT
//
// Requests that were accepted and are not in the store yet, for stores that take many slices in the
// time of one. A request is on disk before it is answered; a thread puts many of them into the
// store at once. What is left when the process is killed is sent by the next one: a profile counts
// once, however often it is sent.

#ifndef OURO_JOURNAL_H
#define OURO_JOURNAL_H

#include "posted.h"

typedef struct journal journal;

typedef struct {
    uint64_t rows, known; // samples that the store took, and profiles that it had already
    uint64_t waiting;     // bytes of requests that are not in the store
} journal_counts;

// Goes on with what earlier processes left for this store. Takes the store, unless it fails.
// `limit`: bytes of memory that a profile may take. NULL with *e filled.
journal *ouro__journal_open(store *to, const char *url, uint64_t limit, error *e);
// Returns when the request is on disk. It must be one that ouro__posted_read can read. Safe from
// any thread.
bool ouro__journal_add(journal *j, const posted *p, error *e);
journal_counts ouro__journal_counts(journal *j);
// Puts into the store what it takes; the rest stays on disk.
void ouro__journal_close(journal *j);

#endif
