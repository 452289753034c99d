// SPDX-License-Identifier: MIT
//
// Values. A value is one 64-bit word, and one of two things:
//
//   odd    an immediate: a chain of union tags that ends in the unit struct. The word is
//          (packed << 1) | 1, and `packed` is a 1 bit (the unit) followed by the tags, the
//          innermost first, each in as many bits as its union type needs. So a flag, a character
//          and an integer of up to 30 bits are all words and never allocated. Wrapping and
//          unwrapping are a shift; both sides know the type and with it the number of bits.
//   even   a pointer to an object: a header word, then words. Never NULL where a value is due.
//
// A struct of one field whose value is an immediate is that immediate; with a pointer in it, it is
// an object. A union around an immediate is an immediate while it fits, and else an object. Types
// and structs without fields are the unit.
//
// Objects. The header is kind (8 bits, odd) | flags (8) | tag (16) | number of words (32). While
// the collector runs, an even header is the object's new address.
//
//   STRUCT       fields. The tag may be used: a union made directly around a new struct is the
//                struct object with the union's tag, so a list cell is one object
//                (FBLE_LIST_CELL_BYTES). The payload of such a union is the object itself.
//   UNION        tag, payload
//   CLOSURE      tag = arity; code, captured values
//   PARTIAL      function, the arguments so far
//   PLACEHOLDER  the value of a variable of a recursive let, or FBLE_NOT_YET
//   LINK         of green threads: first and last cell of the queue, first and last that waits
//   HANDLE       of natives: a pointer | 1, which the collector does not follow
//   THREAD       the same, of a green thread
//
// Code that takes a value apart looks through placeholders (fble_force). The collector replaces a
// resolved placeholder by its value.

#ifndef FBLE_VM_VALUE_H
#define FBLE_VM_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t fble_value;

enum fble_object_kind {
    FBLE_STRUCT = 1,
    FBLE_UNION = 3,
    FBLE_CLOSURE = 5,
    FBLE_PARTIAL = 7,
    FBLE_PLACEHOLDER = 9,
    FBLE_LINK = 11,
    FBLE_HANDLE = 13,
    FBLE_THREAD = 15,
};

enum { FBLE_STATIC_FLAG = 1 << 8 }; // not in the heap, never moved

struct fble_object {
    uint64_t header;
    fble_value words[];
};

#define FBLE_UNIT ((fble_value)3)
// In a placeholder while its let is being evaluated. It is odd, so the collector does not follow
// it. It is not 0: compiled code asks a call site whether it knows the first word of what is called
// before it asks whether that is a function (FBLE_CALL_KNOWN), and a site that knows nothing has
// the key 0.
#define FBLE_NOT_YET ((fble_value)1)
// Header bits that say what an object is: kind and tag.
#define FBLE_SHAPE_MASK ((uint64_t)0xffff00ff)
#define FBLE_SHAPE(kind, tag) ((uint64_t)(kind) | (uint64_t)(tag) << 16)
#define FBLE_HEADER(kind, tag, words) (FBLE_SHAPE(kind, tag) | (uint64_t)(words) << 32)

static inline bool fble_is_immediate(fble_value value) { return value & 1; }

static inline struct fble_object *fble_object(fble_value value) {
    return (struct fble_object *)(uintptr_t)value;
}

static inline fble_value fble_pointer(const void *object) { return (fble_value)(uintptr_t)object; }

static inline unsigned fble_kind(uint64_t header) { return header & 0xff; }

static inline uint32_t fble_tag(uint64_t header) { return (uint32_t)header >> 16; }

static inline uint32_t fble_count(uint64_t header) { return (uint32_t)(header >> 32); }

// Of an object with that many words after its header.
static inline size_t fble_bytes_of_words(uint64_t words) { return 8 + 8 * (size_t)words; }

static inline size_t fble_object_bytes(uint64_t header) {
    return fble_bytes_of_words(fble_count(header));
}

enum { FBLE_LIST_CELL_BYTES = 24 }; // header, element, rest of the list

// How many bits a tag takes in an immediate, of a union type with this many tags.
static inline unsigned fble_tag_bits(uint32_t tags) {
    return tags < 2 ? 0 : 32 - (unsigned)__builtin_clz(tags - 1);
}

static inline bool fble_wraps(fble_value payload, unsigned bits) {
    return (payload & 1) && (payload << bits) >> bits == payload;
}

static inline fble_value fble_wrap_immediate(fble_value payload, uint32_t tag, unsigned bits) {
    return (payload & ~(fble_value)1) << bits | (fble_value)tag << 1 | 1;
}

static inline uint32_t fble_immediate_tag(fble_value value, unsigned bits) {
    return (uint32_t)(value >> 1) & ((1u << bits) - 1);
}

static inline fble_value fble_immediate_payload(fble_value value, unsigned bits) {
    return value >> bits | 1;
}

static inline bool fble_is_placeholder(fble_value value) {
    return !(value & 1) && fble_kind(fble_object(value)->header) == FBLE_PLACEHOLDER;
}

// Sees through placeholders. One that is not resolved yet comes back as itself.
static inline fble_value fble_force(fble_value value) {
    while (fble_is_placeholder(value) && fble_object(value)->words[0] != FBLE_NOT_YET)
        value = fble_object(value)->words[0];
    return value;
}

#endif
