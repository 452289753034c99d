// SPDX-License-Identifier: MIT
//
// Counts what a program does: a step for each basic block of ours, and for each 16 bytes that a
// string function of the C library looks at; bytes that are allocated, by anybody, now and at most.
// The counters lie in the file that OURO_COUNTERS names, so others can read them meanwhile and put
// the peak back. Requests that run at the same time would lose a few; the suite asks one by one.

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { UNTOUCHED = 500 << 20 };

typedef struct {
    uint64_t steps, bytes, peak;
} counters;

static counters none, *shared = &none;

__attribute__((constructor(101))) static void open_counters(void) {
    const char *path = getenv("OURO_COUNTERS");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0) return;
    void *at = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (at == MAP_FAILED) return;
    counters *mapped = at;
    *mapped = none; // what was allocated before
    shared = mapped;
}

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void) { shared->steps++; }

static void look_at(size_t bytes) { shared->steps += bytes / 16 + 1; }

// ---------------------------------------------------------------- memory

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *at);

static void *taken(void *at) {
    uint64_t now = __atomic_add_fetch(&shared->bytes, malloc_usable_size(at), __ATOMIC_RELAXED);
    if (now > shared->peak) shared->peak = now;
    return at;
}

static void given_back(size_t size) { __atomic_sub_fetch(&shared->bytes, size, __ATOMIC_RELAXED); }

void *malloc(size_t size) { return taken(__libc_malloc(size)); }
void *calloc(size_t count, size_t size) { return taken(__libc_calloc(count, size)); }
void *memalign(size_t alignment, size_t size) { return taken(__libc_memalign(alignment, size)); }
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **at, size_t alignment, size_t size) {
    *at = memalign(alignment, size);
    return *at ? 0 : ENOMEM;
}

// Both may be there at the same time.
void *realloc(void *old, size_t size) {
    size_t before = malloc_usable_size(old);
    void *at = __libc_realloc(old, size);
    if (at || !size) given_back(before);
    return at ? taken(at) : NULL;
}

// The command first takes a large part of the heap and gives it back untouched (main.c). That is
// no peak of what it needs.
void free(void *at) {
    size_t size = malloc_usable_size(at);
    given_back(size);
    if (size >= UNTOUCHED) shared->peak = shared->bytes;
    __libc_free(at);
}

// ---------------------------------------------------------------- string functions

// The linker's --wrap leads our calls here, those of this file too: it calls __real_.
#define BYTES(result, name, parameters, arguments, looked) \
    result __real_##name parameters;                       \
    result __wrap_##name parameters;                       \
    result __wrap_##name parameters {                      \
        look_at(looked);                                   \
        return __real_##name arguments;                    \
    }

BYTES(size_t, strlen, (const char *text), (text), __real_strlen(text))
BYTES(void *, memcpy, (void *to, const void *from, size_t size), (to, from, size), size)
BYTES(void *, memmove, (void *to, const void *from, size_t size), (to, from, size), size)
BYTES(void *, memset, (void *to, int byte, size_t size), (to, byte, size), size)
BYTES(char *, strchr, (const char *text, int c), (text, c), __real_strlen(text))
BYTES(char *, strrchr, (const char *text, int c), (text, c), __real_strlen(text))
BYTES(char *, strdup, (const char *text), (text), __real_strlen(text))
BYTES(size_t, strcspn, (const char *text, const char *set), (text, set), __real_strcspn(text, set))
BYTES(char *, strstr, (const char *text, const char *part), (text, part), __real_strlen(text))
BYTES(char *, strcasestr, (const char *text, const char *part), (text, part), __real_strlen(text))

// These stop where the bytes differ, or at what they look for.
static size_t same_bytes(const void *a, const void *b, size_t size) {
    const unsigned char *x = a, *y = b;
    size_t same = 0;
    while (same < size && x[same] == y[same]) same++;
    return same;
}

static size_t shorter(const char *a, const char *b) {
    size_t x = __real_strlen(a), y = __real_strlen(b);
    return x < y ? x : y;
}

static size_t distance(const void *from, const void *found, size_t size) {
    return found ? (size_t)((const char *)found - (const char *)from) : size;
}

BYTES(int, memcmp, (const void *a, const void *b, size_t size), (a, b, size),
      same_bytes(a, b, size))
BYTES(int, strcmp, (const char *a, const char *b), (a, b), same_bytes(a, b, shorter(a, b)))
BYTES(void *, memchr, (const void *from, int byte, size_t size), (from, byte, size),
      distance(from, __real_memchr(from, byte, size), size))
BYTES(void *, memmem, (const void *from, size_t size, const void *part, size_t length),
      (from, size, part, length), distance(from, __real_memmem(from, size, part, length), size))
