// SPDX-License-Identifier: MIT
//
// Which folder can be trusted. One that belongs to this user, that nobody else may write to, and
// that is no link to elsewhere. A folder of the working tree is never chosen by itself, since its
// files may have come with the tree. Where the user names one, it must be new, empty, or made here:
// those have mode 0700, which version control and most archives do not keep.

#include "cache.h"
#include "printable.h"

#include <dirent.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool make_folders(struct fble_arena *arena, const char *folder) {
    char *path = fble_copy(arena, folder, strlen(folder));
    for (char *p = path + 1;; p++) {
        if (*p && *p != '/') continue;
        char end = *p;
        *p = 0;
        if (mkdir(path, 0700) && errno != EEXIST) return false;
        *p = end;
        if (!end) return true;
    }
}

static bool is_empty(const char *folder) {
    int entries = 0;
    DIR *d = opendir(folder);
    while (d && readdir(d)) entries++;
    if (d) closedir(d);
    return d && entries == 2; // . and ..
}

// Why the folder cannot be trusted; NULL if it can.
static const char *problem_of(const char *folder, bool given) {
    struct stat status;
    if (lstat(folder, &status)) return strerror(errno);
    if (!S_ISDIR(status.st_mode)) return "it is a link or a file";
    if (status.st_uid != geteuid()) return "it belongs to another user";
    if (status.st_mode & (S_IWGRP | S_IWOTH)) return "others may write to it";
    if ((status.st_mode & 07777) == 0700) return NULL;
    if (given && !is_empty(folder))
        return "its mode is not 0700, so its files may be from elsewhere";
    return chmod(folder, 0700) ? strerror(errno) : NULL;
}

static bool take_given(struct fble_arena *arena, struct fble_cache *cache, const char *given) {
    const char *problem = make_folders(arena, given) ? problem_of(given, true) : strerror(errno);
    cache->folder = given;
    if (!problem) return true;
    ouro__say("fble compile: cannot keep objects in %s: %s; name a new folder", given, problem);
    return false;
}

// A folder that cannot be made is passed over in silence: not everybody has a home.
static bool try(struct fble_arena *arena, struct fble_cache *cache, const char *base,
                const char *below) {
    if (!base || *base != '/') return false;
    const char *folder = fble_format(arena, "%s/%s", base, below);
    if (!make_folders(arena, folder)) return false;
    const char *problem = problem_of(folder, false);
    cache->folder = folder;
    if (problem) ouro__say("fble compile: not using the objects in %s: %s", folder, problem);
    return !problem;
}

static bool make_temporary(struct fble_arena *arena, struct fble_cache *cache) {
    const char *base = secure_getenv("TMPDIR");
    char *folder = fble_format(arena, "%s/fble-XXXXXX", base && *base ? base : "/tmp");
    cache->folder = folder;
    cache->temporary = mkdtemp(folder) != NULL;
    if (!cache->temporary)
        ouro__say("fble compile: cannot make the folder %s: %s", folder, strerror(errno));
    return cache->temporary;
}

bool fble_cache_open(struct fble_arena *arena, struct fble_cache *cache, const char *given) {
    const struct passwd *user = getpwuid(geteuid());
    if (given) return take_given(arena, cache, given);
    return try(arena, cache, secure_getenv("XDG_CACHE_HOME"), "fble") ||
           try(arena, cache, secure_getenv("HOME"), ".cache/fble") ||
           try(arena, cache, user ? user->pw_dir : NULL, ".cache/fble") ||
           make_temporary(arena, cache);
}

bool fble_cache_has(const char *object) {
    struct stat status;
    return !lstat(object, &status) && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
           !(status.st_mode & (S_IWGRP | S_IWOTH));
}

void fble_cache_close(const struct fble_cache *cache) {
    if (!cache->temporary) return;
    DIR *d = opendir(cache->folder);
    for (struct dirent *e; d && (e = readdir(d));) unlinkat(dirfd(d), e->d_name, 0);
    if (d) closedir(d);
    rmdir(cache->folder);
}
