// SPDX-License-Identifier: MIT
//
// Sends slices as OpenTelemetry profiles, by OTLP over HTTP: POST /v1development/profiles. The
// layout is that of opentelemetry-proto 1.10, which is still in development: its numbers changed
// before, and a server of another version takes the message for something else.
//
// One message has tables that all its profiles share: strings, functions, locations, stacks. The
// first row of each is empty and means `none`. A stack is a list of locations, the leaf first. Each
// metric is a profile of its own, whose samples are a stack and a value.

#include "ouro.h"

#include "remote.h"

#include "engine.h"
#include "format.h"
#include "keys.h"
#include "wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { // by message
    REQUEST_RESOURCE = 1,
    REQUEST_DICTIONARY = 2,
    RESOURCE_RESOURCE = 1,
    RESOURCE_SCOPE = 2,
    RESOURCE_ATTRIBUTE = 1,
    SCOPE_SCOPE = 1,
    SCOPE_PROFILE = 2,
    ATTRIBUTE_KEY = 1,
    ATTRIBUTE_VALUE = 2,
    ANY_TEXT = 1,
    INSTRUMENT_NAME = 1,
    INSTRUMENT_VERSION = 2,
    OTLP_SAMPLE_TYPE = 1,
    OTLP_SAMPLE = 2,
    OTLP_TIME = 3,
    OTLP_DURATION = 4,
    OTLP_PERIOD_TYPE = 5,
    OTLP_PERIOD = 6,
    OTLP_ID = 7,
    OTLP_SAMPLE_STACK = 1,
    OTLP_SAMPLE_VALUES = 4,
    OTLP_TYPE_NAME = 1,
    OTLP_TYPE_UNIT = 2,
    TABLE_MAPPING = 1,
    TABLE_LOCATION = 2,
    TABLE_FUNCTION = 3,
    TABLE_LINK = 4,
    TABLE_STRING = 5,
    TABLE_ATTRIBUTE = 6,
    TABLE_STACK = 7,
    OTLP_LOCATION_LINE = 3,
    OTLP_LINE_FUNCTION = 1,
    OTLP_LINE_LINE = 2,
    OTLP_LINE_COLUMN = 3,
    OTLP_FUNCTION_NAME = 1,
    OTLP_FUNCTION_FILE = 3,
    OTLP_FUNCTION_LINE = 4,
    STACK_LOCATIONS = 1,
    ANSWER_PARTIAL = 1,
    PARTIAL_REJECTED = 1,
    PARTIAL_MESSAGE = 2
};

// What collectors take at once by default is 20 MB.
static const taken_limits limits = {
    .depth = 1024, .paths = 65536, .longest = 65535, .bytes = 16 << 20};

// ---------------------------------------------------------------- bytes

typedef struct {
    unsigned char *at;
    size_t size, room;
    bool failed; // out of memory
} buffer;

static void put(buffer *b, const void *bytes, size_t size) {
    if (b->room - b->size < size && !b->failed) {
        size_t room = 2 * b->room + size + 256;
        unsigned char *grown = realloc(b->at, room);
        b->failed = !grown;
        if (grown) b->at = grown;
        if (grown) b->room = room;
    }
    if (b->failed || size == 0) return;
    memcpy(b->at + b->size, bytes, size);
    b->size += size;
}

static void put_varint(buffer *b, uint64_t value) {
    unsigned char bytes[VARINT_ROOM];
    put(b, bytes, ouro__varint_put(bytes, value));
}

static void put_number(buffer *b, unsigned field, uint64_t value) {
    if (!value) return;
    put_varint(b, field << 3 | WIRE_VARINT);
    put_varint(b, value);
}

static void put_bytes(buffer *b, unsigned field, const void *bytes, size_t size) {
    put_varint(b, field << 3 | WIRE_BYTES);
    put_varint(b, size);
    put(b, bytes, size);
}

static void put_text(buffer *b, unsigned field, const char *text) {
    put_bytes(b, field, text, strlen(text));
}

static void put_fixed(buffer *b, unsigned field, uint64_t value) {
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)(value >> 8 * i);
    put_varint(b, field << 3 | WIRE_FIXED64);
    put(b, bytes, sizeof bytes);
}

// Ends the inner message: it becomes a field of the outer one, and empty again.
static void put_message(buffer *b, unsigned field, buffer *inner) {
    put_bytes(b, field, inner->at, inner->size);
    b->failed |= inner->failed;
    inner->size = 0;
}

// ---------------------------------------------------------------- the tables

typedef struct {
    const profile *profile;
    const slice *slice;
    buffer tables, inner, line, profiles;
    texts strings;
    uint32_t *stack_of; // by node; 0: it has no value
    uint32_t *location; // by block; 0: it does not occur
    walk walk;
} writer;

static uint32_t string_of(writer *w, const char *text) {
    uint32_t number = ouro__texts_add(&w->strings, text, strlen(text));
    if (number == NO_ROW) w->tables.failed = true;
    return number == NO_ROW ? 0 : number;
}

