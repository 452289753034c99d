// SPDX-License-Identifier: MIT
//
// Time in modules without hooks, such as libc. A tick that comes while one runs is charged to a
// block of that module, below the function that called it. The block has no calls: nobody counts
// them. A module has hooks if one of its functions was ever entered, and then all of it counts for
// the function on top.
//
// The handler of the clock must not allocate. A tick that needs memory, or hits a library which
// was loaded later, waits for the thread's next event. Only one waits: those that come meanwhile
// are charged to the function that called, so a program that is killed in a library loses one tick
// of each thread at most.

#include "native.h"

#include "ouro_site.h"
#include "own_path.h"

#include <limits.h>
#include <link.h>
#include <string.h>

enum { LIBRARIES = 256 };

typedef struct {
    uintptr_t start, size; // of its code; no size: it was unloaded
    ouro_block block;      // OURO_PHANTOM: it has hooks
} library;

// Entries stay where they are. The lock of functions.c is for whoever writes.
static library libraries[LIBRARIES];
static size_t count;

static library *find(uintptr_t at) {
    size_t n = __atomic_load_n(&count, __ATOMIC_ACQUIRE);
    for (library *l = libraries; l < libraries + n; l++)
        if (at - l->start < __atomic_load_n(&l->size, __ATOMIC_RELAXED)) return l;
    return NULL;
}

static ouro_block block_of(const library *l) {
    return __atomic_load_n(&l->block, __ATOMIC_RELAXED);
}

// ---------------------------------------------------------------- new ones

typedef struct {
    uintptr_t start, size;
    const char *path; // the loader's; "" for the program
} code;

typedef struct {
    uintptr_t at; // an address in it; 0: all of them
    code *found;
    size_t count, room;
} codes;

static int look_at(struct dl_phdr_info *info, size_t bytes, void *user) {
    codes *all = user;
    (void)bytes;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + p->p_vaddr;
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || all->count == all->room) continue;
        if (all->at && all->at - start >= p->p_memsz) continue;
        all->found[all->count++] =
            (code){start, p->p_memsz, info->dlpi_name ? info->dlpi_name : ""};
    }
    return 0;
}

static ouro_block block_new(const char *path) {
    static char own[PATH_MAX];
    if (!*path) path = ouro__own_path(own) ? own : "program";
    const char *slash = strrchr(path, '/');
    ouro_block block =
        ouro_add_block(ouro_native_session.counted,
                       &(ouro_block_info){slash ? slash + 1 : path, "[library]", 0, 0});
    ouro_native_switch_block(block);
    return block;
}

static bool is_own(const code *c) { return (uintptr_t)look_at - c->start < c->size; }

static void add(const code *c) {
    if (find(c->start) || count == LIBRARIES) return;
    bool hooks = is_own(c) || ouro_native_has_functions(c->start, c->size);
    ouro_block block = hooks ? OURO_PHANTOM : block_new(c->path);
    if (!hooks && block == OURO_PHANTOM) return;
    libraries[count] = (library){c->start, c->size, block};
    __atomic_store_n(&count, count + 1, __ATOMIC_RELEASE);
}

// The loader is asked first: see ouro_native_block_of.
static void add_all(codes all) {
    dl_iterate_phdr(look_at, &all);
    ouro_native_functions_lock(true);
    for (size_t i = 0; i < all.count; i++) add(all.found + i);
    ouro_native_functions_lock(false);
}

static void add_at(uintptr_t at) {
    code one;
    add_all((codes){at, &one, 0, 1});
}

void ouro_native_libraries_start(void) {
    static code first[64]; // the stack may be small
    if (ouro_native_session.hz) add_all((codes){0, first, 0, 64});
}

// ---------------------------------------------------------------- ticks

bool ouro_native_library_tick(uintptr_t at, ouro_thread *thread, ouro_metric metric,
                              uint64_t amount) {
    native_self *self = &ouro_native_self;
    const library *l = find(at);
    ouro_position caller = ouro_thread_position(thread);
    if (!at || (l && block_of(l) == OURO_PHANTOM)) return false;
    if (l && ouro_try_reenter(thread, block_of(l))) {
        ouro_native_count_tick(thread, metric, amount);
        ouro_exit(thread, caller);
        return true;
    }
    if (self->tick.at || thread != self->thread) return false;
    self->tick = (native_tick){at, metric, amount};
    self->limit = NULL;
    return true;
}

void ouro_native_library_settle(native_self *self) {
    native_tick tick = self->tick;
    self->tick.at = 0;
    if (!tick.at) return;
    if (!find(tick.at)) add_at(tick.at);
    const library *l = find(tick.at);
    ouro_position caller = ouro_reenter(self->thread, l ? block_of(l) : OURO_PHANTOM);
    ouro_native_count_tick(self->thread, tick.metric, tick.amount);
    ouro_exit(self->thread, caller);
}

// ---------------------------------------------------------------- changes, under the lock

void ouro_native_library_hooked(uintptr_t function) {
    library *l = find(function);
    if (l) __atomic_store_n(&l->block, OURO_PHANTOM, __ATOMIC_RELAXED);
}

void ouro_native_libraries_forget(bool (*is_loaded)(const void *user, uintptr_t at),
                                  const void *user) {
    for (library *l = libraries; l < libraries + count; l++)
        if (!is_loaded(user, l->start)) __atomic_store_n(&l->size, 0, __ATOMIC_RELAXED);
}
