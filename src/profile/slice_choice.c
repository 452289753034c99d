// SPDX-License-Identifier: MIT
//
// Which slices a choice means, and by which labels their samples are found.
//
// While the table has all slices, they are counted one by one. Beyond it, the slowest and the
// typical ones are counted by the histogram, whose buckets percentiles end at, and regions by the
// heat map: a cell counts if it begins in the region, so their number is about right.

#include "slice_choice.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------- reading a choice

#define SECOND UINT64_C(1000000000)

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Digits as far as they go. false: none, or too many.
static bool take_digits(const char **at, uint64_t *value) {
    const char *start = *at;
    for (*value = 0; is_digit(**at); ++*at) {
        if (__builtin_mul_overflow(*value, 10, value) ||
            __builtin_add_overflow(*value, (uint64_t)(**at - '0'), value))
            return false;
    }
    return *at > start;
}

// Seconds with up to nine decimals, as nanoseconds; `otherwise` if there are none.
static bool take_seconds(const char **at, uint64_t otherwise, uint64_t *to) {
    uint64_t fraction = 0, unit = SECOND;
    *to = otherwise;
    if (!is_digit(**at)) return true;
    if (!take_digits(at, to) || __builtin_mul_overflow(*to, SECOND, to)) return false;
    if (**at != '.') return true;
    for (++*at; is_digit(**at); ++*at) {
        if (unit == 1) return false;
        unit /= 10;
        fraction += (uint64_t)(**at - '0') * unit;
    }
    return !__builtin_add_overflow(*to, fraction, to);
}

static bool take_range(const char **at, uint64_t *from, uint64_t *until) {
    return take_seconds(at, 0, from) && *(*at)++ == '-' && take_seconds(at, UINT64_MAX, until) &&
           *from < *until;
}

static bool parse_region(const char *at, slice_choice *c) {
    *c = (slice_choice){.kind = CHOICE_REGION, .until = UINT64_MAX, .most = UINT64_MAX};
    if (*at != ',' && !take_range(&at, &c->from, &c->until)) return false;
    return (*at != ',' || (at++, take_range(&at, &c->least, &c->most))) && !*at;
}

static bool parse_one(const char *at, slice_choice *c) {
    uint64_t lane = 0;
    *c = (slice_choice){.kind = CHOICE_ONE};
    if (!take_digits(&at, &c->number)) return false;
    if (*at == '/' && (at++, !take_digits(&at, &lane) || lane > UINT32_MAX)) return false;
    c->lane = (uint32_t)lane;
    return !*at;
}

bool ouro__slice_choice_parse(const char *text, slice_choice *c, error *e) {
    static const char *const names[] = {"slowest", "typical", "last"};
    for (int i = 0; i < 3; i++) {
        *c = (slice_choice){.kind = CHOICE_SLOWEST + (unsigned)i};
        if (strcmp(text, names[i]) == 0) return true;
    }
    if (*text && (parse_one(text, c) || parse_region(text, c))) return true;
    return ouro__fail(e, EINVAL,
                      "slices are slowest, typical, last, a number, or FROM-UNTIL,LEAST-MOST in "
                      "seconds");
}

// ---------------------------------------------------------------- what it means

typedef struct {
    const slice_choice *choice;
    uint64_t from, until, least, most; // starts and durations
    uint64_t light, heavy;             // light <= weight < heavy
    bool evenly;                       // only trees that were chosen evenly
} bounds;

static uint64_t next_bucket(uint64_t value) {
    uint32_t low = 0, high = SLICE_BUCKETS;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (ouro__bucket_least(middle) <= value)
            low = middle;
        else
            high = middle;
    }
    return high == SLICE_BUCKETS ? UINT64_MAX : ouro__bucket_least(high);
}

// The first value above one that percentiles gave.
static uint64_t above(const slice_times *t, uint64_t value) {
    return t->exact ? value + (value < UINT64_MAX) : next_bucket(value);
}

