// SPDX-License-Identifier: MIT
//
// From arguments to profiles: reading with a sign of progress, compaction, filters by name.
// Everything here exits with a sentence if it fails; the commands are left with what works.

#include "cli.h"

#include "http_client.h"
#include "pattern.h"
#include "printable.h"
#include "sliced.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// A store's URL is shown without its password.
void fail_with(const char *path, const error *e) {
    char *shown = strdup(path);
    if (!shown) fail_memory();
    ouro__url_hide_password(shown);
    ouro__say("ouro: %s: %s", strcmp(path, "-") == 0 ? "standard input" : shown, e->message);
    free(shown);
    exit(EXIT_FAILED);
}

void fail_memory(void) {
    fprintf(stderr, "ouro: out of memory\n");
    exit(EXIT_FAILED);
}

// ---------------------------------------------------------------- progress

// Nothing for what is done within a second of the command's start, or what OURO_PROGRESS says; only
// on a terminal.
static struct {
    struct timespec start;
    double after; // seconds
    bool wanted, shown;
} progress;

static void progress_start(void) {
    if (progress.start.tv_sec || progress.start.tv_nsec) return;
    const char *after = secure_getenv("OURO_PROGRESS");
    progress.after = after ? strtod(after, NULL) : 1;
    progress.wanted = isatty(STDERR_FILENO);
    clock_gettime(CLOCK_MONOTONIC, &progress.start);
}

static bool progress_due(void) {
    struct timespec now;
    progress_start();
    if (!progress.wanted) return false;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double seconds = (double)(now.tv_sec - progress.start.tv_sec) +
                     (double)(now.tv_nsec - progress.start.tv_nsec) / 1e9;
    progress.shown |= seconds >= progress.after;
    return seconds >= progress.after;
}

// Of one line, which the next call writes over.
static void show_step(const char *doing, const char *path, const char *done) {
    fprintf(stderr, "\r%s ", doing);
    ouro__print_foreign(stderr, path);
    fprintf(stderr, ": %s\033[K", done);
}

static void show_reading(void *user, double done) {
    char text[32];
    if (!progress_due()) return;
    snprintf(text, sizeof text, "%3.0f%%", 100 * done);
    show_step("reading", user, text);
}

void show_merging(size_t done, size_t of) {
    if (progress_due()) fprintf(stderr, "\rmerging: %zu of %zu\033[K", done, of);
}

void show_writing(void *user, uint64_t bytes) {
    char text[32];
    if (!progress_due()) return;
    snprintf(text, sizeof text, "%.1f MiB", (double)bytes / (1 << 20));
    show_step("writing", user, text);
}

void progress_end(void) {
    if (progress.shown) fprintf(stderr, "\r\033[K");
    progress.shown = false;
}

// ---------------------------------------------------------------- reading

const format *format_option(const char *name) {
    const format *found = name ? ouro__format_named(name) : NULL;
    if (!name || found) return found;
    fprintf(stderr, "ouro: there is no format ");
    ouro__print_foreign(stderr, name);
    fprintf(stderr, "; there are");
    for (size_t i = 0; i < ouro__format_count; i++)
        fprintf(stderr, "%s %s", i ? "," : "", ouro__formats[i].name);
    fprintf(stderr, "\n");
    exit(EXIT_USAGE);
}

// ---------------------------------------------------------------- a store

enum { PATHS_MOST = 100000 };

void use_store(options *o) {
    if (!o->store && (o->where || o->with))
        fail_usage(o->command, "--where chooses from a store: --store FILE.db");
    if (!o->store) return;
    names files = o->inputs; // convert still has its output
    o->inputs = (names){0};
    add_name(&o->inputs, o->where ? o->where : "");
    if (o->with) add_name(&o->inputs, o->with);
    o->choices = o->inputs.count;
    for (size_t i = 0; i < files.count; i++) add_name(&o->inputs, files.items[i]);
    free(files.items);
}

static bool is_choice(const options *o, const char *path) {
    size_t i = 0;
    while (i < o->choices && o->inputs.items[i] != path) i++;
    return i < o->choices;
}

static choice choice_option(const options *o, const char *where) {
    struct timespec now;
    error e = {0};
    choice c;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t milliseconds = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    if (!ouro__choice_parse(where, milliseconds, &c, &e)) fail_usage(o->command, "%s", e.message);
    c.paths_most = o->paths ? o->paths : PATHS_MOST;
    c.strict = o->strict;
    return c;
}

