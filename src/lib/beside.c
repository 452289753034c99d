// SPDX-License-Identifier: MIT
//
// A new file beside another, to be renamed onto it when it is complete: so nobody ever sees half of
// it, and what was there before stays until then.

#include "beside.h"
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TRIES = 100 };

int ouro__open_beside(const char *path, mode_t mode, char **name) {
    static _Atomic unsigned serial;
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path) + 1 : 0;
    size_t size = (size_t)folder + 64;
    *name = malloc(size);
    if (!*name) return -1;
    int fd = -1;
    for (int i = 0; i < TRIES && fd < 0; i++) {
        snprintf(*name, size, "%.*s.ouro-%lx-%x-%lx", folder, path, (unsigned long)getpid(),
                 atomic_fetch_add(&serial, 1),
                 (unsigned long)ouro__now(CLOCK_MONOTONIC) & 0xffffff);
        fd = open(*name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd < 0 && errno != EEXIST) break;
    }
    if (fd >= 0) return fd;
    int error = errno;
    free(*name);
    *name = NULL;
    errno = error;
    return -1;
}
