// SPDX-License-Identifier: MIT
//
// What is left out, and what could be. Where functions have sleds, the recorder leaves out those
// with tiny code, which is told here in the same way. Where they have hooks, gcc notes its options
// in the debug information, so a program tells itself which tiny functions got none. The profile
// has the calls of all others.

#include "advice.h"

#include "array.h"
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

enum { NAMES_SHOWN = 5, NAME_MOST = 512, CALLS_MANY = 1000000, PERCENT_MOST = 30 };

// ---------------------------------------------------------------- left out

typedef struct {
    char shown[256]; // the first names
    size_t count;
    bool by_clang;
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
        if (producer && strstr(producer, "clang")) all->by_clang = true;
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

// It has no such option.
static bool is_by_clang(const char *program) {
    left_out hooks = {0};
    read_hooks(&hooks, program);
    return hooks.by_clang;
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

typedef struct {
    char *name;
    uint64_t calls;
    bool cxx;
} called;

typedef struct {
    called *rows;
    size_t count, room;
} called_rows;

// The next row: its name, and its calls, which are the last number. False: there is none.
static bool next_row(char **text, called *row) {
    char *at = *text, *end = strchr(at, '\n');
    if (!end) return false;
    *end = '\0';
    *text = end + 1;
    char *comma = strrchr(at, ',');
    row->calls = comma ? strtoull(comma + 1, NULL, 10) : 0;
    row->name = at + (at[0] == '"');
    at[0] == '"' ? (row->name[strcspn(row->name, "\"")] = '\0') : (at[strcspn(at, ",")] = '\0');
    row->cxx = strchr(row->name, '(') != NULL;
    return true;
}

static called_rows read_rows(char *text) {
    called_rows all = {0};
    called row;
    next_row(&text, &row); // the heading
    while (next_row(&text, &row) &&
           array_reserve(&all.rows, all.count + 1, &all.room, sizeof *all.rows))
        all.rows[all.count++] = row;
    return all;
}

// The name as --without takes it: without what the function returns, parameters, arguments of
// templates, and what the compiler calls its copies. False: it has none, as operators.
static bool option_name(const char *name, char option[static NAME_MOST]) {
    static const char hidden[] = "(anonymous namespace)";
    size_t used = 0;
    int depth = 0;
    for (const char *at = name; *at && used + sizeof hidden < NAME_MOST; at++) {
        bool is_hidden = strncmp(at, hidden, sizeof hidden - 1) == 0;
        if (!depth && (strchr(".[", *at) || (*at == '(' && !is_hidden))) break;
        if (*at == '<') depth++;
        if (!depth && *at == ' ')
            used = 0;
        else if (!depth && is_hidden)
            used += (size_t)sprintf(option + used, "%s", hidden);
        else if (!depth)
            option[used++] = *at;
        if (is_hidden) at += sizeof hidden - 2;
        if (*at == '>') depth--;
    }
    option[used] = '\0';
    bool is_name = used && !depth && used + sizeof hidden < NAME_MOST;
    for (const char *at = option; *at && is_name; at++) {
        if (strncmp(at, hidden, sizeof hidden - 1) == 0)
            at += sizeof hidden - 2;
        else
            is_name = isalnum((unsigned char)*at) || strchr("_:~", *at);
    }
    return is_name && !strstr(option, "operator") && strcmp(option, "main");
}

// The name as gcc takes it for functions without hooks: it leaves out all whose names have this in
// them, and writes templates and unnamed namespaces in another way. False: others have it in them.
static bool part_of_name(const called_rows *all, const called *row, char option[static NAME_MOST]) {
    const char *hidden = strstr(option, ")::"), *end = strchr(row->name, '('), *last = NULL;
    for (const char *at = row->name; (at = strstr(at, ">::")) && (!end || at < end); at++)
        last = at;
    const char *from = last ? strrchr(option, ':') + 1 : hidden ? hidden + 3 : option;
    memmove(option, from, strlen(from) + 1);
    for (size_t i = 0; i < all->count; i++)
        if (&all->rows[i] != row && strstr(all->rows[i].name, option)) return false;
    return true;
}

typedef struct {
    char text[1024];
} name_list;

static bool add_to_list(name_list *list, const char *name) {
    size_t used = strlen(list->text);
    if (used + strlen(name) + 2 > sizeof list->text) return false;
    sprintf(list->text + used, "%s%s", used ? "," : "", name);
    return true;
}

static void say_flags(const char *variable, const name_list *list) {
    if (list->text[0])
        ouro__say("  %s='-finstrument-functions-exclude-function-list=%s'", variable, list->text);
}

static void say_options(const char *program, bool sleds, const name_list *c, const name_list *cxx) {
    const char *quote = strchr(c->text, '(') ? "'" : "";
    if (sleds) {
        ouro__say("  ouro run --without %s%s%s", quote, c->text, quote);
    } else if (is_by_clang(program)) {
        ouro__say("  __attribute__((no_instrument_function)) before them: %s%s%s", c->text,
                  c->text[0] && cxx->text[0] ? "," : "", cxx->text);
    } else {
        say_flags("CFLAGS", c);
        say_flags("CXXFLAGS", cxx);
    }
}

void tell_most_called(char *text, const char *program) {
    name_list c = {0}, cxx = {0};
    uint64_t most = 0, all = 0;
    size_t count = 0;
    char option[NAME_MOST];
    bool sleds = sleds_has(program);
    called_rows rows = read_rows(text);
    for (size_t i = 0; i < rows.count; i++) {
        const called *row = &rows.rows[i];
        all += row->calls;
        if (count >= NAMES_SHOWN) continue;
        if (row->calls * 100 < most) continue; // rows come by calls: this one gains nothing
        if (!option_name(row->name, option)) continue;
        if (!sleds && !part_of_name(&rows, row, option)) continue;
        if (!add_to_list(row->cxx && !sleds ? &cxx : &c, option)) continue;
        most += row->calls;
        count++;
    }
    free(rows.rows);
    if (all < CALLS_MANY || most * 100 < all * PERCENT_MOST) return;
    ouro__say("ouro run: %zu function%s %.0f%% of the calls. Leave %s out with", count,
              count == 1 ? " makes" : "s make", 100 * (double)most / (double)all,
              count == 1 ? "it" : "them");
    say_options(program, sleds, &c, &cxx);
}
