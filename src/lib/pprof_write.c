// SPDX-License-Identifier: MIT
//
// ouro_profile_write: the profile as a pprof message, without compression and without a
// protobuf library.
//
// Fields are written in the order of the message, each submessage after its length has been
// computed, so the output goes through one small buffer. docs/pprof-mapping.md says what becomes
// what. The length of a path's location list is kept per depth while the rows, which are in
// preorder, go by: a sample costs what it writes and no more.

#include "blocks.h"
#include "file_limit.h"
#include "noted.h"
#include "own_path.h"
#include "pprof_fields.h"
#include "rows.h"
#include "slices_message.h"
#include "whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PATH_MAX_BLOCKS = 4096, BUFFER = 64 * 1024 };

// ---------------------------------------------------------------- bytes

typedef struct {
    int fd, error;
    size_t used;
    unsigned char bytes[BUFFER];
} output;

static void flush(output *out) {
    if (!out->error) out->error = ouro__write_all(out->fd, out->bytes, out->used);
    out->used = 0;
}

static void put_bytes(output *out, const void *bytes, size_t n) {
    const unsigned char *from = bytes;
    while (n > 0) {
        if (out->used == BUFFER) flush(out);
        size_t part = n < BUFFER - out->used ? n : BUFFER - out->used;
        memcpy(out->bytes + out->used, from, part);
        out->used += part;
        from += part;
        n -= part;
    }
}

static void put_varint(output *out, uint64_t value) {
    if (BUFFER - out->used < 10) flush(out);
    for (; value > 127; value >>= 7) out->bytes[out->used++] = (unsigned char)(value | 128);
    out->bytes[out->used++] = (unsigned char)value;
}

static size_t varint_size(uint64_t value) {
    size_t size = 1;
    for (; value > 127; value >>= 7) size++;
    return size;
}

// A number field; zero is the default and is not written. Field numbers are below 16: one byte.
static void put_number(output *out, int field, uint64_t value) {
    if (value == 0) return;
    put_varint(out, (uint64_t)field << 3);
    put_varint(out, value);
}

static size_t number_size(uint64_t value) { return value ? 1 + varint_size(value) : 0; }

static void put_length(output *out, int field, size_t length) {
    put_varint(out, (uint64_t)field << 3 | 2);
    put_varint(out, length);
}

// ---------------------------------------------------------------- strings

typedef struct {
    const char **texts;
    uint32_t *table; // index + 1; 0 = empty
    uint32_t count, room;
    size_t mask;
} strings;

static bool strings_init(strings *s, size_t room) {
    size_t size = 16;
    while (size < room * 2) size *= 2;
    s->room = (uint32_t)room;
    s->mask = size - 1;
    s->texts = malloc(room * sizeof *s->texts);
    s->table = calloc(size, sizeof *s->table);
    return s->texts && s->table;
}

