// SPDX-License-Identifier: MIT
#ifndef OURO_BESIDE_H
#define OURO_BESIDE_H

#include <sys/types.h>

// Creates a file with a short name of its own in the folder of `path`, to be renamed onto it when
// it is complete. The descriptor, and *name for the caller to free; or -1 with errno.
int ouro__open_beside(const char *path, mode_t mode, char **name);

#endif
