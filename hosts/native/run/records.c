// SPDX-License-Identifier: MIT
//
// Takes records of perf events apart. The layout of a sample follows the bits of sample_type, in a
// fixed order (linux/perf_event.h). A file may say anything: every length is compared with what is
// left of the record before it is used.

#include "records.h"

#include <linux/perf_event.h>

typedef struct {
    const unsigned char *at, *end;
    bool failed;
} cursor;

static const unsigned char *take(cursor *c, uint64_t bytes) {
    if (bytes > (uint64_t)(c->end - c->at)) {
        c->failed = true;
        return NULL;
    }
    const unsigned char *taken = c->at;
    c->at += bytes;
    return taken;
}

static uint64_t take_word(cursor *c) {
    const unsigned char *word = take(c, 8);
    return word ? record_word(word, 0) : 0;
}

static uint32_t take_half(cursor *c) {
    uint32_t half = 0;
    const unsigned char *bytes = take(c, 4);
    if (bytes) memcpy(&half, bytes, sizeof half);
    return half;
}

// `count` things of `size` bytes each.
static const unsigned char *take_many(cursor *c, uint64_t count, uint64_t size) {
    uint64_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) c->failed = true;
    return c->failed ? NULL : take(c, bytes);
}

// ---------------------------------------------------------------- samples

static void skip_read(cursor *c, uint64_t format) {
    uint64_t count = 1, each = 1u + !!(format & PERF_FORMAT_ID) + !!(format & PERF_FORMAT_LOST);
    uint64_t times = 0;
    times += (format & PERF_FORMAT_TOTAL_TIME_ENABLED) != 0;
    times += (format & PERF_FORMAT_TOTAL_TIME_RUNNING) != 0;
    if (format & PERF_FORMAT_GROUP) count = take_word(c);
    take(c, times * 8);
    take_many(c, count, each * 8);
}

static void take_chain(cursor *c, record *r) {
    uint64_t count = take_word(c);
    r->chain = take_many(c, count, 8);
    r->chain_count = r->chain ? (size_t)count : 0;
}

static void skip_branches(cursor *c, uint64_t type) {
    enum { BRANCH_ENTRY = 24 };
    uint64_t count = take_word(c);
    if (type & PERF_SAMPLE_BRANCH_HW_INDEX) take(c, 8);
    take_many(c, count, BRANCH_ENTRY);
}

static void take_registers(cursor *c, uint64_t mask, record *r) {
    uint64_t abi = take_word(c);
    if (abi == PERF_SAMPLE_REGS_ABI_NONE) return;
    const unsigned char *words = take_many(c, (uint64_t)__builtin_popcountll(mask), 8);
    if (abi == PERF_SAMPLE_REGS_ABI_64) r->registers = words;
}

static void take_stack(cursor *c, record *r) {
    uint64_t room = take_word(c);
    const unsigned char *bytes = take(c, room);
    if (!room) return;
    uint64_t used = take_word(c);
    if (c->failed || used > room) {
        c->failed = true;
        return;
    }
    r->stack = bytes;
    r->stack_size = (size_t)used;
    r->stack_is_cut = used == room;
}

static void parse_sample(const record_shape *shape, cursor *c, record *r) {
    uint64_t type = shape->sample_type;
    if (type & PERF_SAMPLE_IDENTIFIER) r->id = take_word(c);
    if (type & PERF_SAMPLE_IP) r->ip = take_word(c);
    if (type & PERF_SAMPLE_TID) {
        r->pid = take_half(c);
        r->tid = take_half(c);
    }
    if (type & PERF_SAMPLE_TIME) r->time = take_word(c);
    if (type & PERF_SAMPLE_ADDR) take(c, 8);
    if (type & PERF_SAMPLE_ID) r->id = take_word(c);
    if (type & PERF_SAMPLE_STREAM_ID) take(c, 8);
    if (type & PERF_SAMPLE_CPU) take(c, 8);
    r->period = type & PERF_SAMPLE_PERIOD ? take_word(c) : 1;
    if (type & PERF_SAMPLE_READ) skip_read(c, shape->read_format);
    if (type & PERF_SAMPLE_CALLCHAIN) take_chain(c, r);
    if (type & PERF_SAMPLE_RAW) take(c, take_half(c));
    if (type & PERF_SAMPLE_BRANCH_STACK) skip_branches(c, shape->branch_type);
    if (type & PERF_SAMPLE_REGS_USER) take_registers(c, shape->user_registers, r);
    if (type & PERF_SAMPLE_STACK_USER) take_stack(c, r);
}

// ---------------------------------------------------------------- other records

