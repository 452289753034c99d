// SPDX-License-Identifier: MIT
//
// Writes callgrind's text format, for KCachegrind and callgrind_annotate: per block its self cost,
// and per step what was charged to the paths that contain it, each path once. The format has no
// paths, only steps: that is what is lost.

#include "questions.h"
#include "readers.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    uint32_t caller, callee, until;
    int64_t calls;
} step;

typedef struct {
    const profile *profile;
    lookup lookup;
    step *steps;
    uint32_t count;
    size_t room;
    int64_t *costs;     // metric_count per step
    int64_t *self;      // metric_count per block
    uint32_t *step_of;  // by node; NO_ROW: from the root, or to itself
    uint8_t *ambiguous; // by block: another has its name and file
    uint32_t *order;    // steps by caller
} writer;

static uint32_t find_step(writer *w, uint32_t caller, uint32_t callee) {
    uint32_t hash = ouro__hash_pair(caller, callee), row;
    for (uint64_t at = ouro__lookup_first(&w->lookup, hash);
         (row = ouro__lookup_next(&w->lookup, hash, &at)) != NO_ROW;) {
        if (w->steps[row].caller == caller && w->steps[row].callee == callee) return row;
    }
    if (w->count == w->room) {
        size_t room = w->room ? w->room * 2 : 1024;
        step *steps = realloc(w->steps, room * sizeof *steps);
        if (!steps) return NO_ROW;
        w->steps = steps;
        w->room = room;
    }
    if (!ouro__lookup_add(&w->lookup, hash, w->count)) return NO_ROW;
    w->steps[w->count] = (step){caller, callee, 0, 0};
    return w->count++;
}

static bool find_steps(writer *w) {
    const profile *p = w->profile;
    uint32_t calls = ouro__profile_find_metric(p, "calls"),
             direct = ouro__profile_find_metric(p, "direct");
    for (uint32_t n = 0; n < p->node_count; n++) {
        w->step_of[n] = NO_ROW;
        if (n == 0 || p->parent[n] == 0 || p->block[n] == p->block[p->parent[n]]) continue;
        uint32_t s = w->step_of[n] = find_step(w, p->block[p->parent[n]], p->block[n]);
        if (s == NO_ROW) return false;
        // Without calls, the number of paths that take the step: the format wants one.
        w->steps[s].calls += calls == NO_ROW ? 1 : p->values[calls][n];
        if (calls != NO_ROW && direct != NO_ROW) w->steps[s].calls -= p->values[direct][n];
    }
    return true;
}

static bool add_costs(writer *w, uint32_t m) {
    const profile *p = w->profile;
    int64_t *running = ouro__running(p, m);
    if (!running) return false;
    for (uint32_t s = 0; s < w->count; s++) w->steps[s].until = 0;
    for (uint32_t n = 1; n < p->node_count; n++) {
        w->self[(size_t)p->block[n] * p->metric_count + m] += p->values[m][n];
        step *s = w->step_of[n] == NO_ROW ? NULL : &w->steps[w->step_of[n]];
        if (!s || n < s->until) continue;
        s->until = p->end[n];
        w->costs[(size_t)w->step_of[n] * p->metric_count + m] += ouro__inclusive(p, running, n);
    }
    free(running);
    return true;
}

// Steps in the order of their callers: counted, then placed.
static bool sort_steps(writer *w) {
    uint32_t blocks = w->profile->block_count, *first = calloc((size_t)blocks + 2, sizeof *first);
    w->order = malloc(((size_t)w->count + 1) * sizeof *w->order);
    if (!first || !w->order) {
        free(first);
        return false;
    }
    for (uint32_t s = 0; s < w->count; s++) first[w->steps[s].caller + 1]++;
    for (uint32_t b = 1; b <= blocks; b++) first[b] += first[b - 1];
    for (uint32_t s = 0; s < w->count; s++) w->order[first[w->steps[s].caller]++] = s;
    free(first);
    return true;
}

// ---------------------------------------------------------------- text

