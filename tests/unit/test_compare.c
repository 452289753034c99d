// SPDX-License-Identifier: MIT
//
// Two profiles compared, against naive models on random profiles: which blocks are the same, what
// changed, and where a path is on the other side. The models look at every pair of blocks and at
// every path, and have no ranks, classes, heaps or hashes.

#include "questions.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 24, STACKS = 30, DEPTH = 12, ROUNDS = 400, PARTS = 24, DEEPEST = 16 };

typedef struct {
    uint32_t blocks[DEPTH], length;
    int64_t value;
} stack;

typedef struct {
    profile *p;
    stack stacks[STACKS];
    uint32_t stack_count;
} side;

// ---------------------------------------------------------------- random profiles

// Few names, folders and lines, so that everything occurs several times on both sides.
static void random_path(char *to) {
    static const char *const names[] = {"a.c", "b.c", "src", "lib", "x", ""};
    uint32_t parts = random_below(10) ? random_below(5) : 14 + random_below(6);
    *to = '\0';
    if (parts && random_below(3) == 0) to = stpcpy(to, "/");
    for (uint32_t i = 0; i < parts; i++) {
        bool last = i + 1 == parts;
        to = stpcpy(to,
                    last ? names[random_below(2)] : names[random_below(8) ? 2 : random_below(6)]);
        if (!last) to = stpcpy(to, random_below(9) ? "/" : "\\");
    }
}

static uint32_t random_block(profile *p, uint32_t names, uint32_t lines) {
    char path[PARTS * 5], name[2] = {(char)('f' + random_below(names)), 0};
    random_path(path);
    block_info info = {ouro__profile_add_text(p, name), ouro__profile_add_text(p, path),
                       random_below(lines), random_below(3) ? 0 : random_below(3)};
    return ouro__profile_add_block(p, &info);
}

// Some blocks are in no path.
static side random_side(uint32_t names, uint32_t lines, uint32_t decimals) {
    side s = {.p = ouro__profile_new()};
    ouro__profile_add_metric(s.p, "samples", "count");
    s.p->metrics[0].decimals = decimals;
    uint32_t count = 1 + random_below(BLOCKS);
    for (uint32_t i = 0; i < count; i++) random_block(s.p, names, lines);
    builder *b = ouro__builder_new(s.p, RULE_NONE, 0);
    s.stack_count = random_below(STACKS);
    for (uint32_t i = 0; i < s.stack_count; i++) {
        stack *one = &s.stacks[i];
        one->length = 1 + random_below(DEPTH);
        for (uint32_t j = 0; j < one->length; j++)
            one->blocks[j] =
                random_below(random_below(2) ? 2 : s.p->block_count) % s.p->block_count;
        one->value = random_below(3) ? random_below(40) : 0;
        ouro__charge(s.p, 0, ouro__builder_stack(b, one->blocks, one->length), one->value);
    }
    ouro__builder_free(b);
    CHECK(ouro__profile_finish(s.p, NULL));
    return s;
}

typedef void checking(const side *a, const side *b);

static void each_pair(checking *check) {
    for (int round = 0; round < ROUNDS && !test_failures(); round++) {
        uint32_t names = 1 + random_below(6), lines = 1 + random_below(12);
        side a = random_side(names, lines, 0), b = random_side(names, lines, random_below(2));
        check(&a, &b);
        ouro__profile_free(a.p);
        ouro__profile_free(b.p);
    }
}

// ---------------------------------------------------------------- which blocks are the same

typedef struct {
    const profile *p;
    uint32_t block;
    bool after;
    uint32_t *with; // the block of the other side, or NO_BLOCK
    match_how *how;
} candidate;

static const block_info *info_of(const candidate *c) { return &c->p->blocks[c->block]; }
static const char *path_of(const candidate *c) { return ouro__block_file(c->p, c->block); }

static uint64_t place_of(const candidate *c) {
    return (uint64_t)info_of(c)->line << 32 | info_of(c)->column;
}

// The path cut at its separators; the last part first.
static int parts_of(const char *path, char parts[PARTS * 2][8]) {
    int count = 0;
    const char *end = path + strlen(path);
    while (*path) {
        const char *begin = end;
        while (begin > path && begin[-1] != '/' && begin[-1] != '\\') begin--;
        snprintf(parts[count++], 8, "%.*s", (int)(end - begin), begin);
        if (begin == path) break;
        end = begin - 1;
    }
    return count;
}

