// SPDX-License-Identifier: MIT
//
// Merging lanes by path, in loops: each image is walked from its root, level by level, and each of
// its rows finds or makes the row of the same path in the result. At the end the result is put
// into preorder.

#include "rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#define NO_ROW UINT32_MAX

bool ouro__image_alloc(ouro__image *image, uint32_t count, uint32_t metric_count) {
    size_t n = count ? count : 1;
    image->count = count;
    image->block = calloc(n, sizeof *image->block);
    image->parent = calloc(n, sizeof *image->parent);
    image->values = calloc(n * ouro__row_width(metric_count), sizeof *image->values);
    return image->block && image->parent && image->values;
}

void ouro__image_free(ouro__image *image) {
    free(image->block);
    free(image->parent);
    free(image->values);
    free(image->birth);
    free(image->epochs);
    free(image->place);
    memset(image, 0, sizeof *image);
}

bool ouro__image_ask_places(ouro__image *image) {
    size_t bytes = ((size_t)image->count + 1) * sizeof *image->place;
    image->place = malloc(bytes);
    if (image->place) memset(image->place, 0xff, bytes);
    return image->place != NULL;
}

void ouro__rows_free(ouro__rows *rows) {
    if (!rows) return;
    free(rows->block);
    free(rows->parent);
    free(rows->depth);
    free(rows->values);
    free(rows->missing);
    free(rows->no_missing);
    free(rows);
}

static ouro__rows *rows_alloc(size_t room, uint32_t metric_count, bool missing) {
    ouro__rows *rows = calloc(1, sizeof *rows);
    if (!rows) return NULL;
    rows->metric_count = metric_count;
    rows->block = malloc(room * sizeof *rows->block);
    rows->parent = malloc(room * sizeof *rows->parent);
    rows->depth = malloc(room * sizeof *rows->depth);
    rows->values = calloc(room * ouro__row_width(metric_count), sizeof *rows->values);
    rows->no_missing = calloc(1 + metric_count, sizeof *rows->no_missing);
    if (missing) rows->missing = calloc(room * (1 + metric_count), sizeof *rows->missing);
    if (rows->block && rows->parent && rows->depth && rows->values && rows->no_missing &&
        (!missing || rows->missing))
        return rows;
    ouro__rows_free(rows);
    return NULL;
}

// ---------------------------------------------------------------- merging

typedef struct {
    ouro__rows *rows;
    uint32_t *table; // row by (parent, block); NO_ROW = empty
    size_t mask;
    uint64_t key[2];
} merger;

// A live file chooses its parents and blocks, so which of them collide must not be known before
// this process began. The kernel gave it 16 random bytes.
static void draw_key(merger *m) {
    const void *given = (const void *)(uintptr_t)getauxval(AT_RANDOM);
    if (given) memcpy(m->key, given, sizeof m->key);
    m->key[1] |= 1;
}

static size_t place_of(const merger *m, uint32_t parent, uint32_t block) {
    uint64_t hash = (((uint64_t)parent << 32 | block) + m->key[0]) * m->key[1];
    hash = (hash ^ hash >> 32) * m->key[1];
    return (size_t)(hash >> 24) & m->mask;
}

static uint32_t merged_row(merger *m, uint32_t parent, uint32_t block) {
    ouro__rows *rows = m->rows;
    size_t i = place_of(m, parent, block);
    for (; m->table[i] != NO_ROW; i = (i + 1) & m->mask) {
        uint32_t row = m->table[i];
        if (rows->parent[row] == parent && rows->block[row] == block) return row;
    }
    uint32_t row = rows->count++;
    rows->parent[row] = parent;
    rows->block[row] = block;
    rows->depth[row] = rows->depth[parent] + 1;
    if (rows->depth[row] > rows->deepest) rows->deepest = rows->depth[row];
    m->table[i] = row;
    return row;
}

static void add_values(ouro__rows *rows, const ouro__image *image, uint32_t from, uint32_t to) {
    uint32_t width = ouro__row_width(rows->metric_count);
    const uint64_t *source = image->values + (size_t)from * width;
    uint64_t *sum = rows->values + (size_t)to * width;
    // The root is not called.
    for (uint32_t i = to == 0 ? ENTRY_KINDS : 0; i < width; i++) sum[i] += source[i];
}

