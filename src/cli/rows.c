// SPDX-License-Identifier: MIT
//
// Tables for programs: the rows of --json and --csv. Their shape is pinned; it only grows by keys
// and columns at the end.

#include "cli.h"

#include <string.h>

static void put_number(output *out, const loaded *l, uint32_t m, bool known, int64_t value) {
    char number[48];
    uint32_t decimals = m == NO_ROW ? 0 : l->profile->metrics[m].decimals;
    ouro__put_text(out, known ? ouro__decimal(number, value, decimals) : "null");
}

void json_head(output *out, const loaded *l) {
    const profile *p = l->profile;
    ouro__put_text(out, "{\"metric\":");
    ouro__put_json(out, ouro__metric_name(p, l->metric));
    ouro__put_text(out, ",\"unit\":");
    ouro__put_json(out, ouro__metric_unit(p, l->metric));
    ouro__put_text(out, ",\"total\":");
    put_number(out, l, l->metric, true, l->total);
    ouro__put_text(out, ",\"left\":");
    put_number(out, l, l->metric, true, ouro__total(p, l->metric));
}

void json_row_open(output *out, const loaded *l, const block_row *row) {
    const profile *p = l->profile;
    static const block_info none = {0};
    const block_info *b = row->block == NO_BLOCK ? &none : &p->blocks[row->block];
    ouro__put_text(out, "{\"name\":");
    ouro__put_json(out, ouro__block_name(p, row->block));
    ouro__put_text(out, ",\"file\":");
    ouro__put_json(out, ouro__block_file(p, row->block));
    ouro__print(out, ",\"line\":%u,\"column\":%u,\"self\":", b->line, b->column);
    put_number(out, l, l->metric, row->has_self, row->self);
    ouro__put_text(out, ",\"overall\":");
    put_number(out, l, l->metric, row->has_overall, row->overall);
    ouro__put_text(out, ",\"calls\":");
    put_number(out, l, NO_ROW, row->has_calls, row->calls);
}

void json_row(output *out, const loaded *l, const block_row *row) {
    json_row_open(out, l, row);
    ouro__put_text(out, "}");
}

void csv_head(output *out, const char *more) {
    ouro__print(out, "name,file,line,column,self,overall,calls%s%s\n", more ? "," : "",
                more ? more : "");
}

void csv_row(output *out, const loaded *l, const block_row *row, const char *more) {
    const profile *p = l->profile;
    static const block_info none = {0};
    const block_info *b = row->block == NO_BLOCK ? &none : &p->blocks[row->block];
    char number[48];
    uint32_t decimals = p->metrics[l->metric].decimals;
    ouro__put_csv(out, ouro__block_name(p, row->block));
    ouro__put_text(out, ",");
    ouro__put_csv(out, ouro__block_file(p, row->block));
    ouro__print(out, ",%u,%u,", b->line, b->column);
    ouro__print(out, "%s,", row->has_self ? ouro__decimal(number, row->self, decimals) : "");
    ouro__print(out, "%s,", row->has_overall ? ouro__decimal(number, row->overall, decimals) : "");
    ouro__put_text(out, row->has_calls ? ouro__decimal(number, row->calls, 0) : "");
    if (more) ouro__put_text(out, ",");
    if (more) ouro__put_csv(out, more);
    ouro__put_text(out, "\n");
}
