// SPDX-License-Identifier: MIT
//
// Keys of blocks and paths, the names of files that they are made of, and labels.

#include "keys.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// ---------------------------------------------------------------- keys

static void add_number(sha256 *s, uint32_t n) {
    unsigned char bytes[4] = {(unsigned char)n, (unsigned char)(n >> 8), (unsigned char)(n >> 16),
                              (unsigned char)(n >> 24)};
    ouro__sha256_add(s, bytes, sizeof bytes);
}

static void add_text(sha256 *s, const char *text) {
    size_t length = strlen(text);
    add_number(s, (uint32_t)length);
    ouro__sha256_add(s, text, length);
}

key ouro__key_end(sha256 *s) {
    unsigned char digest[32];
    key k;
    ouro__sha256_end(s, digest);
    memcpy(k.bytes, digest, sizeof k.bytes);
    return k;
}

key ouro__block_key(const char *name, const char *file, uint32_t line, uint32_t column) {
    sha256 s;
    ouro__sha256_init(&s);
    add_text(&s, name);
    add_text(&s, file);
    add_number(&s, line);
    add_number(&s, column);
    return ouro__key_end(&s);
}

key ouro__node_key(key parent, key block) {
    sha256 s;
    ouro__sha256_init(&s);
    ouro__sha256_add(&s, parent.bytes, sizeof parent.bytes);
    ouro__sha256_add(&s, block.bytes, sizeof block.bytes);
    return ouro__key_end(&s);
}

// Parents come before their children.
static void fill_keys(const profile *p, keys *k) {
    for (uint32_t b = 0; b < p->block_count; b++) {
        const block_info *i = &p->blocks[b];
        k->blocks[b] =
            ouro__block_key(ouro__block_name(p, b), ouro__block_file(p, b), i->line, i->column);
    }
    k->nodes[0] = (key){{0}};
    for (uint32_t n = 1; n < p->node_count; n++)
        k->nodes[n] = ouro__node_key(k->nodes[p->parent[n]], k->blocks[p->block[n]]);
}

bool ouro__keys_make(const profile *p, keys *k) {
    *k = (keys){.blocks = malloc(((size_t)p->block_count + 1) * sizeof *k->blocks),
                .nodes = malloc((size_t)p->node_count * sizeof *k->nodes)};
    if (k->blocks && k->nodes) {
        fill_keys(p, k);
        return true;
    }
    ouro__keys_free(k);
    return false;
}

void ouro__keys_free(keys *k) {
    free(k->blocks);
    free(k->nodes);
    *k = (keys){0};
}

key ouro__recording_key(const unsigned char id[16], uint32_t resets) {
    key k;
    sha256 s;
    memcpy(k.bytes, id, sizeof k.bytes);
    if (!resets) return k;
    ouro__sha256_init(&s);
    ouro__sha256_add(&s, id, sizeof k.bytes);
    add_number(&s, resets);
    return ouro__key_end(&s);
}

// ---------------------------------------------------------------- files

const char *ouro__relative_file(const char *file, const char *root) {
    size_t length = root ? strlen(root) : 0;
    while (length && root[length - 1] == '/') length--;
    if (!length || strncmp(file, root, length) != 0 || file[length] != '/') return file;
    file += length;
    while (*file == '/') file++;
    return file;
}

static bool has_version_control(const char *folder) {
    static const char *const names[] = {".git", ".hg", ".svn", ".jj"};
    struct stat status;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[4200];
        size_t length = strlen(folder);
        if (length > 4096) return false;
        memcpy(path, folder, length);
        path[length] = '/';
        strcpy(path + length + 1, names[i]);
        if (stat(path, &status) == 0) return true;
    }
    return false;
}

// The nearest folder above the file, from its own folder up; "" if there is none.
static void cut_to_root(char *file) {
    for (char *slash; (slash = strrchr(file, '/'));) {
        *slash = '\0';
        if (*file && has_version_control(file)) return;
    }
    *file = '\0';
}

char *ouro__root_of(const char *file) {
    char *found = file && *file == '/' ? strdup(file) : NULL;
    if (found) cut_to_root(found);
    if (found && *found) return found;
    free(found);
    return NULL;
}

char *ouro__find_root(const profile *p) {
    enum { LOOKED_AT = 200 };
    uint32_t step = p->block_count / LOOKED_AT + 1;
    char *found = NULL;
    for (uint32_t b = 0; b < p->block_count && !found; b += step)
        found = ouro__root_of(ouro__block_file(p, b));
    return found;
}

// ---------------------------------------------------------------- labels

static bool label_make(label_pair *l, const char *name, const char *value) {
    *l = (label_pair){strdup(name), strdup(value)};
    if (l->name && l->value) return true;
    free(l->name);
    free(l->value);
    return false;
}

bool ouro__label_set_put(label_set *l, const char *name, const char *value) {
    label_pair new;
    size_t at = 0;
    while (at < l->count && strcmp(l->items[at].name, name) < 0) at++;
    bool there = at < l->count && strcmp(l->items[at].name, name) == 0;
    label_pair *items = there ? l->items : realloc(l->items, (l->count + 1) * sizeof *items);
    if (items) l->items = items;
    if (!items || !label_make(&new, name, value)) return false;
    if (there) {
        free(items[at].name);
        free(items[at].value);
    } else {
        memmove(items + at + 1, items + at, (l->count++ - at) * sizeof *items);
    }
    items[at] = new;
    return true;
}

const char *ouro__label_set_get(const label_set *l, const char *name) {
    for (size_t i = 0; i < l->count; i++) {
        if (strcmp(l->items[i].name, name) == 0) return l->items[i].value;
    }
    return NULL;
}

void ouro__label_set_free(label_set *l) {
    for (size_t i = 0; i < l->count; i++) {
        free(l->items[i].name);
        free(l->items[i].value);
    }
    free(l->items);
    *l = (label_set){0};
}

key ouro__label_set_key(const label_set *l) {
    sha256 s;
    ouro__sha256_init(&s);
    for (size_t i = 0; i < l->count; i++) {
        ouro__sha256_add(&s, l->items[i].name, strlen(l->items[i].name) + 1);
        ouro__sha256_add(&s, l->items[i].value, strlen(l->items[i].value) + 1);
    }
    return ouro__key_end(&s);
}

void ouro__mark_needed(const profile *p, unsigned char *needed) {
    for (uint32_t n = p->node_count; n-- > 1;) {
        for (uint32_t m = 0; m < p->metric_count && !needed[n]; m++)
            needed[n] = p->values[m][n] != 0;
        if (needed[n]) needed[p->parent[n]] = 1;
    }
    needed[0] = 0;
}
