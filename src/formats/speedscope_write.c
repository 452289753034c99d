// SPDX-License-Identifier: MIT
//
// Writes speedscope's JSON: one sampled profile per metric, over shared frames. Recursion is as the
// profile has it.

#include "questions.h"
#include "readers.h"

#include <string.h>

// The units of the published schema.
static const char *unit_of(const char *unit) {
    static const char *known[] = {"nanoseconds", "microseconds", "milliseconds", "seconds",
                                  "bytes"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(unit, known[i]) == 0) return known[i];
    }
    return "none";
}

static void put_frames(const profile *p, output *out) {
    ouro__put_text(out, "\"shared\":{\"frames\":[");
    for (uint32_t b = 0; b < p->block_count; b++) {
        ouro__put_text(out, b ? ",\n{\"name\":" : "\n{\"name\":");
        ouro__put_json(out, ouro__block_name(p, b));
        if (*ouro__block_file(p, b)) {
            ouro__put_text(out, ",\"file\":");
            ouro__put_json(out, ouro__block_file(p, b));
        }
        if (p->blocks[b].line) ouro__print(out, ",\"line\":%u", p->blocks[b].line);
        if (p->blocks[b].column) ouro__print(out, ",\"col\":%u", p->blocks[b].column);
        ouro__put_text(out, "}");
    }
    ouro__put_text(out, "]},\n");
}

static bool put_samples(const profile *p, uint32_t m, output *out) {
    walk w = {0};
    bool ok = true, first = true;
    for (uint32_t n = 0; ok && n < p->node_count && !ouro__output_failed(out); n++) {
        ok = ouro__walk_to(&w, p, n);
        if (!ok || !p->values[m][n]) continue;
        ouro__put_text(out, first ? "\n[" : ",\n[");
        first = false;
        for (uint32_t d = 1; d <= w.depth; d++) {
            if (d > 1) ouro__put(out, ",", 1);
            ouro__put_number(out, p->block[w.nodes[d]]);
        }
        ouro__put_text(out, "]");
    }
    ouro__walk_free(&w);
    return ok;
}

static void put_weights(const profile *p, uint32_t m, output *out) {
    char number[DECIMAL_ROOM];
    bool first = true;
    for (uint32_t n = 0; n < p->node_count; n++) {
        if (!p->values[m][n]) continue;
        ouro__print(out, first ? "%s" : ",%s",
                    ouro__decimal(number, p->values[m][n], p->metrics[m].decimals));
        first = false;
    }
}

static bool put_profile(const profile *p, uint32_t m, output *out) {
    char number[DECIMAL_ROOM];
    ouro__put_text(out,
                   m ? ",\n{\"type\":\"sampled\",\"name\":" : "\n{\"type\":\"sampled\",\"name\":");
    ouro__put_json(out, ouro__metric_name(p, m));
    ouro__print(out, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%s,\"samples\":[",
                unit_of(ouro__metric_unit(p, m)),
                ouro__decimal(number, ouro__total(p, m), p->metrics[m].decimals));
    if (!put_samples(p, m, out)) return false;
    ouro__put_text(out, "],\"weights\":[");
    put_weights(p, m, out);
    ouro__put_text(out, "]}");
    return true;
}

bool ouro__speedscope_write(const profile *p, const write_options *options, output *out, error *e) {
    ouro__put_text(out, "{\"$schema\":\"https://www.speedscope.app/"
                        "file-format-schema.json\",\"exporter\":\"ouro\",");
    ouro__put_text(out, "\"name\":");
    ouro__put_json(out, options->title ? options->title : "profile");
    ouro__print(out, ",\"activeProfileIndex\":%u,\n", options->metric);
    put_frames(p, out);
    ouro__put_text(out, "\"profiles\":[");
    for (uint32_t m = 0; m < p->metric_count; m++) {
        if (!put_profile(p, m, out)) return ouro__fail_memory(e);
    }
    ouro__put_text(out, "]}\n");
    return true;
}
