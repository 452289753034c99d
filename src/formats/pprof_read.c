// SPDX-License-Identifier: MIT
//
// Reads pprof profiles (profile.proto), from bytes that are already unpacked.
//
// Two passes over the top level: tables first (samples come before them in most files), then the
// samples. A large file goes through a window that moves; what the tables need of it is kept.
//
// A sample's list of locations is packed numbers, leaf first, and samples that follow each other
// mostly share the root side of their paths: the end of the bytes. So the bytes are compared from
// the end with those of the sample before, eight at a time, and only what differs is decoded
// and looked up. Nothing is allocated per sample.
//
// A block is a function: name, file and the line where it starts. Call sites (a location's
// own line and address), mappings and labels are not in the tree; they live in the origin,
// see pprof_write.c. Labels are also kept as tags if somebody may filter by them.

#include "pprof_slices.h"
#include "questions.h"
#include "readers.h"
#include "wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS_PROBED = 8, BYTES_PROBED = 256 };

typedef struct {
    const unsigned char *bytes;
    size_t size;
} slice;

// Rows by id: ids are mostly 1, 2, 3 ..., so an array serves; others go through a hash.
typedef struct {
    uint64_t *ids;
    uint32_t count;
    size_t room;
    uint32_t *dense; // row + 1 by id
    uint64_t dense_count;
    lookup lookup;
} id_table;

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

// ---------------------------------------------------------------- small things

static uint64_t offset_of(const reader *r, const unsigned char *at) {
    return r->in->offset + (uint64_t)(at - r->in->bytes);
}

// Room for one more in an array that doubles; `array` is the address of its pointer.
static bool grow(void *array, size_t count, size_t *room, size_t size, error *e) {
    if (count < *room) return true;
    size_t larger = *room ? *room * 2 : 256;
    void *old;
    memcpy(&old, array, sizeof old);
    void *grown = realloc(old, larger * size);
    if (!grown) return ouro__fail_memory(e);
    memcpy(array, &grown, sizeof grown);
    *room = larger;
    return true;
}

static bool id_add(id_table *t, uint64_t id, error *e) {
    if (!grow(&t->ids, t->count, &t->room, sizeof *t->ids, e)) return false;
    t->ids[t->count++] = id;
    return true;
}

static bool id_index(id_table *t, error *e) {
    uint64_t highest = 0;
    for (uint32_t i = 0; i < t->count; i++) highest = t->ids[i] > highest ? t->ids[i] : highest;
    if (highest < (uint64_t)t->count * 4 + 1024) {
        t->dense_count = highest + 1;
        t->dense = calloc(t->dense_count, sizeof *t->dense);
        if (!t->dense) return ouro__fail_memory(e);
        for (uint32_t i = t->count; i-- > 0;) t->dense[t->ids[i]] = i + 1;
        return true;
    }
    for (uint32_t i = 0; i < t->count; i++) {
        if (!ouro__lookup_add(&t->lookup, ouro__hash_number(t->ids[i]), i))
            return ouro__fail_memory(e);
    }
    return true;
}

static uint32_t id_find(const id_table *t, uint64_t id) {
    if (t->dense) return id < t->dense_count && t->dense[id] ? t->dense[id] - 1 : NO_ROW;
    uint32_t hash = ouro__hash_number(id), row;
    for (uint64_t at = ouro__lookup_first(&t->lookup, hash);
         (row = ouro__lookup_next(&t->lookup, hash, &at)) != NO_ROW;) {
        if (t->ids[row] == id) return row;
    }
    return NO_ROW;
}

static void id_free(id_table *t) {
    free(t->ids);
    free(t->dense);
    ouro__lookup_free(&t->lookup);
}

// ---------------------------------------------------------------- the window

static wire window_from(const reader *r, size_t at) {
    const unsigned char *bytes = r->in->bytes;
    return (wire){bytes, bytes + at, bytes + r->in->size, r->error, false, r->in->offset};
}

// A copy for what is needed after the window has moved on.
static bool keep(reader *r, slice *s) {
    enum { CHUNK = 1 << 18 };
    if (!r->moves || s->size == 0) return true;
    if (!r->kept || r->kept->room - r->kept->used < s->size) {
        size_t room = s->size > CHUNK ? s->size : CHUNK;
        chunk *added = malloc(sizeof *added + room);
        if (!added) return ouro__fail_memory(r->error);
        added->next = r->kept;
        added->used = 0;
        added->room = room;
        r->kept = added;
    }
    unsigned char *to = r->kept->bytes + r->kept->used;
    memcpy(to, s->bytes, s->size);
    r->kept->used += s->size;
    s->bytes = to;
    return true;
}

