// SPDX-License-Identifier: MIT
//
// /proc/kallsyms: a line `ADDRESS TYPE NAME [MODULE]` for each symbol; code has the types t, T,
// w and W.

#include "kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add(kernel *k, uint64_t start, const char *name) {
    if (k->count == k->room) {
        size_t room = k->room ? k->room * 2 : 4096;
        kernel_function *grown = realloc(k->functions, room * sizeof *grown);
        if (!grown) return;
        k->functions = grown;
        k->room = room;
    }
    char *copy = strdup(name);
    if (copy) k->functions[k->count++] = (kernel_function){start, copy};
}

static int compare(const void *a, const void *b) {
    const kernel_function *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

void kernel_read(kernel *k) {
    FILE *in = fopen("/proc/kallsyms", "re");
    char *line = NULL;
    size_t room = 0;
    while (in && getline(&line, &room, in) > 0) {
        unsigned long long start;
        char type, name[256];
        if (sscanf(line, "%llx %c %255s", &start, &type, name) == 3 && start &&
            strchr("tTwW", type))
            add(k, start, name);
    }
    free(line);
    if (in) fclose(in);
    if (k->count) qsort(k->functions, k->count, sizeof *k->functions, compare);
}

void kernel_free(kernel *k) {
    for (size_t i = 0; i < k->count; i++) free(k->functions[i].name);
    free(k->functions);
    *k = (kernel){0};
}

const kernel_function *kernel_find(const kernel *k, uint64_t address) {
    size_t low = 0, high = k->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (k->functions[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &k->functions[low - 1] : NULL;
}
