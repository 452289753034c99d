// SPDX-License-Identifier: MIT
//
// Slices by calls: every call of a function is a slice, from its enter to its exit, in each OS
// thread. The hooks pay nothing for it. The function is kept out of their cache, so each enter of
// it takes the slow path. The frame of the call that is a slice has the inverted key, which no
// function has, so its exit takes the slow path, too. A recursive call belongs to the outermost
// one, and so does a call of another coroutine of the thread.
//
// The function is found by its symbol, when a function of its module is entered for the first time.
// C++: the name without parameters, with or without its classes and namespaces. Symbols are
// compared as they are mangled: Game::frame is 4Game5frame, at the end of a nested name or before
// the parameters.

#include "native.h"
#include "ouro-slice.h"

#include "descriptors.h"

#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FUNCTIONS_MOST = 64, MODULES_MOST = 256, NAME_MOST = 512 };

static uintptr_t functions[FUNCTIONS_MOST], modules[MODULES_MOST];
static size_t function_count, module_count;

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

static void take_symbols(const file *f, const ElfW(Shdr) * table, const ElfW(Shdr) * texts,
                         uintptr_t base, const char *name, const char *mangled) {
    const ElfW(Sym) *symbols = part(f, table->sh_offset, table->sh_size);
    const char *strings = bytes_at(f, texts->sh_offset, texts->sh_size);
    if (!symbols || !strings || !texts->sh_size || strings[texts->sh_size - 1]) return;
    for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++) {
        const ElfW(Sym) *s = &symbols[i];
        if ((s->st_info & 15) != STT_FUNC || !s->st_value || s->st_name >= texts->sh_size) continue;
        if (function_count == FUNCTIONS_MOST || !is_named(strings + s->st_name, name, mangled))
            continue;
        functions[function_count] = base + s->st_value;
        __atomic_store_n(&function_count, function_count + 1, __ATOMIC_RELEASE);
    }
}

// All symbols, or those for the loader in a file that was stripped.
static void take_file(const file *f, uintptr_t base, const char *name, const char *mangled) {
    const ElfW(Ehdr) *head = part(f, 0, sizeof *head);
    if (!head || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0) return;
    const ElfW(Shdr) *sections = part(f, head->e_shoff, head->e_shnum * sizeof *sections);
    const ElfW(Shdr) *found = NULL;
    for (unsigned i = 0; sections && i < head->e_shnum; i++) {
        if (sections[i].sh_type == SHT_SYMTAB) found = &sections[i];
        if (sections[i].sh_type == SHT_DYNSYM && !found) found = &sections[i];
    }
    if (found && found->sh_link < head->e_shnum)
        take_symbols(f, found, &sections[found->sh_link], base, name, mangled);
}

static void take_module(uintptr_t base, const char *path, const char *name) {
    char mangled[NAME_MOST];
    struct stat status;
    int fd = mangle(name, mangled) ? ouro__open(path, O_RDONLY, 0) : -1;
    if (fd < 0) return;
    if (fstat(fd, &status) == 0 && status.st_size > 0) {
        file f = {.size = (size_t)status.st_size};
        void *bytes = mmap(NULL, f.size, PROT_READ, MAP_PRIVATE, fd, 0);
        f.bytes = bytes;
        if (bytes != MAP_FAILED) take_file(&f, base, name, mangled);
        if (bytes != MAP_FAILED) munmap(bytes, f.size);
    }
    close(fd);
}

void ouro_native_slice_module(uintptr_t base, const char *path) {
    const char *name = secure_getenv("OURO_NATIVE_SLICE");
    if (!name || !*name || module_count == MODULES_MOST) return;
    for (size_t i = 0; i < module_count; i++) {
        if (modules[i] == base) return;
    }
    modules[module_count++] = base;
    take_module(base, path, name);
}

bool ouro_native_is_sliced(uintptr_t function) {
    size_t count = __atomic_load_n(&function_count, __ATOMIC_ACQUIRE);
    for (size_t i = 0; i < count; i++) {
        if (functions[i] == function) return true;
    }
    return false;
}

// ---------------------------------------------------------------- calls

uint32_t ouro_native_slice_enter(native_self *self, uintptr_t function) {
    if (self->slice_stack || !ouro_native_is_sliced(function)) return (uint32_t)function;
    self->slice_stack = self->stack;
    self->slice_frame = (size_t)(self->top - self->stack->frames);
    ouro_slice(self->thread);
    return ~(uint32_t)function;
}

void ouro_native_slice_exit(native_self *self) {
    self->slice_stack = NULL;
    ouro_slice_stop(self->thread);
}

ouro_slice_options ouro_native_slice_options(const ouro_metric_info *metrics, size_t count) {
    const char *by = secure_getenv("OURO_NATIVE_SLICE_BY");
    ouro_slice_options options = {.name = secure_getenv("OURO_NATIVE_SLICE")};
    for (uint32_t i = 0; by && i < count; i++) {
        if (strcmp(metrics[i].name, by) == 0) options.by = i + 1;
    }
    return options;
}

// ---------------------------------------------------------------- from outside

// What `ouro run --slice` asks for goes before what the program says.
static void say(bool next) {
    native_section section;
    const char *name = secure_getenv("OURO_NATIVE_SLICE");
    if ((name && *name) || !ouro_native_section_begin(&section)) return;
    if (next) ouro_slice(ouro_native_self.thread);
    if (!next) ouro_slice_stop(ouro_native_self.thread);
    ouro_native_section_end(&section);
}

void ouro_native_slice_here_(void) { say(true); }
void ouro_native_slice_stop_here_(void) { say(false); }
