// SPDX-License-Identifier: MIT
//
// Where functions begin, by a module's table for unwinders (.eh_frame_hdr): sorted, in memory, and
// there in stripped files, too. It has an entry for each function that the compiler has put into
// .eh_frame. Reading it takes no lock and no memory, so the handler of the clock may.

#include "code_table.h"

#include <string.h>

// The header, and the entries after it. Linkers write these encodings.
enum { VERSION = 1, POINTER = 0x1b, COUNT = 0x03, TABLE = 0x3b };
enum { HEADER_BYTES = 12, ENTRY_BYTES = 8 };

static int32_t number_at(const unsigned char *at) {
    int32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static const unsigned char *entry(const code_table *t, size_t i) {
    return t->header + HEADER_BYTES + i * ENTRY_BYTES;
}

bool ouro_native_code_table(const struct dl_phdr_info *module, code_table *t) {
    *t = (code_table){0};
    for (int i = 0; i < module->dlpi_phnum && !t->header; i++) {
        const ElfW(Phdr) *p = &module->dlpi_phdr[i];
        const unsigned char *at = (const unsigned char *)(module->dlpi_addr + p->p_vaddr);
        if (p->p_type != PT_GNU_EH_FRAME || p->p_memsz < HEADER_BYTES) continue;
        if (at[0] != VERSION || at[1] != POINTER || at[2] != COUNT || at[3] != TABLE) continue;
        size_t room = (p->p_memsz - HEADER_BYTES) / ENTRY_BYTES;
        *t = (code_table){at, (uint32_t)number_at(at + 8)};
        if (t->count > room) t->count = room;
    }
    return t->count > 0;
}

uintptr_t ouro_native_code_start(const code_table *t, size_t i) {
    return (uintptr_t)t->header + (uintptr_t)(intptr_t)number_at(entry(t, i));
}

// How many bytes the function has. Its description: a length, where the common part is, where the
// function is, from there, and its size.
static uint32_t size_of(const code_table *t, size_t i) {
    const unsigned char *d = t->header + number_at(entry(t, i) + 4);
    uintptr_t start = (uintptr_t)d + 8 + (uintptr_t)(intptr_t)number_at(d + 8);
    return start == ouro_native_code_start(t, i) ? (uint32_t)number_at(d + 12) : 0;
}

uintptr_t ouro_native_code_find(const code_table *t, uintptr_t at) {
    size_t low = 0, high = t->count;
    if (!high || at < ouro_native_code_start(t, 0)) return 0;
    while (low + 1 < high) {
        size_t middle = low + (high - low) / 2;
        if (ouro_native_code_start(t, middle) <= at)
            low = middle;
        else
            high = middle;
    }
    uintptr_t start = ouro_native_code_start(t, low);
    return at - start < size_of(t, low) ? start : 0;
}