// What stands at the end of a record that is no sample, in this order.
static void parse_ids(const record_shape *shape, cursor *c, record *r) {
    static const uint64_t bits[] = {PERF_SAMPLE_TID, PERF_SAMPLE_TIME,
                                    PERF_SAMPLE_ID,  PERF_SAMPLE_STREAM_ID,
                                    PERF_SAMPLE_CPU, PERF_SAMPLE_IDENTIFIER};
    size_t bytes = 0;
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++)
        bytes += shape->sample_type & bits[i] ? 8 : 0;
    if (!shape->has_ids) return;
    if (bytes > (size_t)(c->end - c->at)) {
        c->failed = true;
        return;
    }
    c->end -= bytes;
    cursor ids = {c->end, c->end + bytes, false};
    if (shape->sample_type & PERF_SAMPLE_TID) {
        r->pid = take_half(&ids);
        r->tid = take_half(&ids);
    }
    if (shape->sample_type & PERF_SAMPLE_TIME) r->time = take_word(&ids);
}

static void take_name(cursor *c, record *r) {
    const unsigned char *end = memchr(c->at, 0, (size_t)(c->end - c->at));
    if (!end) c->failed = true;
    if (end) r->name = (const char *)c->at;
}

static void parse_map(cursor *c, record *r, bool second) {
    enum { INODE_AND_RIGHTS = 32, EXECUTABLE = 4 };
    r->kind = RECORD_MAP;
    r->pid = take_half(c);
    r->tid = take_half(c);
    r->start = take_word(c);
    r->length = take_word(c);
    r->offset = take_word(c);
    if (second) {
        const unsigned char *more = take(c, INODE_AND_RIGHTS);
        uint32_t rights = 0;
        if (more) memcpy(&rights, more + 24, sizeof rights);
        if (more && !(rights & EXECUTABLE)) r->kind = RECORD_OTHER;
    }
    take_name(c, r);
    if (r->length > UINT64_MAX - r->start) c->failed = true;
}

static void parse_task(cursor *c, record *r, record_kind kind) {
    r->kind = kind;
    r->pid = take_half(c);
    r->parent_pid = take_half(c);
    r->tid = take_half(c);
    r->parent_tid = take_half(c);
}

static void parse_other(uint32_t type, uint16_t misc, cursor *c, record *r) {
    switch (type) {
    case PERF_RECORD_MMAP:
        parse_map(c, r, false);
        if (misc & PERF_RECORD_MISC_MMAP_DATA) r->kind = RECORD_OTHER;
        break;
    case PERF_RECORD_MMAP2:
        parse_map(c, r, true);
        break;
    case PERF_RECORD_COMM:
        r->kind = RECORD_NAME;
        r->pid = take_half(c);
        r->tid = take_half(c);
        r->fresh = misc & PERF_RECORD_MISC_COMM_EXEC;
        take_name(c, r);
        break;
    case PERF_RECORD_FORK:
        parse_task(c, r, RECORD_FORK);
        break;
    case PERF_RECORD_EXIT:
        parse_task(c, r, RECORD_EXIT);
        break;
    case PERF_RECORD_SWITCH:
        r->kind = RECORD_SWITCH;
        r->out = misc & PERF_RECORD_MISC_SWITCH_OUT;
        break;
    case PERF_RECORD_LOST:
        r->kind = RECORD_LOST;
        take(c, 8);
        r->lost = take_word(c);
        break;
    case PERF_RECORD_LOST_SAMPLES:
        r->kind = RECORD_LOST;
        r->lost = take_word(c);
        break;
    default:
        break;
    }
}

size_t record_size(const unsigned char *bytes, size_t room) {
    struct perf_event_header head;
    if (room < sizeof head) return 0;
    memcpy(&head, bytes, sizeof head);
    return head.size >= sizeof head && head.size <= room ? head.size : 0;
}

bool record_parse(const record_shape *shape, const unsigned char *bytes, size_t size, record *r) {
    struct perf_event_header head;
    *r = (record){.kind = RECORD_OTHER};
    if (size < sizeof head) return false;
    memcpy(&head, bytes, sizeof head);
    cursor c = {bytes + sizeof head, bytes + size, false};
    uint16_t mode = head.misc & PERF_RECORD_MISC_CPUMODE_MASK;
    r->in_kernel = mode == PERF_RECORD_MISC_KERNEL;
    if (head.type == PERF_RECORD_SAMPLE) {
        r->kind = RECORD_SAMPLE;
        parse_sample(shape, &c, r);
    } else if (head.type < PERF_RECORD_MAX) {
        parse_ids(shape, &c, r);
        if (!c.failed) parse_other(head.type, head.misc, &c, r);
    }
    return !c.failed;
}
