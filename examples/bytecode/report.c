// SPDX-License-Identifier: MIT
//
// A profile as an indented tree. Ouro visits parents before children, so rows arrive in the order
// in which they are printed. The overall of a path includes all paths below it: one backward pass
// adds each row to its parent, which is complete when its own turn comes.

#include "bytecode.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INDENT = 2, BAR_WIDTH = 10 };

typedef struct {
    char name[48], where[48];
    size_t depth, parent; // parent: the number of a row, its own if it has none
    uint64_t calls, recursions, self, overall;
    bool special; // [pruned] or [lost]
} row;

typedef struct {
    ouro_profile *profile;
    row *rows;
    size_t count, capacity;
    uint64_t total;
    int path_width;
    bool failed, coloured;
} report;

static const char bold[] = "1", dim[] = "2", arrow[] = "36", warm[] = "33", danger[] = "31";

// ---------------------------------------------------------------- rows

static bool make_room(report *r) {
    if (r->count < r->capacity) return true;
    size_t capacity = r->capacity ? 2 * r->capacity : 64;
    row *rows = realloc(r->rows, capacity * sizeof *rows);
    r->failed |= !rows;
    if (!rows) return false;
    r->rows = rows;
    r->capacity = capacity;
    return true;
}

static size_t find_parent(const report *r, size_t depth) {
    size_t i = r->count;
    if (i == 0) return i;
    for (i--; r->rows[i].depth >= depth; i = r->rows[i].parent) {
        if (r->rows[i].parent == i) return r->count;
    }
    return i;
}

static void describe(const report *r, ouro_block block, row *to) {
    ouro_block_info info = {"[root]", "", 0, 0};
    if (block != OURO_PHANTOM) ouro_block_get(r->profile, block, &info);
    const char *slash = strrchr(info.file, '/');
    snprintf(to->name, sizeof to->name, "%s", info.name);
    snprintf(to->where, sizeof to->where, "%s", slash ? slash + 1 : info.file);
    size_t used = strlen(to->where);
    if (info.line) snprintf(to->where + used, sizeof to->where - used, ":%u", info.line);
}

static void collect(void *user, const ouro_visit *visit) {
    report *r = user;
    if (!make_room(r)) return;
    // A [pruned] account has the path of its node, and is shown below it.
    size_t depth = visit->length + visit->pruned;
    ouro_block block = visit->length ? visit->path[visit->length - 1] : OURO_PHANTOM;
    if (visit->pruned) block = OURO_PRUNED;
    row *to = &r->rows[r->count];
    *to = (row){.depth = depth,
                .parent = find_parent(r, depth),
                .calls = visit->calls,
                .recursions = visit->recursions,
                .self = visit->metrics[0],
                .overall = visit->metrics[0],
                .special = block == OURO_PRUNED || block == OURO_LOST};
    describe(r, block, to);
    r->count++;
}

static void add_up(report *r) {
    for (size_t i = r->count; i-- > 0;) {
        row *at = &r->rows[i];
        int width = (int)at->depth * INDENT + (int)strlen(at->name);
        if (width > r->path_width) r->path_width = width;
        if (at->parent != i) r->rows[at->parent].overall += at->overall;
        r->total += at->self;
    }
}

// ---------------------------------------------------------------- lines

// NULL: no colour.
__attribute__((format(printf, 3, 4))) static void paint(const report *r, const char *colour,
                                                        const char *format, ...) {
    va_list arguments;
    bool coloured = r->coloured && colour;
    if (coloured) printf("\033[%sm", colour);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    if (coloured) printf("\033[0m");
}

const char *grouped(uint64_t n, char text[32]) {
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n), used = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) text[used++] = ',';
        text[used++] = digits[i];
    }
    text[used] = '\0';
    return text;
}

// The bar is drawn in eighths of a cell.
static void print_bar_and_where(const report *r, const row *row) {
    static const char *const parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    double share = r->total ? (double)row->overall / (double)r->total : 0;
    int eighths = (int)(share * BAR_WIDTH * 8 + 0.5), cells = (eighths + 7) / 8;
    char bar[BAR_WIDTH * 3 + 1] = "";
    for (int i = 0; i < eighths / 8; i++) strcat(bar, "█");
    strcat(bar, parts[eighths % 8]);
    paint(r, share >= 0.2 ? warm : NULL, "  %s", bar);
    if (*row->where) paint(r, dim, "%*s  %s", BAR_WIDTH - cells, "", row->where);
}

static void print_counts(const report *r, const row *row) {
    char text[32];
    printf("%10s", grouped(row->calls, text));
    grouped(row->recursions, text);
    printf("%*s", row->recursions ? 11 - (int)strlen(text) : 13, "");
    if (row->recursions) paint(r, arrow, "↻ %s", text);
    printf("%12s", grouped(row->self, text));
    printf("%8.1f%%", r->total ? 100 * (double)row->overall / (double)r->total : 0.0);
}

static void print_row(const report *r, const row *row) {
    int indent = row->depth ? (int)(row->depth - 1) * INDENT : 0;
    printf("  %*s", indent, "");
    paint(r, row->special ? danger : bold, "%s", row->name);
    printf("%*s", r->path_width - indent - (int)strlen(row->name), "");
    print_counts(r, row);
    print_bar_and_where(r, row);
    printf("\n");
}

static void print_total(const report *r) {
    row total = {.name = "total", .depth = 1, .self = r->total, .overall = r->total};
    for (size_t i = 0; i < r->count; i++) {
        total.calls += r->rows[i].calls;
        total.recursions += r->rows[i].recursions;
    }
    paint(r, dim, "  %-*s", r->path_width, total.name);
    print_counts(r, &total);
    paint(r, dim, "  of instructions\n");
}

bool report_print(ouro_profile *profile) {
    report r = {.profile = profile, .coloured = isatty(STDOUT_FILENO) && !getenv("NO_COLOR")};
    bool ok = ouro_profile_visit(profile, collect, &r) == 0 && !r.failed;
    if (ok) {
        add_up(&r);
        paint(&r, dim, "  %-*s%10s%13s%12s%9s\n", r.path_width, "path", "calls", "recursions",
              "self", "overall");
        for (size_t i = 0; i < r.count; i++) print_row(&r, &r.rows[i]);
        print_total(&r);
        paint(&r, arrow, "\n  ↻ ");
        paint(&r, dim, "calls that led back to a path already there; overall: with all below\n");
    }
    free(r.rows);
    return ok;
}