static void put_location(writer *w, uint32_t b) {
    const block_info *i = &w->profile->blocks[b];
    put_number(&w->line, OTLP_LINE_FUNCTION, w->location[b]);
    put_number(&w->line, OTLP_LINE_LINE, i->line);
    put_number(&w->line, OTLP_LINE_COLUMN, i->column);
    put_message(&w->inner, OTLP_LOCATION_LINE, &w->line);
    put_message(&w->tables, TABLE_LOCATION, &w->inner);
    put_number(&w->inner, OTLP_FUNCTION_NAME, string_of(w, ouro__block_name(w->profile, b)));
    put_number(&w->inner, OTLP_FUNCTION_FILE, string_of(w, ouro__block_file(w->profile, b)));
    put_number(&w->inner, OTLP_FUNCTION_LINE, i->line);
    put_message(&w->tables, TABLE_FUNCTION, &w->inner);
}

static void put_stack(writer *w) {
    for (uint32_t d = w->walk.depth; d > 0; d--)
        put_varint(&w->line, w->location[w->profile->block[w->walk.nodes[d]]]);
    put_message(&w->inner, STACK_LOCATIONS, &w->line);
    put_message(&w->tables, TABLE_STACK, &w->inner);
}

static bool has_value(const profile *p, uint32_t n) {
    for (uint32_t m = 0; m < p->metric_count; m++) {
        if (p->values[m][n]) return true;
    }
    return false;
}

// The first row of each table is empty.
static void put_empty_rows(writer *w) {
    static const unsigned tables[] = {TABLE_MAPPING, TABLE_LOCATION,  TABLE_FUNCTION,
                                      TABLE_LINK,    TABLE_ATTRIBUTE, TABLE_STACK};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        put_bytes(&w->tables, tables[i], "", 0);
}

static bool put_tables(writer *w) {
    const profile *p = w->profile;
    uint32_t locations = 0, stacks = 0;
    put_empty_rows(w);
    for (uint32_t n = 1; n < p->node_count; n++) w->location[p->block[n]] = 1;
    for (uint32_t b = 0; b < p->block_count; b++) {
        if (!w->location[b]) continue;
        w->location[b] = ++locations;
        put_location(w, b);
    }
    for (uint32_t n = 0; n < p->node_count; n++) {
        if (!ouro__walk_to(&w->walk, p, n)) return false;
        if (n == 0 || !has_value(p, n)) continue;
        w->stack_of[n] = ++stacks;
        put_stack(w);
    }
    return true;
}

static void put_strings(writer *w) {
    for (uint32_t i = 0; i < w->strings.count; i++)
        put_bytes(&w->tables, TABLE_STRING, ouro__text(&w->strings, i),
                  ouro__text_length(&w->strings, i));
}

// ---------------------------------------------------------------- profiles

static void put_samples(writer *w, buffer *to, uint32_t m) {
    int64_t carry = 0;
    for (uint32_t n = 1; n < w->profile->node_count; n++) {
        int64_t value = w->profile->values[m][n] ? ouro__whole(w->profile, m, n, &carry) : 0;
        if (!value) continue;
        put_number(&w->inner, OTLP_SAMPLE_STACK, w->stack_of[n]);
        put_varint(&w->line, (uint64_t)value);
        put_message(&w->inner, OTLP_SAMPLE_VALUES, &w->line); // packed
        put_message(to, OTLP_SAMPLE, &w->inner);
    }
}

static void put_type(writer *w, buffer *to, unsigned field, uint32_t m) {
    put_number(&w->inner, OTLP_TYPE_NAME, string_of(w, ouro__metric_name(w->profile, m)));
    put_number(&w->inner, OTLP_TYPE_UNIT, string_of(w, ouro__metric_unit(w->profile, m)));
    put_message(to, field, &w->inner);
}

// The same for a slice that is sent again.
static key id_of(const slice *s, const char *name) {
    sha256 h;
    unsigned char number[8];
    for (int i = 0; i < 8; i++) number[i] = (unsigned char)(s->number >> 8 * i);
    ouro__sha256_init(&h);
    ouro__sha256_add(&h, s->recording.bytes, sizeof s->recording.bytes);
    ouro__sha256_add(&h, number, sizeof number);
    ouro__sha256_add(&h, name, strlen(name));
    return ouro__key_end(&h);
}

// Servers name a profile by its period's type, and refuse a period of 0.
static void put_profile(writer *w, uint32_t m) {
    buffer to = {0};
    key id = id_of(w->slice, ouro__metric_name(w->profile, m));
    put_type(w, &to, OTLP_SAMPLE_TYPE, m);
    put_samples(w, &to, m);
    put_fixed(&to, OTLP_TIME, w->slice->from * 1000000);
    put_number(&to, OTLP_DURATION, (w->slice->until - w->slice->from) * 1000000);
    put_type(w, &to, OTLP_PERIOD_TYPE, m);
    put_number(&to, OTLP_PERIOD, 1);
    put_bytes(&to, OTLP_ID, id.bytes, sizeof id.bytes);
    put_message(&w->profiles, SCOPE_PROFILE, &to);
    free(to.at);
}

