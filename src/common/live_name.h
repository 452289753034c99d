// SPDX-License-Identifier: MIT
//
// Where a recording goes: its file wherever the program is by then, and the live file beside that,
// where recorders put it and the tools look for it.

#ifndef OURO_LIVE_NAME_H
#define OURO_LIVE_NAME_H

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// For a program that may change its working folder. For the caller to free; NULL with errno.
static inline char *ouro__absolute(const char *path) {
    if (*path == '/') return strdup(path);
    char *folder = getcwd(NULL, 0), *absolute = NULL;
    size_t size = folder ? strlen(folder) + strlen(path) + 2 : 0;
    if (folder) absolute = (char *)malloc(size);
    if (absolute) snprintf(absolute, size, "%s/%s", folder, path);
    free(folder);
    return absolute;
}

// x.pb.gz becomes x.pb.gz.live. A name that is too long for that is cut. For the caller to free;
// NULL means out of memory.
static inline char *ouro__live_name(const char *path) {
    static const char ending[] = ".live";
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t folder = (size_t)(name - path), length = strlen(name);
    if (length > NAME_MAX - strlen(ending)) length = NAME_MAX - strlen(ending);
    char *live = (char *)malloc(folder + length + sizeof ending);
    if (live) sprintf(live, "%.*s%s", (int)(folder + length), path, ending);
    return live;
}

#endif