static profile *ask_store(const options *o, const char *where) {
    error e = {0};
    choice c = choice_option(o, where);
    store *s = ouro__store_open(o->store, false, &e);
    if (s) ouro__store_limit(s, o->limit);
    profile *p = s ? ouro__store_ask(s, &c, &e) : NULL;
    if (!p) fail_with(o->store, &e);
    ouro__store_close(s);
    ouro__choice_free(&c);
    if (p->missing) ouro__say("ouro: only a part of the store: %s", p->missing);
    if (o->rule == RULE_DEFAULT) return p;
    profile *compacted = ouro__compacted(p, o->rule, o->edge_length, &e);
    if (!compacted) fail_with(o->store, &e);
    compacted->missing = p->missing;
    p->missing = NULL;
    ouro__profile_free(p);
    return compacted;
}

static char *nothing_chosen(const options *o, const char *where, const profile *p) {
    if (!is_choice(o, where) || !ouro__is_empty(p)) return NULL;
    char *url = strdup(o->store), *text;
    if (!url) fail_memory();
    ouro__url_hide_password(url);
    int n = p->missing ? asprintf(&text, "no sample was found in the part of %s that answered", url)
            : *where
                ? asprintf(&text, "no sample in %s matches %s; `ouro store %s` lists what is there",
                           url, where, url)
                : asprintf(&text, "no sample is in %s; `ouro push --store %s FILE` adds a profile",
                           url, url);
    if (n < 0) fail_memory();
    free(url);
    return text;
}

void need_something(const options *o, const char *where, const profile *p) {
    char *text = nothing_chosen(o, where, p);
    if (!text) return;
    ouro__say("ouro: %s", text);
    exit(EXIT_FAILED);
}

// ---------------------------------------------------------------- files

static void say_no_space(const char *path, const profile *p) {
    if (p->no_space)
        ouro__say("ouro: %s: its disk had no space for more paths; what is cold is in [pruned]",
                  path);
}

profile *load_profile(const options *o, const char *path, bool keep_origin) {
    if (is_choice(o, path)) return ask_store(o, path);
    error e = {0};
    progress_start();
    read_options r = {.rule = o->rule,
                      .edge_length = o->edge_length,
                      .keep_origin = keep_origin,
                      .keep_labels = o->label.count || o->keep_labels,
                      .limit = o->limit};
    if (progress.wanted) r.progress = show_reading;
    r.user = (void *)(uintptr_t)path;
    profile *p = read_profile(path, format_option(o->from), &r, &e);
    progress_end();
    if (!p) fail_with(path, &e);
    say_no_space(path, p);
    return p;
}

char *metric_names(const profile *p) {
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (!to) fail_memory();
    const char *before = "";
    for (uint32_t m = 0; m < p->metric_count; m++) {
        if (!ouro__is_listed(p, m)) continue;
        fprintf(to, "%s%s", before, ouro__metric_name(p, m));
        before = ", ";
    }
    if (fclose(to) != 0) fail_memory();
    return text;
}

uint32_t metric_option(const profile *p, const char *path, const char *name) {
    if (!name) return p->default_metric;
    uint32_t m = ouro__profile_find_metric(p, name);
    bool counted = m == NO_ROW || ouro__is_listed(p, m) || !ouro__is_sampled(p);
    if (m != NO_ROW && counted) return m;
    char *there = metric_names(p);
    if (counted)
        ouro__say("ouro: %s: no metric is called %s; there is %s", path, name, there);
    else
        ouro__say("ouro: %s: %s are not counted, because the program was sampled; there is %s",
                  path, name, there);
    free(there);
    exit(EXIT_USAGE);
}

// ---------------------------------------------------------------- filters

bool has_filters(const options *o) {
    return o->select.count || o->exclude.count || o->fold.count || o->select_match.count ||
           o->exclude_match.count || o->fold_match.count || o->label.count;
}

static void fail_filter(const char *path, const error *e) {
    ouro__say("ouro: %s: %s", path, e->message);
    exit(EXIT_USAGE);
}

// Blocks that options name, in a list that grows.
typedef struct {
    uint32_t *items;
    size_t count, room;
} block_list;

static void add_block(block_list *l, uint32_t b) {
    if (l->count == l->room) {
        l->room = l->room ? l->room * 2 : 64;
        l->items = realloc(l->items, l->room * sizeof *l->items);
        if (!l->items) fail_memory();
    }
    l->items[l->count++] = b;
}

static void add_named(block_list *l, const profile *p, const char *path, const names *n) {
    for (size_t i = 0; i < n->count; i++) {
        error e = {0};
        uint32_t b;
        if (!ouro__find_block(p, n->items[i], &b, &e)) fail_filter(path, &e);
        add_block(l, b);
    }
}

