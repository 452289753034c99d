// SPDX-License-Identifier: MIT
//
// The bytes of a file or a pipe, all of them, unpacked if they were packed with gzip.

#ifndef OURO_INPUT_H
#define OURO_INPUT_H

#include "error.h"

#include <stddef.h>

typedef struct {
    const unsigned char *bytes;
    size_t size;
    bool mapped; // else allocated, if not NULL
    int fd;      // of the file as it is; -1: there is none
} input;

// "-" is standard input. Memory that is mapped shows the file as it is now: a file that is cut
// while it is read may end the program, so only regular files of some size are mapped, and live
// profiles are read through fd.
bool ouro__input_open(input *in, const char *path, error *e);
void ouro__input_close(input *in);

// Packed with gzip? Several members one after the other are one file.
bool ouro__is_gzip(const unsigned char *bytes, size_t size);
bool ouro__gunzip(const unsigned char *bytes, size_t size, unsigned char **out, size_t *out_size,
                  error *e);

#endif
