// SPDX-License-Identifier: MIT
//
// Writes pprof profiles: one location and one function per block, leaf first, what readers depend
// on as in the recorder's own writer (string 0 empty, ids from 1, one mapping with its has_* flags,
// system_name left out).
//
// A profile that was read from pprof and not folded or compacted still has its origin: then that is
// written again, without the samples that were filtered out. So labels, mappings, addresses,
// inlined lines and call sites survive, even fields that we do not know.

#include "readers.h"
#include "sliced.h"
#include "wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A tree that is a chain has paths of quadratic size. When all paths together are longer than this,
// each is cut below a [truncated] root.
#define ALL_PATHS_MAX UINT64_C(400000000)
enum { PATH_MAX_BLOCKS = 4096 };

typedef struct {
    const profile *profile;
    output *out;
    walk walk;
    uint32_t *location; // id by block; 0 = it does not occur
    uint32_t locations, truncated;
    uint32_t shown;  // the metric that readers show first
    uint64_t *sizes; // bytes of the first d ids of the path
    size_t sizes_room;
    int64_t *carry; // per metric
    // Of profiles with slices: 1 + the first row of labels of a node, and the next of a row; the
    // strings of a tag's key and value.
    uint32_t *rows_of, *next_row, *tag_key, *tag_value;
    texts strings;
} writer;

static void put_varint(writer *w, uint64_t value) {
    unsigned char bytes[VARINT_ROOM];
    ouro__put(w->out, bytes, ouro__varint_put(bytes, value));
}

static size_t number_size(uint64_t value) { return value ? 1 + ouro__varint_size(value) : 0; }

static void put_number(writer *w, unsigned field, uint64_t value) {
    if (!value) return;
    put_varint(w, field << 3 | WIRE_VARINT);
    put_varint(w, value);
}

static void put_length(writer *w, unsigned field, uint64_t size) {
    put_varint(w, field << 3 | WIRE_BYTES);
    put_varint(w, size);
}

static uint32_t string_of(writer *w, const char *text) {
    uint32_t number = ouro__texts_add(&w->strings, text, strlen(text));
    return number == NO_ROW ? 0 : number;
}

// ---------------------------------------------------------------- samples

static void put_types(writer *w) {
    for (uint32_t m = 0; m < w->profile->metric_count; m++) {
        uint32_t name = string_of(w, ouro__metric_name(w->profile, m));
        uint32_t unit = string_of(w, ouro__metric_unit(w->profile, m));
        put_length(w, PROFILE_SAMPLE_TYPE, number_size(name) + number_size(unit));
        put_number(w, TYPE_NAME, name);
        put_number(w, TYPE_UNIT, unit);
    }
}

static bool has_value(const profile *p, uint32_t n) {
    for (uint32_t m = 0; m < p->metric_count; m++) {
        if (p->values[m][n]) return true;
    }
    return false;
}

// Ids by block number, so that the same profile gives the same bytes.
static bool number_locations(writer *w) {
    const profile *p = w->profile;
    uint64_t all_paths = 0;
    for (uint32_t n = 1; n < p->node_count; n++) w->location[p->block[n]] = 1;
    for (uint32_t b = 0; b < p->block_count; b++) {
        if (w->location[b]) w->location[b] = ++w->locations;
    }
    for (uint32_t n = 0; n < p->node_count; n++) {
        if (!ouro__walk_to(&w->walk, p, n)) return false;
        if (has_value(p, n)) all_paths += w->walk.depth;
    }
    if (all_paths > ALL_PATHS_MAX) w->truncated = w->locations + 1;
    return true;
}

static bool note_size(writer *w) {
    uint32_t d = w->walk.depth;
    if (d >= w->sizes_room) {
        size_t room = (size_t)d * 2 + 64;
        uint64_t *sizes = realloc(w->sizes, room * sizeof *sizes);
        if (!sizes) return false;
        w->sizes = sizes;
        w->sizes_room = room;
    }
    w->sizes[d] =
        d ? w->sizes[d - 1] + ouro__varint_size(w->location[w->profile->block[w->walk.nodes[d]]])
          : 0;
    return true;
}

