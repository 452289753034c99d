// SPDX-License-Identifier: MIT
//
// Every block tries its name first. Blocks that share a name try it with the file and line, then
// with the column, and the rest are numbered (names that differ only in bytes that are no
// characters look alike). A block takes a label if no other block wants it in the same round and
// none has it already; so labels differ whatever the names hold, an @ included. The index keeps no
// texts: a label is made again when it is compared.

#include "labels.h"

#include "utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NOT_YET = 0x7fffffff }; // a precision that no label has

static uint32_t hash_of(const char *text) { return ouro__hash_bytes(text, strlen(text)); }

static char *text_of(const profile *p, uint32_t b, uint32_t precision) {
    const block_info *info = &p->blocks[b];
    char *text = NULL, *clean;
    const char *name = ouro__block_name(p, b), *file = ouro__block_file(p, b);
    int n = precision == LABEL_NAME    ? 0
            : precision == LABEL_PLACE ? asprintf(&text, "%s@%s:%u", name, file, info->line)
            : precision == LABEL_COLUMN
                ? asprintf(&text, "%s@%s:%u:%u", name, file, info->line, info->column)
                : asprintf(&text, "%s@%s:%u:%u#%u", name, file, info->line, info->column,
                           precision - LABEL_NUMBER + 1);
    if (n < 0) return NULL;
    clean = ouro__utf8_clean(precision == LABEL_NAME ? name : text);
    free(text);
    return clean;
}

static bool is_text(const profile *p, uint32_t b, uint32_t precision, const char *text) {
    char *own = text_of(p, b, precision);
    bool same = own && strcmp(own, text) == 0;
    free(own);
    return same;
}

uint32_t ouro__label_find(const labels *l, const char *text) {
    uint32_t hash = hash_of(text), b;
    for (uint64_t at = ouro__lookup_first(&l->lookup, hash);
         (b = ouro__lookup_next(&l->lookup, hash, &at)) != NO_ROW;) {
        if (is_text(l->profile, b, l->precision[b], text)) return b;
    }
    return NO_ROW;
}

char *ouro__label(const labels *l, uint32_t block) {
    if (block == NO_BLOCK) return strdup("(root)");
    return text_of(l->profile, block, l->precision[block]);
}

// ---------------------------------------------------------------- making

// The block of `wanted` that wants this text first, or `b` itself, which is added.
static uint32_t first_with(const profile *p, lookup *wanted, uint32_t b, uint32_t precision,
                           const char *text, bool *ok) {
    uint32_t hash = hash_of(text), other;
    for (uint64_t at = ouro__lookup_first(wanted, hash);
         (other = ouro__lookup_next(wanted, hash, &at)) != NO_ROW;) {
        if (is_text(p, other, precision, text)) return other;
    }
    *ok = *ok && ouro__lookup_add(wanted, hash, b);
    return b;
}

static bool take(labels *l, uint32_t b, uint32_t precision, const char *text) {
    l->precision[b] = precision;
    return ouro__lookup_add(&l->lookup, hash_of(text), b);
}

// One round: labels of this precision that one block alone wants.
static bool take_unique(labels *l, uint32_t precision, uint8_t *shared) {
    const profile *p = l->profile;
    lookup wanted = {0};
    bool ok = true;
    memset(shared, 0, p->block_count);
    for (uint32_t b = 0; ok && b < p->block_count; b++) {
        if (l->precision[b] != NOT_YET) continue;
        char *text = text_of(p, b, precision);
        ok = text != NULL;
        uint32_t first = ok ? first_with(p, &wanted, b, precision, text, &ok) : b;
        if (first != b) shared[first] = shared[b] = 1;
        if (ok && ouro__label_find(l, text) != NO_ROW) shared[first] = shared[b] = 1;
        free(text);
    }
    for (uint32_t b = 0; ok && b < p->block_count; b++) {
        if (l->precision[b] != NOT_YET || shared[b]) continue;
        char *text = text_of(p, b, precision);
        ok = text && take(l, b, precision, text);
        free(text);
    }
    ouro__lookup_free(&wanted);
    return ok;
}

static bool take_number(labels *l, uint32_t b, uint32_t *number) {
    for (;; (*number)++) {
        char *text = text_of(l->profile, b, *number);
        bool free_label = text && ouro__label_find(l, text) == NO_ROW;
        bool ok = text && (!free_label || take(l, b, *number, text));
        free(text);
        if (free_label || !ok) return ok;
    }
}

bool ouro__labels_init(labels *l, const profile *p) {
    *l = (labels){.profile = p};
    l->precision = malloc(((size_t)p->block_count + 1) * sizeof *l->precision);
    uint8_t *shared = malloc((size_t)p->block_count + 1);
    bool ok = l->precision && shared;
    for (uint32_t b = 0; ok && b < p->block_count; b++) l->precision[b] = NOT_YET;
    for (uint32_t precision = LABEL_NAME; ok && precision < LABEL_NUMBER; precision++)
        ok = take_unique(l, precision, shared);
    // Numbers go on from the last that was taken: trying all from 1 would be quadratic.
    uint32_t number = LABEL_NUMBER;
    for (uint32_t b = 0; ok && b < p->block_count; b++) {
        if (l->precision[b] == NOT_YET) ok = take_number(l, b, &number);
    }
    free(shared);
    if (!ok) ouro__labels_free(l);
    return ok;
}

void ouro__labels_free(labels *l) {
    ouro__lookup_free(&l->lookup);
    free(l->precision);
    *l = (labels){0};
}

// ---------------------------------------------------------------- guessing

uint32_t ouro__label_candidates(const labels *l, const char *text, uint32_t *out, uint32_t room) {
    const profile *p = l->profile;
    uint32_t count = 0;
    for (uint32_t b = 0; b < p->block_count && count < room; b++) {
        if (is_text(p, b, LABEL_NAME, text)) out[count++] = b;
    }
    for (uint32_t b = 0; b < p->block_count && count < room && *text; b++) {
        if (count && is_text(p, out[0], LABEL_NAME, text)) break;
        if (strcasestr(ouro__block_name(p, b), text)) out[count++] = b;
    }
    return count;
}
