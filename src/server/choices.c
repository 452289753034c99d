// SPDX-License-Identifier: MIT
//
// A least-recently-used list of generations by the text of their choices. Sides are shared: what a
// page shows alone and what it compares with another choice is asked once.
//
// The store is asked by one request at a time, because an answer takes memory while it is made. Who
// finds an answer that is there does not wait for another that is being made.

#include "choices.h"

#include "store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HELD_MOST = 16 };

#define HELD_BYTES ((size_t)48 << 20) // of the profiles that are kept, but for the last one
#define ASKING_SHARE 5                // at most a fifth of the time is spent asking for news

typedef struct {
    char *where, *with; // NULL: it is not compared
    generation *generation;
    double took; // seconds that asking took
    uint64_t used;
} held;

struct choices {
    store *store;
    uint32_t paths_most;
    bool strict;
    pthread_mutex_t asking; // held while the store is used
    // Under the shelf's lock.
    held list[HELD_MOST];
    unsigned count;
    uint64_t clock;
};

uint64_t ouro__choices_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

choices *ouro__choices_new(store *s, uint32_t paths_most, bool strict) {
    choices *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    c->store = s;
    c->paths_most = paths_most;
    c->strict = strict;
    pthread_mutex_init(&c->asking, NULL);
    return c;
}

static void held_free(shelf *s, held *h) {
    if (h->generation) ouro__generation_release(s, h->generation);
    free(h->where);
    free(h->with);
}

void ouro__choices_free(choices *c, shelf *s) {
    if (!c) return;
    for (unsigned i = 0; i < c->count; i++) held_free(s, &c->list[i]);
    pthread_mutex_destroy(&c->asking);
    free(c);
}

store *ouro__choices_take(choices *c) {
    pthread_mutex_lock(&c->asking);
    return c->store;
}

void ouro__choices_give_back(choices *c) { pthread_mutex_unlock(&c->asking); }

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
    profile *p = ouro__store_ask(c->store, &meant, e);
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

// With the store taken.
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

generation *ouro__choices_generation(choices *c, cache *views, const chosen_sides *asked,
                                     error *e) {
    bool due;
    shelf *s = views->shelf;
    generation *there = look_up(c, s, asked, &due);
    if (there && !due) return there;
    if (there && pthread_mutex_trylock(&c->asking) != 0) return there; // somebody asks already
    if (!there) {
        pthread_mutex_lock(&c->asking);
        there = look_up(c, s, asked, &due); // the one before may have asked the same
    }
    generation *g = due ? make(c, views, asked, e) : NULL;
    pthread_mutex_unlock(&c->asking);
    if (!g && !due) return there;
    if (there) ouro__generation_release(s, there);
    return g;
}
