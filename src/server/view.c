// SPDX-License-Identifier: MIT
//
// A least-recently-used cache of filtered profiles and of what is computed from them.
//
// A view enters the cache before it is made, so that a second request for it waits instead of
// making it twice. Few are made at the same time, because making takes memory; a view that is ready
// never waits for one that is being made.
//
// Views grow: their parts are computed when they are asked for, and with many metrics they are
// larger than the profile. So every part is counted when it is made, and room is made when a
// request ends. Views of old generations leave first, then the least recently used; a view that a
// request uses stays. The last view alone may be too large: then it keeps the parts of one metric.

#include "view.h"

#include "slice_choice.h"

#include <assert.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

enum { MAKING_MOST = 3 };

#define BYTES_MOST ((size_t)256 << 20)

void ouro__cache_init(cache *c, shelf *s) {
    *c = (cache){.shelf = s, .bytes_most = BYTES_MOST};
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->changed, NULL);
}

// ---------------------------------------------------------------- one view

// What the allocator gave for it, with its own word.
static size_t bytes_at(void *memory) {
    return memory ? malloc_usable_size(memory) + sizeof(size_t) : 0;
}

static size_t totals_bytes(const totals *t) {
    return bytes_at(t->self) + bytes_at(t->overall) + bytes_at(t->calls);
}

static size_t knots_bytes(const knots *k) {
    size_t bytes = bytes_at(k->knots);
    for (uint32_t i = 0; i < k->count; i++)
        bytes += bytes_at(k->knots[i].blocks) + bytes_at(k->knots[i].in) +
                 bytes_at(k->knots[i].out) + bytes_at(k->knots[i].edges);
    return bytes;
}

static size_t part_bytes(const view_metric *part) {
    return bytes_at(part->running) + totals_bytes(&part->totals) + knots_bytes(&part->knots);
}

static void part_free(view_metric *part) {
    free(part->running);
    part->running = NULL;
    ouro__totals_free(&part->totals);
    ouro__knots_free(&part->knots);
    part->has_totals = part->has_knots = part->has_edges = part->has_findings = false;
}

static void view_free(cache *c, view *v) {
    for (uint32_t m = 0; v->metrics && m < v->profile->metric_count; m++) {
        part_free(&v->metrics[m]);
        for (int part = 0; part < PARTS; part++) pthread_mutex_destroy(&v->metrics[m].locks[part]);
    }
    free(v->metrics);
    free(v->present);
    free(v->recursed);
    free(v->totals);
    free(v->ids);
    pthread_mutex_destroy(&v->lock);
    ouro__profile_free(v->own);
    free((void *)v->filter.select);
    ouro__generation_release(c->shelf, v->generation);
    free(v);
}

static int by_number(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static size_t put_sorted(uint32_t *to, const uint32_t *from, size_t count) {
    size_t used = 0;
    if (!count) return 0;
    memcpy(to, from, count * sizeof *to);
    qsort(to, count, sizeof *to, by_number);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || to[i] != to[used - 1]) to[used++] = to[i];
    }
    return used;
}

// The same filters in any order, and given twice, are the same view. Expressions and labels keep
// their order: another order only costs another view.
static bool copy_filter(filter *to, const filter *f) {
    size_t label_words = f->label_count * sizeof *f->labels / sizeof(uint32_t);
    size_t blocks = f->select_count + f->exclude_count + f->fold_count;
    uint32_t *words = malloc((blocks + f->any_count + label_words + 1) * sizeof *words),
             *next = words;
    if (!words) return false;
    *to = *f;
    to->select = next;
    to->select_count = put_sorted(next, f->select, f->select_count);
    to->exclude = next += f->select_count;
    to->exclude_count = put_sorted(next, f->exclude, f->exclude_count);
    to->fold = next += f->exclude_count;
    to->fold_count = put_sorted(next, f->fold, f->fold_count);
    to->any = next += f->fold_count;
    if (f->any_count) memcpy(next, f->any, f->any_count * sizeof *next);
    to->labels = (label_condition *)(next += f->any_count);
    if (f->label_count) memcpy(next, f->labels, f->label_count * sizeof *f->labels);
    return true;
}