static bool close_by_path(const candidate *x, const candidate *y, int level) {
    char a[PARTS * 2][8], b[PARTS * 2][8];
    if (level > DEEPEST) return strcmp(path_of(x), path_of(y)) == 0;
    int n = parts_of(path_of(x), a), m = parts_of(path_of(y), b);
    bool same = n >= level && m >= level;
    for (int i = 0; same && i < level; i++) same = strcmp(a[i], b[i]) == 0;
    return same;
}

// Letter by letter from the end, separators first: only for blocks of the same line.
static int order_of_paths(const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b);
    for (size_t i = 1; i <= n && i <= m; i++) {
        char x = a[n - i] == '\\' ? '/' : a[n - i], y = b[m - i] == '\\' ? '/' : b[m - i];
        if (x != y) return x == '/' ? -1 : y == '/' ? 1 : x < y ? -1 : 1;
    }
    return n != m ? (n < m ? -1 : 1) : strcmp(a, b);
}

static bool stands_before(const candidate *x, const candidate *y) {
    if (place_of(x) != place_of(y)) return place_of(x) < place_of(y);
    int order = order_of_paths(path_of(x), path_of(y));
    if (order) return order < 0;
    return x->after != y->after ? y->after : x->block < y->block;
}

static void sort_by_line(candidate *c, int count) {
    for (int i = 1; i < count; i++) {
        for (int j = i; j > 0 && stands_before(&c[j], &c[j - 1]); j--) {
            candidate moved = c[j];
            c[j] = c[j - 1];
            c[j - 1] = moved;
        }
    }
}

static void model_pair(candidate *x, candidate *y, match_how how) {
    *x->with = y->block;
    *y->with = x->block;
    *x->how = *y->how = how;
}

static int without(candidate *c, int count, int i) {
    memmove(&c[i], &c[i + 1], (size_t)(count - i - 1) * sizeof *c);
    return count - 1;
}

static int first_of(const candidate *c, int count, bool after) {
    int i = 0;
    while (i < count && c[i].after != after) i++;
    return i;
}

// Neighbours of different sides: the nearest, the first of several.
static int nearest_of(const candidate *c, int count) {
    int best = -1;
    for (int i = 0; i + 1 < count; i++) {
        if (c[i].after == c[i + 1].after) continue;
        if (best < 0 ||
            place_of(&c[i + 1]) - place_of(&c[i]) < place_of(&c[best + 1]) - place_of(&c[best]))
            best = i;
    }
    return best;
}

static void pair_by_line(candidate *c, int count, int level) {
    int after = 0;
    for (int i = 0; i < count; i++) after += c[i].after;
    if (!after || after == count) return;
    match_how how = !level ? MATCH_NAME : count == 2 ? MATCH_PATH : MATCH_LINE;
    bool in_order = 2 * after == count;
    sort_by_line(c, count);
    while (count && after && after < count) {
        int x = in_order ? first_of(c, count, false) : nearest_of(c, count),
            y = in_order ? first_of(c, count, true) : x + 1;
        model_pair(&c[x], &c[y], how);
        count = without(c, count, x > y ? x : y);
        count = without(c, count, x > y ? y : x);
        after--;
    }
}

static int blocks_called(const side *s, bool after, const char *name, uint32_t *with,
                         match_how *how, candidate *to) {
    int count = 0;
    for (uint32_t b = 0; b < s->p->block_count; b++) {
        if (strcmp(ouro__block_name(s->p, b), name) != 0) continue;
        to[count++] = (candidate){s->p, b, after, &with[b], &how[b]};
    }
    return count;
}

// Of one name: from the same file to nothing in common.
static void model_name(const side *a, const side *b, const char *name, uint32_t *with[2],
                       match_how *how[2]) {
    candidate all[2 * BLOCKS], close[2 * BLOCKS];
    int before = blocks_called(a, false, name, with[0], how[0], all);
    int count = before + blocks_called(b, true, name, with[1], how[1], all + before);
    if (before == 1 && count == 2) return model_pair(&all[0], &all[1], MATCH_NAME);
    for (int level = DEEPEST + 1; level >= 0; level--) {
        for (int i = 0; i < count; i++) {
            int found = 0;
            for (int j = 0; j < count; j++) {
                if (*all[j].with == NO_BLOCK && close_by_path(&all[i], &all[j], level))
                    close[found++] = all[j];
            }
            if (close_by_path(&all[i], &all[i], level)) pair_by_line(close, found, level);
        }
    }
}

