// SPDX-License-Identifier: MIT
//
// ouro convert: one profile into another format, with the filters of the report, compaction, and
// two ways to make it smaller.

#include "cli.h"

#include "page_pieces.h"
#include "printable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const allowed[] = {
    "store",        "where",         "paths",      "strict", "from",   "to",      "compact",
    "limit",        "period",        "min",        "metric", "select", "exclude", "fold",
    "select-match", "exclude-match", "fold-match", "label",  NULL};

// Pictures leave out what cannot be seen, unless --min says otherwise.
#define PICTURE_SHARE 0.0005

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const format *output_format(const options *o, const char *path) {
    const format *to = o->to ? format_option(o->to) : ouro__format_of_path(path);
    if (!to && strcmp(path, "-") == 0) fail_usage(o->command, "standard output needs --to FORMAT");
    if (!to) fail_usage(o->command, "%s: its extension names no format; --to FORMAT does", path);
    if (!to->write) fail_usage(o->command, "%s can be read but not written", to->name);
    return to;
}

// ---------------------------------------------------------------- a part of what?

static void add_filters(char **filters, part_info *part, const char *word, const names *n) {
    for (size_t i = 0; i < n->count; i++) {
        if (asprintf(&filters[part->filter_count++], "%s %s", word, n->items[i]) < 0) fail_memory();
    }
}

// What the filters are about to take a part of. false: there are none.
static bool part_start(part_info *part, const options *o, const profile *p) {
    size_t count = o->select.count + o->exclude.count + o->fold.count + o->select_match.count +
                   o->exclude_match.count + o->fold_match.count + o->label.count;
    char **filters = count ? calloc(count, sizeof *filters) : NULL;
    int64_t *sums = calloc((size_t)p->metric_count + 1, sizeof *sums);
    if (!sums || (count && !filters)) fail_memory();
    for (uint32_t m = 0; m < p->metric_count; m++) sums[m] = ouro__total(p, m);
    *part = (part_info){
        .filters = (const char *const *)filters, .totals = sums, .paths = p->node_count - 1};
    add_filters(filters, part, "select", &o->select);
    add_filters(filters, part, "exclude", &o->exclude);
    add_filters(filters, part, "fold", &o->fold);
    add_filters(filters, part, "select-match", &o->select_match);
    add_filters(filters, part, "exclude-match", &o->exclude_match);
    add_filters(filters, part, "fold-match", &o->fold_match);
    add_filters(filters, part, "label", &o->label);
    return count;
}

static void part_end(part_info *part) {
    for (uint32_t i = 0; i < part->filter_count; i++) free((char *)(uintptr_t)part->filters[i]);
    free((void *)(uintptr_t)part->filters);
    free((void *)(uintptr_t)part->totals);
}

// ---------------------------------------------------------------- writing

void write_output(const options *o, const profile *p, const char *title, const part_info *part,
                  const char *path, const format *to) {
    error e = {0};
    write_options w = {
        .title = title,
        .metric = metric_option(p, title, o->metric),
        .share = PICTURE_SHARE,
        .part = part,
        .page = ouro__page,
        .progress = show_writing,
        .user = (void *)(uintptr_t)path,
    };
    if (o->min >= 0) w.share = o->min / 100;
    bool written = ouro__profile_write(p, path, to, &w, &e);
    progress_end();
    if (!written) {
        ouro__say("ouro: %s: %s", path, e.message);
        exit(EXIT_FAILED);
    }
}

int cmd_convert(int argc, char **argv) {
    options o;
    options_parse(&o, argc, argv, "convert", allowed);
    use_live_files(&o, 1);
    use_store(&o);
    if (o.inputs.count != 2)
        fail_usage("convert", "expected an input and an output, found %zu files", o.inputs.count);
    const char *in = o.inputs.items[0], *path = o.inputs.items[1];
    const format *to = output_format(&o, path);
    o.keep_labels = strcmp(to->name, "html") == 0; // the page filters by them
    profile *p = load_profile(&o, in, strcmp(to->name, "pprof") == 0);
    need_something(&o, in, p);
    part_info part;
    bool filtered = part_start(&part, &o, p);
    p = apply_filters(&o, in, p);
    // Pictures prune for themselves and keep true widths.
    options shrink = o;
    if (to->picture) shrink.min = -1;
    p = apply_shrinking(&shrink, in, p);
    write_output(&o, p, strcmp(in, "-") == 0 ? "standard input" : base_name(in),
                 filtered ? &part : NULL, path, to);
    part_end(&part);
    ouro__profile_free(p);
    options_free(&o);
    return EXIT_GOOD;
}
