// SPDX-License-Identifier: MIT
//
// Tables from their columns. Keys are made per request, in one pass; the page is the top of a
// heap, so a table of a million rows is never sorted for its first hundred.

#include "table.h"

#include "format.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT_USUAL = 100, LIMIT_MOST = 1000, LIMIT_CSV = 100000 };

// ---------------------------------------------------------------- JSON

static void json_row(question *q, const table *t, uint32_t row);

void ouro__write_known(question *q, const char *name, int64_t number) {
    if (number == NOT_KNOWN) return ouro__write_null(&q->json, name);
    ouro__write_integer(&q->json, name, number);
}

static void json_blocks(question *q, const char *name, block_list list) {
    ouro__write_array(&q->json, name);
    for (uint32_t i = 0; i < list.count; i++) ouro__write_block(q, NULL, list.blocks[i]);
    ouro__write_end(&q->json);
}

static void json_rows(question *q, const char *name, const table *t) {
    ouro__write_array(&q->json, name);
    for (uint32_t i = 0; i < t->count; i++) json_row(q, t, i);
    ouro__write_end(&q->json);
}

static void json_cell(question *q, const char *name, const table *t, const column *c,
                      uint32_t row) {
    switch (c->kind) {
    case COLUMN_BLOCK:
        return ouro__write_block(q, name, (uint32_t)c->number(t->of, row));
    case COLUMN_VALUE:
    case COLUMN_COUNT:
        return ouro__write_known(q, name, c->number(t->of, row));
    case COLUMN_FLAG:
        return ouro__write_bool(&q->json, name, c->number(t->of, row));
    case COLUMN_TEXT:
        return ouro__write_text(&q->json, name, c->text(t->of, row));
    case COLUMN_BLOCKS:
        return json_blocks(q, name, c->blocks(t->of, row));
    case COLUMN_ROWS: {
        table inner = c->rows(t->of, row);
        json_rows(q, name, &inner);
    }
    }
}

static void json_row(question *q, const table *t, uint32_t row) {
    ouro__write_object(&q->json, NULL);
    for (const column *c = t->columns; c->name; c++) {
        if (c->where & IN_JSON) json_cell(q, c->name, t, c, row);
    }
    ouro__write_end(&q->json);
}

void ouro__table_column(question *q, const table *t, const column *c) {
    ouro__write_array(&q->json, c->name);
    for (uint32_t row = 0; row < t->count; row++) json_cell(q, NULL, t, c, row);
    ouro__write_end(&q->json);
}

// ---------------------------------------------------------------- CSV

static void csv_block(question *q, uint32_t b) {
    static const block_info none = {0};
    const block_info *info = b == NO_BLOCK ? &none : &q->p->blocks[b];
    ouro__put_csv(q->out, ouro__block_name(q->p, b));
    ouro__put(q->out, ",", 1);
    ouro__put_csv(q->out, ouro__block_file(q->p, b));
    ouro__print(q->out, ",%u,%u", info->line, info->column);
}

// f;g;(7 more);h
static void csv_blocks(question *q, block_list list) {
    output *names = ouro__output_memory();
    for (uint32_t i = 0; names && i < list.count; i++) {
        if (i) ouro__put(names, ";", 1);
        if (list.skipped && i == list.count / 2) ouro__print(names, "(%u more);", list.skipped);
        ouro__put_text(names, ouro__block_name(q->p, list.blocks[i]));
    }
    size_t size;
    char *joined = names ? ouro__output_take(names, &size, NULL) : NULL;
    if (joined) ouro__put_csv(q->out, joined);
    if (!joined) ouro__output_fail_memory(q->out);
    free(joined);
}

static void csv_number(question *q, int64_t number, uint32_t decimals) {
    char digits[DECIMAL_ROOM];
    if (number != NOT_KNOWN) ouro__put_text(q->out, ouro__decimal(digits, number, decimals));
}

static void csv_cell(question *q, const table *t, const column *c, uint32_t row) {
    switch (c->kind) {
    case COLUMN_BLOCK:
        return csv_block(q, (uint32_t)c->number(t->of, row));
    case COLUMN_VALUE:
        return csv_number(q, c->number(t->of, row), t->decimals);
    case COLUMN_COUNT:
        return csv_number(q, c->number(t->of, row), 0);
    case COLUMN_TEXT:
        return ouro__put_csv(q->out, c->text(t->of, row) ? c->text(t->of, row) : "");
    case COLUMN_BLOCKS:
        return csv_blocks(q, c->blocks(t->of, row));
    case COLUMN_FLAG:
    case COLUMN_ROWS:
        assert(!"a kind that CSV has");
    }
}

static void csv_row(question *q, const table *t, uint32_t row) {
    const char *between = "";
    for (const column *c = t->columns; c->name; c++) {
        if (!(c->where & IN_CSV)) continue;
        ouro__put_text(q->out, between);
        csv_cell(q, t, c, row);
        between = ",";
    }
    ouro__put(q->out, "\n", 1);
}

void ouro__table_head(question *q, const column *columns) {
    const char *between = "";
    if (!q->csv) return;
    for (const column *c = columns; c->name; c++) {
        if (!(c->where & IN_CSV)) continue;
        bool block = c->kind == COLUMN_BLOCK;
        ouro__print(q->out, "%s%s", between, block ? "name,file,line,column" : c->name);
        between = ",";
    }
    ouro__put(q->out, "\n", 1);
}

