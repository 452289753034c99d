// SPDX-License-Identifier: MIT
//
// The bytes of a file or a pipe, all of them, unpacked if they were packed with gzip.

#ifndef OURO_INPUT_H
#define OURO_INPUT_H

#include "error.h"

#include <stddef.h>

typedef struct {
    const unsigned char *bytes; // allocated
    size_t size;
    size_t packed; // what it had packed; 0: it was not
    int fd;        // of the file as it is; -1: there is none
} input;

// "-" is standard input. Nothing that happens to the file afterwards changes the bytes. `limit` is
// the most that is read and unpacked, 0: as budget.h has it. Of a live file, the beginning only.
bool ouro__input_open(input *in, const char *path, uint64_t limit, error *e);
void ouro__input_close(input *in);

// Packed with gzip? Several members one after the other are one file.
bool ouro__is_gzip(const unsigned char *bytes, size_t size);
bool ouro__gunzip(const unsigned char *bytes, size_t size, uint64_t most, unsigned char **out,
                  size_t *out_size, error *e);

#endif
