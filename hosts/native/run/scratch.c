// SPDX-License-Identifier: MIT
//
// Folders of live files. Whoever uses one holds a lock on it, and the recorder holds a lock on each
// live file that it writes. The kernel takes the locks of a dead process away, so a folder without
// locks is one that was left. No process id is compared, so one that was taken over cannot mislead.

#include "scratch.h"

#include "descriptors.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

// Below this, a tmpfs has too little room for live files.
#define ROOM_WANTED (UINT64_C(512) << 20)
#define MEMORY "/dev/shm"
#define PREFIX "ouro-run-"

static bool has_room(const char *folder) {
    struct statvfs space;
    return access(folder, W_OK) == 0 && statvfs(folder, &space) == 0 &&
           (uint64_t)space.f_bavail * space.f_frsize >= ROOM_WANTED;
}

static const char *disk(void) {
    const char *named = secure_getenv("TMPDIR");
    return named && *named ? named : "/tmp";
}

// ---------------------------------------------------------------- making

// Takes the lock of a new folder. Another run may have seen the folder before that, without a lock,
// and have removed it: then errno is EAGAIN.
static int take(const char *folder) {
    struct stat status;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &status) == 0 && status.st_nlink)
        return 0; // it stays open until the process ends
    if (fd >= 0) close(fd);
    if (fd >= 0 || errno == ENOENT) errno = EAGAIN;
    return -1;
}

int scratch_make(char folder[static PATH_MAX]) {
    const char *base = has_room(MEMORY) ? MEMORY : disk();
    for (int i = 0; i < 100; i++) {
        int n = snprintf(folder, PATH_MAX, "%s/" PREFIX "XXXXXX", base);
        if (n >= PATH_MAX) errno = ENAMETOOLONG;
        if (n >= PATH_MAX || !mkdtemp(folder)) return -1;
        if (take(folder) == 0) return 0;
        if (errno != EAGAIN) return -1;
    }
    return -1;
}

// ---------------------------------------------------------------- marks

const char *scratch_mark(const char *folder) { return strrchr(folder, '/') + 1 + strlen(PREFIX); }

bool scratch_is_marked(const char *name, const char *mark) {
    size_t n = mark ? strlen(mark) : 0;
    const char *dot = mark ? strchr(name, '.') : NULL;
    while (dot && (strncmp(dot + 1, mark, n) != 0 || dot[1 + n] != '.')) dot = strchr(dot + 1, '.');
    return !mark || dot;
}

// ---------------------------------------------------------------- removing

// Removes the files of an open folder; the bytes that they took.
static uint64_t empty(DIR *d) {
    uint64_t bytes = 0;
    struct stat status;
    rewinddir(d);
    for (struct dirent *e; (e = readdir(d));) {
        bool known = fstatat(dirfd(d), e->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0;
        if (unlinkat(dirfd(d), e->d_name, 0) == 0 && known)
            bytes += (uint64_t)status.st_blocks * 512;
    }
    return bytes;
}

void scratch_remove(const char *folder) {
    DIR *d = opendir(folder);
    if (d) empty(d);
    if (d) closedir(d);
    rmdir(folder);
}

// The next run does not take a folder of this name for one that was left.
int scratch_keep(char folder[static PATH_MAX]) {
    char kept[PATH_MAX];
    const char *slash = strrchr(folder, '/');
    if (!slash || strncmp(slash + 1, PREFIX, strlen(PREFIX)) != 0) return 0;
    int n = snprintf(kept, sizeof kept, "%.*s/ouro-kept-%s", (int)(slash - folder), folder,
                     slash + 1 + strlen(PREFIX));
    if (n >= PATH_MAX || rename(folder, kept)) return -1;
    strcpy(folder, kept);
    return 0;
}

static bool is_ours(int fd) {
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
           !(status.st_mode & (S_IRWXG | S_IRWXO));
}

static bool is_written(DIR *d) {
    bool written = false;
    for (struct dirent *e; !written && (e = readdir(d));) {
        int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
        int fd = e->d_type == DT_DIR ? -1 : openat(dirfd(d), e->d_name, flags);
        written = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0;
        if (fd >= 0) close(fd);
    }
    return written;
}

// ouro-run-XXXXXX, as mkdtemp makes names.
static bool has_our_name(const char *name) {
    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0) return false;
    const char *at = name + strlen(PREFIX);
    while (isalnum((unsigned char)*at)) at++;
    return !*at && strlen(name) == strlen(PREFIX "XXXXXX");
}

static void clean(int base, const char *path, const char *name,
                  void (*told)(const char *folder, uint64_t bytes)) {
    int fd = openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool left = fd >= 0 && is_ours(fd) && flock(fd, LOCK_EX | LOCK_NB) == 0;
    DIR *d = left ? fdopendir(fd) : NULL;
    if (d && !is_written(d)) {
        char folder[PATH_MAX];
        uint64_t bytes = empty(d);
        snprintf(folder, sizeof folder, "%s/%s", path, name);
        if (unlinkat(base, name, AT_REMOVEDIR) == 0) told(folder, bytes);
    }
    if (d) closedir(d);
    if (fd >= 0 && !d) close(fd);
}

static void clean_all(const char *path, void (*told)(const char *folder, uint64_t bytes)) {
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (has_our_name(e->d_name)) clean(dirfd(d), path, e->d_name, told);
    }
    if (d) closedir(d);
}

void scratch_clean(void (*told)(const char *folder, uint64_t bytes)) {
    clean_all(MEMORY, told);
    if (strcmp(disk(), MEMORY) != 0) clean_all(disk(), told);
}
