// SPDX-License-Identifier: MIT
//
// A profile's columns as bytes, for pages that are one file: what is read again is the same
// profile, and bytes that somebody changed are an error, never a crash.

#include "columns.h"
#include "ouro.h"
#include "pprof_slices.h"
#include "questions.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 12, STEPS = 60 };

// Some samples have labels, some blocks recursed.
static void add_labels(profile *p, uint32_t node) {
    char value[16];
    snprintf(value, sizeof value, "%u", random_below(3));
    ouro__tags_put(p, ouro__profile_add_text(p, "thread"), ouro__profile_add_text(p, value));
    if (random_below(2))
        ouro__tags_put(p, ouro__profile_add_text(p, "host"), ouro__profile_add_text(p, "a"));
    ouro__tags_charge(p, 0, node, ouro__tags_close(p), 1 + random_below(100));
    if (random_below(3)) return;
    recursion *r = ouro__profile_recursed(p, p->block[node]);
    *r = (recursion){random_next() >> 30, random_below(9), random_below(7)};
}

// A message as the library writes it: the field that stands last in its file.
static void add_slices(profile *p, uint32_t frames) {
    ouro_metric_info metric = {"metric 0", ""};
    ouro_profile *recorded = ouro_profile_new(&(ouro_options){
        .metrics = &metric, .metric_count = 1, .slices = {.name = "frame", .kept = 2}});
    ouro_block block = ouro_add_block(recorded, &(ouro_block_info){"f", "f.c", 1, 1});
    ouro_thread *t = ouro_thread_new(recorded);
    for (uint32_t i = 0; i <= frames; i++) {
        ouro_slice(t);
        ouro_exit(t, ouro_enter(t, block));
    }
    const char *path = test_path("columns.pb");
    CHECK_EQUAL(ouro_profile_write(recorded, path), 0);
    ouro_thread_free(t);
    ouro_profile_free(recorded);
    error e;
    profile *read = ouro__profile_read(
        path, NULL, &(read_options){.rule = RULE_DEFAULT, .keep_labels = true}, &e);
    if (!CHECK(read && read->slices)) return;
    const lane_slices *l = &read->slices->lanes[0];
    wire in = {l->message, l->message, l->message + l->message_size, &e, false, 0};
    CHECK(ouro__pprof_slices_read(p, 1, 0, in));
    if (p->slices) p->slices->lanes[0].lane = random_below(1000); // as in a sum
    ouro__profile_free(read);
}

static profile *random_profile(void) {
    profile *p = ouro__profile_new();
    uint32_t metrics = 1 + random_below(3);
    bool labels = random_below(2);
    char text[32];
    for (uint32_t m = 0; m < metrics; m++) {
        snprintf(text, sizeof text, "metric %u", m);
        ouro__profile_add_metric(p, text, m ? "ns" : "");
        p->metrics[m].decimals = random_below(4);
    }
    for (uint32_t b = 0; b < BLOCKS; b++) {
        snprintf(text, sizeof text, "block %u", b);
        block_info info = {.name = ouro__profile_add_text(p, text),
                           .file = ouro__profile_add_text(p, b % 3 ? "file.x" : ""),
                           .line = b % 3 ? b * 1000 : 0,
                           .column = b % 5};
        ouro__profile_add_block(p, &info);
    }
    builder *b = ouro__builder_new(p, RULE_NONE, 0);
    for (int i = 0; i < STEPS; i++) {
        uint32_t at = ouro__builder_enter(b, random_below(p->node_count), random_below(BLOCKS));
        for (uint32_t m = 0; m < metrics; m++)
            ouro__charge(p, m, at, (int64_t)(random_next() >> (random_next() % 60 + 4)) - 9);
        if (labels && random_below(2)) add_labels(p, at);
    }
    ouro__builder_free(b);
    if (random_below(4) == 0) add_slices(p, random_below(50));
    p->default_metric = metrics - 1;
    p->rule = (int)random_below(5);
    p->edge_length = (int)random_below(4);
    p->start_time = random_next();
    error e;
    CHECK(ouro__profile_finish(p, &e));
    return p;
}

