// SPDX-License-Identifier: MIT
//
// Source files that the profile names, and one of them with the numbers of its lines. A line's
// overall counts each path once, however many of the line's blocks it contains.

#include "api.h"
#include "source.h"
#include "utf8.h"

#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------- files

typedef struct {
    uint32_t *group; // by block: its file's row; the last row is for blocks without a file
    uint32_t *text;  // by row
    uint32_t *lines; // by row: different lines that have blocks
    uint8_t *keep;
    uint32_t count;
    totals totals;
} file_table;

// A path has it, it has a file, and the search finds it.
static bool is_wanted(const question *q, const uint8_t *present, const uint8_t *match, uint32_t b) {
    return present[b] && q->p->blocks[b].file != 0 && (!match || match[b]);
}

static void number_files(const question *q, file_table *f, const uint8_t *present,
                         uint32_t *row_of) {
    const profile *p = q->p;
    for (uint32_t b = 0; b < p->block_count; b++) {
        uint32_t file = p->blocks[b].file;
        if (file == 0 || !present[b] || row_of[file]) continue;
        f->text[f->count++] = file;
        row_of[file] = f->count;
    }
    for (uint32_t b = 0; b < p->block_count; b++) {
        uint32_t row = row_of[p->blocks[b].file];
        f->group[b] = row ? row - 1 : f->count;
    }
}

// Blocks in the order of files and lines stand beside those of the same line.
static bool count_lines(const question *q, file_table *f, const uint8_t *present) {
    const profile *p = q->p;
    uint32_t n = q->side->profile->block_count, *sorted = malloc(((size_t)n + 1) * sizeof *sorted);
    uint32_t file = 0, line = 0;
    if (!sorted) return false;
    for (uint32_t b = 0; b < n; b++) sorted[q->side->by_file[b]] = b;
    for (uint32_t i = 0; i < n; i++) {
        const block_info *b = &p->blocks[sorted[i]];
        if (!b->file || !present[sorted[i]] || (b->file == file && b->line == line)) continue;
        file = b->file;
        line = b->line;
        f->lines[f->group[sorted[i]]]++;
    }
    free(sorted);
    return true;
}

static bool file_table_init(question *q, file_table *f, const uint8_t *match) {
    const profile *p = q->p;
    const uint8_t *present = ouro__view_present(q->view);
    size_t blocks = (size_t)p->block_count + 1;
    uint32_t *row_of = calloc((size_t)p->texts.count + 1, sizeof *row_of);
    *f = (file_table){.group = malloc(blocks * sizeof *f->group),
                      .text = malloc(blocks * sizeof *f->text),
                      .lines = calloc(blocks + 1, sizeof *f->lines),
                      .keep = calloc(blocks, 1)};
    bool ok = present && row_of && f->group && f->text && f->lines && f->keep;
    if (ok) number_files(q, f, present, row_of);
    for (uint32_t b = 0; ok && b < p->block_count; b++) {
        if (is_wanted(q, present, match, b)) f->keep[f->group[b]] = 1;
    }
    ok = ok && count_lines(q, f, present) &&
         ouro__totals(p, q->metric, f->group, f->count + 1, &f->totals);
    free(row_of);
    return ok;
}

static void file_table_free(file_table *f) {
    free(f->group);
    free(f->text);
    free(f->lines);
    free(f->keep);
    ouro__totals_free(&f->totals);
}

static void put_file(question *q, const file_table *f, uint32_t row) {
    const server_options *o = &q->api->shelf->options;
    const char *name = ouro__text(&q->p->texts, f->text[row]);
    if (q->csv) {
        ouro__put_csv(q->out, name);
        ouro__csv_value(q, f->totals.self[row]);
        ouro__csv_value(q, f->totals.overall[row]);
        ouro__print(q->out, ",%u\n", f->lines[row]);
        return;
    }
    ouro__put_text(q->out, "{\"file\":");
    ouro__put_json(q->out, name);
    ouro__put_member(q, "self", f->totals.self[row]);
    ouro__put_member(q, "overall", f->totals.overall[row]);
    ouro__put_member(q, "lines", f->lines[row]);
    ouro__print(q->out, ",\"readable\":%s}",
                ouro__source_readable(o->roots, o->root_count, name) ? "true" : "false");
}