// A row's loss is bounded by what stood when it was inserted, not by what stands now. Begin with
// the latter for all rows (rows_merge), and put it right for those that this image has.
static void correct_missing(ouro__rows *rows, const ouro__image *image, uint32_t from,
                            uint32_t to) {
    if (!rows->missing || to == 0) return;
    uint32_t width = 1 + rows->metric_count;
    for (uint32_t w = 0; w < width; w++) {
        uint64_t lost = image->birth ? image->epochs[image->birth[from]][w] : 0;
        rows->missing[(size_t)to * width + w] += lost - image->bounds[w];
    }
}

// Children of each row as a linked list; returns first children, with next siblings behind.
static uint32_t *child_lists(const ouro__image *image) {
    size_t n = image->count;
    uint32_t *lists = malloc(2 * n * sizeof *lists);
    if (!lists) return NULL;
    memset(lists, 0xff, 2 * n * sizeof *lists);
    for (uint32_t i = (uint32_t)n - 1; i > 0; i--) {
        if (image->block[i] == 0 || image->parent[i] >= n) continue;
        lists[n + i] = lists[image->parent[i]];
        lists[image->parent[i]] = i;
    }
    return lists;
}

// Level by level; `queue` holds rows of the image whose own row is in `to`.
static bool merge_image(merger *m, const ouro__image *image) {
    if (image->count == 0) return true;
    uint32_t *lists = child_lists(image);
    uint32_t *queue = malloc((size_t)image->count * sizeof *queue);
    uint32_t *to = image->place ? image->place : malloc((size_t)image->count * sizeof *to);
    bool ok = lists && queue && to;
    if (ok) {
        uint32_t head = 0, tail = 0, in_use = 0;
        queue[tail++] = 0;
        to[0] = 0;
        add_values(m->rows, image, 0, 0);
        while (head < tail) {
            uint32_t row = queue[head++];
            for (uint32_t c = lists[row]; c != NO_ROW; c = lists[image->count + c]) {
                to[c] = merged_row(m, to[row], image->block[c]);
                add_values(m->rows, image, c, to[c]);
                correct_missing(m->rows, image, c, to[c]);
                queue[tail++] = c;
            }
        }
        for (uint32_t i = 1; i < image->count; i++) in_use += image->block[i] != 0;
        m->rows->unreached += in_use - (tail - 1);
    }
    free(lists);
    free(queue);
    if (to != image->place) free(to);
    return ok;
}

// ---------------------------------------------------------------- preorder

static uint32_t sort_key(uint32_t block) { return block == OURO_PRUNED ? UINT32_MAX : block; }

// Rows by block id, stable: four passes of eight bits. Leaves the result in `order`.
static void sort_by_block(const ouro__rows *rows, uint32_t *order, uint32_t *spare) {
    for (uint32_t i = 0; i < rows->count; i++) order[i] = i;
    for (int shift = 0; shift < 32; shift += 8) {
        uint32_t starts[257] = {0};
        for (uint32_t i = 0; i < rows->count; i++)
            starts[(sort_key(rows->block[order[i]]) >> shift & 255) + 1]++;
        for (int d = 0; d < 256; d++) starts[d + 1] += starts[d];
        for (uint32_t i = 0; i < rows->count; i++)
            spare[starts[sort_key(rows->block[order[i]]) >> shift & 255]++] = order[i];
        memcpy(order, spare, rows->count * sizeof *order);
    }
}

// The rows in preorder, in `order`. `first` and `next` are child lists, children in the order
// of `order`.
static void preorder(const ouro__rows *rows, uint32_t *order, uint32_t *first, uint32_t *next) {
    memset(first, 0xff, rows->count * sizeof *first);
    for (uint32_t i = rows->count; i-- > 0;) {
        uint32_t row = order[i];
        if (row == 0) continue;
        next[row] = first[rows->parent[row]];
        first[rows->parent[row]] = row;
    }
    uint32_t count = 0, row = 0;
    next[0] = NO_ROW;
    for (;;) {
        order[count++] = row;
        if (first[row] != NO_ROW) {
            row = first[row];
            continue;
        }
        while (row != 0 && next[row] == NO_ROW) row = rows->parent[row];
        if (row == 0) return;
        row = next[row];
    }
}

