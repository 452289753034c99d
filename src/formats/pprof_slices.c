// SPDX-License-Identifier: MIT
//
// Reads the field PROFILE_SLICES of a pprof profile, which is ours: docs/pprof-mapping.md has its
// messages. Memory follows the bytes that are there.

#include "pprof_slices.h"

#include <stdlib.h>
#include <string.h>

enum { KEPT_NUMBER, KEPT_START, KEPT_DURATION, KEPT_WHY, KEPT_NUMBERS };

static bool damaged(const wire *in, const char *what) {
    return ouro__fail_at_byte(in->error, ouro__wire_offset(in), "damaged: %s", what);
}

// Exactly n numbers.
static bool take_list(wire in, uint64_t *values, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (in.at == in.end) return damaged(&in, "too few numbers of a slice");
        if (!ouro__wire_varint(&in, &values[i])) return false;
    }
    return in.at == in.end || damaged(&in, "too many numbers of a slice");
}

// Each number takes a byte at least.
static size_t numbers_in(const wire *in) {
    size_t n = 0;
    for (const unsigned char *at = in->at; at < in->end; at++) n += *at < 128;
    return n;
}

static bool take_table(lane_slices *l, uint32_t width, wire in) {
    size_t n = numbers_in(&in), row = 2 + (size_t)width;
    if (n % row || l->table) return damaged(&in, "half a slice in the table");
    l->table = malloc((n + 1) * sizeof *l->table);
    if (!l->table) return ouro__fail_memory(in.error);
    if (!take_list(in, l->table, n)) return false;
    l->row_count = n / row;
    uint64_t end = 0;
    for (uint64_t i = 0; i < l->row_count; i++) {
        uint64_t *r = l->table + i * row;
        r[0] += end; // a difference, in the file
        end = r[0] + r[1];
    }
    return true;
}

// Pairs: the difference to the last index, a count.
static bool take_counts(wire in, uint32_t most, uint64_t *counts64, uint32_t *counts32) {
    uint64_t at = 0, step, count;
    while (in.at < in.end) {
        if (!ouro__wire_varint(&in, &step) || !ouro__wire_varint(&in, &count)) return false;
        if (step >= most || at + step >= most) return damaged(&in, "no such bucket");
        at += step;
        if (counts64) counts64[at] = count;
        if (counts32) counts32[at] = (uint32_t)count;
    }
    return true;
}

static bool take_kept(lane_slices *l, uint32_t width, wire in) {
    if (l->kept_count == l->kept_room) {
        uint32_t room = l->kept_room ? 2 * l->kept_room : 32;
        kept_slice *kept = realloc(l->kept, room * sizeof *kept);
        if (!kept) return ouro__fail_memory(in.error);
        l->kept = kept;
        l->kept_room = room;
    }
    kept_slice *k = &l->kept[l->kept_count++];
    *k = (kept_slice){.totals = calloc(width, sizeof *k->totals),
                      .rest = calloc(width, sizeof *k->rest)};
    if (!k->totals || !k->rest) return ouro__fail_memory(in.error);
    for (wire_field field; ouro__wire_next(&in, &field);) {
        uint64_t numbers[KEPT_NUMBERS];
        if (field.type != WIRE_BYTES) continue;
        wire list = ouro__wire_in(&in, &field);
        if (field.number == KEPT_TOTALS && !take_list(list, k->totals, width)) return false;
        if (field.number == KEPT_REST && !take_list(list, k->rest, width)) return false;
        if (field.number != KEPT_SLICE) continue;
        if (!take_list(list, numbers, KEPT_NUMBERS)) return false;
        k->number = numbers[KEPT_NUMBER];
        k->start = numbers[KEPT_START];
        k->duration = numbers[KEPT_DURATION];
        k->why = (unsigned)numbers[KEPT_WHY];
    }
    return !in.failed;
}

