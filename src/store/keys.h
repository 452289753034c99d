// SPDX-License-Identifier: MIT
//
// For the files of this folder: how keys are made of hashes.

#ifndef OURO_KEYS_H
#define OURO_KEYS_H

#include "sha256.h"
#include "store.h"

// The first half of the hash.
key ouro__key_end(sha256 *s);
// Of the names and values, each with its NUL.
key ouro__label_set_key(const label_set *l);

#endif