static ouro__rows *reordered(const ouro__rows *rows, const uint32_t *order, uint32_t *place) {
    ouro__rows *sorted = rows_alloc(rows->count, rows->metric_count, rows->missing != NULL);
    if (!sorted) return NULL;
    uint32_t width = ouro__row_width(rows->metric_count), weights = 1 + rows->metric_count;
    for (uint32_t i = 0; i < rows->count; i++) place[order[i]] = i;
    for (uint32_t i = 0; i < rows->count; i++) {
        uint32_t row = order[i];
        sorted->block[i] = rows->block[row];
        sorted->depth[i] = rows->depth[row];
        sorted->parent[i] = place[rows->parent[row]];
        memcpy(sorted->values + (size_t)i * width, rows->values + (size_t)row * width,
               width * sizeof *rows->values);
        if (rows->missing)
            memcpy(sorted->missing + (size_t)i * weights, rows->missing + (size_t)row * weights,
                   weights * sizeof *rows->missing);
    }
    sorted->count = rows->count;
    sorted->deepest = rows->deepest;
    sorted->unreached = rows->unreached;
    return sorted;
}

// From rows of the merger to rows of the result.
static void correct_places(const ouro__image *images, uint32_t n, const uint32_t *place) {
    for (uint32_t k = 0; k < n; k++) {
        for (uint32_t i = 0; images[k].place && i < images[k].count; i++) {
            uint32_t *to = &images[k].place[i];
            if (*to != OURO_NO_PLACE) *to = place[*to];
        }
    }
}

static ouro__rows *in_preorder(ouro__rows *rows, const ouro__image *images, uint32_t count) {
    size_t n = rows->count;
    uint32_t *order = malloc(3 * n * sizeof *order);
    ouro__rows *sorted = NULL;
    if (order) {
        sort_by_block(rows, order, order + n);
        preorder(rows, order, order + n, order + 2 * n);
        sorted = reordered(rows, order, order + n);
        correct_places(images, count, order + n);
    }
    free(order);
    ouro__rows_free(rows);
    return sorted;
}

static bool merger_init(merger *m, const ouro__image *images, uint32_t n, uint32_t metric_count) {
    size_t room = 1;
    bool missing = false;
    for (uint32_t i = 0; i < n; i++) {
        room += images[i].count;
        for (int w = 0; w <= OURO_METRICS_MAX; w++) missing |= images[i].bounds[w] != 0;
    }
    size_t size = 16;
    while (size < room * 2) size *= 2;
    m->mask = size - 1;
    draw_key(m);
    m->table = malloc(size * sizeof *m->table);
    m->rows = rows_alloc(room, metric_count, missing);
    if (!m->table || !m->rows) return false;
    memset(m->table, 0xff, size * sizeof *m->table);
    m->rows->count = 1;
    m->rows->block[0] = m->rows->parent[0] = m->rows->depth[0] = 0;
    for (size_t i = 1; missing && i < room; i++) {
        for (uint32_t w = 0; w <= metric_count; w++) {
            for (uint32_t k = 0; k < n; k++)
                m->rows->missing[i * (1 + metric_count) + w] += images[k].bounds[w];
        }
    }
    return true;
}

ouro__rows *ouro__rows_merge(const ouro__image *images, uint32_t n, uint32_t metric_count) {
    merger m = {0};
    bool ok = merger_init(&m, images, n, metric_count);
    for (uint32_t i = 0; ok && i < n; i++) ok = merge_image(&m, &images[i]);
    free(m.table);
    if (!ok) {
        ouro__rows_free(m.rows);
        m.rows = NULL;
    }
    ouro__rows *rows = m.rows ? in_preorder(m.rows, images, n) : NULL;
    if (!rows) errno = ENOMEM;
    return rows;
}
