// SPDX-License-Identifier: MIT
//
// The columns of a profile: growing them while it is built, and finishing it.
//
// Rows come in any order that has parents before children. Finishing puts them into preorder in
// three linear passes: subtree sizes from the last row to the first, places from the first to the
// last, and a move of each column. Asking is elsewhere; this file knows no question.

#include "profile.h"
#include "sliced.h"

#include "valid.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

// What the budget counts. A node takes its columns, and NODE_MORE at the peak, in the builder or
// while it is finished. Blocks of different names were seen to take BLOCK_BYTES each with their
// texts and tables.
enum { NODE_MORE = 36, BLOCK_BYTES = 188 };
#define BLOCKS_MAX (1u << 30)

enum { FIRST_NODES = 1024, FIRST_BLOCKS = 256 };

profile *ouro__profile_new(void) {
    profile *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->budget = ouro__budget_of_none();
    if (!ouro__texts_init(&p->texts) || ouro__profile_add_node(p, 0, NO_BLOCK) != 0 || p->failed) {
        ouro__profile_free(p);
        return NULL;
    }
    return p;
}

void ouro__origin_free(origin *o) {
    if (!o) return;
    free(o->bytes);
    free(o->sample_offset);
    free(o->sample_node);
    free(o->sample_set);
    free(o);
}

void ouro__profile_free(profile *p) {
    if (!p) return;
    ouro__texts_free(&p->texts);
    ouro__lookup_free(&p->block_lookup);
    for (uint32_t m = 0; m < p->metric_count; m++) free(p->values[m]);
    free(p->values);
    free(p->metrics);
    free(p->blocks);
    free(p->recursed);
    free(p->counted);
    free(p->parent);
    free(p->block);
    free(p->end);
    ouro__origin_free(p->origin);
    free(p->missing);
    free(p->program);
    free(p->title);
    ouro__tags_free(p->tags);
    ouro__slices_release(p->slices);
    free(p);
}

static uint32_t fail(profile *p, int code) {
    if (!p->failed) p->failed = code;
    return 0;
}

// What a node takes in the columns that grow with it.
static size_t node_bytes(const profile *p) {
    return sizeof *p->parent + sizeof *p->block + p->metric_count * sizeof **p->values;
}

static bool fits(const profile *p, uint64_t nodes, uint64_t blocks, size_t more) {
    uint64_t labels = p->tags ? ouro__tags_bytes(p->tags) : 0;
    return nodes * (node_bytes(p) + NODE_MORE + more) + blocks * BLOCK_BYTES + labels <=
           p->budget.memory;
}

// ---------------------------------------------------------------- texts, blocks, metrics

uint32_t ouro__profile_add_text(profile *p, const char *text) {
    uint32_t number = ouro__texts_add(&p->texts, text, strlen(text));
    return number == NO_ROW ? fail(p, ENOMEM) : number;
}

static uint32_t block_hash(const block_info *b) {
    return ouro__hash_pair(ouro__hash_pair(b->name, b->file), ouro__hash_pair(b->line, b->column));
}

uint32_t ouro__profile_add_block(profile *p, const block_info *b) {
    uint32_t hash = block_hash(b), row;
    for (uint64_t at = ouro__lookup_first(&p->block_lookup, hash);
         (row = ouro__lookup_next(&p->block_lookup, hash, &at)) != NO_ROW;) {
        if (memcmp(&p->blocks[row], b, sizeof *b) == 0) return row;
    }
    if (p->block_count == p->block_room) {
        uint32_t room = p->block_room ? p->block_room * 2 : FIRST_BLOCKS;
        if (room > BLOCKS_MAX || !fits(p, p->node_room, p->block_count, 0)) return fail(p, EFBIG);
        block_info *blocks = realloc(p->blocks, room * sizeof *blocks);
        if (!blocks) return fail(p, ENOMEM);
        p->blocks = blocks;
        p->block_room = room;
    }
    p->blocks[p->block_count] = *b;
    if (!ouro__lookup_add(&p->block_lookup, hash, p->block_count)) fail(p, ENOMEM);
    return p->block_count++;
}

