// SPDX-License-Identifier: MIT
//
// Profiles that are asked of a store. A choice (store.h) is one more way to say which profile is
// meant: it becomes a generation with one side, or two that are compared, and everything else is as
// for files.
//
// Each choice is asked once and kept by its text, so that all pages of it show the same. Whoever
// wants news says how old an answer may be; what has not changed stays the same generation. The
// least recently used leave when there are too many, or too large.

#ifndef OURO_CHOICES_H
#define OURO_CHOICES_H

#include "view.h"

typedef struct choices choices;

typedef struct {
    const char *where;
    const char *with; // what it is compared with; NULL: nothing
    double fresh;     // seconds that the answer may be old; negative: any
} chosen_sides;

// Returns NULL if memory runs out. The store stays the caller's, and is opened a few times more for
// requests that ask at the same time. With `strict`, an answer with a missing part is an error.
choices *ouro__choices_new(struct store *s, uint32_t paths_most, bool strict);
void ouro__choices_free(choices *c, shelf *s);
// `waits` is called with true before a request waits for the answer that another request asks for,
// and with false after that: in the meantime it does no work. Set before the first request.
void ouro__choices_on_wait(choices *c, void (*waits)(void *user, bool begins), void *user);

// Given back by ouro__generation_release. NULL with *e filled; EINVAL: the choice makes no sense.
generation *ouro__choices_generation(choices *c, cache *views, const chosen_sides *asked, error *e);

// Milliseconds since 1970.
uint64_t ouro__choices_now(void);

#endif