static uint64_t labels_size(const writer *w, uint32_t set) {
    uint64_t size = 0;
    const tags *t = w->profile->tags;
    for (uint32_t i = ouro__set_first(t, set); i < t->set_end[set]; i++)
        size +=
            2 + number_size(w->tag_key[t->set_tags[i]]) + number_size(w->tag_value[t->set_tags[i]]);
    return size;
}

// Shorter than 128 bytes.
static void put_labels(writer *w, uint32_t set) {
    const tags *t = w->profile->tags;
    for (uint32_t i = ouro__set_first(t, set); i < t->set_end[set]; i++) {
        uint32_t key = w->tag_key[t->set_tags[i]], value = w->tag_value[t->set_tags[i]];
        put_length(w, SAMPLE_LABEL, number_size(key) + number_size(value));
        put_number(w, LABEL_KEY, key);
        put_number(w, LABEL_TEXT, value);
    }
}

// At the node where the walk stands. Set 0 has no labels.
static void put_values(writer *w, const int64_t *whole, uint32_t set) {
    const profile *p = w->profile;
    uint32_t depth = w->walk.depth,
             root = w->truncated && depth > PATH_MAX_BLOCKS ? depth - PATH_MAX_BLOCKS : 0;
    uint64_t paths =
                 w->sizes[depth] - w->sizes[root] + (root ? ouro__varint_size(w->truncated) : 0),
             values = 0, labels = set ? labels_size(w, set) : 0;
    for (uint32_t m = 0; m < p->metric_count; m++) values += ouro__varint_size((uint64_t)whole[m]);
    put_length(w, PROFILE_SAMPLE,
               (depth ? 1 + ouro__varint_size(paths) + paths : 0) + 1 + ouro__varint_size(values) +
                   values + labels);
    if (depth) {
        put_length(w, SAMPLE_LOCATIONS, paths);
        for (uint32_t d = depth; d > root; d--)
            put_varint(w, w->location[p->block[w->walk.nodes[d]]]);
        if (root) put_varint(w, w->truncated);
    }
    put_length(w, SAMPLE_VALUES, values);
    for (uint32_t m = 0; m < p->metric_count; m++) put_varint(w, (uint64_t)whole[m]);
    if (set) put_labels(w, set);
}

static bool any_of(const int64_t *values, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (values[i]) return true;
    }
    return false;
}

// Samples of slices first, and then what they leave.
static void put_sample(writer *w, uint32_t n) {
    const profile *p = w->profile;
    int64_t whole[METRICS_MAX], part[METRICS_MAX];
    for (uint32_t m = 0; m < p->metric_count; m++) whole[m] = ouro__whole(p, m, n, &w->carry[m]);
    for (uint32_t row = w->rows_of ? w->rows_of[n] : 0; row; row = w->next_row[row]) {
        const tags *t = p->tags;
        for (uint32_t m = 0; m < p->metric_count; m++) {
            part[m] = m < t->metric_count && t->row_values[m] ? t->row_values[m][row - 1] : 0;
            whole[m] -= part[m];
        }
        put_values(w, part, t->row_set[row - 1]);
    }
    if (!w->rows_of || any_of(whole, p->metric_count)) put_values(w, whole, 0);
}

static bool is_metric(const profile *p, uint32_t m, const char *name) {
    return m < p->metric_count && strcmp(ouro__metric_name(p, m), name) == 0;
}

// The labels of slices are written, of profiles that have them. A reader takes the first metrics
// for what every profile of the library has.
static bool writes_slices(const profile *p) {
    bool whole = p->slices && is_metric(p, 0, "calls") && is_metric(p, 1, "recursions");
    if (whole && p->slices->own == 3) whole = is_metric(p, 2, "direct");
    for (uint32_t m = 0; m < p->metric_count; m++) whole = whole && !p->metrics[m].decimals;
    return whole;
}

