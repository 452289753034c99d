// SPDX-License-Identifier: MIT
//
// Which blocks of two profiles are the same. A name that each side has once is the same block,
// wherever it stands: a checkout in another folder, a function that moved. Where a side has the
// name several times, the file decides, then the line:
//
//     1. Blocks of the same file are paired, then those whose paths have the longest common end,
//        down to those that have nothing of their paths in common.
//     2. Among blocks that are equally close by path: as many on both sides are paired in the order
//        of their lines, for a file that grew at the top moves them all. Else the nearest lines
//        are paired first.
//
// So of one name, blocks are left over on one side only: no name is both new and gone, unless a
// side knows a block that none of its paths has. All blocks of the tables are paired, whether a
// path has them or not. Filters and metrics therefore never change what belongs together.
//
// Work is n log n. The last folders of a path are compared, at most DEEPEST of them, so each block
// is looked at a bounded number of times.

#include "questions.h"
#include "valid.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 16, SAME_FILE = DEEPEST + 1 };

// A block of a name that a side has several times.
typedef struct {
    uint64_t place; // line, then column
    uint32_t file;  // its rank
    uint32_t block;
    uint8_t after, paired;
    uint8_t join; // how much of its path it shares with the item before it
} item;

typedef struct {
    uint64_t distance;
    uint32_t left, right; // items
} gap;

typedef struct {
    const char *path;
    uint32_t number;
} named_file;

typedef struct {
    const profile *sides[2];
    matching *m;
    uint32_t *same_text; // by text of b: the text of a, or NO_ROW
    // By text of a: the first block of each side that has the name; then the next by block.
    uint32_t *first[2], *after[2];
    named_file *files; // sorted by their ends; a file's place here is its rank
    uint32_t file_count;
    uint32_t *rank;  // by file number
    uint32_t *class; // by rank, DEEPEST numbers: where they agree, so do the ends of the paths
    item *items;
    gap *heap;                          // the nearest on top
    uint32_t heap_count, *left, *right; // neighbours of an item among those that are left
} work;

// ---------------------------------------------------------------- the ends of paths

static bool separates(char c) { return c == '/' || c == '\\'; }

// How many names at the end of both paths are the same.
static uint32_t common_end(const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b);
    uint32_t count = 0;
    for (size_t i = 0;; i++) {
        bool ends_a = i == n || separates(a[n - 1 - i]), ends_b = i == m || separates(b[m - 1 - i]);
        count += ends_a && ends_b && i > 0;
        if (i == n || i == m || ends_a != ends_b) return count;
        if (!ends_a && a[n - 1 - i] != b[m - 1 - i]) return count;
    }
}

// Paths with a common end stand together: separators come first.
static int by_end(const void *x, const void *y) {
    const char *a = ((const named_file *)x)->path, *b = ((const named_file *)y)->path;
    size_t n = strlen(a), m = strlen(b);
    for (; n && m; n--, m--) {
        int left = separates(a[n - 1]) ? 0 : 1 + (unsigned char)a[n - 1],
            right = separates(b[m - 1]) ? 0 : 1 + (unsigned char)b[m - 1];
        if (left != right) return left < right ? -1 : 1;
    }
    return n ? 1 : m ? -1 : strcmp(a, b);
}

// A class is the number of ends of a length that stand before this one.
static void note_classes(work *w) {
    for (uint32_t r = 1; r < w->file_count; r++) {
        uint32_t common = common_end(w->files[r - 1].path, w->files[r].path);
        uint32_t *class = w->class + (size_t)r * DEEPEST, *before = class - DEEPEST;
        for (uint32_t i = 0; i < DEEPEST; i++) class[i] = before[i] + (common <= i);
    }
}

static uint8_t join_of(const work *w, uint32_t x, uint32_t y) {
    if (x == y) return SAME_FILE;
    const uint32_t *a = w->class + (size_t)x * DEEPEST, *b = w->class + (size_t)y * DEEPEST;
    uint8_t join = 0;
    while (join < DEEPEST && a[join] == b[join]) join++;
    return join;
}

// ---------------------------------------------------------------- texts of both profiles

