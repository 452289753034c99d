// SPDX-License-Identifier: MIT
//
// A dump of gcc's control flow has for each function a line `;; Function NAME (SYMBOL, ...`, and
// then its basic blocks in the order of the source: `<bb 3> :` begins one, `goto <bb 2>;` leads to
// another. A loop is a way back to the same block or to one before.

#include "loops.h"

#include "descriptors.h"

#include "../run/array.h"

#include <fcntl.h>
#include <stdio.h>

static void add(loops *l, const char *name) {
    char *copy = strdup(name);
    if (copy && array_reserve(&l->names, l->count + 1, &l->room, sizeof *l->names))
        l->names[l->count++] = copy;
    else
        free(copy);
}

// The name in such a line, cut off there. NULL: the line begins no function.
static char *name_in(char *line) {
    static const char start[] = ";; Function ";
    if (strncmp(line, start, sizeof start - 1) != 0) return NULL;
    char *name = line + sizeof start - 1, *end = strstr(name, " (");
    if (!end) return NULL;
    *end = '\0';
    return name;
}

static bool leads_back(const char *line, unsigned block) {
    for (const char *at = line; (at = strstr(at, "goto <bb ")); at++) {
        if (strtoul(at + 9, NULL, 10) <= block) return true;
    }
    return false;
}

static int compare(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void loops_read(loops *l, const char *dump) {
    int fd = ouro__open(dump, O_RDONLY, 0);
    FILE *in = fd < 0 ? NULL : fdopen(fd, "r");
    char *line = NULL, *function = NULL;
    size_t room = 0;
    unsigned block = 0;
    while (in && getline(&line, &room, in) > 0) {
        char *name = name_in(line);
        if (name) {
            free(function);
            function = strdup(name);
            block = 0;
        }
        sscanf(line, " <bb %u> :", &block);
        if (!function || !block || !leads_back(line, block)) continue;
        add(l, function);
        free(function);
        function = NULL;
    }
    free(function);
    free(line);
    if (in) fclose(in);
    if (l->count) qsort(l->names, l->count, sizeof *l->names, compare);
}

bool loops_has(const loops *l, const char *name) {
    return l->count && bsearch(&name, l->names, l->count, sizeof *l->names, compare);
}

void loops_free(loops *l) {
    for (size_t i = 0; i < l->count; i++) free(l->names[i]);
    free(l->names);
}
