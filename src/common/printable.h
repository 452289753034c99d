// SPDX-License-Identifier: MIT
//
// Foreign text on a terminal. Names of blocks, files and metrics, and what an error message quotes
// of them, come from a file that somebody else may have made. A terminal obeys some characters
// instead of showing them. Everything of ours that prints such a text does it by a function here.
//
// Controls of the writing direction, which show a text in another order than it has, become their
// escape, \u202e: a reader must see that a name was made to deceive. Each other character that a
// terminal would obey becomes one U+FFFD, which takes one column:
// - C0 and C1 controls (U+009B begins a sequence as ESC [ does), also the line feed and the tab,
//   which would make one name look like two rows or two cells;
// - line and paragraph separators;
// - format characters that show nothing: soft hyphen, zero-width space, word joiner, byte order
//   mark, tags. Two different names would look the same, and terminals disagree on their width;
// - bytes that are not UTF-8, since a terminal may take them for controls of another encoding.
//
// The zero-width joiner and non-joiner stay: Persian and Indic names and emoji are written with
// them, and they move nothing. So do combining marks. Letters of two scripts that look alike are
// not told apart.

#ifndef OURO_PRINTABLE_H
#define OURO_PRINTABLE_H

#include "utf8.h"

#include <stdarg.h>
#include <stdio.h>

// Is this a character that a terminal obeys, or one that cannot be seen?
static inline bool ouro__is_hidden(uint32_t point) {
    static const uint32_t ranges[][2] = {
        {0x00, 0x1f},       {0x7f, 0x9f},       {0xad, 0xad},       {0x61c, 0x61c},
        {0x180e, 0x180e},   {0x200b, 0x200b},   {0x200e, 0x200f},   {0x2028, 0x202e},
        {0x2060, 0x206f},   {0xfeff, 0xfeff},   {0xfff9, 0xfffb},   {0xfffe, 0xffff},
        {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe007f},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        if (point <= ranges[i][1]) return point >= ranges[i][0];
    }
    return false;
}

// The escape of a control of the writing direction; NULL: it is none. No longer than three times
// the character.
static inline const char *ouro__direction_escape(uint32_t point) {
    static const struct {
        uint32_t point;
        const char *escape;
    } controls[] = {
        {0x61c, "\\u061c"},  {0x200e, "\\u200e"}, {0x200f, "\\u200f"}, {0x202a, "\\u202a"},
        {0x202b, "\\u202b"}, {0x202c, "\\u202c"}, {0x202d, "\\u202d"}, {0x202e, "\\u202e"},
        {0x2066, "\\u2066"}, {0x2067, "\\u2067"}, {0x2068, "\\u2068"}, {0x2069, "\\u2069"},
    };
    for (size_t i = 0; i < sizeof controls / sizeof *controls; i++) {
        if (controls[i].point == point) return controls[i].escape;
    }
    return NULL;
}

// What may be shown for the character at `text`: `*shown` bytes. `*used` bytes of the text are
// done then. The text does not end here.
static inline const char *ouro__printable_at(const char *text, size_t *used, size_t *shown) {
    size_t n = ouro__utf8_length(text);
    uint32_t point = n ? ouro__utf8_decode(text, n) : 0;
    bool good = n && !ouro__is_hidden(point);
    const char *other = good ? NULL : ouro__direction_escape(point);
    *used = n ? n : 1;
    if (!other) other = OURO_REPLACEMENT;
    *shown = good ? n : strlen(other);
    return good ? text : other;
}

// A copy that may be shown; freed by the caller. NULL: out of memory.
static inline char *ouro__printable(const char *text) {
    char *copy = (char *)malloc(strlen(text) * (sizeof OURO_REPLACEMENT - 1) + 1), *to = copy;
    for (size_t used, shown; copy && *text; text += used, to += shown) {
        const char *bytes = ouro__printable_at(text, &used, &shown);
        memcpy(to, bytes, shown);
    }
    if (copy) *to = '\0';
    return copy;
}

static inline void ouro__print_foreign(FILE *to, const char *text) {
    for (size_t used, shown; *text; text += used) {
        const char *bytes = ouro__printable_at(text, &used, &shown);
        fwrite(bytes, 1, shown, to);
    }
}

// The same for a text of several lines: line feeds and tabs stay.
static inline void ouro__print_foreign_lines(FILE *to, const char *text) {
    for (size_t used, shown; *text; text += used) {
        const char *bytes = ouro__printable_at(text, &used, &shown);
        bool kept = *text == '\n' || *text == '\t';
        fwrite(kept ? text : bytes, 1, kept ? 1 : shown, to);
    }
}

// A message of one line. Its line feed is added here: one inside would be of a foreign text.
__attribute__((format(printf, 2, 3))) static inline void ouro__say_to(FILE *to, const char *pattern,
                                                                      ...) {
    char *text = NULL;
    va_list arguments;
    va_start(arguments, pattern);
    if (vasprintf(&text, pattern, arguments) < 0) text = NULL;
    va_end(arguments);
    ouro__print_foreign(to, text ? text : "out of memory");
    fputc('\n', to);
    free(text);
}

// The usual one, on standard error.
#define ouro__say(...) ouro__say_to(stderr, __VA_ARGS__)

#endif