static int by_name(const void *a, const void *b, void *user) {
    const file_table *f = ((void **)user)[0];
    const profile *p = ((void **)user)[1];
    return strcmp(ouro__text(&p->texts, f->text[*(const uint32_t *)a]),
                  ouro__text(&p->texts, f->text[*(const uint32_t *)b]));
}

// Keys for sorting by name: the place of each row. Freed by the caller.
static int64_t *name_keys(const question *q, file_table *f) {
    uint32_t *sorted = malloc(((size_t)f->count + 1) * sizeof *sorted);
    int64_t *keys = malloc(((size_t)f->count + 1) * sizeof *keys);
    void *user[] = {f, (void *)(uintptr_t)q->p};
    for (uint32_t i = 0; sorted && i < f->count; i++) sorted[i] = i;
    if (sorted) qsort_r(sorted, f->count, sizeof *sorted, by_name, user);
    for (uint32_t i = 0; sorted && keys && i < f->count; i++) keys[sorted[i]] = i;
    if (!sorted) free(keys);
    free(sorted);
    return sorted ? keys : NULL;
}

static bool put_files(question *q, file_table *f, const paging *page) {
    int64_t *by = page->column[0] == 'f' ? name_keys(q, f) : NULL;
    const int64_t *keys = page->column[0] == 's'   ? f->totals.self
                          : page->column[0] == 'o' ? f->totals.overall
                                                   : by;
    uint32_t rows, kept = 0;
    uint32_t *order = keys ? ouro__question_page(q, keys, f->count, f->keep, page, &rows) : NULL;
    for (uint32_t i = 0; i < f->count; i++) kept += f->keep[i];
    if (order && q->csv) ouro__put_text(q->out, "file,self,overall,lines\n");
    if (order && !q->csv) ouro__put_rows_open(q);
    for (uint32_t i = 0; order && i < rows; i++) {
        if (i && !q->csv) ouro__put_text(q->out, ",\n");
        put_file(q, f, order[i]);
    }
    if (order && !q->csv) ouro__put_rows_close(q, kept, page->offset);
    free(order);
    free(by);
    return order != NULL;
}

bool ouro__api_files(question *q) {
    paging page;
    bool ok;
    file_table f = {0};
    if (!ouro__question_paging(q, "self overall file ", "", &page)) return false;
    uint8_t *match = ouro__question_search(q, &ok);
    ok = ok && file_table_init(q, &f, match) && put_files(q, &f, &page);
    file_table_free(&f);
    free(match);
    return ok;
}

// ---------------------------------------------------------------- one file

typedef struct {
    uint32_t *blocks, block_count; // of the file, by line
    uint32_t *group;               // by block: its line's row; the last is for all others
    uint32_t *line;                // by row
    uint32_t count;
    totals totals;
} line_table;

static int by_line(const void *a, const void *b, void *user) {
    const profile *p = user;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (p->blocks[x].line != p->blocks[y].line)
        return p->blocks[x].line < p->blocks[y].line ? -1 : 1;
    return x < y ? -1 : x > y;
}

static bool line_table_init(question *q, uint32_t file, line_table *l) {
    const profile *p = q->p;
    const uint8_t *present = ouro__view_present(q->view);
    size_t blocks = (size_t)p->block_count + 1;
    *l = (line_table){.blocks = malloc(blocks * sizeof *l->blocks),
                      .group = malloc(blocks * sizeof *l->group),
                      .line = malloc(blocks * sizeof *l->line)};
    if (!present || !l->blocks || !l->group || !l->line) return false;
    for (uint32_t b = 0; b < p->block_count; b++) {
        if (present[b] && p->blocks[b].file == file) l->blocks[l->block_count++] = b;
    }
    qsort_r(l->blocks, l->block_count, sizeof *l->blocks, by_line, (void *)(uintptr_t)p);
    for (uint32_t i = 0; i < l->block_count; i++) {
        uint32_t line = p->blocks[l->blocks[i]].line;
        if (l->count == 0 || l->line[l->count - 1] != line) l->line[l->count++] = line;
    }
    for (uint32_t b = 0; b < p->block_count; b++) l->group[b] = l->count;
    for (uint32_t i = 0, row = 0; i < l->block_count; i++) {
        while (l->line[row] != p->blocks[l->blocks[i]].line) row++;
        l->group[l->blocks[i]] = row;
    }
    return ouro__totals(p, q->metric, l->group, l->count + 1, &l->totals);
}

