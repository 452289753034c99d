// SPDX-License-Identifier: MIT
//
// The cache of views: what it counts is what the allocator gave, its limit holds for what no
// request uses, however many metrics there are, and what a request uses stays as it is.

#include "builder.h"
#include "test.h"
#include "view.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { METRICS = 16, BLOCKS = 400, NODES = 20000, LIMIT = 12 << 20 };

static profile *wide_profile(void) {
    profile *p = ouro__profile_new();
    char name[16];
    for (uint32_t m = 0; m < METRICS; m++) {
        sprintf(name, "m%u", m);
        ouro__profile_add_metric(p, name, "count");
    }
    for (uint32_t b = 0; b < BLOCKS; b++)
        ouro__profile_add_named(p, name, (size_t)sprintf(name, "f%u", b));
    builder *b = ouro__builder_new(p, RULE_NONE, 0);
    for (uint32_t i = 0; i < NODES; i++) {
        uint32_t node = ouro__builder_enter(b, random_below(p->node_count), random_below(BLOCKS));
        for (uint32_t m = 0; m < METRICS; m++) ouro__charge(p, m, node, 1 + random_below(9));
    }
    ouro__builder_free(b);
    CHECK(ouro__profile_finish(p, NULL));
    return p;
}

typedef struct {
    shelf shelf;
    cache cache;
} opened;

static opened *open_one(size_t limit) {
    opened *o = calloc(1, sizeof *o);
    server_options options = {.file_count = 1, .files = {{"x", wide_profile(), NULL}}};
    CHECK(ouro__shelf_open(&o->shelf, &options, NULL));
    ouro__cache_init(&o->cache, &o->shelf);
    o->cache.bytes_most = limit;
    return o;
}

static void close_one(opened *o) {
    ouro__cache_free(&o->cache);
    ouro__shelf_close(&o->shelf);
    free(o);
}

// Folded 0: all that there is.
static view *ask(opened *o, uint32_t folded) {
    error e = {0};
    filter f = {.fold = &folded, .fold_count = folded != 0};
    generation *g = ouro__shelf_generation(&o->shelf);
    view *v = ouro__cache_view(&o->cache, g, 0, &f, false, 0, &e);
    ouro__generation_release(&o->shelf, g);
    return v;
}

static void ask_all(view *v, uint32_t m) {
    CHECK(ouro__view_running(v, m) && ouro__view_totals(v, m) && ouro__view_knots(v, m));
    CHECK(ouro__view_present(v));
}

static size_t in_use(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

// The parts of one metric at most, of one view.
static bool is_one_metric(const cache *c) {
    unsigned metrics = 0;
    for (uint32_t m = 0; c->count == 1 && m < METRICS; m++) {
        const view_metric *part = &c->views[0]->metrics[m];
        metrics += part->running || part->has_totals || part->has_knots;
    }
    return c->count == 1 && metrics <= 1;
}

TEST(what_is_counted_is_what_the_allocator_gave) {
    opened *o = open_one(SIZE_MAX);
    size_t before = in_use();
    for (uint32_t f = 0; f < 5; f++) {
        view *v = ask(o, f);
        for (uint32_t m = 0; m < METRICS; m++) ask_all(v, m);
        ouro__cache_release(&o->cache, v);
    }
    size_t given = in_use() - before, counted = ouro__cache_bytes(&o->cache);
    // Sanitizers have an allocator of their own, which does not tell.
    test_check(!before || (counted > given * 9 / 10 && counted < given * 11 / 10), __FILE__,
               __LINE__, "%zu bytes counted, %zu given", counted, given);
    CHECK(counted > 5 * METRICS * NODES * sizeof(int64_t));
    close_one(o);
}

TEST(many_metrics_do_not_exceed_the_limit) {
    opened *o = open_one(LIMIT);
    for (uint32_t i = 0; i < 200; i++) {
        view *v = ask(o, random_below(6));
        ask_all(v, random_below(METRICS));
        ouro__cache_release(&o->cache, v);
        CHECK(ouro__cache_bytes(&o->cache) <= LIMIT);
    }
    CHECK(o->cache.count > 1);
    close_one(o);
}

TEST(a_view_that_is_too_large_keeps_the_metric_that_was_asked_for_last) {
    opened *o = open_one(1);
    for (uint32_t m = 0; m < METRICS; m++) {
        view *v = ask(o, 1);
        ask_all(v, (m + 1) % METRICS);
        ask_all(v, m);
        const int64_t *running = ouro__view_running(v, m);
        ouro__cache_release(&o->cache, v);
        CHECK(is_one_metric(&o->cache));
        v = ask(o, 1);
        CHECK(ouro__view_running(v, m) == running);
        ouro__cache_release(&o->cache, v);
    }
    close_one(o);
}

// Some requests at a time, which end in any order.
TEST(what_a_request_uses_stays_and_what_none_uses_is_within_the_limit) {
    enum { AT_ONCE = 6 };
    opened *o = open_one(LIMIT / 2);
    view *held[AT_ONCE] = {0};
    const int64_t *running[AT_ONCE];
    uint32_t metric[AT_ONCE];
    int64_t sum[AT_ONCE];
    for (uint32_t i = 0; i < 400; i++) {
        uint32_t k = random_below(AT_ONCE);
        if (held[k]) {
            uint32_t nodes = held[k]->profile->node_count;
            CHECK(ouro__view_running(held[k], metric[k]) == running[k]);
            CHECK_EQUAL(running[k][nodes], sum[k]);
            ouro__cache_release(&o->cache, held[k]);
            held[k] = NULL;
        } else {
            held[k] = ask(o, random_below(9));
            metric[k] = random_below(METRICS);
            ask_all(held[k], metric[k]);
            running[k] = ouro__view_running(held[k], metric[k]);
            sum[k] = running[k][held[k]->profile->node_count];
        }
        CHECK(ouro__cache_is_valid(&o->cache));
    }
    for (uint32_t k = 0; k < AT_ONCE; k++) {
        if (held[k]) ouro__cache_release(&o->cache, held[k]);
    }
    CHECK(ouro__cache_bytes(&o->cache) <= LIMIT / 2 || is_one_metric(&o->cache));
    close_one(o);
}
