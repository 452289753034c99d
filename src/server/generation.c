// SPDX-License-Identifier: MIT
//
// The open files, and live ones read again.
//
// Only the request that found a reading due waits for it: others get the generation that is there.
// A recorded program writes through a mapping, which does not change the file's times. So the file
// of a running program is read to see whether it changed, and the time between two looks grows with
// the time that reading takes.

#include "generation.h"

#include "questions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOOK_EVERY 0.4                  // seconds, at least
#define LOOK_SHARE 5                    // at most a fifth of the time is spent reading
#define HISTORY_MOST ((size_t)32 << 20) // bytes of slices, per file
// Who looks at the last seconds of an idle program sees them pass, for so long after asking.
#define ASKED_FOR 30.0

enum { ADDED_BLOCKS = 2 }; // blocks that a filter may add, like (folded); they sort before others

double ouro__seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

// ---------------------------------------------------------------- sides

typedef struct {
    const profile *profile;
    bool files;
} text_order;

static int by_text(const void *a, const void *b, void *user) {
    const text_order *order = user;
    const profile *p = order->profile;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int way = order->files ? strcmp(ouro__block_file(p, x), ouro__block_file(p, y)) : 0;
    if (!way && order->files && p->blocks[x].line != p->blocks[y].line)
        way = p->blocks[x].line < p->blocks[y].line ? -1 : 1;
    if (!way) way = strcmp(ouro__block_name(p, x), ouro__block_name(p, y));
    return way ? way : x < y ? -1 : x > y;
}

static int64_t *ranks(const profile *p, bool files) {
    size_t room = (size_t)p->block_count + ADDED_BLOCKS;
    uint32_t *sorted = malloc(room * sizeof *sorted);
    int64_t *rank = malloc(room * sizeof *rank);
    if (!sorted || !rank) {
        free(sorted);
        free(rank);
        return NULL;
    }
    for (uint32_t b = 0; b < p->block_count; b++) sorted[b] = b;
    qsort_r(sorted, p->block_count, sizeof *sorted, by_text, &(text_order){p, files});
    for (uint32_t i = 0; i < p->block_count; i++) rank[sorted[i]] = i;
    for (uint32_t b = 0; b < ADDED_BLOCKS; b++) rank[p->block_count + b] = -1;
    free(sorted);
    return rank;
}

static int64_t *totals_of(const profile *p, const part_info *w) {
    int64_t *sums = malloc(((size_t)p->metric_count + 1) * sizeof *sums);
    for (uint32_t m = 0; sums && m < p->metric_count; m++)
        sums[m] = w ? w->totals[m] : ouro__total(p, m);
    return sums;
}

void ouro__side_free(side *s) {
    if (!s) return;
    ouro__labels_free(&s->labels);
    ouro__profile_free(s->profile);
    free(s->by_name);
    free(s->by_file);
    free(s->totals);
    free(s->choice);
    free(s);
}

side *ouro__side_new(profile *p, const part_info *w, error *e) {
    side *s = calloc(1, sizeof *s);
    if (s) s->profile = p;
    if (s) s->part = w;
    if (!s) ouro__profile_free(p);
    bool ok = s && ouro__labels_init(&s->labels, p) && (s->by_name = ranks(p, false)) &&
              (s->by_file = ranks(p, true)) && (s->totals = totals_of(p, w));
    if (ok) return s;
    ouro__side_free(s);
    ouro__error_memory(e);
    return NULL;
}

// ---------------------------------------------------------------- generations

generation *ouro__generation_new(shelf *s, side *const sides[2], unsigned count) {
    generation *g = calloc(1, sizeof *g);
    if (!g) return NULL;
    g->references = 1;
    g->number = ++s->number;
    g->time = ouro__seconds();
    g->side_count = count;
    for (unsigned i = 0; i < count; i++) {
        g->sides[i] = sides[i];
        g->sides[i]->references++;
    }
    return g;
}

// A side that is NULL stays as it was. Under the lock.
static generation *generation_after(shelf *s, const generation *old, side *const sides[2]) {
    side *both[2] = {sides[0] ? sides[0] : old->sides[0], sides[1] ? sides[1] : old->sides[1]};
    return ouro__generation_new(s, both, old->side_count);
}

void ouro__side_release(shelf *s, side *one) {
    pthread_mutex_lock(&s->lock);
    bool last = --one->references == 0;
    pthread_mutex_unlock(&s->lock);
    if (last) ouro__side_free(one);
}

generation *ouro__generation_share(shelf *s, generation *g) {
    pthread_mutex_lock(&s->lock);
    g->references++;
    pthread_mutex_unlock(&s->lock);
    return g;
}

void ouro__generation_release(shelf *s, generation *g) {
    side *gone[2] = {0};
    pthread_mutex_lock(&s->lock);
    bool last = --g->references == 0;
    for (unsigned i = 0; last && i < g->side_count; i++) {
        if (--g->sides[i]->references == 0) gone[i] = g->sides[i];
    }
    pthread_mutex_unlock(&s->lock);
    if (!last) return;
    ouro__side_free(gone[0]);
    ouro__side_free(gone[1]);
    free(g);
}

// ---------------------------------------------------------------- reading again

