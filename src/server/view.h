// SPDX-License-Identifier: MIT
//
// WORDS
//   view      what the filters leave of one side of a generation, and what was computed from it.
//             All requests with the same filters share it; it counts its users
//   cache     all views, those that are in use and those that were used last, up to a bound of
//             memory for what no request uses
//   part      what was computed from a view for one metric

#ifndef OURO_VIEW_H
#define OURO_VIEW_H

#include "generation.h"
#include "path_ids.h"
#include "questions.h"

#include <stdatomic.h>

// What is computed once per view and metric, when it is first asked; a lock each, so that a slow
// part does not keep the others waiting.
enum { PART_RUNNING, PART_TOTALS, PART_KNOTS, PART_FINDINGS, PARTS };

typedef struct {
    pthread_mutex_t locks[PARTS];
    int64_t *running;
    totals totals;
    knots knots;
    findings findings;
    int64_t left;
    bool has_left, has_totals, has_knots, has_edges, has_findings;
} view_metric;

// Of a live file: the last seconds, or a stretch of the time since it was opened, in seconds. All
// are 0: everything.
typedef struct {
    uint32_t last;
    double from, until;
    uint64_t slices; // the values are those of one of so many slices; 0: as they are
} view_when;

static inline bool ouro__is_stretch(const view_when *w) { return w->last || w->until > 0; }

typedef struct {
    generation *generation;
    unsigned side_number;
    filter filter;  // its blocks are the view's, sorted
    bool nothing;   // it selects a block that this side does not have
    view_when when; // a part of the time
    const side *side;
    const profile *profile; // what is left
    profile *own;           // the same, or NULL: without filters it is the side's
    history_span span;      // what was found of that time, by the clock of the generation
    int64_t *totals; // by metric, of that time or per slice, without filters; NULL: the side's
    view_metric *metrics;
    pthread_mutex_t lock;
    uint8_t *present;            // by block: a path has it
    recursion *recursed;         // by block
    uint64_t *ids;               // by node, see path_ids.h
    atomic_size_t bytes;         // what it takes, with the parts so far
    atomic_uint_fast32_t metric; // whose parts were asked for last

    // Under the cache's lock.
    int references;
    enum { VIEW_MAKING, VIEW_READY, VIEW_FAILED } state;
    uint64_t used; // when it was asked for last, by the cache's clock
    error problem;
} view;

enum { VIEWS_MOST = 64 };

typedef struct {
    shelf *shelf;
    pthread_mutex_t lock;
    pthread_cond_t changed; // a view is ready, or a place to make one is free
    view *views[VIEWS_MOST];
    unsigned count, making;
    uint64_t clock;
    size_t bytes_most;
} cache;

void ouro__cache_init(cache *c, shelf *s);
void ouro__cache_free(cache *c);
bool ouro__cache_is_valid(const cache *c); // under its lock
size_t ouro__cache_bytes(const cache *c);  // under its lock: what all views take

// Frees what no request uses of generations that are old.
void ouro__cache_forget_old(cache *c);

// The view of a side, made if it is not there; the same filters asked at the same time are made
// once. `w` NULL: of all the time. The generation stays the caller's. NULL with *problem filled.
view *ouro__cache_view(cache *c, generation *g, unsigned side_number, const filter *f, bool nothing,
                       const view_when *w, error *problem);
void ouro__cache_release(cache *c, view *v);

// By metric: what there is without filters.
static inline const int64_t *ouro__view_all(const view *v) {
    return v->totals ? v->totals : v->side->totals;
}

// What the filters leave of a metric. Computed on the first call and kept.
int64_t ouro__view_left(view *v, uint32_t m);

// Each is computed on the first call and kept. NULL: out of memory.
const int64_t *ouro__view_running(view *v, uint32_t m);
const totals *ouro__view_totals(view *v, uint32_t m);
const knots *ouro__view_knots(view *v, uint32_t m);
// The same with edges; only who asks for them may look at them.
const knots *ouro__view_drawn_knots(view *v, uint32_t m);
const findings *ouro__view_findings(view *v, uint32_t m);
const uint8_t *ouro__view_present(view *v);
const recursion *ouro__view_recursed(view *v); // by block
const uint64_t *ouro__view_ids(view *v);

#endif
