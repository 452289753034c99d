// SPDX-License-Identifier: MIT
//
// Interned strings in one run of bytes, found by hash: a text is stored once, and two texts are the
// same if their numbers are. Texts are never removed; the run moves when it grows, so numbers are
// kept and pointers are not.

#include "texts.h"

#include <stdlib.h>
#include <string.h>

bool ouro__texts_init(texts *t) {
    *t = (texts){0};
    return ouro__texts_add(t, "", 0) == 0;
}

void ouro__texts_free(texts *t) {
    free(t->bytes);
    free(t->offsets);
    ouro__lookup_free(&t->lookup);
    *t = (texts){0};
}

static uint32_t find(const texts *t, uint32_t hash, const char *text, size_t length) {
    uint32_t row;
    for (uint64_t at = ouro__lookup_first(&t->lookup, hash);
         (row = ouro__lookup_next(&t->lookup, hash, &at)) != NO_ROW;) {
        if (ouro__text_length(t, row) == length && memcmp(ouro__text(t, row), text, length) == 0)
            return row;
    }
    return NO_ROW;
}

uint32_t ouro__texts_find(const texts *t, const char *text, size_t length) {
    return find(t, ouro__hash_bytes(text, length), text, length);
}

static bool reserve(texts *t, size_t length) {
    if (t->count == t->offset_room) {
        uint32_t room = t->offset_room ? t->offset_room * 2 : 256;
        size_t *offsets = realloc(t->offsets, room * sizeof *offsets);
        if (!offsets) return false;
        t->offsets = offsets;
        t->offset_room = room;
    }
    if (t->room - t->used <= length) {
        size_t room = (t->room ? t->room * 2 : 4096) + length;
        char *bytes = realloc(t->bytes, room);
        if (!bytes) return false;
        t->bytes = bytes;
        t->room = room;
    }
    return true;
}

uint32_t ouro__texts_add(texts *t, const char *text, size_t length) {
    uint32_t hash = ouro__hash_bytes(text, length), row = find(t, hash, text, length);
    if (row != NO_ROW) return row;
    if (t->count >= NO_ROW / 2 || !reserve(t, length) ||
        !ouro__lookup_add(&t->lookup, hash, t->count))
        return NO_ROW;
    memcpy(t->bytes + t->used, text, length);
    t->bytes[t->used + length] = '\0';
    t->offsets[t->count] = t->used;
    t->used += length + 1;
    return t->count++;
}
