// SPDX-License-Identifier: MIT
//
// Preloaded by files.py: logs what the disk is asked for, in order, and does it. A line of the log
// is `written ID`, `synced ID` or `renamed ID TO`, where ID is a file's device and number.

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void add(const char *what, const struct stat *file, const char *to) {
    char line[PATH_MAX + 128];
    int n = snprintf(line, sizeof line, "%s %lu:%lu %s\n", what, (unsigned long)file->st_dev,
                     (unsigned long)file->st_ino, to);
    int fd = open(getenv("ORDER_LOG"), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0 || syscall(SYS_write, fd, line, n) != n) abort();
    close(fd);
}

ssize_t write(int fd, const void *bytes, size_t size) {
    struct stat file;
    if (fstat(fd, &file) == 0 && S_ISREG(file.st_mode)) add("written", &file, "");
    return syscall(SYS_write, fd, bytes, size);
}

int fsync(int fd) {
    struct stat file;
    int result = (int)syscall(SYS_fsync, fd);
    if (result == 0 && fstat(fd, &file) == 0) add("synced", &file, "");
    return result;
}

int rename(const char *from, const char *to) {
    static int (*real)(const char *, const char *);
    char whole[PATH_MAX];
    struct stat file;
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "rename");
    int result = real(from, to);
    if (result == 0 && stat(to, &file) == 0 && realpath(to, whole)) add("renamed", &file, whole);
    return result;
}
