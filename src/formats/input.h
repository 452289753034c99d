// SPDX-License-Identifier: MIT
//
// The bytes of a file or a pipe, unpacked if they were packed with gzip. Of a large one there is a
// window that moves forward: its bytes are in our memory, whatever happens to the file.

#ifndef OURO_INPUT_H
#define OURO_INPUT_H

#include "budget.h"

#include <stddef.h>

typedef struct {
    const unsigned char *bytes; // allocated
    size_t size;
    size_t packed;   // what it had packed; 0: it was not
    int fd;          // of the file as it is; -1: there is none
    bool more;       // the file goes on behind the bytes
    uint64_t offset; // of the bytes in the file
    uint64_t total;  // bytes of the file when it was opened; 0: all are here, or it is a pipe
    uint64_t limit;
    size_t room;
    budget *budget; // of the profile that is read, which grows with a pipe; may be NULL
} input;

// "-" is standard input. `limit` is the most that is kept and unpacked, 0: as budget.h has it. Of a
// live file the beginning is read, and there is no more.
bool ouro__input_open(input *in, const char *path, uint64_t limit, error *e);
void ouro__input_close(input *in);
// Forgets the first `done` bytes and reads on, by at least one byte unless the file ends: that
// clears `more`. The bytes move.
bool ouro__input_more(input *in, size_t done, error *e);
// All of the file, for those who must see it at once. Only before any of it is forgotten.
bool ouro__input_all(input *in, error *e);
// From the beginning again. Only for files that have, or had, more: not for pipes.
bool ouro__input_rewind(input *in, error *e);

// Of the whole; of a pipe, as far as it was read.
static inline uint64_t ouro__input_size(const input *in) {
    return in->total ? in->total : in->offset + in->size;
}

// Packed with gzip? Several members one after the other are one file.
bool ouro__is_gzip(const unsigned char *bytes, size_t size);
bool ouro__gunzip(const unsigned char *bytes, size_t size, uint64_t most, unsigned char **out,
                  size_t *out_size, error *e);

#endif
