// SPDX-License-Identifier: MIT
//
// Writes a report as one HTML file: totals, self, overall, knots and the flame graph of one metric.
// It opens from disk, needs no network and no script, and prints well. Of a part of a profile,
// percentages are of the whole.

#include "amount.h"
#include "part.h"
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
    char text[AMOUNT_ROOM];
    ouro__amount(text, p, m, value, total);
    ouro__print(out, "<td>%s<td>%.2f%%", text, percent(value, total));
}

static void put_count(int64_t count, output *out) {
    char text[GROUPED_ROOM];
    ouro__print(out, "<td>%s%s", count < 0 ? "-" : "",
                ouro__grouped(text, count < 0 ? 0 - (uint64_t)count : (uint64_t)count));
}

// The heading of a table: self and overall with their unit, and more.
static void put_columns(const profile *p, uint32_t m, int64_t total, const char *more,
                        output *out) {
    const char *unit = ouro__amount_unit(p, m, total), *space = *unit ? " " : "";
    ouro__print(out, "<table><tr><th>self%s", space);
    ouro__put_escaped(out, unit);
    ouro__print(out, "<th><th>overall%s", space);
    ouro__put_escaped(out, unit);
    ouro__print(out, "<th>%s", more);
}

static void put_block(const profile *p, uint32_t b, output *out) {
    ouro__put_escaped(out, ouro__block_name(p, b));
    if (!*ouro__block_file(p, b)) return;
    ouro__put_text(out, " <small>");
    ouro__put_escaped(out, ouro__block_file(p, b));
    if (p->blocks[b].line) ouro__print(out, ":%u", p->blocks[b].line);
    ouro__put_text(out, "</small>");
}

static bool put_table(const profile *p, uint32_t m, int64_t all, const totals *t, const int64_t *by,
                      const char *id, const char *heading, output *out) {
    uint32_t *top = malloc(((size_t)t->count + 1) * sizeof *top);
    if (!top) return false;
    uint32_t count = ouro__rank(by, t->count, ROWS, top);
    ouro__print(out, "<h2 id=\"%s\">%s</h2>\n", id, heading);
    put_columns(p, m, all, t->calls ? "<th>calls<th>block\n" : "<th>block\n", out);
    for (uint32_t i = 0; i < count; i++) {
        ouro__put_text(out, "<tr>");
        put_amount(p, m, t->self[top[i]], all, out);
        put_amount(p, m, t->overall[top[i]], all, out);
        if (t->calls && t->calls[top[i]] == NOT_COUNTED)
            ouro__put_text(out, "<td>not counted");
        else if (t->calls)
            put_count(t->calls[top[i]], out);
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
    if (k.count) put_columns(p, m, total, "<th>blocks\n", out);
    if (!k.count) ouro__put_text(out, "<p>There are none.\n");
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

static bool put_filters(const part_info *w, output *out) {
    char *filters = ouro__part_filters(w);
    if (!filters) return false;
    if (*filters) ouro__put_text(out, "<p>Filters: <b>");
    ouro__put_escaped(out, filters);
    if (*filters)
        ouro__put_text(out, "</b>. This is a part of the profile; percentages are of the whole.\n");
    free(filters);
    return true;
}

static bool put_head(const profile *p, const write_options *options, output *out) {
    uint32_t m = options->metric;
    char text[GROUPED_ROOM];
    ouro__put_text(out, "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\">"
                        "<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
    ouro__put_escaped(out, options->title ? options->title : "profile");
    ouro__print(out, "</title>\n<style>%s</style>\n<h1>", style);
    ouro__put_escaped(out, options->title ? options->title : "profile");
    ouro__put_text(out, "</h1>\n<p><b>");
    ouro__put_escaped(out, ouro__metric_name(p, m));
    ouro__put_text(out, "</b>:");
    ouro__put_part_amount(p, m, options->part, out);
    ouro__print(out, " on %s paths", ouro__grouped(text, p->node_count - 1));
    ouro__print(out, " of %s blocks.", ouro__grouped(text, p->block_count));
    ouro__put_text(out, " <a href=\"#self\">Self</a> · <a href=\"#overall\">Overall</a> · <a "
                        "href=\"#knots\">Knots</a> · "
                        "<a href=\"#flame\">Flame graph</a>\n"
                        "<p>Self is what was charged to a block itself; overall what was charged "
                        "to every path that "
                        "contains it, each path once.\n");
    return put_filters(options->part, out);
}

bool ouro__report_write(const profile *p, const write_options *options, output *out, error *e) {
    totals t;
    uint32_t m = options->metric;
    if (!ouro__totals(p, m, NULL, 0, &t)) return ouro__fail_memory(e);
    int64_t all = ouro__part_total(p, m, options->part);
    bool ok = put_head(p, options, out) && put_table(p, m, all, &t, t.self, "self", "Self", out) &&
              put_table(p, m, all, &t, t.overall, "overall", "Overall", out) &&
              put_knots(p, m, all, out);
    if (ok) ouro__put_text(out, "<h2 id=\"flame\">Flame graph</h2>\n<div class=\"flame\">");
    ok = ok && ouro__svg_put(p, options, out);
    if (ok) ouro__put_text(out, "</div>\n</html>\n");
    ouro__totals_free(&t);
    return ok || ouro__fail_memory(e);
}
