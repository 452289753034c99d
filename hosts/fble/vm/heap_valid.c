// SPDX-License-Identifier: MIT
//
// What must hold after a collection, for builds with assertions: every object that was copied is
// whole, nothing leads to the nursery, which is about to be used again, or to an object that has
// moved, and the bytes of the old part are the sum of its objects. After a small collection only
// the objects that it copied are looked at: the others have not changed.

#include "machine.h"

static bool is_settled(const struct fble_machine *m, fble_value value) {
    if (fble_is_immediate(value)) return true;
    const struct fble_object *object = fble_object(value);
    return !fble_in_nursery(m, object) && (object->header & 1);
}

static bool are_settled(const struct fble_machine *m, const fble_value *values, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!is_settled(m, values[i])) return false;
    return true;
}

static bool object_is_valid(const struct fble_machine *m, const struct fble_object *object) {
    uint32_t count = fble_count(object->header);
    switch (fble_kind(object->header)) {
    case FBLE_CLOSURE: // the first word is the code
        return count > 0 && are_settled(m, object->words + 1, count - 1);
    case FBLE_PLACEHOLDER:
        return is_settled(m, object->words[0]);
    case FBLE_LINK:
        return are_settled(m, object->words, 2);
    case FBLE_THREAD:
    case FBLE_HANDLE:
        return true;
    default:
        return are_settled(m, object->words, count);
    }
}

// Objects follow each other without gaps.
static bool block_is_valid(const struct fble_machine *m, const struct fble_block *block,
                           size_t from) {
    while (from < block->used) {
        const struct fble_object *object =
            (const struct fble_object *)(const void *)(block->data + from);
        if (!(object->header & 1) || !object_is_valid(m, object)) return false;
        from += fble_object_bytes(object->header);
    }
    return from == block->used && block->used <= block->size;
}

static bool bytes_are_valid(const struct fble_blocks *blocks) {
    size_t bytes = 0;
    for (const struct fble_block *b = blocks->first; b; b = b->next) bytes += b->used;
    return bytes == blocks->bytes;
}

static bool roots_are_valid(const struct fble_machine *m) {
    for (size_t i = 0; i < m->roots.count; i += 2)
        if (!are_settled(m, m->roots.at[i], (size_t)(uintptr_t)m->roots.at[i + 1])) return false;
    return are_settled(m, m->refs, m->ref_count) && (!m->value || is_settled(m, m->value));
}

bool fble_heap_is_valid(const struct fble_machine *m, const struct fble_block *block, size_t from) {
    for (; block; block = block->next, from = 0)
        if (!block_is_valid(m, block, from)) return false;
    return bytes_are_valid(&m->old) && roots_are_valid(m);
}
