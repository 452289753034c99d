// SPDX-License-Identifier: MIT
//
// ouro report --slices: how long slices took, and what the slow ones do that typical ones do not.

#include "cli.h"
#include "sliced.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WEIGHT_ROOM = 64 };

static const char *name_of(const slices *s) { return s->count ? s->lanes[0].name : "slice"; }

// What slow means: a metric of the profile, or the duration.
static const char *measure_name(const profile *p, const slices *s) {
    uint64_t by = s->count ? s->lanes[0].by : 0;
    return by ? ouro__metric_name(p, (uint32_t)(s->own + by - 1)) : "duration";
}

static const char *measure_unit(const profile *p, const slices *s) {
    uint64_t by = s->count ? s->lanes[0].by : 0;
    return by ? ouro__metric_unit(p, (uint32_t)(s->own + by - 1)) : "nanoseconds";
}

static const char *weight_text(char text[static WEIGHT_ROOM], double value, const char *unit) {
    static const char *const units[] = {"ns", "us", "ms", "s"};
    int step = 0;
    if (strcmp(unit, "nanoseconds") != 0) {
        bool count = strcmp(unit, "count") == 0;
        snprintf(text, WEIGHT_ROOM, "%.4g%s%.16s", value, count ? "" : " ", count ? "" : unit);
        return text;
    }
    for (; step < 3 && fabs(value) >= 1000; step++) value /= 1000;
    snprintf(text, WEIGHT_ROOM, "%.*f %s", step ? 2 : 0, value, units[step]);
    return text;
}

// ---------------------------------------------------------------- rows

typedef struct {
    uint32_t block;
    double more;
} difference_row;

static int larger_first(const void *a, const void *b) {
    const difference_row *x = a, *y = b;
    if (x->more != y->more) return x->more > y->more ? -1 : 1;
    return x->block < y->block ? -1 : x->block > y->block;
}

// Blocks that slow slices or typical ones have, those that slow ones have more of first.
static difference_row *rank_rows(const slice_difference *d, uint32_t *count) {
    difference_row *rows = malloc(((size_t)d->block_count + 1) * sizeof *rows);
    if (!rows) fail_memory();
    *count = 0;
    for (uint32_t b = 0; b < d->block_count; b++) {
        if (d->slow[b] != 0 || d->typical[b] != 0)
            rows[(*count)++] = (difference_row){b, d->slow[b] - d->typical[b]};
    }
    qsort(rows, *count, sizeof *rows, larger_first);
    return rows;
}

// ---------------------------------------------------------------- for people

static void print_times(const options *o, const loaded *l, const slices *s, const slice_times *t,
                        output *out) {
    char median[WEIGHT_ROOM], p90[WEIGHT_ROOM], p99[WEIGHT_ROOM], slowest[WEIGHT_ROOM],
        count[GROUPED_ROOM];
    const char *unit = measure_unit(l->profile, s), *name = name_of(s);
    uint64_t open = 0;
    for (uint32_t i = 0; i < s->count; i++) open += s->lanes[i].is_open;
    put_heading(o, out, "%s: %s %s%s by %s", title_of(l), ouro__grouped(count, t->count), name,
                t->count == 1 ? "" : "s", measure_name(l->profile, s));
    put_line(out, "median %s, 90%% %s, 99%% %s, slowest %s%s",
             weight_text(median, (double)t->median, unit), weight_text(p90, (double)t->p90, unit),
             weight_text(p99, (double)t->p99, unit), weight_text(slowest, (double)t->slowest, unit),
             t->exact ? "" : " (within 1%)");
    if (open)
        put_line(out, "%llu %s%s still open", (unsigned long long)open, name,
                 open == 1 ? " is" : "s are");
}

static void print_rows(const options *o, const loaded *l, const slices *s,
                       const slice_difference *d, const difference_row *rows, uint32_t count,
                       output *out) {
    const profile *p = l->profile;
    const char *unit = ouro__metric_unit(p, l->metric), *name = name_of(s);
    double scale = pow(10, -(double)p->metrics[l->metric].decimals);
    char text[WEIGHT_ROOM];
    ouro__put_text(out, "\n");
    if (!d->slow_count || !d->typical_count) {
        put_line(out, "too few %ss to tell slow ones from others", name);
        return;
    }
    put_heading(o, out, "%s per %s, in %llu slow and %llu typical ones",
                ouro__metric_name(p, l->metric), name, (unsigned long long)d->slow_count,
                (unsigned long long)d->typical_count);
    table *t = table_new(o, out);
    table_cell(t, "more");
    table_cell(t, "slow");
    table_cell(t, "typical");
    table_cell(t, "block");
    table_heading_end(t);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t b = rows[i].block;
        table_cell(t, "%s%s", rows[i].more > 0 ? "+" : "",
                   weight_text(text, rows[i].more * scale, unit));
        table_cell(t, "%s", weight_text(text, d->slow[b] * scale, unit));
        table_cell(t, "%s", weight_text(text, d->typical[b] * scale, unit));
        table_cell(t, "%s", ouro__block_name(p, b));
        table_row_end(t);
    }
    table_end(t);
    if (2 * d->typical_charged >= d->typical_count || !strstr(unit, "second")) return;
    put_line(out,
             "Most typical %ss have no %s at all: they are shorter than a tick of the clock, or",
             name, ouro__metric_name(p, l->metric));
    put_line(out, "they wait. So the table is a matter of luck; `--metric calls` counts.");
}