// When the last slice ended. The last ones are always kept.
static uint64_t end_of(const slices *s) {
    uint64_t end = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        const lane_slices *l = &s->lanes[i];
        const uint64_t *row = l->row_count ? l->table + (l->row_count - 1) * (2 + s->width) : NULL;
        if (row && row[0] + row[1] > end) end = row[0] + row[1];
        for (uint32_t k = 0; k < l->kept_count; k++) {
            if (l->kept[k].start + l->kept[k].duration > end)
                end = l->kept[k].start + l->kept[k].duration;
        }
    }
    return end;
}

static bool by_duration(const slices *s) {
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->lanes[i].by) return false;
    }
    return true;
}

static bounds bounds_of(const slices *s, const slice_choice *c, const slice_times *t) {
    bounds b = {.choice = c, .until = UINT64_MAX, .most = UINT64_MAX, .heavy = UINT64_MAX};
    if (c->kind == CHOICE_SLOWEST) {
        b.light = above(t, t->p99);
        if (b.light > t->slowest) b.light = t->p99; // all of the slowest are the same
    }
    if (c->kind == CHOICE_TYPICAL) {
        b.heavy = above(t, t->p90);
        b.evenly = true;
    }
    if (c->kind == CHOICE_LAST) {
        uint64_t end = end_of(s);
        b.from = end > LAST_NANOSECONDS ? end - LAST_NANOSECONDS : 0;
    }
    if (c->kind == CHOICE_REGION) {
        b.from = c->from;
        b.until = c->until;
        b.least = c->least;
        b.most = c->most;
    }
    return b;
}

static bool is_within(const bounds *b, const lane_slices *l, uint64_t number, uint64_t start,
                      uint64_t duration, const uint64_t *values) {
    uint64_t weight = ouro__slice_weight(l, duration, values);
    if (b->choice->kind == CHOICE_ONE)
        return l->lane == b->choice->lane && number == b->choice->number;
    return start >= b->from && start < b->until && duration >= b->least && duration < b->most &&
           weight >= b->light && weight < b->heavy;
}

// ---------------------------------------------------------------- how many

static uint64_t count_rows(const slices *s, const bounds *b) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        const lane_slices *l = &s->lanes[i];
        for (uint64_t r = 0; r < l->row_count; r++) {
            const uint64_t *row = l->table + r * (2 + s->width);
            count += is_within(b, l, r + 1, row[0], row[1], row + 2);
        }
    }
    return count;
}

static uint64_t count_buckets(const slices *s, const bounds *b) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        const lane_slices *l = &s->lanes[i];
        const uint64_t *histogram = l->by && l->values ? l->values : l->durations;
        for (uint32_t k = 0; k < SLICE_BUCKETS; k++) {
            uint64_t least = ouro__bucket_least(k);
            if (least >= b->light && least < b->heavy) count += histogram[k];
        }
    }
    return count;
}

static uint64_t heat_least(uint32_t row) {
    return row == 0 ? 0 : (UINT64_C(4) + row % 4) << (row / 4 + 6);
}

static uint64_t count_cells(const slices *s, const bounds *b) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        const lane_slices *l = &s->lanes[i];
        for (uint32_t c = 0; c < SLICE_HEAT_COLUMNS * SLICE_HEAT_ROWS; c++) {
            uint64_t start = l->heat_start + c / SLICE_HEAT_ROWS * l->heat_step,
                     duration = heat_least(c % SLICE_HEAT_ROWS);
            if (start >= b->from && start < b->until && duration >= b->least && duration < b->most)
                count += l->heat[c];
        }
    }
    return count;
}

static uint64_t count_one(const slices *s, const slice_choice *c) {
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->lanes[i].lane == c->lane) return c->number >= 1 && c->number <= s->lanes[i].count;
    }
    return 0;
}

static void count_chosen(const slices *s, const bounds *b, const slice_times *t,
                         chosen_slices *to) {
    int kind = b->choice->kind;
    to->exact = t->exact || kind == CHOICE_ONE || kind == CHOICE_SLOWEST || kind == CHOICE_TYPICAL;
    if (kind == CHOICE_ONE)
        to->count = count_one(s, b->choice);
    else if (t->exact)
        to->count = count_rows(s, b);
    else if (to->exact)
        to->count = count_buckets(s, b);
    else
        to->count = count_cells(s, b);
}

// ---------------------------------------------------------------- labels

