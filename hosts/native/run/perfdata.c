// SPDX-License-Identifier: MIT
//
// perf.data: a header with the places of two sections. The first has the attributes of the events,
// which say how records are laid out; the second has the records, as the kernel wrote them, with a
// few of perf's own between. Sections with more about the recording follow, of which the build ids
// of the modules are read: a file that was replaced since gives no names.
//
// What is not read here: several events at once, compressed records, files of another byte order,
// and files that were written to a pipe.

#include "perfdata.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAGIC = 8,
    HEADER = 104,
    FEATURES_AT = 72,
    FEATURE_WORDS = 4,
    FEATURE_BUILD_ID = 2,
    FEATURE_COMPRESSED = 27,
    ATTRIBUTES_LEAST = 64, // PERF_ATTR_SIZE_VER0
    BUILD_ID_BYTES = 20,
    BUILD_ID_HAS_SIZE = 1 << 15, // of misc: the byte after the id is its size
    BUILD_ID_NAME = 8 + 4 + 24,
    RECORD_ROUND = 68 // FINISHED_ROUND: all that is older has come
};

typedef struct {
    uint64_t offset, size;
} section;

typedef struct {
    uint64_t time;
    size_t at, size;
} pending;

typedef struct {
    const unsigned char *bytes;
    size_t size;
    section attributes, data;
    uint64_t attribute_size;
    struct perf_event_attr event;
    record_shape shape;
    sampled *to;
    pending *waiting;
    size_t count, room;
    uint64_t newest;
} file;

static const char *const cut_off = "it ends too early";

static section section_at(const file *f, size_t at) {
    return (section){record_word(f->bytes + at, 0), record_word(f->bytes + at, 1)};
}

static bool is_inside(const file *f, section s) {
    return s.offset <= f->size && s.size <= f->size - s.offset;
}

// ---------------------------------------------------------------- the header

static bool has_feature(const file *f, unsigned bit) {
    return record_word(f->bytes + FEATURES_AT, bit / 64) >> bit % 64 & 1;
}

static const char *read_header(file *f) {
    if (f->size < HEADER) return cut_off;
    if (memcmp(f->bytes, "PERFILE2", MAGIC) != 0) return "it has another byte order";
    if (record_word(f->bytes, 1) < HEADER) return "it was written to a pipe";
    f->attribute_size = record_word(f->bytes, 2);
    f->attributes = section_at(f, 24);
    f->data = section_at(f, 40);
    if (f->data.size == 0 && f->data.offset <= f->size)
        f->data.size = f->size - f->data.offset; // perf was killed
    if (!is_inside(f, f->attributes) || !is_inside(f, f->data)) return cut_off;
    return has_feature(f, FEATURE_COMPRESSED) ? "its records are compressed" : NULL;
}

static bool is_dummy(const struct perf_event_attr *a) {
    return a->type == PERF_TYPE_SOFTWARE && a->config == PERF_COUNT_SW_DUMMY;
}

// Attributes of any age: what is not there is zero.
static struct perf_event_attr attributes_at(const file *f, uint64_t at) {
    struct perf_event_attr a = {0};
    size_t size = (size_t)f->attribute_size - sizeof(section);
    memcpy(&a, f->bytes + f->attributes.offset + at, size < sizeof a ? size : sizeof a);
    return a;
}

// The ends of records must look alike for all events.
static const char *read_attributes(file *f) {
    const uint64_t ends = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
                          PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
    size_t events = 0;
    if (f->attribute_size < ATTRIBUTES_LEAST + sizeof(section) || f->attribute_size > 4096)
        return "its events are not described";
    for (uint64_t at = 0; at + f->attribute_size <= f->attributes.size; at += f->attribute_size) {
        struct perf_event_attr a = attributes_at(f, at);
        if (!is_dummy(&a) && events++ == 0) f->event = a;
    }
    if (events != 1) return events ? "it has several events" : "it has no event";
    for (uint64_t at = 0; at + f->attribute_size <= f->attributes.size; at += f->attribute_size) {
        struct perf_event_attr a = attributes_at(f, at);
        if ((a.sample_type & ends) != (f->event.sample_type & ends) ||
            a.sample_id_all != f->event.sample_id_all)
            return "its events have different records";
    }
    f->shape = (record_shape){.sample_type = f->event.sample_type,
                              .read_format = f->event.read_format,
                              .user_registers = f->event.sample_regs_user,
                              .branch_type = f->event.branch_sample_type,
                              .has_ids = f->event.sample_id_all};
    return NULL;
}

