// SPDX-License-Identifier: MIT
//
// Writes a flame graph as SVG: root at the top, as in the viewer; each node is as wide as what was
// charged to it and all below. What the pointer rests on is told by the picture's own titles: no
// script, no network. A picture of a part says what it is a part of.

#include "svg.h"

#include "amount.h"
#include "part.h"
#include "questions.h"
#include "readers.h"

#include <stdlib.h>

enum { WIDTH = 1200, ROW = 17, TOP = 44, LINE = 16, LETTER = 7, DEEPEST = 1000 };

#define NARROWEST 0.2 // points; less is not seen

// A warm colour that follows the name, so that the same block looks the same in every picture.
static void put_colour(output *out, const char *name) {
    uint32_t hash = 2166136261u;
    for (const char *at = name; *at; at++) hash = (hash ^ (unsigned char)*at) * 16777619u;
    bool ours = name[0] == '[' || name[0] == '(';
    if (ours) {
        ouro__put_text(out, "#c8c8c8");
    } else {
        ouro__print(out, "hsl(%u,%u%%,%u%%)", hash % 48 + 4, 62 + hash / 48 % 24,
                    62 + hash / 4096 % 12);
    }
}

// As many letters as fit, whole characters only.
static void put_label(output *out, const char *name, double width) {
    size_t room = width > 3 * LETTER ? (size_t)(width / LETTER) - 1 : 0, letters = 0, bytes = 0;
    char text[256];
    while (name[bytes] && letters < room && bytes < sizeof text - 8) {
        do text[bytes] = name[bytes], bytes++;
        while ((name[bytes] & 0xc0) == 0x80 && bytes < sizeof text - 4);
        letters++;
    }
    text[bytes] = '\0';
    if (room < 3) return;
    ouro__put_escaped(out, text);
    if (name[bytes]) ouro__put_text(out, "…");
}

static void put_value(const profile *p, uint32_t m, int64_t value, int64_t largest, output *out) {
    const char *unit = ouro__amount_unit(p, m, largest);
    char text[AMOUNT_ROOM];
    ouro__amount(text, p, m, value, largest);
    ouro__print(out, " %s%s", text, *unit ? " " : "");
    ouro__put_escaped(out, unit);
}

// Where the boxes begin. The filters take a line of their own.
static uint32_t top_of(const part_info *w) { return w && w->filter_count ? TOP + LINE : TOP; }

static void put_row(const profile *p, const write_options *o, const flame *f, int64_t total,
                    output *out) {
    const char *name = f->node ? ouro__block_name(p, p->block[f->node]) : "all";
    double scale = WIDTH / (double)total, width = (double)f->value * scale,
           x = (double)f->left * scale;
    uint32_t y = top_of(o->part) + f->depth * ROW;
    ouro__print(out, "<g><title>");
    ouro__put_escaped(out, name);
    put_value(p, o->metric, f->value, total, out);
    ouro__print(out, ", %.2f%%", 100.0 * (double)f->value / (double)total);
    if (o->part)
        ouro__print(out, " of this picture, %.2f%% of the whole",
                    100.0 * (double)f->value / (double)o->part->totals[o->metric]);
    ouro__print(out, "</title><rect x=\"%.1f\" y=\"%u\" width=\"%.1f\" height=\"%d\" fill=\"", x, y,
                width, ROW - 1);
    put_colour(out, name);
    ouro__put_text(out, "\"/>");
    if (width > 3 * LETTER) {
        ouro__print(out, "<text x=\"%.1f\" y=\"%u\">", x + 3, y + ROW - 5);
        put_label(out, name, width);
        ouro__put_text(out, "</text>");
    }
    ouro__put_text(out, "</g>\n");
}

static bool put_filters(const part_info *w, output *out) {
    char *filters = ouro__part_filters(w);
    if (!filters) return false;
    if (*filters) {
        ouro__print(out, "<text x=\"8\" y=\"%d\" fill=\"#555\"><title>", 34 + LINE);
        ouro__put_escaped(out, filters);
        ouro__put_text(out, "</title>");
        put_label(out, filters, WIDTH - 16);
        ouro__put_text(out, "</text>\n");
    }
    free(filters);
    return true;
}

// The title, the metric with its total, and what the picture is a part of.
static bool put_head(const profile *p, const write_options *o, uint32_t deepest, output *out) {
    ouro__put_text(out, "<rect width=\"100%\" height=\"100%\" fill=\"#fffaf2\"/>\n<text x=\"8\" "
                        "y=\"18\" font-size=\"14\" font-weight=\"bold\">");
    ouro__put_escaped(out, o->title ? o->title : "profile");
    ouro__put_text(out, "</text>\n<text x=\"8\" y=\"34\" fill=\"#555\">");
    ouro__put_escaped(out, ouro__metric_name(p, o->metric));
    ouro__put_text(out, ":");
    ouro__put_part_amount(p, o->metric, o->part, out);
    if (deepest > DEEPEST) ouro__print(out, "; the first %d of %u levels", DEEPEST, deepest);
    ouro__put_text(out, "</text>\n");
    return put_filters(o->part, out);
}

bool ouro__svg_put(const profile *p, const write_options *o, output *out) {
    flame *rows;
    uint32_t count, deepest = 0;
    int64_t total = ouro__total(p, o->metric);
    double share = o->share < NARROWEST / WIDTH ? NARROWEST / WIDTH : o->share;
    if (!ouro__flame_tree(p, o->metric, share, &rows, &count)) return false;
    for (uint32_t i = 0; i < count; i++)
        deepest = rows[i].depth > deepest ? rows[i].depth : deepest;
    uint32_t height = ((deepest > DEEPEST ? DEEPEST : deepest) + 1) * ROW + top_of(o->part) + 8;
    ouro__print(out,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %u\" width=\"%d\" "
                "height=\"%u\" "
                "font-family=\"monospace\" font-size=\"11\">\n",
                WIDTH, height, WIDTH, height);
    bool ok = put_head(p, o, deepest, out);
    for (uint32_t i = 0; i < count && total > 0; i++) {
        if (rows[i].depth <= DEEPEST) put_row(p, o, &rows[i], total, out);
    }
    ouro__put_text(out, "</svg>\n");
    free(rows);
    return ok;
}

bool ouro__svg_write(const profile *p, const write_options *options, output *out, error *e) {
    ouro__put_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    return ouro__svg_put(p, options, out) || ouro__fail_memory(e);
}