static bool take_open(lane_slices *l, uint32_t width, wire in) {
    uint64_t *all = malloc((2 + (size_t)width) * sizeof *all);
    bool ok = all ? take_list(in, all, 2 + (size_t)width) : ouro__fail_memory(in.error);
    if (ok) {
        l->is_open = true;
        l->open_start = all[0];
        l->open_duration = all[1];
        memcpy(l->open, all + 2, width * sizeof *all);
    }
    free(all);
    return ok;
}

static bool take_name(lane_slices *l, const wire *in, const wire_field *field) {
    free(l->name);
    l->name = strndup((const char *)field->bytes, field->size);
    return l->name || ouro__fail_memory(in->error);
}

static bool take_bytes(lane_slices *l, uint32_t width, const wire *outer, const wire_field *field) {
    wire in = ouro__wire_in(outer, field);
    switch (field->number) {
    case SLICES_NAME:
        return take_name(l, outer, field);
    case SLICES_OUTSIDE:
        return take_list(in, l->outside, width);
    case SLICES_OPEN:
        return take_open(l, width, in);
    case SLICES_TABLE_ROWS:
        return take_table(l, width, in);
    case SLICES_DURATIONS:
        return take_counts(in, SLICE_BUCKETS, l->durations, NULL);
    case SLICES_VALUES_OF:
        if (!l->values) l->values = calloc(SLICE_BUCKETS, sizeof *l->values);
        if (!l->values) return ouro__fail_memory(in.error);
        return take_counts(in, SLICE_BUCKETS, l->values, NULL);
    case SLICES_HEAT:
        return take_counts(in, SLICE_HEAT_COLUMNS * SLICE_HEAT_ROWS, NULL, l->heat);
    case SLICES_KEPT:
        return take_kept(l, width, in);
    default:
        return true;
    }
}

static void take_number(lane_slices *l, const wire_field *field) {
    if (field->number == SLICES_LANE) l->lane = (uint32_t)field->value;
    if (field->number == SLICES_BY) l->by = field->value;
    if (field->number == SLICES_COUNT) l->count = field->value;
    if (field->number == SLICES_SLOWEST) l->slowest = field->value;
    if (field->number == SLICES_HEAT_START) l->heat_start = field->value;
    if (field->number == SLICES_HEAT_STEP) l->heat_step = field->value;
}

uint32_t ouro__pprof_slices_metrics(wire in) {
    error ignored = {0};
    in.error = &ignored;
    for (wire_field field; ouro__wire_next(&in, &field);) {
        if (field.number != SLICES_OUTSIDE || field.type != WIRE_BYTES) continue;
        wire list = ouro__wire_in(&in, &field);
        size_t n = numbers_in(&list);
        return n > 3 && n <= METRICS_MAX ? (uint32_t)n - 3 : 0;
    }
    return 0;
}

bool ouro__pprof_slices_read(profile *p, uint32_t metric_count, uint32_t own, wire in) {
    if (!p->slices) p->slices = ouro__slices_new(metric_count, own);
    lane_slices *l = p->slices ? ouro__slices_add_lane(p->slices) : NULL;
    if (!l) return ouro__fail_memory(in.error);
    l->message_size = (size_t)(in.end - in.at);
    l->message = malloc(l->message_size + 1);
    if (!l->message) return ouro__fail_memory(in.error);
    if (l->message_size) memcpy(l->message, in.at, l->message_size);
    for (wire_field field; ouro__wire_next(&in, &field);) {
        if (field.type == WIRE_VARINT) take_number(l, &field);
        if (field.type == WIRE_BYTES && !take_bytes(l, p->slices->width, &in, &field)) return false;
    }
    if (in.failed) return false;
    if (!l->name) l->name = strdup("slice");
    if (!l->name) return ouro__fail_memory(in.error);
    if (l->by > metric_count || l->row_count > l->count)
        return damaged(&in, "slices by a metric that is not there, or too many of them");
    return true;
}