static bool find_same_texts(work *w) {
    const texts *a = &w->sides[0]->texts, *b = &w->sides[1]->texts;
    w->same_text = malloc(((size_t)b->count + 1) * sizeof *w->same_text);
    for (uint32_t t = 0; w->same_text && t < b->count; t++)
        w->same_text[t] = ouro__texts_find(a, ouro__text(b, t), ouro__text_length(b, t));
    return w->same_text;
}

// Files that the side before does not have are numbered behind its texts.
static uint32_t file_number(const work *w, bool after, uint32_t block) {
    uint32_t text = w->sides[after]->blocks[block].file;
    if (!after) return text;
    return w->same_text[text] == NO_ROW ? w->sides[0]->texts.count + text : w->same_text[text];
}

static uint32_t name_number(const work *w, bool after, uint32_t block) {
    uint32_t text = w->sides[after]->blocks[block].name;
    return after ? w->same_text[text] : text;
}

static bool list_by_name(work *w) {
    for (int side = 0; side < 2; side++) {
        uint32_t names = w->sides[0]->texts.count, blocks = w->sides[side]->block_count;
        w->first[side] = malloc(((size_t)names + 1) * sizeof(uint32_t));
        w->after[side] = malloc(((size_t)blocks + 1) * sizeof(uint32_t));
        if (!w->first[side] || !w->after[side]) return false;
        for (uint32_t t = 0; t < names; t++) w->first[side][t] = NO_BLOCK;
        for (uint32_t b = blocks; b-- > 0;) {
            uint32_t name = name_number(w, side, b);
            if (name == NO_ROW) continue;
            w->after[side][b] = w->first[side][name];
            w->first[side][name] = b;
        }
    }
    return true;
}

// Both sides have the name, and one of them several times.
static bool is_contended(const work *w, uint32_t name) {
    uint32_t a = w->first[0][name], b = w->first[1][name];
    return a != NO_BLOCK && b != NO_BLOCK &&
           (w->after[0][a] != NO_BLOCK || w->after[1][b] != NO_BLOCK);
}

// Only files of contended names need ranks.
static bool rank_files(work *w) {
    size_t room = (size_t)w->sides[0]->texts.count + w->sides[1]->texts.count + 1;
    w->rank = calloc(room, sizeof *w->rank);
    w->files = malloc(room * sizeof *w->files);
    if (!w->rank || !w->files) return false;
    for (int side = 0; side < 2; side++) {
        for (uint32_t b = 0; b < w->sides[side]->block_count; b++) {
            uint32_t name = name_number(w, side, b), file = file_number(w, side, b);
            if (name == NO_ROW || w->rank[file] || !is_contended(w, name)) continue;
            w->rank[file] = 1; // seen
            w->files[w->file_count++] = (named_file){ouro__block_file(w->sides[side], b), file};
        }
    }
    if (w->file_count) qsort(w->files, w->file_count, sizeof *w->files, by_end);
    w->class = calloc(((size_t)w->file_count + 1) * DEEPEST, sizeof *w->class);
    if (!w->class) return false;
    for (uint32_t r = 0; r < w->file_count; r++) w->rank[w->files[r].number] = r;
    note_classes(w);
    return true;
}

// ---------------------------------------------------------------- pairs

static void pair_blocks(work *w, uint32_t before, uint32_t after, match_how how) {
    w->m->pairs[before].after = after;
    w->m->pairs[before].how = how;
    w->m->pair_of_after[after] = before;
}

static void pair_items(work *w, item *x, item *y, match_how how) {
    x->paired = y->paired = 1;
    pair_blocks(w, x->after ? y->block : x->block, x->after ? x->block : y->block, how);
}

// As many on both sides: the first with the first, in order.
static void pair_in_order(work *w, item *items, uint32_t count, match_how how) {
    uint32_t a = 0, b = 0;
    for (uint32_t n = 0; n < count / 2; n++, a++, b++) {
        while (items[a].after) a++;
        while (!items[b].after) b++;
        pair_items(w, &items[a], &items[b], how);
    }
}

