// SPDX-License-Identifier: MIT
//
// The slices of a sum: those of its parts, side by side. A lane is an OS thread of one recording,
// so lanes of another recording get other numbers, here and in the label `slice` of their samples
// (tags_carry.c). All lanes must have the same metrics in the same columns, because their values
// stand in one list.

#include "sliced.h"

#include <stdlib.h>
#include <string.h>

static void *copy(const void *from, size_t bytes) {
    void *to = from ? malloc(bytes + 1) : NULL;
    if (to && bytes) memcpy(to, from, bytes);
    return to;
}

static bool copy_kept(const lane_slices *from, uint32_t width, lane_slices *to) {
    to->kept = calloc((size_t)from->kept_count + 1, sizeof *to->kept);
    if (!to->kept) return false;
    to->kept_room = from->kept_count + 1;
    for (uint32_t i = 0; i < from->kept_count; i++) {
        kept_slice *k = &to->kept[to->kept_count++];
        *k = from->kept[i];
        k->totals = copy(from->kept[i].totals, width * sizeof *k->totals);
        k->rest = copy(from->kept[i].rest, width * sizeof *k->rest);
        if (!k->totals || !k->rest) return false;
    }
    return true;
}

static bool copy_lane(const lane_slices *from, uint32_t width, lane_slices *to) {
    size_t row = (2 + (size_t)width) * sizeof *from->table;
    size_t heat = SLICE_HEAT_COLUMNS * SLICE_HEAT_ROWS * sizeof *from->heat;
    to->by = from->by;
    to->count = from->count;
    to->slowest = from->slowest;
    to->is_open = from->is_open;
    to->open_start = from->open_start;
    to->open_duration = from->open_duration;
    to->heat_start = from->heat_start;
    to->heat_step = from->heat_step;
    memcpy(to->outside, from->outside, width * sizeof *to->outside);
    memcpy(to->open, from->open, width * sizeof *to->open);
    memcpy(to->durations, from->durations, SLICE_BUCKETS * sizeof *to->durations);
    memcpy(to->heat, from->heat, heat);
    to->name = copy(from->name, strlen(from->name) + 1);
    to->message = copy(from->message, from->message_size);
    to->message_size = from->message_size;
    to->table = copy(from->table, from->row_count * row);
    to->row_count = to->table ? from->row_count : 0;
    to->values = copy(from->values, SLICE_BUCKETS * sizeof *to->values);
    return to->name && to->message && (to->table || !from->table) &&
           (to->values || !from->values) && copy_kept(from, width, to);
}

// The program's own metrics of a part are side by side in the sum, too, behind calls and
// recursions, and are those of the slices that are there.
static bool fit(const profile *sum, const profile *p, const uint32_t *column) {
    const slices *s = p->slices;
    if (s->width == 3) return !sum->slices || sum->slices->width == 3;
    uint32_t own = column[s->own];
    if (column[0] != 0 || column[1] != 1 || own < 2 || own > 3) return false;
    for (uint32_t m = 0; m < s->width - 3; m++) {
        if (column[s->own + m] != own + m) return false;
    }
    return !sum->slices || (sum->slices->own == own && sum->slices->width == s->width);
}

static uint32_t own_of(const slices *s, const uint32_t *column) {
    return s->width == 3 ? s->own : column[s->own];
}

uint32_t ouro__slices_next_lane(const profile *p) {
    uint32_t next = 0;
    for (uint32_t i = 0; p->slices && i < p->slices->count; i++) {
        if (p->slices->lanes[i].lane >= next) next = p->slices->lanes[i].lane + 1;
    }
    return next;
}

bool ouro__slices_merge(profile *sum, const profile *p, const uint32_t *column, uint32_t first,
                        bool *lost) {
    const slices *s = p->slices;
    if (!s) return true;
    *lost = !fit(sum, p, column);
    if (*lost) return true;
    if (!sum->slices) sum->slices = ouro__slices_new(s->width - 3, own_of(s, column));
    for (uint32_t i = 0; sum->slices && i < s->count; i++) {
        lane_slices *to = ouro__slices_add_lane(sum->slices);
        if (!to || !copy_lane(&s->lanes[i], s->width, to)) return false;
        to->lane = first + s->lanes[i].lane;
    }
    return sum->slices != NULL;
}
