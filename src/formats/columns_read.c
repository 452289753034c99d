// SPDX-License-Identifier: MIT
//
// Reads what columns_write.c wrote. The bytes may have been changed: every number is checked before
// it is used, and no count asks for more memory than bytes are left.

#include "builder.h"
#include "columns.h"
#include "pprof_slices.h"
#include "wire.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    const unsigned char *at, *end;
    bool failed;
} reader;

static uint64_t get_number(reader *r) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && r->at < r->end; shift += 7) {
        unsigned char byte = *r->at++;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) return value;
    }
    r->failed = true;
    return 0;
}

static int64_t get_signed(reader *r) {
    uint64_t value = get_number(r);
    return (int64_t)(value >> 1 ^ (0 - (value & 1)));
}

// A number up to `most`.
static uint32_t get_up_to(reader *r, uint64_t most) {
    uint64_t value = get_number(r);
    if (value > most || value > UINT32_MAX) r->failed = true;
    return r->failed ? 0 : (uint32_t)value;
}

// How many things follow, each of which takes a byte or more.
static uint32_t get_count(reader *r) { return get_up_to(r, (uint64_t)(r->end - r->at)); }

// Freed by the caller. NULL: failed.
static char *get_string(reader *r) {
    uint32_t length = get_count(r);
    char *text = r->failed || length > r->end - r->at ? NULL : malloc((size_t)length + 1);
    if (!text || memchr(r->at, '\0', length)) {
        free(text);
        r->failed = true;
        return NULL;
    }
    memcpy(text, r->at, length);
    text[length] = '\0';
    r->at += length;
    return text;
}

static uint32_t get_text(reader *r, profile *p) {
    char *text = get_string(r);
    uint32_t number = text ? ouro__profile_add_text(p, text) : 0;
    free(text);
    return number;
}

// ---------------------------------------------------------------- the parts

static void get_head(reader *r, columns *c) {
    if (get_number(r) != COLUMNS_VERSION) r->failed = true;
    c->title = get_string(r);
    c->format = get_string(r);
    c->profile->rule = (int)get_signed(r);
    c->profile->edge_length = (int)get_signed(r);
    c->profile->start_time = get_number(r);
    c->profile->duration = get_number(r);
}

static void get_metrics(reader *r, profile *p) {
    uint32_t count = get_up_to(r, METRICS_MAX);
    p->default_metric = get_up_to(r, count ? count - 1 : 0);
    for (uint32_t m = 0; m < count && !r->failed; m++) {
        char *name = get_string(r), *unit = get_string(r);
        if (!r->failed) ouro__profile_add_metric(p, name, unit);
        if (!r->failed && !p->failed) p->metrics[m].decimals = get_up_to(r, DECIMALS_MOST);
        if (p->failed) r->failed = true;
        free(name);
        free(unit);
    }
}

static void get_blocks(reader *r, profile *p) {
    uint32_t count = get_count(r);
    block_info *blocks = calloc((size_t)count + 1, sizeof *blocks);
    if (!blocks) r->failed = true;
    for (uint32_t b = 0; b < count && !r->failed; b++) blocks[b].name = get_text(r, p);
    for (uint32_t b = 0; b < count && !r->failed; b++) blocks[b].file = get_text(r, p);
    for (uint32_t b = 0; b < count && !r->failed; b++) blocks[b].line = get_up_to(r, UINT32_MAX);
    for (uint32_t b = 0; b < count && !r->failed; b++) {
        blocks[b].column = get_up_to(r, UINT32_MAX);
        // A block that stands twice would move the numbers of all others.
        if (ouro__profile_add_block(p, &blocks[b]) != b || p->failed) r->failed = true;
    }
    free(blocks);
}

static void get_recursion(reader *r, profile *p) {
    for (uint32_t b = 0; b < p->block_count && !r->failed; b++) {
        recursion read = {.direct = get_number(r)};
        read.through = get_number(r);
        read.deepest = get_up_to(r, UINT32_MAX);
        if (!read.direct && !read.through && !read.deepest) continue;
        recursion *to = ouro__profile_recursed(p, b);
        if (!to) r->failed = true;
        if (to) *to = read;
    }
}

// The parent of each path: `up` levels above the path before.
static void get_parents(reader *r, uint32_t count, uint32_t *parent) {
    uint32_t *line = malloc(((size_t)count + 1) * sizeof *line), depth = 0; // nodes by depth
    if (!line) r->failed = true;
    if (line) line[0] = 0;
    for (uint32_t n = 1; n <= count && !r->failed; n++) {
        depth -= get_up_to(r, depth);
        parent[n] = line[depth];
        line[++depth] = n;
    }
    free(line);
}

// The builder finds a path that stands twice.
static void add_paths(reader *r, profile *p, const uint32_t *parent, uint32_t count) {
    int rule = p->rule, edge_length = p->edge_length; // of the profile, not of this builder
    builder *b = ouro__builder_new(p, RULE_NONE, 0);
    if (!b) r->failed = true;
    for (uint32_t n = 1; n <= count && !r->failed; n++) {
        uint32_t block = get_up_to(r, p->block_count - 1);
        if (!r->failed && ouro__builder_enter(b, parent[n], block) != n) r->failed = true;
        if (p->failed) r->failed = true;
    }
    p->rule = rule;
    p->edge_length = edge_length;
    ouro__builder_free(b);
}

