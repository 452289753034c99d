// SPDX-License-Identifier: MIT
//
// How a live file grew: the totals of the slices between looks at it, for sparklines. Times are in
// seconds before the last look, so that nobody's clock is needed.

#include "api.h"

#include <stdio.h>
#include <stdlib.h>

enum { SLICES_MOST = 4096, STEPS_MOST = 600, SECONDS_USUAL = 120, SECONDS_MOST = 1000000 };

static void write_seconds(question *q, const char *name, double seconds) {
    char text[40];
    snprintf(text, sizeof text, "%.6f", seconds > 0 ? seconds : 0);
    ouro__write_number(&q->json, name, text);
}

static void write_metrics(question *q, const profile *p) {
    ouro__write_array(&q->json, "metrics");
    for (uint32_t m = 0; m < p->metric_count; m++) {
        if (!ouro__is_listed(p, m)) continue;
        ouro__write_object(&q->json, NULL);
        ouro__write_metric(q, "name", p, m, p->metrics[m].decimals);
        ouro__write_end(&q->json);
    }
    ouro__write_end(&q->json);
}

// Neighbours become one, so that there are at most `steps`.
static uint32_t join(slice_totals *slices, uint32_t count, uint32_t steps, uint32_t metrics) {
    uint32_t by = (count + steps - 1) / steps, used = 0;
    if (by < 2) return count;
    for (uint32_t i = 0; i < count; i++) {
        if (i % by == 0) {
            slices[used++] = slices[i];
            continue;
        }
        slices[used - 1].to = slices[i].to;
        for (uint32_t m = 0; m < metrics; m++) slices[used - 1].totals[m] += slices[i].totals[m];
    }
    return used;
}

static void write_slices(question *q, const slice_totals *slices, uint32_t count, double now) {
    uint32_t metrics = q->side->profile->metric_count;
    ouro__write_rows(&q->json, "slices");
    for (uint32_t i = 0; i < count; i++) {
        ouro__write_object(&q->json, NULL);
        write_seconds(q, "from", now - slices[i].from);
        write_seconds(q, "to", now - slices[i].to);
        ouro__write_array(&q->json, "totals");
        for (uint32_t m = 0; m < metrics; m++) {
            if (ouro__is_listed(q->side->profile, m))
                ouro__write_integer(&q->json, NULL, slices[i].totals[m]);
        }
        ouro__write_end(&q->json);
        ouro__write_end(&q->json);
    }
    ouro__write_end(&q->json);
}

bool ouro__api_history(question *q) {
    const side *s = q->side;
    history *h = q->api->shelf->files[q->file].history;
    uint32_t seconds, steps, count = 0;
    if (!ouro__request_number(q->request, "seconds", 1, SECONDS_MOST, SECONDS_USUAL, &seconds))
        return ouro__refuse(q, 400, "bad-number", "seconds is a whole number from 1 to %d",
                            SECONDS_MOST);
    if (!ouro__request_number(q->request, "steps", 1, STEPS_MOST, STEPS_MOST, &steps))
        return ouro__refuse(q, 400, "bad-number", "steps is a whole number from 1 to %d",
                            STEPS_MOST);
    slice_totals *slices = malloc(SLICES_MOST * sizeof *slices);
    if (!slices) return false;
    double now = s->profile->running ? ouro__seconds() : s->seen, from = now - seconds;
    if (h)
        count =
            ouro__history_totals(h, s->look, from, slices, SLICES_MOST, s->profile->metric_count);
    bool ok = count != UINT32_MAX;
    if (ok) {
        write_seconds(q, "now", h ? now - q->api->shelf->files[q->file].opened : 0);
        write_metrics(q, s->profile);
        write_slices(q, slices, join(slices, count, steps, s->profile->metric_count), now);
    }
    if (ok && h) free(slices[0].totals);
    free(slices);
    return ok;
}
