// SPDX-License-Identifier: MIT
//
// The functions of a module that have a name, by its symbols. C++: the name without parameters,
// with or without its classes and namespaces. Symbols are compared as they are mangled: Game::frame
// is 4Game5frame, at the end of a nested name or before the parameters.

#include "native.h"

#include "descriptors.h"

#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_MOST = 512 };

// ---------------------------------------------------------------- names

// a::b::c -> 1a1b1c. False: it is too long.
static bool mangle(const char *name, char mangled[static NAME_MOST]) {
    size_t used = 0;
    for (const char *at = name; *at;) {
        const char *end = strstr(at, "::");
        size_t length = end ? (size_t)(end - at) : strlen(at);
        int n = snprintf(mangled + used, NAME_MOST - used, "%zu%.*s", length, (int)length, at);
        if (n < 0 || (used += (size_t)n) >= NAME_MOST) return false;
        at += length + (end ? 2 : 0);
    }
    return used > 0;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Behind a name come the end of a nested one, or what it is a template of, or parameters.
static bool is_mangled(const char *symbol, const char *mangled) {
    if (strncmp(symbol, "_Z", 2) != 0) return false;
    bool nested = symbol[2] == 'N';
    const char *at = strstr(symbol + 2, mangled);
    if (!at || is_digit(at[-1])) return false;
    char after = at[strlen(mangled)];
    if (nested) return after == 'E' || after == 'I';
    return at - symbol <= 3 && !is_digit(after); // _Z5frame, or _ZL5frame if it is static
}

// Parts of a function that the compiler has split have a dot behind the name.
static bool is_named(const char *symbol, const char *name, const char *mangled) {
    size_t length = strlen(name);
    if (strncmp(symbol, name, length) == 0 && (!symbol[length] || symbol[length] == '.'))
        return true;
    return is_mangled(symbol, mangled);
}

// ---------------------------------------------------------------- symbols

typedef struct {
    const unsigned char *bytes;
    size_t size;
} file;

static const void *bytes_at(const file *f, uint64_t offset, uint64_t size) {
    return offset <= f->size && size <= f->size - offset ? f->bytes + offset : NULL;
}

// Structures: NULL also where none can be.
static const void *part(const file *f, uint64_t offset, uint64_t size) {
    return offset % sizeof(uint64_t) == 0 ? bytes_at(f, offset, size) : NULL;
}

// What is looked for, and what was found.
typedef struct {
    const char *name;
    char mangled[NAME_MOST];
    uintptr_t base, *functions;
    size_t count, most;
} search;

static void take_symbols(search *s, const file *f, const ElfW(Shdr) * table,
                         const ElfW(Shdr) * texts) {
    const ElfW(Sym) *symbols = part(f, table->sh_offset, table->sh_size);
    const char *strings = bytes_at(f, texts->sh_offset, texts->sh_size);
    if (!symbols || !strings || !texts->sh_size || strings[texts->sh_size - 1]) return;
    for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++) {
        const ElfW(Sym) *at = &symbols[i];
        if ((at->st_info & 15) != STT_FUNC || !at->st_value || at->st_name >= texts->sh_size)
            continue;
        if (s->count < s->most && is_named(strings + at->st_name, s->name, s->mangled))
            s->functions[s->count++] = s->base + at->st_value;
    }
}

// All symbols, or those for the loader in a file that was stripped.
static void take_file(search *s, const file *f) {
    const ElfW(Ehdr) *head = part(f, 0, sizeof *head);
    if (!head || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0) return;
    const ElfW(Shdr) *sections = part(f, head->e_shoff, head->e_shnum * sizeof *sections);
    const ElfW(Shdr) *found = NULL;
    for (unsigned i = 0; sections && i < head->e_shnum; i++) {
        if (sections[i].sh_type == SHT_SYMTAB) found = &sections[i];
        if (sections[i].sh_type == SHT_DYNSYM && !found) found = &sections[i];
    }
    if (found && found->sh_link < head->e_shnum)
        take_symbols(s, f, found, &sections[found->sh_link]);
}

size_t ouro_native_functions_named(uintptr_t base, const char *path, const char *name,
                                   uintptr_t *functions, size_t most) {
    search s = {.name = name, .base = base, .functions = functions, .most = most};
    struct stat status;
    int fd = mangle(name, s.mangled) ? ouro__open(path, O_RDONLY, 0) : -1;
    if (fd < 0) return 0;
    if (fstat(fd, &status) == 0 && status.st_size > 0) {
        file f = {.size = (size_t)status.st_size};
        void *bytes = mmap(NULL, f.size, PROT_READ, MAP_PRIVATE, fd, 0);
        f.bytes = bytes;
        if (bytes != MAP_FAILED) take_file(&s, &f);
        if (bytes != MAP_FAILED) munmap(bytes, f.size);
    }
    close(fd);
    return s.count;
}
