// SPDX-License-Identifier: MIT
//
// ouro report: tables of one profile. Without an option a screen of what matters first; with
// one, that table, for people, or for programs with --json and --csv. --block and --knots are
// in report_around.c, --slices in report_slices.c.

#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOP_TEXT = 30, TOP_SUMMARY = 10, KNOTS_SUMMARY = 5, INDENT_DEEPEST = 40, PATH_SHOWN = 12 };

static const char *const allowed[] = {
    "store", "where",  "paths", "strict",       "self",          "overall",    "sequences",
    "tree",  "block",  "knots", "slices",       "metric",        "select",     "exclude",
    "fold",  "top",    "json",  "csv",          "from",          "compact",    "limit",
    "min",   "colour", "label", "select-match", "exclude-match", "fold-match", NULL};

// Text shows a screen, programs get everything, unless --top says.
static uint32_t top_of(const options *o, uint32_t text) {
    if (o->top >= 0) return (uint32_t)o->top;
    return o->as == AS_TEXT ? text : UINT32_MAX;
}

// ---------------------------------------------------------------- lines for people

static void amount_heading(table *t, const loaded *l, const char *name) {
    const char *unit = ouro__amount_unit(l->profile, l->metric, l->total);
    table_cell(t, *unit ? "%s %s" : "%s%s", name, unit);
    table_cell(t, l->filtered ? "of all" : "");
    if (l->filtered) table_cell(t, "of left");
}

static void place_cell(table *t, const profile *p, uint32_t b, const char *before) {
    const char *file = short_place(ouro__block_file(p, b));
    char *name = short_name(ouro__block_name(p, b));
    if (b == NO_BLOCK || !*file) {
        table_cell(t, "%s%s", before, name);
    } else if (p->blocks[b].line) {
        table_cell(t, "%s%s  %s:%u", before, name, file, p->blocks[b].line);
    } else {
        table_cell(t, "%s%s  %s", before, name, file);
    }
    free(name);
}

// "1 sample"; other totals and metrics have the metric's name.
static const char *noun_of(const char *name, const char *total) {
    static const char *const nouns[][2] = {
        {"calls", "call"}, {"samples", "sample"}, {"instructions", "instruction"}};
    for (size_t i = 0; i < sizeof nouns / sizeof *nouns && strcmp(total, "1") == 0; i++) {
        if (strcmp(name, nouns[i][0]) == 0) return nouns[i][1];
    }
    return name;
}

static void print_title(const options *o, const loaded *l, output *out) {
    const profile *p = l->profile;
    int64_t left = ouro__total(p, l->metric);
    char total[AMOUNT_ROOM], rest[AMOUNT_ROOM], percent[AMOUNT_ROOM];
    const char *unit = ouro__amount_unit(p, l->metric, l->total);
    ouro__amount(total, p, l->metric, l->total, l->total);
    put_heading(o, out, "%s: %s%s%s %s", title_of(l), total, *unit ? " " : "", unit,
                noun_of(ouro__metric_name(p, l->metric), total));
    if (l->filtered) {
        ouro__amount(rest, p, l->metric, left, l->total);
        format_percent(percent, left, l->total);
        put_line(out, "left after the filters: %s%s%s, %s", rest, *unit ? " " : "", unit, percent);
    }
    char *metrics = p->metric_count > 1 ? metric_names(p) : NULL;
    if (metrics) put_line(out, "metrics: %s (--metric chooses)", metrics);
    free(metrics);
    put_recording(l, out);
}

// ---------------------------------------------------------------- findings

static char *sentence_of(const loaded *l, const finding *f, int64_t total) {
    finding_part parts[FINDING_PARTS];
    uint32_t count = ouro__finding_parts(l->profile, f, total, parts);
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (!to) fail_memory();
    for (uint32_t i = 0; i < count; i++)
        fputs(parts[i].block == NO_BLOCK ? parts[i].text
                                         : ouro__block_name(l->profile, parts[i].block),
              to);
    if (fclose(to) != 0) fail_memory();
    return text;
}

static findings find_all(const loaded *l, const totals *t, const knots *k) {
    findings found;
    recursion *recursed = ouro__recursion(l->profile);
    if (!recursed || !ouro__findings(l->profile, l->metric, t, k, recursed, &found)) fail_memory();
    free(recursed);
    return found;
}

static void print_findings(const loaded *l, const totals *t, const knots *k, output *out) {
    findings found = find_all(l, t, k);
    for (uint32_t i = 0; i < found.count; i++) {
        char *text = sentence_of(l, &found.rows[i], found.total);
        put_line(out, "- %s", text);
        free(text);
    }
    if (found.count) ouro__put_text(out, "\n");
}

