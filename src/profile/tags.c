// SPDX-License-Identifier: MIT
//
// Collects the labels of samples while a profile is read.
//
// A sample's tags are put one by one and closed to a set; equal sets have one number, and so have
// the rows of equal nodes and sets. All of it grows with the distinct labels and counts in the
// profile's budget.

#include "profile.h"
#include "valid.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 64 };

void ouro__tags_free(tags *t) {
    if (!t) return;
    free(t->keys);
    ouro__lookup_free(&t->key_lookup);
    free(t->tags);
    ouro__lookup_free(&t->tag_lookup);
    free(t->set_end);
    free(t->set_tags);
    ouro__lookup_free(&t->set_lookup);
    free(t->row_node);
    free(t->row_set);
    for (uint32_t m = 0; m < t->metric_count; m++) free(t->row_values[m]);
    free(t->row_values);
    ouro__lookup_free(&t->row_lookup);
    free(t->open);
    free(t);
}

size_t ouro__tags_bytes(const tags *t) {
    size_t words = (size_t)t->key_room + t->set_room + t->set_tags_room;
    size_t slots =
        t->key_lookup.mask + t->tag_lookup.mask + t->set_lookup.mask + t->row_lookup.mask;
    size_t bytes = sizeof *t + t->tag_room * sizeof *t->tags + words * sizeof(uint32_t) +
                   slots * sizeof(uint64_t);
    bytes += (size_t)t->row_room * (sizeof *t->row_node + sizeof *t->row_set);
    for (uint32_t m = 0; m < t->metric_count; m++)
        bytes += t->row_values[m] ? (size_t)t->row_room * sizeof **t->row_values : 0;
    return bytes;
}

// ---------------------------------------------------------------- growing

static void fail(profile *p, int code) {
    if (!p->failed) p->failed = code;
}

// Room for one more word in a column that doubles.
static bool grow(profile *p, uint32_t **words, uint32_t count, uint32_t *room) {
    if (count < *room) return true;
    uint64_t larger = *room ? (uint64_t)*room * 2 : FIRST_ROOM;
    uint32_t *grown = larger < NO_ROW ? realloc(*words, larger * sizeof *grown) : NULL;
    if (!grown) {
        fail(p, ENOMEM);
        return false;
    }
    *words = grown;
    *room = (uint32_t)larger;
    return true;
}

static tags *tags_of(profile *p) {
    if (!p->tags) p->tags = calloc(1, sizeof *p->tags);
    tags *t = p->tags;
    if (t && !t->set_count && grow(p, &t->set_end, 0, &t->set_room)) {
        t->set_end[0] = 0;
        t->set_count = 1;
    }
    if (!t || !t->set_count) fail(p, ENOMEM);
    return p->failed ? NULL : t;
}

uint32_t ouro__tags_key(const tags *t, uint32_t text) {
    uint32_t hash = ouro__hash_number(text), row;
    for (uint64_t at = ouro__lookup_first(&t->key_lookup, hash);
         (row = ouro__lookup_next(&t->key_lookup, hash, &at)) != NO_ROW;) {
        if (t->keys[row] == text) return row;
    }
    return NO_ROW;
}

uint32_t ouro__tags_find(const tags *t, uint32_t key, uint32_t value) {
    uint32_t hash = ouro__hash_pair(key, value), row;
    for (uint64_t at = ouro__lookup_first(&t->tag_lookup, hash);
         (row = ouro__lookup_next(&t->tag_lookup, hash, &at)) != NO_ROW;) {
        if (t->tags[row].key == key && t->tags[row].value == value) return row;
    }
    return NO_ROW;
}

static uint32_t add_key(profile *p, tags *t, uint32_t text) {
    uint32_t row = ouro__tags_key(t, text);
    if (row != NO_ROW) return row;
    if (!grow(p, &t->keys, t->key_count, &t->key_room)) return NO_ROW;
    if (!ouro__lookup_add(&t->key_lookup, ouro__hash_number(text), t->key_count)) {
        fail(p, ENOMEM);
        return NO_ROW;
    }
    t->keys[t->key_count] = text;
    return t->key_count++;
}

