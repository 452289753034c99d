// SPDX-License-Identifier: MIT
//
// What is open, and the first page: totals, the top of self and overall, knots, a small flame graph.

#include "ouro.h"

#include "api.h"
#include "source.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { TOP = 10, KNOTS = 5, BOXES = 500 };

static const char *rule_name(const profile *p) {
    static const char *const names[] = {"loops", "cycles", "edges", "none", NULL};
    return p->rule >= RULE_LOOPS && p->rule <= RULE_NONE ? names[p->rule] : NULL;
}

static void put_time(question *q, const profile *p) {
    time_t seconds = (time_t)(p->start_time / 1000000000);
    struct tm when;
    char text[40];
    if (p->start_time && gmtime_r(&seconds, &when) &&
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &when)) {
        ouro__put_text_member(q, "start", text);
    } else {
        ouro__put_text(q->out, ",\"start\":null");
    }
    if (p->duration) {
        ouro__print(q->out, ",\"seconds\":%.3f", (double)p->duration / 1e9);
    } else {
        ouro__put_text(q->out, ",\"seconds\":null");
    }
}

static bool put_metrics(question *q, unsigned side_number, const profile *p) {
    filter none = {0};
    error e;
    view *all = ouro__cache_view(q->api->cache, q->generation, side_number, &none, false, &e);
    if (!all) return false;
    bool ok = true;
    ouro__put_text(q->out, ",\"metrics\":[");
    for (uint32_t m = 0; m < p->metric_count && ok; m++) {
        const totals *t = ouro__view_totals(all, m);
        ouro__put_text(q->out, m ? ",{\"name\":" : "{\"name\":");
        ouro__put_json(q->out, ouro__metric_name(p, m));
        ouro__put_text_member(q, "unit", ouro__metric_unit(p, m));
        ouro__put_member(q, "decimals", p->metrics[m].decimals);
        ouro__put_member(q, "total", t ? t->total : 0);
        ouro__put_text(q->out, "}");
        ok = t != NULL;
    }
    ouro__put_text(q->out, "]");
    ouro__cache_release(q->api->cache, all);
    return ok;
}

static bool put_file(question *q, unsigned i) {
    const shelf_file *f = &q->api->shelf->files[i];
    const profile *p = q->generation->sides[i]->profile;
    const char *slash = strrchr(f->path, '/'), *rule = rule_name(p);
    bool standard = strcmp(f->path, "-") == 0;
    ouro__put_text(q->out, i ? ",{\"path\":" : "{\"path\":");
    ouro__put_json(q->out, f->path);
    ouro__put_text_member(q, "title", standard ? "standard input" : slash ? slash + 1 : f->path);
    ouro__put_text_member(q, "format", p->format ? p->format : "");
    ouro__print(q->out, ",\"live\":%s,\"running\":%s", f->live ? "true" : "false",
                p->running ? "true" : "false");
    put_time(q, p);
    if (rule) ouro__put_text_member(q, "rule", rule);
    if (!rule) ouro__put_text(q->out, ",\"rule\":null");
    ouro__put_member(q, "block_count", p->block_count);
    ouro__put_member(q, "node_count", p->node_count - 1);
    if (p->metric_count)
        ouro__put_text_member(q, "default_metric", ouro__metric_name(p, p->default_metric));
    if (!p->metric_count) ouro__put_text(q->out, ",\"default_metric\":null");
    bool ok = put_metrics(q, i, p);
    ouro__put_text(q->out, "}");
    return ok;
}

bool ouro__api_profile(question *q) {
    const server_options *o = &q->api->shelf->options;
    bool ok = true;
    ouro__put_text_member(q, "version", OURO_VERSION);
    ouro__print(q->out, ",\"compare\":%s", q->generation->side_count == 2 ? "true" : "false");
    ouro__put_text(q->out, ",\"files\":[");
    for (unsigned i = 0; i < q->generation->side_count && ok; i++) ok = put_file(q, i);
    ouro__print(q->out, "],\"source\":{\"allowed\":%s,\"roots\":[",
                o->root_count ? "true" : "false");
    for (size_t i = 0; i < o->root_count; i++) {
        if (i) ouro__put_text(q->out, ",");
        ouro__put_json(q->out, o->roots[i]);
    }
    ouro__put_text(q->out, "]}");
    return ok;
}

static bool put_totals(question *q) {
    filter none = {0};
    error e;
    view *all = ouro__cache_view(q->api->cache, q->generation, q->side_number, &none, false, &e);
    if (!all) return false;
    bool ok = true;
    ouro__put_text(q->out, ",\"totals\":[");
    for (uint32_t m = 0; m < q->p->metric_count && ok; m++) {
        const totals *whole = ouro__view_totals(all, m), *left = ouro__view_totals(q->view, m);
        ok = whole && left;
        if (!ok) break;
        ouro__put_text(q->out, m ? ",{\"metric\":" : "{\"metric\":");
        ouro__put_json(q->out, ouro__metric_name(q->p, m));
        ouro__put_text_member(q, "unit", ouro__metric_unit(q->p, m));
        ouro__put_member(q, "decimals", q->p->metrics[m].decimals);
        ouro__put_member(q, "total", whole->total);
        ouro__put_member(q, "left", left->total);
        ouro__put_text(q->out, "}");
    }
    ouro__put_text(q->out, "]");
    ouro__cache_release(q->api->cache, all);
    return ok;
}

bool ouro__api_overview(question *q) {
    uint32_t count;
    bool ok = put_totals(q) && ouro__put_top(q, "self", false, TOP) &&
              ouro__put_top(q, "overall", true, TOP);
    ouro__put_text(q->out, ",\"knots\":[");
    ok = ok && ouro__put_knot_rows(q, 0, KNOTS, NULL, &count);
    ouro__put_text(q->out, "],\"flame\":{");
    ok = ok && ouro__put_flame(q, 0, BOXES);
    ouro__put_text(q->out, "}");
    if (ok) ouro__put_member(q, "knot_count", count);
    return ok;
}
