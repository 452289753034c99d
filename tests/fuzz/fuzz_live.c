// SPDX-License-Identifier: MIT
//
// libFuzzer target for the reader of live files. A live file is mostly zeros, so an input is a list
// of changes to a valid file: 4 bytes of offset, 4 of value, each; an odd first byte means that the
// input is the whole file.

#include "live_format.h"
#include "live_read.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char *valid;
static size_t valid_size;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void record(const char *path) {
    ouro_profile *profile = ouro_profile_new(&(ouro_options){.path = path, .max_nodes = 40});
    ouro_block first = ouro_add_blocks(profile, (ouro_block_info[8]){{"a", "f", 1, 1}}, 8);
    ouro_thread *thread = ouro_thread_new(profile);
    for (uint32_t i = 0; i < 2000; i++) {
        ouro_position tokens[5];
        for (uint32_t d = 0; d < 5; d++)
            tokens[d] = ouro_enter(thread, first + (i * 7 + d * (i / 3)) % 8);
        for (uint32_t d = 5; d-- > 0;) ouro_exit(thread, tokens[d]);
    }
    ouro_thread_free(thread);
    ouro_profile_free(profile);
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
    return 0;
}

static void read_back(const void *bytes, size_t size) {
    int fd = memfd_create("live", MFD_CLOEXEC);
    ouro__live_profile file;
    ouro__live_error error;
    if (write(fd, bytes, size) != (ssize_t)size) abort();
    if (ouro__live_read_fd(fd, &file, &error) == 0) {
        if (!file.rows) abort();
        ouro__live_profile_free(&file);
    } else if (!error.message[0]) {
        abort(); // an error without a sentence
    }
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size && data[0] % 2) {
        read_back(data + 1, size - 1);
        return 0;
    }
    char *bytes = malloc(valid_size);
    memcpy(bytes, valid, valid_size);
    for (size_t i = 1; i + 8 <= size; i += 8) {
        uint32_t at, value;
        memcpy(&at, data + i, 4);
        memcpy(&value, data + i + 4, 4);
        memcpy(bytes + at % (valid_size - 4), &value, 4);
    }
    read_back(bytes, valid_size);
    free(bytes);
    return 0;
}
