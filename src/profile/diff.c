// SPDX-License-Identifier: MIT
//
// Two profiles compared by block name. A block that moved to another line is the same block; where
// a name stands in several files, the file tells them apart. Blocks of one name are one group whose
// overall counts each path once, in both profiles, so the numbers of both sides mean the same.

#include "questions.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    texts names;    // of both profiles, and their files
    uint32_t *file; // by name: a text, or MANY
    uint32_t room;
} name_table;

enum { NONE_YET = UINT32_MAX, MANY = UINT32_MAX - 1 };

static uint32_t text_of(name_table *t, const char *text) {
    return ouro__texts_add(&t->names, text, strlen(text));
}

static bool note_names(name_table *t, const profile *p) {
    for (uint32_t b = 0; b < p->block_count; b++) {
        uint32_t name = text_of(t, ouro__block_name(p, b)),
                 file = text_of(t, ouro__block_file(p, b));
        if (name == NO_ROW || file == NO_ROW) return false;
        while (name >= t->room || file >= t->room) {
            uint32_t room = t->room ? t->room * 2 : 256;
            uint32_t *files = realloc(t->file, room * sizeof *files);
            if (!files) return false;
            t->file = files;
            for (; t->room < room; t->room++) t->file[t->room] = NONE_YET;
        }
        if (t->file[name] == NONE_YET) t->file[name] = file;
        if (t->file[name] != file) t->file[name] = MANY;
    }
    return true;
}

typedef struct {
    lookup lookup;
    struct group {
        uint32_t name, file;
    } * rows;
    uint32_t count;
} group_table;

static uint32_t group_of(group_table *g, uint32_t name, uint32_t file) {
    uint32_t hash = ouro__hash_pair(name, file), row;
    for (uint64_t at = ouro__lookup_first(&g->lookup, hash);
         (row = ouro__lookup_next(&g->lookup, hash, &at)) != NO_ROW;) {
        if (g->rows[row].name == name && g->rows[row].file == file) return row;
    }
    if (!ouro__lookup_add(&g->lookup, hash, g->count)) return NO_ROW;
    g->rows[g->count] = (struct group){name, file};
    return g->count++;
}

static uint32_t *find_groups(name_table *t, group_table *g, const profile *p) {
    uint32_t *group = malloc(((size_t)p->block_count + 1) * sizeof *group);
    for (uint32_t b = 0; group && b < p->block_count; b++) {
        uint32_t name = text_of(t, ouro__block_name(p, b)), file = 0;
        if (t->file[name] == MANY) file = text_of(t, ouro__block_file(p, b));
        group[b] = group_of(g, name, file);
        if (group[b] != NO_ROW) continue;
        free(group);
        return NULL;
    }
    return group;
}

static int64_t change(const difference *d) {
    int64_t n = d->self_after - d->self_before;
    return n < 0 ? -n : n;
}

static int by_change(const void *a, const void *b) {
    const difference *x = a, *y = b;
    if (change(x) != change(y)) return change(x) < change(y) ? 1 : -1;
    if (x->overall_after != y->overall_after) return x->overall_after < y->overall_after ? 1 : -1;
    int order = strcmp(x->name, y->name);
    return order ? order : strcmp(x->file, y->file);
}

static bool fill(const name_table *t, const group_table *g, const totals *before,
                 const totals *after, const uint8_t *sides, comparison *c) {
    c->rows = calloc((size_t)g->count + 1, sizeof *c->rows);
    if (!c->rows) return false;
    for (uint32_t i = 0; i < g->count; i++) {
        difference *row = &c->rows[c->count++];
        row->name = strdup(ouro__text(&t->names, g->rows[i].name));
        row->file = strdup(ouro__text(&t->names, g->rows[i].file));
        if (!row->name || !row->file) return false;
        row->block_before = row->block_after = NO_BLOCK;
        row->in_before = sides[i] & 1;
        row->in_after = sides[i] & 2;
        row->self_before = before->self[i];
        row->overall_before = before->overall[i];
        row->self_after = after->self[i];
        row->overall_after = after->overall[i];
    }
    c->total_before = before->total;
    c->total_after = after->total;
    return true;
}

// The first block of each group that a path has.
static void note_blocks(const profile *p, const uint32_t *group, bool after, comparison *c) {
    for (uint32_t n = 1; n < p->node_count; n++) {
        difference *row = &c->rows[group[p->block[n]]];
        uint32_t *block = after ? &row->block_after : &row->block_before;
        if (*block == NO_BLOCK || p->block[n] < *block) *block = p->block[n];
    }
}

// Rows that neither side has are of blocks that only the tables name.
static void drop_absent(comparison *c) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < c->count; i++) {
        difference *row = &c->rows[i];
        if (row->in_before || row->in_after) {
            c->rows[kept++] = *row;
        } else {
            free(row->name);
            free(row->file);
        }
    }
    c->count = kept;
}

// A block counts as there if a path has it: tables may hold blocks that nothing was charged to.
static void note_sides(const profile *p, const uint32_t *group, uint8_t side, uint8_t *sides) {
    for (uint32_t n = 1; n < p->node_count; n++) sides[group[p->block[n]]] |= side;
}

bool ouro__compare(const profile *a, uint32_t before, const profile *b, uint32_t after,
                   comparison *c) {
    name_table t = {0};
    group_table g = {0};
    totals ta = {0}, tb = {0};
    uint32_t *group_a = NULL, *group_b = NULL;
    *c = (comparison){0};
    bool ok = ouro__texts_init(&t.names) && note_names(&t, a) && note_names(&t, b);
    g.rows = malloc(((size_t)a->block_count + b->block_count + 1) * sizeof *g.rows);
    ok = ok && g.rows && (group_a = find_groups(&t, &g, a)) && (group_b = find_groups(&t, &g, b));
    uint8_t *sides = calloc((size_t)g.count + 1, 1);
    ok = ok && sides && ouro__totals(a, before, group_a, g.count, &ta) &&
         ouro__totals(b, after, group_b, g.count, &tb);
    if (ok && a == b) {
        // Two counts of the same paths: what counts nothing on one side is not there.
        for (uint32_t i = 0; i < g.count; i++)
            sides[i] = (ta.overall[i] != 0) | (uint8_t)((tb.overall[i] != 0) << 1);
    }
    if (ok) {
        note_sides(a, group_a, a == b ? 0 : 1, sides);
        note_sides(b, group_b, a == b ? 0 : 2, sides);
        ok = fill(&t, &g, &ta, &tb, sides, c);
    }
    if (ok) {
        note_blocks(a, group_a, false, c);
        note_blocks(b, group_b, true, c);
        drop_absent(c);
        qsort(c->rows, c->count, sizeof *c->rows, by_change);
    }
    ouro__texts_free(&t.names);
    ouro__lookup_free(&g.lookup);
    ouro__totals_free(&ta);
    ouro__totals_free(&tb);
    free(t.file);
    free(g.rows);
    free(group_a);
    free(group_b);
    free(sides);
    if (!ok) ouro__comparison_free(c);
    return ok;
}

void ouro__comparison_free(comparison *c) {
    for (uint32_t i = 0; i < c->count; i++) {
        free(c->rows[i].name);
        free(c->rows[i].file);
    }
    free(c->rows);
    *c = (comparison){0};
}