// `room` of strings_init is the most that is ever asked for.
static uint32_t string_index(strings *s, const char *text) {
    uint64_t hash = UINT64_C(14695981039346656037);
    for (const char *c = text; *c; c++) hash = (hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
    size_t i = (size_t)(hash ^ hash >> 32) & s->mask;
    for (; s->table[i]; i = (i + 1) & s->mask) {
        if (strcmp(s->texts[s->table[i] - 1], text) == 0) return s->table[i] - 1;
    }
    s->texts[s->count] = text;
    s->table[i] = ++s->count;
    return s->count - 1;
}

// ---------------------------------------------------------------- the message

typedef struct {
    output *out;
    ouro_profile *profile;
    const ouro__rows *rows; // without what is written of slices
    ouro__slices_copy *slices;
    strings strings;
    uint32_t *location; // id by block; 0 = the block does not occur
    uint32_t block_count, locations;
    uint32_t truncated; // location id; 0 = no path is cut
    uint32_t *path;     // location ids, root first
    size_t *path_bytes; // [d]: size of the first d ids
} writer;

static void put_type(writer *w, const char *name, const char *unit) {
    uint32_t n = string_index(&w->strings, name), u = string_index(&w->strings, unit);
    put_length(w->out, PROFILE_SAMPLE_TYPE, number_size(n) + number_size(u));
    put_number(w->out, TYPE_NAME, n);
    put_number(w->out, TYPE_UNIT, u);
}

static void put_types(writer *w) {
    put_type(w, "calls", "count");
    put_type(w, "recursions", "count");
    for (uint32_t m = 0; m < w->profile->metric_count; m++)
        put_type(w, w->profile->metrics[m].name, w->profile->metrics[m].unit);
}

// Ids by block number, so that the same run gives the same bytes.
static void number_locations(writer *w) {
    const ouro__rows *rows = w->rows;
    for (uint32_t i = 1; i < rows->count; i++) w->location[rows->block[i]] = 1;
    for (uint32_t b = 0; b < w->block_count; b++) {
        if (w->location[b]) w->location[b] = ++w->locations;
    }
    if (rows->deepest > PATH_MAX_BLOCKS) w->truncated = w->locations + 1;
}

static void put_path(writer *w, uint32_t depth) {
    bool cut = depth > PATH_MAX_BLOCKS;
    uint32_t root = cut ? depth - PATH_MAX_BLOCKS : 0;
    size_t bytes =
        w->path_bytes[depth] - w->path_bytes[root] + (cut ? varint_size(w->truncated) : 0);
    put_length(w->out, SAMPLE_LOCATIONS, bytes);
    for (uint32_t d = depth; d > root; d--) put_varint(w->out, w->path[d - 1]);
    if (cut) put_varint(w->out, w->truncated);
}

static size_t path_size(const writer *w, uint32_t depth) {
    bool cut = depth > PATH_MAX_BLOCKS;
    size_t bytes = w->path_bytes[depth] - w->path_bytes[cut ? depth - PATH_MAX_BLOCKS : 0] +
                   (cut ? varint_size(w->truncated) : 0);
    return 1 + varint_size(bytes) + bytes;
}

// Labels of the samples that are written now.
typedef struct {
    uint32_t key, text, number_unit;
    uint64_t number;
} label;

enum { LABELS_MOST = 8 };

static size_t label_size(const label *l) {
    return number_size(l->key) + number_size(l->text) + number_size(l->number) +
           number_size(l->number_unit);
}

// Shorter than 128 bytes.
static void put_label(writer *w, const label *l) {
    put_length(w->out, SAMPLE_LABEL, label_size(l));
    put_number(w->out, LABEL_KEY, l->key);
    put_number(w->out, LABEL_TEXT, l->text);
    put_number(w->out, LABEL_NUMBER, l->number);
    put_number(w->out, LABEL_UNIT, l->number_unit);
}

// Direct recursion has no sample type of its own, but without it nobody could tell a block's calls
// by its caller from those by itself.
static label direct_label(writer *w, uint64_t direct) {
    return (label){string_index(&w->strings, "direct"), 0, string_index(&w->strings, "count"),
                   direct};
}

// `labels` has room for one more.
static void put_sample(writer *w, uint32_t depth, const uint64_t *v, label *labels, size_t count) {
    uint32_t metrics = w->rows->metric_count;
    uint64_t values[2 + OURO_METRICS_MAX] = {ouro__row_calls(v), ouro__row_recursions(v)};
    size_t bytes = 0, labelled = 0;
    bool any = false;
    memcpy(values + 2, v + ENTRY_KINDS, metrics * sizeof *v);
    for (uint32_t i = 0; i < 2 + metrics; i++) {
        bytes += varint_size(values[i]);
        any |= values[i] != 0;
    }
    if (!any) return;
    if (ouro__row_direct(v)) labels[count++] = direct_label(w, ouro__row_direct(v));
    for (size_t i = 0; i < count; i++) labelled += 2 + label_size(&labels[i]);
    size_t locations = depth ? path_size(w, depth) : 0;
    put_length(w->out, PROFILE_SAMPLE, locations + 1 + varint_size(bytes) + bytes + labelled);
    if (depth) put_path(w, depth);
    put_length(w->out, SAMPLE_VALUES, bytes);
    for (uint32_t i = 0; i < 2 + metrics; i++) put_varint(w->out, values[i]);
    for (size_t i = 0; i < count; i++) put_label(w, &labels[i]);
}

static void path_step(writer *w, const ouro__rows *rows, uint32_t row) {
    uint32_t depth = rows->depth[row];
    if (!depth) return;
    w->path[depth - 1] = w->location[rows->block[row]];
    w->path_bytes[depth] = w->path_bytes[depth - 1] + varint_size(w->path[depth - 1]);
}

static void put_samples(writer *w) {
    const ouro__rows *rows = w->rows;
    for (uint32_t i = 0; i < rows->count; i++) {
        label labels[1];
        path_step(w, rows, i);
        put_sample(w, rows->depth[i], ouro__row_values(rows, i), labels, 0);
    }
}

// ---------------------------------------------------------------- slices

static size_t slice_labels(writer *w, const ouro__lane_slices *l, ouro__slice_tree *tree,
                           label *labels) {
    static const char *const kinds[] = {"slowest", "last", "evenly"};
    strings *s = &w->strings;
    size_t n = 0;
    snprintf(tree->text, sizeof tree->text, l->lane ? "%llu/%u" : "%llu",
             (unsigned long long)tree->number, l->lane);
    labels[n++] = (label){string_index(s, "slice"), string_index(s, tree->text), 0, 0};
    for (int k = 0; k < 3; k++) {
        if (tree->why >> k & 1)
            labels[n++] = (label){string_index(s, "slice_kind"), string_index(s, kinds[k]), 0, 0};
    }
    labels[n++] = (label){string_index(s, "slice_duration"), 0, string_index(s, "nanoseconds"),
                          tree->duration};
    return n;
}

// What a slice has is taken from the row of the path, so that the sum of all samples is as ever.
static void put_tree(writer *w, const ouro__lane_slices *l, ouro__slice_tree *tree) {
    uint32_t width = ouro__row_width(w->rows->metric_count);
    label labels[LABELS_MOST];
    size_t count = slice_labels(w, l, tree, labels);
    for (uint32_t i = 0; i < tree->rows->count; i++) {
        uint64_t *has = w->rows->values + (size_t)tree->place[i] * width;
        uint64_t taken[SLICE_VALUES] = {0};
        const uint64_t *values = ouro__row_values(tree->rows, i);
        for (uint32_t v = 0; v < width; v++) {
            taken[v] = values[v] < has[v] ? values[v] : has[v];
            has[v] -= taken[v];
        }
        path_step(w, tree->rows, i);
        put_sample(w, tree->rows->depth[i], taken, labels, count);
    }
}

static void put_trees(writer *w) {
    for (uint32_t i = 0; i < w->slices->count; i++) {
        ouro__lane_slices *l = &w->slices->lanes[i];
        for (uint32_t t = 0; t < l->tree_count; t++) put_tree(w, l, &l->trees[t]);
    }
}

static size_t tree_count(const ouro__slices_copy *slices) {
    size_t n = 0;
    for (uint32_t i = 0; i < slices->count; i++) n += slices->lanes[i].tree_count;
    return n;
}

static bool put_slices(writer *w) {
    for (uint32_t i = 0; i < w->slices->count; i++) {
        ouro__message m;
        if (!ouro__slices_message(&w->slices->lanes[i], w->slices->metric_count, &m)) return false;
        put_length(w->out, PROFILE_SLICES, m.used);
        put_bytes(w->out, m.bytes, m.used);
        free(m.bytes);
    }
    return true;
}

// ---------------------------------------------------------------- the rest

static void put_mapping(writer *w, const char *program) {
    uint32_t file = string_index(&w->strings, program);
    put_length(w->out, PROFILE_MAPPING, number_size(1) + number_size(file) + 3 * number_size(1));
    put_number(w->out, MAPPING_ID, 1);
    put_number(w->out, MAPPING_FILE, file);
    put_number(w->out, MAPPING_HAS_FUNCTIONS, 1);
    put_number(w->out, MAPPING_HAS_FILES, 1);
    put_number(w->out, MAPPING_HAS_LINES, 1);
}

static void put_location(writer *w, uint32_t id, const ouro_block_info *info) {
    size_t line = number_size(id) + number_size(info->line) + number_size(info->column);
    put_length(w->out, PROFILE_LOCATION,
               number_size(id) + number_size(1) + 1 + varint_size(line) + line);
    put_number(w->out, LOCATION_ID, id);
    put_number(w->out, LOCATION_MAPPING, 1);
    put_length(w->out, LOCATION_LINE, line);
    put_number(w->out, LINE_FUNCTION, id);
    put_number(w->out, LINE_LINE, info->line);
    put_number(w->out, LINE_COLUMN, info->column);
}

// Without system_name: readers would demangle it, and spoil names with <...>.
static void put_function(writer *w, uint32_t id, const ouro_block_info *info) {
    uint32_t name = string_index(&w->strings, info->name);
    uint32_t file = string_index(&w->strings, info->file);
    put_length(w->out, PROFILE_FUNCTION,
               number_size(id) + number_size(name) + number_size(file) + number_size(info->line));
    put_number(w->out, FUNCTION_ID, id);
    put_number(w->out, FUNCTION_NAME, name);
    put_number(w->out, FUNCTION_FILE, file);
    put_number(w->out, FUNCTION_START_LINE, info->line);
}

static void put_blocks(writer *w, void put(writer *, uint32_t, const ouro_block_info *)) {
    static const ouro_block_info truncated = {"[truncated]", "", 0, 0};
    for (uint32_t b = 0; b < w->block_count; b++) {
        if (w->location[b]) put(w, w->location[b], ouro__block_at(w->profile, b));
    }
    if (w->truncated) put(w, w->truncated, &truncated);
}

static bool has_values(const ouro__rows *rows, uint32_t metric) {
    for (uint32_t i = 0; metric < rows->metric_count && i < rows->count; i++) {
        if (ouro__row_values(rows, i)[ENTRY_KINDS + metric]) return true;
    }
    return false;
}

// What a reader shows first: the metric that the host wants, or else the first one that has
// anything, or else the calls.
static const char *default_type(const writer *w) {
    const ouro_metric_info *metrics = w->profile->metrics;
    ouro_metric shown = w->profile->shown_metric;
    if (has_values(w->rows, shown)) return metrics[shown].name;
    for (uint32_t m = 0; m < w->rows->metric_count; m++) {
        if (has_values(w->rows, m)) return metrics[m].name;
    }
    return "calls";
}

static void put_strings(writer *w) {
    for (uint32_t i = 0; i < w->strings.count; i++) {
        size_t length = strlen(w->strings.texts[i]);
        put_length(w->out, PROFILE_STRING, length);
        put_bytes(w->out, w->strings.texts[i], length);
    }
}

// A comment for each block that recursed on sampled stacks: docs/pprof-mapping.md has the form.
// The comments are strings after the others.
static bool put_notes(writer *w) {
    uint32_t string = w->strings.count;
    for (uint32_t b = 0; b < w->block_count; b++) {
        ouro__noted n = ouro__noted_of(w->profile, b);
        if (!w->location[b] || !n.kinds) continue;
        const ouro_block_info *info = ouro__block_at(w->profile, b);
        char *text = NULL;
        int size =
            asprintf(&text, "# ouro recursion %d %d %u %u %u %zu %s %s",
                     (n.kinds & NOTED_DIRECT) != 0, (n.kinds & NOTED_THROUGH) != 0, n.deepest,
                     info->line, info->column, strlen(info->name), info->name, info->file);
        if (size < 0) return false;
        put_length(w->out, PROFILE_STRING, (size_t)size);
        put_bytes(w->out, text, (size_t)size);
        free(text);
        put_number(w->out, PROFILE_COMMENT, string++);
    }
    return true;
}

static bool put_profile(writer *w, const char *program) {
    const char *shown = default_type(w); // before the slices are taken out
    string_index(&w->strings, "");       // number 0
    put_types(w);
    number_locations(w);
    put_trees(w);
    put_samples(w);
    put_mapping(w, program);
    put_blocks(w, put_location);
    put_blocks(w, put_function);
    uint32_t type = string_index(&w->strings, shown);
    put_strings(w);
    if (!put_notes(w)) return false;
    uint64_t start = counter_load(&w->profile->start_clock);
    put_number(w->out, PROFILE_TIME, counter_load(&w->profile->start_time));
    put_number(w->out, PROFILE_DURATION, ouro__now(CLOCK_MONOTONIC) - start);
    put_number(w->out, PROFILE_DEFAULT_TYPE, type);
    return put_slices(w);
}

// A profile as it stands: what all functions below write.
typedef struct {
    ouro_profile *profile;
    ouro__rows *rows;
    ouro__slices_copy slices;
} written;

static int write_message(written *from, output *out) {
    ouro_profile *profile = from->profile;
    const ouro__rows *rows = from->rows;
    // Blocks that were added after the rows were copied are not among them.
    writer w = {.out = out,
                .profile = profile,
                .rows = rows,
                .slices = &from->slices,
                .block_count = ouro__block_count(profile)};
    size_t depth = (size_t)rows->deepest + 1;
    char program[PATH_MAX];
    if (!ouro__own_path(program)) strcpy(program, "program");
    w.location = calloc(w.block_count, sizeof *w.location);
    w.path = malloc(depth * sizeof *w.path);
    w.path_bytes = calloc(depth + 1, sizeof *w.path_bytes);
    bool ok = strings_init(&w.strings, 2 * (size_t)w.block_count + 2 * OURO_METRICS_MAX + 16 +
                                           tree_count(&from->slices));
    ok = ok && w.location && w.path && w.path_bytes;
    ok = ok && put_profile(&w, program);
    flush(out);
    free(w.location);
    free(w.path);
    free(w.path_bytes);
    free(w.strings.texts);
    free(w.strings.table);
    return ok ? out->error : ENOMEM;
}

static int write_file(written *from, int fd) {
    output *out = malloc(sizeof *out);
    int error = ENOMEM;
    if (out) {
        out->fd = fd;
        out->error = 0;
        out->used = 0;
        error = write_message(from, out);
    }
    free(out);
    return error;
}

static int write_beside(written *from, const char *path) {
    char *beside;
    int fd = ouro__open_beside(path, 0666, &beside);
    if (fd < 0) return errno;
    int error = write_file(from, fd);
    if (error) {
        close(fd);
        unlink(beside);
    } else {
        error = ouro__put_in_place(fd, beside, path);
    }
    free(beside);
    return error;
}

static int write_device(written *from, const char *path) {
    int fd = ouro__open(path, O_WRONLY, 0);
    if (fd < 0) return errno;
    int error = write_file(from, fd);
    if (close(fd) && !error) error = errno;
    return error;
}

// A device or a pipe is written to, not replaced; so is what a symbolic link points to.
static int write_to(written *from, const char *path) {
    struct stat status;
    if (stat(path, &status)) return write_beside(from, path);
    if (!S_ISREG(status.st_mode)) return write_device(from, path);
    char *target = realpath(path, NULL);
    if (!target) return errno;
    int error = write_beside(from, target);
    free(target);
    return error;
}

int ouro_profile_write(ouro_profile *profile, const char *path) {
    if (!profile) return 0;
    written from = {.profile = profile};
    from.rows = ouro__rows_and_slices(profile, &from.slices);
    if (!from.rows) return -1;
    int error = ouro__slices_place(&from.rows, &from.slices) ? 0 : ENOMEM;
    if (!error) error = write_to(&from, path);
    ouro__slices_copy_free(&from.slices);
    ouro__rows_free(from.rows);
    if (!error) return 0;
    errno = error;
    return -1;
}
