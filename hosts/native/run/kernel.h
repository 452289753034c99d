// SPDX-License-Identifier: MIT
//
// Names of the running kernel's functions, where the system shows them.

#ifndef OURO_NATIVE_KERNEL_H
#define OURO_NATIVE_KERNEL_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t start;
    const char *name; // in the text
} kernel_function;

typedef struct {
    kernel_function *functions; // sorted by start
    size_t count, room;
    char *text; // of /proc/kallsyms
} kernel;

// Reads /proc/kallsyms. Nothing is known afterwards if it shows no addresses (kptr_restrict).
void kernel_read(kernel *k);
void kernel_free(kernel *k);
// NULL: not known.
const kernel_function *kernel_find(const kernel *k, uint64_t address);

#endif