static uint32_t slice_key(const profile *p) {
    uint32_t text = p->tags ? ouro__texts_find(&p->texts, "slice", 5) : NO_ROW;
    uint32_t key = text == NO_ROW ? NO_ROW : ouro__tags_key(p->tags, text);
    return key == NO_ROW ? UNKNOWN_KEY : key;
}

// The condition for a slice. No sample may have its label: then nothing was charged in it.
static label_condition condition_of(const profile *p, uint32_t key, const lane_slices *l,
                                    uint64_t number) {
    char text[48];
    int length = snprintf(text, sizeof text, l->lane ? "%llu/%u" : "%llu",
                          (unsigned long long)number, l->lane);
    uint32_t value = ouro__texts_find(&p->texts, text, (size_t)length);
    uint32_t tag =
        key == UNKNOWN_KEY || value == NO_ROW ? NO_ROW : ouro__tags_find(p->tags, key, value);
    return (label_condition){key, tag == NO_ROW ? NO_SUCH_TAG : tag, 0};
}

static void take_kept(const profile *p, const bounds *b, uint32_t key, const lane_slices *l,
                      chosen_slices *to) {
    for (uint32_t i = 0; i < l->kept_count; i++) {
        const kept_slice *k = &l->kept[i];
        if (!is_within(b, l, k->number, k->start, k->duration, k->totals)) continue;
        if (b->evenly && !(k->why & SLICE_EVENLY)) continue;
        to->labels[to->label_count++] = condition_of(p, key, l, k->number);
        to->kept++;
        for (uint32_t v = 0; v < p->slices->width; v++) to->rest[v] += k->rest[v];
    }
}

void ouro__chosen_free(chosen_slices *c) {
    free(c->rest);
    free(c->labels);
    *c = (chosen_slices){0};
}

bool ouro__choose_slices(const profile *p, const slice_choice *c, chosen_slices *to) {
    const slices *s = p->slices;
    slice_times t;
    size_t room = 1;
    *to = (chosen_slices){0};
    if (!ouro__slice_times(s, &t)) return false;
    for (uint32_t i = 0; i < s->count; i++) room += s->lanes[i].kept_count;
    to->labels = malloc(room * sizeof *to->labels);
    to->rest = calloc(s->width, sizeof *to->rest);
    if (!to->labels || !to->rest) {
        ouro__chosen_free(to);
        return false;
    }
    bounds b = bounds_of(s, c, &t);
    uint32_t key = slice_key(p);
    count_chosen(s, &b, &t, to);
    for (uint32_t i = 0; i < s->count; i++) take_kept(p, &b, key, &s->lanes[i], to);
    if (!to->label_count) to->labels[to->label_count++] = (label_condition){key, NO_SUCH_TAG, 0};
    bool timed = by_duration(s);
    to->from = b.from;
    to->until = b.until;
    to->least = timed && b.light > b.least ? b.light : b.least;
    to->most = timed && b.heavy < b.most ? b.heavy : b.most;
    return true;
}

// ---------------------------------------------------------------- per slice

// Three decimals more, or as many as fit.
static int64_t scale_for(const profile *p, uint32_t m, uint32_t *decimals) {
    int64_t most = 1, scale = 1;
    for (uint32_t n = 0; n < p->node_count; n++) {
        int64_t value = p->values[m][n], size = value < 0 ? -value : value;
        if (__builtin_add_overflow(most, size, &most)) most = INT64_MAX;
    }
    for (*decimals = 0; *decimals < 3 && most <= INT64_MAX / (scale * 10); ++*decimals) scale *= 10;
    return scale;
}

void ouro__per_slice(profile *p, uint64_t count) {
    int64_t by = count && count < INT64_MAX ? (int64_t)count : 1;
    for (uint32_t m = 0; m < p->metric_count; m++) {
        uint32_t decimals;
        int64_t scale = scale_for(p, m, &decimals);
        for (uint32_t n = 0; n < p->node_count; n++) {
            int64_t value = p->values[m][n] * scale, half = value < 0 ? -(by / 2) : by / 2;
            p->values[m][n] = (value / by) + (value % by + half) / by;
        }
        p->metrics[m].decimals += decimals;
    }
}