static bool same_file(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static bool same_contents(const profile *a, const profile *b) {
    bool same = a->node_count == b->node_count && a->block_count == b->block_count &&
                a->metric_count == b->metric_count && a->running == b->running &&
                a->start_time == b->start_time;
    for (uint32_t m = 0; same && m < a->metric_count; m++)
        same = memcmp(a->values[m], b->values[m], a->node_count * sizeof **a->values) == 0;
    return same;
}

static side *seen_side(shelf_file *f, side *one) {
    if (!one) return NULL;
    one->seen = ouro__seconds();
    if (f->history) one->look = ouro__history_add(f->history, one->profile, one->seen);
    return one;
}

// NULL: nothing new, or it cannot be read at this moment.
static side *look_again(shelf *s, shelf_file *f, const profile *old) {
    struct stat now;
    error e;
    if (!f->live || stat(f->path, &now) != 0 || !S_ISREG(now.st_mode)) return NULL;
    if (!old->running && same_file(&now, &f->seen)) return NULL;
    profile *p = s->options.read_again(s->options.user, f->path, &e);
    if (!p) return NULL;
    f->seen = now;
    if (!same_contents(p, old)) return seen_side(f, ouro__side_new(p, NULL, &e));
    ouro__profile_free(p);
    return NULL;
}

// Nothing is new, but somebody looks at the last seconds of a running program: they pass.
static bool time_passes(shelf *s, const generation *g) {
    bool running = false;
    for (unsigned i = 0; i < g->side_count; i++) running |= g->sides[i]->profile->running;
    return running && ouro__seconds() - s->asked < ASKED_FOR;
}

static void look(shelf *s, generation *old) {
    side *sides[2] = {0};
    double started = ouro__seconds();
    for (unsigned i = 0; i < s->options.file_count; i++)
        sides[i] = look_again(s, &s->files[i], old->sides[i]->profile);
    double took = ouro__seconds() - started;
    pthread_mutex_lock(&s->lock);
    bool news = sides[0] || sides[1] || time_passes(s, old);
    generation *next = news ? generation_after(s, old, sides) : NULL;
    if (next) s->newest = next;
    if (next) old->old = true;
    s->next_look =
        ouro__seconds() + (took * LOOK_SHARE > LOOK_EVERY ? took * LOOK_SHARE : LOOK_EVERY);
    pthread_mutex_unlock(&s->lock);
    if (next) ouro__generation_release(s, old); // the shelf's own reference
    if (next) return;
    ouro__side_free(sides[0]);
    ouro__side_free(sides[1]);
}

static generation *current(shelf *s, bool *due) {
    pthread_mutex_lock(&s->lock);
    generation *g = s->newest;
    g->references++;
    *due = (s->files[0].live || s->files[1].live) && ouro__seconds() >= s->next_look;
    pthread_mutex_unlock(&s->lock);
    return g;
}

generation *ouro__shelf_generation(shelf *s) {
    bool due;
    generation *g = current(s, &due);
    if (!due || pthread_mutex_trylock(&s->reading) != 0) return g;
    ouro__generation_release(s, g);
    g = current(s, &due); // another request may just have looked
    if (due) {
        look(s, g);
        ouro__generation_release(s, g);
        g = current(s, &due);
    }
    pthread_mutex_unlock(&s->reading);
    return g;
}

history_span ouro__last_span(shelf *s, const generation *g, const side *one, double seconds) {
    pthread_mutex_lock(&s->lock);
    s->asked = ouro__seconds();
    pthread_mutex_unlock(&s->lock);
    double end = one->profile->running ? g->time : one->seen;
    return (history_span){end - seconds, INFINITY};
}

// ---------------------------------------------------------------- opening

const char *ouro__side_title(const shelf *s, const generation *g, unsigned side_number) {
    const char *choice = g->sides[side_number]->choice;
    if (choice) return choice[strspn(choice, " ")] ? choice : "everything";
    const char *path = s->files[side_number].path, *slash = strrchr(path, '/');
    return strcmp(path, "-") == 0 ? "standard input" : slash ? slash + 1 : path;
}

static bool is_live(const profile *p, const char *path) {
    return p->format && strcmp(p->format, "ouro") == 0 && strcmp(path, "-") != 0;
}

bool ouro__shelf_open(shelf *s, const server_options *options, error *e) {
    *s = (shelf){.options = *options};
    side *sides[2] = {0};
    bool ok = true;
    for (unsigned i = 0; i < options->file_count; i++) {
        shelf_file *f = &s->files[i];
        f->path = options->files[i].path;
        f->live = options->read_again && is_live(options->files[i].profile, f->path);
        if (f->live && (stat(f->path, &f->seen) != 0 || !S_ISREG(f->seen.st_mode))) f->live = false;
        f->history = f->live ? ouro__history_new(HISTORY_MOST) : NULL;
        f->opened = ouro__seconds();
        sides[i] =
            ok ? seen_side(f, ouro__side_new(options->files[i].profile, options->files[i].part, e))
               : NULL;
        if (!ok) ouro__profile_free(options->files[i].profile);
        ok = ok && sides[i];
    }
    if (ok && options->file_count &&
        !(s->newest = ouro__generation_new(s, sides, options->file_count))) {
        ouro__error_memory(e);
        ok = false;
    }
    pthread_mutex_init(&s->lock, NULL);
    pthread_mutex_init(&s->reading, NULL);
    if (ok) return true;
    ouro__side_free(sides[0]);
    ouro__side_free(sides[1]);
    ouro__shelf_close(s);
    return false;
}

void ouro__shelf_close(shelf *s) {
    if (s->newest) ouro__generation_release(s, s->newest);
    s->newest = NULL;
    for (unsigned i = 0; i < 2; i++) ouro__history_free(s->files[i].history);
    pthread_mutex_destroy(&s->lock);
    pthread_mutex_destroy(&s->reading);
}
