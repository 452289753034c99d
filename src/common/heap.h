// SPDX-License-Identifier: MIT
//
// What we ask of glibc's malloc. Other C libraries take no such requests, and all works as well.

#ifndef OURO_HEAP_H
#define OURO_HEAP_H

#include <stddef.h>
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

// All threads share one heap: memory that one request freed is there for the next.
static inline void ouro__heap_is_shared(void) {
#ifdef __GLIBC__
    mallopt(M_ARENA_MAX, 1);
#endif
}

// Freed memory is kept for later allocations, up to so many bytes.
static inline void ouro__heap_keeps(int bytes) {
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, bytes);
    mallopt(M_TRIM_THRESHOLD, bytes);
#else
    (void)bytes;
#endif
}

// Returns how many bytes have been freed and not been given back, 0 if that is not known.
static inline size_t ouro__heap_free_bytes(void) {
#ifdef __GLIBC__
    return mallinfo2().fordblks;
#else
    return 0;
#endif
}

static inline void ouro__heap_give_back(void) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

#endif