static view *view_new(cache *c, generation *g, unsigned side_number, const filter *f, bool nothing,
                      const view_when *w) {
    view *v = calloc(1, sizeof *v);
    if (!v || !copy_filter(&v->filter, f)) {
        free(v);
        return NULL;
    }
    v->generation = ouro__generation_share(c->shelf, g);
    v->side_number = side_number;
    v->side = g->sides[side_number];
    v->nothing = nothing;
    if (w) v->when = *w;
    pthread_mutex_init(&v->lock, NULL);
    return v;
}

static profile *empty_like(const profile *p, error *e) {
    profile *empty = ouro__profile_like_with_blocks(p);
    if (!empty) ouro__error_memory(e);
    if (empty && ouro__profile_finish(empty, e)) return empty;
    ouro__profile_free(empty);
    return NULL;
}

static bool keep_totals(view *v, const profile *p, error *e) {
    v->totals = malloc(((size_t)p->metric_count + 1) * sizeof *v->totals);
    if (!v->totals) return ouro__fail_memory(e);
    for (uint32_t m = 0; m < p->metric_count; m++) v->totals[m] = ouro__total(p, m);
    return true;
}

// What happened in a stretch of time, and how much that is before any filter.
static profile *make_stretch(cache *c, view *v, error *e) {
    const side *s = v->side;
    const shelf_file *f = &c->shelf->files[v->side_number];
    history_span *span = &v->span;
    *span = (history_span){f->opened + v->when.from, f->opened + v->when.until};
    if (v->when.last) *span = ouro__last_span(c->shelf, v->generation, s, v->when.last);
    profile *p = f->history ? ouro__history_profile(f->history, s->profile, s->look, span, e)
                            : empty_like(s->profile, e);
    if (p && keep_totals(v, p, e)) return p;
    ouro__profile_free(p);
    return NULL;
}

// So much has a slice, before all filters but those by labels.
static bool find_slice_totals(view *v, error *e) {
    const filter only = {.labels = v->filter.labels, .label_count = v->filter.label_count};
    profile *p = ouro__filter(v->side->profile, &only, e);
    if (!p) return false;
    ouro__per_slice(p, v->when.slices);
    bool ok = keep_totals(v, p, e);
    ouro__profile_free(p);
    return ok;
}

static bool make_profile(cache *c, view *v, error *e) {
    const filter *f = &v->filter;
    bool filtered = !ouro__filter_is_empty(f), stretch = ouro__is_stretch(&v->when);
    profile *last = stretch ? make_stretch(c, v, e) : NULL, *all = last ? last : v->side->profile;
    if (stretch && !last) return false;
    if (v->when.slices && !find_slice_totals(v, e)) return false;
    if (v->nothing) v->own = empty_like(all, e);
    if (!v->nothing && filtered) v->own = ouro__filter(all, f, e);
    if (!v->nothing && !filtered) v->own = last;
    if (last && v->own != last) ouro__profile_free(last);
    v->profile = v->own ? v->own : v->side->profile;
    if (v->own && v->when.slices) ouro__per_slice(v->own, v->when.slices);
    return v->own || !(filtered || v->nothing);
}

// Needs no lock: other requests wait until the view is ready.
static bool make(cache *c, view *v, error *e) {
    const filter *f = &v->filter;
    if (!make_profile(c, v, e)) return false;
    v->metrics = calloc((size_t)v->profile->metric_count + 1, sizeof *v->metrics);
    if (!v->metrics) return ouro__fail_memory(e);
    for (uint32_t m = 0; m < v->profile->metric_count; m++) {
        for (int part = 0; part < PARTS; part++)
            pthread_mutex_init(&v->metrics[m].locks[part], NULL);
    }
    v->bytes = bytes_at(v) + bytes_at(v->metrics) + bytes_at((void *)(uintptr_t)f->select) +
               bytes_at(v->totals) + (v->own ? ouro__profile_bytes(v->own) : 0);
    return true;
}

