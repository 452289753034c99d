// SPDX-License-Identifier: MIT
//
// The filtered profile as a file, by the writers that `ouro convert` uses. Files for people say
// what they are a part of.

#include "api.h"

#include "format.h"
#include "page_pieces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PICTURE_SHARE 0.0005 // as ouro convert

typedef struct {
    const char *name, *type, *extension;
} export;

static const export exports[] = {{"svg", "image/svg+xml", "svg"},
                                 {"html", "text/html; charset=utf-8", "html"},
                                 {"pprof", "application/octet-stream", "pb"},
                                 {"folded", "text/plain; charset=utf-8", "folded"},
                                 {"speedscope", "application/json", "speedscope.json"}};

// What lies below a node, as a profile: the node is the one child of its root.
static profile *below(const profile *p, uint32_t node, error *e) {
    profile *to = ouro__profile_like_with_blocks(p);
    for (uint32_t n = node; to && n < p->end[node] && !to->failed; n++) {
        // Rows are in preorder, so a copy's number is its distance from the first, plus the root.
        uint32_t up = n == node ? 0 : p->parent[n] - node + 1;
        uint32_t copy = ouro__profile_add_node(to, up, p->block[n]);
        for (uint32_t m = 0; m < p->metric_count && !to->failed; m++)
            ouro__charge(to, m, copy, p->values[m][n]);
    }
    if (!to) ouro__error_memory(e);
    if (to && ouro__profile_finish(to, e)) return to;
    ouro__profile_free(to);
    return NULL;
}

// A name that is safe in a header and in any folder.
static void name_file(question *q, const char *title, const char *extension) {
    char name[64] = "profile";
    size_t used = 0;
    for (const char *at = title; *at && used < sizeof name - 1; at++) {
        bool plain = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
                     (*at >= '0' && *at <= '9') || (*at == '.' && used) || *at == '_' ||
                     (*at == '-' && used);
        if (plain) name[used++] = *at;
    }
    if (used) name[used] = '\0';
    snprintf(q->file_name, sizeof q->file_name, "%s.%s", name, extension);
}

// ---------------------------------------------------------------- a part of what?

static const char *const filter_names[] = {"select",        "exclude",    "fold",  "select-match",
                                           "exclude-match", "fold-match", "label", "last",
                                           "during",        "slices"};

static bool is_filter(const char *name) {
    for (size_t i = 0; i < sizeof filter_names / sizeof *filter_names; i++) {
        if (strcmp(name, filter_names[i]) == 0) return true;
    }
    return false;
}

static void free_filters(char **filters, uint32_t count) {
    for (uint32_t i = 0; filters && i < count; i++) free(filters[i]);
    free(filters);
}

// The filters of the question in words, behind those that the file itself was made with. The path
// that a picture begins at is one of them.
static char **filters_in_words(const question *q, const side *s, uint32_t top, uint32_t *count) {
    const request *r = q->request;
    const part_info *of = s->part;
    char **filters = calloc(r->count + (of ? of->filter_count : 0) + 2, sizeof *filters);
    bool ok = filters;
    *count = 0;
    for (uint32_t i = 0; ok && of && i < of->filter_count; i++)
        ok = (filters[(*count)++] = strdup(of->filters[i]));
    for (size_t i = 0; ok && i < r->count; i++) {
        const char *name = r->parameters[i].name;
        if (!is_filter(name)) continue;
        bool seconds = strcmp(name, "last") == 0 || strcmp(name, "during") == 0;
        const char *unit = seconds ? " s" : "";
        ok = asprintf(&filters[*count], "%s %s%s", name, r->parameters[i].value, unit) >= 0;
        *count += ok;
    }
    char *label = ok && top ? ouro__label(&s->labels, q->p->block[top]) : NULL;
    if (ok && top) {
        ok = label && asprintf(&filters[*count], "below %s", label) >= 0;
        *count += ok;
    }
    free(label);
    if (ok) return filters;
    free_filters(filters, *count);
    return NULL;
}

// What a view is a part of; `top` is the node that a picture begins at. false: out of memory.
static bool whole_of(const question *q, const view *v, uint32_t top, part_info *w,
                     char ***filters) {
    const side *s = v->side;
    *w = (part_info){.totals = ouro__view_all(v), .paths = s->profile->node_count - 1};
    if (s->part) w->paths = s->part->paths;
    if (s->part) w->cut = s->part->cut;
    *filters = filters_in_words(q, s, top, &w->filter_count);
    w->filters = (const char *const *)*filters;
    return *filters;
}

static bool is_part(const part_info *w) { return w->filter_count || w->cut; }

// ---------------------------------------------------------------- writing

// A page with both files that are compared; their order is that of the files.
static bool write_both(question *q, const export *as, write_options *o, const profile *p,
                       error *e) {
    unsigned other = 1 - q->side_number;
    view *v = ouro__question_view(q, other);
    if (!v) return false;
    part_info w;
    char **filters;
    bool ok = whole_of(q, v, 0, &w, &filters) || ouro__fail_memory(e);
    shared_profile here = {p, o->title, o->part},
                   there = {v->profile, ouro__side_title(q->api->shelf, q->generation, other),
                            ok && is_part(&w) ? &w : NULL};
    const shared_profile *before = other ? &here : &there;
    o->after = other ? &there : &here;
    o->title = before->title;
    o->part = before->part;
    uint32_t m = ouro__profile_find_metric(before->profile, ouro__metric_name(p, o->metric));
    o->metric = m == NO_ROW ? before->profile->default_metric : m;
    ok = ok && ouro__format_named(as->name)->write(before->profile, o, q->out, e);
    if (filters) free_filters(filters, w.filter_count);
    ouro__cache_release(q->api->cache, v);
    return ok;
}

static bool write_export(question *q, const export *as, const profile *p, uint32_t top) {
    error e = {0};
    part_info w;
    char **filters;
    if (!whole_of(q, q->view, top, &w, &filters)) return false;
    write_options o = {.title = ouro__side_title(q->api->shelf, q->generation, q->file),
                       .metric = q->metric,
                       .share = PICTURE_SHARE,
                       .part = is_part(&w) ? &w : NULL,
                       .page = ouro__page};
    q->type = as->type;
    name_file(q, strcmp(o.title, "standard input") == 0 ? "" : o.title, as->extension);
    bool two = strcmp(as->name, "html") == 0 && q->generation->side_count == 2;
    bool ok =
        two ? write_both(q, as, &o, p, &e) : ouro__format_named(as->name)->write(p, &o, q->out, &e);
    free_filters(filters, w.filter_count);
    return ok || (!q->refused && ouro__refuse_error(q, 500, "cannot-write", &e));
}

static const export *find_export(const char *name) {
    for (size_t i = 0; name && i < sizeof exports / sizeof *exports; i++) {
        if (strcmp(name, exports[i].name) == 0) return &exports[i];
    }
    return NULL;
}

bool ouro__api_export(question *q) {
    const export *as = find_export(ouro__request_value(q->request, "as"));
    if (!as || !ouro__format_named(as->name))
        return ouro__refuse(q, 400, "bad-export",
                            "as is one of svg, html, pprof, folded and speedscope");
    uint32_t node;
    if (!ouro__question_node(q, &node)) return false;
    error e = {0};
    profile *part = node ? below(q->p, node, &e) : NULL;
    if (node && !part) return ouro__refuse_error(q, 503, "cannot-write", &e);
    bool ok = write_export(q, as, part ? part : q->p, node);
    ouro__profile_free(part);
    return ok;
}