static void json_findings(json_writer *w, const loaded *l, const totals *t) {
    knots k;
    if (!ouro__knots(l->profile, l->metric, &k)) fail_memory();
    findings found = find_all(l, t, &k);
    ouro__knots_free(&k);
    ouro__write_rows(w, "findings");
    for (uint32_t i = 0; i < found.count; i++) {
        const finding *f = &found.rows[i];
        char *text = sentence_of(l, f, found.total);
        ouro__write_object(w, NULL);
        ouro__write_text(w, "kind", ouro__finding_kind(f));
        ouro__write_text(w, "text", text);
        ouro__write_end(w);
        free(text);
    }
    ouro__write_end(w);
}

// ---------------------------------------------------------------- self and overall

static block_row row_of(const totals *t, uint32_t b) {
    return (block_row){b,    t->self[b], t->overall[b], t->calls ? t->calls[b] : NOT_COUNTED,
                       true, true};
}

static void print_blocks(const options *o, const loaded *l, const totals *t, const uint32_t *top,
                         uint32_t count, bool by_overall, output *out) {
    table *text = table_new(o, out);
    totals samples;
    bool knows_samples = evidence_of(l, &samples);
    amount_heading(text, l, "self");
    amount_heading(text, l, "overall");
    if (knows_samples) table_cell(text, "samples");
    if (t->calls) table_cell(text, "calls");
    if (colours_wanted(o)) table_cell(text, "%s", "");
    table_cell(text, "block");
    table_heading_end(text);
    for (uint32_t i = 0; i < count; i++) {
        block_row row = row_of(t, top[i]);
        char calls[GROUPED_ROOM];
        amount_cells(text, l, row.self, t->total);
        amount_cells(text, l, row.overall, t->total);
        if (knows_samples)
            evidence_cell(text, (by_overall ? samples.overall : samples.self)[top[i]]);
        if (t->calls && row.calls == NOT_COUNTED)
            table_cell(text, "not counted");
        else if (t->calls)
            table_cell(text, "%s%s", row.calls < 0 ? "-" : "",
                       ouro__grouped(calls, (uint64_t)llabs(row.calls)));
        table_bar(text,
                  t->total ? (double)(by_overall ? row.overall : row.self) / (double)t->total : 0);
        place_cell(text, l->profile, top[i], "");
        table_row_end(text);
    }
    table_end(text);
    if (knows_samples) ouro__totals_free(&samples);
}

static uint32_t *ranked(const totals *t, bool by_overall, uint32_t top, uint32_t *count) {
    uint32_t *rows = malloc(((size_t)t->count + 1) * sizeof *rows);
    if (!rows) fail_memory();
    *count = ouro__rank(by_overall ? t->overall : t->self, t->count, top, rows);
    return rows;
}

// Adds the blocks of the tree that have no value, in their order, and returns the new count.
static uint32_t add_unranked(const profile *p, uint32_t top, uint32_t *rows, uint32_t count) {
    enum { UNSEEN, ON_A_PATH, LISTED };
    uint8_t *state = calloc((size_t)p->block_count + 1, 1);
    if (!state) fail_memory();
    for (uint32_t n = 1; n < p->node_count; n++) state[p->block[n]] = ON_A_PATH;
    for (uint32_t i = 0; i < count; i++) state[rows[i]] = LISTED;
    for (uint32_t b = 0; b < p->block_count && count < top; b++) {
        if (state[b] == ON_A_PATH) rows[count++] = b;
    }
    free(state);
    return count;
}

static void report_blocks(const options *o, const loaded *l, const totals *t, bool by_overall,
                          output *out) {
    uint32_t count, most = top_of(o, TOP_TEXT), *top = ranked(t, by_overall, most, &count);
    if (o->as != AS_TEXT) count = add_unranked(l->profile, most, top, count);
    json_writer w;
    if (o->as == AS_TEXT) {
        print_title(o, l, out);
        print_blocks(o, l, t, top, count, by_overall, out);
    } else if (o->as == AS_CSV) {
        csv_head(out, NULL);
    } else {
        w = json_head(out, l);
        ouro__write_rows(&w, "rows");
    }
    for (uint32_t i = 0; i < count && o->as != AS_TEXT; i++) {
        block_row row = row_of(t, top[i]);
        if (o->as == AS_CSV) csv_row(out, l, &row, NULL);
        if (o->as == AS_JSON) json_row(&w, l, &row);
    }
    if (o->as == AS_JSON) ouro__write_end(&w);
    if (o->as == AS_JSON && o->show == SHOW_SUMMARY) json_findings(&w, l, t);
    if (o->as == AS_JSON) json_foot(&w);
    free(top);
}