static bool grow_tags(tags *t) {
    if (t->tag_count < t->tag_room) return true;
    uint64_t room = t->tag_room ? (uint64_t)t->tag_room * 2 : FIRST_ROOM;
    tag_info *grown = room < NO_ROW ? realloc(t->tags, room * sizeof *grown) : NULL;
    if (!grown) return false;
    t->tags = grown;
    t->tag_room = (uint32_t)room;
    return true;
}

static uint32_t add_tag(profile *p, tags *t, uint32_t key, uint32_t value) {
    uint32_t row = key == NO_ROW ? NO_ROW : ouro__tags_find(t, key, value);
    if (row != NO_ROW || key == NO_ROW) return row;
    uint32_t hash = ouro__hash_pair(key, value);
    if (!grow_tags(t) || !ouro__lookup_add(&t->tag_lookup, hash, t->tag_count)) {
        fail(p, ENOMEM);
        return NO_ROW;
    }
    t->tags[t->tag_count] = (tag_info){key, value};
    return t->tag_count++;
}

// The open tags are few, so they are kept in order by insertion; the same tag twice counts once.
void ouro__tags_put(profile *p, uint32_t key, uint32_t value) {
    tags *t = tags_of(p);
    uint32_t added = t ? add_tag(p, t, add_key(p, t, key), value) : NO_ROW;
    if (added == NO_ROW || !grow(p, &t->open, t->open_count, &t->open_room)) return;
    uint32_t at = t->open_count;
    ouro__spend(p, 1);
    while (at > 0 && t->open[at - 1] > added) at--;
    ouro__spend(p, t->open_count - at);
    if (at > 0 && t->open[at - 1] == added) return;
    memmove(t->open + at + 1, t->open + at, (t->open_count - at) * sizeof *t->open);
    t->open[at] = added;
    t->open_count++;
}

static uint32_t open_hash(const tags *t) {
    uint32_t hash = t->open_count;
    for (uint32_t i = 0; i < t->open_count; i++) hash = ouro__hash_pair(hash, t->open[i]);
    return hash;
}

static bool is_open_set(const tags *t, uint32_t set) {
    uint32_t first = ouro__set_first(t, set);
    return t->set_end[set] - first == t->open_count &&
           memcmp(t->set_tags + first, t->open, t->open_count * sizeof *t->open) == 0;
}

static uint32_t add_set(profile *p, tags *t, uint32_t hash) {
    uint32_t used = t->set_end[t->set_count - 1];
    if (!grow(p, &t->set_end, t->set_count, &t->set_room)) return 0;
    for (uint32_t i = 0; i < t->open_count; i++) {
        if (!grow(p, &t->set_tags, used + i, &t->set_tags_room)) return 0;
        t->set_tags[used + i] = t->open[i];
    }
    t->set_end[t->set_count] = used + t->open_count;
    if (ouro__lookup_add(&t->set_lookup, hash, t->set_count)) return t->set_count++;
    fail(p, ENOMEM);
    return 0;
}

uint32_t ouro__tags_close(profile *p) {
    tags *t = p->tags;
    if (!t || !t->open_count || p->failed) return 0;
    uint32_t hash = open_hash(t), set;
    for (uint64_t at = ouro__lookup_first(&t->set_lookup, hash);
         (set = ouro__lookup_next(&t->set_lookup, hash, &at)) != NO_ROW;) {
        if (is_open_set(t, set)) break;
    }
    if (set == NO_ROW) set = add_set(p, t, hash);
    t->open_count = 0;
    return set;
}

// ---------------------------------------------------------------- rows

