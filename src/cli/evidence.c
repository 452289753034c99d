// SPDX-License-Identifier: MIT
//
// What a time rests on. A profile whose times come from ticks or samples says how many (the metric
// `samples`): n of them are right to about the square root of n, so a time of one sample may be
// chance. And what recording took, which is not in the times (the metric `recording`).

#include "cli.h"

#include <math.h>
#include <string.h>

static bool is_time(const profile *p, uint32_t m) {
    return strcmp(ouro__metric_unit(p, m), "nanoseconds") == 0;
}

bool evidence_of(const loaded *l, totals *t) {
    uint32_t samples = ouro__profile_find_metric(l->profile, "samples");
    if (samples == NO_ROW || !is_time(l->profile, l->metric)) return false;
    if (strcmp(ouro__metric_name(l->profile, l->metric), "recording") == 0) return false;
    if (!ouro__totals(l->profile, samples, NULL, 0, t)) fail_memory();
    if (t->total > 0) return true;
    ouro__totals_free(t);
    return false;
}

void evidence_cell(table *text, int64_t samples) {
    char count[GROUPED_ROOM];
    if (samples <= 1) {
        table_cell(text, samples == 1 ? "1, chance?" : "%s", "-");
        return;
    }
    table_cell(text, "%s ±%.0f%%", ouro__grouped(count, (uint64_t)samples),
               100 / sqrt((double)samples));
}

void put_recording(const loaded *l, output *out) {
    const profile *p = l->profile;
    uint32_t recording = ouro__profile_find_metric(p, "recording");
    if (recording == NO_ROW || recording == l->metric || !is_time(p, l->metric)) return;
    int64_t taken = ouro__total(p, recording), left = ouro__total(p, l->metric);
    char percent[AMOUNT_ROOM];
    if (taken <= 0) return;
    format_percent(percent, taken, taken + left);
    put_line(out, "recording: %s, taken out (--metric recording shows where)", percent);
}
