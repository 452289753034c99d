// SPDX-License-Identifier: MIT
//
// A least-recently-used list of generations by the text of their choices. Sides are shared: what a
// page shows alone and what it compares with another choice is asked once.
//
// An answer takes memory while it is made, so at most STORES_MOST requests ask the store at the
// same time, each over a connection of its own. A request whose question is being answered for
// another request waits for that answer. A request that finds an answer waits for nothing.

#include "shared.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HELD_MOST = 16, STORES_MOST = 4 };

#define HELD_BYTES ((size_t)48 << 20) // of the profiles that are kept, but for the last one
#define ASKING_SHARE 5                // at most a fifth of the time is spent asking for news

typedef struct {
    char *where, *with; // NULL: it is not compared
    generation *generation;
    double took; // seconds that asking took
    uint64_t used;
} held;

struct choices {
    uint32_t paths_most;
    bool strict;
    // Under the shelf's lock.
    held list[HELD_MOST];
    unsigned count;
    uint64_t clock;

    pthread_mutex_t lock; // of all below
    pthread_cond_t changed;
    store *first, *idle[STORES_MOST]; // the first is the caller's
    unsigned idle_count, store_count;
    shared *made; // the answers that are being made

    void (*waits)(void *user, bool begins); // may be NULL
    void *waits_user;
};

uint64_t ouro__choices_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

choices *ouro__choices_new(store *s, uint32_t paths_most, bool strict) {
    choices *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    c->first = c->idle[0] = s;
    c->idle_count = c->store_count = 1;
    c->paths_most = paths_most;
    c->strict = strict;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->changed, NULL);
    return c;
}

void ouro__choices_on_wait(choices *c, void (*waits)(void *user, bool begins), void *user) {
    c->waits = waits;
    c->waits_user = user;
}

static void held_free(shelf *s, held *h) {
    if (h->generation) ouro__generation_release(s, h->generation);
    free(h->where);
    free(h->with);
}

