// SPDX-License-Identifier: MIT
//
// Reads what cProfile and profile write for pstats: a dict in Python's marshal format, from
// functions (file, line, name) to (primitive calls, calls, own time, cumulative time, callers).
//
// Such a file has no paths. It knows who called a function, and how much of its time that was, but
// not who called the caller. So paths here are a caller and a function: calls, own time, callers
// and callees are exact, and what is overall ends after one step (findings.c says so). The metric
// `cumulative` has pstats' cumulative time of each pair.
//
// Marshal numbers the objects that it may refer to again, in the order in which they begin. The
// shape of the file is known, so it is read by a fixed grammar: nothing here recurses.

#include "builder.h"
#include "readers.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FLAG = 0x80, LINE_MOST = 1 << 30 };
static const double SECONDS_MOST = 9e9;

typedef enum { NOTHING, TEXT, NUMBER, FUNCTION, COUNTS } kind;

// calls, primitive calls, own time, cumulative time
typedef struct {
    double of[4];
} counts;

// An object that may be referred to.
typedef struct {
    kind kind;
    uint32_t number; // of a text: its number; of a function: its block; of counts: where they are
    double value;
} object;

typedef struct {
    profile *profile;
    builder *builder;
    error *error;
    const input *in;
    size_t at;
    object *objects;
    size_t object_count, object_room;
    counts *kept; // those that may be referred to
    size_t kept_count, kept_room;
    uint32_t calls, time, cumulative;
} reader;

static bool fail(const reader *r, const char *expected) {
    return ouro__fail_at_byte(r->error, r->at, "expected %s", expected);
}

// ---------------------------------------------------------------- bytes and references

static bool has(reader *r, size_t size) {
    return size <= r->in->size - r->at || fail(r, "more bytes; is the file cut off?");
}

