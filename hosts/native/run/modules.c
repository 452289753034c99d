// SPDX-License-Identifier: MIT
//
// Modules and processes. A module's program headers are read once, by hand. They say which part of
// the file goes to which address. A mapping belongs to a segment of code, which gives the mapping's
// bias. The offset alone does not: lld and mold put two segments into one page of the
// file, and both are mapped from the start of that page, to different addresses. The mappings of a
// process are an array without overlaps; a new mapping replaces the parts that it covers.

#include "modules.h"

#include "array.h"
#include "unwind.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEADERS_MOST = 128, NOTES_MOST = 65536 };

// ---------------------------------------------------------------- files

static size_t rounded(size_t n) { return (n + 3) & ~(size_t)3; }

static void put_build_id(file_module *m, const unsigned char *bytes, size_t size) {
    if (size * 2 >= sizeof m->build_id) return;
    for (size_t i = 0; i < size; i++) snprintf(m->build_id + 2 * i, 3, "%02x", bytes[i]);
}

static void read_notes(file_module *m, int fd, const Elf64_Phdr *p) {
    unsigned char *notes = p->p_filesz <= NOTES_MOST ? malloc(p->p_filesz + 1) : NULL;
    ssize_t n = notes ? pread(fd, notes, p->p_filesz, (off_t)p->p_offset) : 0;
    for (size_t at = 0, end = n > 0 ? (size_t)n : 0; end - at >= sizeof(Elf64_Nhdr);) {
        Elf64_Nhdr head;
        memcpy(&head, notes + at, sizeof head);
        size_t left = end - at - sizeof head, name = rounded(head.n_namesz);
        if (head.n_namesz > left || name > left || head.n_descsz > left - name) break;
        const unsigned char *text = notes + at + sizeof head;
        if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 && !memcmp(text, "GNU", 4))
            put_build_id(m, text + name, head.n_descsz);
        size_t size = sizeof head + name + rounded(head.n_descsz);
        if (size > end - at) break;
        at += size;
    }
    free(notes);
}

static void read_headers(file_module *m, int fd) {
    Elf64_Ehdr head;
    Elf64_Phdr p;
    if (pread(fd, &head, sizeof head, 0) != sizeof head || memcmp(head.e_ident, ELFMAG, SELFMAG) ||
        head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof p ||
        head.e_phnum > HEADERS_MOST)
        return;
    m->loads = calloc(head.e_phnum + 1u, sizeof *m->loads);
    for (size_t i = 0; m->loads && i < head.e_phnum; i++) {
        if (pread(fd, &p, sizeof p, (off_t)(head.e_phoff + i * sizeof p)) != sizeof p) return;
        if (p.p_type == PT_LOAD && p.p_flags & PF_X)
            m->loads[m->load_count++] = (module_load){p.p_offset, p.p_filesz, p.p_vaddr};
        if (p.p_type == PT_NOTE) read_notes(m, fd, &p);
    }
    m->is_elf = m->load_count > 0;
}

static uint32_t module_of(modules *all, const char *path) {
    for (size_t i = all->count; i-- > 0;) {
        if (strcmp(all->modules[i].path, path) == 0) return (uint32_t)i;
    }
    file_module m = {.path = strdup(path)};
    struct stat status;
    if (!m.path || !array_reserve(&all->modules, all->count + 1, &all->room, sizeof m)) {
        free(m.path);
        return UINT32_MAX;
    }
    bool is_file = path[0] == '/' && stat(path, &status) == 0 && S_ISREG(status.st_mode);
    int fd = is_file ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        read_headers(&m, fd);
        close(fd);
    }
    all->modules[all->count] = m;
    return (uint32_t)all->count++;
}

void modules_expect(modules *all, const char *path, const unsigned char *build_id, size_t size) {
    uint32_t i = module_of(all, path);
    file_module wanted = {0};
    put_build_id(&wanted, build_id, size);
    if (i == UINT32_MAX || strncmp(all->modules[i].build_id, wanted.build_id, 2 * size) == 0)
        return;
    all->modules[i].is_elf = false;
    memcpy(all->modules[i].build_id, wanted.build_id, sizeof wanted.build_id);
}

// ---------------------------------------------------------------- processes

process *modules_process(modules *all, uint32_t pid) {
    for (process **at = &all->processes; *at; at = &(*at)->next) {
        process *p = *at;
        if (p->pid != pid) continue;
        *at = p->next;
        p->next = all->processes;
        return all->processes = p;
    }
    process *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->pid = pid;
    p->next = all->processes;
    return all->processes = p;
}