static void model_matching(const side *a, const side *b, uint32_t *with[2], match_how *how[2]) {
    for (uint32_t i = 0; i < BLOCKS; i++) {
        with[0][i] = with[1][i] = NO_BLOCK;
        how[0][i] = how[1][i] = MATCH_NONE;
    }
    for (char c = 'f'; c < 'f' + 6; c++) model_name(a, b, (char[]){c, 0}, with, how);
}

static void check_matching(const side *a, const side *b) {
    matching m;
    uint32_t with_a[BLOCKS], with_b[BLOCKS];
    match_how how_a[BLOCKS], how_b[BLOCKS];
    if (!CHECK(ouro__match_blocks(a->p, b->p, &m))) return;
    model_matching(a, b, (uint32_t *[]){with_a, with_b}, (match_how *[]){how_a, how_b});
    for (uint32_t i = 0; i < a->p->block_count; i++) {
        CHECK_EQUAL(m.pairs[i].before, i);
        CHECK_EQUAL(m.pairs[i].after, with_a[i]);
        CHECK_EQUAL(m.pairs[i].how, how_a[i]);
    }
    for (uint32_t i = 0; i < b->p->block_count; i++) {
        const block_pair *pair = &m.pairs[m.pair_of_after[i]];
        CHECK_EQUAL(pair->after, i);
        CHECK_EQUAL(pair->before, with_b[i]);
    }
    ouro__matching_free(&m);
}

TEST(blocks_are_matched_by_name_then_by_path_then_by_line) { each_pair(check_matching); }

static void check_left_over(const side *a, const side *b) {
    matching m;
    if (!CHECK(ouro__match_blocks(a->p, b->p, &m))) return;
    for (uint32_t i = 0; i < m.count; i++) {
        for (uint32_t j = 0; j < m.count; j++) {
            if (m.pairs[i].after != NO_BLOCK || m.pairs[j].before != NO_BLOCK) continue;
            CHECK(strcmp(ouro__block_name(a->p, m.pairs[i].before),
                         ouro__block_name(b->p, m.pairs[j].after)) != 0);
        }
    }
    ouro__matching_free(&m);
}

TEST(no_name_is_new_and_gone) { each_pair(check_left_over); }

static profile *named(const char *const *files, const uint32_t *lines, uint32_t count) {
    profile *p = ouro__profile_new();
    ouro__profile_add_metric(p, "samples", "count");
    for (uint32_t i = 0; i < count; i++) {
        block_info info = {ouro__profile_add_text(p, "f"), ouro__profile_add_text(p, files[i]),
                           lines[i], 0};
        ouro__profile_add_block(p, &info);
    }
    CHECK(ouro__profile_finish(p, NULL));
    return p;
}

static void expect(const char *const *before, const uint32_t *lines, uint32_t count,
                   const char *const *after, const uint32_t *lines_after, uint32_t count_after,
                   const uint32_t *want, match_how how) {
    profile *a = named(before, lines, count), *b = named(after, lines_after, count_after);
    matching m;
    if (CHECK(ouro__match_blocks(a, b, &m))) {
        for (uint32_t i = 0; i < count; i++) {
            CHECK_EQUAL(m.pairs[i].after, want[i]);
            if (want[i] != NO_BLOCK) CHECK_EQUAL(m.pairs[i].how, how);
        }
        ouro__matching_free(&m);
    }
    ouro__profile_free(a);
    ouro__profile_free(b);
}

TEST(another_folder_of_the_checkout_changes_nothing) {
    const char *before[] = {"/home/a/main/src/x.c", "/home/a/main/lib/x.c"},
               *after[] = {"/tmp/branch/lib/x.c", "/tmp/branch/src/x.c"};
    expect(before, (uint32_t[]){3, 3}, 2, after, (uint32_t[]){3, 3}, 2, (uint32_t[]){1, 0},
           MATCH_PATH);
    expect(before, (uint32_t[]){3}, 1, after, (uint32_t[]){9}, 1, (uint32_t[]){0}, MATCH_NAME);
}