// The locations of the sample before stay, for the next to be compared with.
static bool save_before(reader *r) {
    const unsigned char *at = r->before.bytes, *bytes = r->in->bytes;
    if (at < bytes || at > bytes + r->in->size) return true;
    if (r->before.size > r->saved_room) {
        unsigned char *larger = realloc(r->saved, 2 * r->before.size);
        if (!larger) return ouro__fail_memory(r->error);
        r->saved = larger;
        r->saved_room = 2 * r->before.size;
    }
    if (r->before.size) memcpy(r->saved, at, r->before.size);
    if (r->saved) r->before.bytes = r->saved;
    return true;
}

// Is a field there to its end? One that is damaged counts as whole.
static bool is_whole(const unsigned char *at, const unsigned char *end) {
    wire w = {at, at, end, NULL, false, 0};
    uint64_t tag, value = 0;
    if (!ouro__wire_varint(&w, &tag)) return end - at >= VARINT_ROOM;
    if ((tag & 7) == WIRE_FIXED64 || (tag & 7) == WIRE_FIXED32) return end - w.at >= 8;
    if ((tag & 7) != WIRE_VARINT && (tag & 7) != WIRE_BYTES) return true;
    const unsigned char *number = w.at;
    if (!ouro__wire_varint(&w, &value)) return end - number >= VARINT_ROOM;
    return (tag & 7) == WIRE_VARINT || value <= (uint64_t)(end - w.at);
}

// The next field of the file, all of it; moves the window if it is not there. false at the end, or
// after an error, which sets failed.
static bool next_field(reader *r, wire *top, wire_field *field) {
    for (;;) {
        size_t start = (size_t)(top->at - r->in->bytes);
        bool more = r->in->more;
        top->error = more ? NULL : r->error; // what is cut by the window is no error yet
        if (ouro__wire_next(top, field)) {
            top->error = r->error;
            return true;
        }
        if (!more) return false;
        *top = window_from(r, start);
        if (top->at < top->end && is_whole(top->at, top->end)) return ouro__wire_next(top, field);
        if (!save_before(r) || !ouro__input_more(r->in, start, r->error)) {
            top->failed = true;
            return false;
        }
        *top = window_from(r, 0);
    }
}

static bool text_at(const reader *r, uint64_t index, uint64_t at, slice *text) {
    if (index < r->string_count) {
        *text = r->strings[index];
        return true;
    }
    return ouro__fail_at_byte(r->error, at, "string index %llu of %zu; is the file cut off?",
                              (unsigned long long)index, r->string_count);
}

static uint32_t add_text(reader *r, slice text) {
    uint32_t number = ouro__texts_add(&r->profile->texts, (const char *)text.bytes, text.size);
    if (number == NO_ROW) r->profile->failed = ENOMEM;
    return number == NO_ROW ? 0 : number;
}

// ---------------------------------------------------------------- first pass: the tables

static bool take_function(reader *r, wire in) {
    function f = {.at = ouro__wire_offset(&in)};
    uint64_t id = 0;
    for (wire_field field; ouro__wire_next(&in, &field);) {
        if (field.number == FUNCTION_ID) id = field.value;
        if (field.number == FUNCTION_NAME) f.name = field.value;
        if (field.number == FUNCTION_SYSTEM_NAME) f.system_name = field.value;
        if (field.number == FUNCTION_FILE) f.file = field.value;
        if (field.number == FUNCTION_START_LINE) f.start_line = field.value;
    }
    size_t room = r->function_ids.room;
    if (in.failed || !grow(&r->functions, r->function_ids.count, &room, sizeof f, r->error))
        return false;
    r->functions[r->function_ids.count] = f;
    return id_add(&r->function_ids, id, r->error);
}

static bool take_location(reader *r, wire in) {
    location l = {.message = {in.at, (size_t)(in.end - in.at)}, .at = ouro__wire_offset(&in)};
    uint64_t id = 0;
    if (!keep(r, &l.message)) return false;
    for (wire_field field; ouro__wire_next(&in, &field);) {
        if (field.number == LOCATION_ID) id = field.value;
        if (field.number == LOCATION_MAPPING) l.mapping = field.value;
        if (field.number == LOCATION_ADDRESS) l.address = field.value;
    }
    size_t room = r->location_ids.room;
    if (in.failed || !grow(&r->locations, r->location_ids.count, &room, sizeof l, r->error))
        return false;
    r->locations[r->location_ids.count] = l;
    return id_add(&r->location_ids, id, r->error);
}

