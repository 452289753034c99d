// SPDX-License-Identifier: MIT
//
// Writes a profile's columns one after the other, see columns.h: equal things stand together, which
// packs well.

#include "columns.h"
#include "sliced.h"
#include "wire.h"

#include <stdlib.h>
#include <string.h>

static void put_number(output *out, uint64_t value) {
    unsigned char bytes[VARINT_ROOM];
    ouro__put(out, bytes, ouro__varint_put(bytes, value));
}

static void put_signed(output *out, int64_t value) {
    put_number(out, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

static void put_string(output *out, const char *text) {
    size_t length = strlen(text);
    put_number(out, length);
    ouro__put(out, text, length);
}

static void put_head(const shared_profile *s, output *out) {
    const profile *p = s->profile;
    put_number(out, COLUMNS_VERSION);
    put_string(out, s->title ? s->title : "");
    put_string(out, p->format ? p->format : "");
    put_signed(out, p->rule);
    put_signed(out, p->edge_length);
    put_number(out, p->start_time);
    put_number(out, p->duration);
}

static void put_metrics(const profile *p, uint32_t shown, output *out) {
    put_number(out, p->metric_count);
    put_number(out, shown);
    for (uint32_t m = 0; m < p->metric_count; m++) {
        put_string(out, ouro__metric_name(p, m));
        put_string(out, ouro__metric_unit(p, m));
        put_number(out, p->metrics[m].decimals);
    }
}

// place[b] is the new number of block b.
static void put_blocks(const profile *p, const uint32_t *place, uint32_t count, output *out) {
    put_number(out, count);
    for (uint32_t b = 0; b < p->block_count; b++) {
        if (place[b] != NO_BLOCK) put_string(out, ouro__block_name(p, b));
    }
    for (uint32_t b = 0; b < p->block_count; b++) {
        if (place[b] != NO_BLOCK) put_string(out, ouro__block_file(p, b));
    }
    for (uint32_t b = 0; b < p->block_count; b++) {
        if (place[b] != NO_BLOCK) put_number(out, p->blocks[b].line);
    }
    for (uint32_t b = 0; b < p->block_count; b++) {
        if (place[b] != NO_BLOCK) put_number(out, p->blocks[b].column);
    }
}

static void put_recursion(const profile *p, const uint32_t *place, output *out) {
    for (uint32_t b = 0; b < p->block_count; b++) {
        if (place[b] == NO_BLOCK) continue;
        recursion r = b < p->recursed_room ? p->recursed[b] : (recursion){0};
        put_number(out, r.direct);
        put_number(out, r.through);
        put_number(out, r.deepest);
    }
}

static uint32_t number_blocks(const profile *p, uint32_t *place) {
    uint32_t count = 0;
    for (uint32_t b = 0; b < p->block_count; b++) place[b] = NO_BLOCK;
    for (uint32_t n = 1; n < p->node_count; n++) place[p->block[n]] = 0;
    for (uint32_t b = 0; b < p->block_count; b++) {
        if (place[b] != NO_BLOCK) place[b] = count++;
    }
    return count;
}

static void put_paths(const profile *p, const uint32_t *place, uint32_t *depth, output *out) {
    put_number(out, p->node_count - 1);
    depth[0] = 0;
    for (uint32_t n = 1; n < p->node_count; n++) {
        depth[n] = depth[p->parent[n]] + 1;
        put_number(out, depth[n - 1] - depth[p->parent[n]]);
    }
    for (uint32_t n = 1; n < p->node_count; n++) put_number(out, place[p->block[n]]);
    for (uint32_t m = 0; m < p->metric_count; m++) {
        for (uint32_t n = 0; n < p->node_count; n++) put_signed(out, p->values[m][n]);
    }
}

static void put_labels(const profile *p, output *out) {
    const tags *t = p->tags;
    put_number(out, t ? t->set_count - 1 : 0);
    for (uint32_t s = 1; t && s < t->set_count; s++) {
        put_number(out, t->set_end[s] - ouro__set_first(t, s));
        for (uint32_t i = ouro__set_first(t, s); i < t->set_end[s]; i++) {
            const tag_info *tag = &t->tags[t->set_tags[i]];
            put_string(out, ouro__text(&p->texts, t->keys[tag->key]));
            put_string(out, ouro__text(&p->texts, tag->value));
        }
    }
    put_number(out, t ? t->row_count : 0);
    for (uint32_t i = 0; t && i < t->row_count; i++) {
        put_number(out, t->row_node[i]);
        put_number(out, t->row_set[i]);
        for (uint32_t m = 0; m < p->metric_count; m++)
            put_signed(out, m < t->metric_count && t->row_values[m] ? t->row_values[m][i] : 0);
    }
}

enum { TABLES_MOST = 1 << 18 }; // bytes that all slices may have in a page

// A message without its table: then the heat map and the histogram say how slices were. Returns its
// size; `out` NULL: nothing is written.
static size_t put_without_table(const lane_slices *l, output *out) {
    size_t size = 0;
    error e;
    wire in = {l->message, l->message, l->message + l->message_size, &e, false, 0};
    for (wire_field field; ouro__wire_next(&in, &field);) {
        size_t bytes = (size_t)(in.at - field.start);
        if (field.number == SLICES_TABLE_ROWS) continue;
        if (out) ouro__put(out, field.start, bytes);
        size += bytes;
    }
    return size;
}

// The lane stands once more at the end, where it counts: a sum gives lanes other numbers.
static void put_lane(const lane_slices *l, bool table, output *out) {
    size_t lane = 1 + ouro__varint_size(l->lane);
    put_number(out, (table ? l->message_size : put_without_table(l, NULL)) + lane);
    if (table) ouro__put(out, l->message, l->message_size);
    if (!table) put_without_table(l, out);
    put_number(out, SLICES_LANE << 3 | WIRE_VARINT);
    put_number(out, l->lane);
}

static void put_slices(const profile *p, output *out) {
    const slices *s = p->tags ? p->slices : NULL;
    size_t bytes = 0;
    put_number(out, s ? s->count : 0);
    if (!s || !s->count) return;
    put_number(out, s->width - 3);
    put_number(out, s->own);
    for (uint32_t i = 0; i < s->count; i++) bytes += s->lanes[i].message_size;
    for (uint32_t i = 0; i < s->count; i++) put_lane(&s->lanes[i], bytes <= TABLES_MOST, out);
}

static void put_part(const part_info *w, uint32_t metrics, output *out) {
    put_number(out, w != NULL);
    if (!w) return;
    for (uint32_t m = 0; m < metrics; m++) put_signed(out, w->totals[m]);
    put_number(out, w->paths);
    put_number(out, w->cut);
    put_number(out, w->filter_count);
    for (uint32_t i = 0; i < w->filter_count; i++) put_string(out, w->filters[i]);
}

bool ouro__columns_put(const shared_profile *s, uint32_t m, output *out) {
    const profile *p = s->profile;
    uint32_t *place = malloc(((size_t)p->block_count + 1) * sizeof *place);
    uint32_t *depth = malloc(p->node_count * sizeof *depth);
    bool ok = place && depth;
    if (ok) {
        put_head(s, out);
        put_metrics(p, m, out);
        put_blocks(p, place, number_blocks(p, place), out);
        put_recursion(p, place, out);
        put_paths(p, place, depth, out);
        put_labels(p, out);
        put_slices(p, out);
        put_part(s->part, p->metric_count, out);
    }
    free(place);
    free(depth);
    return ok;
}
