// SPDX-License-Identifier: MIT
//
// A profile within the limits of somebody else's server. Servers cut paths that are too deep at
// their root or refuse the profile; either moves or loses what blocks have. Here it is summed up
// where it is seen: in blocks [pruned].

#include "remote.h"

#include "builder.h"

#include <stdlib.h>
#include <string.h>

static const char pruned_name[] = "[pruned]";

typedef struct {
    const profile *from;
    const taken_limits *limits;
    uint32_t *depth;  // by node
    double *size;     // by node: the largest share of a metric; 0: it has none
    uint8_t *kept;    // by node: it has a place of its own, or leads to one that has
    uint32_t *place;  // by node: in the copy
    uint32_t *anchor; // by node: its ancestor, or itself, that is as deep as is taken but one
} work;

static bool work_init(work *w, const profile *p, const taken_limits *l) {
    size_t n = p->node_count;
    *w = (work){.from = p,
                .limits = l,
                .depth = calloc(n, sizeof *w->depth),
                .size = calloc(n, sizeof *w->size),
                .kept = calloc(n, 1),
                .place = calloc(n, sizeof *w->place),
                .anchor = calloc(n, sizeof *w->anchor)};
    return w->depth && w->size && w->kept && w->place && w->anchor;
}

static void work_free(work *w) {
    free(w->depth);
    free(w->size);
    free(w->kept);
    free(w->place);
    free(w->anchor);
}

static double magnitude(int64_t value) { return value < 0 ? -(double)value : (double)value; }

static void measure(work *w) {
    const profile *p = w->from;
    for (uint32_t n = 1; n < p->node_count; n++) {
        uint32_t parent = p->parent[n];
        w->depth[n] = w->depth[parent] + 1;
        w->anchor[n] = w->depth[n] < w->limits->depth ? n : w->anchor[parent];
    }
    for (uint32_t m = 0; m < p->metric_count; m++) {
        double total = 0;
        for (uint32_t n = 1; n < p->node_count; n++) total += magnitude(p->values[m][n]);
        for (uint32_t n = 1; total > 0 && n < p->node_count; n++) {
            double share = magnitude(p->values[m][n]) / total;
            if (share > w->size[n]) w->size[n] = share;
        }
    }
}

static int larger_first(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

// The size from which on paths are kept, and how many of exactly that size.
static bool find_smallest(const work *w, double *least, uint32_t *of_least) {
    uint32_t count = 0, most = w->limits->paths - 1; // one is [pruned]
    double *sizes = malloc((size_t)w->from->node_count * sizeof *sizes);
    if (!sizes) return false;
    for (uint32_t n = 1; n < w->from->node_count; n++) {
        if (w->size[n] > 0) sizes[count++] = w->size[n];
    }
    *least = 0;
    *of_least = UINT32_MAX;
    if (count > w->limits->paths) {
        qsort(sizes, count, sizeof *sizes, larger_first);
        *least = sizes[most - 1];
        for (*of_least = 0; *of_least < most && sizes[most - 1 - *of_least] == *least;) ++*of_least;
    }
    free(sizes);
    return true;
}

// Which nodes have a place: those with a value that is large enough, and all above them.
static void choose(work *w, double least, uint32_t of_least, folded_counts *c) {
    const profile *p = w->from;
    for (uint32_t n = 1; n < p->node_count; n++) {
        if (w->size[n] == 0) continue;
        bool large = w->size[n] > least;
        if (!large && w->size[n] == least && of_least) {
            large = true;
            of_least--;
        }
        w->kept[n] = large;
        c->small += !large;
        c->deep += large && w->depth[n] > w->limits->depth;
    }
    for (uint32_t n = p->node_count; n-- > 1;) {
        if (w->kept[n]) w->kept[p->parent[n]] |= 2;
    }
}

static void charge(work *w, profile *to, uint32_t n, uint32_t place) {
    for (uint32_t m = 0; m < w->from->metric_count; m++) {
        if (w->from->values[m][n]) ouro__charge(to, m, place, w->from->values[m][n]);
    }
}

// Parents come before their children.
static void fill(work *w, profile *to, builder *b) {
    const profile *p = w->from;
    uint32_t small = ouro__profile_add_named(to, pruned_name, strlen(pruned_name));
    for (uint32_t n = 1; n < p->node_count && !to->failed; n++) {
        bool deep = w->depth[n] > w->limits->depth;
        if (w->kept[n] && !deep)
            w->place[n] = ouro__builder_enter(b, w->place[p->parent[n]], p->block[n]);
        if (w->size[n] == 0) continue;
        bool own = w->kept[n] & 1;
        uint32_t at = own ? w->place[w->anchor[n]] : 0;
        charge(w, to, n, own && !deep ? w->place[n] : ouro__builder_enter(b, at, small));
    }
}

// At a whole character.
static size_t cut_length(const char *text, size_t most) {
    while (most > 0 && ((unsigned char)text[most] & 0xc0) == 0x80) most--;
    return most;
}

static uint32_t cut_text(profile *p, uint32_t text, size_t longest, folded_counts *c) {
    if (ouro__text_length(&p->texts, text) <= longest) return text;
    const char *whole = ouro__text(&p->texts, text);
    char *cut = strndup(whole, cut_length(whole, longest));
    if (!cut) p->failed = ENOMEM;
    if (!cut) return text;
    uint32_t shorter = ouro__profile_add_text(p, cut);
    free(cut);
    c->texts++;
    return shorter;
}

static void cut_texts(profile *p, size_t longest, folded_counts *c) {
    for (uint32_t b = 0; b < p->block_count; b++) {
        p->blocks[b].name = cut_text(p, p->blocks[b].name, longest, c);
        p->blocks[b].file = cut_text(p, p->blocks[b].file, longest, c);
    }
}

profile *ouro__profile_within(const slice *s, const taken_limits *l, folded_counts *c, error *e) {
    work w;
    double least;
    uint32_t of_least;
    profile *to = ouro__profile_like_with_blocks(s->profile);
    builder *b = to ? ouro__builder_new(to, RULE_AS_IT_IS, 0) : NULL;
    *c = (folded_counts){0};
    bool ok = work_init(&w, s->profile, l) && b;
    if (ok) measure(&w);
    ok = ok && find_smallest(&w, &least, &of_least);
    if (ok) {
        choose(&w, least, of_least, c);
        fill(&w, to, b);
        cut_texts(to, l->longest, c);
        to->start_time = s->from * 1000000;
        to->duration = (s->until - s->from) * 1000000;
    }
    ouro__builder_free(b);
    work_free(&w);
    ok = (ok || ouro__fail_memory(e)) && ouro__profile_finish(to, e);
    if (ok) return to;
    ouro__profile_free(to);
    return NULL;
}
