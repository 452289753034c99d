// SPDX-License-Identifier: MIT
//
// Collects messages and shows them: the location and the text on one line, so that editors and
// tests can read it, then the source line with a caret, then a hint if there is one, then other
// places that belong to it. Long source lines (a literal may have a million letters) are cut to a
// window around the caret.

#include "diagnostics.h"
#include "printable.h"

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

static bool same_place(struct fble_loc a, struct fble_loc b) {
    return a.line == b.line && a.column == b.column;
}

void fble_add_note(struct fble_diagnostics *all, struct fble_diagnostic *diagnostic,
                   const struct fble_unit *unit, struct fble_loc loc, const char *format, ...) {
    struct fble_note **end = &diagnostic->notes;
    if (diagnostic->unit == unit && same_place(diagnostic->loc, loc)) return;
    for (; *end; end = &(*end)->next)
        if ((*end)->unit == unit && same_place((*end)->loc, loc)) return;
    *end = fble_alloc(all->arena, sizeof **end);
    (*end)->unit = unit;
    (*end)->loc = loc;
    va_list arguments;
    va_start(arguments, format);
    (*end)->text = fble_vformat(all->arena, format, arguments);
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

// The source as a terminal may get it: tabs stay, and what ends the line is a space.
static void print_window(const char *text, FILE *to) {
    for (size_t used, shown; *text; text += used) {
        const char *bytes = ouro__printable_at(text, &used, &shown);
        if (*text == '\t' || *text == '\r') {
            putc(*text == '\t' ? '\t' : ' ', to);
        } else {
            fwrite(bytes, 1, shown, to);
        }
    }
}

// Under the character at `column`. An escape takes as many columns as it has letters.
static void print_caret(const char *text, size_t column, FILE *to) {
    size_t used, shown;
    for (size_t at = 0; at < column && text[at]; at += used) {
        const char *bytes = ouro__printable_at(text + at, &used, &shown);
        int columns = *bytes == '\\' ? (int)shown : 1;
        fprintf(to, "%*s", columns, text[at] == '\t' ? "\t" : "");
    }
    fputs("^\n", to);
}

static void print_source(const struct fble_diagnostic *d, FILE *to) {
    size_t length, column = d->loc.column ? d->loc.column - 1 : 0;
    const char *line = source_line(d->unit, d->loc.line, &length);
    if (!line || column > length) return;
    size_t from = column > WINDOW / 2 && length > WINDOW ? column - WINDOW / 2 : 0;
    for (int i = 0; i < 3 && from && continues(line[from]); i++) from--;
    size_t until = length - from > WINDOW ? from + WINDOW : length;
    for (int i = 0; i < 3 && until < length && continues(line[until]); i++) until++;
    char window[WINDOW + 8];
    for (size_t i = from; i < until; i++) window[i - from] = line[i] ? line[i] : 1;
    window[until - from] = '\0';
    fprintf(to, "  %s", from ? "..." : "");
    print_window(window, to);
    fprintf(to, "%s\n  %*s", until < length ? "..." : "", from ? 3 : 0, "");
    print_caret(window, column - from, to);
}

static const char *word_for(enum fble_severity severity) {
    return severity == FBLE_ERROR ? "error" : "warning";
}

static void print_one(const struct fble_diagnostic *d, FILE *to) {
    ouro__say_to(to, "%s:%u:%u: %s: %s", d->unit->file, d->loc.line, d->loc.column,
                 word_for(d->severity), d->message);
    print_source(d, to);
    if (d->hint) ouro__say_to(to, "  hint: %s", d->hint);
    for (const struct fble_note *note = d->notes; note; note = note->next)
        ouro__say_to(to, "%s:%u:%u: note: %s", note->unit->file, note->loc.line, note->loc.column,
                     note->text);
}

// The first ones. Warnings, however many they are, leave room for the errors.
void fble_diagnostics_print(const struct fble_diagnostics *all, FILE *to) {
    uint32_t errors = all->errors < MOST_SHOWN ? all->errors : MOST_SHOWN;
    uint32_t warnings = MOST_SHOWN - errors, hidden = 0;
    for (const struct fble_diagnostic *d = all->first; d; d = d->next) {
        uint32_t *room = d->severity == FBLE_ERROR ? &errors : &warnings;
        if (!*room) {
            hidden++;
            continue;
        }
        print_one(d, to);
        --*room;
    }
    if (hidden) fprintf(to, "%u more messages are not shown\n", hidden);
}

size_t fble_utf8_length(const char *text, size_t left) {
    char start[5] = "";
    memcpy(start, text, left < 4 ? left : 4);
    return ouro__utf8_length(start);
}

// A source file may contain anything, JSON may not. What a terminal would obey is escaped.
void fble_print_json(FILE *to, const char *text, size_t length) {
    putc('"', to);
    for (size_t n; length; text += n ? n : 1, length -= n ? n : 1) {
        n = fble_utf8_length(text, length);
        uint32_t c = n ? ouro__utf8_decode(text, n) : 0xfffd;
        if (c == '"' || c == '\\')
            fprintf(to, "\\%c", (char)c);
        else if (c >= 0x10000 && ouro__is_hidden(c))
            fprintf(to, "\\u%04x\\u%04x", 0xd7c0 + (c >> 10), 0xdc00 + (c & 0x3ff));
        else if (!n || ouro__is_hidden(c))
            fprintf(to, "\\u%04x", c);
        else
            fwrite(text, 1, n, to);
    }
    putc('"', to);
}

static void print_json_string(const char *text, FILE *to) {
    fble_print_json(to, text, strlen(text));
}

static void print_json_notes(const struct fble_note *notes, FILE *to) {
    for (const struct fble_note *note = notes; note; note = note->next) {
        fputs(note == notes ? ", \"notes\": [{\"file\": " : ", {\"file\": ", to);
        print_json_string(note->unit->file, to);
        fprintf(to, ", \"line\": %u, \"column\": %u, \"message\": ", note->loc.line,
                note->loc.column);
        print_json_string(note->text, to);
        fputs(note->next ? "}" : "}]", to);
    }
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
        print_json_notes(d->notes, to);
        putc('}', to);
    }
    fprintf(to, "%s], \"errors\": %u, \"warnings\": %u}\n", all->first ? "\n" : "", all->errors,
            all->warnings);
}
