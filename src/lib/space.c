// SPDX-License-Identifier: MIT
//
// Address space of lanes in steps, where it is limited (`ulimit -v`). Without a limit, a lane
// reserves the whole cap at once, and this file has nothing to do. With one, even memory that
// cannot be touched counts, so each lane gets a place far from everything else, and only the parts
// of it that are in use are mapped:
//
//   | nodes ......... | accounts ...... | their heres .. | of accounts .. | steps . | back . |
//   | ####            | ####            | ###            | ###            | ##      | #      |
//
// A token of another lane must lead to memory, see stray.c. So all lanes of a profile have memory
// for the same number of nodes, the extent, and grow together. When that fails, the extent is the
// cap of each lane. Parts are mapped with MAP_FIXED_NOREPLACE: what somebody else put there stays.

#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum { PARTS = 6, PARTS_OF_RECORDS = 2, TRIES = 64 };

typedef struct {
    size_t offset, bytes; // of the part, and of each node in it
} part;

typedef struct {
    char *base;
    int parts;
} region;

struct ouro__space {
    pthread_mutex_t lock; // the innermost
    part parts[PARTS];
    size_t bytes; // of a region
    uint32_t unit, capacity;
    _Atomic uint32_t extent; // nodes that have memory in all regions
    _Atomic bool full;
    region *regions;
    size_t count, room;
};

static bool is_limited(void) {
    struct rlimit limit;
    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

// A page of the smallest part, which has a byte per node.
uint32_t ouro__space_unit(void) { return is_limited() ? (uint32_t)sysconf(_SC_PAGESIZE) : 1; }

struct ouro__space *ouro__space_new(const ouro_profile *profile) {
    if (!is_limited()) return NULL;
    struct ouro__space *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    size_t capacity = profile->capacity, record = profile->stride * sizeof(uint64_t);
    size_t here = profile->stride / 4 * sizeof(ouro_here *);
    const size_t bytes[PARTS] = {record, record, here, here, sizeof(uint32_t), sizeof(bool)};
    for (int i = 0; i < PARTS; i++) {
        s->parts[i] = (part){s->bytes, bytes[i]};
        s->bytes += capacity * bytes[i];
    }
    pthread_mutex_init(&s->lock, NULL);
    s->capacity = profile->capacity;
    s->unit = ouro__space_unit();
    atomic_init(&s->extent, s->unit);
    return s;
}

void ouro__space_free(struct ouro__space *s) {
    if (!s) return;
    pthread_mutex_destroy(&s->lock);
    free(s->regions);
    free(s);
}

// ---------------------------------------------------------------- parts

static bool part_map(char *at, size_t bytes) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    void *mapped = mmap(at, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (mapped == MAP_FAILED) return false;
    if (mapped == at) {
        madvise(mapped, bytes, MADV_NOHUGEPAGE);
        return true;
    }
    munmap(mapped, bytes); // an old kernel, which takes the address for a wish
    errno = EEXIST;
    return false;
}

static void parts_unmap(const struct ouro__space *s, const region *r, int parts, uint32_t from,
                        uint32_t to) {
    for (int i = 0; i < parts; i++)
        munmap(r->base + s->parts[i].offset + from * s->parts[i].bytes,
               (to - from) * s->parts[i].bytes);
}

// Nodes `from` to `to` of a region: all or none.
static bool parts_map(const struct ouro__space *s, const region *r, uint32_t from, uint32_t to) {
    for (int i = 0; i < r->parts; i++) {
        const part *p = &s->parts[i];
        if (part_map(r->base + p->offset + from * p->bytes, (to - from) * p->bytes)) continue;
        int error = errno;
        parts_unmap(s, r, i, from, to);
        errno = error;
        return false;
    }
    return true;
}

// ---------------------------------------------------------------- regions

// A quarter up the address space: programs and heaps are below, libraries and stacks above. Round
// and round in the second quarter.
static char *next_base(size_t bytes) {
    static _Atomic uintptr_t next;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0), guard = (uintptr_t)1 << 20;
    uintptr_t first = here / 4 & ~(((uintptr_t)1 << 21) - 1);
    uintptr_t step = (bytes + 2 * guard) & ~(guard - 1);
    uintptr_t offset = atomic_fetch_add_explicit(&next, step, memory_order_relaxed);
    // NOLINTNEXTLINE: an address that nobody has yet
    return (char *)(first + (offset % (first / 2) & ~(guard - 1)));
}

static bool regions_reserve(struct ouro__space *s) {
    if (s->count < s->room) return true;
    size_t room = s->room ? s->room * 2 : 16;
    region *regions = realloc(s->regions, room * sizeof *regions);
    if (!regions) return false;
    s->regions = regions;
    s->room = room;
    return true;
}

// Zeros for the layout of a lane, or of its records alone. NULL with ENOMEM.
void *ouro__space_map(struct ouro__space *s, bool records_only) {
    region r = {NULL, records_only ? PARTS_OF_RECORDS : PARTS};
    bool ok = false;
    pthread_mutex_lock(&s->lock);
    if (regions_reserve(s)) {
        errno = EEXIST;
        for (int i = 0; i < TRIES && !ok && errno == EEXIST; i++) {
            r.base = next_base(s->bytes);
            ok = parts_map(s, &r, 0, atomic_load(&s->extent));
        }
        if (ok) s->regions[s->count++] = r;
    }
    pthread_mutex_unlock(&s->lock);
    if (!ok) errno = ENOMEM;
    return ok ? r.base : NULL;
}

void ouro__space_unmap(struct ouro__space *s, void *base) {
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->count; i++) {
        if (s->regions[i].base != base) continue;
        parts_unmap(s, &s->regions[i], s->regions[i].parts, 0, atomic_load(&s->extent));
        s->regions[i] = s->regions[--s->count];
        break;
    }
    pthread_mutex_unlock(&s->lock);
}

// ---------------------------------------------------------------- growing

static bool grow_to(struct ouro__space *s, uint32_t nodes) {
    uint32_t extent = atomic_load(&s->extent);
    for (size_t i = 0; i < s->count; i++) {
        if (parts_map(s, &s->regions[i], extent, nodes)) continue;
        while (i-- > 0) parts_unmap(s, &s->regions[i], s->regions[i].parts, extent, nodes);
        return false;
    }
    atomic_store(&s->extent, nodes);
    return true;
}

// Twice as many nodes, or near the limit as few as can be.
static void grow(struct ouro__space *s) {
    uint32_t extent = atomic_load(&s->extent), left = s->capacity - extent;
    uint32_t more = extent < left ? extent : left;
    if (grow_to(s, extent + more)) return;
    if (more <= s->unit || !grow_to(s, extent + s->unit)) atomic_store(&s->full, true);
}

// How many nodes of a lane have memory, when `wanted` would be needed. The caller holds the lane's
// lock, or that of the profile.
uint32_t ouro__space_extent(struct ouro__space *s, uint32_t wanted) {
    if (atomic_load(&s->extent) < wanted && !atomic_load(&s->full)) {
        pthread_mutex_lock(&s->lock);
        if (atomic_load(&s->extent) < wanted && wanted <= s->capacity) grow(s);
        pthread_mutex_unlock(&s->lock);
    }
    return atomic_load(&s->extent);
}

bool ouro__space_is_full(const struct ouro__space *s) { return s && atomic_load(&s->full); }
