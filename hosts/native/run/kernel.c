// SPDX-License-Identifier: MIT
//
// /proc/kallsyms: a line `ADDRESS TYPE NAME [MODULE]` for each symbol; code has the types t, T,
// w and W. There are 100,000 of them and more, and a short program is sampled for less time than
// scanf takes for that. So the text is kept, names are in it, and nothing is copied.

#include "kernel.h"

#include "array.h"
#include "clone_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void read_text(kernel *k) {
    enum { PART = 1 << 16 };
    FILE *in = fopen("/proc/kallsyms", "re");
    size_t size = 0, room = 0, got = 1;
    while (in && got && array_reserve(&k->text, size + PART + 1, &room, 1)) {
        got = fread(k->text + size, 1, PART, in);
        size += got;
    }
    if (k->text) k->text[size] = '\0';
    if (in) fclose(in);
}

static void take_line(kernel *k, char *line) {
    char *type;
    uint64_t start = strtoull(line, &type, 16);
    if (!start || type[0] != ' ' || !type[1] || !strchr("tTwW", type[1]) || type[2] != ' ') return;
    char *name = type + 3;
    name[strcspn(name, " \t")] = '\0';
    for (size_t cut; (cut = ouro__clone_cut(name, strlen(name)));) name[cut] = '\0';
    if (array_reserve(&k->functions, k->count + 1, &k->room, sizeof *k->functions))
        k->functions[k->count++] = (kernel_function){start, name};
}

static int compare(const void *a, const void *b) {
    const kernel_function *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

// As the kernel has them, but for its modules.
static bool is_sorted(const kernel *k) {
    size_t i = 1;
    while (i < k->count && k->functions[i - 1].start <= k->functions[i].start) i++;
    return i >= k->count;
}

void kernel_read(kernel *k) {
    read_text(k);
    for (char *line = k->text, *end; line && (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        take_line(k, line);
    }
    if (!is_sorted(k)) qsort(k->functions, k->count, sizeof *k->functions, compare);
}

void kernel_free(kernel *k) {
    free(k->functions);
    free(k->text);
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
