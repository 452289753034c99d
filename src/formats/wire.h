// SPDX-License-Identifier: MIT
//
// Protobuf's wire format, as much of it as profile.proto needs.

#ifndef OURO_WIRE_H
#define OURO_WIRE_H

#include "error.h"
#include "pprof_fields.h"

#include <stddef.h>

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

// A message that is being read; `base` is at byte `offset` of the file, for error positions.
typedef struct {
    const unsigned char *base, *at, *end;
    error *error;
    bool failed;
    uint64_t offset;
} wire;

typedef struct {
    uint32_t number, type;
    uint64_t value;             // of a number, otherwise 0
    const unsigned char *bytes; // of WIRE_BYTES, otherwise `size` is 0
    size_t size;
    const unsigned char *start; // of the field's tag
} wire_field;

static inline wire ouro__wire_in(const wire *outer, const wire_field *field) {
    return (wire){outer->base,  field->bytes, field->bytes + field->size,
                  outer->error, false,        outer->offset};
}

// The byte of the file that is read next.
static inline uint64_t ouro__wire_offset(const wire *w) {
    return w->offset + (uint64_t)(w->at - w->base);
}

// false at the end, or after an error, which sets failed.
bool ouro__wire_next(wire *w, wire_field *field);
bool ouro__wire_varint(wire *w, uint64_t *value);

// The same for numbers that are mostly small: ids.
static inline bool ouro__wire_small(wire *w, uint64_t *value) {
    const unsigned char *at = w->at;
    if (w->end - at < 3 || at[0] < 128) {
        if (at == w->end || at[0] >= 128) return ouro__wire_varint(w, value);
        *value = at[0];
        w->at++;
        return true;
    }
    bool two = at[1] < 128;
    if (!two && at[2] >= 128) return ouro__wire_varint(w, value);
    *value = (at[0] & 127u) | (at[1] & 127u) << 7 | (two ? 0 : (uint32_t)at[2] << 14);
    w->at += two ? 2 : 3;
    return true;
}

// How a comment of ours begins that tells of a block's recursion.
#define RECURSION_COMMENT "# ouro recursion "

enum { VARINT_ROOM = 10 }; // 64 bits, seven in each byte

static inline size_t ouro__varint_size(uint64_t value) {
    return value < 128 ? 1 : (size_t)(70 - __builtin_clzll(value)) / 7;
}
// Returns how many bytes it used.
static inline size_t ouro__varint_put(unsigned char to[static VARINT_ROOM], uint64_t value) {
    size_t n = 0;
    for (; value > 127; value >>= 7) to[n++] = (unsigned char)(value | 128);
    to[n++] = (unsigned char)value;
    return n;
}

#endif