static bool take_mapping(reader *r, wire in) {
    mapping m = {.at = ouro__wire_offset(&in)};
    uint64_t id = 0;
    for (wire_field field; ouro__wire_next(&in, &field);) {
        if (field.number == MAPPING_ID) id = field.value;
        if (field.number == MAPPING_FILE) m = (mapping){field.value, offset_of(r, field.start)};
    }
    size_t room = r->mapping_ids.room;
    if (in.failed || !grow(&r->mappings, r->mapping_ids.count, &room, sizeof m, r->error))
        return false;
    r->mappings[r->mapping_ids.count] = m;
    return id_add(&r->mapping_ids, id, r->error);
}

static bool take_type(reader *r, wire in) {
    sample_type t = {.at = ouro__wire_offset(&in)};
    for (wire_field field; ouro__wire_next(&in, &field);) {
        if (field.number == TYPE_NAME) t.name = field.value;
        if (field.number == TYPE_UNIT) t.unit = field.value;
    }
    if (in.failed || !grow(&r->types, r->type_count, &r->type_room, sizeof t, r->error))
        return false;
    r->types[r->type_count++] = t;
    return true;
}

static bool take_string(reader *r, const wire_field *field) {
    if (!grow(&r->strings, r->string_count, &r->string_room, sizeof *r->strings, r->error))
        return false;
    slice text = {field->bytes, field->size};
    if (!keep(r, &text)) return false;
    r->strings[r->string_count++] = text;
    return true;
}

static bool add_comment(reader *r, uint64_t text) {
    if (!grow(&r->comments, r->comment_count, &r->comment_room, sizeof *r->comments, r->error))
        return false;
    r->comments[r->comment_count++] = text;
    return true;
}

static bool take_comments(reader *r, const wire *top, const wire_field *field) {
    if (field->type == WIRE_VARINT) return add_comment(r, field->value);
    wire in = ouro__wire_in(top, field);
    for (uint64_t text; field->type == WIRE_BYTES && in.at < in.end;) {
        if (!ouro__wire_varint(&in, &text) || !add_comment(r, text)) return false;
    }
    return true;
}

// After the types and the strings: it is written last. The first metrics are calls and recursions,
// and direct in a file that was made of a live file. In one that was made of a pprof file, direct
// is behind the program's own.
static bool take_slices(reader *r, const wire *top, const wire_field *field) {
    wire in = ouro__wire_in(top, field);
    uint32_t not_own = 2, types = (uint32_t)r->type_count, n = ouro__pprof_slices_metrics(in);
    slice third = {0};
    if (types > not_own && r->types[not_own].name < r->string_count)
        third = r->strings[r->types[not_own].name];
    if (third.size == 6 && memcmp(third.bytes, "direct", 6) == 0) not_own++;
    if (types < not_own) return true;
    if (!n || n > types - not_own) n = types - not_own;
    if (r->profile->slices) n = r->profile->slices->width - 3;
    return ouro__pprof_slices_read(r->profile, n, not_own, in);
}

static bool take_field(reader *r, const wire *top, const wire_field *field) {
    bool message = field->number >= PROFILE_SAMPLE_TYPE && field->number <= PROFILE_STRING;
    if (message && field->type != WIRE_BYTES)
        return ouro__fail_at_byte(r->error, offset_of(r, field->start),
                                  "field %u must be a message; this is no pprof "
                                  "profile",
                                  field->number);
    switch (field->number) {
    case PROFILE_SAMPLE_TYPE:
        return take_type(r, ouro__wire_in(top, field));
    case PROFILE_SAMPLE:
        r->sample_count++;
        return true;
    case PROFILE_MAPPING:
        return take_mapping(r, ouro__wire_in(top, field));
    case PROFILE_LOCATION:
        return take_location(r, ouro__wire_in(top, field));
    case PROFILE_FUNCTION:
        return take_function(r, ouro__wire_in(top, field));
    case PROFILE_STRING:
        return take_string(r, field);
    case PROFILE_TIME:
        r->profile->start_time = field->value;
        return true;
    case PROFILE_DURATION:
        r->profile->duration = field->value;
        return true;
    case PROFILE_COMMENT:
        return take_comments(r, top, field);
    case PROFILE_DEFAULT_TYPE:
        r->default_type = field->value;
        return true;
    case PROFILE_SLICES:
        return field->type != WIRE_BYTES || take_slices(r, top, field);
    default:
        return true;
    }
}

static bool read_tables(reader *r) {
    wire top = window_from(r, 0);
    for (wire_field field; next_field(r, &top, &field);) {
        if (!take_field(r, &top, &field)) return false;
    }
    if (top.failed) return false;
    if (r->type_count == 0)
        return ouro__fail_at_byte(r->error, ouro__input_size(r->in),
                                  "the profile names no sample type; is the file cut off?");
    return id_index(&r->function_ids, r->error) && id_index(&r->location_ids, r->error) &&
           id_index(&r->mapping_ids, r->error);
}

// ---------------------------------------------------------------- blocks

