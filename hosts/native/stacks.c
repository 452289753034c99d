// SPDX-License-Identifier: MIT
//
// Machine stacks and their arrays of frames. The system knows the stack of an OS thread. The stack
// of a coroutine is registered by makecontext (interpose_context.c) or by the program
// (ouro-native.h), or found in the memory map when a function runs there. Coroutine stacks are in
// one array, sorted by address.
//
// Memory comes from mmap: malloc may be the program's own, and instrumented.
//
// An array of frames grows where it is: a signal handler may make it grow while a hook that it
// interrupted has an address in it. So as many bytes are reserved as the machine stack has, since a
// call takes 16 of them, and so does a frame. Only functions that were inlined, with hooks, can
// need more. Then the array moves.

#include "native.h"

#include "descriptors.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { FRAMES_FIRST = 1024, FRAMES_MANY = 16384, STACKS_FIRST = 256 };
// The kernel keeps at least 128 MB below the main stack free of anything else.
#define MAIN_STACK_LEAST (UINT64_C(120) << 20)
#define MAIN_STACK_MOST (UINT64_C(64) << 30)

static void *pages(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

// ---------------------------------------------------------------- frames

bool ouro_native_stack_init(native_stack *stack, uintptr_t low, uintptr_t size) {
    const size_t first = FRAMES_FIRST * sizeof *stack->frames;
    *stack = (native_stack){.low = low, .size = size, .reserved = first};
    if (size > first) stack->reserved = (size + 4095) & -(size_t)4096;
    stack->frames = pages(stack->reserved);
    if (!stack->frames) stack->frames = pages(stack->reserved = first); // little address space
    if (!stack->frames) return false;
    stack->end = stack->frames + FRAMES_FIRST;
    stack->frames[0].height = size;
    stack->top = stack->frames + 1;
    return true;
}

bool ouro_native_stack_grow(native_stack *stack) {
    size_t bytes = (size_t)(stack->end - stack->frames) * sizeof *stack->frames;
    native_frame *frames = stack->frames;
    if (bytes * 2 > stack->reserved) {
        frames = mremap(stack->frames, stack->reserved, bytes * 2, MREMAP_MAYMOVE);
        if (frames == MAP_FAILED) return false;
        stack->reserved = bytes * 2;
    }
    stack->top = frames + (stack->top - stack->frames);
    stack->end = frames + bytes * 2 / sizeof *frames;
    stack->frames = frames;
    if (bytes * 2 == FRAMES_MANY * 2 * sizeof *frames) ouro_native_note(".deep");
    return true;
}

void ouro_native_stack_drop(native_stack *stack) {
    if (stack->mirrored) ouro_native_mirror_clear(stack->low, stack->size);
    if (stack->frames) munmap(stack->frames, stack->reserved);
    stack->frames = stack->top = stack->end = NULL;
}

// ---------------------------------------------------------------- where stacks are

// The mapping that `sp` is in. Parsed without stdio, which would call malloc.
static bool mapping_of(uintptr_t sp, uintptr_t *low, uintptr_t *high) {
    int fd = ouro__open("/proc/self/maps", O_RDONLY, 0);
    char buffer[4096];
    uintptr_t number = 0, first = 0;
    bool in_numbers = true, found = false;
    ssize_t n;
    while (!found && fd >= 0 && (n = read(fd, buffer, sizeof buffer)) > 0) {
        for (ssize_t i = 0; i < n && !found; i++) {
            char c = buffer[i];
            if (c == '\n') {
                in_numbers = true;
                number = 0;
            } else if (in_numbers && c == '-') {
                first = number;
                number = 0;
            } else if (in_numbers && c == ' ') {
                in_numbers = false;
                found = sp >= first && sp < number;
            } else if (in_numbers) {
                number = number * 16 + (uintptr_t)(c <= '9' ? c - '0' : c - 'a' + 10);
            }
        }
    }
    if (fd >= 0) close(fd);
    *low = first;
    *high = number;
    return found;
}

static void main_stack(uintptr_t *low, uintptr_t *size) {
    extern void *__libc_stack_end;
    struct rlimit limit = {0};
    uintptr_t high = (uintptr_t)__libc_stack_end, from, to;
    if (mapping_of(high, &from, &to)) high = to;
    getrlimit(RLIMIT_STACK, &limit);
    *size = limit.rlim_cur < MAIN_STACK_LEAST  ? MAIN_STACK_LEAST
            : limit.rlim_cur > MAIN_STACK_MOST ? MAIN_STACK_MOST
                                               : limit.rlim_cur;
    *low = high - *size;
}

// Of the calling OS thread. For the main thread: its limit, not its current size.
void ouro_native_stack_of_thread(uintptr_t *low, uintptr_t *size) {
    pthread_attr_t attributes;
    void *address = NULL;
    size_t bytes = 0;
    if (getpid() == gettid()) {
        main_stack(low, size);
        return;
    }
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstack(&attributes, &address, &bytes);
        pthread_attr_destroy(&attributes);
    }
    *low = (uintptr_t)address;
    *size = bytes;
}

