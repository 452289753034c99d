// SPDX-License-Identifier: MIT
//
// The arena and the few containers that live in it. Chunks come from calloc: large ones are fresh
// pages of the system, so zeroing costs nothing and callers need no memset. Growing containers
// leave their old storage behind; doubling keeps that below the size of the new one.

#include "arena.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 20, ALIGN = 16 };

struct fble_chunk {
    struct fble_chunk *next;
    size_t size; // keeps what follows aligned
};

static void give_up(void) { abort(); }

void (*fble_out_of_memory)(void) = give_up;

static void add_chunk(struct fble_arena *arena, size_t size) {
    size_t room =
        size + sizeof(struct fble_chunk) > CHUNK ? size + sizeof(struct fble_chunk) : CHUNK;
    struct fble_chunk *chunk = calloc(1, room);
    if (!chunk) fble_out_of_memory();
    chunk->next = arena->chunks;
    chunk->size = room;
    arena->chunks = chunk;
    arena->at = (char *)(chunk + 1);
    arena->end = (char *)chunk + room;
}

void *fble_alloc(struct fble_arena *arena, size_t size) {
    size = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if ((size_t)(arena->end - arena->at) < size) add_chunk(arena, size);
    void *memory = arena->at;
    arena->at += size;
    arena->bytes += size;
    return memory;
}

void fble_arena_free(struct fble_arena *arena) {
    while (arena->chunks) {
        struct fble_chunk *chunk = arena->chunks;
        arena->chunks = chunk->next;
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