void modules_clear(process *p) {
    p->count = 0;
    p->changes++;
}

static void process_free(process *p) {
    unwinder_free(p->unwinder);
    free(p->mappings);
    free(p);
}

void modules_exit(modules *all, uint32_t pid) {
    process *p = modules_process(all, pid);
    if (!p) return;
    all->processes = p->next;
    process_free(p);
}

void modules_free(modules *all) {
    for (process *p = all->processes, *next; p; p = next) {
        next = p->next;
        process_free(p);
    }
    for (size_t i = 0; i < all->count; i++) {
        free(all->modules[i].path);
        free(all->modules[i].loads);
    }
    free(all->modules);
}

// ---------------------------------------------------------------- mappings

// The first mapping that ends after `address`.
static size_t place_of(const process *p, uint64_t address) {
    size_t low = 0, high = p->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (p->mappings[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool insert(process *p, size_t at, mapping m) {
    if (!array_reserve(&p->mappings, p->count + 1, &p->room, sizeof m)) return false;
    memmove(p->mappings + at + 1, p->mappings + at, (p->count - at) * sizeof m);
    p->mappings[at] = m;
    p->count++;
    return true;
}

// Takes the room of `m` from the mappings that are there.
static void make_room(process *p, const mapping *m) {
    size_t at = place_of(p, m->start);
    if (at < p->count && p->mappings[at].start < m->start) {
        mapping old = p->mappings[at];
        p->mappings[at].end = m->start;
        if (old.end > m->end) insert(p, at + 1, (mapping){m->end, old.end, old.bias, old.module});
        at++;
    }
    size_t last = at;
    while (last < p->count && p->mappings[last].end <= m->end) last++;
    memmove(p->mappings + at, p->mappings + last, (p->count - last) * sizeof *m);
    p->count -= last - at;
    if (at < p->count && p->mappings[at].start < m->end) p->mappings[at].start = m->end;
}

// Finds the segment that shares the most bytes with the mapped part of the file, and returns its
// bias. The first and the last page may hold bytes of other segments.
static uint64_t bias_of(const file_module *m, uint64_t start, uint64_t length, uint64_t offset) {
    uint64_t most = 0, bias = start - offset;
    for (size_t i = 0; i < m->load_count; i++) {
        const module_load *l = &m->loads[i];
        uint64_t first = l->offset > offset ? l->offset : offset;
        uint64_t end = l->offset + l->size, mapped_end = offset + length;
        if (end > mapped_end) end = mapped_end;
        if (end <= first || end - first <= most) continue;
        most = end - first;
        bias = start - (offset - l->offset + l->address);
    }
    return bias;
}

void modules_map(modules *all, uint32_t pid, uint64_t start, uint64_t length, uint64_t offset,
                 const char *path) {
    process *p = modules_process(all, pid);
    uint32_t module = p && length ? module_of(all, path) : UINT32_MAX;
    if (module == UINT32_MAX) return;
    uint64_t bias = bias_of(&all->modules[module], start, length, offset);
    mapping m = {start, start + length, bias, module};
    if (p->count) make_room(p, &m);
    insert(p, place_of(p, start), m);
    p->changes++;
}

void modules_fork(modules *all, uint32_t parent, uint32_t child) {
    if (parent == child) return; // a thread
    process *to = modules_process(all, child), *of = to ? modules_process(all, parent) : NULL;
    if (!of) return;
    modules_clear(to);
    for (size_t i = 0; i < of->count; i++) insert(to, to->count, of->mappings[i]);
}

void modules_read_maps(modules *all, uint32_t pid) {
    char name[64], *line = NULL;
    size_t room = 0;
    snprintf(name, sizeof name, "/proc/%u/maps", pid);
    FILE *in = fopen(name, "re");
    while (in && getline(&line, &room, in) > 0) {
        unsigned long long start, end, offset;
        char rights[8];
        int path = 0;
        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "%llx-%llx %7s %llx %*s %*s %n", &start, &end, rights, &offset, &path) <
                4 ||
            !path || !strchr(rights, 'x') || end <= start)
            continue;
        modules_map(all, pid, start, end - start, offset, line[path] ? line + path : "//anon");
    }
    free(line);
    if (in) fclose(in);
}

const mapping *modules_find(const process *p, uint64_t address) {
    size_t at = place_of(p, address);
    return at < p->count && p->mappings[at].start <= address ? &p->mappings[at] : NULL;
}
