// SPDX-License-Identifier: MIT
//
// While an answer of a store is made, other requests that ask the same wait for it and share it.
// This is not in choices.h because the page that is one file has no store.

#ifndef OURO_SHARED_H
#define OURO_SHARED_H

#include "choices.h"
#include "store.h"

typedef struct shared shared;
struct shared {
    // The question decides which of these three is filled.
    store_offer offer;
    series series;
    generation *generation; // has a reference for each user
    // The rest is for choices.c.
    shared *next; // of those that are being made
    char *question;
    unsigned users;
    bool done;
    error problem;
};

// Both return an answer that the caller releases by ouro__shared_release, or NULL with *e filled.
// `where` is the text of a choice. The first asks what can be chosen within it, or if `where` is
// NULL for the metrics of the store alone; the second asks for a chart.
const shared *ouro__choices_offer(choices *c, const char *where, error *e);
const shared *ouro__choices_series(choices *c, const char *where, const series_question *q,
                                   error *e);
void ouro__shared_release(choices *c, const shared *s);

#endif
