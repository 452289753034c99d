// SPDX-License-Identifier: MIT
//
// The second pass over a pprof file: samples become nodes with values, and sets of labels.
//
// A sample's list of locations is packed numbers, leaf first, and samples that follow each other
// mostly share the root side of their paths: the end of the bytes. So the bytes are compared from
// the end with those of the sample before, eight at a time, and only what differs is decoded
// and looked up. Nothing is allocated per sample.
//
// Everything that is done once per sample is in this file, so that the compiler can inline it.

#include "pprof_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
        uint32_t row = ouro__id_find(&r->location_ids, r->ids[i]);
        if (row == NO_ROW)
            return ouro__fail_at_byte(r->error, ouro__pprof_offset(r, s->start),
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
    wire in = ouro__pprof_window(r, 0);
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
    wire in = ouro__pprof_window(r, 0);
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
    return ouro__fail_at_byte(r->error, ouro__pprof_offset(r, s->start),
                              "a sample with %zu values of %zu", s->values, r->type_count);
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
    if (!ouro__pprof_text(r, string, at, &found)) return false;
    if (!r->text_of) r->text_of = calloc(r->string_count + 1, sizeof *r->text_of);
    if (!r->text_of) return ouro__fail_memory(r->error);
    if (!r->text_of[string]) r->text_of[string] = 1 + ouro__pprof_add_text(r, found);
    *text = r->text_of[string] - 1;
    return true;
}

// "4096 bytes"
static bool number_text(reader *r, const label *l, uint32_t *text) {
    slice unit;
    char *joined = NULL;
    if (!ouro__pprof_text(r, l->unit, l->at, &unit)) return false;
    int length = asprintf(&joined, "%lld%s%.*s", (long long)l->number, unit.size ? " " : "",
                          (int)(unit.size < 64 ? unit.size : 64), (const char *)unit.bytes);
    if (length < 0) return ouro__fail_memory(r->error);
    *text = ouro__pprof_add_text(r, (slice){(unsigned char *)joined, (size_t)length});
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

bool ouro__pprof_keep_origin(reader *r) {
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

bool ouro__pprof_read_samples(reader *r) {
    origin *o = r->profile->origin;
    if (r->moves && !ouro__input_rewind(r->in, r->error)) return false;
    wire top = ouro__pprof_window(r, 0);
    sample s;
    uint32_t seen = 0;
    for (wire_field field; ouro__pprof_next(r, &top, &field);) {
        if (field.number != PROFILE_SAMPLE) continue;
        if (!read_sample(r, &top, &field, &s)) return false;
        if (r->profile->failed) return true; // finishing the profile tells it
        if (++seen % 65536 == 0)
            ouro__tell_reading(r->in, (size_t)(field.start - r->in->bytes), r->options);
        if (!o) continue;
        o->sample_offset[o->sample_count] = ouro__pprof_offset(r, field.start);
        if (o->sample_set) o->sample_set[o->sample_count] = s.set;
        o->sample_node[o->sample_count++] = s.node;
    }
    return !top.failed;
}