TEST(lines_that_all_moved_stay_in_order) {
    const char *files[] = {"x.js", "x.js", "x.js", "x.js"};
    expect(files, (uint32_t[]){10, 20, 30}, 3, files, (uint32_t[]){22, 32, 42}, 3,
           (uint32_t[]){0, 1, 2}, MATCH_LINE);
    expect(files, (uint32_t[]){10, 20, 30}, 3, files, (uint32_t[]){10, 15, 23, 33}, 4,
           (uint32_t[]){0, 2, 3}, MATCH_LINE);
}

// ---------------------------------------------------------------- what changed

static int64_t scale_of(const side *s, const side *other) {
    return s->p->metrics[0].decimals < other->p->metrics[0].decimals ? 10 : 1;
}

static bool has_block(const stack *s, uint32_t block) {
    for (uint32_t i = 0; i < s->length; i++) {
        if (s->blocks[i] == block) return true;
    }
    return false;
}

static bool model_sums(const side *s, uint32_t block, int64_t scale, int64_t *self,
                       int64_t *overall) {
    bool there = false;
    *self = *overall = 0;
    for (uint32_t i = 0; i < s->stack_count; i++) {
        const stack *one = &s->stacks[i];
        if (!has_block(one, block)) continue;
        there = true;
        *overall += one->value * scale;
        if (one->blocks[one->length - 1] == block) *self += one->value * scale;
    }
    return there;
}

static uint32_t rows_called(const comparison *c, const char *name) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->count; i++) count += strcmp(c->rows[i].name, name) == 0;
    return count;
}

static void check_row(const side *a, const side *b, const comparison *c, const difference *d) {
    int64_t self, overall;
    CHECK_EQUAL(d->in_before, model_sums(a, d->block_before, scale_of(a, b), &self, &overall));
    CHECK(d->self_before == self && d->overall_before == overall);
    CHECK_EQUAL(d->in_after, model_sums(b, d->block_after, scale_of(b, a), &self, &overall));
    CHECK(d->self_after == self && d->overall_after == overall);
    CHECK(d->in_before || d->in_after);
    CHECK_EQUAL(d->several, rows_called(c, d->name) > 1);
    CHECK_EQUAL(d->how != MATCH_NONE, d->in_before && d->in_after);
    const profile *p = d->in_after ? b->p : a->p;
    uint32_t block = d->in_after ? d->block_after : d->block_before;
    CHECK_TEXT(d->name, ouro__block_name(p, block));
    CHECK_TEXT(d->file, ouro__block_file(p, block));
    CHECK_EQUAL(d->line, p->blocks[block].line);
}

static uint32_t pairs_in_paths(const side *a, const side *b, const matching *m) {
    uint32_t count = 0;
    int64_t self, overall;
    for (uint32_t i = 0; i < m->count; i++)
        count += model_sums(a, m->pairs[i].before, 1, &self, &overall) ||
                 model_sums(b, m->pairs[i].after, 1, &self, &overall);
    return count;
}

static int64_t change_of(const difference *d) { return llabs(d->self_after - d->self_before); }

static void check_comparison(const side *a, const side *b) {
    comparison c;
    matching m;
    if (!CHECK(ouro__compare(a->p, 0, b->p, 0, &c, NULL)) ||
        !CHECK(ouro__match_blocks(a->p, b->p, &m)))
        return;
    CHECK_EQUAL(c.count, pairs_in_paths(a, b, &m));
    int64_t change = c.total_after - c.total_before;
    for (uint32_t i = 0; i < c.count; i++) {
        const difference *d = &c.rows[i];
        check_row(a, b, &c, d);
        CHECK(i == 0 || change_of(d) <= change_of(d - 1));
        CHECK_EQUAL(change_of(d) > 0, i < c.changed);
        bool leads = i < 3 && change_of(d) && change_of(d) >= change_of(&c.rows[0]) / 10;
        CHECK_EQUAL(leads, i < c.leading);
        change -= d->self_after - d->self_before;
    }
    CHECK_EQUAL(change, 0); // the rows explain the change of the total
    ouro__comparison_free(&c);
    ouro__matching_free(&m);
}

TEST(rows_of_a_comparison_are_what_the_paths_say) { each_pair(check_comparison); }

