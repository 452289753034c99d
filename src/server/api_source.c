// SPDX-License-Identifier: MIT
//
// Source files that the profile names, and one of them with the numbers of its lines. A line's
// overall counts each path once, however many of the line's blocks it contains.

#include "source.h"
#include "table.h"
#include "utf8.h"

#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------- maps

// The rules of the server, with the maps of the request before its own. false: refused, or out of
// memory. The maps are freed by the caller.
static bool take_rules(question *q, source_rules *rules) {
    const request *r = q->request;
    *rules = q->api->shelf->options.sources;
    const char **maps =
        malloc((ouro__request_count(r, "map") + rules->map_count + 1) * sizeof *maps);
    size_t count = 0;
    for (size_t i = 0; maps && i < r->count; i++) {
        if (strcmp(r->parameters[i].name, "map") != 0) continue;
        maps[count++] = r->parameters[i].value;
        if (ouro__is_source_map(maps[count - 1])) continue;
        free(maps);
        rules->maps = NULL;
        return ouro__refuse(q, 400, "bad-map", "map is FROM=TO, like /build/x=.");
    }
    for (size_t i = 0; maps && i < rules->map_count; i++) maps[count++] = rules->maps[i];
    rules->maps = maps;
    rules->map_count = count;
    return maps != NULL;
}

static void free_rules(source_rules *rules) { free((void *)(uintptr_t)rules->maps); }

// ---------------------------------------------------------------- files