static const char *event_name(const struct perf_event_attr *a) {
    static const char *const hardware[] = {
        "cycles",        "instructions", "cache-references", "cache-misses", "branches",
        "branch-misses", "bus-cycles",   "stalled-front",    "stalled-back", "ref-cycles"};
    bool is_time = a->type == PERF_TYPE_SOFTWARE &&
                   (a->config == PERF_COUNT_SW_CPU_CLOCK || a->config == PERF_COUNT_SW_TASK_CLOCK);
    if (is_time) return NULL;
    uint64_t known = sizeof hardware / sizeof *hardware;
    return a->type == PERF_TYPE_HARDWARE && a->config < known ? hardware[a->config] : "events";
}

// ---------------------------------------------------------------- build ids

static section feature_section(const file *f, unsigned bit) {
    uint64_t before = 0;
    if (!has_feature(f, bit)) return (section){0};
    for (unsigned i = 0; i < bit; i++) before += has_feature(f, i);
    uint64_t at = f->data.offset + f->data.size + before * sizeof(section);
    if (!is_inside(f, (section){at, sizeof(section)})) return (section){0};
    section s = section_at(f, (size_t)at);
    return is_inside(f, s) ? s : (section){0};
}

// Returns the size of an entry's id. An id of lld has 8 bytes, and zeros fill the room of 20. Older
// perfs do not write the size: there the id ends with the last word that is not zero.
static size_t build_id_size(const unsigned char *entry) {
    static const unsigned char zeros[4];
    const unsigned char *id = entry + 12;
    size_t size = BUILD_ID_BYTES;
    uint16_t misc;
    memcpy(&misc, entry + 4, sizeof misc);
    if (misc & BUILD_ID_HAS_SIZE) return id[size] < size ? id[size] : size;
    while (size && memcmp(id + size - sizeof zeros, zeros, sizeof zeros) == 0) size -= sizeof zeros;
    return size;
}

// Entries: a header with the size, the process, the id in 24 bytes, the path.
static void read_build_ids(file *f) {
    section s = feature_section(f, FEATURE_BUILD_ID);
    for (uint64_t at = 0; s.size - at > BUILD_ID_NAME;) {
        const unsigned char *entry = f->bytes + s.offset + at;
        uint16_t size;
        memcpy(&size, entry + 6, sizeof size);
        if (size <= BUILD_ID_NAME || size > s.size - at) return;
        const char *path = (const char *)entry + BUILD_ID_NAME;
        if (path[0] == '/' && memchr(path, 0, size - BUILD_ID_NAME))
            sampled_expect(f->to, path, entry + 12, build_id_size(entry));
        at += size;
    }
}

// ---------------------------------------------------------------- records

static int compare(const void *a, const void *b) {
    const pending *x = a, *y = b;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static void end_round(file *f, bool last) {
    uint64_t newest = f->newest;
    size_t done = 0;
    if (f->count) qsort(f->waiting, f->count, sizeof *f->waiting, compare);
    if (f->count) f->newest = f->waiting[f->count - 1].time;
    while (done < f->count && (last || f->waiting[done].time <= newest)) {
        const pending *p = &f->waiting[done++];
        sampled_record(f->to, &f->shape, f->bytes + p->at, p->size);
    }
    if (f->count > done)
        memmove(f->waiting, f->waiting + done, (f->count - done) * sizeof *f->waiting);
    f->count -= done;
}

static bool add_record(file *f, size_t at, size_t size) {
    record r;
    if (f->count == f->room) {
        size_t room = f->room ? f->room * 2 : 4096;
        pending *grown = realloc(f->waiting, room * sizeof *grown);
        if (!grown) return false;
        f->waiting = grown;
        f->room = room;
    }
    if (!record_parse(&f->shape, f->bytes + at, size, &r)) r.time = 0;
    f->waiting[f->count++] = (pending){r.time, at, size};
    return true;
}

static const char *read_records(file *f) {
    size_t at = (size_t)f->data.offset, end = at + (size_t)f->data.size;
    while (at < end) {
        size_t size = record_size(f->bytes + at, end - at);
        uint32_t type;
        if (!size) break; // perf was killed in the middle of one
        memcpy(&type, f->bytes + at, sizeof type);
        if (type == RECORD_ROUND) {
            end_round(f, false);
        } else if (type < PERF_RECORD_MAX && !add_record(f, at, size)) {
            return "there is not enough memory";
        }
        at += size;
    }
    end_round(f, true);
    return NULL;
}

sampled *perfdata_read(const unsigned char *bytes, size_t size, const sampled_options *options,
                       const char **problem) {
    file f = {.bytes = bytes, .size = size};
    *problem = read_header(&f);
    if (!*problem) *problem = read_attributes(&f);
    if (*problem) return NULL;
    sampled_options o = *options;
    o.event = event_name(&f.event);
    o.check_kernel = true;
    f.to = sampled_new(&o);
    if (!f.to) {
        *problem = "there is not enough memory";
        return NULL;
    }
    read_build_ids(&f);
    *problem = read_records(&f);
    free(f.waiting);
    if (!*problem) return f.to;
    sampled_free(f.to);
    return NULL;
}
