// SPDX-License-Identifier: MIT

#include "tiny_sleds.h"

#include "../tiny_code.h"
#include "array.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    uint64_t function, sled; // addresses
    const char *name;
    const unsigned char *code; // behind the sled
    size_t left;               // bytes of the section from there on
} sled;

typedef struct {
    sled *items;
    size_t count, room;
} sleds;

static Elf_Scn *section_named(Elf *elf, const char *name, GElf_Shdr *head) {
    size_t names;
    if (elf_getshdrstrndx(elf, &names)) return NULL;
    for (Elf_Scn *at = NULL; (at = elf_nextscn(elf, at));) {
        const char *text = gelf_getshdr(at, head) ? elf_strptr(elf, names, head->sh_name) : NULL;
        if (text && strcmp(text, name) == 0) return at;
    }
    return NULL;
}

static void add(sleds *all, Elf *elf, const GElf_Sym *symbol, const char *name) {
    GElf_Shdr head;
    Elf_Scn *section = elf_getscn(elf, symbol->st_shndx);
    Elf_Data *data = section && gelf_getshdr(section, &head) ? elf_getdata(section, NULL) : NULL;
    uint64_t at = data ? symbol->st_value - head.sh_addr : 0;
    if (!data || !data->d_buf || at > data->d_size ||
        data->d_size - at < LANDING_BYTES + SLED_BYTES)
        return;
    const unsigned char *code = (const unsigned char *)data->d_buf + at;
    size_t skipped = is_landing(code) ? LANDING_BYTES : 0;
    if (!ouro_native_is_sled(code + skipped) ||
        !array_reserve(&all->items, all->count + 1, &all->room, sizeof *all->items))
        return;
    uint64_t address = symbol->st_value + skipped;
    skipped += SLED_BYTES;
    all->items[all->count++] =
        (sled){symbol->st_value, address, name, code + skipped, data->d_size - at - skipped};
}

static void add_symbols(sleds *all, Elf *elf) {
    GElf_Shdr head;
    Elf_Scn *section = section_named(elf, ".symtab", &head);
    Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
    for (int i = 0; data && i < (int)(head.sh_size / sizeof(Elf64_Sym)); i++) {
        GElf_Sym symbol;
        if (!gelf_getsym(data, i, &symbol) || GELF_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
        const char *name = elf_strptr(elf, head.sh_link, symbol.st_name);
        if (name && symbol.st_shndx) add(all, elf, &symbol, name);
    }
}

static int compare(const void *a, const void *b) {
    const sled *x = a, *y = b;
    return x->sled < y->sled ? -1 : x->sled > y->sled;
}

// Of the C++ library; no header for C declares it.
char *__cxa_demangle(const char *mangled, char *buffer, size_t *size, int *status);

static void tell_name(void (*tell_one)(void *user, const char *name), void *user,
                      const char *name) {
    int status;
    char *readable = strncmp(name, "_Z", 2) == 0 ? __cxa_demangle(name, NULL, NULL, &status) : NULL;
    tell_one(user, readable ? readable : name);
    free(readable);
}

// Two names of one function are neighbours, and the last of them has the code. The last function of
// all has none, because its end is not known.
static tiny_code code_of(const sleds *all, size_t i) {
    const sled *s = &all->items[i];
    uint64_t size = i + 1 < all->count ? s[1].sled - s->sled : 0;
    if (size < SLED_BYTES || size - SLED_BYTES > s->left) size = SLED_BYTES;
    return (tiny_code){s->sled + SLED_BYTES, s->code, size - SLED_BYTES};
}

// The last one that begins before `end`.
static size_t last_before(const sleds *all, uint64_t end) {
    size_t low = 0, high = all->count;
    while (low + 1 < high) {
        size_t middle = low + (high - low) / 2;
        *(all->items[middle].sled < end ? &low : &high) = middle;
    }
    return low;
}

static bool find_code(const void *user, uint64_t address, tiny_code *found) {
    const sleds *all = user;
    size_t i = last_before(all, address + LANDING_BYTES + 1);
    *found = code_of(all, i);
    return all->items[i].function == address;
}

static void tell(const sleds *all, void (*tell_one)(void *user, const char *name), void *user) {
    for (size_t i = 0; i < all->count; i++) {
        tiny_code code = code_of(all, i);
        if (ouro_native_is_tiny(&code, find_code, all))
            tell_name(tell_one, user, all->items[i].name);
    }
}

static Elf *open_elf(const char *program, int *fd) {
    *fd = open(program, O_RDONLY | O_CLOEXEC);
    elf_version(EV_CURRENT);
    return *fd < 0 ? NULL : elf_begin(*fd, ELF_C_READ, NULL);
}

static void close_elf(Elf *elf, int fd) {
    if (elf) elf_end(elf);
    if (fd >= 0) close(fd);
}

bool sleds_has(const char *program) {
    int fd;
    GElf_Shdr head;
    Elf *elf = open_elf(program, &fd);
    sleds all = {0};
    bool has = elf && section_named(elf, "__patchable_function_entries", &head);
    if (elf && !has) add_symbols(&all, elf);
    has = has || all.count;
    free(all.items);
    close_elf(elf, fd);
    return has;
}

void sleds_tiny(const char *program, void (*add_name)(void *user, const char *name), void *user) {
    int fd;
    sleds all = {0};
    Elf *elf = open_elf(program, &fd);
    if (elf) add_symbols(&all, elf);
    if (all.count) qsort(all.items, all.count, sizeof *all.items, compare);
    tell(&all, add_name, user);
    free(all.items);
    close_elf(elf, fd);
}