static bool type_is(const reader *r, size_t i, const char *name) {
    return strcmp(ouro__metric_name(r->profile, (uint32_t)i), name) == 0;
}

// libouro's own files count recursion in a metric, and direct recursion in a label of each
// sample (docs/pprof-mapping.md).
static void find_direct(reader *r) {
    if (r->type_count < 2 || !type_is(r, 0, "calls") || !type_is(r, 1, "recursions")) return;
    for (size_t i = 2; i < r->type_count; i++) {
        if (type_is(r, i, "direct")) return;
    }
    for (size_t i = 1; i < r->string_count && !r->direct_key; i++) {
        if (r->strings[i].size == 6 && memcmp(r->strings[i].bytes, "direct", 6) == 0)
            r->direct_key = i;
    }
    if (r->direct_key) r->direct = ouro__profile_add_metric(r->profile, "direct", "count");
}

static bool add_types(reader *r) {
    for (size_t i = 0; i < r->type_count; i++) {
        slice name, unit;
        if (!text_at(r, r->types[i].name, r->types[i].at, &name) ||
            !text_at(r, r->types[i].unit, r->types[i].at, &unit))
            return false;
        uint32_t m = ouro__profile_add_metric(r->profile, "", "");
        if (r->profile->failed) return true;
        r->profile->metrics[m].name = add_text(r, name);
        r->profile->metrics[m].unit = add_text(r, unit);
        if (r->types[i].name == r->default_type && r->default_type) r->profile->default_metric = m;
    }
    // pprof shows the last one if the file does not say.
    if (!r->default_type) r->profile->default_metric = (uint32_t)r->type_count - 1;
    find_direct(r);
    return true;
}

// The column is the block's own only if the line is: else it is that of a call.
static bool function_block(reader *r, uint64_t id, uint64_t line, uint64_t column, uint64_t at,
                           uint32_t *found) {
    uint32_t row = id_find(&r->function_ids, id);
    if (row == NO_ROW)
        return ouro__fail_at_byte(r->error, at, "function %llu is not in the file; is it cut off?",
                                  (unsigned long long)id);
    const function *f = &r->functions[row];
    slice name, file, system_name;
    if (!text_at(r, f->name, f->at, &name) || !text_at(r, f->file, f->at, &file) ||
        !text_at(r, f->system_name, f->at, &system_name))
        return false;
    if (name.size == 0) name = system_name;
    if (name.size == 0) name = (slice){(const unsigned char *)"[unknown]", 9};
    bool own = f->start_line && line == f->start_line;
    block_info info = {add_text(r, name), add_text(r, file), (uint32_t)f->start_line,
                       own ? (uint32_t)column : 0};
    *found = ouro__profile_add_block(r->profile, &info);
    return true;
}

static bool read_line(reader *r, wire in, uint32_t *found) {
    uint64_t function_id = 0, line = 0, column = 0;
    uint64_t at = ouro__wire_offset(&in);
    for (wire_field field; ouro__wire_next(&in, &field);) {
        if (field.number == LINE_FUNCTION) function_id = field.value;
        if (field.number == LINE_LINE) line = field.value;
        if (field.number == LINE_COLUMN) column = field.value;
    }
    return !in.failed && function_block(r, function_id, line, column, at, found);
}

// Without symbols: the address, in the mapping's file.
static bool address_block(reader *r, const location *l, uint32_t *found) {
    slice file = {(const unsigned char *)"", 0};
    uint32_t row = l->mapping ? id_find(&r->mapping_ids, l->mapping) : NO_ROW;
    if (row != NO_ROW && !text_at(r, r->mappings[row].file, r->mappings[row].at, &file))
        return false;
    char name[32] = "[unknown]";
    if (l->address) snprintf(name, sizeof name, "0x%llx", (unsigned long long)l->address);
    block_info info = {ouro__profile_add_text(r->profile, name), add_text(r, file), 0, 0};
    *found = ouro__profile_add_block(r->profile, &info);
    return true;
}

static bool add_location_block(reader *r, location *l, uint32_t b) {
    if (!grow(&r->blocks, r->block_count, &r->block_room, sizeof *r->blocks, r->error))
        return false;
    r->blocks[r->block_count++] = b;
    l->count++;
    return true;
}

// Lines are leaf first: the last is the function that the others are inlined into.
static bool resolve_location(reader *r, location *l) {
    const unsigned char *from = l->message.bytes;
    wire in = {from, from, from + l->message.size, r->error, false, l->at};
    uint32_t b;
    l->first = (uint32_t)r->block_count;
    for (wire_field field; ouro__wire_next(&in, &field);) {
        if (field.number != LOCATION_LINE || field.type != WIRE_BYTES) continue;
        if (!read_line(r, ouro__wire_in(&in, &field), &b) || !add_location_block(r, l, b))
            return false;
    }
    if (l->count == 0) return address_block(r, l, &b) && add_location_block(r, l, b);
    uint32_t *first = r->blocks + l->first;
    for (uint32_t i = 0; i < l->count / 2; i++) {
        uint32_t other = first[i];
        first[i] = first[l->count - 1 - i];
        first[l->count - 1 - i] = other;
    }
    return true;
}

