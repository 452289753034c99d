// SPDX-License-Identifier: MIT
//
// Packs a file with zlib. A profile is written whole by the library first; packing it afterwards
// keeps the library free of dependencies.

#include "gzip.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static bool copy(FILE *in, gzFile out) {
    char buffer[1 << 14];
    size_t n;
    while ((n = fread(buffer, 1, sizeof buffer, in)) > 0) {
        if (gzwrite(out, buffer, (unsigned)n) != (int)n) return false;
    }
    return !ferror(in);
}

int gzip_file(const char *from, const char *to) {
    char *beside = malloc(strlen(to) + sizeof ".new");
    if (!beside) return -1;
    strcat(strcpy(beside, to), ".new");
    FILE *in = fopen(from, "rb");
    gzFile out = in ? gzopen(beside, "wb6") : NULL;
    bool good = out && copy(in, out);
    if (out) good = gzclose(out) == Z_OK && good;
    if (good) good = rename(beside, to) == 0;
    int error = errno;
    if (in) fclose(in);
    if (!good) remove(beside);
    free(beside);
    errno = error;
    return good ? 0 : -1;
}
