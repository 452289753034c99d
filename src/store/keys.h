// SPDX-License-Identifier: MIT
//
// For the files of this folder: how keys are made of hashes.

#ifndef OURO_KEYS_H
#define OURO_KEYS_H

#include "sha256.h"
#include "store.h"

// The first half of the hash.
key ouro__key_end(sha256 *s);
// Marks the nodes that have a value, and what is above them; never the root.
void ouro__mark_needed(const profile *p, unsigned char *needed);
// The recording of a live file: what is counted after a reset is another one.
key ouro__recording_key(const unsigned char id[16], uint32_t resets);
// The nearest folder above the file that has a version control folder; NULL: there is none here.
// Freed by the caller.
char *ouro__root_of(const char *file);
// Of the names and values, each with its NUL.
key ouro__label_set_key(const label_set *l);

#endif
