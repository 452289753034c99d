// SPDX-License-Identifier: MIT
//
// Mirrors of stacks, see sleds.c: memory at the addresses of a stack with one bit inverted, which
// is far from all that a process maps, and a little above. It is reserved for a whole stack, and
// costs what is touched.
// Ranges that have a mirror are in one array, joined where they meet; they are never unmapped,
// because stacks may share pages.

#include "native.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct {
    uintptr_t from, to;
} range;

enum { RANGES_MOST = 1 << 16 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // held only while signals are blocked
static range *ranges;
static size_t count;

// Of a page of a stack. What is in it has its mirror there or in the next page.
static uintptr_t mirrored(uintptr_t page) { return mirror_of(page) - NATIVE_MIRROR_SHIFT; }

static bool prepare(void) {
    if (ranges) return true;
    void *memory = mmap(NULL, RANGES_MOST * sizeof *ranges, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    ranges = memory;
    return true;
}

static bool remember(uintptr_t from, uintptr_t to) {
    for (size_t i = 0; i < count; i++) {
        if (ranges[i].to != from && ranges[i].from != to) continue;
        if (ranges[i].to == from) ranges[i].to = to;
        if (ranges[i].from == to) ranges[i].from = from;
        return true;
    }
    if (count == RANGES_MOST) return false;
    ranges[count++] = (range){from, to};
    return true;
}

static bool map(uintptr_t from, uintptr_t to) {
    void *at = (void *)(mirrored(from));
    void *memory = mmap(at, to - from, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (memory == at) return remember(from, to);
    if (memory != MAP_FAILED) munmap(memory, to - from); // by an old kernel
    return false;
}

// Where the part that begins at `from` ends, at most at `to`, and whether it has a mirror.
static uintptr_t part(uintptr_t from, uintptr_t to, bool *has) {
    for (size_t i = 0; i < count; i++) {
        *has = from >= ranges[i].from && from < ranges[i].to;
        if (*has) return ranges[i].to < to ? ranges[i].to : to;
        if (ranges[i].from > from && ranges[i].from < to) to = ranges[i].from;
    }
    return to;
}

bool ouro_native_mirror(uintptr_t low, uintptr_t size) {
    uintptr_t page = (uintptr_t)getpagesize(), at = low & -page,
              to = (low + size + 2 * page) & -page;
    bool has = false;
    pthread_mutex_lock(&lock);
    bool good = prepare();
    while (good && at < to) {
        uintptr_t end = part(at, to, &has);
        good = has || map(at, end);
        at = end;
    }
    pthread_mutex_unlock(&lock);
    return good;
}

// Whole pages only: what is on others may be a neighbour's.
void ouro_native_mirror_clear(uintptr_t low, uintptr_t size) {
    uintptr_t page = (uintptr_t)getpagesize(), mirror = mirror_of(low),
              from = (mirror + page - 1) & -page, to = (mirror + size) & -page;
    if (from < to) madvise((void *)from, to - from, MADV_DONTNEED);
}

void ouro_native_mirror_lock(bool take) {
    if (take) {
        pthread_mutex_lock(&lock);
    } else {
        pthread_mutex_unlock(&lock);
    }
}
