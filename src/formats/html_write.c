// SPDX-License-Identifier: MIT
//
// Writes a report as one HTML file: totals, self, overall, knots and the flame graph of one metric.
// It opens from disk, needs no network and no script, and prints well.

#include "questions.h"
#include "readers.h"
#include "svg.h"

#include <stdlib.h>

enum { ROWS = 100, KNOTS = 20, MEMBERS = 30 };

static const char style[] =
    "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:76rem;padding:0 "
    "1rem;color:#222}"
    "h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}"
    "table{border-collapse:collapse;width:100%}"
    "th,td{padding:.15rem .6rem;text-align:right;border-bottom:1px solid #eee;white-space:nowrap}"
    "th:last-child,td:last-child{text-align:left;width:99%;white-space:normal;overflow-wrap:"
    "anywhere}"
    "td small{color:#777}tr:hover td{background:#fff6e5}"
    ".flame{overflow-x:auto}svg{max-width:100%;height:auto}"
    "@media(prefers-color-scheme:dark){body{background:#1b1b1b;color:#ddd}th,td{border-color:#333}"
    "tr:hover td{background:#2a2620}}";

static double percent(int64_t part, int64_t whole) {
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void put_amount(const profile *p, uint32_t m, int64_t value, int64_t total, output *out) {
    char number[48];
    ouro__print(out, "<td>%s<td>%.2f%%", ouro__decimal(number, value, p->metrics[m].decimals),
                percent(value, total));
}

static void put_block(const profile *p, uint32_t b, output *out) {
    ouro__put_escaped(out, ouro__block_name(p, b));
    if (!*ouro__block_file(p, b)) return;
    ouro__put_text(out, " <small>");
    ouro__put_escaped(out, ouro__block_file(p, b));
    if (p->blocks[b].line) ouro__print(out, ":%u", p->blocks[b].line);
    ouro__put_text(out, "</small>");
}

static bool put_table(const profile *p, uint32_t m, const totals *t, const int64_t *by,
                      const char *id, const char *heading, output *out) {
    uint32_t *top = malloc(((size_t)t->count + 1) * sizeof *top);
    if (!top) return false;
    uint32_t count = ouro__rank(by, t->count, ROWS, top);
    ouro__print(out, "<h2 id=\"%s\">%s</h2>\n<table><tr><th>self<th><th>overall<th>%s<th>block\n",
                id, heading, t->calls ? "<th>calls" : "");
    for (uint32_t i = 0; i < count; i++) {
        ouro__put_text(out, "<tr>");
        put_amount(p, m, t->self[top[i]], t->total, out);
        put_amount(p, m, t->overall[top[i]], t->total, out);
        if (t->calls) ouro__print(out, "<td>%lld", (long long)t->calls[top[i]]);
        ouro__put_text(out, "<td>");
        put_block(p, top[i], out);
        ouro__put_text(out, "\n");
    }
    ouro__put_text(out, "</table>\n");
    free(top);
    return true;
}

static bool put_knots(const profile *p, uint32_t m, int64_t total, output *out) {
    knots k;
    if (!ouro__knots(p, m, &k)) return false;
    ouro__put_text(out, "<h2 id=\"knots\">Knots: blocks that call each other in a circle</h2>\n");
    ouro__put_text(out, k.count ? "<table><tr><th>self<th><th>overall<th><th>blocks\n"
                                : "<p>There are none.\n");
    for (uint32_t i = 0; i < k.count && i < KNOTS; i++) {
        const knot *one = &k.knots[i];
        ouro__put_text(out, "<tr>");
        put_amount(p, m, one->self, total, out);
        put_amount(p, m, one->overall, total, out);
        ouro__put_text(out, "<td>");
        for (uint32_t j = 0; j < one->block_count && j < MEMBERS; j++) {
            ouro__put_text(out, j ? ", " : "");
            ouro__put_escaped(out, ouro__block_name(p, one->blocks[j]));
        }
        if (one->block_count > MEMBERS)
            ouro__print(out, " and %u more", one->block_count - MEMBERS);
        ouro__put_text(out, "\n");
    }
    if (k.count) ouro__put_text(out, "</table>\n");
    ouro__knots_free(&k);
    return true;
}

static void put_head(const profile *p, const write_options *options, output *out) {
    uint32_t m = options->metric;
    char number[48];
    ouro__put_text(out, "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\">"
                        "<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
    ouro__put_escaped(out, options->title ? options->title : "profile");
    ouro__print(out, "</title>\n<style>%s</style>\n<h1>", style);
    ouro__put_escaped(out, options->title ? options->title : "profile");
    ouro__put_text(out, "</h1>\n<p><b>");
    ouro__put_escaped(out, ouro__metric_name(p, m));
    ouro__print(out, "</b>: %s ", ouro__decimal(number, ouro__total(p, m), p->metrics[m].decimals));
    ouro__put_escaped(out, ouro__metric_unit(p, m));
    ouro__print(out, " in %u paths of %u blocks.", p->node_count - 1, p->block_count);
    ouro__put_text(out, " <a href=\"#self\">Self</a> · <a href=\"#overall\">Overall</a> · <a "
                        "href=\"#knots\">Knots</a> · "
                        "<a href=\"#flame\">Flame graph</a>\n"
                        "<p>Self is what was charged to a block itself; overall what was charged "
                        "to every path that "
                        "contains it, each path once.\n");
}

bool ouro__html_write(const profile *p, const write_options *options, output *out, error *e) {
    totals t;
    if (!ouro__totals(p, options->metric, NULL, 0, &t)) return ouro__fail_memory(e);
    put_head(p, options, out);
    bool ok = put_table(p, options->metric, &t, t.self, "self", "Self", out) &&
              put_table(p, options->metric, &t, t.overall, "overall", "Overall", out) &&
              put_knots(p, options->metric, t.total, out);
    if (ok) ouro__put_text(out, "<h2 id=\"flame\">Flame graph</h2>\n<div class=\"flame\">");
    ok = ok && ouro__svg_put(p, options->metric, options->title, options->share, out);
    if (ok) ouro__put_text(out, "</div>\n</html>\n");
    ouro__totals_free(&t);
    return ok || ouro__fail_memory(e);
}
