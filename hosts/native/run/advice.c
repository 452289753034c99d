// SPDX-License-Identifier: MIT
//
// What is left out, and what could be. Where functions have sleds, the recorder leaves out those
// with tiny code, which is told here in the same way. Where they have hooks, gcc notes its options
// in the debug information, so a program tells itself which tiny functions got none. The profile
// has the calls of all others.

#include "advice.h"

#include "dw.h"
#include "printable.h"
#include "tiny_sleds.h"

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

static void add_name(left_out *all, const char *name, size_t length) {
    size_t used = strlen(all->shown);
    if (all->count < NAMES_SHOWN && used + length + 3 < sizeof all->shown)
        sprintf(all->shown + used, "%s%.*s", used ? ", " : "", (int)length, name);
    all->count++;
}

// A note of gcc: its options, with spaces between them.
static void add_names(left_out *all, const char *producer) {
    static const char option[] = "-finstrument-functions-exclude-function-list=";
    const char *at = strstr(producer, option);
    for (at = at ? at + sizeof option - 1 : ""; *at && *at != ' ';) {
        size_t length = strcspn(at, ", ");
        add_name(all, at, length);
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

static void add_tiny(void *user, const char *name) { add_name(user, name, strlen(name)); }

static void read_hooks(left_out *all, const char *program) {
    int fd = open(program, O_RDONLY | O_CLOEXEC);
    Dwarf *dwarf = fd < 0 ? NULL : dwarf_begin(fd, DWARF_C_READ);
    if (dwarf) read_notes(all, dwarf);
    if (dwarf) dwarf_end(dwarf);
    if (fd >= 0) close(fd);
}

static void say_left_out(const left_out *all, const char *command) {
    if (!all->count) return;
    ouro__say("ouro run: %zu tiny function%s not counted (%s%s); `%s --tiny` counts %s", all->count,
              all->count == 1 ? " is" : "s are", all->shown,
              all->count > NAMES_SHOWN ? ", ..." : "", command, all->count == 1 ? "it" : "them");
}

void tell_left_out(const char *program, bool all) {
    left_out hooks = {0}, sleds = {0};
    read_hooks(&hooks, program);
    say_left_out(&hooks, "ouro cc");
    if (!all) sleds_tiny(program, add_tiny, &sleds);
    say_left_out(&sleds, "ouro run");
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
    size_t length = strcspn(name, "(.["); // without what the compiler calls its copies
    for (size_t i = 0; i < length; i++) {
        if (!isalnum((unsigned char)name[i]) && !strchr("_:~", name[i])) return 0;
    }
    return length;
}

void tell_most_called(char *rows, const char *program) {
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
    ouro__say(sleds_has(program) ? "  ouro run --without %s"
                                 : "  CFLAGS='-finstrument-functions-exclude-function-list=%s'",
              list);
}
