// SPDX-License-Identifier: MIT
//
// Allocations, in precise mode on request: our functions stand before Python's allocators of
// objects and of memory, and charge what is asked for to the place where the thread stands. The
// interpreter allocates in order to call our hook, too: a frame object per call, and a bound method
// per call of a C method. The hook takes these back, so that the figures are the program's.

#include "session.h"

_Thread_local __attribute__((tls_model("initial-exec"))) track *memory_track;
_Thread_local __attribute__((tls_model("initial-exec"))) uint32_t memory_session;

static const PyMemAllocatorDomain domains[] = {PYMEM_DOMAIN_MEM, PYMEM_DOMAIN_OBJ};
enum { DOMAINS = 2 };
static PyMemAllocatorEx before[DOMAINS];
static bool watching;

static void *charged(void *allocated, size_t size) {
    track *t = memory_track;
    if (!t || !allocated || !watching || memory_session != the_session.number) return allocated;
    ouro_count(t->thread, the_session.allocations, 1);
    ouro_count(t->thread, the_session.allocated, size);
    t->last_allocated = allocated;
    t->last_size = size;
    t->last_position = ouro_thread_position(t->thread);
    return allocated;
}

static void *on_malloc(void *context, size_t size) {
    PyMemAllocatorEx *next = context;
    return charged(next->malloc(next->ctx, size), size);
}

static void *on_calloc(void *context, size_t count, size_t size) {
    PyMemAllocatorEx *next = context;
    return charged(next->calloc(next->ctx, count, size), count * size);
}

static void *on_realloc(void *context, void *old, size_t size) {
    PyMemAllocatorEx *next = context;
    return charged(next->realloc(next->ctx, old, size), size);
}

static void on_free(void *context, void *old) {
    PyMemAllocatorEx *next = context;
    next->free(next->ctx, old);
}

// A tracked object stands behind the collector's header.
void memory_forget(track *t, const void *object) {
    const void *start = (const char *)object - sizeof(PyGC_Head);
    if (!watching || !t->thread || t->last_allocated != start) return;
    if (t->last_position == ouro_thread_position(t->thread)) {
        ouro_count(t->thread, the_session.allocations, (uint64_t)-1);
        ouro_count(t->thread, the_session.allocated, (uint64_t)0 - t->last_size);
    }
    t->last_allocated = NULL;
}

bool memory_watch(void) {
    memory_track = NULL;
    for (int i = 0; i < DOMAINS; i++) {
        PyMemAllocatorEx now;
        PyMem_GetAllocator(domains[i], &now);
        if (now.malloc == on_malloc) continue; // below another allocator since an earlier session
        before[i] = now;
        PyMemAllocatorEx ours = {&before[i], on_malloc, on_calloc, on_realloc, on_free};
        PyMem_SetAllocator(domains[i], &ours);
    }
    watching = true;
    return true;
}

void memory_unwatch(void) {
    if (!watching) return;
    watching = false;
    memory_track = NULL;
    for (int i = 0; i < DOMAINS; i++) {
        PyMemAllocatorEx now;
        PyMem_GetAllocator(domains[i], &now);
        // If somebody stands before us, ours stay and only pass on.
        if (now.malloc == on_malloc) PyMem_SetAllocator(domains[i], &before[i]);
    }
}
