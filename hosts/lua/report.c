// SPDX-License-Identifier: MIT
//
// A short report as text: the blocks with the most time (or calls, if there is no time). For
// programs that want to print something; `ouro report` says far more about a written profile.

#include "report.h"
#include "printable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 15 };

typedef struct {
    ouro_block block;
    uint64_t calls, self, overall, seen;
} row;

typedef struct {
    row *rows;
    size_t count;
    uint64_t total, total_calls, visits;
} totals;

static void on_path(void *user, const ouro_visit *visit) {
    totals *all = user;
    uint64_t amount = visit->metrics[0];
    all->visits++;
    all->total += amount;
    all->total_calls += visit->calls;
    for (size_t i = 0; i < visit->length; i++) {
        row *r = visit->path[i] < all->count ? &all->rows[visit->path[i]] : NULL;
        if (!r) continue;                                 // added since we began
        if (r->seen != all->visits) r->overall += amount; // each path once
        r->seen = all->visits;
        if (i + 1 < visit->length) continue;
        r->self += amount;
        r->calls += visit->calls;
    }
}

static int by_self(const void *a, const void *b) {
    const row *x = a, *y = b;
    if (x->self != y->self) return x->self < y->self ? 1 : -1;
    if (x->calls != y->calls) return x->calls < y->calls ? 1 : -1;
    return x->block < y->block ? -1 : x->block > y->block;
}

static double share(uint64_t part, uint64_t whole) {
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void print(FILE *out, ouro_profile *profile, const totals *all) {
    if (all->total_calls) {
        fprintf(out, "%.3f s, %llu calls\n", (double)all->total / 1e9,
                (unsigned long long)all->total_calls);
    } else {
        fprintf(out, "%.3f s; sampling counts no calls\n", (double)all->total / 1e9);
    }
    fprintf(out, "   self  overall        calls  block\n");
    for (size_t i = 0; i < all->count && i < ROWS; i++) {
        const row *r = &all->rows[i];
        ouro_block_info info;
        if (!r->seen || !ouro_block_get(profile, r->block, &info)) continue;
        char place[32] = "", calls[24] = "-";
        if (all->total_calls) snprintf(calls, sizeof calls, "%llu", (unsigned long long)r->calls);
        if (info.line) snprintf(place, sizeof place, ":%u", info.line);
        ouro__say_to(out, "%6.1f%%  %6.1f%% %12s  %s%s%s%s", share(r->self, all->total),
                     share(r->overall, all->total), calls, info.name,
                     *info.file || info.line ? "  " : "", info.file, place);
    }
}

char *report_text(ouro_profile *profile) {
    totals all = {.count = (size_t)ouro_profile_stats(profile).blocks};
    all.rows = calloc(all.count, sizeof *all.rows);
    char *text = NULL;
    size_t length;
    FILE *out = all.rows ? open_memstream(&text, &length) : NULL;
    if (out) {
        for (size_t i = 0; i < all.count; i++) all.rows[i].block = (ouro_block)i;
        bool read = ouro_profile_visit(profile, on_path, &all) == 0;
        qsort(all.rows, all.count, sizeof *all.rows, by_self);
        if (read) print(out, profile, &all);
        fclose(out);
    }
    free(all.rows);
    return text;
}