uint32_t ouro__profile_add_named(profile *p, const char *name, size_t length) {
    uint32_t text = ouro__texts_add(&p->texts, name, length);
    if (text == NO_ROW) text = fail(p, ENOMEM);
    return ouro__profile_add_block(p, &(block_info){.name = text});
}

recursion *ouro__profile_recursed(profile *p, uint32_t block) {
    if (block < p->recursed_room) return &p->recursed[block];
    uint32_t room = p->block_room > block ? p->block_room : block + 1;
    recursion *rows = realloc(p->recursed, room * sizeof *rows);
    if (!rows) {
        fail(p, ENOMEM);
        return NULL;
    }
    memset(rows + p->recursed_room, 0, (room - p->recursed_room) * sizeof *rows);
    p->recursed = rows;
    p->recursed_room = room;
    return &rows[block];
}

bool ouro__profile_add_recursed(profile *p, const recursion *rows, uint32_t count,
                                const uint32_t *block_of) {
    for (uint32_t b = 0; b < count; b++) {
        if (!ouro__recurses(&rows[b])) continue;
        recursion *to = ouro__profile_recursed(p, block_of ? block_of[b] : b);
        if (!to) return false;
        ouro__recursion_add(to, &rows[b]);
    }
    return true;
}

static bool add_column(profile *p) {
    int64_t **values = realloc(p->values, (p->metric_count + 1) * sizeof *values);
    if (!values) return false;
    p->values = values;
    metric *metrics = realloc(p->metrics, (p->metric_count + 1) * sizeof *metrics);
    if (!metrics) return false;
    p->metrics = metrics;
    p->values[p->metric_count] = calloc(p->node_room, sizeof **values);
    return p->values[p->metric_count] != NULL;
}

uint32_t ouro__profile_add_metric(profile *p, const char *name, const char *unit) {
    if (p->metric_count == METRICS_MAX) return fail(p, E2BIG);
    if (!fits(p, p->node_room, p->block_count, sizeof **p->values)) return fail(p, EFBIG);
    if (!add_column(p)) return fail(p, ENOMEM);
    metric *added = &p->metrics[p->metric_count++];
    *added = (metric){ouro__profile_add_text(p, name), ouro__profile_add_text(p, unit), 0};
    return p->metric_count - 1;
}

uint32_t ouro__profile_find_metric(const profile *p, const char *name) {
    for (uint32_t m = 0; m < p->metric_count; m++) {
        if (strcmp(ouro__metric_name(p, m), name) == 0) return m;
    }
    return NO_ROW;
}

void ouro__profile_prefer_time(profile *p) {
    for (uint32_t m = 0; m < p->metric_count; m++) {
        bool any = false;
        for (uint32_t n = 0; !any && n < p->node_count; n++) any = p->values[m][n] != 0;
        if (!any || strcmp(ouro__metric_unit(p, m), "nanoseconds") != 0) continue;
        p->default_metric = m;
        return;
    }
}

bool ouro__profile_rescale(profile *p, uint32_t m, uint32_t decimals) {
    for (; p->metrics[m].decimals < decimals; p->metrics[m].decimals++) {
        for (uint32_t n = 0; n < p->node_count; n++) {
            if (__builtin_mul_overflow(p->values[m][n], 10, &p->values[m][n])) return false;
        }
        if (p->tags && !ouro__tags_rescale(p->tags, m)) return false;
    }
    return true;
}

// ---------------------------------------------------------------- nodes

size_t ouro__profile_bytes(const profile *p) {
    size_t block_bytes = sizeof *p->blocks + 2 * sizeof *p->block_lookup.slots;
    size_t text_bytes = sizeof *p->texts.offsets + 2 * sizeof *p->texts.lookup.slots;
    return p->node_count * (node_bytes(p) + sizeof *p->end) + p->block_count * block_bytes +
           p->recursed_room * sizeof *p->recursed + p->counted_room + p->texts.count * text_bytes +
           p->texts.used + (p->tags ? ouro__tags_bytes(p->tags) : 0);
}

