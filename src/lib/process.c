// SPDX-License-Identifier: MIT
//
// Which process wrote a live file, and does it still run? An id alone may have been taken over by
// another process; an id with its start time is unique as long as the machine is up.

#include "descriptors.h"
#include "internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STATE_FIELD = 3, START_FIELD = 22 };

// Field 22 of /proc/PID/stat; 0 if there is no such process, or it has ended and waits for its
// parent. Fields are counted behind the name, which stands in brackets and may hold anything.
// The dot keeps qemu-user from inventing the file for its own process, with another start time than
// the one that a reader outside of it finds.
uint64_t ouro__process_start(uint64_t process) {
    char name[64], text[1024];
    snprintf(name, sizeof name, "/proc/./%llu/stat", (unsigned long long)process);
    int fd = ouro__open(name, O_RDONLY, 0);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0) close(fd);
    if (n <= 0) return 0;
    text[n] = '\0';
    const char *at = strrchr(text, ')');
    for (int field = 2; at && field < START_FIELD; field++) {
        at = strchr(at + 1, ' ');
        if (at && field + 1 == STATE_FIELD && (at[1] == 'Z' || at[1] == 'X')) return 0;
    }
    return at ? strtoull(at, NULL, 10) : 0;
}