static bool find_ambiguous(writer *w) {
    const profile *p = w->profile;
    lookup seen = {0};
    bool ok = true;
    for (uint32_t b = 0; ok && b < p->block_count; b++) {
        uint32_t hash = ouro__hash_pair(p->blocks[b].name, p->blocks[b].file), row;
        for (uint64_t at = ouro__lookup_first(&seen, hash);
             (row = ouro__lookup_next(&seen, hash, &at)) != NO_ROW;) {
            if (p->blocks[row].name == p->blocks[b].name &&
                p->blocks[row].file == p->blocks[b].file)
                w->ambiguous[b] = w->ambiguous[row] = 1;
        }
        ok = ouro__lookup_add(&seen, hash, b);
    }
    ouro__lookup_free(&seen);
    return ok;
}

// Names without line breaks; places are added where a name alone would mix two blocks.
static void put_name(const writer *w, output *out, const char *key, uint32_t b) {
    const profile *p = w->profile;
    ouro__print(out, "%s=(%u) ", key, b + 1);
    for (const char *at = ouro__block_name(p, b); *at; at++)
        ouro__put(out, *at == '\n' || *at == '\r' ? " " : at, 1);
    if (w->ambiguous[b]) ouro__print(out, ":%u:%u", p->blocks[b].line, p->blocks[b].column);
    ouro__put_text(out, "\n");
}

static void put_costs(const writer *w, output *out, uint32_t line, const int64_t *costs) {
    ouro__print(out, "%u", line);
    for (uint32_t m = 0; m < w->profile->metric_count; m++)
        ouro__print(out, " %lld", (long long)costs[m]);
    ouro__put_text(out, "\n");
}

static void put_file(const writer *w, output *out, const char *key, uint32_t b) {
    const char *file = ouro__block_file(w->profile, b);
    ouro__print(out, "%s=(%u) %s\n", key, w->profile->blocks[b].file + 1, *file ? file : "???");
}

static void put_blocks(const writer *w, output *out) {
    const profile *p = w->profile;
    uint32_t next = 0;
    for (uint32_t b = 0; b < p->block_count; b++) {
        put_file(w, out, "fl", b);
        put_name(w, out, "fn", b);
        put_costs(w, out, p->blocks[b].line, w->self + (size_t)b * p->metric_count);
        for (; next < w->count && w->steps[w->order[next]].caller == b; next++) {
            const step *s = &w->steps[w->order[next]];
            put_file(w, out, "cfi", s->callee);
            put_name(w, out, "cfn", s->callee);
            ouro__print(out, "calls=%lld %u\n", (long long)s->calls, p->blocks[s->callee].line);
            put_costs(w, out, p->blocks[b].line,
                      w->costs + (size_t)w->order[next] * p->metric_count);
        }
        ouro__put_text(out, "\n");
    }
}

// Event names are words.
static void put_header(const profile *p, const write_options *options, output *out) {
    ouro__put_text(out, "# callgrind format\nversion: 1\ncreator: ouro\npositions: line\n");
    ouro__print(out, "cmd: %s\nevents:", options->title ? options->title : "program");
    for (uint32_t m = 0; m < p->metric_count; m++) {
        ouro__put_text(out, " ");
        for (const char *at = ouro__metric_name(p, m); *at; at++)
            ouro__put(out, strchr(" :\t\n", *at) ? "_" : at, 1);
    }
    ouro__put_text(out, "\nsummary:");
    for (uint32_t m = 0; m < p->metric_count; m++)
        ouro__print(out, " %lld", (long long)ouro__total(p, m));
    ouro__put_text(out, "\n\n");
}

bool ouro__callgrind_write(const profile *p, const write_options *options, output *out, error *e) {
    size_t width = p->metric_count ? p->metric_count : 1;
    writer w = {.profile = p,
                .step_of = malloc(p->node_count * sizeof *w.step_of),
                .self = calloc((size_t)p->block_count + 1, width * sizeof *w.self),
                .ambiguous = calloc((size_t)p->block_count + 1, 1)};
    bool ok = w.step_of && w.self && w.ambiguous && find_ambiguous(&w) && find_steps(&w) &&
              sort_steps(&w);
    w.costs = calloc((size_t)w.count + 1, width * sizeof *w.costs);
    ok = ok && w.costs;
    for (uint32_t m = 0; ok && m < p->metric_count; m++) ok = add_costs(&w, m);
    if (ok) {
        put_header(p, options, out);
        put_blocks(&w, out);
    }
    ouro__lookup_free(&w.lookup);
    free(w.steps);
    free(w.costs);
    free(w.self);
    free(w.step_of);
    free(w.ambiguous);
    free(w.order);
    return ok || ouro__fail_memory(e);
}
