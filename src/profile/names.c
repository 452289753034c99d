// SPDX-License-Identifier: MIT
//
// From what a user types to a block, and from a block to what a user can type.
//
// A name is enough when one block has it. Otherwise the place is added: NAME@FILE:LINE, and the
// column where even that is shared. Names may hold any character, so the whole text is tried as a
// name first.

#include "questions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CANDIDATES_SHOWN = 8 };

// How much of a label is given: the name, the place, the place with its column.
typedef enum { BY_NAME, BY_PLACE, BY_COLUMN } precision;

static bool same(const block_info *a, const block_info *b, precision how) {
    return a->name == b->name && (how < BY_PLACE || (a->file == b->file && a->line == b->line)) &&
           (how < BY_COLUMN || a->column == b->column);
}

static bool is_unique(const profile *p, uint32_t b, precision how) {
    for (uint32_t i = 0; i < p->block_count; i++) {
        if (i != b && same(&p->blocks[i], &p->blocks[b], how)) return false;
    }
    return true;
}

static char *label(const profile *p, uint32_t b, precision how) {
    const block_info *info = &p->blocks[b];
    char *text = NULL;
    int n = how == BY_NAME    ? asprintf(&text, "%s", ouro__block_name(p, b))
            : how == BY_PLACE ? asprintf(&text, "%s@%s:%u", ouro__block_name(p, b),
                                         ouro__block_file(p, b), info->line)
                              : asprintf(&text, "%s@%s:%u:%u", ouro__block_name(p, b),
                                         ouro__block_file(p, b), info->line, info->column);
    return n < 0 ? NULL : text;
}

char *ouro__block_label(const profile *p, uint32_t b) {
    if (b == NO_BLOCK) return strdup("(root)");
    return label(p, b,
                 is_unique(p, b, BY_NAME)    ? BY_NAME
                 : is_unique(p, b, BY_PLACE) ? BY_PLACE
                                             : BY_COLUMN);
}

// Does `text` say NAME@FILE:LINE, NAME@FILE:LINE:COLUMN, FILE:LINE or FILE:LINE:COLUMN of
// the block?
static bool is_place_of(const profile *p, uint32_t b, const char *text) {
    const char *name = ouro__block_name(p, b), *file = ouro__block_file(p, b);
    const block_info *info = &p->blocks[b];
    size_t length = strlen(name);
    if (strncmp(text, name, length) == 0 && text[length] == '@') text += length + 1;
    length = strlen(file);
    if (strncmp(text, file, length) != 0) return false;
    char line[32], column[32];
    snprintf(line, sizeof line, ":%u", info->line);
    snprintf(column, sizeof column, ":%u:%u", info->line, info->column);
    return strcmp(text + length, line) == 0 || strcmp(text + length, column) == 0;
}

static void list(const profile *p, const uint32_t *blocks, uint32_t count, char *text,
                 size_t room) {
    size_t used = 0;
    for (uint32_t i = 0; i < count && i < CANDIDATES_SHOWN && used < room; i++) {
        char *name = ouro__block_label(p, blocks[i]);
        int n = snprintf(text + used, room - used, "%s%s", i ? ", " : "", name ? name : "");
        if (n > 0) used += (size_t)n;
        free(name);
    }
    if (count > CANDIDATES_SHOWN && used < room)
        snprintf(text + used, room - used, ", and %u more", count - CANDIDATES_SHOWN);
}

static bool fail_ambiguous(const profile *p, const char *text, const uint32_t *blocks,
                           uint32_t count, error *e) {
    char names[400] = "";
    list(p, blocks, count, names, sizeof names);
    return ouro__fail(e, EINVAL, "%u blocks are called %s; say which: %s", count, text, names);
}

static bool fail_unknown(const profile *p, const char *text, uint32_t *blocks, error *e) {
    uint32_t count = 0;
    for (uint32_t b = 0; b < p->block_count && *text; b++) {
        if (strcasestr(ouro__block_name(p, b), text)) blocks[count++] = b;
    }
    if (!count)
        return ouro__fail(e, EINVAL, "no block is called %s; `ouro report --overall` lists them",
                          text);
    char names[400] = "";
    list(p, blocks, count, names, sizeof names);
    return ouro__fail(e, EINVAL, "no block is called %s; there is %s", text, names);
}

bool ouro__find_block(const profile *p, const char *text, uint32_t *found, error *e) {
    uint32_t *blocks = malloc(((size_t)p->block_count + 1) * sizeof *blocks), count = 0;
    if (!blocks) return ouro__fail_memory(e);
    uint32_t name = ouro__texts_find(&p->texts, text, strlen(text));
    for (uint32_t b = 0; name != NO_ROW && b < p->block_count; b++) {
        if (p->blocks[b].name == name) blocks[count++] = b;
    }
    bool is_name = count > 0;
    for (uint32_t b = 0; !is_name && b < p->block_count; b++) {
        if (is_place_of(p, b, text)) blocks[count++] = b;
    }
    bool ok = count == 1;
    if (ok) *found = blocks[0];
    if (count > 1) fail_ambiguous(p, text, blocks, count, e);
    if (count == 0) fail_unknown(p, text, blocks, e);
    free(blocks);
    return ok;
}
