// SPDX-License-Identifier: MIT
//
// Interned strings: the same text always has the same number, and text 0 is "".

#ifndef OURO_TEXTS_H
#define OURO_TEXTS_H

#include "lookup.h"

typedef struct {
    char *bytes; // one after the other, each with a NUL
    size_t used, room;
    size_t *offsets;
    uint32_t count, offset_room;
    lookup lookup;
} texts;

bool ouro__texts_init(texts *t);
void ouro__texts_free(texts *t);

// The number of a text, NO_ROW if memory ran out. `text` must not lie in `t` itself.
uint32_t ouro__texts_add(texts *t, const char *text, size_t length);
// The number of a text that is there, else NO_ROW.
uint32_t ouro__texts_find(const texts *t, const char *text, size_t length);

// Valid until the next text is added.
static inline const char *ouro__text(const texts *t, uint32_t number) {
    return t->bytes + t->offsets[number];
}
static inline size_t ouro__text_length(const texts *t, uint32_t number) {
    return (number + 1 < t->count ? t->offsets[number + 1] : t->used) - t->offsets[number] - 1;
}

#endif
