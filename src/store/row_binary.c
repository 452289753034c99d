// SPDX-License-Identifier: MIT
//
// Writes and reads the rows of ClickHouse's format RowBinary.

#include "row_binary.h"

#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------- writing

void ouro__binary_bytes(row_writer *w, const void *bytes, size_t size) {
    if (!w->failed && w->room - w->used < size) {
        size_t room = 2 * w->room + size + 4096;
        unsigned char *grown = realloc(w->bytes, room);
        w->failed = !grown;
        if (grown) {
            w->bytes = grown;
            w->room = room;
        }
    }
    if (w->failed || !size) return;
    memcpy(w->bytes + w->used, bytes, size);
    w->used += size;
}

static void put_number(row_writer *w, uint64_t n, size_t size) {
    unsigned char bytes[8];
    for (size_t i = 0; i < size; i++) bytes[i] = (unsigned char)(n >> 8 * i);
    ouro__binary_bytes(w, bytes, size);
}

void ouro__binary_u16(row_writer *w, uint16_t n) { put_number(w, n, 2); }
void ouro__binary_u32(row_writer *w, uint32_t n) { put_number(w, n, 4); }
void ouro__binary_u64(row_writer *w, uint64_t n) { put_number(w, n, 8); }
void ouro__binary_key(row_writer *w, key k) { ouro__binary_bytes(w, k.bytes, sizeof k.bytes); }

void ouro__binary_length(row_writer *w, uint64_t n) {
    unsigned char bytes[10];
    size_t used = 0;
    for (; n >= 128; n >>= 7) bytes[used++] = (unsigned char)(n | 128);
    bytes[used++] = (unsigned char)n;
    ouro__binary_bytes(w, bytes, used);
}

void ouro__binary_text(row_writer *w, const char *text) {
    size_t length = strlen(text);
    ouro__binary_length(w, length);
    ouro__binary_bytes(w, text, length);
}

void ouro__binary_free(row_writer *w) {
    free(w->bytes);
    *w = (row_writer){0};
}

// ---------------------------------------------------------------- reading

bool ouro__binary_left(const row_reader *r) { return !r->damaged && r->at < r->end; }

// NULL: so many are not left.
static const unsigned char *take(row_reader *r, uint64_t size) {
    const unsigned char *from = r->at;
    if (r->damaged || size > (uint64_t)(r->end - r->at)) r->damaged = true;
    if (r->damaged) return NULL;
    r->at += size;
    return from;
}

static uint64_t get_number(row_reader *r, unsigned size) {
    const unsigned char *bytes = take(r, size);
    uint64_t n = 0;
    for (unsigned i = 0; bytes && i < size; i++) n |= (uint64_t)bytes[i] << 8 * i;
    return n;
}

uint32_t ouro__binary_get_u32(row_reader *r) { return (uint32_t)get_number(r, 4); }
uint64_t ouro__binary_get_u64(row_reader *r) { return get_number(r, 8); }

double ouro__binary_get_double(row_reader *r) {
    uint64_t bits = get_number(r, 8);
    double n;
    memcpy(&n, &bits, sizeof n);
    return n;
}

key ouro__binary_get_key(row_reader *r) {
    key k = {{0}};
    const unsigned char *bytes = take(r, sizeof k.bytes);
    if (bytes) memcpy(k.bytes, bytes, sizeof k.bytes);
    return k;
}

uint64_t ouro__binary_get_length(row_reader *r) {
    uint64_t n = 0;
    for (unsigned shift = 0; shift < 63; shift += 7) {
        const unsigned char *byte = take(r, 1);
        if (!byte) return 0;
        n |= (uint64_t)(*byte & 127) << shift;
        if (*byte >= 128) continue;
        if (n <= (uint64_t)(r->end - r->at)) return n;
        break;
    }
    r->damaged = true;
    return 0;
}

char *ouro__binary_get_text(row_reader *r) {
    uint64_t length = ouro__binary_get_length(r);
    const unsigned char *bytes = take(r, length);
    return bytes ? strndup((const char *)bytes, length) : NULL;
}
