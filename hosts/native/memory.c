// SPDX-License-Identifier: MIT
//
// malloc and its variants, for `ouro run --memory`: each allocation and its bytes are charged to
// the current position. A separate library, so that programs pay for it only with that option; in
// static programs --wrap redirects calls to it. free is not counted. A realloc counts as an
// allocation of its new size.

#include "interpose.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

// Of libouro-native, which is in the program or preloaded.
__attribute__((weak)) void ouro_native_allocated_(size_t bytes);

static void *charged(void *memory, size_t bytes) {
    if (memory && ouro_native_allocated_) ouro_native_allocated_(bytes);
    return memory;
}

DECLARE(malloc);
DECLARE(calloc);
DECLARE(realloc);
DECLARE(aligned_alloc);
DECLARE(posix_memalign);
DECLARE(memalign);
REAL_OF(malloc)
REAL_OF(realloc)
REAL_OF(aligned_alloc)
REAL_OF(posix_memalign)
REAL_OF(memalign)

#ifdef OURO_NATIVE_WRAP
REAL_OF(calloc)
#else
// dlsym may need zeroed memory while it looks for calloc. It gets some that is never freed.
static __typeof__(calloc) *found_calloc;
static void *calloc_early(size_t count, size_t size) {
    static char early[4096] __attribute__((aligned(16)));
    static size_t used;
    size_t bytes = (count * size + 15) & ~(size_t)15;
    if (bytes > sizeof early - used) return NULL;
    used += bytes;
    return early + used - bytes;
}
static __typeof__(calloc) *real_calloc(void) {
    static bool looking;
    if (found_calloc) return found_calloc;
    if (looking) return calloc_early;
    looking = true;
    *(void **)&found_calloc = dlsym(RTLD_NEXT, "calloc");
    looking = false;
    return found_calloc ? found_calloc : calloc_early;
}
#endif

void *OURS(malloc)(size_t bytes) { return charged(real_malloc()(bytes), bytes); }

void *OURS(calloc)(size_t count, size_t size) {
    return charged(real_calloc()(count, size), count * size);
}

void *OURS(realloc)(void *memory, size_t bytes) {
    return charged(real_realloc()(memory, bytes), bytes);
}

void *OURS(aligned_alloc)(size_t alignment, size_t bytes) {
    return charged(real_aligned_alloc()(alignment, bytes), bytes);
}

void *OURS(memalign)(size_t alignment, size_t bytes) {
    return charged(real_memalign()(alignment, bytes), bytes);
}

int OURS(posix_memalign)(void **memory, size_t alignment, size_t bytes) {
    int error = real_posix_memalign()(memory, alignment, bytes);
    if (!error) charged(*memory, bytes);
    return error;
}