static bool resolve_locations(reader *r) {
    for (uint32_t i = 0; i < r->location_ids.count; i++) {
        if (!resolve_location(r, &r->locations[i])) return false;
    }
    return true;
}

// ---------------------------------------------------------------- second pass: the samples

typedef struct {
    slice locations; // packed
    const unsigned char *start;
    size_t values;
    uint32_t node, set;
} sample;

static bool keep_unpacked(reader *r, uint64_t id) {
    int turn = r->turn;
    if (r->unpacked_room[turn] - r->unpacked_size < VARINT_ROOM) {
        size_t room = r->unpacked_room[turn] * 2 + 256;
        unsigned char *grown = realloc(r->unpacked[turn], room);
        if (!grown) return ouro__fail_memory(r->error);
        r->unpacked[turn] = grown;
        r->unpacked_room[turn] = room;
    }
    r->unpacked_size += ouro__varint_put(r->unpacked[turn] + r->unpacked_size, id);
    return true;
}

// Locations that came one by one, or in several lists, which is allowed too: packed into one.
static bool pack_locations(reader *r, wire in, sample *s) {
    r->turn = !r->turn; // the other may hold those of the sample before
    r->unpacked_size = 0;
    for (wire_field field; ouro__wire_next(&in, &field);) {
        if (field.number != SAMPLE_LOCATIONS) continue;
        if (field.type != WIRE_BYTES && !keep_unpacked(r, field.value)) return false;
        wire list = ouro__wire_in(&in, &field);
        for (uint64_t id; field.type == WIRE_BYTES && list.at < list.end;) {
            if (!ouro__wire_varint(&list, &id) || !keep_unpacked(r, id)) return false;
        }
    }
    if (r->unpacked_size) s->locations = (slice){r->unpacked[r->turn], r->unpacked_size};
    return !in.failed;
}

static bool find_locations(reader *r, wire in, sample *s) {
    wire again = in;
    int fields = 0;
    bool packed = true;
    for (wire_field field; ouro__wire_next(&in, &field);) {
        if (field.number != SAMPLE_LOCATIONS) continue;
        fields++;
        packed &= field.type == WIRE_BYTES;
        s->locations = (slice){field.bytes, field.size};
    }
    if (in.failed) return false;
    return (packed && fields <= 1) || pack_locations(r, again, s);
}

// How many bytes at the end of both lists are the same, cut to whole numbers.
static size_t shared_end(slice a, slice b) {
    size_t most = a.size < b.size ? a.size : b.size, same = 0;
    const unsigned char *end_a = a.bytes + a.size, *end_b = b.bytes + b.size;
    while (same + 8 <= most && memcmp(end_a - same - 8, end_b - same - 8, 8) == 0) same += 8;
    while (same < most && end_a[-(ptrdiff_t)same - 1] == end_b[-(ptrdiff_t)same - 1]) same++;
    while (same > 0 && ((same < a.size && end_a[-(ptrdiff_t)same - 1] >= 128) ||
                        (same < b.size && end_b[-(ptrdiff_t)same - 1] >= 128)))
        same--;
    return same;
}

static size_t count_numbers(const unsigned char *bytes, size_t size) {
    size_t count = 0;
    for (size_t i = 0; i < size; i++) count += bytes[i] < 128;
    return count;
}

static bool room_for(reader *r, size_t count) {
    if (count <= r->room) return true;
    size_t room = count * 2 + 64;
    uint64_t *ids = realloc(r->ids, room * sizeof *ids);
    if (ids) r->ids = ids;
    uint32_t *depths = realloc(r->depth_after, room * sizeof *depths);
    if (depths) r->depth_after = depths;
    if (!ids || !depths) return ouro__fail_memory(r->error);
    r->room = room;
    return true;
}

static bool enter_locations(reader *r, const sample *s, size_t shared, size_t fresh,
                            uint32_t *node) {
    ouro__builder_pop_to(r->builder, shared ? r->depth_after[shared - 1] : 0);
    for (size_t i = fresh; i-- > 0 && !r->profile->failed;) {
        uint32_t row = id_find(&r->location_ids, r->ids[i]);
        if (row == NO_ROW)
            return ouro__fail_at_byte(r->error, offset_of(r, s->start),
                                      "location %llu is not in the file; is it cut off?",
                                      (unsigned long long)r->ids[i]);
        const location *l = &r->locations[row];
        for (uint32_t j = 0; j < l->count; j++)
            ouro__builder_push(r->builder, r->blocks[l->first + j]);
        r->depth_after[shared + fresh - 1 - i] = (uint32_t)ouro__builder_depth(r->builder);
    }
    *node = ouro__builder_node(r->builder);
    return true;
}

