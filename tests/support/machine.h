// SPDX-License-Identifier: MIT
//
// Any sequence of calls of the recorder's API, as bytes tell it: every function of ouro.h and
// ouro_site.h, over several threads of one profile, with tokens of other threads and stale ones.
// What is charged is added up beside it, and must be in the profile, whatever happened.

#ifndef OURO_MACHINE_H
#define OURO_MACHINE_H

#include <stddef.h>
#include <stdint.h>

// NULL, or what does not hold, as a sentence that is valid until the next call. Files are made in
// `folder`, under names that are always the same, and removed.
const char *machine_run(const uint8_t *bytes, size_t size, const char *folder);

#endif
