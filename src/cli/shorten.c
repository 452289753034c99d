// SPDX-License-Identifier: MIT
//
// Names and places for tables in a terminal. A name of C++ that would fill lines loses what is
// inside its outermost angle brackets, and if it is still too long, its parameters. A file below
// the working folder is shown from there. --json, --csv and all files have the whole.

#include "cli.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME_LONG = 80 };

// The brackets of operator<, operator<<, operator-> and operator() open nothing. How many
// characters such a name has at `at`; 0: it is none.
static size_t operator_at(const char *name, const char *at) {
    static const char word[] = "operator";
    size_t n = sizeof word - 1;
    if (strncmp(at, word, n) != 0) return 0;
    if (at > name && (at[-1] == '_' || isalpha((unsigned char)at[-1]))) return 0;
    if (strncmp(at + n, "()", 2) == 0) return n + 2;
    size_t signs = strspn(at + n, "<>-=");
    return signs ? n + signs : 0;
}

// Copies the name without what is inside `open` ... `close`. Brackets that do not match, as in a
// name that is not of C++, leave it as it is.
static bool cut(char *to, const char *name, char open, char close) {
    size_t depth = 0, n = 0;
    for (const char *at = name; *at;) {
        size_t skip = operator_at(name, at);
        if (skip && depth == 0) memcpy(to + n, at, skip);
        if (skip && depth == 0) n += skip;
        if (skip) {
            at += skip;
            continue;
        }
        bool ends = *at == close && !(close == '>' && at > name && at[-1] == '-');
        if (ends && depth == 0) return false;
        if (ends && --depth == 0 && at[-1] != open) {
            memcpy(to + n, "...", 3);
            n += 3;
        }
        if (depth == 0) to[n++] = *at;
        depth += *at == open;
        at++;
    }
    to[n] = '\0';
    return depth == 0;
}

// Replaces *name if the shorter one is shorter.
static void shorten(char **name, char open, char close) {
    size_t length = strlen(*name);
    char *to = malloc(length * 4 + 8);
    if (!to) fail_memory();
    bool shorter = cut(to, *name, open, close) && strlen(to) < length;
    free(shorter ? *name : to);
    if (shorter) *name = to;
}

char *short_name(const char *name) {
    char *text = strdup(name);
    if (!text) fail_memory();
    if (strlen(text) > NAME_LONG) shorten(&text, '<', '>');
    if (strlen(text) > NAME_LONG) shorten(&text, '(', ')');
    return text;
}

const char *short_place(const char *file) {
    static char folder[PATH_MAX];
    if (!*folder && !getcwd(folder, sizeof folder)) return file;
    size_t n = strlen(folder);
    return n > 1 && strncmp(file, folder, n) == 0 && file[n] == '/' && file[n + 1] ? file + n + 1
                                                                                   : file;
}
