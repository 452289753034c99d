// SPDX-License-Identifier: MIT
//
// Writes the viewer as one file with the profile inside: the pieces of the page that this program
// was built with, and between them the profile's columns, packed and as text. A browser needs
// nothing else. Without these pieces the file is the report of report_write.c.
//
// A file to send must not be large. If the data of a profile takes more than PACKED_MOST, its
// smallest subtrees go into [pruned] blocks, and the page says how many paths these hold.

#include "columns.h"
#include "part.h"
#include "questions.h"
#include "readers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PACKED_MOST = 1500000, PATHS_LEAST = 100 };

// ---------------------------------------------------------------- packed data

typedef struct {
    output *to;
    packer *packer;
} packing;

static void keep_packed(void *user, const void *bytes, size_t size) {
    ouro__put(((packing *)user)->to, bytes, size);
}

static char *packed(const char *bytes, size_t size, size_t *packed_size) {
    packing p = {.to = ouro__output_memory()};
    error e;
    p.packer = p.to ? ouro__packer_new(keep_packed, &p) : NULL;
    bool ok = p.packer && ouro__packer_put(p.packer, bytes, size, true);
    ouro__packer_free(p.packer);
    if (ok) return ouro__output_take(p.to, packed_size, &e);
    if (p.to) ouro__output_close(p.to, false, NULL);
    return NULL;
}

// The columns, packed; freed by the caller. NULL: out of memory.
static char *packed_columns(const shared_profile *s, uint32_t m, size_t *size) {
    output *out = ouro__output_memory();
    error e;
    bool ok = out && ouro__columns_put(s, m, out);
    size_t plain = 0;
    char *bytes = ok ? ouro__output_take(out, &plain, &e) : NULL;
    if (!ok && out) ouro__output_close(out, false, NULL);
    char *done = bytes ? packed(bytes, plain, size) : NULL;
    free(bytes);
    return done;
}

static void put_base64(output *out, const unsigned char *bytes, size_t size) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        uint32_t word = (uint32_t)bytes[i] << 16;
        if (i + 1 < size) word |= (uint32_t)bytes[i + 1] << 8;
        if (i + 2 < size) word |= bytes[i + 2];
        char four[] = {digits[word >> 18], digits[word >> 12 & 63],
                       i + 1 < size ? digits[word >> 6 & 63] : '=',
                       i + 2 < size ? digits[word & 63] : '='};
        ouro__put(out, four, sizeof four);
    }
}

// ---------------------------------------------------------------- small enough

static int by_share(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x > y ? -1 : x < y;
}

// Each path's largest share of a metric. Freed by the caller.
static double *shares(const profile *p) {
    double *share = calloc(p->node_count, sizeof *share);
    for (uint32_t m = 0; share && m < p->metric_count; m++) {
        int64_t *running = ouro__running(p, m);
        if (!running) {
            free(share);
            return NULL;
        }
        double total = (double)running[p->node_count];
        for (uint32_t n = 1; n < p->node_count && total > 0; n++)
            share[n] = fmax(share[n], (double)ouro__inclusive(p, running, n) / total);
        free(running);
    }
    return share;
}

// The profile with about `paths` paths: the largest, and [pruned] ones for the others.
static profile *cut_to(const profile *p, uint32_t paths, error *e) {
    double *share = shares(p);
    if (!share) {
        ouro__error_memory(e);
        return NULL;
    }
    qsort(share + 1, p->node_count - 1, sizeof *share, by_share);
    double least = nextafter(share[paths], 1); // of equals all stay or none
    free(share);
    return ouro__pruned(p, least, e);
}

static uint32_t paths_of(const profile *p) { return p->node_count - 1; }

// How many paths of `all` are not in `cut`, where each [pruned] path stands for some.
static uint32_t paths_missing(const profile *all, const profile *cut) {
    uint32_t kept = 0;
    for (uint32_t n = 1; n < cut->node_count; n++)
        kept += strcmp(ouro__block_name(cut, cut->block[n]), "[pruned]") != 0;
    return paths_of(all) > kept ? paths_of(all) - kept : 0;
}

static int64_t *totals_of(const profile *p) {
    int64_t *sums = malloc(((size_t)p->metric_count + 1) * sizeof *sums);
    for (uint32_t m = 0; sums && m < p->metric_count; m++) sums[m] = ouro__total(p, m);
    return sums;
}

