// SPDX-License-Identifier: MIT
#ifndef OURO_SHARED_GZIP_H
#define OURO_SHARED_GZIP_H

#include "ouro.h"

// Writes the profile, complete or not at all; packed if the name ends in .gz. 0, or -1 with errno.
// Any OS thread.
int write_profile(ouro_profile *profile, const char *path);

#endif
