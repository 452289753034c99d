// SPDX-License-Identifier: MIT
//
// What is left out, and what could be. gcc notes its options in the debug information, so a program
// tells itself which tiny functions got no hooks. The profile has the calls of all others.

#include "advice.h"

#include "dw.h"
#include "printable.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAMES_SHOWN = 5, CALLS_MANY = 1000000, PERCENT_MOST = 30 };

// ---------------------------------------------------------------- left out

typedef struct {
    char shown[256]; // the first names
    size_t count;
} left_out;

// A note of gcc: its options, with spaces between them.
static void add_names(left_out *all, const char *producer) {
    static const char option[] = "-finstrument-functions-exclude-function-list=";
    const char *at = strstr(producer, option);
    for (at = at ? at + sizeof option - 1 : ""; *at && *at != ' ';) {
        size_t length = strcspn(at, ", "), used = strlen(all->shown);
        if (all->count < NAMES_SHOWN && used + length + 3 < sizeof all->shown)
            sprintf(all->shown + used, "%s%.*s", used ? ", " : "", (int)length, at);
        all->count++;
        at += length;
        at += *at == ',';
    }
}

static void read_notes(left_out *all, Dwarf *dwarf) {
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    while (dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0) {
        Dwarf_Attribute attribute;
        const char *producer = dwarf_formstring(dwarf_attr(&die, DW_AT_producer, &attribute));
        if (producer) add_names(all, producer);
    }
}

void tell_left_out(const char *program) {
    left_out all = {0};
    int fd = open(program, O_RDONLY | O_CLOEXEC);
    Dwarf *dwarf = fd < 0 ? NULL : dwarf_begin(fd, DWARF_C_READ);
    if (dwarf) read_notes(&all, dwarf);
    if (dwarf) dwarf_end(dwarf);
    if (fd >= 0) close(fd);
    if (!all.count) return;
    ouro__say("ouro run: %zu tiny function%s not counted (%s%s); `ouro cc --tiny` counts %s",
              all.count, all.count == 1 ? " is" : "s are", all.shown,
              all.count > NAMES_SHOWN ? ", ..." : "", all.count == 1 ? "it" : "them");
}

// ---------------------------------------------------------------- called most

// The next row: its name, and its calls, which are the last number. NULL: there is none.
static char *next_row(char **rows, uint64_t *calls) {
    char *row = *rows, *end = strchr(row, '\n');
    if (!end) return NULL;
    *end = '\0';
    *rows = end + 1;
    char *comma = strrchr(row, ',');
    *calls = comma ? strtoull(comma + 1, NULL, 10) : 0;
    if (row[0] == '"') {
        row++;
        row[strcspn(row, "\"")] = '\0';
    } else {
        row[strcspn(row, ",")] = '\0';
    }
    return row;
}

// A name as the option takes it: of C, or of C++ without its parameters.
static size_t option_name(const char *name) {
    size_t length = strcspn(name, "(");
    for (size_t i = 0; i < length; i++) {
        if (!isalnum((unsigned char)name[i]) && !strchr("_:~", name[i])) return 0;
    }
    return length;
}

void tell_most_called(char *rows) {
    char list[1024] = "";
    uint64_t calls, most = 0, all = 0;
    size_t count = 0;
    next_row(&rows, &calls); // the heading
    for (char *name; (name = next_row(&rows, &calls));) {
        size_t length = option_name(name), used = strlen(list);
        all += calls;
        if (count >= NAMES_SHOWN || !length || used + length + 2 > sizeof list) continue;
        if (strncmp(name, "main", length) == 0) continue;
        if (calls * 100 < most) continue; // rows come by calls: leaving this one out gains nothing
        sprintf(list + used, "%s%.*s", used ? "," : "", (int)length, name);
        most += calls;
        count++;
    }
    if (all < CALLS_MANY || most * 100 < all * PERCENT_MOST) return;
    ouro__say("ouro run: %zu function%s %.0f%% of the calls. Leave %s out with", count,
              count == 1 ? " makes" : "s make", 100 * (double)most / (double)all,
              count == 1 ? "it" : "them");
    ouro__say("  CFLAGS='-finstrument-functions-exclude-function-list=%s'", list);
}
