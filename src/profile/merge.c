// SPDX-License-Identifier: MIT
//
// The sum of profiles, added one at a time so that each can be freed before the next is read. Paths
// are the same if their blocks are (name, file, line, column); metrics if their name and unit are.

#include "questions.h"
#include "sliced.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct merger {
    profile *sum;
    builder *builder;
    uint32_t added, lanes; // profiles; numbers of lanes that their slices have
    bool slices_lost;
};

merger *ouro__merger_new(int rule, int edge_length) {
    merger *m = calloc(1, sizeof *m);
    if (!m) return NULL;
    m->sum = ouro__profile_new();
    if (m->sum) m->sum->budget = (budget){0};
    m->builder = m->sum ? ouro__builder_new(m->sum, rule, edge_length) : NULL;
    if (m->builder) return m;
    ouro__merger_free(m);
    return NULL;
}

void ouro__merger_free(merger *m) {
    if (!m) return;
    ouro__builder_free(m->builder);
    ouro__profile_free(m->sum);
    free(m);
}

static uint32_t find_metric(merger *to, const profile *p, uint32_t m) {
    const char *name = ouro__metric_name(p, m), *unit = ouro__metric_unit(p, m);
    for (uint32_t i = 0; i < to->sum->metric_count; i++) {
        if (strcmp(ouro__metric_name(to->sum, i), name) == 0 &&
            strcmp(ouro__metric_unit(to->sum, i), unit) == 0)
            return i;
    }
    uint32_t added = ouro__profile_add_metric(to->sum, name, unit);
    if (!to->sum->failed) to->sum->metrics[added].decimals = p->metrics[m].decimals;
    return added;
}

// Adds a column, both in the same number of decimals.
static bool add_values(profile *sum, uint32_t column, const profile *p, uint32_t m,
                       const uint32_t *place) {
    if (!ouro__profile_rescale(sum, column, p->metrics[m].decimals)) return false;
    int64_t scale = 1;
    for (uint32_t d = p->metrics[m].decimals; d < sum->metrics[column].decimals; d++) scale *= 10;
    for (uint32_t n = 0; n < p->node_count; n++) {
        int64_t value, *to = &sum->values[column][place[n]];
        if (__builtin_mul_overflow(p->values[m][n], scale, &value) ||
            __builtin_add_overflow(*to, value, to))
            return false;
    }
    return true;
}

static void find_places(merger *to, const profile *p, uint32_t *place, uint32_t *blocks) {
    for (uint32_t b = 0; b < p->block_count; b++) {
        block_info added = p->blocks[b];
        added.name = ouro__profile_add_text(to->sum, ouro__block_name(p, b));
        added.file = ouro__profile_add_text(to->sum, ouro__block_file(p, b));
        blocks[b] = ouro__profile_add_block(to->sum, &added);
    }
    place[0] = 0;
    for (uint32_t n = 1; n < p->node_count && !to->sum->failed; n++)
        place[n] = ouro__builder_enter(to->builder, place[p->parent[n]], blocks[p->block[n]]);
}

static void add_header(merger *to, const profile *p) {
    profile *sum = to->sum;
    if (p->start_time && (!sum->start_time || p->start_time < sum->start_time))
        sum->start_time = p->start_time;
    sum->duration += p->duration;
    if (to->added++ == 0 && p->metric_count)
        sum->default_metric = find_metric(to, p, p->default_metric);
}

static bool add_slices(merger *to, const profile *p, const uint32_t *column) {
    bool lost = false, ok = ouro__slices_merge(to->sum, p, column, to->lanes, &lost);
    to->slices_lost |= lost;
    to->lanes += ouro__slices_next_lane(p);
    return ok;
}

bool ouro__merger_lost_slices(const merger *m) { return m->slices_lost; }

bool ouro__merger_add(merger *to, const profile *p, error *e) {
    uint32_t *place = calloc(p->node_count, sizeof *place),
             *blocks = calloc((size_t)p->block_count + 1, 4), column[METRICS_MAX];
    bool ok = place && blocks;
    if (!ok) ouro__error_memory(e);
    ouro__budget_add(&to->sum->budget, &p->budget);
    for (uint32_t m = 0; ok && m < p->metric_count; m++) find_metric(to, p, m);
    if (ok) find_places(to, p, place, blocks);
    if (ok && !to->sum->failed && !ouro__tell_recursion(p, to->sum, blocks))
        to->sum->failed = ENOMEM;
    if (ok && to->sum->failed) ok = ouro__profile_finish(to->sum, e); // tells why
    if (ok) add_header(to, p);
    for (uint32_t m = 0; ok && m < p->metric_count; m++) {
        if (!add_values(to->sum, find_metric(to, p, m), p, m, place))
            ok = ouro__fail(e, EOVERFLOW, "the sum of metric %s needs more than 63 bits",
                            ouro__metric_name(p, m));
        column[m] = find_metric(to, p, m);
    }
    if (ok) ouro__tags_carry_to_sum(p, place, column, to->lanes, to->sum);
    if (ok && !to->sum->failed && !add_slices(to, p, column)) to->sum->failed = ENOMEM;
    if (ok && to->sum->failed) ok = ouro__profile_finish(to->sum, e);
    free(place);
    free(blocks);
    return ok;
}

profile *ouro__merger_end(merger *m, error *e) {
    profile *sum = m->sum;
    m->sum = NULL;
    bool ok = ouro__profile_finish(sum, e);
    ouro__merger_free(m);
    if (ok) return sum;
    ouro__profile_free(sum);
    return NULL;
}