TEST(values_that_do_not_fit_with_the_decimals_of_both_are_refused) {
    side a = {.p = ouro__profile_new()}, b = {.p = ouro__profile_new()};
    comparison c;
    error e = {0};
    for (int i = 0; i < 2; i++) {
        profile *p = i ? b.p : a.p;
        ouro__profile_add_metric(p, "samples", "count");
        uint32_t node = ouro__profile_add_node(p, 0, ouro__profile_add_named(p, "f", 1));
        ouro__charge(p, 0, node, i ? 5 : INT64_MAX / 2);
        p->metrics[0].decimals = (uint32_t)i;
        CHECK(ouro__profile_finish(p, NULL));
    }
    CHECK(!ouro__compare(a.p, 0, b.p, 0, &c, &e));
    CHECK_EQUAL(e.code, EOVERFLOW);
    ouro__profile_free(a.p);
    ouro__profile_free(b.p);
}

static profile *with_metrics(const char *const *names, const char *const *units, uint32_t count) {
    profile *p = ouro__profile_new();
    for (uint32_t i = 0; i < count; i++) ouro__profile_add_metric(p, names[i], units[i]);
    CHECK(ouro__profile_finish(p, NULL));
    return p;
}

TEST(a_metric_is_common_by_its_name_and_its_unit) {
    profile *a = with_metrics((const char *[]){"calls", "time", "bytes"},
                              (const char *[]){"count", "ns", "bytes"}, 3);
    profile *b = with_metrics((const char *[]){"time", "bytes", "calls"},
                              (const char *[]){"ms", "bytes", "count"}, 3);
    uint32_t m, n;
    CHECK(ouro__common_metric(a, b, &m, &n) && m == 0 && n == 2);
    a->default_metric = 1; // the units differ
    CHECK(ouro__common_metric(a, b, &m, &n) && m == 0 && n == 2);
    a->default_metric = 2;
    CHECK(ouro__common_metric(a, b, &m, &n) && m == 2 && n == 1);
    profile *none = with_metrics(NULL, NULL, 0);
    CHECK(!ouro__common_metric(a, none, &m, &n) && !ouro__common_metric(none, a, &m, &n));
    ouro__profile_free(a);
    ouro__profile_free(b);
    ouro__profile_free(none);
}

// ---------------------------------------------------------------- the same path

static uint32_t path_in(const profile *p, uint32_t node, uint32_t *path) {
    uint32_t length = 0;
    for (uint32_t n = node; n; n = p->parent[n]) length++;
    for (uint32_t n = node, i = length; n; n = p->parent[n]) path[--i] = p->block[n];
    return length;
}

// The block of the other side, by looking through all pairs.
static uint32_t matched_block(const matching *m, uint32_t block, bool after) {
    uint32_t i = 0;
    while ((after ? m->pairs[i].after : m->pairs[i].before) != block) i++;
    return after ? m->pairs[i].before : m->pairs[i].after;
}

static uint32_t model_counterpart(const profile *p, uint32_t node, const profile *other,
                                  const matching *m, bool after) {
    uint32_t path[DEPTH], length = path_in(p, node, path);
    for (uint32_t i = 0; i < length; i++) path[i] = matched_block(m, path[i], after);
    for (uint32_t n = 0; n < other->node_count; n++) {
        uint32_t own[DEPTH];
        if (path_in(other, n, own) == length && memcmp(path, own, length * sizeof *path) == 0)
            return n;
    }
    return NO_NODE;
}

static void check_boxes(const profile *p, const profile *other, const matching *m, bool after) {
    int64_t *running = ouro__running(p, 0);
    flame *boxes;
    uint32_t count, node = random_below(p->node_count), limit = 1 + random_below(60);
    if (CHECK(ouro__flame_below(p, running, node, limit, &boxes, &count))) {
        uint32_t *found = ouro__counterparts(p, boxes, count, other, m, after);
        for (uint32_t i = 0; CHECK(found) && i < count; i++)
            CHECK_EQUAL(found[i], model_counterpart(p, boxes[i].node, other, m, after));
        free(found);
        free(boxes);
    }
    free(running);
}

static void check_counterparts(const side *a, const side *b) {
    matching m;
    if (!CHECK(ouro__match_blocks(a->p, b->p, &m))) return;
    check_boxes(a->p, b->p, &m, false);
    check_boxes(b->p, a->p, &m, true);
    ouro__matching_free(&m);
}

TEST(a_box_is_where_the_other_side_has_its_path) { each_pair(check_counterparts); }