static uint32_t empty_stack(reader *r) {
    if (!r->empty)
        r->empty =
            ouro__builder_enter(r->builder, 0, ouro__profile_add_named(r->profile, "(root)", 6));
    return r->empty;
}

static bool find_node(reader *r, const sample *s, uint32_t *node) {
    slice now = s->locations;
    size_t same = shared_end(now, r->before);
    size_t shared = r->before_count - count_numbers(r->before.bytes, r->before.size - same);
    // The numbers that end after the shared part would be those before it in a damaged list: decode
    // what is left.
    wire in = window_from(r, 0);
    in.at = now.bytes;
    in.end = now.bytes + (now.size - same);
    size_t fresh = 0;
    if (!room_for(r, shared + now.size - same)) return false;
    for (; in.at < in.end; fresh++) {
        if (!ouro__wire_small(&in, &r->ids[fresh])) return false;
    }
    r->before = now;
    r->before_count = shared + fresh;
    if (!enter_locations(r, s, shared, fresh, node)) return false;
    if (shared + fresh == 0) *node = empty_stack(r);
    return true;
}

// A value of the sample, to its node and to the set of its labels.
static void charge_value(reader *r, sample *s, int64_t value) {
    if (s->values < r->type_count) {
        ouro__charge(r->profile, (uint32_t)s->values, s->node, value);
        ouro__tags_charge(r->profile, (uint32_t)s->values, s->node, s->set, value);
    }
    s->values++;
}

static bool charge_packed(reader *r, sample *s, const wire_field *field) {
    wire in = window_from(r, 0);
    in.at = field->bytes;
    in.end = field->bytes + field->size;
    uint64_t value;
    while (in.at < in.end) {
        if (!ouro__wire_small(&in, &value)) return false;
        charge_value(r, s, (int64_t)value);
    }
    return true;
}

static bool charge(reader *r, wire in, sample *s) {
    for (wire_field field; ouro__wire_next(&in, &field);) {
        if (field.number != SAMPLE_VALUES) continue;
        if (field.type == WIRE_BYTES) {
            if (!charge_packed(r, s, &field)) return false;
            continue;
        }
        charge_value(r, s, (int64_t)field.value);
    }
    if (in.failed) return false;
    if (s->values == r->type_count) return true;
    return ouro__fail_at_byte(r->error, offset_of(r, s->start), "a sample with %zu values of %zu",
                              s->values, r->type_count);
}

// ---------------------------------------------------------------- labels

typedef struct {
    uint64_t key, text, number, unit;
    uint64_t at;
} label;

static bool read_label(wire in, label *l) {
    *l = (label){.at = ouro__wire_offset(&in)};
    for (wire_field part; ouro__wire_next(&in, &part);) {
        if (part.number == LABEL_KEY) l->key = part.value;
        if (part.number == LABEL_TEXT) l->text = part.value;
        if (part.number == LABEL_NUMBER) l->number = part.value;
        if (part.number == LABEL_UNIT) l->unit = part.value;
    }
    return !in.failed;
}

// Strings are looked up once, not once per sample.
static bool label_text(reader *r, uint64_t string, uint64_t at, uint32_t *text) {
    slice found;
    if (!text_at(r, string, at, &found)) return false;
    if (!r->text_of) r->text_of = calloc(r->string_count + 1, sizeof *r->text_of);
    if (!r->text_of) return ouro__fail_memory(r->error);
    if (!r->text_of[string]) r->text_of[string] = 1 + add_text(r, found);
    *text = r->text_of[string] - 1;
    return true;
}

// "4096 bytes"
static bool number_text(reader *r, const label *l, uint32_t *text) {
    slice unit;
    char *joined = NULL;
    if (!text_at(r, l->unit, l->at, &unit)) return false;
    int length = asprintf(&joined, "%lld%s%.*s", (long long)l->number, unit.size ? " " : "",
                          (int)(unit.size < 64 ? unit.size : 64), (const char *)unit.bytes);
    if (length < 0) return ouro__fail_memory(r->error);
    *text = add_text(r, (slice){(unsigned char *)joined, (size_t)length});
    free(joined);
    return true;
}

// What is kept of slices are labels.
static bool keeps_labels(const reader *r) { return r->options->keep_labels || r->profile->slices; }

