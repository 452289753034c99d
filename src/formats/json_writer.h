// SPDX-License-Identifier: MIT
//
// Writes JSON value by value and knows where commas go. For answers and reports; json_write.c,
// the format, writes columns of millions of numbers by hand.
//
//     json_writer w = {.out = out};
//     ouro__write_object(&w, NULL);
//     ouro__write_text(&w, "name", "f");
//     ouro__write_rows(&w, "rows");
//     for (...) ouro__write_integer(&w, NULL, value[i]);
//     ouro__write_end(&w);
//     ouro__write_end(&w); // {"name":"f","rows":[1,<newline>2]}

#ifndef OURO_JSON_WRITER_H
#define OURO_JSON_WRITER_H

#include "output.h"

enum { JSON_DEPTH_MAX = 8 };

typedef struct {
    char end; // } or ]
    bool rows, filled;
} json_level;

typedef struct {
    output *out;
    bool spread; // the first row has a line of its own, too
    unsigned depth;
    json_level levels[JSON_DEPTH_MAX];
} json_writer;

// A value in an object has a name, which is written as it is; elsewhere `name` is NULL.

// These three are open until ouro__write_end. Rows are an array with a line per value.
void ouro__write_object(json_writer *w, const char *name);
void ouro__write_array(json_writer *w, const char *name);
void ouro__write_rows(json_writer *w, const char *name);
void ouro__write_end(json_writer *w);

void ouro__write_null(json_writer *w, const char *name);
void ouro__write_bool(json_writer *w, const char *name, bool value);
void ouro__write_integer(json_writer *w, const char *name, int64_t value);
// Escapes what needs it; NULL is null.
void ouro__write_text(json_writer *w, const char *name, const char *text);
// A number whose digits are there already: "1.25". NULL is null.
void ouro__write_number(json_writer *w, const char *name, const char *digits);

#endif
