// SPDX-License-Identifier: MIT
//
// ouro diff: what got slower and faster, first in a sentence, then by block. Amounts are compared
// as they are and as shares of their own totals. With --fail-above, the exit status tells a build
// whether something grew too much.

#include "cli.h"

#include "printable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOP_TEXT = 30, NAME_MOST = 60 };

static const char *const allowed[] = {
    "store",        "where",         "with",       "paths",      "strict", "metric",
    "select",       "exclude",       "fold",       "top",        "json",   "csv",
    "from",         "compact",       "limit",      "fail-above", "colour", "label",
    "select-match", "exclude-match", "fold-match", NULL};

// One file with two counts per path is a comparison by itself.
typedef struct {
    loaded before, after;
    bool same_file;
} pair;

static void fail_metrics(const loaded *before, const loaded *after) {
    char *has = metric_names(before->profile), *other = metric_names(after->profile);
    ouro__say("ouro diff: no metric in common, by name and unit: %s has %s; %s has %s",
              before->path, has, after->path, other);
    exit(EXIT_USAGE);
}

// Both have the one that was asked for, by name.
static void find_metrics(const options *o, loaded *before, loaded *after) {
    const profile *a = before->profile, *b = after->profile;
    if (!o->metric) {
        if (!ouro__common_metric(a, b, &before->metric, &after->metric))
            fail_metrics(before, after);
    } else if (!ouro__comparable(a, before->metric, b, after->metric)) {
        ouro__say("ouro diff: %s counts %s in %s and %s in %s", o->metric,
                  ouro__metric_unit(a, before->metric), before->path,
                  ouro__metric_unit(b, after->metric), after->path);
        exit(EXIT_USAGE);
    }
}

static pair load_pair(const options *o) {
    pair p = {0};
    p.before = load_some(o, o->inputs.items[0]);
    if (o->inputs.count == 2) {
        p.after = load_some(o, o->inputs.items[1]);
        find_metrics(o, &p.before, &p.after);
        return p;
    }
    const profile *both = p.before.profile;
    uint32_t before = ouro__profile_find_metric(both, "before"),
             after = ouro__profile_find_metric(both, "after");
    if (before == NO_ROW || after == NO_ROW)
        fail_usage("diff", "expected two files, or one of folded stacks with two counts per line");
    p.same_file = true;
    p.after = p.before;
    p.before.metric = before;
    p.after.metric = after;
    // What is compared is not called `before`: the counts of folded stacks are samples.
    p.before.profile->metrics[before].name = ouro__profile_add_text(p.before.profile, "samples");
    if (p.before.profile->failed) fail_memory();
    return p;
}

static double share(int64_t part, int64_t whole) {
    return whole && part ? 100.0 * (double)part / (double)whole : 0; // never -0
}

// By how many percent of BEFORE's total the worst block, or everything, grew.
static double worst_growth(const comparison *c, const char **name) {
    double worst = share(c->total_after - c->total_before, c->total_before);
    *name = "the total";
    for (uint32_t i = 0; i < c->count; i++) {
        const difference *d = &c->rows[i];
        int64_t self = d->self_after - d->self_before,
                overall = d->overall_after - d->overall_before;
        double grown = share(self > overall ? self : overall, c->total_before);
        if (grown > worst) {
            worst = grown;
            *name = d->name;
        }
    }
    return worst;
}

// ---------------------------------------------------------------- output

static const char *fate(const difference *d) {
    return !d->in_before ? "new" : !d->in_after ? "gone" : "";
}

static void signed_value(char text[static AMOUNT_ROOM], const profile *p, uint32_t m, int64_t value,
                         int64_t largest) {
    ouro__amount(text, p, m, value, largest);
    if (value <= 0) return;
    memmove(text + 1, text, strlen(text) + 1);
    text[0] = '+';
}

// With its place where the name alone stands for several.
static void block_cell(table *t, const difference *d) {
    if (!d->several || !*d->file) {
        table_cell(t, "%s", d->name);
    } else if (d->line) {
        table_cell(t, "%s  %s:%u", d->name, d->file, d->line);
    } else {
        table_cell(t, "%s  %s", d->name, d->file);
    }
}