static bool is_nearer(const gap *x, const gap *y) {
    return x->distance != y->distance ? x->distance < y->distance : x->left < y->left;
}

// Two neighbours of different sides wait to be paired.
static void gap_add(work *w, const item *items, uint32_t left, uint32_t right) {
    if (left == NO_ROW || right == NO_ROW || items[left].after == items[right].after) return;
    gap g = {items[right].place - items[left].place, left, right};
    uint32_t at = w->heap_count++;
    for (uint32_t up; at && is_nearer(&g, &w->heap[up = (at - 1) / 2]); at = up)
        w->heap[at] = w->heap[up];
    w->heap[at] = g;
}

static gap gap_take(work *w) {
    gap nearest = w->heap[0], last = w->heap[--w->heap_count];
    uint32_t at = 0;
    for (uint32_t child; (child = 2 * at + 1) < w->heap_count; at = child) {
        if (child + 1 < w->heap_count && is_nearer(&w->heap[child + 1], &w->heap[child])) child++;
        if (!is_nearer(&w->heap[child], &last)) break;
        w->heap[at] = w->heap[child];
    }
    w->heap[at] = last;
    return nearest;
}

// The nearest pair of all is always a pair of neighbours. Pairing it makes at most one new pair of
// neighbours, so the heap never holds more than there are items.
static void pair_nearest(work *w, item *items, uint32_t count, match_how how) {
    w->heap_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        w->left[i] = i ? i - 1 : NO_ROW;
        w->right[i] = i + 1 < count ? i + 1 : NO_ROW;
        gap_add(w, items, w->left[i], i);
    }
    while (w->heap_count) {
        gap g = gap_take(w);
        if (items[g.left].paired || items[g.right].paired) continue;
        pair_items(w, &items[g.left], &items[g.right], how);
        uint32_t left = w->left[g.left], right = w->right[g.right];
        if (left != NO_ROW) w->right[left] = right;
        if (right != NO_ROW) w->left[right] = left;
        gap_add(w, items, left, right);
    }
}

// ---------------------------------------------------------------- one name

static int by_place(const void *x, const void *y) {
    const item *a = x, *b = y;
    if (a->place != b->place) return a->place < b->place ? -1 : 1;
    if (a->file != b->file) return a->file < b->file ? -1 : 1;
    if (a->after != b->after) return a->after < b->after ? -1 : 1;
    return a->block < b->block ? -1 : a->block > b->block;
}

static int by_file(const void *x, const void *y) {
    const item *a = x, *b = y;
    return a->file != b->file ? (a->file < b->file ? -1 : 1) : by_place(x, y);
}

// Items whose paths are equally close: afterwards those of one side at most are left.
static void pair_run(work *w, item *items, uint32_t count, uint8_t level) {
    uint32_t after = 0;
    for (uint32_t i = 0; i < count; i++) after += items[i].after;
    if (!after || after == count) return;
    uint8_t join = items[0].join;
    if (level != SAME_FILE) qsort(items, count, sizeof *items, by_place);
    match_how how = !level ? MATCH_NAME : count == 2 ? MATCH_PATH : MATCH_LINE;
    if (2 * after == count) {
        pair_in_order(w, items, count, how);
    } else {
        pair_nearest(w, items, count, how);
    }
    for (uint32_t i = 0; i < count; i++) items[i].join = i ? level : join;
}

// What is between two items that are left is as close as the least close of what went.
static uint32_t drop_paired(item *items, uint32_t count) {
    uint32_t kept = 0;
    uint8_t join = SAME_FILE;
    for (uint32_t i = 0; i < count; i++) {
        if (items[i].join < join) join = items[i].join;
        if (items[i].paired) continue;
        items[kept] = items[i];
        items[kept++].join = join;
        join = SAME_FILE;
    }
    return kept;
}

static uint8_t closest(const item *items, uint32_t count) {
    uint8_t level = 0;
    for (uint32_t i = 1; i < count; i++)
        if (items[i].join > level) level = items[i].join;
    return level;
}