static bool put_label(reader *r, const label *l) {
    uint32_t key, value;
    if (!label_text(r, l->key, l->at, &key)) return false;
    if (!(l->text ? label_text(r, l->text, l->at, &value) : number_text(r, l, &value)))
        return false;
    ouro__tags_put(r->profile, key, value);
    return true;
}

// libouro's own label is a metric; it needs the node, so the others are read here too.
static bool read_labels(reader *r, wire in, sample *s) {
    if (!r->direct_key && !keeps_labels(r)) return true;
    for (wire_field field; ouro__wire_next(&in, &field);) {
        label l;
        if (field.number != SAMPLE_LABEL || field.type != WIRE_BYTES) continue;
        if (!read_label(ouro__wire_in(&in, &field), &l)) return false;
        if (r->direct_key && l.key == r->direct_key) {
            ouro__charge(r->profile, r->direct, s->node, (int64_t)l.number);
        } else if (keeps_labels(r) && l.key && !put_label(r, &l)) {
            return false;
        }
    }
    s->set = ouro__tags_close(r->profile);
    return !in.failed;
}

static bool read_sample(reader *r, const wire *top, const wire_field *field, sample *s) {
    *s = (sample){.start = field->start, .locations = {field->start, 0}};
    return find_locations(r, ouro__wire_in(top, field), s) && find_node(r, s, &s->node) &&
           read_labels(r, ouro__wire_in(top, field), s) && charge(r, ouro__wire_in(top, field), s);
}

static bool origin_init(reader *r) {
    origin *o = r->profile->origin = calloc(1, sizeof *o);
    if (!o) return ouro__fail_memory(r->error);
    o->bytes = malloc(r->in->size + 1);
    o->sample_offset = malloc(((size_t)r->sample_count + 1) * sizeof *o->sample_offset);
    o->sample_node = malloc(((size_t)r->sample_count + 1) * sizeof *o->sample_node);
    if (keeps_labels(r))
        o->sample_set = malloc(((size_t)r->sample_count + 1) * sizeof *o->sample_set);
    if (!o->bytes || !o->sample_offset || !o->sample_node || (keeps_labels(r) && !o->sample_set))
        return ouro__fail_memory(r->error);
    memcpy(o->bytes, r->in->bytes, r->in->size);
    o->size = r->in->size;
    return true;
}

static bool read_samples(reader *r) {
    origin *o = r->profile->origin;
    if (r->moves && !ouro__input_rewind(r->in, r->error)) return false;
    wire top = window_from(r, 0);
    sample s;
    uint32_t seen = 0;
    for (wire_field field; next_field(r, &top, &field);) {
        if (field.number != PROFILE_SAMPLE) continue;
        if (!read_sample(r, &top, &field, &s)) return false;
        if (r->profile->failed) return true; // finishing the profile tells it
        if (r->options->progress && ++seen % 65536 == 0)
            r->options->progress(r->options->user, (double)offset_of(r, field.start) /
                                                       (double)ouro__input_size(r->in));
        if (!o) continue;
        o->sample_offset[o->sample_count] = offset_of(r, field.start);
        if (o->sample_set) o->sample_set[o->sample_count] = s.set;
        o->sample_node[o->sample_count++] = s.node;
    }
    return !top.failed;
}

// ---------------------------------------------------------------- recursion

// A number and the space behind it; false: there is none, or it is too large to be counted.
static bool take_number(slice *text, uint64_t *number) {
    const uint64_t most = UINT64_C(1) << 53;
    size_t at = 0;
    for (*number = 0; at < text->size && text->bytes[at] >= '0' && text->bytes[at] <= '9'; at++) {
        *number = *number * 10 + (text->bytes[at] - '0');
        if (*number > most) return false;
    }
    if (at == 0 || at == text->size || text->bytes[at] != ' ') return false;
    *text = (slice){text->bytes + at + 1, text->size - at - 1};
    return true;
}

// A comment of ours, see pprof_write.c: the paths of the file are compacted, and do not tell how
// often the block recursed. Others are skipped.
static void take_recursion(reader *r, slice text) {
    enum { DIRECT, THROUGH, DEEPEST, LINE, COLUMN, NAME_SIZE, NUMBERS };
    static const char start[] = RECURSION_COMMENT;
    uint64_t numbers[NUMBERS];
    if (text.size < strlen(start) || memcmp(text.bytes, start, strlen(start)) != 0) return;
    text = (slice){text.bytes + strlen(start), text.size - strlen(start)};
    for (int i = 0; i < NUMBERS; i++) {
        if (!take_number(&text, &numbers[i])) return;
    }
    uint64_t size = numbers[NAME_SIZE];
    if (size >= text.size || text.bytes[size] != ' ' || numbers[DEEPEST] > UINT32_MAX) return;
    slice file = {text.bytes + size + 1, text.size - size - 1};
    block_info info = {add_text(r, (slice){text.bytes, size}), add_text(r, file),
                       (uint32_t)numbers[LINE], (uint32_t)numbers[COLUMN]};
    recursion *to = ouro__profile_recursed(r->profile, ouro__profile_add_block(r->profile, &info));
    if (to) *to = (recursion){numbers[DIRECT], numbers[THROUGH], (uint32_t)numbers[DEEPEST]};
    r->profile->recursion_told = true;
}

