// SPDX-License-Identifier: MIT
//
// A stack of open objects and arrays. Each level remembers whether it has a value already; commas
// depend on nothing else. The output keeps errors.

#include "json_writer.h"

#include <assert.h>

// Before a value: a comma, a new line, its name.
static void begin(json_writer *w, const char *name) {
    json_level *in = w->depth ? &w->levels[w->depth - 1] : NULL;
    assert((in && in->end == '}') == (name != NULL));
    if (in && in->filled) ouro__put(w->out, ",", 1);
    if (in && in->rows && (in->filled || w->spread)) ouro__put(w->out, "\n", 1);
    if (in) in->filled = true;
    if (!name) return;
    ouro__put(w->out, "\"", 1);
    ouro__put_text(w->out, name);
    ouro__put(w->out, "\":", 2);
}

static void open_level(json_writer *w, const char *name, const char *brackets, bool rows) {
    begin(w, name);
    assert(w->depth < JSON_DEPTH_MAX);
    w->levels[w->depth++] = (json_level){.end = brackets[1], .rows = rows};
    ouro__put(w->out, brackets, 1);
}

void ouro__write_object(json_writer *w, const char *name) { open_level(w, name, "{}", false); }
void ouro__write_array(json_writer *w, const char *name) { open_level(w, name, "[]", false); }
void ouro__write_rows(json_writer *w, const char *name) { open_level(w, name, "[]", true); }

void ouro__write_end(json_writer *w) {
    assert(w->depth > 0);
    ouro__put(w->out, &w->levels[--w->depth].end, 1);
}

void ouro__write_null(json_writer *w, const char *name) { ouro__write_number(w, name, NULL); }

void ouro__write_bool(json_writer *w, const char *name, bool value) {
    ouro__write_number(w, name, value ? "true" : "false");
}

void ouro__write_integer(json_writer *w, const char *name, int64_t value) {
    begin(w, name);
    ouro__put_integer(w->out, value);
}

void ouro__write_text(json_writer *w, const char *name, const char *text) {
    if (!text) return ouro__write_null(w, name);
    begin(w, name);
    ouro__put_json(w->out, text);
}

void ouro__write_number(json_writer *w, const char *name, const char *digits) {
    begin(w, name);
    ouro__put_text(w->out, digits ? digits : "null");
}