// From the closest paths to those that have nothing in common. Items are sorted by the ends of
// their paths, so those with a common end stand together.
static void pair_name(work *w, uint32_t count) {
    item *items = w->items;
    qsort(items, count, sizeof *items, by_file);
    for (uint32_t i = 0; i < count; i++)
        items[i].join = i ? join_of(w, items[i - 1].file, items[i].file) : 0;
    for (int level = SAME_FILE; count > 1 && level >= 0; level--) {
        int close = closest(items, count);
        if (close < level) level = close;
        for (uint32_t from = 0, to; from < count; from = to) {
            for (to = from + 1; to < count && items[to].join >= level;) to++;
            pair_run(w, items + from, to - from, (uint8_t)level);
        }
        count = drop_paired(items, count);
    }
}

static uint32_t list_items(work *w, uint32_t name) {
    uint32_t count = 0;
    for (int side = 0; side < 2; side++) {
        for (uint32_t b = w->first[side][name]; b != NO_BLOCK; b = w->after[side][b]) {
            const block_info *info = &w->sides[side]->blocks[b];
            w->items[count++] = (item){.place = (uint64_t)info->line << 32 | info->column,
                                       .file = w->rank[file_number(w, side, b)],
                                       .block = b,
                                       .after = (uint8_t)side};
        }
    }
    return count;
}

static void pair_names(work *w) {
    for (uint32_t name = 0; name < w->sides[0]->texts.count; name++) {
        uint32_t a = w->first[0][name], b = w->first[1][name];
        if (is_contended(w, name)) {
            pair_name(w, list_items(w, name));
        } else if (a != NO_BLOCK && b != NO_BLOCK) {
            pair_blocks(w, a, b, MATCH_NAME);
        }
    }
}

// ---------------------------------------------------------------- all names

static bool make_room(work *w) {
    size_t a = w->sides[0]->block_count, b = w->sides[1]->block_count, both = a + b + 1;
    w->m->pairs = malloc(both * sizeof *w->m->pairs);
    w->m->pair_of_after = malloc((b + 1) * sizeof *w->m->pair_of_after);
    w->items = malloc(both * sizeof *w->items);
    w->heap = malloc(both * sizeof *w->heap);
    w->left = malloc(both * sizeof *w->left);
    w->right = malloc(both * sizeof *w->right);
    return w->m->pairs && w->m->pair_of_after && w->items && w->heap && w->left && w->right;
}

static void begin_pairs(work *w) {
    matching *m = w->m;
    m->count = w->sides[0]->block_count;
    for (uint32_t b = 0; b < m->count; b++) m->pairs[b] = (block_pair){b, NO_BLOCK, MATCH_NONE};
    for (uint32_t b = 0; b < w->sides[1]->block_count; b++) m->pair_of_after[b] = NO_ROW;
}

static void add_unpaired(work *w) {
    matching *m = w->m;
    for (uint32_t b = 0; b < w->sides[1]->block_count; b++) {
        if (m->pair_of_after[b] != NO_ROW) continue;
        m->pair_of_after[b] = m->count;
        m->pairs[m->count++] = (block_pair){NO_BLOCK, b, MATCH_NONE};
    }
}

static void work_free(work *w) {
    free(w->same_text);
    for (int side = 0; side < 2; side++) {
        free(w->first[side]);
        free(w->after[side]);
    }
    free(w->files);
    free(w->rank);
    free(w->class);
    free(w->items);
    free(w->heap);
    free(w->left);
    free(w->right);
}

bool ouro__match_blocks(const profile *before, const profile *after, matching *m) {
    work w = {.sides = {before, after}, .m = m};
    *m = (matching){0};
    bool ok = make_room(&w) && find_same_texts(&w) && list_by_name(&w) && rank_files(&w);
    if (ok) {
        begin_pairs(&w);
        pair_names(&w);
        add_unpaired(&w);
    } else {
        ouro__matching_free(m);
    }
    work_free(&w);
    assert(!ok || ouro__matching_is_valid(before, after, m));
    return ok;
}

void ouro__matching_free(matching *m) {
    free(m->pairs);
    free(m->pair_of_after);
    *m = (matching){0};
}