// The data of a profile with fewer paths; *cut is how many of them are in [pruned].
static char *packed_cut(const shared_profile *s, uint32_t m, uint32_t paths, size_t *size,
                        uint32_t *cut, error *e) {
    profile *smaller = cut_to(s->profile, paths, e);
    if (!smaller) return NULL;
    smaller->format = s->profile->format;
    int64_t *sums = s->part ? NULL : totals_of(s->profile);
    part_info w = {.totals = sums, .paths = paths_of(s->profile)};
    if (s->part) w = *s->part;
    w.cut = *cut = paths_missing(s->profile, smaller);
    char *bytes =
        w.totals ? packed_columns(&(shared_profile){smaller, s->title, &w}, m, size) : NULL;
    free(sums);
    ouro__profile_free(smaller);
    return bytes;
}

static char *packed_within(const shared_profile *s, uint32_t m, size_t most, size_t *size,
                           uint32_t *cut, error *e) {
    char *bytes = packed_columns(s, m, size);
    uint32_t paths = paths_of(s->profile);
    *cut = 0;
    while (bytes && *size > most && paths > PATHS_LEAST) {
        // Packed data grows with the paths, more or less: twice as fast as by halves.
        double fitting = (double)paths * (double)most / (double)*size * 0.8;
        paths = fitting < paths / 2.0 ? (uint32_t)fitting : paths / 2;
        free(bytes);
        bytes = packed_cut(s, m, paths, size, cut, e);
    }
    return bytes;
}

// ---------------------------------------------------------------- the page

static void put_title(const write_options *o, output *out) {
    ouro__put_escaped(out, o->title ? o->title : "profile");
    if (!o->after) return;
    ouro__put_text(out, " → ");
    ouro__put_escaped(out, o->after->title ? o->after->title : "profile");
}

// For readers without scripts, and for those who look into the file.
static bool put_note(const shared_profile *s, uint32_t m, output *out) {
    char *filters = ouro__part_filters(s->part);
    if (!filters) return false;
    ouro__put_text(out, "<p>");
    ouro__put_escaped(out, s->title ? s->title : "profile");
    ouro__put_text(out, ", ");
    ouro__put_escaped(out, ouro__metric_name(s->profile, m));
    ouro__put_text(out, ":");
    ouro__put_part_amount(s->profile, m, s->part, out);
    if (*filters) ouro__put_text(out, ", with the filters ");
    ouro__put_escaped(out, filters);
    ouro__put_text(out, ".\n");
    free(filters);
    return true;
}

static void put_piece(const page_pieces *p, unsigned i, output *out) {
    ouro__put(out, p->pieces[i], p->sizes[i]);
}

static uint32_t metric_of(const profile *p, const char *name) {
    uint32_t m = ouro__profile_find_metric(p, name);
    return m == NO_ROW ? p->default_metric : m;
}

bool ouro__html_write(const profile *p, const write_options *o, output *out, error *e) {
    if (!o->page || !p->metric_count) return ouro__report_write(p, o, out, e);
    shared_profile both[] = {{p, o->title, o->part}, {0}};
    if (o->after) both[1] = *o->after;
    unsigned count = o->after ? 2 : 1;
    put_piece(o->page, 0, out);
    put_title(o, out);
    put_piece(o->page, 1, out);
    bool ok = true;
    uint32_t metrics[2], cut;
    for (unsigned i = 0; i < count && ok; i++) {
        metrics[i] = i ? metric_of(both[i].profile, ouro__metric_name(p, o->metric)) : o->metric;
        ok = put_note(&both[i], metrics[i], out);
    }
    put_piece(o->page, 2, out);
    error inner = {0};
    for (unsigned i = 0; i < count && ok; i++) {
        size_t size;
        char *bytes = packed_within(&both[i], metrics[i], PACKED_MOST / count, &size, &cut, &inner);
        ok = bytes != NULL;
        if (i && ok) ouro__put_text(out, " ");
        if (ok) put_base64(out, (const unsigned char *)bytes, size);
        free(bytes);
    }
    put_piece(o->page, 3, out);
    if (!ok && !inner.code) ouro__error_memory(&inner);
    if (!ok) *e = inner;
    return ok;
}
