// SPDX-License-Identifier: MIT
//
// The first pass over a pprof file: all tables. They come in any order and refer to each other, so
// they are collected first; then sample types become metrics, and each location gets its blocks. So
// a sample needs no more than the number of a location.
//
// A block is a function: name, file and the line where it starts. Without symbols it is an address.

#include "pprof_reader.h"
#include "pprof_slices.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

uint32_t ouro__pprof_add_text(reader *r, slice text) {
    uint32_t number = ouro__texts_add(&r->profile->texts, (const char *)text.bytes, text.size);
    if (number == NO_ROW) r->profile->failed = ENOMEM;
    return number == NO_ROW ? 0 : number;
}

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
    if (in.failed || !ouro__grow(&r->functions, r->function_ids.count, &room, sizeof f, r->error))
        return false;
    r->functions[r->function_ids.count] = f;
    return ouro__id_add(&r->function_ids, id, r->error);
}

static bool take_location(reader *r, wire in) {
    location l = {.message = {in.at, (size_t)(in.end - in.at)}, .at = ouro__wire_offset(&in)};
    uint64_t id = 0;
    if (!ouro__pprof_keep(r, &l.message)) return false;
    for (wire_field field; ouro__wire_next(&in, &field);) {
        if (field.number == LOCATION_ID) id = field.value;
        if (field.number == LOCATION_MAPPING) l.mapping = field.value;
        if (field.number == LOCATION_ADDRESS) l.address = field.value;
    }
    size_t room = r->location_ids.room;
    if (in.failed || !ouro__grow(&r->locations, r->location_ids.count, &room, sizeof l, r->error))
        return false;
    r->locations[r->location_ids.count] = l;
    return ouro__id_add(&r->location_ids, id, r->error);
}

static bool take_mapping(reader *r, wire in) {
    mapping m = {.at = ouro__wire_offset(&in)};
    uint64_t id = 0;
    for (wire_field field; ouro__wire_next(&in, &field);) {
        if (field.number == MAPPING_ID) id = field.value;
        if (field.number == MAPPING_FILE)
            m = (mapping){field.value, ouro__pprof_offset(r, field.start)};
    }
    size_t room = r->mapping_ids.room;
    if (in.failed || !ouro__grow(&r->mappings, r->mapping_ids.count, &room, sizeof m, r->error))
        return false;
    r->mappings[r->mapping_ids.count] = m;
    return ouro__id_add(&r->mapping_ids, id, r->error);
}

static bool take_type(reader *r, wire in) {
    sample_type t = {.at = ouro__wire_offset(&in)};
    for (wire_field field; ouro__wire_next(&in, &field);) {
        if (field.number == TYPE_NAME) t.name = field.value;
        if (field.number == TYPE_UNIT) t.unit = field.value;
    }
    if (in.failed || !ouro__grow(&r->types, r->type_count, &r->type_room, sizeof t, r->error))
        return false;
    r->types[r->type_count++] = t;
    return true;
}

static bool take_string(reader *r, const wire_field *field) {
    if (!ouro__grow(&r->strings, r->string_count, &r->string_room, sizeof *r->strings, r->error))
        return false;
    slice text = {field->bytes, field->size};
    if (!ouro__pprof_keep(r, &text)) return false;
    r->strings[r->string_count++] = text;
    return true;
}

static bool add_comment(reader *r, uint64_t text) {
    if (!ouro__grow(&r->comments, r->comment_count, &r->comment_room, sizeof *r->comments,
                    r->error))
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
        return ouro__fail_at_byte(r->error, ouro__pprof_offset(r, field->start),
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

bool ouro__pprof_read_tables(reader *r) {
    wire top = ouro__pprof_window(r, 0);
    for (wire_field field; ouro__pprof_next(r, &top, &field);) {
        if (!take_field(r, &top, &field)) return false;
    }
    if (top.failed) return false;
    if (r->type_count == 0)
        return ouro__fail_at_byte(r->error, ouro__input_size(r->in),
                                  "the profile names no sample type; is the file cut off?");
    return ouro__id_index(&r->function_ids, r->error) &&
           ouro__id_index(&r->location_ids, r->error) && ouro__id_index(&r->mapping_ids, r->error);
}

// ---------------------------------------------------------------- metrics and blocks

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

bool ouro__pprof_add_types(reader *r) {
    for (size_t i = 0; i < r->type_count; i++) {
        slice name, unit;
        if (!ouro__pprof_text(r, r->types[i].name, r->types[i].at, &name) ||
            !ouro__pprof_text(r, r->types[i].unit, r->types[i].at, &unit))
            return false;
        uint32_t m = ouro__profile_add_metric(r->profile, "", "");
        if (r->profile->failed) return true;
        r->profile->metrics[m].name = ouro__pprof_add_text(r, name);
        r->profile->metrics[m].unit = ouro__pprof_add_text(r, unit);
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
    uint32_t row = ouro__id_find(&r->function_ids, id);
    if (row == NO_ROW)
        return ouro__fail_at_byte(r->error, at, "function %llu is not in the file; is it cut off?",
                                  (unsigned long long)id);
    const function *f = &r->functions[row];
    slice name, file, system_name;
    if (!ouro__pprof_text(r, f->name, f->at, &name) ||
        !ouro__pprof_text(r, f->file, f->at, &file) ||
        !ouro__pprof_text(r, f->system_name, f->at, &system_name))
        return false;
    if (name.size == 0) name = system_name;
    if (name.size == 0) name = (slice){(const unsigned char *)"[unknown]", 9};
    bool own = f->start_line && line == f->start_line;
    block_info info = {ouro__pprof_add_text(r, name), ouro__pprof_add_text(r, file),
                       (uint32_t)f->start_line, own ? (uint32_t)column : 0};
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
    uint32_t row = l->mapping ? ouro__id_find(&r->mapping_ids, l->mapping) : NO_ROW;
    if (row != NO_ROW && !ouro__pprof_text(r, r->mappings[row].file, r->mappings[row].at, &file))
        return false;
    char name[32] = "[unknown]";
    if (l->address) snprintf(name, sizeof name, "0x%llx", (unsigned long long)l->address);
    block_info info = {ouro__profile_add_text(r->profile, name), ouro__pprof_add_text(r, file), 0,
                       0};
    *found = ouro__profile_add_block(r->profile, &info);
    return true;
}

static bool add_location_block(reader *r, location *l, uint32_t b) {
    if (!ouro__grow(&r->blocks, r->block_count, &r->block_room, sizeof *r->blocks, r->error))
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

bool ouro__pprof_resolve(reader *r) {
    for (uint32_t i = 0; i < r->location_ids.count; i++) {
        if (!resolve_location(r, &r->locations[i])) return false;
    }
    return true;
}