bool ouro_native_on_signal_stack(uintptr_t sp, uintptr_t *low, uintptr_t *size) {
    stack_t alternate;
    if (sigaltstack(NULL, &alternate) || alternate.ss_flags & SS_DISABLE) return false;
    *low = (uintptr_t)alternate.ss_sp;
    *size = alternate.ss_size;
    return sp - *low <= *size;
}

// ---------------------------------------------------------------- coroutines

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static native_stack **stacks; // sorted by `low`, without overlaps
static size_t count, room;

// The index of the first stack that ends above `sp`.
static size_t first_above(uintptr_t sp) {
    size_t from = 0, to = count;
    while (from < to) {
        size_t middle = (from + to) / 2;
        if (stacks[middle]->low + stacks[middle]->size < sp) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from;
}

static bool make_room(void) {
    if (count < room) return true;
    size_t bytes = room * sizeof(native_stack *);
    void *grown = room ? mremap(stacks, bytes, bytes * 2, MREMAP_MAYMOVE)
                       : pages(STACKS_FIRST * sizeof(native_stack *));
    if (!grown || grown == MAP_FAILED) return false;
    stacks = grown;
    room = room ? room * 2 : STACKS_FIRST;
    return true;
}

// Descriptions are small and are allocated by the page. They are never freed, because an OS thread
// may still run on a stack that was removed.
static native_stack *description_new(void) {
    static native_stack *block;
    static size_t unused;
    if (unused == 0) {
        unused = 16384 / sizeof *block;
        block = pages(16384);
        if (!block) unused = 0;
    }
    return unused ? &block[--unused] : NULL;
}

static native_stack *add(uintptr_t low, uintptr_t size) {
    size_t at = first_above(low + 1), end = at;
    while (end < count && stacks[end]->low < low + size) end++;
    if (end == at + 1 && stacks[at]->low == low && stacks[at]->size == size) return stacks[at];
    native_stack *fresh = make_room() ? description_new() : NULL;
    if (!fresh || !ouro_native_stack_init(fresh, low, size)) return NULL;
    fresh->coroutine = true;
    memmove(stacks + at + 1, stacks + end, (count - end) * sizeof *stacks);
    count = count - (end - at) + 1;
    stacks[at] = fresh;
    return fresh;
}

void ouro_native_stack_add(uintptr_t low, uintptr_t size) {
    native_section section;
    if (!ouro_native_section_begin(&section)) return;
    pthread_mutex_lock(&lock);
    add(low, size);
    pthread_mutex_unlock(&lock);
    ouro_native_section_end(&section);
}

static native_stack *known(uintptr_t sp) {
    size_t at = first_above(sp);
    return at < count && stacks[at]->low <= sp ? stacks[at] : NULL;
}

native_stack *ouro_native_stack_known(uintptr_t sp) {
    pthread_mutex_lock(&lock);
    native_stack *found = known(sp);
    pthread_mutex_unlock(&lock);
    return found;
}

// The coroutine's stack at `sp`, from the memory map if it was not registered. NULL if there is
// no memory.
native_stack *ouro_native_stack_find(uintptr_t sp) {
    pthread_mutex_lock(&lock);
    native_stack *found = known(sp);
    uintptr_t low, high;
    if (!found && mapping_of(sp - 1, &low, &high)) found = add(low, high - low);
    pthread_mutex_unlock(&lock);
    return found;
}

void ouro_native_stacks_lock(bool take) {
    if (take) {
        pthread_mutex_lock(&lock);
    } else {
        pthread_mutex_unlock(&lock);
    }
}
