// SPDX-License-Identifier: MIT
//
// libFuzzer target for the reader of live files. A live file is mostly zeros, so an input is a list
// of changes to a valid file: 4 bytes of offset, 4 of value, each; an odd first byte means that the
// input is the whole file.
//
// The valid file stands in memory (memfd) from the first input to the last: the changes are written
// into it, and taken back. With AS_PROFILE the tools' reader is asked, which makes a profile of it.

#include "live_format.h"
#include "live_read.h"
#ifdef AS_PROFILE
#include "format.h"
#endif

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char *valid;
static size_t valid_size;
static int valid_fd, any_fd;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void record_paths(ouro_thread *thread, ouro_block first, uint32_t turns) {
    for (uint32_t i = 0; i < turns; i++) {
        ouro_position tokens[5];
        for (uint32_t d = 0; d < 5; d++) {
            tokens[d] = ouro_enter(thread, first + (i * 7 + d * (i / 3)) % 8);
            ouro_sample(thread, d);
        }
        for (uint32_t d = 5; d-- > 0;) ouro_exit(thread, tokens[d]);
    }
}

// Two lanes, more paths than there is room for, a reset in the middle, and slices.
static void record(const char *path) {
    ouro_profile *profile = ouro_profile_new(&(ouro_options){.path = path, .max_nodes = 40});
    ouro_block first = ouro_add_blocks(profile, (ouro_block_info[8]){{"a", "f", 1, 1}}, 8);
    ouro_thread *one = ouro_thread_new(profile), *two = ouro_thread_new(profile);
    record_paths(one, first, 1000);
    record_paths(two, first, 3);
    ouro_profile_reset(profile);
    record_paths(one, first, 1000);
    record_paths(two, first, 5);
    // At last, so that what comes before it in the file stays where it is.
    for (uint32_t i = 0; i < 4; i++) {
        ouro_slice(two);
        record_paths(two, first, 2);
    }
    ouro_thread_free(one);
    ouro_thread_free(two);
    ouro_profile_free(profile);
}

static int memory_file(void) {
    int fd = memfd_create("live", MFD_CLOEXEC);
    if (fd < 0) abort();
    return fd;
}

static void put(int fd, const void *bytes, size_t size, size_t at) {
    if (pwrite(fd, bytes, size, (off_t)at) != (ssize_t)size) abort();
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    char path[] = "/tmp/ouro-fuzz-XXXXXX";
    int fd = mkstemp(path);
    close(fd);
    record(path);
    fd = open(path, O_RDONLY);
    live_header header;
    if (read(fd, &header, sizeof header) != (ssize_t)sizeof header) abort();
    valid_size = header.end;
    valid = malloc(valid_size);
    if (pread(fd, valid, valid_size, 0) != (ssize_t)valid_size) abort();
    close(fd);
    unlink(path);
    valid_fd = memory_file();
    any_fd = memory_file();
    put(valid_fd, valid, valid_size, 0);
    return 0;
}

#ifdef AS_PROFILE
static void read_back(int fd) {
    error e = {0};
    input in = {.bytes = (const unsigned char *)valid, .size = valid_size, .fd = fd};
    profile *p = ouro__format_named("ouro")->read(&in, &(read_options){0}, &e);
    if (p ? !ouro__profile_is_valid(p) : !e.code || !e.message[0]) abort();
    ouro__profile_free(p);
}
#else
static void read_back(int fd) {
    ouro__live_profile file;
    ouro__live_error error;
    if (ouro__live_read_fd(fd, &file, &error) == 0) {
        if (!file.rows) abort();
        ouro__live_profile_free(&file);
    } else if (!error.message[0]) {
        abort(); // an error without a sentence
    }
}
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size && data[0] % 2) {
        if (ftruncate(any_fd, 0)) abort();
        put(any_fd, data + 1, size - 1, 0);
        read_back(any_fd);
        return 0;
    }
    for (int back = 0; back < 2; back++) {
        for (size_t i = 1; i + 8 <= size; i += 8) {
            uint32_t at;
            memcpy(&at, data + i, 4);
            at %= (uint32_t)valid_size - 4;
            put(valid_fd, back ? (const uint8_t *)valid + at : data + i + 4, 4, at);
        }
        if (!back) read_back(valid_fd);
    }
    return 0;
}