static void report_summary(const options *o, const loaded *l, const totals *t, output *out) {
    uint32_t count, rows = top_of(o, TOP_SUMMARY), *top = ranked(t, false, rows, &count);
    uint32_t path_count = l->profile->node_count - 1, block_count = l->profile->block_count;
    char paths[GROUPED_ROOM], blocks[GROUPED_ROOM];
    print_title(o, l, out);
    ouro__print(out, "%s path%s, %s block%s%s\n\n", ouro__grouped(paths, path_count),
                path_count == 1 ? "" : "s", ouro__grouped(blocks, block_count),
                block_count == 1 ? "" : "s",
                t->calls ? "" : "; calls are not known, the file has samples");
    knots k;
    if (!ouro__knots(l->profile, l->metric, &k)) fail_memory();
    print_findings(l, t, &k, out);
    put_heading(o, out, "Self");
    print_blocks(o, l, t, top, count, false, out);
    free(top);
    top = ranked(t, true, rows, &count);
    ouro__put_text(out, "\n");
    put_heading(o, out, "Overall");
    print_blocks(o, l, t, top, count, true, out);
    free(top);
    ouro__put_text(out, "\n");
    knots_brief(o, l, &k, KNOTS_SUMMARY, out);
    ouro__knots_free(&k);
}

// ---------------------------------------------------------------- sequences and tree

typedef struct {
    uint32_t *blocks;
    uint32_t length;
} sequence;

static sequence sequence_of(const profile *p, uint32_t node) {
    sequence s = {0};
    for (uint32_t n = node; n; n = p->parent[n]) s.length++;
    s.blocks = malloc(((size_t)s.length + 1) * sizeof *s.blocks);
    if (!s.blocks) fail_memory();
    uint32_t at = s.length;
    for (uint32_t n = node; n; n = p->parent[n]) s.blocks[--at] = p->block[n];
    return s;
}

// Long ones are shown by their two ends.
static char *sequence_text(const profile *p, const sequence *s, uint32_t shown) {
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (!to) fail_memory();
    for (uint32_t i = 0; i < s->length; i++) {
        if (s->length > shown && i == shown / 2) {
            fprintf(to, " / ... %u more", s->length - shown);
            i += s->length - shown;
        }
        fprintf(to, "%s%s", i ? " / " : "", ouro__block_name(p, s->blocks[i]));
    }
    fclose(to);
    return text;
}

static void json_path(json_writer *w, const profile *p, const sequence *s) {
    ouro__write_array(w, "path");
    for (uint32_t i = 0; i < s->length; i++)
        ouro__write_text(w, NULL, ouro__block_name(p, s->blocks[i]));
    ouro__write_end(w);
}

static block_row node_row(const profile *p, uint32_t m, const int64_t *running, uint32_t n) {
    return (block_row){
        p->block[n], p->values[m][n], ouro__inclusive(p, running, n), ouro__calls_of(p, n), true,
        true};
}

static void put_sequence(const options *o, const loaded *l, const int64_t *running, uint32_t n,
                         table *text, json_writer *w, output *out) {
    const profile *p = l->profile;
    sequence s = sequence_of(p, n);
    block_row row = node_row(p, l->metric, running, n);
    char *path =
        o->as == AS_JSON ? NULL : sequence_text(p, &s, o->as == AS_TEXT ? PATH_SHOWN : UINT32_MAX);
    if (o->as == AS_JSON) {
        json_row_open(w, l, &row);
        json_path(w, p, &s);
        ouro__write_end(w);
    } else if (o->as == AS_CSV) {
        csv_row(out, l, &row, path);
    } else {
        amount_cells(text, l, row.self, running[p->node_count]);
        amount_cells(text, l, row.overall, running[p->node_count]);
        table_cell(text, "%s", path);
        table_row_end(text);
    }
    free(path);
    free(s.blocks);
}

static void report_sequences(const options *o, const loaded *l, output *out) {
    const profile *p = l->profile;
    uint32_t wanted = top_of(o, TOP_TEXT);
    uint32_t *top =
        malloc(((size_t)(wanted < p->node_count ? wanted : p->node_count) + 1) * sizeof *top);
    int64_t *running = ouro__running(p, l->metric);
    if (!top || !running) fail_memory();
    uint32_t count = ouro__rank(p->values[l->metric] + 1, p->node_count - 1, wanted, top);
    json_writer w;
    table *text = o->as == AS_TEXT ? table_new(o, out) : NULL;
    if (text) {
        print_title(o, l, out);
        amount_heading(text, l, "self");
        amount_heading(text, l, "overall");
        table_cell(text, "sequence");
        table_heading_end(text);
    } else if (o->as == AS_CSV) {
        csv_head(out, "path");
    } else {
        w = json_head(out, l);
        ouro__write_rows(&w, "rows");
    }
    for (uint32_t i = 0; i < count && !ouro__output_failed(out); i++)
        put_sequence(o, l, running, top[i] + 1, text, &w, out);
    if (text) table_end(text);
    if (o->as == AS_JSON) json_foot(&w);
    free(top);
    free(running);
}

