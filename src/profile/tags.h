// SPDX-License-Identifier: MIT
//
// The labels of samples: thread, host, request, and what else a format carries. People say label;
// in the code they are tags, because a label is the text that finds a block (labels.h).
//
// WORDS
//   tag    a key and a value, both texts of the profile: thread=main
//   set    the tags of a sample, by number; set 0 is empty
//   row    what the samples of one node with one set have together
//
// A profile without labels has no tags at all. Samples without labels have no rows: what a node
// has beyond its rows belongs to set 0. So every amount can be told apart by node and set, and a
// filter by labels is a pass over the rows.

#ifndef OURO_TAGS_H
#define OURO_TAGS_H

#include "lookup.h"

typedef struct {
    uint32_t key;   // a row of `keys`
    uint32_t value; // a text
} tag_info;

typedef struct tags {
    uint32_t *keys; // texts
    uint32_t key_count, key_room;
    lookup key_lookup;

    tag_info *tags;
    uint32_t tag_count, tag_room;
    lookup tag_lookup;

    // Set s has the tags set_tags[set_end[s - 1]] to set_tags[set_end[s] - 1], ascending.
    uint32_t *set_end, *set_tags;
    uint32_t set_count, set_room, set_tags_room;
    lookup set_lookup;

    uint32_t *row_node, *row_set;
    int64_t **row_values; // a column per metric; NULL: nothing of it
    uint32_t metric_count, row_count, row_room;
    lookup row_lookup; // only until the profile is finished

    uint32_t *open; // the tags of the sample that is being read
    uint32_t open_count, open_room;
} tags;

static inline uint32_t ouro__set_first(const tags *t, uint32_t set) {
    return set ? t->set_end[set - 1] : 0;
}

// The row of a key by its text's number, NO_ROW if no tag has it.
uint32_t ouro__tags_key(const tags *t, uint32_t text);
// The tag of a key's row and a value's text, NO_ROW if there is none.
uint32_t ouro__tags_find(const tags *t, uint32_t key, uint32_t value);

void ouro__tags_free(tags *t);
size_t ouro__tags_bytes(const tags *t);
// For profile.c: the values of a metric get a decimal more; nodes have found their places.
bool ouro__tags_rescale(tags *t, uint32_t m);
void ouro__tags_finish(tags *t, const uint32_t *place);

#endif
