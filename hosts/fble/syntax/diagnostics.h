// SPDX-License-Identifier: MIT
//
// Messages: collected during a compilation, shown at its end, as text or as JSON.

#ifndef FBLE_DIAGNOSTICS_H
#define FBLE_DIAGNOSTICS_H

#include "tree.h"

#include <stdio.h>

enum fble_severity { FBLE_ERROR, FBLE_WARNING };

// Another place that a message is about.
struct fble_note {
    struct fble_note *next;
    const struct fble_unit *unit;
    struct fble_loc loc;
    const char *text;
};

struct fble_diagnostic {
    struct fble_diagnostic *next;
    enum fble_severity severity;
    const struct fble_unit *unit; // its text gives the source line
    struct fble_loc loc;
    const char *message;
    const char *hint; // or NULL
    struct fble_note *notes;
    uint32_t order;
};

struct fble_diagnostics {
    struct fble_arena *arena;
    struct fble_diagnostic *first, **last;
    uint32_t count, errors, warnings;
    bool unreadable; // a file was there and could not be read
};

struct fble_diagnostic *fble_report(struct fble_diagnostics *all, enum fble_severity severity,
                                    const struct fble_unit *unit, struct fble_loc loc,
                                    const char *format, ...) __attribute__((format(printf, 5, 6)));

void fble_hint(struct fble_diagnostics *all, struct fble_diagnostic *diagnostic, const char *format,
               ...) __attribute__((format(printf, 3, 4)));

// Adds a note, unless the message or another note is about that place already.
void fble_add_note(struct fble_diagnostics *all, struct fble_diagnostic *diagnostic,
                   const struct fble_unit *unit, struct fble_loc loc, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

// Within one file in the order of the lines; files in the order in which they first complained.
void fble_diagnostics_sort(struct fble_diagnostics *all);
void fble_diagnostics_print(const struct fble_diagnostics *all, FILE *to);
void fble_diagnostics_print_json(const struct fble_diagnostics *all, FILE *to);

// The bytes of the UTF-8 character at the start of a text that is not empty; 0 if it is none.
size_t fble_utf8_length(const char *text, size_t length);
// A string of JSON, quotes included. A byte that is not UTF-8 becomes U+FFFD.
void fble_print_json(FILE *to, const char *text, size_t length);

#endif