void ouro__choices_free(choices *c, shelf *s) {
    if (!c) return;
    for (unsigned i = 0; i < c->count; i++) held_free(s, &c->list[i]);
    for (unsigned i = 0; i < c->idle_count; i++) {
        if (c->idle[i] != c->first) ouro__store_close(c->idle[i]);
    }
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

// ---------------------------------------------------------------- stores

// Opens one more. The caller holds the lock, which is released while the store is opened. Returns
// NULL if it cannot be opened.
static store *open_another(choices *c) {
    error e = {0};
    c->store_count++;
    pthread_mutex_unlock(&c->lock);
    store *another = ouro__store_again(c->first, &e);
    pthread_mutex_lock(&c->lock);
    if (!another) c->store_count--;
    return another;
}

// A store for this thread. If no other can be opened, the thread waits for one that is there.
static store *take_store(choices *c) {
    store *taken = NULL;
    pthread_mutex_lock(&c->lock);
    if (!c->idle_count && c->store_count < STORES_MOST) taken = open_another(c);
    while (!taken && !c->idle_count) pthread_cond_wait(&c->changed, &c->lock);
    if (!taken) taken = c->idle[--c->idle_count];
    pthread_mutex_unlock(&c->lock);
    return taken;
}

static void give_back(choices *c, store *s) {
    pthread_mutex_lock(&c->lock);
    c->idle[c->idle_count++] = s;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

// ---------------------------------------------------------------- shared answers

static shared *shared_new(const char *question) {
    shared *s = calloc(1, sizeof *s);
    if (s && !(s->question = strdup(question))) {
        free(s);
        s = NULL;
    }
    return s;
}

// Returns the answer to this question that is being made, or NULL. The caller holds the lock.
static shared *find_shared(const choices *c, const char *question) {
    shared *s = c->made;
    while (s && strcmp(s->question, question) != 0) s = s->next;
    return s;
}

static void wait_for_shared(choices *c, const shared *s) {
    if (c->waits) c->waits(c->waits_user, true);
    pthread_mutex_lock(&c->lock);
    while (!s->done) pthread_cond_wait(&c->changed, &c->lock);
    pthread_mutex_unlock(&c->lock);
    if (c->waits) c->waits(c->waits_user, false);
}

// Returns the answer to a question, or NULL if memory runs out. If *make is set, the caller must
// make it and then call end_shared; otherwise another request has made it.
static shared *join_shared(choices *c, const char *question, bool *make) {
    pthread_mutex_lock(&c->lock);
    shared *s = find_shared(c, question);
    *make = !s;
    if (*make && (s = shared_new(question))) {
        s->next = c->made;
        c->made = s;
    }
    if (s) s->users++;
    pthread_mutex_unlock(&c->lock);
    if (s && !*make) wait_for_shared(c, s);
    return s;
}

// Wakes the requests that share the answer; each gets a reference to its generation, which is one
// of the shelf `of`. A request that comes later asks anew.
static void end_shared(choices *c, shared *s, shelf *of) {
    pthread_mutex_lock(&c->lock);
    shared **at = &c->made;
    while (*at != s) at = &(*at)->next;
    *at = s->next;
    if (s->generation) {
        pthread_mutex_lock(&of->lock);
        s->generation->references += s->users - 1;
        pthread_mutex_unlock(&of->lock);
    }
    s->done = true;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

void ouro__shared_release(choices *c, const shared *given) {
    shared *s = (shared *)given;
    pthread_mutex_lock(&c->lock);
    bool last = --s->users == 0;
    pthread_mutex_unlock(&c->lock);
    if (!last) return;
    ouro__store_offer_free(&s->offer);
    ouro__series_free(&s->series);
    free(s->question);
    free(s);
}

// Asks for a chart, without `q` for what can be chosen, without a choice for metrics.
static void ask_store(choices *c, shared *s, const char *where, const series_question *q) {
    choice meant = {0};
    if (where && !ouro__choice_parse(where, ouro__choices_now(), &meant, &s->problem)) return;
    meant.strict = c->strict;
    store *taken = take_store(c);
    if (!where)
        ouro__store_metrics(taken, &s->offer, &s->problem);
    else if (q)
        ouro__store_series(taken, &meant, q, &s->series, &s->problem);
    else
        ouro__store_offer(taken, &meant, &s->offer, &s->problem);
    give_back(c, taken);
    ouro__choice_free(&meant);
}

static const shared *ask_shared(choices *c, const char *question, const char *where,
                                const series_question *q, error *e) {
    bool make;
    shared *s = question ? join_shared(c, question, &make) : NULL;
    if (!s) {
        ouro__error_memory(e);
        return NULL;
    }
    if (make) {
        ask_store(c, s, where, q);
        end_shared(c, s, NULL);
    }
    if (!s->problem.code) return s;
    *e = s->problem;
    ouro__shared_release(c, s);
    return NULL;
}

const shared *ouro__choices_offer(choices *c, const char *where, error *e) {
    char *question = NULL;
    if (asprintf(&question, where ? "offer %s" : "metrics", where) < 0) question = NULL;
    const shared *s = ask_shared(c, question, where, NULL, e);
    free(question);
    return s;
}

const shared *ouro__choices_series(choices *c, const char *where, const series_question *q,
                                   error *e) {
    const store_metric *m = q->metric;
    char *question = NULL;
    if (asprintf(&question, "series %llu %llu %u %u %u %zu %s %zu %s %s %s",
                 (unsigned long long)q->from, (unsigned long long)q->step, q->steps, q->most,
                 m->decimals, strlen(m->name), m->name, q->label ? strlen(q->label) : 0,
                 q->label ? q->label : "", m->unit, where) < 0)
        question = NULL;
    const shared *s = ask_shared(c, question, where, q, e);
    free(question);
    return s;
}

// ---------------------------------------------------------------- what is there

static bool same_text(const char *a, const char *b) { return a && b ? strcmp(a, b) == 0 : a == b; }

static held *find(choices *c, const chosen_sides *asked) {
    for (unsigned i = 0; i < c->count; i++) {
        held *h = &c->list[i];
        if (same_text(h->where, asked->where) && same_text(h->with, asked->with)) return h;
    }
    return NULL;
}

static double age_of(const generation *g) {
    double oldest = g->sides[0]->seen;
    for (unsigned i = 1; i < g->side_count; i++) {
        if (g->sides[i]->seen < oldest) oldest = g->sides[i]->seen;
    }
    return ouro__seconds() - oldest;
}

// Under the shelf's lock. Asking often must not keep the store busy.
static bool is_fresh(const held *h, double fresh) {
    double least = h->took * ASKING_SHARE;
    return fresh < 0 || age_of(h->generation) <= (fresh > least ? fresh : least);
}

// What is there, shared; NULL: nothing. *due: it is older than it may be.
static generation *look_up(choices *c, shelf *s, const chosen_sides *asked, bool *due) {
    pthread_mutex_lock(&s->lock);
    held *h = find(c, asked);
    generation *g = h ? h->generation : NULL;
    *due = !h || !is_fresh(h, asked->fresh);
    if (h) h->used = ++c->clock;
    if (g) g->references++;
    pthread_mutex_unlock(&s->lock);
    return g;
}

// A side that was asked for with the same words, kept by the caller; NULL: there is none.
static side *find_side(choices *c, shelf *s, const char *where, double fresh, double *took) {
    side *found = NULL;
    pthread_mutex_lock(&s->lock);
    for (unsigned i = 0; i < c->count && !found; i++) {
        const generation *g = c->list[i].generation;
        for (unsigned n = 0; n < g->side_count; n++) {
            side *one = g->sides[n];
            bool new_enough = fresh < 0 || ouro__seconds() - one->seen <= fresh;
            if (strcmp(one->choice, where) == 0 && new_enough) found = one;
        }
        if (found) *took = c->list[i].took;
    }
    if (found) found->references++;
    pthread_mutex_unlock(&s->lock);
    return found;
}

// ---------------------------------------------------------------- asking

static bool same_blocks(const profile *a, const profile *b) {
    bool same = a->block_count == b->block_count;
    for (uint32_t i = 0; same && i < a->block_count; i++)
        same = strcmp(ouro__block_name(a, i), ouro__block_name(b, i)) == 0 &&
               strcmp(ouro__block_file(a, i), ouro__block_file(b, i)) == 0 &&
               a->blocks[i].line == b->blocks[i].line && a->blocks[i].column == b->blocks[i].column;
    return same;
}

static bool same_profile(const profile *a, const profile *b) {
    bool same = a->node_count == b->node_count && a->metric_count == b->metric_count &&
                same_text(a->missing, b->missing) && same_blocks(a, b) &&
                memcmp(a->parent, b->parent, a->node_count * sizeof *a->parent) == 0 &&
                memcmp(a->block + 1, b->block + 1, (a->node_count - 1) * sizeof *a->block) == 0;
    for (uint32_t m = 0; same && m < a->metric_count; m++)
        same = memcmp(a->values[m], b->values[m], a->node_count * sizeof **a->values) == 0;
    return same;
}

static side *ask(choices *c, const char *where, error *e) {
    choice meant;
    if (!ouro__choice_parse(where, ouro__choices_now(), &meant, e)) return NULL;
    meant.paths_most = c->paths_most;
    meant.strict = c->strict;
    store *taken = take_store(c);
    profile *p = ouro__store_ask(taken, &meant, e);
    give_back(c, taken);
    ouro__choice_free(&meant);
    side *one = p ? ouro__side_new(p, NULL, e) : NULL;
    if (one && !(one->choice = strdup(where))) {
        ouro__side_free(one);
        ouro__error_memory(e);
        return NULL;
    }
    if (one) one->seen = ouro__seconds();
    return one;
}

// The side of a choice, kept by the caller. One that did not change is the old one, seen now.
static side *side_of(choices *c, shelf *s, const char *where, double fresh, double *took,
                     error *e) {
    side *old = find_side(c, s, where, fresh, took);
    if (old) return old;
    double began = ouro__seconds(), unused;
    side *one = ask(c, where, e);
    *took = ouro__seconds() - began;
    if (!one) return NULL;
    old = find_side(c, s, where, -1, &unused);
    if (old && same_profile(old->profile, one->profile)) {
        pthread_mutex_lock(&s->lock);
        old->seen = one->seen;
        pthread_mutex_unlock(&s->lock);
        ouro__side_free(one);
        return old;
    }
    if (old) ouro__side_release(s, old);
    one->references = 1;
    return one;
}

// ---------------------------------------------------------------- keeping

static size_t bytes_of(const held *h) {
    size_t bytes = 0;
    for (unsigned i = 0; i < h->generation->side_count; i++)
        bytes += ouro__profile_bytes(h->generation->sides[i]->profile);
    return bytes;
}

static size_t all_bytes(const choices *c) {
    size_t bytes = 0;
    for (unsigned i = 0; i < c->count; i++) bytes += bytes_of(&c->list[i]);
    return bytes;
}

static held take_oldest(choices *c) {
    unsigned oldest = 0;
    for (unsigned i = 1; i < c->count; i++) {
        if (c->list[i].used < c->list[oldest].used) oldest = i;
    }
    held gone = c->list[oldest];
    c->list[oldest] = c->list[--c->count];
    gone.generation->old = true;
    return gone;
}

// Room for one more. What leaves is freed when no request uses it.
static void make_room(choices *c, cache *views) {
    held gone[HELD_MOST];
    unsigned count = 0;
    shelf *s = views->shelf;
    pthread_mutex_lock(&s->lock);
    while (c->count == HELD_MOST || (c->count && all_bytes(c) > HELD_BYTES))
        gone[count++] = take_oldest(c);
    pthread_mutex_unlock(&s->lock);
    for (unsigned i = 0; i < count; i++) held_free(s, &gone[i]);
    if (count) ouro__cache_forget_old(views);
}

static bool same_sides(const generation *g, side *const sides[2]) {
    return g->sides[0] == sides[0] && (g->side_count < 2 || g->sides[1] == sides[1]);
}

// The generation of these sides, shared: the one that is there if it has the same.
static generation *keep(choices *c, shelf *s, const chosen_sides *asked, side *const sides[2],
                        double took, error *e) {
    held new_one = {.where = strdup(asked->where),
                    .with = asked->with ? strdup(asked->with) : NULL},
         gone = {0};
    bool ok = new_one.where && (new_one.with || !asked->with);
    pthread_mutex_lock(&s->lock);
    held *h = find(c, asked);
    generation *g = h && same_sides(h->generation, sides) ? h->generation : NULL;
    if (!g && ok) g = ouro__generation_new(s, sides, asked->with ? 2 : 1);
    if (g && !(h && h->generation == g)) {
        new_one.generation = g;
        if (h) {
            gone = *h;
            gone.generation->old = true;
        } else {
            if (c->count == HELD_MOST) gone = take_oldest(c); // other requests took the room
            h = &c->list[c->count++];
        }
        *h = new_one;
        new_one = (held){0};
    }
    if (g) {
        h->took = took;
        h->used = ++c->clock;
        g->references++;
    }
    pthread_mutex_unlock(&s->lock);
    held_free(s, &new_one);
    held_free(s, &gone);
    if (!g) ouro__error_memory(e);
    return g;
}

static generation *make(choices *c, cache *views, const chosen_sides *asked, error *e) {
    shelf *s = views->shelf;
    side *sides[2] = {0};
    double took = 0, more = 0;
    make_room(c, views);
    sides[0] = side_of(c, s, asked->where, asked->fresh, &took, e);
    if (sides[0] && asked->with) sides[1] = side_of(c, s, asked->with, asked->fresh, &more, e);
    bool ok = sides[0] && (sides[1] || !asked->with);
    generation *g = ok ? keep(c, s, asked, sides, took + more, e) : NULL;
    for (unsigned i = 0; i < 2; i++) {
        if (sides[i]) ouro__side_release(s, sides[i]);
    }
    return g;
}

// The name of a generation among the shared answers; freed by the caller.
static char *question_of(const chosen_sides *asked) {
    char *question = NULL;
    const char *with = asked->with;
    int size = asprintf(&question, "profile %zu %s%s%s", strlen(asked->where), asked->where,
                        with ? " with " : "", with ? with : "");
    return size < 0 ? NULL : question;
}

// Made by this request, or by another one that asks the same at the same time.
static generation *share_generation(choices *c, cache *views, const chosen_sides *asked,
                                    const char *question, error *e) {
    bool mine, due = true;
    shared *s = join_shared(c, question, &mine);
    if (!s) {
        ouro__error_memory(e);
        return NULL;
    }
    if (mine) {
        generation *there = look_up(c, views->shelf, asked, &due); // made just before
        if (due && there) ouro__generation_release(views->shelf, there);
        s->generation = due ? make(c, views, asked, &s->problem) : there;
        end_shared(c, s, views->shelf);
    }
    generation *g = s->generation;
    if (!g) *e = s->problem;
    ouro__shared_release(c, s);
    return g;
}

static bool is_being_made(choices *c, const char *question) {
    pthread_mutex_lock(&c->lock);
    bool found = find_shared(c, question) != NULL;
    pthread_mutex_unlock(&c->lock);
    return found;
}

generation *ouro__choices_generation(choices *c, cache *views, const chosen_sides *asked,
                                     error *e) {
    bool due;
    shelf *s = views->shelf;
    generation *there = look_up(c, s, asked, &due);
    if (there && !due) return there;
    char *question = question_of(asked);
    bool waits = question && !(there && is_being_made(c, question));
    generation *g = waits ? share_generation(c, views, asked, question, e) : NULL;
    if (!question) ouro__error_memory(e);
    free(question);
    if (there && !waits) return there; // another request asks already
    if (there) ouro__generation_release(s, there);
    return g;
}
