// SPDX-License-Identifier: MIT
//
// What is kept of a lane's slices, but the trees, as a message of a pprof profile: the field
// PROFILE_SLICES, which other readers skip. docs/pprof-mapping.md says what is in it. Numbers are
// varints, lists are packed.

#include "slices_message.h"
#include "pprof_fields.h"

#include <stdlib.h>
#include <string.h>

static void put_byte(ouro__message *m, unsigned char byte) {
    if (m->used == m->room) {
        size_t room = m->room ? 2 * m->room : 1024;
        unsigned char *bytes = m->failed ? NULL : realloc(m->bytes, room);
        if (!bytes) {
            m->failed = true;
            return;
        }
        m->bytes = bytes;
        m->room = room;
    }
    m->bytes[m->used++] = byte;
}

static void put(ouro__message *m, uint64_t value) {
    for (; value > 127; value >>= 7) put_byte(m, (unsigned char)(value | 128));
    put_byte(m, (unsigned char)value);
}

static void put_number(ouro__message *m, unsigned field, uint64_t value) {
    if (!value) return;
    put(m, field << 3);
    put(m, value);
}

static void put_bytes(ouro__message *m, unsigned field, const ouro__message *bytes) {
    put(m, field << 3 | 2);
    put(m, bytes->used);
    for (size_t i = 0; i < bytes->used; i++) put_byte(m, bytes->bytes[i]);
    m->failed |= bytes->failed;
}

static void put_list(ouro__message *m, unsigned field, const uint64_t *values, size_t n) {
    ouro__message list = {0};
    for (size_t i = 0; i < n; i++) put(&list, values[i]);
    put_bytes(m, field, &list);
    free(list.bytes);
}

// Calls, recursions, direct, then the metrics: as people count them.
static void put_values(ouro__message *m, const uint64_t *values, uint32_t metric_count) {
    put(m, ouro__row_calls(values));
    put(m, ouro__row_recursions(values));
    put(m, ouro__row_direct(values));
    for (uint32_t i = 0; i < metric_count; i++) put(m, values[ENTRY_KINDS + i]);
}

static void put_totals(ouro__message *m, unsigned field, const uint64_t *values,
                       uint32_t metric_count) {
    ouro__message list = {0};
    put_values(&list, values, metric_count);
    put_bytes(m, field, &list);
    free(list.bytes);
}

static void put_open(ouro__message *m, const ouro__lane_slices *l, uint32_t metric_count) {
    ouro__message list = {0};
    put(&list, l->open_start);
    put(&list, l->open_duration);
    put_values(&list, l->open, metric_count);
    put_bytes(m, SLICES_OPEN, &list);
    free(list.bytes);
}

// A start is told by the time since the end of the slice before.
static void put_table(ouro__message *m, const ouro__lane_slices *l, uint32_t metric_count) {
    ouro__message list = {0};
    uint64_t end = 0;
    for (uint64_t i = 0; i < l->row_count; i++) {
        const uint64_t *row = l->table + i * (2 + ouro__row_width(metric_count));
        put(&list, row[0] - end);
        put(&list, row[1]);
        put_values(&list, row + 2, metric_count);
        end = row[0] + row[1];
    }
    put_bytes(m, SLICES_TABLE_ROWS, &list);
    free(list.bytes);
}

// Pairs of a number, as the difference to the one before, and a count.
static void put_count(ouro__message *list, uint32_t i, uint64_t count, uint32_t *before) {
    if (!count) return;
    put(list, i - *before);
    put(list, count);
    *before = i;
}

static void put_histogram(ouro__message *m, unsigned field, const uint64_t *counts) {
    ouro__message list = {0};
    uint32_t before = 0;
    for (uint32_t i = 0; i < OURO_SLICE_BUCKETS; i++) put_count(&list, i, counts[i], &before);
    put_bytes(m, field, &list);
    free(list.bytes);
}

static void put_heat(ouro__message *m, const uint32_t *counts) {
    const uint32_t n = OURO_SLICE_HEAT_COLUMNS * OURO_SLICE_HEAT_ROWS;
    ouro__message list = {0};
    uint32_t before = 0;
    for (uint32_t i = 0; i < n; i++) put_count(&list, i, counts[i], &before);
    put_bytes(m, SLICES_HEAT, &list);
    free(list.bytes);
}

static void put_tree(ouro__message *m, const ouro__slice_tree *tree, uint32_t metric_count) {
    ouro__message one = {0};
    put_list(&one, KEPT_SLICE, (uint64_t[]){tree->number, tree->start, tree->duration, tree->why},
             4);
    put_totals(&one, KEPT_TOTALS, tree->totals, metric_count);
    put_totals(&one, KEPT_REST, tree->rest, metric_count);
    put_bytes(m, SLICES_KEPT, &one);
    free(one.bytes);
}

bool ouro__slices_message(const ouro__lane_slices *l, uint32_t metric_count, ouro__message *m) {
    *m = (ouro__message){0};
    ouro__message name = {(unsigned char *)(uintptr_t)l->name, strlen(l->name), 0, false};
    put_number(m, SLICES_LANE, l->lane);
    put_bytes(m, SLICES_NAME, &name);
    put_number(m, SLICES_BY, l->by);
    put_number(m, SLICES_COUNT, l->count);
    put_number(m, SLICES_SLOWEST, l->slowest);
    put_totals(m, SLICES_OUTSIDE, l->outside, metric_count);
    if (l->is_open) put_open(m, l, metric_count);
    put_table(m, l, metric_count);
    put_histogram(m, SLICES_DURATIONS, l->histograms);
    if (l->by) put_histogram(m, SLICES_VALUES_OF, l->histograms + OURO_SLICE_BUCKETS);
    put_heat(m, l->heat);
    put_number(m, SLICES_HEAT_START, l->heat_start);
    put_number(m, SLICES_HEAT_STEP, l->heat_step);
    for (uint32_t i = 0; i < l->tree_count; i++) put_tree(m, &l->trees[i], metric_count);
    if (!m->failed) return true;
    free(m->bytes);
    *m = (ouro__message){0};
    return false;
}
