// SPDX-License-Identifier: MIT
//
// What the questions share: pages of sorted tables, searches, and writing members and CSV cells.

#include "api.h"

#include "format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT_USUAL = 100, LIMIT_MOST = 1000, LIMIT_CSV = 100000 };

// ---------------------------------------------------------------- tables

static bool has_column(const char *columns, const char *name) {
    size_t length = strlen(name);
    for (const char *space; (space = strchr(columns, ' ')); columns = space + 1) {
        if ((size_t)(space - columns) == length && memcmp(columns, name, length) == 0) return true;
    }
    return false;
}

static bool read_sort(question *q, const char *columns, paging *page) {
    const char *sort = ouro__request_value(q->request, "sort");
    page->column = columns;
    page->ascending = false;
    if (!sort) return true;
    page->ascending = sort[0] != '-';
    page->column = sort + !page->ascending;
    return has_column(columns, page->column) ||
           ouro__refuse(q, 400, "bad-sort", "sort is one of %s, - in front for descending",
                        columns);
}

bool ouro__question_paging(question *q, const char *columns, const char *prefix, paging *page) {
    char offset[32], limit[32];
    snprintf(offset, sizeof offset, "%soffset", prefix);
    snprintf(limit, sizeof limit, "%slimit", prefix);
    uint32_t most = q->csv ? LIMIT_CSV : LIMIT_MOST, usual = q->csv ? LIMIT_CSV : LIMIT_USUAL;
    if (!ouro__request_number(q->request, offset, 0, UINT32_MAX, 0, &page->offset))
        return ouro__refuse(q, 400, "bad-number", "%s is a whole number from 0 on", offset);
    if (!ouro__request_number(q->request, limit, 0, most, usual, &page->limit))
        return ouro__refuse(q, 400, "bad-number", "%s is a whole number from 0 to %u", limit, most);
    if (columns) return read_sort(q, columns, page);
    return true;
}

uint8_t *ouro__question_search(question *q, bool *ok) {
    const char *text = ouro__request_value(q->request, "search");
    uint32_t count;
    *ok = true;
    if (!text || !*text) return NULL;
    uint8_t *match = ouro__matching(q->p, text, &count);
    if (!match) *ok = ouro__refuse_memory(q);
    return match;
}

uint32_t *ouro__question_page(question *q, const int64_t *keys, uint32_t count, const uint8_t *keep,
                              const paging *page, uint32_t *rows) {
    uint32_t *order =
        ouro__order(keys, count, keep, page->ascending, page->offset, page->limit, rows);
    if (!order) ouro__refuse_memory(q);
    return order;
}

void ouro__put_rows_open(question *q) { ouro__put_text(q->out, ",\"rows\":["); }

void ouro__put_rows_close(question *q, uint32_t count, uint32_t offset) {
    ouro__put_text(q->out, "]");
    ouro__put_member(q, "count", count);
    ouro__put_member(q, "offset", offset);
}

// ---------------------------------------------------------------- members

void ouro__put_integer(output *out, int64_t number) {
    if (number < 0) ouro__put(out, "-", 1);
    ouro__put_number(out, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
}

void ouro__put_member(question *q, const char *name, int64_t number) {
    ouro__put_text(q->out, ",\"");
    ouro__put_text(q->out, name);
    ouro__put_text(q->out, "\":");
    ouro__put_integer(q->out, number);
}

void ouro__put_text_member(question *q, const char *name, const char *text) {
    ouro__put_text(q->out, ",\"");
    ouro__put_text(q->out, name);
    ouro__put_text(q->out, "\":");
    ouro__put_json(q->out, text);
}

void ouro__put_calls(question *q, bool known, int64_t calls) {
    if (known) {
        ouro__put_member(q, "calls", calls);
    } else {
        ouro__put_text(q->out, ",\"calls\":null");
    }
}

// ---------------------------------------------------------------- CSV

void ouro__csv_block(question *q, uint32_t b) {
    static const block_info none = {0};
    const block_info *info = b == NO_BLOCK ? &none : &q->p->blocks[b];
    ouro__put_csv(q->out, ouro__block_name(q->p, b));
    ouro__put(q->out, ",", 1);
    ouro__put_csv(q->out, ouro__block_file(q->p, b));
    ouro__print(q->out, ",%u,%u", info->line, info->column);
}

void ouro__csv_value(question *q, int64_t value) {
    char number[48];
    ouro__print(q->out, ",%s", ouro__decimal(number, value, q->p->metrics[q->metric].decimals));
}
