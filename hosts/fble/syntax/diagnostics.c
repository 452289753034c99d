// SPDX-License-Identifier: MIT
//
// Collects messages and shows them: the location and the text on one line, so that editors and
// tests can read it, then the source line with a caret, then a hint if there is one. Long source
// lines (a literal may have a million letters) are cut to a window around the caret.

#include "diagnostics.h"

#include <stdlib.h>
#include <string.h>

enum { WINDOW = 100, MOST_SHOWN = 100 };

struct fble_diagnostic *fble_report(struct fble_diagnostics *all, enum fble_severity severity,
                                    const struct fble_unit *unit, struct fble_loc loc,
                                    const char *format, ...) {
    struct fble_diagnostic *d = fble_alloc(all->arena, sizeof *d);
    va_list arguments;
    va_start(arguments, format);
    d->message = fble_vformat(all->arena, format, arguments);
    va_end(arguments);
    d->severity = severity;
    d->unit = unit;
    d->loc = loc;
    d->order = all->count++;
    *(all->last ? all->last : &all->first) = d;
    all->last = &d->next;
    if (severity == FBLE_ERROR)
        all->errors++;
    else
        all->warnings++;
    return d;
}

void fble_hint(struct fble_diagnostics *all, struct fble_diagnostic *diagnostic, const char *format,
               ...) {
    va_list arguments;
    va_start(arguments, format);
    diagnostic->hint = fble_vformat(all->arena, format, arguments);
    va_end(arguments);
}

// While sorting, `order` of a file's first message stands in for the file.
struct sortable {
    struct fble_diagnostic *d;
    uint32_t file;
};

static int compare(const void *x, const void *y) {
    const struct sortable *a = x, *b = y;
    if (a->file != b->file) return a->file < b->file ? -1 : 1;
    if (a->d->loc.line != b->d->loc.line) return a->d->loc.line < b->d->loc.line ? -1 : 1;
    if (a->d->loc.column != b->d->loc.column) return a->d->loc.column < b->d->loc.column ? -1 : 1;
    return a->d->order < b->d->order ? -1 : 1;
}

void fble_diagnostics_sort(struct fble_diagnostics *all) {
    if (all->count < 2) return;
    struct sortable *list = fble_alloc(all->arena, all->count * sizeof *list);
    struct fble_pairs first_of = {0};
    uint32_t n = 0;
    for (struct fble_diagnostic *d = all->first; d; d = d->next) {
        void **first = fble_pair(all->arena, &first_of, d->unit, NULL);
        if (!*first) *first = d;
        list[n++] = (struct sortable){d, ((struct fble_diagnostic *)*first)->order};
    }
    qsort(list, n, sizeof *list, compare);
    struct fble_diagnostic **link = &all->first;
    for (uint32_t i = 0; i < n; i++) {
        *link = list[i].d;
        link = &list[i].d->next;
    }
    *link = NULL;
    all->last = link;
}

// The line, without its end; its length is 0 if there is no such line.
static const char *source_line(const struct fble_unit *unit, uint32_t line, size_t *length) {
    *length = 0;
    if (!unit->text || !line) return NULL;
    const char *at = unit->text, *end = at + unit->length;
    for (uint32_t i = 1; i < line && at; i++) {
        at = memchr(at, '\n', (size_t)(end - at));
        if (at) at++;
    }
    if (!at || at == end) return NULL;
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    *length = (size_t)((stop ? stop : end) - at);
    return at;
}

static bool continues(char byte) { return ((unsigned char)byte & 0xc0) == 0x80; }