static bool grow_nodes(profile *p, uint64_t room) {
    if (room > NO_NODE - 1 || !fits(p, room, p->block_count, 0)) {
        fail(p, EFBIG);
        return false;
    }
    uint32_t *parent = realloc(p->parent, room * sizeof *parent);
    if (parent) p->parent = parent;
    uint32_t *blocks = realloc(p->block, room * sizeof *blocks);
    if (blocks) p->block = blocks;
    bool ok = parent && blocks;
    for (uint32_t m = 0; ok && m < p->metric_count; m++) {
        int64_t *column = realloc(p->values[m], room * sizeof *column);
        if (column) p->values[m] = column;
        ok = column != NULL;
    }
    if (ok) p->node_room = (uint32_t)room;
    if (!ok) fail(p, ENOMEM);
    return ok;
}

uint32_t ouro__profile_add_node(profile *p, uint32_t parent, uint32_t b) {
    uint64_t room = p->node_room ? (uint64_t)p->node_room * 2 : FIRST_NODES;
    if (p->node_count == p->node_room && !grow_nodes(p, room)) return 0;
    uint32_t n = p->node_count++;
    p->parent[n] = parent;
    p->block[n] = b;
    for (uint32_t m = 0; m < p->metric_count; m++) p->values[m][n] = 0;
    return n;
}

void ouro__profile_reserve(profile *p, uint32_t nodes) {
    if (nodes > p->node_room) grow_nodes(p, nodes);
}

// ---------------------------------------------------------------- finishing

// A node's place is the next free one below its parent, and it takes as many as its subtree
// has nodes.
static void find_places(const profile *p, uint32_t *place, uint32_t *end, uint32_t *next) {
    for (uint32_t n = 0; n < p->node_count; n++) end[n] = 1;
    for (uint32_t n = p->node_count; n-- > 1;) end[p->parent[n]] += end[n];
    place[0] = 0;
    next[0] = 1;
    for (uint32_t n = 1; n < p->node_count; n++) {
        uint32_t up = p->parent[n];
        place[n] = next[up];
        next[up] += end[n];
        next[n] = place[n] + 1;
    }
}

static bool in_order(const uint32_t *place, uint32_t count) {
    for (uint32_t n = 0; n < count; n++) {
        if (place[n] != n) return false;
    }
    return true;
}

static void move_words(uint32_t *column, uint32_t *spare, const uint32_t *place, uint32_t count) {
    memcpy(spare, column, count * sizeof *spare);
    for (uint32_t n = 0; n < count; n++) column[place[n]] = spare[n];
}

static bool move_columns(profile *p, const uint32_t *place, uint32_t *spare) {
    move_words(p->block, spare, place, p->node_count);
    memcpy(spare, p->parent, p->node_count * sizeof *spare);
    for (uint32_t n = 0; n < p->node_count; n++) p->parent[place[n]] = place[spare[n]];
    move_words(p->end, spare, place, p->node_count);
    for (uint32_t m = 0; m < p->metric_count; m++) {
        int64_t *moved = malloc(p->node_count * sizeof *moved);
        if (!moved) return false;
        for (uint32_t n = 0; n < p->node_count; n++) moved[place[n]] = p->values[m][n];
        free(p->values[m]);
        p->values[m] = moved;
    }
    for (uint32_t s = 0; p->origin && s < p->origin->sample_count; s++) {
        uint32_t *node = &p->origin->sample_node[s];
        if (*node != NO_NODE) *node = place[*node];
    }
    p->node_room = p->node_count;
    return true;
}