static void text_row(table *t, const comparison *c, const difference *d, const loaded *l) {
    const profile *p = l->profile;
    int64_t largest = c->total_before > c->total_after ? c->total_before : c->total_after;
    char text[AMOUNT_ROOM];
    signed_value(text, p, l->metric, d->self_after - d->self_before, largest);
    table_cell(t, "%s", text);
    table_cell(t, "%+.2f%%",
               share(d->self_after, c->total_after) - share(d->self_before, c->total_before));
    ouro__amount(text, p, l->metric, d->self_before, largest);
    table_cell(t, "%s", text);
    ouro__amount(text, p, l->metric, d->self_after, largest);
    table_cell(t, "%s", text);
    signed_value(text, p, l->metric, d->overall_after - d->overall_before, largest);
    table_cell(t, "%s", text);
    table_cell(t, "%+.2f%%",
               share(d->overall_after, c->total_after) - share(d->overall_before, c->total_before));
    table_cell(t, "%s", fate(d));
    block_cell(t, d);
    table_row_end(t);
}

static bool has_change(const difference *d) {
    return d->self_after != d->self_before || d->overall_after != d->overall_before;
}

static bool any_change(const comparison *c) {
    uint32_t i = 0;
    while (i < c->count && !has_change(&c->rows[i])) i++;
    return i < c->count;
}

// A long name loses its end, between two characters.
static void put_name(FILE *to, const char *name) {
    size_t length = strlen(name), cut = NAME_MOST;
    if (length > NAME_MOST) {
        while (cut && ((unsigned char)name[cut] & 0xc0) == 0x80) cut--;
        fprintf(to, "%.*s...", (int)cut, name);
    } else {
        fputs(name, to);
    }
}

// "+20.73%: apply +25, lookup -10, write file new +8, and 3 others". Freed by the caller.
static char *sentence(const comparison *c, const loaded *l) {
    char *text = NULL, by[AMOUNT_ROOM];
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (!to) fail_memory();
    int64_t largest = c->total_before > c->total_after ? c->total_before : c->total_after;
    const char *unit = ouro__amount_unit(l->profile, l->metric, largest);
    if (c->total_before || !c->total_after)
        fprintf(to, "%+.2f%%", share(c->total_after - c->total_before, c->total_before));
    else
        fputs("new", to);
    for (uint32_t i = 0; i < c->leading; i++) {
        const difference *d = &c->rows[i];
        signed_value(by, l->profile, l->metric, d->self_after - d->self_before, largest);
        fputs(i ? ", " : ": ", to);
        put_name(to, d->name);
        fprintf(to, "%s%s %s%s%s", *fate(d) ? " " : "", fate(d), by, *unit ? " " : "", unit);
    }
    uint32_t others = c->changed - c->leading;
    if (others) fprintf(to, ", and %u other%s", others, others == 1 ? "" : "s");
    if (fclose(to) != 0) fail_memory();
    return text;
}

static void put_text_report(const options *o, const comparison *c, const pair *p, output *out) {
    const loaded *l = &p->before;
    int64_t largest = c->total_before > c->total_after ? c->total_before : c->total_after;
    const char *unit = ouro__amount_unit(l->profile, l->metric, largest);
    char before[AMOUNT_ROOM], after[AMOUNT_ROOM], *said = sentence(c, l);
    uint32_t left = o->top >= 0 ? (uint32_t)o->top : TOP_TEXT;
    ouro__amount(before, l->profile, l->metric, c->total_before, largest);
    ouro__amount(after, l->profile, l->metric, c->total_after, largest);
    put_heading(o, out, "%s: %s -> %s%s%s, %s", ouro__metric_name(l->profile, l->metric), before,
                after, *unit ? " " : "", unit, said);
    free(said);
    if (!any_change(c)) {
        ouro__put_text(out, "no block changed\n");
        return;
    }
    table *t = table_new(o, out);
    const char *headings[] = {"self", "share", "before", "after", "overall", "share", "", "block"};
    for (size_t i = 0; i < sizeof headings / sizeof *headings; i++)
        table_cell(t, "%s", headings[i]);
    table_heading_end(t);
    for (uint32_t i = 0; i < c->count && left; i++) {
        if (!has_change(&c->rows[i])) continue;
        text_row(t, c, &c->rows[i], l);
        left--;
    }
    table_end(t);
}

static const char *const how_names[] = {NULL, "name", "path", "line"};

