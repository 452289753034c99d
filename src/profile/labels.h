// SPDX-License-Identifier: MIT
//
// Labels: for every block the shortest text that finds it again, as valid UTF-8. For the viewer,
// which asks for thousands of them; ouro__block_label is for a few.

#ifndef OURO_LABELS_H
#define OURO_LABELS_H

#include "profile.h"

// NAME, NAME@FILE:LINE, NAME@FILE:LINE:COLUMN. From LABEL_NUMBER on, #1, #2 and so on follow.
enum { LABEL_NAME, LABEL_PLACE, LABEL_COLUMN, LABEL_NUMBER };

typedef struct {
    const profile *profile;
    uint32_t *precision; // by block: how much of the label is needed, see LABEL_NAME
    lookup lookup;       // from label to block
} labels;

// For a finished profile that stays where it is. false: out of memory.
bool ouro__labels_init(labels *l, const profile *p);
void ouro__labels_free(labels *l);

// Freed by the caller. NULL: out of memory. Blocks that a filter added are labelled by their name.
char *ouro__label(const labels *l, uint32_t block);
// The block that has this label, else NO_ROW.
uint32_t ouro__label_find(const labels *l, const char *text);
// Guesses what a text that is no label may mean: the blocks with this name, else those whose names
// contain it. Returns how many, at most `room`.
uint32_t ouro__label_candidates(const labels *l, const char *text, uint32_t *out, uint32_t room);

#endif