static void line_table_free(line_table *l) {
    free(l->blocks);
    free(l->group);
    free(l->line);
    ouro__totals_free(&l->totals);
}

static void put_lines(question *q, const line_table *l) {
    uint32_t next = 0;
    if (!q->csv) ouro__put_rows_open(q);
    for (uint32_t row = 0; row < l->count; row++) {
        if (q->csv) {
            ouro__print(q->out, "%u", l->line[row]);
            ouro__csv_value(q, l->totals.self[row]);
            ouro__csv_value(q, l->totals.overall[row]);
            ouro__put_text(q->out, "\n");
            continue;
        }
        ouro__print(q->out, "%s{\"line\":%u", row ? ",\n" : "", l->line[row]);
        ouro__put_member(q, "self", l->totals.self[row]);
        ouro__put_member(q, "overall", l->totals.overall[row]);
        ouro__put_text(q->out, ",\"blocks\":[");
        for (bool first = true; next < l->block_count && l->group[l->blocks[next]] == row; next++) {
            if (!first) ouro__put_text(q->out, ",");
            first = false;
            ouro__put_block(q, l->blocks[next]);
        }
        ouro__put_text(q->out, "]}");
    }
    if (!q->csv) ouro__put_rows_close(q, l->count, 0);
}

static void put_text_lines(question *q, char *text) {
    ouro__put_text(q->out, ",\"text\":[");
    for (char *next; *text; text = next) {
        next = strchr(text, '\n');
        if (next) *next++ = '\0';
        size_t length = strlen(text);
        if (length && text[length - 1] == '\r') text[length - 1] = '\0';
        ouro__put_json(q->out, text);
        if (!next || !*next) break;
        ouro__put_text(q->out, ",\n");
    }
    ouro__put_text(q->out, "],\"reason\":null");
}

static void put_text(question *q, const char *name) {
    const server_options *o = &q->api->shelf->options;
    const char *reason;
    size_t size;
    char *text = ouro__source_read(o->roots, o->root_count, name, &size, &reason);
    if (!text) {
        ouro__put_text(q->out, ",\"text\":null");
        ouro__put_text_member(q, "reason", reason);
        return;
    }
    bool binary = strlen(text) != size;
    if (binary) ouro__put_text(q->out, ",\"text\":null,\"reason\":\"it is not text\"");
    if (!binary) put_text_lines(q, text);
    free(text);
}

// The file that a block names and that looks like this; 0: none does.
static uint32_t find_file(const question *q, const char *wanted) {
    const profile *p = q->p;
    uint32_t last = 0;
    for (uint32_t b = 0; b < p->block_count; b++) {
        uint32_t file = p->blocks[b].file;
        if (!file || file == last) continue;
        last = file;
        const char *name = ouro__text(&p->texts, file);
        if (strcmp(name, wanted) == 0) return file;
        char *clean = strstr(wanted, OURO_REPLACEMENT) ? ouro__utf8_clean(name) : NULL;
        bool same = clean && strcmp(clean, wanted) == 0;
        free(clean);
        if (same) return file;
    }
    return 0;
}

bool ouro__api_source(question *q) {
    const char *wanted = ouro__request_value(q->request, "file");
    if (!wanted) return ouro__refuse(q, 400, "no-file", "source needs file=");
    uint32_t file = find_file(q, wanted);
    if (!file) return ouro__refuse(q, 404, "no-such-file", "the profile names no such file");
    line_table l;
    bool ok = line_table_init(q, file, &l);
    if (ok && q->csv) ouro__put_text(q->out, "line,self,overall\n");
    if (ok && !q->csv) ouro__put_text_member(q, "file", wanted);
    if (ok) put_lines(q, &l);
    if (ok && !q->csv) put_text(q, ouro__text(&q->p->texts, file));
    line_table_free(&l);
    return ok;
}
