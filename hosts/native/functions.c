// SPDX-License-Identifier: MIT
//
// From the address of a function to its block. A block's name is its module and the offset there;
// its file is the module's path and build id. `ouro run` finds the real names after the program has
// ended. All functions are in one hash table under a lock; the hooks look first into a
// direct-mapped cache.

#include "native.h"

#include "own_path.h"

#include <elf.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { TABLE_FIRST = 1024, BUILD_ID_MOST = 32 };

typedef struct {
    uintptr_t function; // 0: free; 1: its module is gone
    ouro_block block;
    bool entered;
} entry;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static entry *table;
static size_t size, used;

// ---------------------------------------------------------------- modules

typedef struct {
    uintptr_t address; // the function's
    uintptr_t base;
    const char *path; // owned by the loader; "" for the program
    uintptr_t start;  // where the file is in memory,
    size_t size;      // as much of it as is there
    unsigned char build_id[BUILD_ID_MOST];
    size_t build_id_size;
    bool found;
} module;

static bool covers(const struct dl_phdr_info *info, uintptr_t address) {
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_LOAD && address - (info->dlpi_addr + p->p_vaddr) < p->p_memsz)
            return true;
    }
    return false;
}

static size_t rounded(size_t n) { return (n + 3) & ~(size_t)3; }

static void read_notes(module *m, const unsigned char *at, const unsigned char *end) {
    while ((size_t)(end - at) >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) head;
        memcpy(&head, at, sizeof head);
        const unsigned char *name = at + sizeof head, *text = name + rounded(head.n_namesz);
        if (text > end || rounded(head.n_descsz) > (size_t)(end - text)) return;
        if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 && !memcmp(name, "GNU", 4) &&
            head.n_descsz <= BUILD_ID_MOST) {
            memcpy(m->build_id, text, head.n_descsz);
            m->build_id_size = head.n_descsz;
        }
        at = text + rounded(head.n_descsz);
    }
}

static int look_at(struct dl_phdr_info *info, size_t bytes, void *user) {
    module *m = user;
    (void)bytes;
    if (!covers(info, m->address)) return 0;
    m->found = true;
    m->base = info->dlpi_addr;
    m->path = info->dlpi_name ? info->dlpi_name : "";
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        const unsigned char *notes = (const unsigned char *)(info->dlpi_addr + p->p_vaddr);
        if (p->p_type == PT_NOTE) read_notes(m, notes, notes + p->p_filesz);
        if (p->p_type == PT_LOAD && p->p_offset == 0) {
            size_t page = (size_t)getpagesize();
            m->start = (uintptr_t)notes;
            m->size = (p->p_filesz + page - 1) & -page;
        }
    }
    return 1;
}

// Static, and used under the lock, because the stack may be small.
static struct {
    char path[2 * PATH_MAX], name[NAME_MAX + 32], file[2 * PATH_MAX + 2 * BUILD_ID_MOST + 16];
} text;

// The program itself has no name in the loader, and a relative path is useless in another folder.
static void put_path(const module *m) {
    text.path[0] = '\0';
    if (!m->path[0]) {
        ouro__own_path(text.path);
        return;
    }
    if (m->path[0] != '/' && strchr(m->path, '/') && getcwd(text.path, PATH_MAX))
        strcat(text.path, "/");
    strncat(text.path, m->path, PATH_MAX - 1);
}

static void put_file(const module *m) {
    int n = snprintf(text.file, sizeof text.file, "%s", text.path);
    if (!m->build_id_size) return;
    n += snprintf(text.file + n, sizeof text.file - (size_t)n, " (build id ");
    for (size_t i = 0; i < m->build_id_size; i++)
        n += snprintf(text.file + n, sizeof text.file - (size_t)n, "%02x", m->build_id[i]);
    snprintf(text.file + n, sizeof text.file - (size_t)n, ")");
}

// ---------------------------------------------------------------- blocks

static ouro_block block_new(const module *m) {
    if (m->found) {
        put_path(m);
        put_file(m);
        ouro_native_slice_module(m->base, text.path);
        const char *slash = strrchr(text.path, '/');
        // The kernel's page of code has no file in which names could be found later.
        const char *name = slash ? NULL
                                 : ouro_native_name_in_memory((const void *)m->start, m->size,
                                                              m->address - m->base);
        if (name)
            snprintf(text.name, sizeof text.name, "%.*s", NAME_MAX, name);
        else
            snprintf(text.name, sizeof text.name, "%.*s+0x%zx", NAME_MAX,
                     slash ? slash + 1 : text.path, m->address - m->base);
    } else {
        snprintf(text.name, sizeof text.name, "0x%zx", m->address);
        text.file[0] = '\0';
    }
    ouro_block block =
        ouro_add_block(ouro_native_session.counted, &(ouro_block_info){text.name, text.file, 0, 0});
    ouro_native_switch_block(block);
    return block;
}

static size_t home(uintptr_t function, size_t mask) {
    return (function * UINT64_C(0x9e3779b97f4a7c15) >> 32) & mask;
}

static entry *find(uintptr_t function) {
    if (!size) return NULL;
    size_t i = home(function, size - 1);
    while (table[i].function && table[i].function != function) i = (i + 1) & (size - 1);
    return table[i].function ? &table[i] : NULL;
}

static void insert(entry *to, size_t mask, entry e) {
    size_t i = home(e.function, mask);
    while (to[i].function) i = (i + 1) & mask;
    to[i] = e;
}

