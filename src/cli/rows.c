// SPDX-License-Identifier: MIT
//
// Tables for programs: the rows of --json and --csv. Their shape is pinned; it only grows by keys
// and columns at the end.

#include "cli.h"

#include <string.h>

void json_amount(json_writer *w, const char *name, int64_t value, uint32_t decimals) {
    char digits[DECIMAL_ROOM];
    ouro__write_number(w, name, ouro__decimal(digits, value, decimals));
}

static void json_known(json_writer *w, const char *name, bool known, int64_t value,
                       uint32_t decimals) {
    if (known) json_amount(w, name, value, decimals);
    if (!known) ouro__write_null(w, name);
}

void json_calls(json_writer *w, int64_t calls) {
    json_known(w, "calls", calls != NOT_COUNTED, calls, 0);
}

void json_metric(json_writer *w, const loaded *l) {
    ouro__write_text(w, "metric", ouro__metric_name(l->profile, l->metric));
    ouro__write_text(w, "unit", ouro__metric_unit(l->profile, l->metric));
}

json_writer json_head(output *out, const loaded *l) {
    json_writer w = {.out = out, .spread = true};
    uint32_t decimals = l->profile->metrics[l->metric].decimals;
    ouro__write_object(&w, NULL);
    json_metric(&w, l);
    json_amount(&w, "total", l->total, decimals);
    json_amount(&w, "left", ouro__total(l->profile, l->metric), decimals);
    if (l->missing) ouro__write_text(&w, "missing", l->missing);
    if (l->no_space) ouro__write_bool(&w, "no_space", true);
    return w;
}

void json_foot(json_writer *w) {
    while (w->depth) ouro__write_end(w);
    ouro__put_text(w->out, "\n");
}

static const block_info *info_of(const profile *p, uint32_t block) {
    static const block_info none = {0};
    return block == NO_BLOCK ? &none : &p->blocks[block];
}

void json_block(json_writer *w, const profile *p, uint32_t block) {
    ouro__write_text(w, "name", ouro__block_name(p, block));
    ouro__write_text(w, "file", ouro__block_file(p, block));
    ouro__write_integer(w, "line", info_of(p, block)->line);
    ouro__write_integer(w, "column", info_of(p, block)->column);
}

void json_row_open(json_writer *w, const loaded *l, const block_row *row) {
    uint32_t decimals = l->profile->metrics[l->metric].decimals;
    ouro__write_object(w, NULL);
    json_block(w, l->profile, row->block);
    json_known(w, "self", row->has_self, row->self, decimals);
    json_known(w, "overall", row->has_overall, row->overall, decimals);
    json_calls(w, row->calls);
}

void json_row(json_writer *w, const loaded *l, const block_row *row) {
    json_row_open(w, l, row);
    ouro__write_end(w);
}

void csv_head(output *out, const char *more) {
    ouro__print(out, "name,file,line,column,self,overall,calls%s%s\n", more ? "," : "",
                more ? more : "");
}

void csv_calls(output *out, int64_t calls) {
    char number[DECIMAL_ROOM];
    ouro__put_text(out, calls == NOT_COUNTED ? "" : ouro__decimal(number, calls, 0));
}

void csv_row(output *out, const loaded *l, const block_row *row, const char *more) {
    const profile *p = l->profile;
    const block_info *b = info_of(p, row->block);
    char number[DECIMAL_ROOM];
    uint32_t decimals = p->metrics[l->metric].decimals;
    ouro__put_csv(out, ouro__block_name(p, row->block));
    ouro__put_text(out, ",");
    ouro__put_csv(out, ouro__block_file(p, row->block));
    ouro__print(out, ",%u,%u,", b->line, b->column);
    ouro__print(out, "%s,", row->has_self ? ouro__decimal(number, row->self, decimals) : "");
    ouro__print(out, "%s,", row->has_overall ? ouro__decimal(number, row->overall, decimals) : "");
    csv_calls(out, row->calls);
    if (more) ouro__put_text(out, ",");
    if (more) ouro__put_csv(out, more);
    ouro__put_text(out, "\n");
}