static bool list_labels(writer *w) {
    const profile *p = w->profile;
    const tags *t = p->tags;
    if (!t || !writes_slices(p)) return true;
    w->rows_of = calloc((size_t)p->node_count + 1, sizeof *w->rows_of);
    w->next_row = calloc((size_t)t->row_count + 1, sizeof *w->next_row);
    w->tag_key = calloc((size_t)t->tag_count + 1, sizeof *w->tag_key);
    w->tag_value = calloc((size_t)t->tag_count + 1, sizeof *w->tag_value);
    if (!w->rows_of || !w->next_row || !w->tag_key || !w->tag_value) return false;
    for (uint32_t row = t->row_count; row > 0; row--) {
        w->next_row[row] = w->rows_of[t->row_node[row - 1]];
        w->rows_of[t->row_node[row - 1]] = row;
    }
    for (uint32_t i = 0; i < t->tag_count; i++) {
        w->tag_key[i] = string_of(w, ouro__text(&p->texts, t->keys[t->tags[i].key]));
        w->tag_value[i] = string_of(w, ouro__text(&p->texts, t->tags[i].value));
    }
    return true;
}

static void put_slices(writer *w) {
    const slices *s = writes_slices(w->profile) ? w->profile->slices : NULL;
    for (uint32_t i = 0; s && i < s->count; i++) {
        const lane_slices *l = &s->lanes[i];
        put_length(w, PROFILE_SLICES, l->message_size + number_size(l->lane));
        ouro__put(w->out, l->message, l->message_size);
        put_number(w, SLICES_LANE, l->lane); // the last one counts, and it may have changed
    }
}

static bool put_samples(writer *w) {
    for (uint32_t n = 0; n < w->profile->node_count; n++) {
        if (!ouro__walk_to(&w->walk, w->profile, n) || !note_size(w)) return false;
        if (has_value(w->profile, n)) put_sample(w, n);
    }
    return true;
}

// ---------------------------------------------------------------- tables

static void put_mapping(writer *w, const char *program) {
    uint32_t file = string_of(w, program);
    put_length(w, PROFILE_MAPPING, number_size(1) + number_size(file) + 3 * number_size(1));
    put_number(w, MAPPING_ID, 1);
    put_number(w, MAPPING_FILE, file);
    put_number(w, MAPPING_HAS_FUNCTIONS, 1);
    put_number(w, MAPPING_HAS_FILES, 1);
    put_number(w, MAPPING_HAS_LINES, 1);
}

static void put_location(writer *w, uint32_t id, uint32_t line_number, uint32_t column) {
    size_t line = number_size(id) + number_size(line_number) + number_size(column);
    put_length(w, PROFILE_LOCATION,
               number_size(id) + number_size(1) + 1 + ouro__varint_size(line) + line);
    put_number(w, LOCATION_ID, id);
    put_number(w, LOCATION_MAPPING, 1);
    put_length(w, LOCATION_LINE, line);
    put_number(w, LINE_FUNCTION, id);
    put_number(w, LINE_LINE, line_number);
    put_number(w, LINE_COLUMN, column);
}

static void put_function(writer *w, uint32_t id, const char *name, const char *file,
                         uint32_t line) {
    uint32_t name_string = string_of(w, name), file_string = string_of(w, file);
    put_length(w, PROFILE_FUNCTION,
               number_size(id) + number_size(name_string) + number_size(file_string) +
                   number_size(line));
    put_number(w, FUNCTION_ID, id);
    put_number(w, FUNCTION_NAME, name_string);
    put_number(w, FUNCTION_FILE, file_string);
    put_number(w, FUNCTION_START_LINE, line);
}

static void put_blocks(writer *w) {
    const profile *p = w->profile;
    for (uint32_t b = 0; b < p->block_count; b++) {
        if (w->location[b]) put_location(w, w->location[b], p->blocks[b].line, p->blocks[b].column);
    }
    if (w->truncated) put_location(w, w->truncated, 0, 0);
    for (uint32_t b = 0; b < p->block_count; b++) {
        if (w->location[b])
            put_function(w, w->location[b], ouro__block_name(p, b), ouro__block_file(p, b),
                         p->blocks[b].line);
    }
    if (w->truncated) put_function(w, w->truncated, "[truncated]", "", 0);
}

