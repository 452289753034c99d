// SPDX-License-Identifier: MIT
//
// Files that are there completely or not at all. A new file is written under a name of its own
// beside its place, put on the disk, and renamed: whoever opens the place finds the old file or the
// whole new one, also after a power loss at any moment.

#ifndef OURO_WHOLE_FILE_H
#define OURO_WHOLE_FILE_H

#include "descriptors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// The length of the folder in `path`, with its slash; 0: the working folder.
static inline int ouro__folder_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (int)(slash - path) + 1 : 0;
}

// Creates a file with a short name of its own in the folder of `path`. It is new, so nobody else's
// file is written to, nor what a symbolic link points to. The descriptor, and *name for the caller
// to free; or -1 with errno.
static inline int ouro__open_beside(const char *path, mode_t mode, char **name) {
    enum { TRIES = 100 };
    int folder = ouro__folder_length(path), fd = -1;
    size_t size = (size_t)folder + 64;
    *name = (char *)malloc(size);
    if (!*name) return -1;
    for (int i = 0; i < TRIES && fd < 0; i++) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        snprintf(*name, size, "%.*s.ouro-%lx-%lx-%x", folder, path, (unsigned long)getpid(),
                 (unsigned long)now.tv_nsec, (unsigned)i);
        fd = ouro__open(*name, O_RDWR | O_CREAT | O_EXCL, mode);
        if (fd < 0 && errno != EEXIST) break;
    }
    if (fd >= 0) return fd;
    int code = errno;
    free(*name);
    *name = NULL;
    errno = code;
    return -1;
}

// Puts what was written on the disk. Some file systems have no such thing; that is no error.
static inline int ouro__sync(int fd) {
    return fsync(fd) && errno != EINVAL && errno != ENOTSUP && errno != EROFS ? errno : 0;
}

// The folder of `path`, for ouro__sync; -1 with errno ENOMEM, or because it may not be read.
static inline int ouro__open_folder(const char *path) {
    int length = ouro__folder_length(path);
    char *folder = length ? strndup(path, (size_t)length) : strdup(".");
    if (!folder) return -1;
    int fd = ouro__open(folder, O_RDONLY | O_DIRECTORY, 0);
    free(folder);
    return fd;
}

// Renames `beside` to `path`. The name is the folder's, so the folder has to be on the disk, too;
// who may not read the folder cannot ask for that.
static inline int ouro__rename_whole(const char *beside, const char *path) {
    int folder = ouro__open_folder(path);
    if (folder < 0 && errno == ENOMEM) return ENOMEM;
    int code = rename(beside, path) ? errno : 0;
    if (!code && folder >= 0) code = ouro__sync(folder);
    if (folder >= 0) close(folder);
    return code;
}

// Ends the file `beside` and gives it its name. Closes the descriptor. 0 or an errno: then `path`
// is as it was, unless the disk failed in the last step.
static inline int ouro__put_in_place(int fd, const char *beside, const char *path) {
    int code = ouro__sync(fd);
    if (close(fd) && !code) code = errno;
    if (!code) code = ouro__rename_whole(beside, path);
    if (code) unlink(beside);
    return code;
}

#endif
