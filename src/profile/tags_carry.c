// SPDX-License-Identifier: MIT
//
// Carries the labels of samples into a profile that is made of another one: filtered, pruned, or a
// sum. Each row goes where its node went. Sets are numbered anew, because the texts of their tags
// have other numbers there.

#include "profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t copy_text(const profile *p, uint32_t text, profile *to) {
    return ouro__profile_add_text(to, ouro__text(&p->texts, text));
}

// A slice is NUMBER of lane 0, or NUMBER/LANE.
static uint32_t slice_text(const char *text, uint32_t lanes, profile *to) {
    char moved[64];
    const char *slash = strchr(text, '/');
    unsigned long lane = slash ? strtoul(slash + 1, NULL, 10) : 0;
    int digits = (int)(slash ? slash - text : (long)strlen(text));
    snprintf(moved, sizeof moved, "%.*s/%lu", digits < 24 ? digits : 24, text, lane + lanes);
    return ouro__profile_add_text(to, moved);
}

static uint32_t copy_set(const profile *p, uint32_t set, uint32_t lanes, profile *to) {
    const tags *t = p->tags;
    for (uint32_t i = ouro__set_first(t, set); i < t->set_end[set]; i++) {
        const tag_info *tag = &t->tags[t->set_tags[i]];
        bool slice = lanes && strcmp(ouro__text(&p->texts, t->keys[tag->key]), "slice") == 0;
        uint32_t key = copy_text(p, t->keys[tag->key], to);
        ouro__tags_put(to, key,
                       slice ? slice_text(ouro__text(&p->texts, tag->value), lanes, to)
                             : copy_text(p, tag->value, to));
    }
    return ouro__tags_close(to);
}

// Both in the same number of decimals, of which the result has at least as many.
static bool scaled(const profile *p, uint32_t m, const profile *to, uint32_t column,
                   int64_t *value) {
    for (uint32_t d = p->metrics[m].decimals; d < to->metrics[column].decimals; d++) {
        if (__builtin_mul_overflow(*value, 10, value)) return false;
    }
    return true;
}

static void copy_row(const profile *p, uint32_t row, const uint32_t *column, uint32_t node,
                     uint32_t set, profile *to) {
    const tags *t = p->tags;
    for (uint32_t m = 0; m < t->metric_count; m++) {
        uint32_t target = column ? column[m] : m;
        int64_t value = t->row_values[m] ? t->row_values[m][row] : 0;
        if (!scaled(p, m, to, target, &value) && !to->failed) to->failed = EOVERFLOW;
        ouro__tags_charge(to, target, node, set, value);
    }
}

static void carry(const profile *p, const uint32_t *place, const uint32_t *failed,
                  const uint32_t *column, uint32_t lanes, profile *to) {
    const tags *t = p->tags;
    if (!t || to->failed) return;
    uint32_t *number = calloc(t->set_count, sizeof *number); // 0: not copied yet
    if (!number) to->failed = ENOMEM;
    for (uint32_t r = 0; r < t->row_count && !to->failed; r++) {
        uint32_t node = place[t->row_node[r]], set = t->row_set[r];
        if (node == NO_NODE || (failed && failed[set])) continue;
        if (!number[set]) number[set] = copy_set(p, set, lanes, to);
        copy_row(p, r, column, node, number[set], to);
    }
    free(number);
}

void ouro__tags_carry(const profile *p, const uint32_t *place, const uint32_t *failed,
                      const uint32_t *column, profile *to) {
    carry(p, place, failed, column, 0, to);
}

void ouro__tags_carry_to_sum(const profile *p, const uint32_t *place, const uint32_t *column,
                             uint32_t lanes, profile *sum) {
    carry(p, place, NULL, column, p->slices ? lanes : 0, sum);
}
