// SPDX-License-Identifier: MIT
//
// What is open, and the first page: findings, totals, the top of self and overall, knots, a small
// flame graph.

#include "ouro.h"

#include "api.h"
#include "sliced.h"
#include "source.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { TOP = 10, KNOTS = 5, BOXES = 500 };

// ---------------------------------------------------------------- what is open

static const char *rule_name(const profile *p) {
    static const char *const names[] = {"loops", "cycles", "edges", "none"};
    return p->rule >= RULE_LOOPS && p->rule <= RULE_NONE ? names[p->rule] : NULL;
}

static void write_times(question *q, const profile *p) {
    time_t start = (time_t)(p->start_time / 1000000000);
    struct tm when;
    char text[40], seconds[40];
    bool known = p->start_time && gmtime_r(&start, &when) &&
                 strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &when);
    snprintf(seconds, sizeof seconds, "%.3f", (double)p->duration / 1e9);
    ouro__write_text(&q->json, "start", known ? text : NULL);
    ouro__write_number(&q->json, "seconds", p->duration ? seconds : NULL);
}

static void write_metrics(question *q, const side *s) {
    const profile *p = s->profile;
    ouro__write_array(&q->json, "metrics");
    for (uint32_t m = 0; m < p->metric_count; m++) {
        if (!ouro__is_listed(p, m)) continue;
        ouro__write_object(&q->json, NULL);
        ouro__write_metric(q, "name", p, m, p->metrics[m].decimals);
        ouro__write_integer(&q->json, "total", s->totals[m]);
        ouro__write_end(&q->json);
    }
    ouro__write_end(&q->json);
}

// What the file is a part of: null for most.
static void write_part(json_writer *w, const profile *p, const part_info *of) {
    if (!of) return ouro__write_null(w, "part");
    ouro__write_object(w, "part");
    ouro__write_array(w, "filters");
    for (uint32_t i = 0; i < of->filter_count; i++) ouro__write_text(w, NULL, of->filters[i]);
    ouro__write_end(w);
    ouro__write_integer(w, "paths", of->paths);
    ouro__write_integer(w, "cut", of->cut);
    ouro__write_array(w, "left");
    for (uint32_t m = 0; m < p->metric_count; m++) {
        if (ouro__is_listed(p, m)) ouro__write_integer(w, NULL, ouro__total(p, m));
    }
    ouro__write_end(w);
    ouro__write_end(w);
}

// Those that have ended, and those that are open.
static int64_t slice_count(const profile *p) {
    uint64_t count = 0;
    for (uint32_t i = 0; p->slices && i < p->slices->count; i++)
        count += p->slices->lanes[i].count + p->slices->lanes[i].is_open;
    return (int64_t)count;
}

static void write_file(question *q, unsigned i) {
    json_writer *w = &q->json;
    const shelf_file *f = &q->api->shelf->files[i];
    const side *s = q->generation->sides[i];
    const profile *p = s->profile;
    const char *title = ouro__side_title(q->api->shelf, q->generation, i);
    ouro__write_object(w, NULL);
    ouro__write_text(w, "path", s->choice ? title : f->path);
    ouro__write_text(w, "title", title);
    ouro__write_text(w, "choice", s->choice);
    ouro__write_text(w, "format", p->format ? p->format : "");
    ouro__write_bool(w, "live", f->live);
    ouro__write_bool(w, "running", p->running);
    ouro__write_bool(w, "no_space", p->no_space);
    write_times(q, p);
    ouro__write_text(w, "rule", rule_name(p));
    ouro__write_integer(w, "block_count", p->block_count);
    ouro__write_integer(w, "label_count", p->tags ? p->tags->key_count : 0);
    ouro__write_integer(w, "slices", slice_count(p));
    ouro__write_text(w, "slice_name", slice_count(p) ? p->slices->lanes[0].name : NULL);
    ouro__write_integer(w, "node_count", p->node_count - 1);
    ouro__write_text(w, "default_metric",
                     p->metric_count ? ouro__metric_name(p, p->default_metric) : NULL);
    ouro__write_text(w, "recursion", ouro__counts_calls(p) ? "calls" : "steps");
    write_metrics(q, s);
    write_part(w, p, s->part);
    ouro__write_text(w, "missing", p->missing);
    ouro__write_end(w);
}

void ouro__write_store(question *q) {
    const server_options *o = &q->api->shelf->options;
    if (!o->store) return ouro__write_null(&q->json, "store");
    ouro__write_object(&q->json, "store");
    ouro__write_text(&q->json, "title", o->store_title);
    ouro__write_end(&q->json);
}

void ouro__write_source(question *q) {
    const server_options *o = &q->api->shelf->options;
    ouro__write_object(&q->json, "source");
    ouro__write_bool(&q->json, "allowed", o->sources.root_count);
    ouro__write_array(&q->json, "roots");
    for (size_t i = 0; i < o->sources.root_count; i++)
        ouro__write_text(&q->json, NULL, o->sources.roots[i]);
    ouro__write_end(&q->json);
    ouro__write_end(&q->json);
}

bool ouro__api_profile(question *q) {
    ouro__write_text(&q->json, "version", OURO_VERSION);
    ouro__write_bool(&q->json, "compare", q->generation->side_count == 2);
    ouro__write_array(&q->json, "files");
    for (unsigned i = 0; i < q->generation->side_count; i++) write_file(q, i);
    ouro__write_end(&q->json);
    ouro__write_source(q);
    ouro__write_store(q);
    return true;
}

// ---------------------------------------------------------------- the first page

static bool write_totals(question *q) {
    bool ok = true;
    ouro__write_array(&q->json, "totals");
    for (uint32_t m = 0; m < q->p->metric_count && ok; m++) {
        if (!ouro__is_listed(q->generation->sides[q->side_number]->profile, m)) continue;
        const totals *left = ouro__view_totals(q->view, m);
        ok = left != NULL;
        ouro__write_object(&q->json, NULL);
        ouro__write_metric(q, "metric", q->p, m, q->p->metrics[m].decimals);
        ouro__write_integer(&q->json, "total", ouro__view_all(q->view)[m]);
        ouro__write_integer(&q->json, "left", left ? left->total : 0);
        ouro__write_end(&q->json);
    }
    ouro__write_end(&q->json);
    return ok;
}

static bool write_small_flame(question *q) {
    ouro__write_object(&q->json, "flame");
    bool ok = ouro__write_flame(q, 0, BOXES);
    ouro__write_end(&q->json);
    return ok;
}

bool ouro__api_overview(question *q) {
    return ouro__write_findings(q) && write_totals(q) && ouro__write_top(q, "self", false, TOP) &&
           ouro__write_top(q, "overall", true, TOP) && ouro__write_knots(q, KNOTS) &&
           write_small_flame(q);
}
