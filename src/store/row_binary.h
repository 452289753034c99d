// SPDX-License-Identifier: MIT
//
// Rows as ClickHouse writes and reads them (its format RowBinary): numbers with the lowest byte
// first, texts and lists with their length before them. Values travel as data, so that no text of a
// user is ever a part of a statement.

#ifndef OURO_ROW_BINARY_H
#define OURO_ROW_BINARY_H

#include "store.h"

typedef struct {
    unsigned char *bytes;
    size_t used, room;
    bool failed; // out of memory; what follows is not written
} row_writer;

void ouro__binary_u16(row_writer *w, uint16_t n);
void ouro__binary_u32(row_writer *w, uint32_t n);
void ouro__binary_u64(row_writer *w, uint64_t n);
void ouro__binary_key(row_writer *w, key k);
void ouro__binary_length(row_writer *w, uint64_t n); // before the items of a list
void ouro__binary_text(row_writer *w, const char *text);
void ouro__binary_bytes(row_writer *w, const void *bytes, size_t size);
void ouro__binary_free(row_writer *w);

// What a server answered is not trusted: where it ends too early, `damaged` is set, and all that is
// read from there on is zero.
typedef struct {
    const unsigned char *at, *end;
    bool damaged;
} row_reader;

bool ouro__binary_left(const row_reader *r); // another row begins
uint32_t ouro__binary_get_u32(row_reader *r);
uint64_t ouro__binary_get_u64(row_reader *r);
double ouro__binary_get_double(row_reader *r);
key ouro__binary_get_key(row_reader *r);
uint64_t ouro__binary_get_length(row_reader *r); // of a list of things that take a byte at least
// A copy that ends at its first NUL, freed by the caller. NULL: damaged, or out of memory.
char *ouro__binary_get_text(row_reader *r);

#endif