static void json_difference(json_writer *w, const difference *d, uint32_t decimals) {
    ouro__write_object(w, NULL);
    ouro__write_text(w, "name", d->name);
    ouro__write_text(w, "file", d->file);
    json_amount(w, "self_before", d->self_before, decimals);
    json_amount(w, "self_after", d->self_after, decimals);
    json_amount(w, "overall_before", d->overall_before, decimals);
    json_amount(w, "overall_after", d->overall_after, decimals);
    ouro__write_bool(w, "new", !d->in_before);
    ouro__write_bool(w, "gone", !d->in_after);
    ouro__write_integer(w, "line", d->line);
    ouro__write_text(w, "matched", how_names[d->how]);
    ouro__write_end(w);
}

static void put_json_report(const options *o, const comparison *c, const pair *p, output *out) {
    const loaded *l = &p->before;
    json_writer w = {.out = out, .spread = true};
    uint32_t decimals = l->profile->metrics[l->metric].decimals,
             most = o->top >= 0 ? (uint32_t)o->top : UINT32_MAX;
    ouro__write_object(&w, NULL);
    json_metric(&w, l);
    json_amount(&w, "total_before", c->total_before, decimals);
    json_amount(&w, "total_after", c->total_after, decimals);
    const char *missing = l->missing ? l->missing : p->after.missing;
    if (missing) ouro__write_text(&w, "missing", missing);
    char *said = sentence(c, l);
    ouro__write_text(&w, "summary", said);
    free(said);
    ouro__write_rows(&w, "rows");
    for (uint32_t i = 0; i < c->count && i < most; i++) json_difference(&w, &c->rows[i], decimals);
    json_foot(&w);
}

static void put_csv_report(const options *o, const comparison *c, const pair *p, output *out) {
    uint32_t decimals = p->before.profile->metrics[p->before.metric].decimals;
    uint32_t most = o->top >= 0 ? (uint32_t)o->top : UINT32_MAX;
    ouro__put_text(
        out, "name,file,self_before,self_after,overall_before,overall_after,fate,matched,line\n");
    for (uint32_t i = 0; i < c->count && i < most; i++) {
        const difference *d = &c->rows[i];
        char number[DECIMAL_ROOM];
        const int64_t values[] = {d->self_before, d->self_after, d->overall_before,
                                  d->overall_after};
        ouro__put_csv(out, d->name);
        ouro__put_text(out, ",");
        ouro__put_csv(out, d->file);
        for (int v = 0; v < 4; v++)
            ouro__print(out, ",%s", ouro__decimal(number, values[v], decimals));
        const char *how = how_names[d->how];
        ouro__print(out, ",%s,%s,%u\n", fate(d), how ? how : "", d->line);
    }
}

// ---------------------------------------------------------------- the command

static int judge(const options *o, const comparison *c) {
    const char *name;
    double worst = worst_growth(c, &name);
    if (o->fail_above < 0 || worst <= o->fail_above) return EXIT_GOOD;
    ouro__say("ouro diff: %s grew by %.2f%% of the total before, more than %g%%", name, worst,
              o->fail_above);
    return EXIT_ABOVE;
}

// Values of both sides must be in the same units to be compared.
static void same_decimals(profile *a, uint32_t m, profile *b, uint32_t n) {
    bool ok = ouro__profile_rescale(a, m, b->metrics[n].decimals) &&
              ouro__profile_rescale(b, n, a->metrics[m].decimals);
    if (!ok) fail_memory();
}

int cmd_diff(int argc, char **argv) {
    options o;
    options_parse(&o, argc, argv, "diff", allowed);
    use_live_files(&o, o.inputs.count);
    use_store(&o);
    if (o.inputs.count < 1 || o.inputs.count > 2)
        fail_usage("diff", "expected two files, found %zu", o.inputs.count);
    pair p = load_pair(&o);
    comparison c;
    error e = {0};
    same_decimals(p.before.profile, p.before.metric, p.after.profile, p.after.metric);
    if (!ouro__compare(p.before.profile, p.before.metric, p.after.profile, p.after.metric, &c, &e))
        fail_with(p.after.path, &e);
    output *out = stdout_open();
    if (o.as == AS_JSON) put_json_report(&o, &c, &p, out);
    if (o.as == AS_CSV) put_csv_report(&o, &c, &p, out);
    if (o.as == AS_TEXT) put_text_report(&o, &c, &p, out);
    stdout_close(out);
    int status = judge(&o, &c);
    ouro__comparison_free(&c);
    loaded_free(&p.before);
    if (!p.same_file) loaded_free(&p.after);
    options_free(&o);
    return status;
}
