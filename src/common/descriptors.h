// SPDX-License-Identifier: MIT
//
// Descriptors 0 to 2 are the standard streams, also while they are closed. open(2) gives the lowest
// free descriptor, so a file that is opened while standard output is closed becomes standard
// output, and what the program prints goes into the file.

#ifndef OURO_DESCRIPTORS_H
#define OURO_DESCRIPTORS_H

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

// open(2) for code that runs inside a program that is not ours: close-on-exec, and never 0 to 2.
static inline int ouro__open(const char *path, int flags, mode_t mode) {
    int fd = open(path, flags | O_CLOEXEC, mode);
    if (fd < 0 || fd > STDERR_FILENO) return fd;
    int higher = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), code = errno;
    close(fd);
    errno = code;
    return higher;
}

// First of all in main of our own programs: takes the standard streams that are closed, so that
// nothing opened later gets their numbers. Reading and writing them fails as before, because they
// are opened the wrong way round. A program that we run finds them closed.
static inline void ouro__hold_streams(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0) continue;
        int way = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
        if (open("/dev/null", way | O_CLOEXEC) != fd) return; // there is no /dev/null
    }
}

#endif
