// SPDX-License-Identifier: MIT
//
// Reads a source file that a profile names. Profiles come from anywhere, so their names are not
// trusted: the file must, with all symbolic links followed, lie inside one of the roots, and be a
// plain file, looked at before it is opened (devices act when opened) and after (somebody may have
// put another in its place). What the open file really is, the system tells.

#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LARGEST = 8 << 20 };

static bool is_inside(const char *root, const char *path) {
    size_t length = strlen(root);
    while (length > 0 && root[length - 1] == '/') length--;
    return strncmp(root, path, length) == 0 && path[length] == '/';
}

// The path with all links followed, if it lies inside the root. Freed by the caller.
static char *find_inside(const char *root, const char *name) {
    char *joined = NULL, *real_root = realpath(root, NULL), *real = NULL;
    if (asprintf(&joined, "%s/%s", root, name) < 0) joined = NULL;
    if (real_root && joined) real = realpath(name[0] == '/' ? name : joined, NULL);
    free(joined);
    if (real && !is_inside(real_root, real)) {
        free(real);
        real = NULL;
        errno = EPERM;
    }
    free(real_root);
    return real;
}

static int refuse(const char **reason, const char *why, int fd) {
    *reason = why;
    if (fd >= 0) close(fd);
    return -1;
}

// Nobody moved a link between looking and opening.
static bool is_still(int fd, const char *path) {
    char link[64], now[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, now, sizeof now - 1);
    if (n <= 0) return false;
    now[n] = '\0';
    return strcmp(now, path) == 0;
}

static int open_plain(const char *path, struct stat *info, const char **reason) {
    if (lstat(path, info) != 0) return refuse(reason, "it is not there", -1);
    if (!S_ISREG(info->st_mode)) return refuse(reason, "it is not a plain file", -1);
    if (info->st_size > LARGEST) return refuse(reason, "it is larger than 8 MB", -1);
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) return refuse(reason, "it cannot be opened", -1);
    if (fstat(fd, info) != 0 || !S_ISREG(info->st_mode) || !is_still(fd, path))
        return refuse(reason, "it is not a plain file", fd);
    return fd;
}

static int open_source(const char *const *roots, size_t count, const char *name, struct stat *info,
                       const char **reason) {
    bool outside = false;
    *reason = "no folder is allowed";
    if (!*name || strlen(name) >= PATH_MAX) return refuse(reason, "it has no name", -1);
    for (size_t i = 0; i < count; i++) {
        char *path = find_inside(roots[i], name);
        outside |= !path && errno == EPERM;
        if (!path) continue;
        int fd = open_plain(path, info, reason);
        free(path);
        return fd;
    }
    if (count) *reason = outside ? "it is outside the allowed folders" : "it is not there";
    return -1;
}

char *ouro__source_read(const char *const *roots, size_t root_count, const char *name, size_t *size,
                        const char **reason) {
    struct stat info;
    int fd = open_source(roots, root_count, name, &info, reason);
    if (fd < 0) return NULL;
    size_t room = (size_t)info.st_size;
    char *bytes = malloc(room + 1);
    ssize_t n = 1;
    *size = 0;
    while (bytes && *size < room && n != 0) {
        n = read(fd, bytes + *size, room - *size);
        if (n < 0 && errno != EINTR) break;
        if (n > 0) *size += (size_t)n;
    }
    close(fd);
    if (bytes && n >= 0) {
        bytes[*size] = '\0';
        return bytes;
    }
    free(bytes);
    *reason = "it cannot be read";
    return NULL;
}

bool ouro__source_readable(const char *const *roots, size_t root_count, const char *name) {
    struct stat info;
    const char *reason;
    int fd = open_source(roots, root_count, name, &info, &reason);
    if (fd >= 0) close(fd);
    return fd >= 0;
}
