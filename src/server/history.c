// SPDX-License-Identifier: MIT
//
// Keeps the differences between looks at a live file.
//
// Nodes of a profile get other numbers when paths are added. So there is a tree of all paths that
// were ever seen, whose nodes stay; each look walks its profile along that tree, compares with the
// values of the look before, and leaves a slice with the nodes that differ.
//
// A path may also go away, when the recorder prunes it: its amounts are then in [pruned] below the
// nearest caller that is left. They were not charged since the last look, so they are taken off
// there. If a total is less than before, the program has begun to count anew: then all that the
// file holds was charged since the last look.

#include "history.h"

#include "builder.h"
#include "questions.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SLICES_MOST = 4096, GONE_MOST = 100000 };

typedef struct {
    uint64_t number;
    double from, to;
    uint32_t count, metric_count;
    uint32_t *nodes; // of the tree, ascending
    int64_t *values; // metric_count per node
} slice;

struct history {
    pthread_mutex_t lock;
    profile *tree; // all paths; its values are those of the last look. Never finished
    builder *builder;
    uint32_t *seen; // by node of the tree: the walk that met it last
    uint32_t seen_room, walks;
    uint64_t looks;
    double now;
    slice *slices[SLICES_MOST]; // the oldest first
    uint32_t count;
    size_t bytes, most;
};

static size_t slice_bytes(const slice *s) {
    return sizeof *s + s->count * (sizeof *s->nodes + s->metric_count * sizeof *s->values);
}

static void slice_free(slice *s) {
    if (!s) return;
    free(s->nodes);
    free(s->values);
    free(s);
}

static void forget(history *h) {
    for (uint32_t i = 0; i < h->count; i++) slice_free(h->slices[i]);
    h->count = 0;
    h->bytes = 0;
    ouro__builder_free(h->builder);
    ouro__profile_free(h->tree);
    free(h->seen);
    h->builder = NULL;
    h->tree = NULL;
    h->seen = NULL;
    h->seen_room = h->walks = 0;
}

history *ouro__history_new(size_t most) {
    history *h = calloc(1, sizeof *h);
    if (!h) return NULL;
    h->most = most;
    pthread_mutex_init(&h->lock, NULL);
    return h;
}