static bool grow_rows(profile *p, tags *t) {
    if (t->row_count < t->row_room) return true;
    uint32_t room = t->row_room, old = room;
    if (!grow(p, &t->row_node, t->row_count, &room)) return false;
    room = old;
    if (!grow(p, &t->row_set, t->row_count, &room)) return false;
    for (uint32_t m = 0; m < t->metric_count; m++) {
        if (!t->row_values[m]) continue;
        int64_t *column = realloc(t->row_values[m], room * sizeof *column);
        if (!column) fail(p, ENOMEM);
        if (!column) return false;
        memset(column + old, 0, (room - old) * sizeof *column);
        t->row_values[m] = column;
    }
    t->row_room = room;
    if (ouro__tags_bytes(t) > p->budget.memory) fail(p, EFBIG);
    return !p->failed;
}

static uint32_t row_of(profile *p, tags *t, uint32_t node, uint32_t set) {
    uint32_t hash = ouro__hash_pair(node, set), row;
    for (uint64_t at = ouro__lookup_first(&t->row_lookup, hash);
         (row = ouro__lookup_next(&t->row_lookup, hash, &at)) != NO_ROW;) {
        if (t->row_node[row] == node && t->row_set[row] == set) return row;
    }
    if (!grow_rows(p, t)) return NO_ROW;
    if (!ouro__lookup_add(&t->row_lookup, hash, t->row_count)) {
        fail(p, ENOMEM);
        return NO_ROW;
    }
    t->row_node[t->row_count] = node;
    t->row_set[t->row_count] = set;
    return t->row_count++;
}

static bool add_column(tags *t, uint32_t m) {
    if (m >= t->metric_count) {
        int64_t **columns = realloc(t->row_values, (m + 1) * sizeof *columns);
        if (!columns) return false;
        t->row_values = columns;
        while (t->metric_count <= m) t->row_values[t->metric_count++] = NULL;
    }
    if (!t->row_values[m]) t->row_values[m] = calloc(t->row_room, sizeof **t->row_values);
    return t->row_values[m] != NULL;
}

void ouro__tags_charge(profile *p, uint32_t m, uint32_t node, uint32_t set, int64_t n) {
    tags *t = p->tags;
    if (!set || !n || p->failed) return;
    uint32_t row = row_of(p, t, node, set);
    if (row == NO_ROW) return;
    if (!add_column(t, m)) return fail(p, ENOMEM);
    int64_t *value = &t->row_values[m][row];
    if (__builtin_add_overflow(*value, n, value)) fail(p, EOVERFLOW);
}

bool ouro__tags_rescale(tags *t, uint32_t m) {
    for (uint32_t r = 0; m < t->metric_count && t->row_values[m] && r < t->row_count; r++) {
        if (__builtin_mul_overflow(t->row_values[m][r], 10, &t->row_values[m][r])) return false;
    }
    return true;
}

void ouro__tags_finish(tags *t, const uint32_t *place) {
    ouro__lookup_free(&t->row_lookup);
    t->row_lookup = (lookup){0};
    for (uint32_t r = 0; r < t->row_count; r++) t->row_node[r] = place[t->row_node[r]];
}

bool ouro__tags_is_valid(const profile *p) {
    const tags *t = p->tags;
    bool ok = t->set_count >= 1 && t->set_end[0] == 0;
    for (uint32_t i = 0; ok && i < t->tag_count; i++)
        ok = t->tags[i].key < t->key_count && t->keys[t->tags[i].key] < p->texts.count &&
             t->tags[i].value < p->texts.count;
    for (uint32_t s = 1; ok && s < t->set_count; s++) {
        uint32_t first = ouro__set_first(t, s);
        ok = t->set_end[s] > first;
        for (uint32_t i = first; ok && i < t->set_end[s]; i++)
            ok = t->set_tags[i] < t->tag_count &&
                 (i == first || t->set_tags[i - 1] < t->set_tags[i]);
    }
    for (uint32_t r = 0; ok && r < t->row_count; r++)
        ok = t->row_node[r] < p->node_count && t->row_set[r] > 0 && t->row_set[r] < t->set_count;
    return ok && t->metric_count <= p->metric_count;
}