// ---------------------------------------------------------------- for programs

static void json_double(json_writer *w, const char *name, double value) {
    char digits[WEIGHT_ROOM];
    snprintf(digits, sizeof digits, "%.17g", value);
    ouro__write_number(w, name, digits);
}

static void write_json(const loaded *l, const slices *s, const slice_times *t,
                       const slice_difference *d, const difference_row *rows, uint32_t count,
                       output *out) {
    json_writer w = {.out = out, .spread = true};
    double scale = pow(10, -(double)l->profile->metrics[l->metric].decimals);
    ouro__write_object(&w, NULL);
    ouro__write_text(&w, "metric", measure_name(l->profile, s));
    ouro__write_text(&w, "unit", measure_unit(l->profile, s));
    ouro__write_text(&w, "name", name_of(s));
    ouro__write_integer(&w, "slices", (int64_t)t->count);
    ouro__write_integer(&w, "median", (int64_t)t->median);
    ouro__write_integer(&w, "p90", (int64_t)t->p90);
    ouro__write_integer(&w, "p99", (int64_t)t->p99);
    ouro__write_integer(&w, "slowest", (int64_t)t->slowest);
    ouro__write_bool(&w, "exact", t->exact);
    ouro__write_integer(&w, "slow", (int64_t)d->slow_count);
    ouro__write_integer(&w, "typical", (int64_t)d->typical_count);
    ouro__write_text(&w, "rows_metric", ouro__metric_name(l->profile, l->metric));
    ouro__write_text(&w, "rows_unit", ouro__metric_unit(l->profile, l->metric));
    ouro__write_rows(&w, "rows");
    for (uint32_t i = 0; i < count; i++) {
        ouro__write_object(&w, NULL);
        json_block(&w, l->profile, rows[i].block);
        json_double(&w, "more", rows[i].more * scale);
        json_double(&w, "slow", d->slow[rows[i].block] * scale);
        json_double(&w, "typical", d->typical[rows[i].block] * scale);
        ouro__write_end(&w);
    }
    json_foot(&w);
}

static void write_csv(const loaded *l, const slice_difference *d, const difference_row *rows,
                      uint32_t count, output *out) {
    double scale = pow(10, -(double)l->profile->metrics[l->metric].decimals);
    ouro__put_text(out, "name,file,line,column,more,slow,typical\n");
    for (uint32_t i = 0; i < count; i++) {
        const block_info *b = &l->profile->blocks[rows[i].block];
        ouro__put_csv(out, ouro__block_name(l->profile, rows[i].block));
        ouro__put_text(out, ",");
        ouro__put_csv(out, ouro__block_file(l->profile, rows[i].block));
        ouro__print(out, ",%u,%u,%.17g,%.17g,%.17g\n", b->line, b->column, rows[i].more * scale,
                    d->slow[rows[i].block] * scale, d->typical[rows[i].block] * scale);
    }
}

void report_slices(const options *o, const loaded *l, output *out, uint32_t top) {
    const slices *s = l->profile->slices;
    static const slices none = {.width = 3};
    slice_times t;
    slice_difference d;
    uint32_t count;
    if (!s && o->as == AS_TEXT) {
        put_line(out,
                 "%s has no slices: the program does not call ouro_slice, or the format "
                 "cannot hold them",
                 l->path);
        return;
    }
    if (!s) s = &none;
    if (!ouro__slice_times(s, &t) || !ouro__slice_difference(l->profile, s, l->metric, &d))
        fail_memory();
    difference_row *rows = rank_rows(&d, &count);
    if (count > top) count = top;
    if (o->as == AS_TEXT) {
        print_times(o, l, s, &t, out);
        print_rows(o, l, s, &d, rows, count, out);
    } else if (o->as == AS_JSON) {
        write_json(l, s, &t, &d, rows, count, out);
    } else {
        write_csv(l, &d, rows, count, out);
    }
    free(rows);
    ouro__slice_difference_free(&d);
}