// ---------------------------------------------------------------- the cache

static bool same_blocks(const uint32_t *a, size_t n, const uint32_t *b, size_t m) {
    return n == m && (n == 0 || memcmp(a, b, n * sizeof *a) == 0);
}

static bool same_labels(const label_condition *a, size_t n, const label_condition *b, size_t m) {
    return n == m && (n == 0 || memcmp(a, b, n * sizeof *a) == 0);
}

static bool same_when(const view_when *a, const view_when *b) {
    return a->last == b->last && a->from == b->from && a->until == b->until &&
           a->slices == b->slices;
}

static bool is_same(const view *a, const view *b) {
    const filter *f = &a->filter, *g = &b->filter;
    return a->generation == b->generation && a->side_number == b->side_number &&
           a->nothing == b->nothing && same_when(&a->when, &b->when) &&
           same_blocks(f->select, f->select_count, g->select, g->select_count) &&
           same_blocks(f->exclude, f->exclude_count, g->exclude, g->exclude_count) &&
           same_blocks(f->fold, f->fold_count, g->fold, g->fold_count) &&
           same_blocks(f->any, f->any_count, g->any, g->any_count) &&
           same_labels(f->labels, f->label_count, g->labels, g->label_count);
}

static view *find(const cache *c, const view *like) {
    for (unsigned i = 0; i < c->count; i++) {
        if (is_same(c->views[i], like)) return c->views[i];
    }
    return NULL;
}

// Takes a view out of the cache. Returns it if no request uses it: then the caller frees it.
static view *take_out(cache *c, unsigned i) {
    view *v = c->views[i];
    c->views[i] = c->views[--c->count];
    return --v->references == 0 ? v : NULL;
}

static bool is_idle(const view *v) { return v->references == 1 && v->state != VIEW_MAKING; }

// The least recently used view that no request uses; `count`: all are in use.
static unsigned oldest(const cache *c) {
    unsigned best = c->count;
    for (unsigned i = 0; i < c->count; i++) {
        if (!is_idle(c->views[i])) continue;
        if (best == c->count || c->views[i]->used < c->views[best]->used) best = i;
    }
    return best;
}

size_t ouro__cache_bytes(const cache *c) {
    size_t bytes = 0;
    for (unsigned i = 0; i < c->count; i++) bytes += c->views[i]->bytes;
    return bytes;
}

// The view is idle: nobody looks at its parts.
static void keep_one_metric(view *v) {
    for (uint32_t m = 0; m < v->profile->metric_count; m++) {
        if (m == v->metric) continue;
        v->bytes -= part_bytes(&v->metrics[m]);
        part_free(&v->metrics[m]);
    }
}

// Under the lock: no two views are the same, each is used at least by the cache, and those that are
// being made are as many as `making` says, or wait for their turn.
bool ouro__cache_is_valid(const cache *c) {
    unsigned unmade = 0;
    for (unsigned i = 0; i < c->count; i++) {
        if (c->views[i]->references < 1 || find(c, c->views[i]) != c->views[i]) return false;
        unmade += c->views[i]->state == VIEW_MAKING;
    }
    return c->count <= VIEWS_MOST && c->making <= MAKING_MOST && c->making <= unmade;
}

static unsigned evict_old(cache *c, view *gone[VIEWS_MOST]) {
    unsigned count = 0;
    for (unsigned i = c->count; i-- > 0;) {
        if (c->views[i]->generation->old && is_idle(c->views[i])) gone[count++] = take_out(c, i);
    }
    return count;
}

// Makes room among the views that no request uses. They are collected in `gone`, to be freed
// without the lock.
static unsigned evict(cache *c, view *gone[VIEWS_MOST]) {
    unsigned count = 0;
    for (;;) {
        unsigned i = oldest(c);
        bool crowded = c->count == VIEWS_MOST, large = ouro__cache_bytes(c) > c->bytes_most;
        if (i == c->count || !(crowded || large)) return count;
        if (!crowded && c->views[i]->used == c->clock) {
            keep_one_metric(c->views[i]);
            return count;
        }
        gone[count++] = take_out(c, i);
    }
}

