// SPDX-License-Identifier: MIT
//
// Memory for objects. New objects come from the nursery, one piece of memory that is filled from
// its beginning: allocating is an addition and a comparison. What survives a collection goes to
// the old part, a list of blocks that are filled the same way. Blocks come from the system and go
// back to it, but for a few spare ones: new pages take as long as copying objects to them. Pages
// that are sure to be used are asked for together. collect.c takes objects from one to the other.

#include "machine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

// With a larger nursery fewer objects survive a collection; a processor's cache should hold it.
enum { BLOCK = 1 << 20, NURSERY = 4 << 20, FULL_AT = 8 << 20, MOST_SPARE = FULL_AT / BLOCK };
enum { HUGE_PAGE = 2 << 20 };

static void stop(void) { abort(); }

void (*fble_no_memory)(void) = stop;

void *fble_take(size_t size) {
    void *memory = malloc(size);
    if (!memory) fble_no_memory();
    return memory;
}

void *fble_take_more(void *old, size_t size) {
    void *memory = realloc(old, size);
    if (!memory) fble_no_memory();
    return memory;
}

void fble_vector_add(struct fble_vector *vector, void *item) {
    if (vector->count == vector->capacity) {
        vector->capacity = vector->capacity ? 2 * vector->capacity : 16;
        vector->at = fble_take_more(vector->at, vector->capacity * sizeof *vector->at);
    }
    vector->at[vector->count++] = item;
}

// Large ones are mapped, so that they go back to the system one by one.
struct fble_block *fble_block_new(size_t size) {
    struct fble_block *block;
    if (size >= BLOCK) {
        block = mmap(NULL, sizeof *block + size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        if (block == MAP_FAILED) fble_no_memory();
    } else {
        block = fble_take(sizeof *block + size);
    }
    *block = (struct fble_block){.size = size};
    return block;
}

static void block_free(struct fble_block *block) {
    if (block->size >= BLOCK)
        munmap(block, sizeof *block + block->size);
    else
        free(block);
}

static void list_free(struct fble_block *first) {
    for (struct fble_block *next, *b = first; b; b = next) {
        next = b->next;
        block_free(b);
    }
}

void fble_blocks_free(struct fble_blocks *blocks) {
    list_free(blocks->first);
    list_free(blocks->spare);
    *blocks = (struct fble_blocks){0};
}

void fble_blocks_replace(struct fble_blocks *old, struct fble_blocks *fresh, bool keep) {
    for (struct fble_block *next, *b = old->first; b; b = next) {
        next = b->next;
        if (!keep || b->size != BLOCK || fresh->spares == MOST_SPARE) {
            block_free(b);
            continue;
        }
        *b = (struct fble_block){.next = fresh->spare, .size = BLOCK};
        fresh->spare = b;
        fresh->spares++;
    }
    *old = *fresh;
}

static struct fble_block *take_block(struct fble_blocks *blocks, size_t size) {
    struct fble_block *spare = blocks->spare;
    if (!spare || size != BLOCK) return fble_block_new(size);
    blocks->spare = spare->next;
    blocks->spares--;
    spare->next = NULL;
    return spare;
}

// The first block is small: most programs need no more.
struct fble_block *fble_blocks_add(struct fble_blocks *blocks, size_t bytes) {
    struct fble_block *last = blocks->last;
    size_t size = last ? BLOCK : BLOCK / 16;
    struct fble_block *block = take_block(blocks, bytes > size ? bytes : size);
    if (last)
        last->next = block;
    else
        blocks->first = block;
    return blocks->last = block;
}

// In huge pages, if the system has some to give.
static char *take_nursery(size_t size) {
    if (size % HUGE_PAGE) return fble_take(size);
    char *memory = aligned_alloc(HUGE_PAGE, size);
    if (!memory) fble_no_memory();
    madvise(memory, size, MADV_HUGEPAGE);
    return memory;
}

void fble_nursery_new(struct fble_machine *machine, size_t size) {
    machine->nursery = take_nursery(size);
    machine->nursery_end = machine->nursery + size;
    machine->hp = machine->counted = machine->nursery;
    machine->heap_limit = machine->nursery_end;
}

void fble_nursery_free(struct fble_machine *machine) {
    free(machine->nursery);
    machine->nursery = machine->nursery_end = NULL;
}

void fble_heap_start(struct fble_machine *machine) {
    if (!machine->nursery_size) machine->nursery_size = NURSERY;
    machine->full_at = FULL_AT;
    fble_nursery_new(machine, machine->nursery_size);
    if (machine->step) machine->heap_limit = machine->nursery;
}

void fble_heap_drop(struct fble_machine *machine) {
    fble_nursery_free(machine);
    fble_blocks_free(&machine->old);
}

void fble_heap_end(struct fble_machine *machine) {
    for (size_t i = 0; i < machine->handles.count; i++) {
        struct fble_handle *handle = machine->handles.at[i];
        if (handle->free) handle->free(handle->data);
        free(handle);
    }
    fble_heap_drop(machine);
    free(machine->remembered.at);
    free(machine->handles.at);
    free(machine->roots.at);
    free(machine->refs);
}
