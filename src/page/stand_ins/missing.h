// SPDX-License-Identifier: MIT
//
// Included before every source: what wasi-libc does not declare. Functions for files are declared
// so that sources compile; the linker drops those who call them, or takes them from stand_ins.c.

#ifndef OURO_STAND_IN_MISSING_H
#define OURO_STAND_IN_MISSING_H

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/types.h>

#define ETIME 2000 // no code of wasi-libc
#define O_TMPFILE 0
#define F_DUPFD_CLOEXEC 1030

struct stat;

char *secure_getenv(const char *name);
char *realpath(const char *path, char *to);
int mkostemp(char *name, int flags);
int fchown(int fd, uid_t owner, gid_t group);
int fchmod(int fd, mode_t mode);
int dup(int fd);
void qsort_r(void *rows, size_t count, size_t size,
             int (*order)(const void *a, const void *b, void *user), void *user);

#endif
