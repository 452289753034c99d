// SPDX-License-Identifier: MIT
//
// Text for people: aligned tables, bars and colours. Names may hold anything, so every line and
// every cell is cleaned by printable.h before it is measured. Widths are those that a terminal
// gives UTF-8, so that wide names do not shift columns. Colours and bars only if standard output is
// a terminal.

#include "cli.h"

#include "printable.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

enum { BAR_WIDTH = 20 };

size_t text_width(const char *text) {
    size_t width = 0;
    mbstate_t state = {0};
    while (*text) {
        wchar_t c;
        size_t n = mbrtowc(&c, text, MB_CUR_MAX, &state);
        if (n == (size_t)-1 || n == (size_t)-2) {
            state = (mbstate_t){0};
            n = 1;
            c = L'?';
        }
        int columns = wcwidth(c); // below 0: not assigned; a terminal shows a box
        width += columns >= 0 ? (size_t)columns : 1;
        text += n ? n : 1;
    }
    return width;
}

// ---------------------------------------------------------------- numbers

void format_percent(char text[static AMOUNT_ROOM], int64_t part, int64_t whole) {
    double percent = whole ? 100.0 * (double)part / (double)whole : 0;
    if (percent > -0.005 && percent <= 0) percent = 0; // not -0.00%
    snprintf(text, AMOUNT_ROOM, "%.2f%%", percent);
}

// ---------------------------------------------------------------- tables

struct table {
    const options *options;
    output *out;
    char **cells;
    size_t *row_end; // cells of the rows up to and with each
    size_t cell_count, cell_room, row_count, row_room;
    bool has_heading;
};

static bool on_terminal(void) { return isatty(STDOUT_FILENO); }

bool colours_wanted(const options *o) {
    if (strcmp(o->colour, "auto") != 0) return strcmp(o->colour, "always") == 0;
    const char *no = secure_getenv("NO_COLOR"), *terminal = secure_getenv("TERM");
    return on_terminal() && !(no && *no) && terminal && strcmp(terminal, "dumb") != 0;
}

table *table_new(const options *o, output *out) {
    table *t = calloc(1, sizeof *t);
    if (!t) fail_memory();
    t->options = o;
    t->out = out;
    return t;
}

// The text, as a terminal may get it. Freed by the caller.
static char *cleaned(const char *pattern, va_list arguments) {
    char *text = NULL;
    if (vasprintf(&text, pattern, arguments) < 0) fail_memory();
    char *clean = ouro__printable(text);
    if (!clean) fail_memory();
    free(text);
    return clean;
}

void table_cell(table *t, const char *pattern, ...) {
    if (t->cell_count == t->cell_room) {
        t->cell_room = t->cell_room ? t->cell_room * 2 : 256;
        t->cells = realloc(t->cells, t->cell_room * sizeof *t->cells);
        if (!t->cells) fail_memory();
    }
    va_list arguments;
    va_start(arguments, pattern);
    t->cells[t->cell_count++] = cleaned(pattern, arguments);
    va_end(arguments);
}

void table_bar(table *t, double share) {
    if (!colours_wanted(t->options)) return;
    char bar[BAR_WIDTH * 3 + 1] = "";
    int eighths = share > 0 ? (int)(share * BAR_WIDTH * 8 + 0.5) : 0;
    if (eighths > BAR_WIDTH * 8) eighths = BAR_WIDTH * 8;
    char *at = bar;
    for (; eighths >= 8; eighths -= 8) at = stpcpy(at, "\xe2\x96\x88");
    if (eighths) sprintf(at, "\xe2\x96%c", (char)(0x90 - eighths));
    // Padded on the right, since cells are set to the right.
    table_cell(t, "%s%*s", bar, (int)(BAR_WIDTH - text_width(bar)), "");
}

void table_row_end(table *t) {
    if (t->row_count == t->row_room) {
        t->row_room = t->row_room ? t->row_room * 2 : 64;
        t->row_end = realloc(t->row_end, t->row_room * sizeof *t->row_end);
        if (!t->row_end) fail_memory();
    }
    t->row_end[t->row_count++] = t->cell_count;
}