void ouro__history_free(history *h) {
    if (!h) return;
    forget(h);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

size_t ouro__history_bytes(history *h) {
    pthread_mutex_lock(&h->lock);
    size_t bytes = h->bytes;
    pthread_mutex_unlock(&h->lock);
    return bytes;
}

// ---------------------------------------------------------------- walking a profile

static uint32_t tree_block(profile *tree, const profile *p, uint32_t b) {
    block_info info = p->blocks[b];
    info.name = ouro__profile_add_text(tree, ouro__block_name(p, b));
    info.file = ouro__profile_add_text(tree, ouro__block_file(p, b));
    return ouro__profile_add_block(tree, &info);
}

// place[n]: the node of the tree. NULL: out of memory.
static uint32_t *walk(history *h, const profile *p) {
    uint32_t *place = malloc(p->node_count * sizeof *place),
             *blocks = malloc(((size_t)p->block_count + 1) * sizeof *blocks);
    bool ok = place && blocks;
    for (uint32_t b = 0; ok && b < p->block_count; b++) blocks[b] = tree_block(h->tree, p, b);
    if (ok) place[0] = 0;
    for (uint32_t n = 1; ok && n < p->node_count; n++)
        place[n] = ouro__builder_enter(h->builder, place[p->parent[n]], blocks[p->block[n]]);
    free(blocks);
    if (ok && !h->tree->failed) return place;
    free(place);
    return NULL;
}

static bool begin(history *h, const profile *p) {
    h->tree = ouro__profile_like(p);
    h->builder = h->tree ? ouro__builder_new(h->tree, RULE_NONE, 0) : NULL;
    return h->builder != NULL;
}

// ---------------------------------------------------------------- a look

static bool same_metrics(const profile *a, const profile *b) {
    bool same = a->metric_count == b->metric_count;
    for (uint32_t m = 0; same && m < a->metric_count; m++)
        same = strcmp(ouro__metric_name(a, m), ouro__metric_name(b, m)) == 0;
    return same;
}

static bool is_less(const profile *tree, const profile *p) {
    for (uint32_t m = 0; m < p->metric_count; m++) {
        if (ouro__total(p, m) < ouro__total(tree, m)) return true;
    }
    return false;
}

static void set_to_zero(profile *tree) {
    for (uint32_t m = 0; m < tree->metric_count; m++)
        memset(tree->values[m], 0, tree->node_count * sizeof **tree->values);
}

static bool mark_seen(history *h, const profile *p, const uint32_t *place) {
    uint32_t nodes = h->tree->node_count;
    if (nodes > h->seen_room) {
        uint32_t *larger = realloc(h->seen, nodes * sizeof *larger);
        if (!larger) return false;
        memset(larger + h->seen_room, 0, (nodes - h->seen_room) * sizeof *larger);
        h->seen = larger;
        h->seen_room = nodes;
    }
    h->walks++;
    for (uint32_t n = 0; n < p->node_count; n++) h->seen[place[n]] = h->walks;
    return true;
}

// By node of the tree: what the file has now, less what it had, for a metric. The tree then has
// what the file has.
static void difference_of(history *h, const profile *p, const uint32_t *place, uint32_t m,
                          int64_t *delta) {
    int64_t *values = h->tree->values[m];
    for (uint32_t n = 0; n < h->tree->node_count; n++) {
        delta[n] = -values[n];
        values[n] = 0;
    }
    for (uint32_t n = 0; n < p->node_count; n++) {
        delta[place[n]] += p->values[m][n];
        values[place[n]] = p->values[m][n];
    }
}

// By node: where its amounts are once it is gone, which is [pruned] below the nearest node above it
// that is still there, or that node. Parents come first, so each asks its parent only.
static uint32_t *heirs(const history *h, uint32_t pruned) {
    const profile *t = h->tree;
    uint32_t *heir = malloc(t->node_count * sizeof *heir),
             *account = calloc(t->node_count, sizeof *account);
    bool ok = heir && account;
    for (uint32_t n = 1; ok && n < t->node_count; n++) {
        if (t->block[n] == pruned && h->seen[n] == h->walks) account[t->parent[n]] = n;
    }
    if (ok) heir[0] = 0;
    for (uint32_t n = 1; ok && n < t->node_count; n++) {
        uint32_t up = t->parent[n];
        heir[n] = h->seen[up] != h->walks ? heir[up] : account[up] ? account[up] : up;
    }
    free(account);
    if (ok) return heir;
    free(heir);
    return NULL;
}

static void move_to_heirs(const history *h, const uint32_t *heir, int64_t *delta) {
    for (uint32_t n = h->tree->node_count; n-- > 1;) {
        if (h->seen[n] == h->walks || !delta[n]) continue;
        delta[heir[n]] += delta[n];
        delta[n] = 0;
    }
}

// Amounts only grow. A path that has less than before was pruned and came again: all that it has is
// new, and what it had is with its heir.
static void find_again(const history *h, const uint32_t *heir, uint32_t m, int64_t *delta) {
    for (uint32_t n = h->tree->node_count; n-- > 1;) {
        int64_t value = h->tree->values[m][n];
        if (delta[n] >= 0 || h->seen[n] != h->walks || heir[n] == n) continue;
        delta[heir[n]] += delta[n] - value;
        delta[n] = value;
    }
}

// The columns become a slice of the rows that are not 0. NULL: out of memory.
static slice *make_slice(const history *h, int64_t *const *delta, double from, double to) {
    uint32_t metrics = h->tree->metric_count, nodes = h->tree->node_count, count = 0;
    uint8_t *any = calloc(nodes, 1);
    for (uint32_t m = 0; any && m < metrics; m++) {
        for (uint32_t n = 0; n < nodes; n++) any[n] |= delta[m][n] != 0;
    }
    for (uint32_t n = 0; any && n < nodes; n++) count += any[n];
    slice *s = any ? calloc(1, sizeof *s) : NULL;
    if (s) *s = (slice){h->looks, from, to, 0, metrics, NULL, NULL};
    if (s) s->nodes = malloc(((size_t)count + 1) * sizeof *s->nodes);
    if (s) s->values = malloc(((size_t)count * metrics + 1) * sizeof *s->values);
    bool ok = s && s->nodes && s->values;
    for (uint32_t n = 0; ok && n < nodes; n++) {
        if (!any[n]) continue;
        for (uint32_t m = 0; m < metrics; m++) s->values[s->count * metrics + m] = delta[m][n];
        s->nodes[s->count++] = n;
    }
    free(any);
    if (ok) return s;
    slice_free(s);
    return NULL;
}

static void keep_slice(history *h, slice *s) {
    uint32_t gone = 0;
    size_t more = slice_bytes(s);
    while (gone < h->count && (h->count - gone == SLICES_MOST || h->bytes + more > h->most)) {
        h->bytes -= slice_bytes(h->slices[gone]);
        slice_free(h->slices[gone++]);
    }
    memmove(h->slices, h->slices + gone, (h->count - gone) * sizeof *h->slices);
    h->count -= gone;
    h->slices[h->count++] = s;
    h->bytes += more;
}

static void free_columns(int64_t **columns, uint32_t count) {
    for (uint32_t m = 0; columns && m < count; m++) free(columns[m]);
    free(columns);
}

static slice *compare(history *h, const profile *p, const uint32_t *place, double now) {
    uint32_t metrics = p->metric_count, nodes = h->tree->node_count;
    uint32_t pruned = ouro__profile_add_named(h->tree, "[pruned]", 8);
    uint32_t *heir = heirs(h, pruned);
    int64_t **delta = calloc((size_t)metrics + 1, sizeof *delta);
    bool ok = delta && heir;
    for (uint32_t m = 0; ok && m < metrics; m++) {
        if (!(delta[m] = malloc(nodes * sizeof **delta))) ok = false;
        if (ok) difference_of(h, p, place, m, delta[m]);
        if (ok) move_to_heirs(h, heir, delta[m]);
        if (ok) find_again(h, heir, m, delta[m]);
    }
    slice *s = ok ? make_slice(h, delta, h->now, now) : NULL;
    free_columns(delta, metrics);
    free(heir);
    return s;
}

static bool add(history *h, const profile *p, double now) {
    bool first = !h->tree;
    if (!first && (!same_metrics(h->tree, p) ||
                   h->tree->node_count > 4 * (uint64_t)p->node_count + GONE_MOST)) {
        forget(h);
        first = true;
    }
    if (first && !begin(h, p)) return false;
    if (!first && is_less(h->tree, p)) set_to_zero(h->tree);
    uint32_t *place = walk(h, p);
    bool ok = place && mark_seen(h, p, place);
    slice *s = ok ? compare(h, p, place, now) : NULL;
    free(place);
    if (!s) return false;
    if (first) slice_free(s); // nobody knows when
    if (!first) keep_slice(h, s);
    return true;
}

uint64_t ouro__history_add(history *h, const profile *p, double now) {
    pthread_mutex_lock(&h->lock);
    uint64_t number = ++h->looks;
    if (!add(h, p, now)) {
        forget(h);
        number = 0;
    }
    h->now = now;
    pthread_mutex_unlock(&h->lock);
    return number;
}

// ---------------------------------------------------------------- asking

static bool is_asked(const slice *s, uint64_t look, const history_span *span) {
    return s->number <= look && s->to > span->from && s->from < span->until;
}

static void add_slice(const slice *s, int64_t *const *sums) {
    for (uint32_t i = 0; i < s->count; i++) {
        for (uint32_t m = 0; m < s->metric_count; m++)
            sums[m][s->nodes[i]] += s->values[i * s->metric_count + m];
    }
}

// needed[n]: something happened at node n of p or below it.
static uint8_t *find_needed(const profile *p, const uint32_t *place, int64_t *const *sums) {
    uint8_t *needed = calloc(p->node_count, 1);
    for (uint32_t m = 0; needed && m < p->metric_count; m++) {
        for (uint32_t n = 0; n < p->node_count; n++) needed[n] |= sums[m][place[n]] != 0;
    }
    for (uint32_t n = p->node_count; needed && n-- > 1;) needed[p->parent[n]] |= needed[n];
    return needed;
}

// Paths on which nothing happened are left out, as a filter does.
static bool charge_all(const profile *p, const uint32_t *place, int64_t *const *sums, profile *to) {
    uint8_t *needed = find_needed(p, place, sums);
    uint32_t *copy = malloc(p->node_count * sizeof *copy);
    bool ok = needed && copy;
    for (uint32_t n = 0; ok && n < p->node_count && !to->failed; n++) {
        if (n && !needed[n]) continue;
        copy[n] = n ? ouro__profile_add_node(to, copy[p->parent[n]], p->block[n]) : 0;
        for (uint32_t m = 0; m < p->metric_count && !to->failed; m++)
            ouro__charge(to, m, copy[n], sums[m][place[n]]);
    }
    free(needed);
    free(copy);
    return ok;
}

static void add_slices(const history *h, uint64_t look, int64_t *const *sums, history_span *span) {
    const history_span asked = *span;
    bool first = true;
    for (uint32_t i = 0; i < h->count; i++) {
        const slice *s = h->slices[i];
        if (!is_asked(s, look, &asked)) continue;
        *span = (history_span){first ? s->from : span->from, s->to};
        first = false;
        add_slice(s, sums);
    }
}

// What happened on paths that p does not have any more went where their amounts went.
static bool sum_up(history *h, const profile *p, uint64_t look, profile *to, history_span *span) {
    uint32_t *place = walk(h, p), *heir = NULL;
    int64_t **sums = calloc((size_t)p->metric_count + 1, sizeof *sums);
    bool ok = place && sums && mark_seen(h, p, place);
    uint32_t pruned = ouro__profile_add_named(h->tree, "[pruned]", 8);
    ok = ok && (heir = heirs(h, pruned));
    for (uint32_t m = 0; ok && m < p->metric_count; m++)
        ok = (sums[m] = calloc(h->tree->node_count, sizeof **sums)) != NULL;
    if (ok) add_slices(h, look, sums, span);
    for (uint32_t m = 0; ok && m < p->metric_count; m++) move_to_heirs(h, heir, sums[m]);
    ok = ok && charge_all(p, place, sums, to);
    free_columns(sums, p->metric_count);
    free(place);
    free(heir);
    return ok;
}

profile *ouro__history_profile(history *h, const profile *p, uint64_t look, history_span *span,
                               error *e) {
    profile *to = ouro__profile_like_with_blocks(p);
    bool ok = to != NULL;
    pthread_mutex_lock(&h->lock);
    if (ok && h->tree && same_metrics(h->tree, p)) ok = sum_up(h, p, look, to, span);
    pthread_mutex_unlock(&h->lock);
    if (ok && ouro__profile_finish(to, e)) return to;
    if (!ok) ouro__error_memory(e);
    ouro__profile_free(to);
    return NULL;
}

uint32_t ouro__history_totals(history *h, uint64_t look, double from, slice_totals *out,
                              uint32_t room, uint32_t metric_count) {
    const history_span span = {from, INFINITY};
    int64_t *sums = calloc((size_t)room * metric_count + 1, sizeof *sums);
    uint32_t used = 0;
    if (!sums) return UINT32_MAX;
    out[0].totals = sums;
    pthread_mutex_lock(&h->lock);
    uint32_t first = h->count;
    while (first > 0 && h->count - first < room &&
           is_asked(h->slices[first - 1], UINT64_MAX, &span))
        first--;
    for (uint32_t i = first; i < h->count; i++) {
        const slice *s = h->slices[i];
        if (!is_asked(s, look, &span) || s->metric_count != metric_count) continue;
        out[used] = (slice_totals){s->number, s->from, s->to, sums + used * metric_count};
        for (uint32_t k = 0; k < s->count * metric_count; k++)
            out[used].totals[k % metric_count] += s->values[k];
        used++;
    }
    pthread_mutex_unlock(&h->lock);
    return used;
}
