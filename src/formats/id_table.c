// SPDX-License-Identifier: MIT
//
// Rows by id: collected, and indexed when all are known. A repeated id finds one of its rows.

#include "id_table.h"

#include <stdlib.h>
#include <string.h>

bool ouro__grow_now(void *array, size_t *room, size_t size, error *e) {
    size_t larger = *room ? *room * 2 : 256;
    void *old;
    memcpy(&old, array, sizeof old);
    void *grown = realloc(old, larger * size);
    if (!grown) return ouro__fail_memory(e);
    memcpy(array, &grown, sizeof grown);
    *room = larger;
    return true;
}

bool ouro__id_add(id_table *t, uint64_t id, error *e) {
    if (!ouro__grow(&t->ids, t->count, &t->room, sizeof *t->ids, e)) return false;
    t->ids[t->count++] = id;
    return true;
}

bool ouro__id_index(id_table *t, error *e) {
    uint64_t highest = 0;
    for (uint32_t i = 0; i < t->count; i++) highest = t->ids[i] > highest ? t->ids[i] : highest;
    if (highest < (uint64_t)t->count * 4 + 1024) {
        t->dense_count = highest + 1;
        t->dense = calloc(t->dense_count, sizeof *t->dense);
        if (!t->dense) return ouro__fail_memory(e);
        for (uint32_t i = t->count; i-- > 0;) t->dense[t->ids[i]] = i + 1;
        return true;
    }
    for (uint32_t i = 0; i < t->count; i++) {
        if (!ouro__lookup_add(&t->lookup, ouro__hash_number(t->ids[i]), i))
            return ouro__fail_memory(e);
    }
    return true;
}

void ouro__id_free(id_table *t) {
    free(t->ids);
    free(t->dense);
    ouro__lookup_free(&t->lookup);
}