static void take_recursions(reader *r) {
    for (size_t i = 0; i < r->comment_count && !r->profile->failed; i++) {
        if (r->comments[i] < r->string_count) take_recursion(r, r->strings[r->comments[i]]);
    }
}

// ---------------------------------------------------------------- the whole

// The first mapping is the program, by the rule of `go tool pprof`.
static bool take_title(reader *r) {
    uint64_t file = r->mapping_ids.count ? r->mappings[0].file : 0;
    if (file == 0 || file >= r->string_count || r->strings[file].size == 0) return true;
    r->profile->title = strndup((const char *)r->strings[file].bytes, r->strings[file].size);
    return r->profile->title || ouro__fail_memory(r->error);
}

static void reader_free(reader *r) {
    ouro__builder_free(r->builder);
    free(r->strings);
    free(r->functions);
    free(r->locations);
    free(r->blocks);
    free(r->mappings);
    free(r->types);
    free(r->comments);
    id_free(&r->function_ids);
    id_free(&r->location_ids);
    id_free(&r->mapping_ids);
    free(r->depth_after);
    free(r->ids);
    free(r->unpacked[0]);
    free(r->unpacked[1]);
    free(r->saved);
    free(r->text_of);
    while (r->kept) {
        chunk *next = r->kept->next;
        free(r->kept);
        r->kept = next;
    }
}

// Where metrics count recursions, stacks do not: what the file has was compacted.
static bool make_builder(reader *r, int rule) {
    r->counted = ouro__counts_calls(r->profile);
    r->builder =
        ouro__builder_new(r->profile, r->counted ? RULE_AS_IT_IS : rule, r->options->edge_length);
    if (!r->builder) return ouro__fail_memory(r->error);
    if (r->counted) ouro__builder_count_none(r->builder);
    return true;
}

profile *ouro__pprof_read(input *in, const read_options *options, error *e) {
    int rule = ouro__rule(options, RULE_AS_IT_IS);
    // The origin is all of the file.
    if (options->keep_origin && rule == RULE_AS_IT_IS && !ouro__input_all(in, e)) return NULL;
    reader r = {.in = in,
                .moves = in->more,
                .options = options,
                .error = e,
                .profile = ouro__profile_for(in, options),
                .before = {in->bytes, 0}};
    bool ok = r.profile || ouro__fail_memory(e);
    ok = ok && read_tables(&r) && add_types(&r) && make_builder(&r, rule) && resolve_locations(&r);
    if (ok && !r.profile->failed && options->keep_origin && rule == RULE_AS_IT_IS)
        ok = origin_init(&r);
    ok = ok && (r.profile->failed || read_samples(&r));
    if (ok) take_recursions(&r);
    ok = ok && take_title(&r) && ouro__profile_finish(r.profile, e);
    reader_free(&r);
    if (ok) return r.counted ? ouro__compacted_as_asked(r.profile, options, e) : r.profile;
    ouro__profile_free(r.profile);
    return NULL;
}

// Of the bytes below 32 a text has tabs and ends of lines alone; a message has tags and lengths.
static bool is_text(const unsigned char *bytes, size_t size) {
    for (size_t i = 0; i < size && i < BYTES_PROBED; i++) {
        if (bytes[i] < ' ' && (bytes[i] == '\0' || !strchr("\t\n\r", bytes[i]))) return false;
    }
    return true;
}

// Fields that hang together, at least one of them a message: text can look like some fields too.
bool ouro__pprof_probe(const unsigned char *bytes, size_t size) {
    if (is_text(bytes, size)) return false;
    wire w = {bytes, bytes, bytes + size, NULL, false, 0};
    wire_field field;
    int messages = 0;
    for (int seen = 0; seen < FIELDS_PROBED && ouro__wire_next(&w, &field); seen++) {
        bool message = field.number >= PROFILE_SAMPLE_TYPE && field.number <= PROFILE_STRING;
        bool known = field.number <= PROFILE_FIELDS && field.type != WIRE_FIXED32;
        if (message ? field.type != WIRE_BYTES : !known) return false;
        messages += message;
    }
    if (!w.failed) return messages > 0;
    // A file that is cut in its first fields is better called cut than unknown: most begin with a
    // sample type.
    return size > 4 && bytes[0] == 0x0a && bytes[1] < 32 && bytes[2] == 8;
}