// As OpenTelemetry calls what we have words for.
static const char *attribute_name(const char *name) {
    static const char *const known[][2] = {
        {"service", "service.name"}, {"host", "host.name"}, {"build", "service.version"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(name, known[i][0]) == 0) return known[i][1];
    }
    return name;
}

static void put_resource(writer *w, buffer *to) {
    buffer attributes = {0};
    for (size_t i = 0; i < w->slice->labels->count; i++) {
        const label_pair *l = &w->slice->labels->items[i];
        put_text(&w->inner, ATTRIBUTE_KEY, attribute_name(l->name));
        put_text(&w->line, ANY_TEXT, l->value);
        put_message(&w->inner, ATTRIBUTE_VALUE, &w->line);
        put_message(&attributes, RESOURCE_ATTRIBUTE, &w->inner);
    }
    put_message(to, RESOURCE_RESOURCE, &attributes);
    free(attributes.at);
}

static void put_request(writer *w, buffer *to) {
    buffer resource = {0};
    put_resource(w, &resource);
    put_message(&resource, RESOURCE_SCOPE, &w->profiles);
    put_message(to, REQUEST_RESOURCE, &resource);
    put_strings(w);
    put_message(to, REQUEST_DICTIONARY, &w->tables);
    free(resource.at);
}

static void put_scope(writer *w) {
    put_text(&w->inner, INSTRUMENT_NAME, "ouro");
    put_text(&w->inner, INSTRUMENT_VERSION, OURO_VERSION);
    put_message(&w->profiles, SCOPE_SCOPE, &w->inner);
}

static void writer_free(writer *w) {
    free(w->tables.at);
    free(w->inner.at);
    free(w->line.at);
    free(w->profiles.at);
    ouro__texts_free(&w->strings);
    free(w->stack_of);
    free(w->location);
    ouro__walk_free(&w->walk);
}

static char *encode(const slice *s, const profile *p, size_t *size, error *e) {
    buffer to = {0};
    writer w = {.profile = p,
                .slice = s,
                .stack_of = calloc(p->node_count, sizeof *w.stack_of),
                .location = calloc((size_t)p->block_count + 1, sizeof *w.location)};
    bool ok = ouro__texts_init(&w.strings) && w.stack_of && w.location && put_tables(&w);
    if (ok) {
        put_scope(&w);
        for (uint32_t m = 0; m < p->metric_count; m++) put_profile(&w, m);
        put_request(&w, &to);
        ok = !to.failed;
    }
    writer_free(&w);
    *size = to.size;
    if (ok) return (char *)to.at;
    free(to.at);
    ouro__error_memory(e);
    return NULL;
}

// ---------------------------------------------------------------- sending

// The server may take a part only.
static bool check_answer(const http_answer *a, error *e) {
    const unsigned char *bytes = (const unsigned char *)a->body;
    wire top = {bytes, bytes, bytes + a->size, NULL, false, 0};
    uint64_t rejected = 0;
    wire_field why = {0};
    for (wire_field f; ouro__wire_next(&top, &f);) {
        if (f.number != ANSWER_PARTIAL || f.type != WIRE_BYTES) continue;
        wire in = ouro__wire_in(&top, &f);
        for (wire_field g; ouro__wire_next(&in, &g);) {
            if (g.number == PARTIAL_REJECTED && g.type == WIRE_VARINT) rejected = g.value;
            if (g.number == PARTIAL_MESSAGE && g.type == WIRE_BYTES) why = g;
        }
    }
    if (!rejected) return true;
    int length = why.size < 200 ? (int)why.size : 200;
    return ouro__fail(e, EIO, "the server refuses %llu profiles: %.*s",
                      (unsigned long long)rejected, length, length ? (const char *)why.bytes : "");
}

static bool put_slice(void *opened, const slice *s, bool *known, error *e) {
    http_answer got;
    size_t size = 0;
    char *body = ouro__remote_encode(opened, s, &limits, encode, &size, e);
    bool sent = body && ouro__remote_send(opened, "/v1development/profiles",
                                          "application/x-protobuf", body, size, &got, e);
    bool ok = sent && check_answer(&got, e);
    if (sent) ouro__http_answer_free(&got);
    *known = false; // nobody can tell
    free(body);
    return ok;
}

static void *open_otlp(const char *url, bool make, error *e) {
    (void)make;
    return ouro__remote_open(url, e);
}

const engine ouro__otlp = {.scheme = "otlp+http",
                           .open = open_otlp,
                           .close = ouro__remote_close,
                           .put = put_slice,
                           .note = ouro__remote_note};
const engine ouro__otlp_tls = {.scheme = "otlp+https",
                               .open = open_otlp,
                               .close = ouro__remote_close,
                               .put = put_slice,
                               .note = ouro__remote_note};