static void get_paths(reader *r, profile *p) {
    uint32_t count = get_count(r);
    uint32_t *parent = malloc(((size_t)count + 1) * sizeof *parent);
    if (!parent) r->failed = true;
    if (!r->failed) get_parents(r, count, parent);
    if (!r->failed) ouro__profile_reserve(p, count + 1);
    if (count && !p->block_count) r->failed = true;
    if (!r->failed) add_paths(r, p, parent, count);
    for (uint32_t m = 0; m < p->metric_count; m++) {
        for (uint32_t n = 0; n <= count && !r->failed; n++) ouro__charge(p, m, n, get_signed(r));
    }
    free(parent);
}

// One sample with these labels; their set.
static uint32_t get_set(reader *r, profile *p) {
    uint32_t count = get_count(r);
    for (uint32_t i = 0; i < count && !r->failed; i++) {
        uint32_t key = get_text(r, p), value = get_text(r, p);
        if (!r->failed) ouro__tags_put(p, key, value);
    }
    return r->failed ? 0 : ouro__tags_close(p);
}

static void get_labels(reader *r, profile *p) {
    uint32_t sets = get_count(r);
    uint32_t *set = calloc((size_t)sets + 1, sizeof *set);
    if (!set) r->failed = true;
    for (uint32_t s = 1; s <= sets && !r->failed; s++) set[s] = get_set(r, p);
    uint32_t rows = get_count(r);
    for (uint32_t i = 0; i < rows && !r->failed; i++) {
        uint32_t node = get_up_to(r, p->node_count - 1), s = get_up_to(r, sets);
        for (uint32_t m = 0; m < p->metric_count && !r->failed; m++)
            ouro__tags_charge(p, m, node, set[s], get_signed(r));
    }
    free(set);
}

static void get_slices(reader *r, profile *p) {
    uint32_t lanes = get_count(r);
    if (!lanes) return;
    uint32_t metrics = get_up_to(r, METRICS_MAX), own = get_up_to(r, METRICS_MAX);
    for (uint32_t i = 0; i < lanes && !r->failed; i++) {
        uint32_t size = get_count(r);
        error e;
        wire in = {r->at, r->at, r->at + size, &e, false, 0};
        if (r->failed || size > r->end - r->at || own + metrics > p->metric_count ||
            !ouro__pprof_slices_read(p, metrics, own, in))
            r->failed = true;
        r->at += r->failed ? 0 : size;
    }
}

static void get_part(reader *r, columns *c) {
    if (!get_up_to(r, 1) || r->failed) return;
    uint32_t metrics = c->profile->metric_count;
    part_info *w = c->part = calloc(1, sizeof *w);
    int64_t *totals = malloc(((size_t)metrics + 1) * sizeof *totals);
    if (w) w->totals = totals;
    if (!w) free(totals);
    if (!w || !totals) r->failed = true;
    for (uint32_t m = 0; m < metrics && !r->failed; m++) totals[m] = get_signed(r);
    if (r->failed) return;
    w->paths = get_up_to(r, UINT32_MAX);
    w->cut = get_up_to(r, UINT32_MAX);
    uint32_t count = get_count(r);
    char **filters = calloc((size_t)count + 1, sizeof *filters);
    if (!filters) r->failed = true;
    w->filters = (const char *const *)filters;
    for (; w->filter_count < count && !r->failed; w->filter_count++)
        filters[w->filter_count] = get_string(r);
}

// ---------------------------------------------------------------- all of it

void ouro__columns_free(columns *c) {
    ouro__profile_free(c->profile);
    free(c->title);
    free(c->format);
    for (uint32_t i = 0; c->part && i < c->part->filter_count; i++)
        free((char *)(uintptr_t)c->part->filters[i]);
    if (c->part) {
        free((void *)(uintptr_t)c->part->filters);
        free((void *)(uintptr_t)c->part->totals);
    }
    free(c->part);
    *c = (columns){0};
}

bool ouro__columns_read(columns *c, const unsigned char **at, const unsigned char *end, error *e) {
    reader r = {.at = *at, .end = end};
    *c = (columns){.profile = ouro__profile_new()};
    if (!c->profile) return ouro__fail_memory(e);
    get_head(&r, c);
    if (!r.failed) get_metrics(&r, c->profile);
    if (!r.failed) get_blocks(&r, c->profile);
    if (!r.failed) get_recursion(&r, c->profile);
    if (!r.failed) get_paths(&r, c->profile);
    if (!r.failed) get_labels(&r, c->profile);
    if (!r.failed) get_slices(&r, c->profile);
    if (!r.failed) get_part(&r, c);
    *at = r.at;
    if (!r.failed && ouro__profile_finish(c->profile, e)) {
        c->profile->format = c->format;
        return true;
    }
    if (r.failed) ouro__error_set(e, EILSEQ, "the data of the page is damaged");
    ouro__columns_free(c);
    return false;
}
