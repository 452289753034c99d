// SPDX-License-Identifier: MIT
//
// Values of the standard library's types, made from C's and turned into C's: integers, characters,
// strings, lists, maybe, handles. The layouts are the ones that programs and hosts agree on:
//
//   Int@   union of 3: negative IntP@, zero, positive IntP@
//   IntP@  union of 3: 1, 2x, 2x + 1
//   Char@  struct of one Int@      String@  List@ of Char@
//   List@  union of 2: struct(head, tail), empty      Maybe@  union of 2: just, nothing
//
// Readers see through placeholders, and say so if one is not resolved.

#include "machine.h"

#include <stdlib.h>
#include <string.h>

enum { TWO = 1, THREE = 2 }; // bits of a tag

fble_value fble_union_payload(fble_value value, unsigned bits) {
    if (fble_is_immediate(value)) return fble_immediate_payload(value, bits);
    struct fble_object *object = fble_object(value);
    return fble_kind(object->header) == FBLE_UNION ? object->words[0] : value;
}

uint32_t fble_union_tag(fble_value value, unsigned bits) {
    return fble_is_immediate(value) ? fble_immediate_tag(value, bits)
                                    : fble_tag(fble_object(value)->header);
}

fble_value fble_union_value(struct fble_machine *m, uint32_t tag, unsigned bits,
                            fble_value payload) {
    if (fble_wraps(payload, bits)) return fble_wrap_immediate(payload, tag, bits);
    struct fble_object *object = fble_new(m, FBLE_HEADER(FBLE_UNION, tag, 1));
    object->words[0] = payload;
    return fble_pointer(object);
}

fble_value fble_int_value(struct fble_machine *m, int64_t n) {
    if (!n) return fble_wrap_immediate(FBLE_UNIT, 1, THREE);
    uint64_t size = n < 0 ? -(uint64_t)n : (uint64_t)n;
    fble_value p = fble_wrap_immediate(FBLE_UNIT, 0, THREE);
    for (int bit = 62 - __builtin_clzll(size); bit >= 0; bit--)
        p = fble_union_value(m, size >> bit & 1 ? 2 : 1, THREE, p);
    return fble_union_value(m, n < 0 ? 0 : 2, THREE, p);
}

static bool read_positive(fble_value value, uint64_t *n) {
    *n = 0;
    for (int bit = 0; bit < 63; bit++) {
        value = fble_force(value);
        if (fble_is_placeholder(value)) return false;
        uint32_t tag = fble_union_tag(value, THREE);
        if (tag != 1) *n |= (uint64_t)1 << bit;
        if (tag == 0) return true;
        value = fble_union_payload(value, THREE);
    }
    return false;
}

bool fble_value_int(fble_value value, int64_t *n) {
    uint64_t size = 0;
    value = fble_force(value);
    if (fble_is_placeholder(value)) return false;
    uint32_t tag = fble_union_tag(value, THREE);
    if (tag != 1 && !read_positive(fble_union_payload(value, THREE), &size)) return false;
    *n = tag == 0 ? -(int64_t)size : (int64_t)size;
    return true;
}

fble_value fble_maybe(struct fble_machine *m, fble_value value) {
    return value ? fble_union_value(m, 0, TWO, value) : fble_wrap_immediate(FBLE_UNIT, 1, TWO);
}

fble_value fble_cons(struct fble_machine *m, fble_value head, fble_value tail) {
    struct fble_object *object = fble_new(m, FBLE_HEADER(FBLE_STRUCT, 0, 2));
    object->words[0] = head;
    object->words[1] = tail;
    return fble_pointer(object);
}

// The next item, or 0 at the end, or if the rest is not there.
fble_value fble_next_item(fble_value *list) {
    fble_value value = fble_force(*list);
    if (fble_is_placeholder(value) || fble_union_tag(value, TWO) == 1) return 0;
    value = fble_force(fble_union_payload(value, TWO));
    if (fble_is_placeholder(value)) return 0;
    *list = fble_object(value)->words[1];
    return fble_object(value)->words[0];
}

static fble_value char_field(fble_value value) {
    value = fble_force(value);
    if (fble_is_immediate(value) || fble_is_placeholder(value)) return value;
    return fble_object(value)->words[0];
}

bool fble_value_char(fble_value value, int64_t *point) {
    return fble_value_int(char_field(value), point);
}

// A code point of a text that claims to be UTF-8; a byte that is not stands for itself.
static uint32_t decode(const unsigned char *at, size_t left, size_t *used) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned n = at[0] < 0xc0 ? 1 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : at[0] < 0xf8 ? 4 : 1;
    uint32_t point = n == 1 ? at[0] : at[0] & (0x7fu >> n);
    *used = 1;
    if (n > left) return at[0];
    for (unsigned i = 1; i < n; i++) {
        if ((at[i] & 0xc0) != 0x80) return at[0];
        point = point << 6 | (at[i] & 0x3f);
    }
    if (point < least[n] || point > 0x10ffff) return at[0];
    *used = n;
    return point;
}

// From the end, so that each cell has its tail: characters are found backwards by their first byte.
fble_value fble_string_value(struct fble_machine *m, const char *utf8, size_t length) {
    uint32_t *points = fble_take(sizeof *points * (length + 1));
    size_t count = 0;
    for (size_t at = 0, used; at < length; at += used)
        points[count++] = decode((const unsigned char *)utf8 + at, length - at, &used);
    fble_reserve(m, FBLE_LIST_CELL_BYTES * count);
    fble_value list = FBLE_EMPTY_LIST;
    // A code point always fits into an immediate, so the struct around it does not show.
    while (count) list = fble_cons(m, fble_int_value(m, points[--count]), list);
    free(points);
    return list;
}

static size_t encode(uint32_t point, char *to) {
    if (point < 0x80) return to[0] = (char)point, 1;
    size_t n = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (size_t i = n; i-- > 1; point >>= 6) to[i] = (char)(0x80 | (point & 0x3f));
    to[0] = (char)(0xf00u >> n | point);
    return n;
}

char *fble_value_string(fble_value list, size_t *length) {
    size_t used = 0, capacity = 64;
    char *text = fble_take(capacity);
    for (fble_value item; (item = fble_next_item(&list));) {
        int64_t point;
        if (!fble_value_char(item, &point) || point < 0 || point > 0x10ffff) {
            free(text);
            return NULL;
        }
        if (used + 5 > capacity) text = fble_take_more(text, capacity *= 2);
        used += encode((uint32_t)point, text + used);
    }
    text[used] = 0;
    if (length) *length = used;
    return text;
}

// The collector tells when nobody has the handle any more.
fble_value fble_handle_value(struct fble_machine *m, void *data, void (*release)(void *)) {
    struct fble_handle *handle = fble_take(sizeof *handle);
    fble_reserve(m, 16);
    struct fble_object *object = fble_new(m, FBLE_HEADER(FBLE_HANDLE, 0, 1));
    object->words[0] = fble_pointer(handle) | 1;
    *handle = (struct fble_handle){object, data, release};
    fble_vector_add(&m->handles, handle);
    return fble_pointer(object);
}

void *fble_handle_data(fble_value value) {
    const struct fble_object *object = fble_object(fble_force(value));
    return ((const struct fble_handle *)(uintptr_t)(object->words[0] & ~(fble_value)1))->data;
}