static bool read_u32(reader *r, uint32_t *value) {
    if (!has(r, 4)) return false;
    const unsigned char *b = r->in->bytes + r->at;
    *value = (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
    r->at += 4;
    return true;
}

// The type of the next object. *slot is where it can be found again, or SIZE_MAX.
static bool read_type(reader *r, int *type, size_t *slot) {
    if (!has(r, 1)) return false;
    unsigned char byte = r->in->bytes[r->at++];
    *type = byte & ~FLAG;
    *slot = SIZE_MAX;
    if (!(byte & FLAG)) return true;
    if (r->object_count == r->object_room) {
        size_t room = r->object_room ? r->object_room * 2 : 256;
        object *objects = realloc(r->objects, room * sizeof *objects);
        if (!objects) return ouro__fail_memory(r->error);
        r->objects = objects;
        r->object_room = room;
    }
    *slot = r->object_count;
    r->objects[r->object_count++] = (object){.kind = NOTHING};
    return true;
}

static void keep(const reader *r, size_t slot, object o) {
    if (slot != SIZE_MAX) r->objects[slot] = o;
}

// An object that was read before.
static bool refer(reader *r, kind wanted, const char *expected, object *o) {
    uint32_t index;
    if (!read_u32(r, &index)) return false;
    if (index >= r->object_count || r->objects[index].kind != wanted) return fail(r, expected);
    *o = r->objects[index];
    return true;
}

// The number of elements of a tuple; the type was read.
static bool read_count(reader *r, int type, uint32_t *count) {
    if (type == '(') return read_u32(r, count);
    if (!has(r, 1)) return false;
    *count = r->in->bytes[r->at++];
    return true;
}

static bool is_tuple(int type) { return type == '(' || type == ')'; }

// ---------------------------------------------------------------- texts and numbers

static bool read_text(reader *r, uint32_t *text) {
    int type;
    size_t slot;
    uint32_t size = 0;
    object o;
    if (!read_type(r, &type, &slot)) return false;
    if (type == 'r') {
        bool good = refer(r, TEXT, "a text", &o);
        *text = good ? o.number : 0;
        return good;
    }
    if (type == 'z' || type == 'Z') {
        if (!has(r, 1)) return false;
        size = r->in->bytes[r->at++];
    } else if (strchr("uatAs", type) && type) {
        if (!read_u32(r, &size)) return false;
    } else {
        return fail(r, "a text");
    }
    if (!has(r, size)) return false;
    *text = ouro__texts_add(&r->profile->texts, (const char *)r->in->bytes + r->at, size);
    r->at += size;
    keep(r, slot, (object){.kind = TEXT, .number = *text});
    return *text != NO_ROW || ouro__fail_memory(r->error);
}

// An integer of any length: 15 bits per digit.
static bool read_long(reader *r, double *value) {
    uint32_t size;
    if (!read_u32(r, &size)) return false;
    bool negative = (int32_t)size < 0;
    if (negative) size = 0 - size;
    if (size > 1000 || !has(r, (size_t)size * 2)) return fail(r, "a number of a sensible length");
    *value = 0;
    for (uint32_t i = size; i > 0; i--) {
        const unsigned char *b = r->in->bytes + r->at + 2 * (i - 1);
        *value = *value * 32768 + (b[0] | b[1] << 8);
    }
    r->at += (size_t)size * 2;
    if (negative) *value = -*value;
    return true;
}

static bool read_double(reader *r, double *value) {
    uint32_t low, high;
    if (!read_u32(r, &low) || !read_u32(r, &high)) return false;
    uint64_t bits = (uint64_t)high << 32 | low;
    memcpy(value, &bits, sizeof bits);
    return true;
}

static bool read_number(reader *r, double *value) {
    int type;
    size_t slot;
    uint32_t bits;
    object o;
    bool good;
    if (!read_type(r, &type, &slot)) return false;
    switch (type) {
    case 'i':
        good = read_u32(r, &bits);
        *value = good ? (double)(int32_t)bits : 0;
        break;
    case 'l':
        good = read_long(r, value);
        break;
    case 'g':
        good = read_double(r, value);
        break;
    case 'r':
        good = refer(r, NUMBER, "a number", &o);
        *value = good ? o.value : 0;
        break;
    default:
        good = fail(r, "a number");
    }
    if (good) keep(r, slot, (object){.kind = NUMBER, .value = *value});
    return good;
}

// ---------------------------------------------------------------- functions and counts

// cProfile calls the file of a C function `~`.
static bool add_function(reader *r, uint32_t *block) {
    block_info info = {0};
    double line;
    if (!read_text(r, &info.file) || !read_number(r, &line) || !read_text(r, &info.name))
        return false;
    if (strcmp(ouro__text(&r->profile->texts, info.file), "~") == 0)
        info.file = ouro__profile_add_text(r->profile, "");
    info.line = line > 0 && line < LINE_MOST ? (uint32_t)line : 0;
    *block = ouro__profile_add_block(r->profile, &info);
    return true;
}

// (file, line, name), of which the type was read.
static bool function_of(reader *r, int type, size_t slot, uint32_t *block) {
    uint32_t size = 0;
    object o;
    if (type == 'r') {
        bool good = refer(r, FUNCTION, "a function", &o);
        *block = good ? o.number : 0;
        return good;
    }
    if (!is_tuple(type) || !read_count(r, type, &size) || size != 3)
        return fail(r, "a function: (file, line, name)");
    if (!add_function(r, block)) return false;
    keep(r, slot, (object){.kind = FUNCTION, .number = *block});
    return true;
}

static bool keep_counts(reader *r, size_t slot, const counts *c) {
    if (slot == SIZE_MAX) return true;
    if (r->kept_count == r->kept_room) {
        size_t room = r->kept_room ? r->kept_room * 2 : 64;
        counts *kept = realloc(r->kept, room * sizeof *kept);
        if (!kept) return ouro__fail_memory(r->error);
        r->kept = kept;
        r->kept_room = room;
    }
    keep(r, slot, (object){.kind = COUNTS, .number = (uint32_t)r->kept_count});
    r->kept[r->kept_count++] = *c;
    return true;
}

static bool is_sensible(const counts *c) {
    for (int i = 0; i < 4; i++) {
        if (!isfinite(c->of[i]) || fabs(c->of[i]) > (i < 2 ? 1e18 : SECONDS_MOST)) return false;
    }
    return true;
}

static bool read_numbers(reader *r, counts *c) {
    for (int i = 0; i < 4; i++) {
        if (!read_number(r, &c->of[i])) return false;
    }
    return is_sensible(c) || fail(r, "counts below 1e18 and times below 9e9 s before this");
}

// What a caller has: four numbers, or of the module `profile` one, the calls.
static bool read_caller_counts(reader *r, counts *c) {
    int type;
    size_t slot, start = r->at, objects = r->object_count;
    uint32_t size;
    *c = (counts){{0}};
    if (!read_type(r, &type, &slot)) return false;
    if (type == 'r' && r->at + 4 <= r->in->size) {
        size_t back = r->at;
        uint32_t index;
        if (!read_u32(r, &index)) return false;
        if (index < r->object_count && r->objects[index].kind == COUNTS) {
            *c = r->kept[r->objects[index].number];
            return true;
        }
        r->at = back;
    }
    if (is_tuple(type)) {
        if (!read_count(r, type, &size) || size != 4) return fail(r, "four numbers of a caller");
        return read_numbers(r, c) && keep_counts(r, slot, c);
    }
    r->at = start; // it is the number itself
    r->object_count = objects;
    return read_number(r, &c->of[0]) && (is_sensible(c) || fail(r, "a count below 1e18"));
}

// ---------------------------------------------------------------- the profile

static int64_t nanoseconds(double seconds) { return (int64_t)llround(seconds * 1e9); }

static void charge(reader *r, uint32_t node, const counts *c) {
    if (r->profile->failed) return;
    ouro__charge(r->profile, r->calls, node, (int64_t)c->of[0]);
    ouro__charge(r->profile, r->time, node, nanoseconds(c->of[2]));
    ouro__charge(r->profile, r->cumulative, node, nanoseconds(c->of[3]));
}

// What the callers have is taken from the function's own counts. The rest has no caller: it was
// called from outside of what was recorded.
static bool read_callers(reader *r, uint32_t block, counts *own, double *direct) {
    int type;
    size_t slot;
    if (!read_type(r, &type, &slot)) return false;
    if (type != '{') return fail(r, "the callers of a function");
    for (;;) {
        uint32_t caller;
        counts c;
        if (!read_type(r, &type, &slot)) return false;
        if (type == '0') return true;
        if (!function_of(r, type, slot, &caller) || !read_caller_counts(r, &c)) return false;
        ouro__builder_pop_to(r->builder, 0);
        ouro__builder_push(r->builder, caller);
        charge(r, ouro__builder_push(r->builder, block), &c);
        for (int i = 0; i < 4; i++) own->of[i] -= c.of[i];
        if (caller == block) *direct = c.of[0];
        if (r->profile->failed) return true; // finishing the profile tells it
    }
}

// A rest of time that is smaller than a nanosecond is of the arithmetic, and `profile` has no times
// of callers.
static void charge_rest(reader *r, uint32_t block, counts *own) {
    if (own->of[0] < 0.5 && own->of[2] < 1e-9) return;
    if (own->of[0] < 0) own->of[0] = 0;
    if (own->of[3] < 0) own->of[3] = 0;
    ouro__builder_pop_to(r->builder, 0);
    charge(r, ouro__builder_push(r->builder, block), own);
}

// Calls while the function was running already: by itself, and by others.
static void count_recursion(reader *r, uint32_t block, double direct, double through) {
    if (direct < 1 && through < 1) return;
    recursion *counted = ouro__profile_recursed(r->profile, block);
    if (!counted) return;
    if (direct >= 1) counted->direct += (uint64_t)direct;
    if (through >= 1) counted->through += (uint64_t)through;
}

static bool read_function(reader *r, int type, size_t slot) {
    uint32_t block, size = 0;
    counts own;
    if (!function_of(r, type, slot, &block)) return false;
    if (!read_type(r, &type, &slot)) return false;
    if (!is_tuple(type) || !read_count(r, type, &size) || size != 5)
        return fail(r, "five values of a function");
    if (!read_numbers(r, &own)) return false;
    double primitive = own.of[0]; // here the primitive calls come first
    own.of[0] = own.of[1];
    own.of[1] = primitive;
    double again = own.of[0] - primitive, direct = 0;
    if (!read_callers(r, block, &own, &direct)) return false;
    charge_rest(r, block, &own);
    count_recursion(r, block, direct, again - direct);
    return true;
}

static bool read_all(reader *r) {
    int type;
    size_t slot;
    if (!read_type(r, &type, &slot)) return false;
    if (type != '{') return fail(r, "a dict of functions");
    while (!r->profile->failed) {
        if (!read_type(r, &type, &slot)) return false;
        if (type == '0') return true;
        if (!read_function(r, type, slot)) return false;
    }
    return true;
}

profile *ouro__pstats_read(input *in, const read_options *options, error *e) {
    reader r = {.profile = ouro__profile_for(in, options), .error = e, .in = in};
    r.builder = r.profile ? ouro__builder_new(r.profile, ouro__rule(options, RULE_NONE),
                                              options->edge_length)
                          : NULL;
    bool ok = r.builder || ouro__fail_memory(e);
    if (ok) {
        ouro__builder_count_none(r.builder); // the file counts recursion itself
        r.calls = ouro__profile_add_metric(r.profile, "calls", "count");
        r.time = ouro__profile_add_metric(r.profile, "time", "nanoseconds");
        r.cumulative = ouro__profile_add_metric(r.profile, "cumulative", "nanoseconds");
        r.profile->default_metric = r.time;
    }
    ok = ok && read_all(&r) && ouro__profile_finish(r.profile, e);
    ouro__builder_free(r.builder);
    free(r.objects);
    free(r.kept);
    if (ok) return r.profile;
    ouro__profile_free(r.profile);
    return NULL;
}

// A dict whose first key is a tuple, or an empty one. JSON never begins like that.
bool ouro__pstats_probe(const unsigned char *bytes, size_t size) {
    if (size < 2 || (bytes[0] & ~FLAG) != '{') return false;
    int next = bytes[1] & ~FLAG;
    return is_tuple(next) || (next == '0' && size == 2);
}