static void put_tree_row(const options *o, const loaded *l, const int64_t *running, const flame *f,
                         table *text, json_writer *w, output *out) {
    block_row row = node_row(l->profile, l->metric, running, f->node);
    char more[64];
    if (o->as == AS_JSON) {
        json_row_open(w, l, &row);
        ouro__write_integer(w, "depth", f->depth);
        ouro__write_end(w);
    } else if (o->as == AS_CSV) {
        snprintf(more, sizeof more, "%u", f->depth);
        csv_row(out, l, &row, more);
    } else {
        char indent[2 * INDENT_DEEPEST + 32];
        uint32_t depth = f->depth - 1 < INDENT_DEEPEST ? f->depth - 1 : INDENT_DEEPEST;
        int n = sprintf(indent, "%*s", (int)(2 * depth), "");
        if (depth < f->depth - 1) sprintf(indent + n, "(%u deep) ", f->depth);
        amount_cells(text, l, row.overall, running[l->profile->node_count]);
        amount_cells(text, l, row.self, running[l->profile->node_count]);
        place_cell(text, l->profile, row.block, indent);
        table_row_end(text);
    }
}

// Text leaves out what is below a percent, unless --min says otherwise.
static void report_tree(const options *o, const loaded *l, output *out) {
    flame *rows;
    uint32_t count, most = top_of(o, UINT32_MAX);
    double share = o->min >= 0 ? o->min / 100 : o->as == AS_TEXT ? 0.01 : 0;
    json_writer w;
    int64_t *running = ouro__running(l->profile, l->metric);
    if (!running || !ouro__flame_tree(l->profile, l->metric, share, &rows, &count)) fail_memory();
    table *text = o->as == AS_TEXT ? table_new(o, out) : NULL;
    if (text) {
        print_title(o, l, out);
        amount_heading(text, l, "overall");
        amount_heading(text, l, "self");
        table_cell(text, "block");
        table_heading_end(text);
    } else if (o->as == AS_CSV) {
        csv_head(out, "depth");
    } else {
        w = json_head(out, l);
        ouro__write_rows(&w, "rows");
    }
    for (uint32_t i = 1; i < count && i <= most; i++)
        put_tree_row(o, l, running, &rows[i], text, &w, out);
    if (text) table_end(text);
    if (o->as == AS_JSON) json_foot(&w);
    free(rows);
    free(running);
}

// ---------------------------------------------------------------- the command

static void report(const options *o, const loaded *l, output *out) {
    if (!l->filtered) need_something(o, l->path, l->profile);
    if (o->as == AS_TEXT && ouro__is_empty(l->profile)) {
        char *text = sentence_of(l, &(finding){.kind = FINDING_EMPTY}, 0);
        print_title(o, l, out);
        put_line(out, "%s", text);
        free(text);
        return;
    }
    if (o->show == SHOW_SEQUENCES) return report_sequences(o, l, out);
    if (o->show == SHOW_TREE) return report_tree(o, l, out);
    if (o->show == SHOW_BLOCK) return report_block(o, l, out);
    if (o->show == SHOW_KNOTS) {
        if (o->as == AS_TEXT) print_title(o, l, out);
        return report_knots(o, l, out, top_of(o, TOP_TEXT));
    }
    if (o->show == SHOW_SLICES) return report_slices(o, l, out, top_of(o, TOP_TEXT));
    totals t;
    if (!ouro__totals(l->profile, l->metric, NULL, 0, &t)) fail_memory();
    if (o->show == SHOW_SUMMARY && o->as == AS_TEXT) {
        report_summary(o, l, &t, out);
    } else {
        report_blocks(o, l, &t, o->show == SHOW_OVERALL, out);
    }
    ouro__totals_free(&t);
}

int cmd_report(int argc, char **argv) {
    options o;
    options_parse(&o, argc, argv, "report", allowed);
    use_live_files(&o, o.inputs.count);
    use_store(&o);
    o.keep_labels |= o.show == SHOW_SLICES; // kept slices are labelled samples
    if (o.inputs.count != 1) fail_usage("report", "expected one file, found %zu", o.inputs.count);
    loaded l = load(&o, o.inputs.items[0]);
    if (o.min > 0 && o.show != SHOW_TREE) l.profile = apply_shrinking(&o, l.path, l.profile);
    output *out = stdout_open();
    ouro__output_limit(out, &l.profile->budget);
    report(&o, &l, out);
    stdout_close(out);
    loaded_free(&l);
    options_free(&o);
    return EXIT_GOOD;
}