void table_heading_end(table *t) {
    table_row_end(t);
    t->has_heading = true;
}

// What fits into `room` columns, an ellipsis where it is cut.
static void put_clipped(output *out, const char *text, size_t room) {
    if (text_width(text) <= room) {
        ouro__put_text(out, text);
        return;
    }
    char *copy = strdup(text);
    if (!copy) fail_memory();
    size_t length = strlen(copy);
    while (length > 0 && text_width(copy) + 1 > room) {
        do length--;
        while (length > 0 && (copy[length] & 0xc0) == 0x80);
        copy[length] = '\0';
    }
    ouro__put_text(out, copy);
    ouro__put_text(out, "\xe2\x80\xa6");
    free(copy);
}

static size_t terminal_width(void) {
    struct winsize size;
    if (!on_terminal() || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 20)
        return SIZE_MAX;
    return size.ws_col;
}

static void put_row(const table *t, size_t row, const size_t *widths, size_t columns,
                    size_t screen) {
    size_t first = row ? t->row_end[row - 1] : 0, count = t->row_end[row] - first, used = 0;
    bool bold = row == 0 && t->has_heading && colours_wanted(t->options);
    if (bold) ouro__put_text(t->out, "\033[1m");
    for (size_t i = 0; i < count; i++) {
        const char *cell = t->cells[first + i];
        bool last = i + 1 == columns;
        size_t pad = last ? 0 : widths[i] - text_width(cell);
        ouro__print(t->out, "%*s", (int)(pad + 2), "");
        used += pad + 2;
        put_clipped(t->out, cell, last && screen > used ? screen - used : SIZE_MAX);
        used += text_width(cell);
    }
    ouro__put_text(t->out, bold ? "\033[0m\n" : "\n");
}

void table_end(table *t) {
    size_t columns = 0;
    for (size_t r = 0; r < t->row_count; r++) {
        size_t count = t->row_end[r] - (r ? t->row_end[r - 1] : 0);
        columns = count > columns ? count : columns;
    }
    size_t *widths = calloc(columns + 1, sizeof *widths), screen = terminal_width();
    if (!widths) fail_memory();
    for (size_t r = 0; r < t->row_count; r++) {
        size_t first = r ? t->row_end[r - 1] : 0;
        for (size_t i = first; i < t->row_end[r]; i++) {
            size_t width = text_width(t->cells[i]);
            if (width > widths[i - first]) widths[i - first] = width;
        }
    }
    for (size_t r = 0; r < t->row_count; r++) put_row(t, r, widths, columns, screen);
    for (size_t i = 0; i < t->cell_count; i++) free(t->cells[i]);
    free(widths);
    free(t->cells);
    free(t->row_end);
    free(t);
}

// ---------------------------------------------------------------- output

void amount_cells(table *t, const loaded *l, int64_t value, int64_t left) {
    char text[AMOUNT_ROOM];
    ouro__amount(text, l->profile, l->metric, value, l->total);
    table_cell(t, "%s", text);
    format_percent(text, value, l->total);
    table_cell(t, "%s", text);
    if (!l->filtered) return;
    format_percent(text, value, left);
    table_cell(t, "%s", text);
}

void put_line(output *out, const char *pattern, ...) {
    va_list arguments;
    va_start(arguments, pattern);
    char *text = cleaned(pattern, arguments);
    va_end(arguments);
    ouro__put_text(out, text);
    ouro__put_text(out, "\n");
    free(text);
}

void put_heading(const options *o, output *out, const char *pattern, ...) {
    va_list arguments;
    va_start(arguments, pattern);
    char *text = cleaned(pattern, arguments);
    va_end(arguments);
    bool bold = colours_wanted(o);
    ouro__print(out, bold ? "\033[1m%s\033[0m\n" : "%s\n", text);
    free(text);
}

output *stdout_open(void) {
    error e = {0};
    output *out = ouro__output_open("-", false, &e);
    if (!out) fail_with("standard output", &e);
    return out;
}

void stdout_close(output *out) {
    error e = {0};
    if (!ouro__output_close(out, true, &e)) fail_with("standard output", &e);
}
