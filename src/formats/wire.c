// SPDX-License-Identifier: MIT
//
// Reading protobuf's wire format: one field after the other, nothing copied, every length checked
// against the message that it is in. What fields mean is the caller's business; groups, which no
// profile has, are an error.

#include "wire.h"

static bool fail_end(wire *w, const unsigned char *at, const char *what) {
    w->failed = true;
    return ouro__fail_at_byte(w->error, w->offset + (uint64_t)(at - w->base),
                              "%s; is the file cut off?", what);
}

bool ouro__wire_varint(wire *w, uint64_t *value) {
    const unsigned char *start = w->at;
    uint64_t sum = 0;
    for (unsigned shift = 0; w->at < w->end; shift += 7) {
        unsigned char byte = *w->at++;
        if (shift == 63 && byte > 1) {
            w->failed = true;
            return ouro__fail_at_byte(w->error, w->offset + (uint64_t)(start - w->base),
                                      "a number of more than 64 bits; this is no pprof profile");
        }
        sum |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) {
            *value = sum;
            return true;
        }
    }
    return fail_end(w, start, "a number begins here and does not end");
}

static bool read_fixed(wire *w, wire_field *f, size_t size) {
    if ((size_t)(w->end - w->at) < size)
        return fail_end(w, w->at, "a fixed number begins here and does not end");
    __builtin_memcpy(&f->value, w->at, size);
    w->at += size;
    return true;
}

static bool read_bytes(wire *w, wire_field *f) {
    uint64_t size;
    if (!ouro__wire_varint(w, &size)) return false;
    if (size > (uint64_t)(w->end - w->at)) {
        char a[GROUPED_ROOM], b[GROUPED_ROOM];
        w->failed = true;
        return ouro__fail_at_byte(w->error, w->offset + (uint64_t)(f->start - w->base),
                                  "field %u has %s bytes and %s are left; is the file cut off?",
                                  f->number, ouro__grouped(a, size),
                                  ouro__grouped(b, (uint64_t)(w->end - w->at)));
    }
    f->bytes = w->at;
    f->size = (size_t)size;
    w->at += size;
    return true;
}

bool ouro__wire_next(wire *w, wire_field *f) {
    if (w->failed || w->at == w->end) return false;
    uint64_t tag;
    f->start = w->at;
    if (!ouro__wire_varint(w, &tag)) return false;
    f->number = (uint32_t)(tag >> 3);
    f->type = tag & 7;
    f->value = 0; // a caller that expects a number may get bytes
    f->size = 0;
    f->bytes = w->at;
    bool known = tag >> 3 && tag >> 3 < (1u << 29);
    if (known && f->type == WIRE_VARINT) return ouro__wire_varint(w, &f->value);
    if (known && f->type == WIRE_BYTES) return read_bytes(w, f);
    if (known && f->type == WIRE_FIXED64) return read_fixed(w, f, 8);
    if (known && f->type == WIRE_FIXED32) return read_fixed(w, f, 4);
    w->failed = true;
    return ouro__fail_at_byte(w->error, w->offset + (uint64_t)(f->start - w->base),
                              "expected a field of a pprof profile, found the tag %llu",
                              (unsigned long long)tag);
}
