// SPDX-License-Identifier: MIT
//
// The arena and the few containers that live in it. Chunks are zero when they come, so callers need
// no memset. Growing containers leave their old storage behind; doubling keeps that below the size
// of the new one. Under the address sanitizer what was not handed out is poisoned, with a gap after
// each allocation, so that running over the end of one is seen although all are neighbours.

#include "arena.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
enum { GAP = 16 };
#else
enum { GAP = 0 };
#define ASAN_POISON_MEMORY_REGION(at, size) ((void)(at), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(at, size) ((void)(at), (void)(size))
#endif

// Chunks grow with the compilation: a small program asks for little, a large one has its memory in
// maps of the system, with huge pages if it gives them; page faults were half the time otherwise.
enum { FIRST_CHUNK = 1 << 16, MAPPED = 1 << 20, LARGEST_CHUNK = 1 << 23, ALIGN = 16 };

struct fble_chunk {
    struct fble_chunk *next;
    size_t size;
    bool mapped;
    char rest[15]; // keeps what follows aligned
};
_Static_assert(sizeof(struct fble_chunk) % ALIGN == 0, "allocations begin after the chunk's head");

static void give_up(void) { abort(); }

void (*fble_out_of_memory)(void) = give_up;

static struct fble_chunk *map_chunk(size_t size) {
    void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) return NULL;
    madvise(map, size, MADV_HUGEPAGE); // only a wish
    return map;
}

static void add_chunk(struct fble_arena *arena, size_t size) {
    size_t room = arena->chunks ? 4 * arena->chunks->size : FIRST_CHUNK;
    if (room > LARGEST_CHUNK) room = LARGEST_CHUNK;
    if (room < size + sizeof(struct fble_chunk)) room = size + sizeof(struct fble_chunk);
    struct fble_chunk *chunk = room >= MAPPED ? map_chunk(room) : calloc(1, room);
    if (!chunk) fble_out_of_memory();
    chunk->next = arena->chunks;
    chunk->size = room;
    chunk->mapped = room >= MAPPED;
    arena->chunks = chunk;
    arena->at = (char *)(chunk + 1);
    arena->end = (char *)chunk + room;
    ASAN_POISON_MEMORY_REGION(arena->at, room - sizeof *chunk);
}

void *fble_alloc(struct fble_arena *arena, size_t size) {
    size_t taken = ((size + ALIGN - 1) & ~(size_t)(ALIGN - 1)) + GAP;
    if ((size_t)(arena->end - arena->at) < taken) add_chunk(arena, taken);
    void *memory = arena->at;
    ASAN_UNPOISON_MEMORY_REGION(memory, size);
    arena->at += taken;
    arena->bytes += taken;
    return memory;
}

void fble_arena_free(struct fble_arena *arena) {
    while (arena->chunks) {
        struct fble_chunk *chunk = arena->chunks;
        arena->chunks = chunk->next;
        ASAN_UNPOISON_MEMORY_REGION(chunk, chunk->size);
        if (chunk->mapped)
            munmap(chunk, chunk->size);
        else
            free(chunk);
    }
    *arena = (struct fble_arena){0};
}

char *fble_copy(struct fble_arena *arena, const char *text, size_t length) {
    char *copy = fble_alloc(arena, length + 1);
    if (length) memcpy(copy, text, length);
    return copy;
}

char *fble_vformat(struct fble_arena *arena, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text = fble_alloc(arena, (size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, arguments);
    return text;
}

char *fble_format(struct fble_arena *arena, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = fble_vformat(arena, format, arguments);
    va_end(arguments);
    return text;
}

void fble_push(struct fble_arena *arena, struct fble_list *list, void *item) {
    if (list->count == list->capacity) {
        uint32_t capacity = list->capacity ? 2 * list->capacity : 16;
        void **at = fble_alloc(arena, capacity * sizeof *at);
        if (list->count) memcpy(at, list->at, list->count * sizeof *at);
        list->at = at;
        list->capacity = capacity;
    }
    list->at[list->count++] = item;
}

void fble_add(struct fble_text *text, const char *bytes, size_t length) {
    if (text->length + length + 1 > text->capacity) {
        size_t capacity = 2 * (text->length + length) + 64;
        char *at = fble_alloc(text->arena, capacity);
        if (text->length) memcpy(at, text->at, text->length);
        text->at = at;
        text->capacity = capacity;
    }
    if (length) memcpy(text->at + text->length, bytes, length);
    text->length += length;
    text->at[text->length] = 0;
}

void fble_add_string(struct fble_text *text, const char *string) {
    fble_add(text, string, strlen(string));
}

static struct fble_pair *find_pair(const struct fble_pairs *pairs, const void *a, const void *b) {
    uint64_t hash =
        ((uintptr_t)a >> 4) * 0x9e3779b97f4a7c15u ^ ((uintptr_t)b >> 4) * 0xc2b2ae3d27d4eb4fu;
    uint32_t mask = pairs->capacity - 1;
    uint32_t i = (uint32_t)(hash >> 29) & mask;
    while (pairs->at[i].a && (pairs->at[i].a != a || pairs->at[i].b != b)) i = (i + 1) & mask;
    return &pairs->at[i];
}

static void grow_pairs(struct fble_arena *arena, struct fble_pairs *pairs) {
    struct fble_pairs old = *pairs;
    pairs->capacity = old.capacity ? 2 * old.capacity : 64;
    pairs->at = fble_alloc(arena, pairs->capacity * sizeof *pairs->at);
    for (uint32_t i = 0; i < old.capacity; i++)
        if (old.at[i].a) *find_pair(pairs, old.at[i].a, old.at[i].b) = old.at[i];
}

void **fble_pair(struct fble_arena *arena, struct fble_pairs *pairs, const void *a, const void *b) {
    if (pairs->count * 2 >= pairs->capacity) grow_pairs(arena, pairs);
    struct fble_pair *pair = find_pair(pairs, a, b);
    if (!pair->a) {
        pair->a = a;
        pair->b = b;
        pairs->count++;
    }
    return &pair->value;
}