typedef struct {
    const question *q;
    const source_rules *rules;
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

// Counts the lines that have blocks. In the order of files and lines, the blocks of one line
// are neighbours.
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
    *f = (file_table){.q = q,
                      .group = malloc(blocks * sizeof *f->group),
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

static const char *file_name(void *of, uint32_t row) {
    const file_table *f = of;
    return ouro__text(&f->q->p->texts, f->text[row]);
}
static int64_t file_self(void *of, uint32_t row) { return ((file_table *)of)->totals.self[row]; }
static int64_t file_overall(void *of, uint32_t row) {
    return ((file_table *)of)->totals.overall[row];
}
static int64_t file_lines(void *of, uint32_t row) { return ((file_table *)of)->lines[row]; }
static int64_t file_readable(void *of, uint32_t row) {
    return ouro__source_readable(((file_table *)of)->rules, file_name(of, row));
}

static const column file_columns[] = {
    {"file", COLUMN_TEXT, IN_JSON | IN_CSV | SORTS, .text = file_name},
    {"self", COLUMN_VALUE, IN_JSON | IN_CSV | SORTS, .number = file_self},
    {"overall", COLUMN_VALUE, IN_JSON | IN_CSV | SORTS, .number = file_overall},
    {"lines", COLUMN_COUNT, IN_JSON | IN_CSV, .number = file_lines},
    {"readable", COLUMN_FLAG, IN_JSON, .number = file_readable},
    {0},
};

bool ouro__api_files(question *q) {
    bool ok;
    file_table f = {0};
    source_rules rules;
    if (!take_rules(q, &rules)) return false;
    uint8_t *match = ouro__question_search(q, &ok);
    ok = ok && file_table_init(q, &f, match);
    f.rules = &rules;
    table t = {.columns = file_columns,
               .usual = &file_columns[1],
               .of = &f,
               .count = f.count,
               .keep = f.keep,
               .decimals = q->p->metrics[q->metric].decimals};
    ok = ok && ouro__table_answer(q, &t);
    file_table_free(&f);
    free_rules(&rules);
    free(match);
    return ok;
}

// ---------------------------------------------------------------- one file

typedef struct {
    uint32_t *blocks, block_count; // of the file, by line
    uint32_t *group;               // by block: its line's row; the last is for all others
    uint32_t *line;                // by row
    uint32_t *first;               // by row, and one more: its first block in `blocks`
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

// The blocks of the file, by line.
static void find_blocks(const profile *p, const uint8_t *present, uint32_t file, line_table *l) {
    for (uint32_t b = 0; b < p->block_count; b++) {
        if (present[b] && p->blocks[b].file == file) l->blocks[l->block_count++] = b;
    }
    qsort_r(l->blocks, l->block_count, sizeof *l->blocks, by_line, (void *)(uintptr_t)p);
}

// A row per line that has blocks.
static void find_lines(const profile *p, line_table *l) {
    for (uint32_t i = 0; i < l->block_count; i++) {
        uint32_t b = l->blocks[i], line = p->blocks[b].line;
        if (l->count == 0 || l->line[l->count - 1] != line) {
            l->first[l->count] = i;
            l->line[l->count++] = line;
        }
        l->group[b] = l->count - 1;
    }
    l->first[l->count] = l->block_count;
}

static bool line_table_init(question *q, uint32_t file, line_table *l) {
    const profile *p = q->p;
    const uint8_t *present = ouro__view_present(q->view);
    size_t blocks = (size_t)p->block_count + 1;
    *l = (line_table){.blocks = malloc(blocks * sizeof *l->blocks),
                      .group = malloc(blocks * sizeof *l->group),
                      .line = malloc(blocks * sizeof *l->line),
                      .first = malloc(blocks * sizeof *l->first)};
    if (!present || !l->blocks || !l->group || !l->line || !l->first) return false;
    for (uint32_t b = 0; b < p->block_count; b++) l->group[b] = UINT32_MAX;
    find_blocks(p, present, file, l);
    find_lines(p, l);
    for (uint32_t b = 0; b < p->block_count; b++) {
        if (l->group[b] == UINT32_MAX) l->group[b] = l->count;
    }
    return ouro__totals(p, q->metric, l->group, l->count + 1, &l->totals);
}

static void line_table_free(line_table *l) {
    free(l->blocks);
    free(l->group);
    free(l->line);
    free(l->first);
    ouro__totals_free(&l->totals);
}

static int64_t line_number(void *of, uint32_t row) { return ((line_table *)of)->line[row]; }
static int64_t line_self(void *of, uint32_t row) { return ((line_table *)of)->totals.self[row]; }
static int64_t line_overall(void *of, uint32_t row) {
    return ((line_table *)of)->totals.overall[row];
}
static block_list line_blocks(void *of, uint32_t row) {
    const line_table *l = of;
    return (block_list){l->blocks + l->first[row], l->first[row + 1] - l->first[row], 0};
}

static const column line_columns[] = {
    {"line", COLUMN_COUNT, IN_JSON | IN_CSV, .number = line_number},
    {"self", COLUMN_VALUE, IN_JSON | IN_CSV, .number = line_self},
    {"overall", COLUMN_VALUE, IN_JSON | IN_CSV, .number = line_overall},
    {"blocks", COLUMN_BLOCKS, IN_JSON, .blocks = line_blocks},
    {0},
};

static void write_lines(question *q, char *text) {
    ouro__write_rows(&q->json, "text");
    for (char *next; *text; text = next) {
        next = strchr(text, '\n');
        if (next) *next++ = '\0';
        size_t length = strlen(text);
        if (length && text[length - 1] == '\r') text[length - 1] = '\0';
        ouro__write_text(&q->json, NULL, text);
        if (!next) break;
    }
    ouro__write_end(&q->json);
}

// The lines of the file, or why they cannot be shown.
static void write_source(question *q, const source_rules *rules, const char *name) {
    const char *reason;
    size_t size;
    char *text = ouro__source_read(rules, name, &size, &reason);
    if (text) reason = strlen(text) == size ? NULL : "it is not text";
    if (reason) ouro__write_null(&q->json, "text");
    if (!reason) write_lines(q, text);
    ouro__write_text(&q->json, "reason", reason);
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
    source_rules rules;
    if (!take_rules(q, &rules)) return false;
    bool ok = line_table_init(q, file, &l);
    if (ok) {
        table t = {.columns = line_columns,
                   .of = &l,
                   .count = l.count,
                   .decimals = q->p->metrics[q->metric].decimals};
        if (!q->csv) ouro__write_text(&q->json, "file", wanted);
        ouro__table_head(q, t.columns);
        ouro__table_rows(q, "rows", &t, NULL, t.count);
        ouro__table_foot(q, t.count, 0);
        if (!q->csv) write_source(q, &rules, ouro__text(&q->p->texts, file));
    }
    line_table_free(&l);
    free_rules(&rules);
    return ok;
}