static void check_same_slices(const profile *p, const profile *q, bool table) {
    if (!p->slices || !p->tags) return (void)CHECK(!q->slices);
    if (!CHECK(q->slices && p->slices->count == q->slices->count)) return;
    CHECK(p->slices->width == q->slices->width && p->slices->own == q->slices->own);
    const lane_slices *a = &p->slices->lanes[0], *b = &q->slices->lanes[0];
    CHECK_EQUAL(a->lane, b->lane);
    CHECK(a->count == b->count && a->kept_count == b->kept_count && a->slowest == b->slowest);
    CHECK_EQUAL(b->row_count, table ? a->row_count : 0);
    CHECK(memcmp(a->durations, b->durations, SLICE_BUCKETS * sizeof *a->durations) == 0);
    CHECK(!table || memcmp(a->message, b->message, a->message_size) == 0);
}

static char *bytes_of(const profile *p, const part_info *part, size_t *size) {
    output *out = ouro__output_memory();
    error e;
    CHECK(ouro__columns_put(&(shared_profile){p, "a title", part}, p->default_metric, out));
    return ouro__output_take(out, size, &e);
}

static bool read_all(columns *c, const char *bytes, size_t size) {
    const unsigned char *at = (const unsigned char *)bytes, *end = at + size;
    error e = {0};
    if (!ouro__columns_read(c, &at, end, &e)) return false;
    if (at != end) ouro__columns_free(c);
    return at == end;
}

// By block of p: the block of the copy, which has those with paths only.
static void check_same_sets(const profile *p, uint32_t a, const profile *q, uint32_t b) {
    const tags *s = p->tags, *t = q->tags;
    uint32_t i = ouro__set_first(s, a), j = ouro__set_first(t, b);
    CHECK_EQUAL(s->set_end[a] - i, t->set_end[b] - j);
    for (; i < s->set_end[a]; i++, j++) {
        tag_info x = s->tags[s->set_tags[i]], y = t->tags[t->set_tags[j]];
        CHECK_TEXT(ouro__text(&p->texts, s->keys[x.key]), ouro__text(&q->texts, t->keys[y.key]));
        CHECK_TEXT(ouro__text(&p->texts, x.value), ouro__text(&q->texts, y.value));
    }
}

static void check_same_labels(const profile *p, const profile *q) {
    if (!p->tags) return (void)CHECK(!q->tags);
    if (!CHECK(q->tags && p->tags->row_count == q->tags->row_count)) return;
    for (uint32_t i = 0; i < p->tags->row_count; i++) {
        CHECK_EQUAL(p->tags->row_node[i], q->tags->row_node[i]);
        CHECK_EQUAL(p->tags->row_values[0][i], q->tags->row_values[0][i]);
        check_same_sets(p, p->tags->row_set[i], q, q->tags->row_set[i]);
    }
}

static void check_same_recursion(const profile *p, const profile *q) {
    recursion *r = ouro__recursion(p), *s = ouro__recursion(q);
    for (uint32_t n = 1; n < p->node_count; n++)
        CHECK(memcmp(&r[p->block[n]], &s[q->block[n]], sizeof *r) == 0);
    free(r);
    free(s);
}