// Keeps the table at most half full. Entries of unloaded modules are not copied.
static bool reserve(void) {
    if (used * 2 < size) return true;
    size_t larger = size ? size * 2 : TABLE_FIRST;
    entry *fresh = mmap(NULL, larger * sizeof *fresh, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fresh == MAP_FAILED) return false;
    used = 0;
    for (size_t i = 0; i < size; i++) {
        if (table[i].function <= 1) continue;
        insert(fresh, larger - 1, table[i]);
        used++;
    }
    if (table) munmap(table, size * sizeof *table);
    table = fresh;
    size = larger;
    return true;
}

static void cache_put(uintptr_t function, ouro_block block) {
    if (block >> CACHE_BLOCK_BITS || function >> 47 || ouro_native_is_sliced(function)) return;
    __atomic_store_n(cache_place(function), function << CACHE_BLOCK_BITS | block, __ATOMIC_RELAXED);
}

static entry *add(const module *m) {
    entry *e = find(m->address); // another thread may have added it
    if (e) return e;
    ouro_block block = reserve() ? block_new(m) : OURO_PHANTOM;
    if (block == OURO_PHANTOM) return NULL;
    insert(table, size - 1, (entry){m->address, block, false});
    used++;
    return find(m->address);
}

// Without memory NULL, and the next call tries again. The loader is asked before we take our lock:
// a thread that holds the loader's lock may wait for ours.
static entry *find_or_add(uintptr_t function) {
    pthread_mutex_lock(&lock);
    entry *e = find(function);
    if (e) return e;
    module m = {.address = function};
    pthread_mutex_unlock(&lock);
    dl_iterate_phdr(look_at, &m);
    pthread_mutex_lock(&lock);
    return add(&m);
}

ouro_block ouro_native_block_of(uintptr_t function) {
    entry *e = find_or_add(function);
    ouro_block block = e ? e->block : OURO_PHANTOM;
    if (e && !e->entered) {
        e->entered = true;
        ouro_native_uncounted_entered(function);
    }
    if (e) cache_put(function, block);
    pthread_mutex_unlock(&lock);
    return block;
}

bool ouro_native_block_of_uncounted(uintptr_t function, ouro_block *block) {
    const entry *e = find_or_add(function);
    if (e) *block = e->entered ? OURO_PHANTOM : e->block;
    pthread_mutex_unlock(&lock);
    return e != NULL;
}

// Threads of one name share a block. There are few names.
ouro_block ouro_native_block_of_name(const char *name) {
    enum { NAMES = 256 };
    static ouro_block named[NAMES];
    static size_t count;
    ouro_block block = OURO_PHANTOM;
    ouro_block_info info;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count && block == OURO_PHANTOM; i++) {
        if (ouro_block_get(ouro_native_session.counted, named[i], &info) &&
            strcmp(info.name, name) == 0)
            block = named[i];
    }
    if (block == OURO_PHANTOM && count < NAMES) {
        block =
            ouro_add_block(ouro_native_session.counted, &(ouro_block_info){name, "[thread]", 0, 0});
        ouro_native_switch_block(block);
        if (block != OURO_PHANTOM) named[count++] = block;
    }
    pthread_mutex_unlock(&lock);
    return block;
}

// A frame has only the lower half of the address.
ouro_block ouro_native_block_by_key(uint32_t key) {
    ouro_block block = OURO_PHANTOM;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < size && block == OURO_PHANTOM; i++) {
        uint32_t low = (uint32_t)table[i].function;
        if (table[i].function > 1 && (low == key || low == ~key)) block = table[i].block;
    }
    pthread_mutex_unlock(&lock);
    return block;
}

// ---------------------------------------------------------------- dlclose

// The ranges of the modules that are loaded.
typedef struct {
    uintptr_t (*ranges)[2];
    size_t count, room;
} loaded;

static int add_ranges(struct dl_phdr_info *info, size_t bytes, void *user) {
    loaded *all = user;
    (void)bytes;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD) continue;
        if (all->count < all->room) {
            all->ranges[all->count][0] = info->dlpi_addr + p->p_vaddr;
            all->ranges[all->count][1] = p->p_memsz;
        }
        all->count++;
    }
    return 0;
}

static bool is_loaded(const void *user, uintptr_t function) {
    const loaded *all = user;
    for (size_t i = 0; i < all->count; i++) {
        if (function - all->ranges[i][0] < all->ranges[i][1]) return true;
    }
    return false;
}

static void forget(const loaded *all) {
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < size; i++) {
        uintptr_t function = table[i].function;
        if (function <= 1 || is_loaded(all, function)) continue;
        table[i].function = 1;
        __atomic_store_n(cache_place(function), 0, __ATOMIC_RELAXED);
    }
    ouro_native_uncounted_forget(is_loaded, all);
    pthread_mutex_unlock(&lock);
}

// Forgets the functions of unloaded modules, because another library may be loaded there.
void ouro_native_forget_unloaded(void) {
    native_section section;
    loaded all = {0};
    if (!ouro_native_section_begin(&section)) return;
    dl_iterate_phdr(add_ranges, &all);
    size_t bytes = (all.count + 64) * sizeof *all.ranges;
    all = (loaded){.room = all.count + 64};
    all.ranges = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if ((void *)all.ranges != MAP_FAILED) {
        dl_iterate_phdr(add_ranges, &all);
        if (all.count <= all.room) forget(&all);
        munmap(all.ranges, bytes);
    }
    ouro_native_section_end(&section);
}

void ouro_native_functions_lock(bool take) {
    if (take) {
        pthread_mutex_lock(&lock);
    } else {
        pthread_mutex_unlock(&lock);
    }
}
