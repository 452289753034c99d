// SPDX-License-Identifier: MIT
//
// Where the running program is, as Linux tells it. A path that is cut off is no path.

#include "beside.h"

#include <unistd.h>

const char *fble_beside(struct fble_arena *arena, const char *name) {
    char program[4096];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program);
    if (length <= 0 || (size_t)length == sizeof program) return NULL;
    while (length > 0 && program[length - 1] != '/') length--;
    return length ? fble_format(arena, "%.*s%s", (int)length, program, name) : NULL;
}
