// SPDX-License-Identifier: MIT
//
// Protobuf's wire format, as much of it as profile.proto needs. Field numbers of profile.proto.

#ifndef OURO_WIRE_H
#define OURO_WIRE_H

#include "error.h"

#include <stddef.h>

enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_TIME = 9,
    PROFILE_DURATION = 10,
    PROFILE_DEFAULT_TYPE = 14,
    PROFILE_FIELDS = 15, // the highest is 14; 15 is documentation
    TYPE_NAME = 1,
    TYPE_UNIT = 2,
    SAMPLE_LOCATIONS = 1,
    SAMPLE_VALUES = 2,
    SAMPLE_LABEL = 3,
    MAPPING_ID = 1,
    MAPPING_FILE = 5,
    MAPPING_HAS_FUNCTIONS = 7,
    MAPPING_HAS_FILES = 8,
    MAPPING_HAS_LINES = 9,
    LOCATION_ID = 1,
    LOCATION_MAPPING = 2,
    LOCATION_ADDRESS = 3,
    LOCATION_LINE = 4,
    LINE_FUNCTION = 1,
    LINE_LINE = 2,
    LINE_COLUMN = 3,
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_SYSTEM_NAME = 3,
    FUNCTION_FILE = 4,
    FUNCTION_START_LINE = 5
};

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

// A message that is being read; `base` is byte 0 of the file, for error positions.
typedef struct {
    const unsigned char *base, *at, *end;
    error *error;
    bool failed;
} wire;

typedef struct {
    uint32_t number, type;
    uint64_t value;             // of a number
    const unsigned char *bytes; // of WIRE_BYTES
    size_t size;
    const unsigned char *start; // of the field's tag
} wire_field;

static inline wire ouro__wire_in(const wire *outer, const wire_field *field) {
    return (wire){outer->base, field->bytes, field->bytes + field->size, outer->error, false};
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

static inline size_t ouro__varint_size(uint64_t value) {
    return value < 128 ? 1 : (size_t)(70 - __builtin_clzll(value)) / 7;
}
// Returns how many of the ten bytes it used.
static inline size_t ouro__varint_put(unsigned char *to, uint64_t value) {
    size_t n = 0;
    for (; value > 127; value >>= 7) to[n++] = (unsigned char)(value | 128);
    to[n++] = (unsigned char)value;
    return n;
}

#endif
