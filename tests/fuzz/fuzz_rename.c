// SPDX-License-Identifier: MIT
//
// `ouro run` puts names into pprof files: rename.c, with a name for every function that asks.
// Whatever comes in, it ends; and what the reader takes before, it takes afterwards, with the
// same totals.

#include "format.h"
#include "rename.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

bool symbols_find(symbols *all, const char *path, const char *build_id, uint64_t offset,
                  symbol *found) {
    (void)all;
    (void)path;
    *found = (symbol){
        .name = "a name", .file = strlen(build_id) % 2 ? "a file.c" : "", .line = (uint32_t)offset};
    return offset % 5 != 4;
}

static profile *read_bytes(const unsigned char *bytes, size_t size) {
    error e = {0};
    input in = {.bytes = (unsigned char *)bytes, .size = size, .fd = -1};
    return ouro__format_named("pprof")->read(&in, &(read_options){0}, &e);
}

static int64_t total(const profile *p, uint32_t metric) {
    int64_t sum = 0;
    for (uint32_t n = 0; n < p->node_count; n++) sum += p->values[metric][n];
    return sum;
}

static void compare(const profile *before, const profile *after) {
    if (!after || !ouro__profile_is_valid(after)) abort();
    if (before->metric_count != after->metric_count) abort();
    for (uint32_t m = 0; m < before->metric_count; m++) {
        if (total(before, m) != total(after, m)) abort();
    }
}

// A file in memory, and its path.
static int file_new(const void *bytes, size_t size, char path[32]) {
    int fd = memfd_create("fuzz", 0);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size) abort();
    snprintf(path, 32, "/proc/self/fd/%d", fd);
    return fd;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    if (size < 2 || data[1] == 0x1f) return 0; // what comes here is never compressed
    char from[32], to[32];
    int in = file_new(data + 1, size - 1, from), out = file_new("", 0, to);
    rename_counts counts;
    if (rename_functions(from, to, data[0] % 2 ? "program" : NULL, NULL, &counts) == 0) {
        off_t length = lseek(out, 0, SEEK_END);
        unsigned char *bytes = malloc((size_t)length + 1);
        if (!bytes || pread(out, bytes, (size_t)length, 0) != length) abort();
        profile *before = read_bytes(data + 1, size - 1);
        profile *after = read_bytes(bytes, (size_t)length);
        if (before) compare(before, after);
        ouro__profile_free(before);
        ouro__profile_free(after);
        free(bytes);
    }
    close(in);
    close(out);
    return 0;
}