// How often blocks recursed before their paths were compacted: a comment each, which pprof does
// not show because of its #. docs/pprof-mapping.md has the form.
static bool put_recursions(writer *w) {
    const profile *p = w->profile;
    for (uint32_t b = 0; b < p->block_count && b < p->recursed_room; b++) {
        const recursion *r = &p->recursed[b];
        if (!w->location[b] || !ouro__recurses(r)) continue;
        const char *name = ouro__block_name(p, b);
        char *text = NULL;
        if (asprintf(&text, RECURSION_COMMENT "%llu %llu %u %u %u %zu %s %s",
                     (unsigned long long)r->direct, (unsigned long long)r->through, r->deepest,
                     p->blocks[b].line, p->blocks[b].column, strlen(name), name,
                     ouro__block_file(p, b)) < 0)
            return false;
        put_number(w, PROFILE_COMMENT, string_of(w, text));
        free(text);
    }
    return true;
}

static void put_rest(writer *w) {
    const profile *p = w->profile;
    uint32_t type = p->metric_count ? string_of(w, ouro__metric_name(p, w->shown)) : 0;
    for (uint32_t i = 0; i < w->strings.count; i++) {
        put_length(w, PROFILE_STRING, ouro__text_length(&w->strings, i));
        ouro__put(w->out, ouro__text(&w->strings, i), ouro__text_length(&w->strings, i));
    }
    put_number(w, PROFILE_TIME, p->start_time);
    put_number(w, PROFILE_DURATION, p->duration);
    put_number(w, PROFILE_DEFAULT_TYPE, type);
}

static bool write_tree(writer *w, const char *title) {
    put_types(w);
    if (!list_labels(w) || !number_locations(w) || !put_samples(w)) return false;
    put_mapping(w, title && *title ? title : "program");
    put_blocks(w);
    if (!put_recursions(w)) return false;
    put_rest(w);
    put_slices(w);
    return true;
}

// ---------------------------------------------------------------- the origin

// The number of a text in the origin's own table, which is numbered in the order of the file; 0 =
// it is not there.
static uint64_t origin_string(const origin *o, const char *text) {
    wire top = {o->bytes, o->bytes, o->bytes + o->size, NULL, false, 0};
    uint64_t number = 0;
    for (wire_field field; ouro__wire_next(&top, &field);) {
        if (field.number != PROFILE_STRING) continue;
        if (field.size == strlen(text) && memcmp(field.bytes, text, field.size) == 0) return number;
        number++;
    }
    return 0;
}

// Everything but the samples that were filtered out. A field that stands twice counts as its last,
// so the metric to show first can be put at the end.
static bool write_origin(writer *w, error *e) {
    const profile *p = w->profile;
    const origin *o = p->origin;
    wire top = {o->bytes, o->bytes, o->bytes + o->size, e, false, 0};
    uint32_t s = 0;
    for (wire_field field; ouro__wire_next(&top, &field);) {
        bool is_sample =
            s < o->sample_count && o->sample_offset[s] == (uint64_t)(field.start - o->bytes);
        if (!is_sample || o->sample_node[s] != NO_NODE)
            ouro__put(w->out, field.start, (size_t)(top.at - field.start));
        s += is_sample;
    }
    if (w->shown != p->default_metric)
        put_number(w, PROFILE_DEFAULT_TYPE, origin_string(o, ouro__metric_name(p, w->shown)));
    return !top.failed;
}

bool ouro__pprof_write(const profile *p, const write_options *options, output *out, error *e) {
    if (p->origin)
        return write_origin(&(writer){.profile = p, .out = out, .shown = options->metric}, e);
    writer w = {.shown = options->metric,
                .profile = p,
                .out = out,
                .location = calloc((size_t)p->block_count + 1, sizeof *w.location),
                .carry = calloc((size_t)p->metric_count + 1, sizeof *w.carry)};
    bool ok =
        ouro__texts_init(&w.strings) && w.location && w.carry && write_tree(&w, options->title);
    ouro__texts_free(&w.strings);
    ouro__walk_free(&w.walk);
    free(w.location);
    free(w.sizes);
    free(w.carry);
    free(w.rows_of);
    free(w.next_row);
    free(w.tag_key);
    free(w.tag_value);
    return ok || ouro__fail_memory(e);
}