static void print_source(const struct fble_diagnostic *d, FILE *to) {
    size_t length, column = d->loc.column ? d->loc.column - 1 : 0;
    const char *line = source_line(d->unit, d->loc.line, &length);
    if (!line || column > length) return;
    size_t from = column > WINDOW / 2 && length > WINDOW ? column - WINDOW / 2 : 0;
    while (from && continues(line[from])) from--;
    size_t until = length - from > WINDOW ? from + WINDOW : length;
    while (until < length && continues(line[until])) until++;
    const char *before = from ? "..." : "", *after = until < length ? "..." : "";
    fprintf(to, "  %s", before);
    for (size_t i = from; i < until; i++) {
        unsigned char byte = (unsigned char)line[i];
        putc(byte == '\t' || (byte >= ' ' && byte != 127) ? byte : byte == '\r' ? ' ' : '?', to);
    }
    fprintf(to, "%s\n  %*s", after, from ? 3 : 0, "");
    for (size_t i = from; i < column; i++)
        if (!continues(line[i])) putc(line[i] == '\t' ? '\t' : ' ', to);
    fputs("^\n", to);
}

static const char *word_for(enum fble_severity severity) {
    return severity == FBLE_ERROR ? "error" : "warning";
}

void fble_diagnostics_print(const struct fble_diagnostics *all, FILE *to) {
    uint32_t shown = 0;
    for (const struct fble_diagnostic *d = all->first; d; d = d->next) {
        if (shown++ == MOST_SHOWN) {
            fprintf(to, "%u more messages are not shown\n", all->count - MOST_SHOWN);
            break;
        }
        fprintf(to, "%s:%u:%u: %s: %s\n", d->unit->file, d->loc.line, d->loc.column,
                word_for(d->severity), d->message);
        print_source(d, to);
        if (d->hint) fprintf(to, "  hint: %s\n", d->hint);
    }
}

size_t fble_utf8_length(const char *text, size_t left) {
    const unsigned char *at = (const unsigned char *)text;
    size_t n = *at < 0x80 ? 1 : *at >= 0xc2 && *at < 0xe0 ? 2 : (*at & 0xf0) == 0xe0 ? 3 : 0;
    if (*at >= 0xf0 && *at < 0xf5) n = 4;
    if (!n || n > left) return 0;
    for (size_t i = 1; i < n; i++)
        if ((at[i] & 0xc0) != 0x80) return 0;
    if (n == 3 && ((*at == 0xe0 && at[1] < 0xa0) || (*at == 0xed && at[1] >= 0xa0))) return 0;
    if (n == 4 && ((*at == 0xf0 && at[1] < 0x90) || (*at == 0xf4 && at[1] >= 0x90))) return 0;
    return n;
}

// A source file may contain anything, JSON may not.
void fble_print_json(FILE *to, const char *text, size_t length) {
    putc('"', to);
    for (size_t n; length; text += n, length -= n) {
        n = fble_utf8_length(text, length);
        if (!n)
            fputs("\\ufffd", to);
        else if (*text == '"' || *text == '\\')
            fprintf(to, "\\%c", *text);
        else if (n == 1 && *text < ' ')
            fprintf(to, "\\u%04x", *text);
        else
            fwrite(text, 1, n, to);
        n = n ? n : 1;
    }
    putc('"', to);
}

static void print_json_string(const char *text, FILE *to) {
    fble_print_json(to, text, strlen(text));
}

void fble_diagnostics_print_json(const struct fble_diagnostics *all, FILE *to) {
    fputs("{\"diagnostics\": [", to);
    for (const struct fble_diagnostic *d = all->first; d; d = d->next) {
        fprintf(to, "%s\n  {\"file\": ", d == all->first ? "" : ",");
        print_json_string(d->unit->file, to);
        fprintf(to,
                ", \"line\": %u, \"column\": %u, \"severity\": \"%s\", \"message\": ", d->loc.line,
                d->loc.column, word_for(d->severity));
        print_json_string(d->message, to);
        if (d->hint) {
            fputs(", \"hint\": ", to);
            print_json_string(d->hint, to);
        }
        putc('}', to);
    }
    fprintf(to, "%s], \"errors\": %u, \"warnings\": %u}\n", all->first ? "\n" : "", all->errors,
            all->warnings);
}