// All blocks that match an expression; `group`: with their number before them.
static void add_matching(block_list *l, const profile *p, const char *path, const names *n,
                         bool group) {
    for (size_t i = 0; i < n->count; i++) {
        error e = {0};
        uint32_t count;
        name_pattern *what = ouro__pattern_new(n->items[i], &e);
        uint8_t *match = what ? ouro__matching_pattern(p, what, &count, &e) : NULL;
        if (match && group && !count)
            ouro__error_set(&e, ENOENT, "no block's name or file matches %s", n->items[i]);
        if (!match || e.code) fail_filter(path, &e);
        if (group) add_block(l, count);
        for (uint32_t b = 0; b < p->block_count; b++) {
            if (match[b]) add_block(l, b);
        }
        free(match);
        ouro__pattern_free(what);
    }
}

static label_condition *find_labels(const profile *p, const char *path, const names *n) {
    label_condition *labels = malloc((n->count + 1) * sizeof *labels);
    if (!labels) fail_memory();
    for (size_t i = 0; i < n->count; i++) {
        error e = {0};
        if (!ouro__find_label(p, n->items[i], &labels[i], &e)) fail_filter(path, &e);
    }
    return labels;
}

static profile *replaced(const char *path, profile *old, profile *new, const error *e) {
    if (!new) fail_with(path, e);
    ouro__profile_free(old);
    return new;
}

profile *apply_filters(const options *o, const char *path, profile *p) {
    if (!has_filters(o)) return p;
    error e = {0};
    block_list select = {0}, exclude = {0}, fold = {0}, any = {0};
    add_named(&select, p, path, &o->select);
    add_matching(&any, p, path, &o->select_match, true);
    add_named(&exclude, p, path, &o->exclude);
    add_matching(&exclude, p, path, &o->exclude_match, false);
    add_named(&fold, p, path, &o->fold);
    add_matching(&fold, p, path, &o->fold_match, false);
    label_condition *labels = find_labels(p, path, &o->label);
    filter f = {.select = select.items,
                .select_count = select.count,
                .exclude = exclude.items,
                .exclude_count = exclude.count,
                .fold = fold.items,
                .fold_count = fold.count,
                .any = any.items,
                .any_count = any.count,
                .labels = labels,
                .label_count = o->label.count,
                .keep_labels = o->keep_labels || p->slices}; // what is kept of slices are labels
    if (!ouro__labels_are_few(&f, &e)) fail_filter(path, &e);
    profile *left = ouro__filter(p, &f, &e);
    free(select.items);
    free(exclude.items);
    free(fold.items);
    free(any.items);
    free(labels);
    return replaced(path, p, left, &e);
}

// Amounts are rounded where they are divided, so that what a slice has of them is not known.
static void drop_slices(profile *p) {
    if (!p->slices) return;
    fputs("ouro: --period leaves out what is known of slices\n", stderr);
    ouro__slices_release(p->slices);
    p->slices = NULL;
}

profile *apply_shrinking(const options *o, const char *path, profile *p) {
    error e = {0};
    if (o->period > 1) {
        p = replaced(path, p, ouro__divided(p, o->period, &e), &e);
        drop_slices(p);
    }
    if (o->min > 0) p = replaced(path, p, ouro__pruned(p, o->min / 100, &e), &e);
    return p;
}

loaded load(const options *o, const char *path) {
    loaded l = {.path = path, .filtered = has_filters(o)};
    profile *p = load_profile(o, path, false);
    l.metric = metric_option(p, path, o->metric);
    l.total = ouro__total(p, l.metric);
    if (p->missing && !(l.missing = strdup(p->missing))) fail_memory();
    l.no_space = p->no_space;
    l.profile = apply_filters(o, path, p);
    return l;
}

// An empty side would make every comparison a success.
loaded load_some(const options *o, const char *path) {
    loaded l = load(o, path);
    if (l.total == 0 && !l.filtered) need_something(o, path, l.profile);
    error e = {.message = "the profile is empty: nothing was charged while it was recorded"};
    if (l.total == 0 && !l.filtered && ouro__is_empty(l.profile)) fail_with(path, &e);
    return l;
}

const char *title_of(const loaded *l) {
    if (!*l->path) return "the whole store";
    return strcmp(l->path, "-") == 0 ? "standard input" : l->path;
}

void loaded_free(loaded *l) {
    ouro__profile_free(l->profile);
    free(l->missing);
}