static void free_all(cache *c, view *const *gone, unsigned count) {
    for (unsigned i = 0; i < count; i++) view_free(c, gone[i]);
}

void ouro__cache_forget_old(cache *c) {
    view *gone[VIEWS_MOST];
    pthread_mutex_lock(&c->lock);
    unsigned count = evict_old(c, gone);
    pthread_mutex_unlock(&c->lock);
    free_all(c, gone, count);
}

// Makes v, which is in the cache. The caller has the lock, which is released meanwhile.
static void make_in_turn(cache *c, view *v) {
    while (c->making == MAKING_MOST) pthread_cond_wait(&c->changed, &c->lock);
    c->making++;
    pthread_mutex_unlock(&c->lock);
    error e = {0};
    bool ok = make(c, v, &e);
    pthread_mutex_lock(&c->lock);
    c->making--;
    v->state = ok ? VIEW_READY : VIEW_FAILED;
    v->problem = e;
    pthread_cond_broadcast(&c->changed);
}

// Puts a view into the cache. NULL: there is no room, not even after evicting.
static view *enter(cache *c, view *v) {
    if (c->count == VIEWS_MOST) return NULL;
    v->references = 1; // the cache's own
    c->views[c->count++] = v;
    return v;
}

view *ouro__cache_view(cache *c, generation *g, unsigned side_number, const filter *f, bool nothing,
                       const view_when *w, error *problem) {
    view *gone[VIEWS_MOST];
    view *asked = view_new(c, g, side_number, f, nothing, w);
    if (!asked) {
        ouro__error_memory(problem);
        return NULL;
    }
    pthread_mutex_lock(&c->lock);
    unsigned count = 0;
    view *v = find(c, asked);
    if (!v) {
        count = evict_old(c, gone);
        count += evict(c, gone + count);
        v = enter(c, asked);
    }
    if (v) {
        v->references++;
        v->used = ++c->clock;
        if (v == asked) make_in_turn(c, v);
        while (v->state == VIEW_MAKING) pthread_cond_wait(&c->changed, &c->lock);
    }
    bool ok = v && v->state == VIEW_READY;
    if (v && !ok) *problem = v->problem;
    if (!v) ouro__error_set(problem, EAGAIN, "too many different filters at the same time");
    assert(ouro__cache_is_valid(c));
    pthread_mutex_unlock(&c->lock);
    free_all(c, gone, count);
    if (v != asked) view_free(c, asked);
    if (ok) return v;
    if (v) ouro__cache_release(c, v);
    return NULL;
}

void ouro__cache_release(cache *c, view *v) {
    view *gone[VIEWS_MOST];
    pthread_mutex_lock(&c->lock);
    for (unsigned i = 0; v->state == VIEW_FAILED && i < c->count; i++) {
        if (c->views[i] == v) take_out(c, i);
    }
    bool last = --v->references == 0;
    unsigned count = evict(c, gone);
    assert(ouro__cache_is_valid(c));
    pthread_mutex_unlock(&c->lock);
    if (last) view_free(c, v);
    free_all(c, gone, count);
}

void ouro__cache_free(cache *c) {
    while (c->count) {
        view *v = take_out(c, 0);
        if (v) view_free(c, v);
    }
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->changed);
}

// ---------------------------------------------------------------- parts

const int64_t *ouro__view_running(view *v, uint32_t m) {
    view_metric *part = &v->metrics[m];
    v->metric = m;
    pthread_mutex_lock(&part->locks[PART_RUNNING]);
    if (!part->running) {
        part->running = ouro__running(v->profile, m);
        v->bytes += bytes_at(part->running);
    }
    const int64_t *running = part->running;
    pthread_mutex_unlock(&part->locks[PART_RUNNING]);
    return running;
}

