// SPDX-License-Identifier: MIT
//
// Where the functions of a module begin.

#ifndef OURO_NATIVE_CODE_TABLE_H
#define OURO_NATIVE_CODE_TABLE_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    const unsigned char *header;
    size_t count;
} code_table;

// False if the module has no such table.
bool ouro_native_code_table(const struct dl_phdr_info *module, code_table *table);
// Of function `i`, in the order of addresses.
uintptr_t ouro_native_code_start(const code_table *table, size_t i);
// The start of the function that has an instruction at `at`; 0 if none is known.
uintptr_t ouro_native_code_find(const code_table *table, uintptr_t at);

#endif