static bool put_in_order(profile *p) {
    uint32_t *place = malloc(p->node_count * sizeof *place),
             *spare = malloc(p->node_count * sizeof *spare);
    free(p->end);
    p->end = malloc(p->node_count * sizeof *p->end);
    bool ok = place && spare && p->end;
    if (ok) find_places(p, place, p->end, spare);
    if (ok && p->tags) ouro__tags_finish(p->tags, place);
    if (ok && !in_order(place, p->node_count)) ok = move_columns(p, place, spare);
    // From sizes to ends.
    for (uint32_t n = 0; ok && n < p->node_count; n++) p->end[n] += n;
    free(place);
    free(spare);
    return ok;
}

static bool grow_counted(profile *p) {
    uint8_t *counted = realloc(p->counted, (size_t)p->block_count + 1);
    if (!counted) return false;
    if (p->block_count > p->counted_room)
        memset(counted + p->counted_room, 0, p->block_count - p->counted_room);
    p->counted = counted;
    p->counted_room = p->block_count;
    return true;
}

// A part of a profile keeps the marks of the whole.
static bool find_counted(profile *p) {
    uint32_t calls = ouro__profile_find_metric(p, "calls");
    if (!grow_counted(p)) return false;
    for (uint32_t n = 1; calls != NO_ROW && n < p->node_count; n++)
        if (p->values[calls][n]) p->counted[p->block[n]] = 1;
    return true;
}

bool ouro__profile_finish(profile *p, error *e) {
    if (p->failed == EFBIG || p->failed == ETIME)
        return ouro__budget_fail(&p->budget, p->failed, e);
    if (p->failed == EOVERFLOW)
        return ouro__fail(e, EOVERFLOW, "the values of a path add up to more than 63 bits hold");
    if (p->failed == E2BIG) return ouro__fail(e, E2BIG, "more than %d metrics", METRICS_MAX);
    if (p->failed || !put_in_order(p) || !find_counted(p)) return ouro__fail_memory(e);
    for (uint32_t m = 0; m < p->metric_count; m++) {
        if (!ouro__values_fit(p, m))
            return ouro__fail(e, EOVERFLOW,
                              "the values of metric %s add up to more than 63 bits hold",
                              ouro__metric_name(p, m));
    }
    assert(ouro__profile_is_valid(p));
    return true;
}

// ---------------------------------------------------------------- copies

profile *ouro__profile_like(const profile *p) {
    profile *copy = ouro__profile_new();
    for (uint32_t m = 0; copy && m < p->metric_count; m++) {
        uint32_t added =
            ouro__profile_add_metric(copy, ouro__metric_name(p, m), ouro__metric_unit(p, m));
        if (!copy->failed) copy->metrics[added].decimals = p->metrics[m].decimals;
    }
    if (!copy) return NULL;
    copy->default_metric = p->default_metric;
    copy->rule = p->rule;
    copy->edge_length = p->edge_length;
    copy->start_time = p->start_time;
    copy->duration = p->duration;
    copy->format = p->format;
    copy->running = p->running;
    copy->budget = p->budget;
    copy->budget.spent = 0;
    copy->slices = ouro__slices_share(p->slices);
    if (p->title && !(copy->title = strdup(p->title))) fail(copy, ENOMEM);
    if (!copy->failed) return copy;
    ouro__profile_free(copy);
    return NULL;
}

profile *ouro__profile_like_with_blocks(const profile *p) {
    profile *copy = ouro__profile_like(p);
    for (uint32_t b = 0; copy && b < p->block_count; b++) {
        block_info added = p->blocks[b];
        added.name = ouro__profile_add_text(copy, ouro__block_name(p, b));
        added.file = ouro__profile_add_text(copy, ouro__block_file(p, b));
        ouro__profile_add_block(copy, &added);
    }
    uint32_t counted = p->recursed_room < p->block_count ? p->recursed_room : p->block_count;
    if (copy) copy->recursion_told = p->recursion_told;
    if (copy && !copy->failed && copy->block_count == p->block_count &&
        ouro__profile_add_recursed(copy, p->recursed, counted, NULL) && grow_counted(copy)) {
        for (uint32_t b = 0; b < p->block_count; b++) copy->counted[b] = ouro__is_counted(p, b);
        return copy;
    }
    ouro__profile_free(copy);
    return NULL;
}