// ---------------------------------------------------------------- both

void ouro__table_rows(question *q, const char *name, const table *t, const uint32_t *rows,
                      uint32_t count) {
    if (!q->csv) ouro__write_rows(&q->json, name);
    for (uint32_t i = 0; i < count; i++) (q->csv ? csv_row : json_row)(q, t, rows ? rows[i] : i);
    if (!q->csv) ouro__write_end(&q->json);
}

void ouro__table_foot(question *q, uint32_t kept, uint32_t offset) {
    if (q->csv) return;
    ouro__write_integer(&q->json, "count", kept);
    ouro__write_integer(&q->json, "offset", offset);
}

bool ouro__table_answer(question *q, const table *t) {
    page p;
    if (!ouro__table_page(q, t, "", &p)) return false;
    ouro__table_head(q, t->columns);
    ouro__table_rows(q, "rows", t, p.rows, p.count);
    ouro__table_foot(q, p.kept, p.offset);
    free(p.rows);
    return true;
}

// ---------------------------------------------------------------- order

typedef struct {
    const table *table;
    const column *column;
} text_order;

static int by_text(const void *a, const void *b, void *user) {
    const text_order *order = user;
    void *of = order->table->of;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int way = 0;
    for (const column *c = order->column; !way && c->name && c->kind == COLUMN_TEXT; c++)
        way = strcmp(c->text(of, x), c->text(of, y));
    return way ? way : x < y ? -1 : x > y;
}

// keys[i]: the rank of row i in alphabetical order.
static bool rank_texts(const table *t, const column *c, int64_t *keys) {
    uint32_t *sorted = malloc(((size_t)t->count + 1) * sizeof *sorted);
    if (!sorted) return false;
    for (uint32_t i = 0; i < t->count; i++) sorted[i] = i;
    qsort_r(sorted, t->count, sizeof *sorted, by_text, &(text_order){t, c});
    for (uint32_t i = 0; i < t->count; i++) keys[sorted[i]] = i;
    free(sorted);
    return true;
}

// A column that the profile does not know orders nothing: the usual one does then.
static bool make_keys(const table *t, const column *c, int64_t *keys) {
    if (c->kind == COLUMN_TEXT) return rank_texts(t, c, keys);
    bool known = false;
    for (uint32_t i = 0; !known && i < t->count; i++) known = c->number(t->of, i) != NOT_KNOWN;
    if (!known) c = t->usual;
    for (uint32_t i = 0; i < t->count; i++) keys[i] = c->number(t->of, i);
    return true;
}

uint32_t ouro__count_kept(const uint8_t *keep, uint32_t count) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) kept += keep[i] != 0;
    return kept;
}

// ---------------------------------------------------------------- pages

static bool refuse_sort(question *q, const column *columns) {
    char names[256] = "";
    for (const column *c = columns; c->name; c++) {
        size_t used = strlen(names);
        if (c->where & SORTS)
            snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", c->name);
    }
    return ouro__refuse(q, 400, "bad-sort", "sort is one of %s; - in front for descending", names);
}

static bool read_sort(question *q, const table *t, const column **by, bool *ascending) {
    const char *sort = ouro__request_value(q->request, "sort");
    bool sorts = false;
    *by = t->usual;
    *ascending = false;
    for (const column *c = t->columns; sort && c->name; c++) {
        if (!(c->where & SORTS)) continue;
        sorts = true;
        if (strcmp(c->name, sort + (sort[0] == '-')) != 0) continue;
        *by = c;
        *ascending = sort[0] != '-';
        return true;
    }
    return !sorts || refuse_sort(q, t->columns);
}

static bool read_limits(question *q, const char *prefix, uint32_t *offset, uint32_t *limit) {
    char offset_name[32], limit_name[32];
    snprintf(offset_name, sizeof offset_name, "%soffset", prefix);
    snprintf(limit_name, sizeof limit_name, "%slimit", prefix);
    uint32_t most = q->csv ? LIMIT_CSV : LIMIT_MOST, usual = q->csv ? LIMIT_CSV : LIMIT_USUAL;
    if (!ouro__request_number(q->request, offset_name, 0, UINT32_MAX, 0, offset))
        return ouro__refuse(q, 400, "bad-number", "%s is a whole number from 0 on", offset_name);
    if (!ouro__request_number(q->request, limit_name, 0, most, usual, limit))
        return ouro__refuse(q, 400, "bad-number", "%s is a whole number from 0 to %u", limit_name,
                            most);
    return true;
}

bool ouro__table_page(question *q, const table *t, const char *prefix, page *to) {
    uint32_t limit;
    const column *by;
    bool ascending;
    *to = (page){.kept = t->keep ? ouro__count_kept(t->keep, t->count) : t->count};
    if (!read_limits(q, prefix, &to->offset, &limit) || !read_sort(q, t, &by, &ascending))
        return false;
    int64_t *keys = malloc(((size_t)t->count + 1) * sizeof *keys);
    if (keys && make_keys(t, by, keys))
        to->rows = ouro__order(keys, t->count, t->keep, ascending, to->offset, limit, &to->count);
    free(keys);
    return to->rows != NULL;
}