int64_t ouro__view_left(view *v, uint32_t m) {
    view_metric *part = &v->metrics[m];
    if (!v->own) return ouro__view_all(v)[m];
    pthread_mutex_lock(&part->locks[PART_RUNNING]);
    if (!part->has_left) part->left = ouro__total(v->profile, m);
    part->has_left = true;
    int64_t left = part->left;
    pthread_mutex_unlock(&part->locks[PART_RUNNING]);
    return left;
}

const totals *ouro__view_totals(view *v, uint32_t m) {
    view_metric *part = &v->metrics[m];
    v->metric = m;
    pthread_mutex_lock(&part->locks[PART_TOTALS]);
    if (!part->has_totals) {
        part->has_totals = ouro__totals(v->profile, m, NULL, 0, &part->totals);
        v->bytes += totals_bytes(&part->totals);
    }
    bool ok = part->has_totals;
    pthread_mutex_unlock(&part->locks[PART_TOTALS]);
    return ok ? &part->totals : NULL;
}

const knots *ouro__view_knots(view *v, uint32_t m) {
    view_metric *part = &v->metrics[m];
    v->metric = m;
    pthread_mutex_lock(&part->locks[PART_KNOTS]);
    if (!part->has_knots) {
        part->has_knots = ouro__knots(v->profile, m, &part->knots);
        v->bytes += knots_bytes(&part->knots);
    }
    bool ok = part->has_knots;
    pthread_mutex_unlock(&part->locks[PART_KNOTS]);
    return ok ? &part->knots : NULL;
}

const knots *ouro__view_drawn_knots(view *v, uint32_t m) {
    view_metric *part = &v->metrics[m];
    if (!ouro__view_knots(v, m)) return NULL;
    pthread_mutex_lock(&part->locks[PART_KNOTS]);
    if (!part->has_edges) {
        v->bytes -= knots_bytes(&part->knots);
        part->has_edges = ouro__knot_edges(v->profile, m, &part->knots);
        v->bytes += knots_bytes(&part->knots);
    }
    bool ok = part->has_edges;
    pthread_mutex_unlock(&part->locks[PART_KNOTS]);
    return ok ? &part->knots : NULL;
}

const uint8_t *ouro__view_present(view *v) {
    const profile *p = v->profile;
    pthread_mutex_lock(&v->lock);
    if (!v->present && (v->present = calloc((size_t)p->block_count + 1, 1))) {
        v->bytes += bytes_at(v->present);
        for (uint32_t n = 1; n < p->node_count; n++) v->present[p->block[n]] = 1;
    }
    const uint8_t *present = v->present;
    pthread_mutex_unlock(&v->lock);
    return present;
}

const recursion *ouro__view_recursed(view *v) {
    pthread_mutex_lock(&v->lock);
    if (!v->recursed && (v->recursed = ouro__recursion(v->profile)))
        v->bytes += bytes_at(v->recursed);
    const recursion *recursed = v->recursed;
    pthread_mutex_unlock(&v->lock);
    return recursed;
}

const findings *ouro__view_findings(view *v, uint32_t m) {
    view_metric *part = &v->metrics[m];
    const totals *t = ouro__view_totals(v, m);
    const knots *k = ouro__view_knots(v, m);
    const recursion *recursed = ouro__view_recursed(v);
    if (!t || !k || !recursed) return NULL;
    pthread_mutex_lock(&part->locks[PART_FINDINGS]);
    if (!part->has_findings)
        part->has_findings = ouro__findings(v->profile, m, t, k, recursed, &part->findings);
    bool ok = part->has_findings;
    pthread_mutex_unlock(&part->locks[PART_FINDINGS]);
    return ok ? &part->findings : NULL;
}

const uint64_t *ouro__view_ids(view *v) {
    pthread_mutex_lock(&v->lock);
    if (!v->ids) {
        v->ids = ouro__path_ids(v->profile, &v->side->labels);
        v->bytes += bytes_at(v->ids);
    }
    const uint64_t *ids = v->ids;
    pthread_mutex_unlock(&v->lock);
    return ids;
}