static void check_same(const profile *p, const profile *q) {
    check_same_slices(p, q, true);
    check_same_labels(p, q);
    check_same_recursion(p, q);
    CHECK(ouro__profile_is_valid(q));
    CHECK_EQUAL(p->node_count, q->node_count);
    CHECK_EQUAL(p->metric_count, q->metric_count);
    CHECK_EQUAL(p->default_metric, q->default_metric);
    CHECK(p->start_time == q->start_time && p->rule == q->rule && p->edge_length == q->edge_length);
    for (uint32_t n = 1; n < p->node_count; n++) {
        CHECK_EQUAL(p->parent[n], q->parent[n]);
        CHECK_EQUAL(p->end[n], q->end[n]);
        uint32_t a = p->block[n], b = q->block[n];
        CHECK(strcmp(ouro__block_name(p, a), ouro__block_name(q, b)) == 0);
        CHECK(strcmp(ouro__block_file(p, a), ouro__block_file(q, b)) == 0);
        CHECK_EQUAL(p->blocks[a].line, q->blocks[b].line);
        CHECK_EQUAL(p->blocks[a].column, q->blocks[b].column);
    }
    for (uint32_t m = 0; m < p->metric_count; m++) {
        CHECK(strcmp(ouro__metric_name(p, m), ouro__metric_name(q, m)) == 0);
        CHECK(strcmp(ouro__metric_unit(p, m), ouro__metric_unit(q, m)) == 0);
        CHECK_EQUAL(p->metrics[m].decimals, q->metrics[m].decimals);
        CHECK(memcmp(p->values[m], q->values[m], p->node_count * sizeof **p->values) == 0);
    }
}

TEST(columns_that_are_read_again_are_the_same_profile) {
    for (int i = 0; i < 200; i++) {
        profile *p = random_profile();
        size_t size;
        char *bytes = bytes_of(p, NULL, &size);
        columns c;
        CHECK(read_all(&c, bytes, size));
        CHECK(strcmp(c.title, "a title") == 0 && !c.part);
        check_same(p, c.profile);
        ouro__columns_free(&c);
        free(bytes);
        ouro__profile_free(p);
    }
}

TEST(columns_leave_out_a_large_table_of_slices) {
    profile *p = ouro__profile_new();
    error e;
    ouro__profile_add_metric(p, "metric 0", "");
    uint32_t node = ouro__profile_add_node(p, 0, ouro__profile_add_named(p, "f", 1));
    ouro__charge(p, 0, node, 5);
    add_labels(p, node);
    add_slices(p, 60000);
    CHECK(ouro__profile_finish(p, &e));
    size_t size;
    char *bytes = bytes_of(p, NULL, &size);
    columns c;
    CHECK(p->slices->lanes[0].message_size > 1 << 18 && size < 1 << 17);
    if (CHECK(read_all(&c, bytes, size))) {
        check_same_slices(p, c.profile, false);
        ouro__columns_free(&c);
    }
    free(bytes);
    ouro__profile_free(p);
}

TEST(columns_say_what_they_are_a_part_of) {
    profile *p = random_profile();
    const char *const filters[] = {"select eval", "fold <b>"};
    const int64_t sums[] = {INT64_MAX, INT64_MIN, -1};
    size_t size;
    char *bytes = bytes_of(p, &(part_info){filters, 2, sums, 99, 7}, &size);
    columns c;
    CHECK(read_all(&c, bytes, size));
    CHECK(c.part && c.part->filter_count == 2 && c.part->paths == 99 && c.part->cut == 7);
    for (int i = 0; i < 2; i++) CHECK(strcmp(c.part->filters[i], filters[i]) == 0);
    CHECK(memcmp(c.part->totals, sums, p->metric_count * sizeof *sums) == 0);
    ouro__columns_free(&c);
    free(bytes);
    ouro__profile_free(p);
}

TEST(columns_that_are_cut_or_changed_are_an_error_and_never_a_crash) {
    profile *p = random_profile();
    const char *const filters[] = {"select eval"};
    const int64_t sums[] = {1, 2, 3};
    size_t size;
    char *bytes = bytes_of(p, &(part_info){filters, 1, sums, 99, 7}, &size);
    columns c;
    for (size_t cut = 0; cut < size; cut++) {
        char *copy = malloc(cut + 1); // so that a sanitizer sees the end
        memcpy(copy, bytes, cut);
        CHECK(!read_all(&c, copy, cut));
        free(copy);
    }
    for (int i = 0; i < 3000; i++) {
        size_t at = random_next() % size;
        char old = bytes[at];
        bytes[at] = (char)random_next();
        if (read_all(&c, bytes, size)) ouro__columns_free(&c);
        bytes[at] = old;
    }
    free(bytes);
    ouro__profile_free(p);
}
