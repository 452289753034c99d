// SPDX-License-Identifier: MIT
//
// The rows of a table by the ids that a file gives them, and arrays that grow with such a table.

#ifndef OURO_ID_TABLE_H
#define OURO_ID_TABLE_H

#include "error.h"
#include "lookup.h"

#include <stddef.h>

// Ids are mostly 1, 2, 3 ..., so an array serves; others go through a hash.
typedef struct {
    uint64_t *ids;
    uint32_t count;
    size_t room;
    uint32_t *dense; // row + 1 by id
    uint64_t dense_count;
    lookup lookup;
} id_table;

// Room for one more in an array that doubles; `array` is the address of its pointer.
bool ouro__grow_now(void *array, size_t *room, size_t size, error *e);
static inline bool ouro__grow(void *array, size_t count, size_t *room, size_t size, error *e) {
    return count < *room || ouro__grow_now(array, room, size, e);
}

// The id of the next row. When all are added, ouro__id_index once; then ids can be found.
bool ouro__id_add(id_table *t, uint64_t id, error *e);
bool ouro__id_index(id_table *t, error *e);
void ouro__id_free(id_table *t);

// The row with the id, or NO_ROW.
static inline uint32_t ouro__id_find(const id_table *t, uint64_t id) {
    if (t->dense) return id < t->dense_count && t->dense[id] ? t->dense[id] - 1 : NO_ROW;
    uint32_t hash = ouro__hash_number(id), row;
    for (uint64_t at = ouro__lookup_first(&t->lookup, hash);
         (row = ouro__lookup_next(&t->lookup, hash, &at)) != NO_ROW;) {
        if (t->ids[row] == id) return row;
    }
    return NO_ROW;
}

#endif
