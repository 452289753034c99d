// SPDX-License-Identifier: MIT
//
// The reader of pprof profiles, inside: what its files share. pprof_read.c reads a whole file; the
// others are its steps, and stand here in their order. A step that fails has filled the error.

#ifndef OURO_PPROF_READER_H
#define OURO_PPROF_READER_H

#include "builder.h"
#include "format.h"
#include "id_table.h"
#include "wire.h"

typedef struct {
    const unsigned char *bytes;
    size_t size;
} slice;

// `at` is where each stands in the file.
typedef struct {
    uint64_t name, system_name, file;
    uint64_t start_line;
    uint64_t at;
} function;

typedef struct {
    uint32_t first, count; // of its blocks, the outermost first
    uint64_t mapping, address;
    slice message;
    uint64_t at;
} location;

typedef struct {
    uint64_t file;
    uint64_t at;
} mapping;

typedef struct {
    uint64_t name, unit;
    uint64_t at;
} sample_type;

// Bytes that are kept when the window moves on.
typedef struct chunk {
    struct chunk *next;
    size_t used, room;
    unsigned char bytes[];
} chunk;

typedef struct {
    input *in;
    bool moves; // the input has more than its bytes
    chunk *kept;
    const read_options *options;
    error *error;
    profile *profile;
    builder *builder;

    slice *strings;
    size_t string_count, string_room;
    function *functions;
    id_table function_ids;
    location *locations;
    id_table location_ids;
    uint32_t *blocks; // of all locations
    size_t block_count, block_room;
    mapping *mappings;
    id_table mapping_ids;
    sample_type *types;
    size_t type_count, type_room;
    uint64_t direct_key; // the label's text; 0: the file does not have it
    uint32_t direct;     // its metric
    uint64_t default_type;
    uint32_t sample_count;
    bool counted;       // it has metrics of calls and recursions
    uint64_t *comments; // their texts
    size_t comment_count, comment_room;
    uint32_t *text_of; // by string: 1 + its text in the profile, once a label needed it

    // The sample before: its packed locations and the depth of the builder's stack after each, from
    // the root.
    slice before;
    unsigned char *saved; // the locations before, when the window moves
    size_t saved_room;
    size_t before_count;
    uint32_t *depth_after;
    uint64_t *ids; // what is decoded of this one
    size_t room;
    unsigned char *unpacked[2]; // lists that were not packed, this one's and the one before
    size_t unpacked_room[2], unpacked_size;
    int turn;
    uint32_t empty; // the node of samples without locations
} reader;

// Where a byte of the window stands in the file.
static inline uint64_t ouro__pprof_offset(const reader *r, const unsigned char *at) {
    return r->in->offset + (uint64_t)(at - r->in->bytes);
}

// pprof_window.c: fields of the top level. The window itself, from byte `at` of it:
static inline wire ouro__pprof_window(const reader *r, size_t at) {
    const unsigned char *bytes = r->in->bytes;
    return (wire){bytes, bytes + at, bytes + r->in->size, r->error, false, r->in->offset};
}

// Makes a copy of what is needed after the window has moved on.
bool ouro__pprof_keep(reader *r, slice *s);
// The next field of the file, all of it; moves the window if it is not there. false at the end, or
// after an error, which sets failed.
bool ouro__pprof_next(reader *r, wire *top, wire_field *field);

// A string of the file; byte `at` of the file asks for it.
static inline bool ouro__pprof_text(const reader *r, uint64_t index, uint64_t at, slice *text) {
    if (index < r->string_count) {
        *text = r->strings[index];
        return true;
    }
    return ouro__fail_at_byte(r->error, at, "string index %llu of %zu; is the file cut off?",
                              (unsigned long long)index, r->string_count);
}

// pprof_tables.c: the first pass, the metrics, and the blocks of all locations.
bool ouro__pprof_read_tables(reader *r);
bool ouro__pprof_add_types(reader *r);
bool ouro__pprof_resolve(reader *r);
// Its number in the profile; out of memory sets profile->failed.
uint32_t ouro__pprof_add_text(reader *r, slice text);

// pprof_samples.c: the second pass. If the file is to be written again, it is kept before that.
bool ouro__pprof_keep_origin(reader *r);
bool ouro__pprof_read_samples(reader *r);

#endif
