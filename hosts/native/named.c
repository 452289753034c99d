// SPDX-License-Identifier: MIT
//
// The functions of a module that have a name, by its symbols. C++: the name without parameters and
// arguments of templates, with or without its classes and namespaces. Only as much of a mangled
// symbol is read as that takes: Game::frame is N4Game5frameE.

#include "native.h"

#include "descriptors.h"

#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// ---------------------------------------------------------------- names

enum { PARTS_MOST = 32 };

// A name in parts: classes, namespaces and the name itself, without arguments of templates.
typedef struct {
    const char *text;
    size_t length;
} name_part;

typedef struct {
    name_part parts[PARTS_MOST];
    size_t count;
} split_name;

static void add_part(split_name *name, const char *text, size_t length) {
    if (name->count < PARTS_MOST) name->parts[name->count] = (name_part){text, length};
    name->count++;
}

// a::b::c. A name of this form may come with the arguments of templates, which are left out.
static split_name split(const char *text) {
    static const char hidden[] = "(anonymous namespace)";
    split_name name = {.count = 0};
    while (*text) {
        text += *text == '~';
        size_t length = strncmp(text, hidden, sizeof hidden - 1) ? strcspn(text, ":<") : 0;
        if (length)
            add_part(&name, text, length);
        else
            add_part(&name, "_GLOBAL__N_1", 12);
        text += length ? length : sizeof hidden - 1;
        text += strcspn(text, ":");
        text += strspn(text, ":");
    }
    return name;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

// 5frame
static const char *read_part(const char *at, split_name *name) {
    char *text;
    size_t length = strtoul(at, &text, 10);
    if (length > strlen(text)) return NULL;
    add_part(name, text, length);
    return text + length;
}

// S_, T0_
static const char *behind_number(const char *at) {
    const char *end = strchr(at, '_');
    return end ? end + 1 : NULL;
}

// Behind the arguments of a template, which begin with I and end with E, as do others inside.
static const char *behind_arguments(const char *at) {
    split_name ignored = {.count = 0};
    for (int depth = 0; at && *at;) {
        if (is_digit(*at)) {
            at = read_part(at, &ignored);
        } else if (*at == 'L' && at[1] != '_') { // a number
            at = strchr(at, 'E');
            at += at != NULL;
        } else if (*at == 'T' || (*at == 'S' && (is_digit(at[1]) || at[1] == '_'))) {
            at = behind_number(at);
        } else if (*at == 'S') {
            at += 2;
        } else {
            if (strchr("INXJFL", *at)) depth++;
            if (*at == 'E' && --depth == 0) return at + 1;
            at++;
        }
    }
    return NULL;
}

// The next piece of a name; NULL at its end, or where it is of another kind, such as an operator.
static const char *read_piece(const char *at, split_name *name) {
    const name_part *last = name->count ? &name->parts[name->count - 1] : NULL;
    if (is_digit(*at)) return read_part(at, name);
    if (*at == 'I') return behind_arguments(at);
    if (*at == 'L' && is_digit(at[1])) return at + 1; // static
    if (*at == 'B') return read_part(at + 1, &(split_name){.count = 0});
    if (strncmp(at, "St", 2) == 0) return add_part(name, "std", 3), at + 2;
    if (*at == 'S' && strchr("absiod", at[1])) return add_part(name, "", 0), at + 2;
    if ((*at == 'C' || *at == 'D') && is_digit(at[1]) && last && name->count < PARTS_MOST) {
        add_part(name, last->text, last->length); // a constructor; ~ is left out of a name, too
        return at + 2;
    }
    return NULL;
}

// _ZN4Game5frameEv, _Z5framev, _ZSt4sortIPiEvT_S1_
static bool read_symbol(const char *symbol, split_name *name) {
    *name = (split_name){.count = 0};
    if (strncmp(symbol, "_Z", 2) != 0) return false;
    const char *at = symbol + 2, *next;
    bool nested = *at == 'N';
    if (nested) at += 1 + strspn(at + 1, "KVrRO");
    while ((next = read_piece(at, name))) {
        at = next;
        bool is_whole = !nested && name->count && name->parts[name->count - 1].length &&
                        strncmp(symbol + 2, "St", 2) != 0;
        if (is_whole || (!nested && name->count > 1)) break;
    }
    return name->count > 0 && name->count <= PARTS_MOST && (!nested || *at == 'E');
}

static bool ends_with(const split_name *whole, const split_name *end) {
    if (end->count > whole->count || !end->count || end->count > PARTS_MOST) return false;
    for (size_t i = 0; i < end->count; i++) {
        const name_part *a = &whole->parts[whole->count - end->count + i], *b = &end->parts[i];
        if (a->length != b->length || memcmp(a->text, b->text, a->length) != 0) return false;
    }
    return true;
}

// Parts of a function that the compiler has split have a dot behind the name.
static bool is_named(const char *symbol, const char *name, const split_name *parts) {
    size_t length = strlen(name);
    split_name whole;
    if (strncmp(symbol, name, length) == 0 && (!symbol[length] || symbol[length] == '.'))
        return true;
    return read_symbol(symbol, &whole) && ends_with(&whole, parts);
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
    split_name parts;
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
        if (s->count < s->most && is_named(strings + at->st_name, s->name, &s->parts))
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

// Of the names of a function, the one with most underscores in front.
const char *ouro_native_name_in_memory(const void *bytes, size_t size, uintptr_t function) {
    file f = {bytes, size};
    const ElfW(Ehdr) *head = part(&f, 0, sizeof *head);
    const ElfW(Shdr) *sections =
        head ? part(&f, head->e_shoff, head->e_shnum * sizeof *sections) : NULL;
    const char *name = NULL;
    for (unsigned i = 0; sections && i < head->e_shnum; i++) {
        if (sections[i].sh_type != SHT_DYNSYM || sections[i].sh_link >= head->e_shnum) continue;
        const ElfW(Shdr) *texts = &sections[sections[i].sh_link];
        const ElfW(Sym) *symbols = part(&f, sections[i].sh_offset, sections[i].sh_size);
        const char *strings = bytes_at(&f, texts->sh_offset, texts->sh_size);
        if (!symbols || !strings || !texts->sh_size || strings[texts->sh_size - 1]) continue;
        for (size_t s = 0; s < sections[i].sh_size / sizeof *symbols; s++) {
            if (symbols[s].st_value != function || symbols[s].st_name >= texts->sh_size) continue;
            const char *other = strings + symbols[s].st_name;
            if (!name || strspn(other, "_") > strspn(name, "_")) name = other;
        }
    }
    return name;
}

size_t ouro_native_functions_named(uintptr_t base, const char *path, const char *name,
                                   uintptr_t *functions, size_t most) {
    search s = {
        .name = name, .parts = split(name), .base = base, .functions = functions, .most = most};
    struct stat status;
    int fd = *name ? ouro__open(path, O_RDONLY, 0) : -1;
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
