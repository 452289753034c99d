// SPDX-License-Identifier: MIT
//
// What the parameters of a question mean: blocks by their labels, paths, filters, metrics and
// searches. What makes no sense is refused with a message that says what would.

#include "api.h"

#include "pattern.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------- refusing

bool ouro__refuse(question *q, int status, const char *code, const char *pattern, ...) {
    char message[1024];
    va_list arguments;
    va_start(arguments, pattern);
    vsnprintf(message, sizeof message, pattern, arguments);
    va_end(arguments);
    ouro__answer_error(q->answer, status, code, message);
    q->refused = true;
    return false;
}

bool ouro__refuse_error(question *q, int status, const char *code, const error *e) {
    return e->code != ENOMEM && ouro__refuse(q, status, code, "%s", e->message);
}

static bool refuse_block(question *q, const char *text) {
    enum { CANDIDATES = 20 };
    uint32_t found[CANDIDATES];
    char *names[CANDIDATES], *message = NULL;
    const labels *l = &q->side->labels;
    uint32_t count = ouro__label_candidates(l, text, found, CANDIDATES);
    bool several = count > 1 && strcmp(ouro__block_name(q->side->profile, found[0]), text) == 0;
    bool ok = asprintf(&message, several ? "several blocks are called %s" : "no block is called %s",
                       text) >= 0;
    for (uint32_t i = 0; i < count; i++) ok &= (names[i] = ouro__label(l, found[i])) != NULL;
    if (ok)
        ouro__answer_candidates(q->answer, several ? 400 : 404,
                                several ? "ambiguous-block" : "no-such-block", message, names,
                                count);
    q->refused = ok;
    for (uint32_t i = 0; i < count; i++) free(names[i]);
    free(message);
    return false;
}

// ---------------------------------------------------------------- blocks by label

// Blocks that a filter added stand behind the side's own; their name is their label.
static uint32_t find_block(const side *s, const profile *filtered, const char *text) {
    uint32_t b = ouro__label_find(&s->labels, text);
    for (uint32_t i = s->profile->block_count; b == NO_ROW && filtered && i < filtered->block_count;
         i++) {
        if (strcmp(ouro__block_name(filtered, i), text) == 0) b = i;
    }
    error e;
    // What people type: NAME@FILE:LINE though the name is enough, FILE:LINE.
    if (b == NO_ROW && !ouro__find_block(s->profile, text, &b, &e)) b = NO_ROW;
    return b;
}

// Two files: the block that matches what the text means on the other side. NO_ROW: this side has
// none. false: no side knows it, or out of memory.
static bool find_counterpart(question *q, unsigned side_number, const char *text, uint32_t *b) {
    side *const *sides = q->generation->sides;
    bool two = q->generation->side_count == 2;
    uint32_t other = two ? find_block(sides[!side_number], NULL, text) : NO_ROW;
    matching m;
    if (other == NO_ROW) return refuse_block(q, text);
    if (!ouro__match_blocks(sides[0]->profile, sides[1]->profile, &m)) return false;
    *b = side_number ? m.pairs[other].after : m.pairs[m.pair_of_after[other]].before;
    ouro__matching_free(&m);
    return true;
}

uint32_t *ouro__question_blocks(question *q, const char *name, size_t *count) {
    const request *r = q->request;
    uint32_t *blocks = malloc((ouro__request_count(r, name) + 1) * sizeof *blocks);
    *count = 0;
    for (size_t i = 0; blocks && i < r->count; i++) {
        if (strcmp(r->parameters[i].name, name) != 0) continue;
        const char *text = r->parameters[i].value;
        uint32_t b = find_block(q->side, q->p, text);
        if ((b != NO_ROW || find_counterpart(q, q->side_number, text, &b)) &&
            (b != NO_ROW || refuse_block(q, text))) {
            blocks[(*count)++] = b;
            continue;
        }
        free(blocks);
        return NULL;
    }
    return blocks;
}

// ---------------------------------------------------------------- paths

static bool refuse_path(question *q) {
    return ouro__refuse(q, 404, "no-such-path", "what the filters leave has no such path");
}

bool ouro__question_nearest(const question *q) {
    const char *nearest = ouro__request_value(q->request, "nearest");
    return nearest && strcmp(nearest, "true") == 0;
}

// Blocks of a side as those of the question's side, which match them. Returns how many at the start
// of the path are there; NO_ROW: out of memory.
static uint32_t translate(question *q, const side *from, uint32_t *path, uint32_t length) {
    side *const *sides = q->generation->sides;
    matching m;
    uint32_t i = 0;
    if (from == q->side) return length;
    if (!ouro__match_blocks(sides[0]->profile, sides[1]->profile, &m)) return NO_ROW;
    for (; i < length; i++) {
        path[i] =
            q->side_number ? m.pairs[path[i]].after : m.pairs[m.pair_of_after[path[i]]].before;
        if (path[i] == NO_BLOCK) break;
    }
    ouro__matching_free(&m);
    return i;
}

// The blocks on the way to a node, root first; freed by the caller.
static uint32_t *blocks_to(const profile *p, uint32_t node, uint32_t *length) {
    *length = 0;
    for (uint32_t n = node; n; n = p->parent[n]) ++*length;
    uint32_t *path = malloc(((size_t)*length + 1) * sizeof *path);
    for (uint32_t n = node, at = *length; path && n; n = p->parent[n]) path[--at] = p->block[n];
    return path;
}

// An id that the view does not have may be that of a path which the filters changed, or of the
// other file. What is left of it is its longest prefix; *node stays if the side does not know it.
static bool nearest_of_side(question *q, unsigned side_number, uint64_t id, uint32_t *node) {
    error e;
    bool several, ok;
    view *whole =
        ouro__cache_view(q->api->cache, q->generation, side_number, &(filter){0}, false, 0, &e);
    const uint64_t *ids = whole ? ouro__view_ids(whole) : NULL;
    ok = ids != NULL;
    uint32_t n = ok ? ouro__path_id_find(ids, whole->profile->node_count, id, &several) : NO_NODE;
    if (n != NO_NODE) {
        uint32_t length = 0, *path = blocks_to(whole->profile, n, &length);
        if (path) length = translate(q, whole->side, path, length);
        ok = path && length != NO_ROW;
        size_t found;
        if (ok) *node = ouro__path_nearest(q->p, path, length, &found);
        free(path);
    }
    if (whole) ouro__cache_release(q->api->cache, whole);
    return ok;
}

static bool nearest_of_id(question *q, uint64_t id, uint32_t *node) {
    *node = NO_NODE;
    bool ok = nearest_of_side(q, q->file, id, node);
    for (unsigned i = 0; ok && *node == NO_NODE && i < q->generation->side_count; i++) {
        if (i != q->file) ok = nearest_of_side(q, i, id, node);
    }
    if (*node == NO_NODE) *node = 0;
    return ok;
}

bool ouro__question_node_of_id(question *q, const char *text, uint32_t *node) {
    uint64_t id;
    bool several;
    if (!ouro__path_id_parse(text, &id) || text[PATH_ID_LENGTH])
        return ouro__refuse(q, 400, "bad-path", "%s is no id of a path", text);
    const uint64_t *ids = ouro__view_ids(q->view);
    if (!ids) return false;
    *node = ouro__path_id_find(ids, q->p->node_count, id, &several);
    if (several)
        return ouro__refuse(q, 400, "ambiguous-path", "two paths have the id %s by chance", text);
    return true;
}

// Old addresses spell paths out. Labels that are not known end what can be found.
static bool node_of_labels(question *q, uint32_t *node) {
    const request *r = q->request;
    size_t count = 0, found;
    uint32_t *path = malloc((ouro__request_count(r, "at") + 1) * sizeof *path);
    if (!path) return false;
    for (size_t i = 0; i < r->count; i++) {
        if (strcmp(r->parameters[i].name, "at") != 0) continue;
        path[count] = find_block(q->side, q->p, r->parameters[i].value);
        if (path[count++] == NO_ROW) break;
    }
    *node = ouro__path_nearest(q->p, path, count, &found);
    free(path);
    if (found < ouro__request_count(r, "at") && !ouro__question_nearest(q)) *node = NO_NODE;
    return true;
}

static bool refuse_labels(question *q) {
    size_t count;
    uint32_t *path = ouro__question_blocks(q, "at", &count);
    bool known = path != NULL;
    free(path);
    return known && refuse_path(q);
}

bool ouro__question_node(question *q, uint32_t *node) {
    const char *text = ouro__request_value(q->request, "path");
    bool given = text && *text;
    if (given ? !ouro__question_node_of_id(q, text, node) : !node_of_labels(q, node)) return false;
    if (*node != NO_NODE) return true;
    if (!given) return refuse_labels(q);
    uint64_t id;
    return ouro__question_nearest(q) ? ouro__path_id_parse(text, &id) && nearest_of_id(q, id, node)
                                     : refuse_path(q);
}

// ---------------------------------------------------------------- filters

// Two files: a block that only the other side has selects nothing here, and needs no excluding.
// A filter as it is read: blocks one after the other, in a list that grows.
typedef struct {
    uint32_t *items;
    size_t count, room;
} block_list;

static bool add_block(block_list *l, uint32_t b) {
    if (l->count == l->room) {
        size_t room = l->room ? l->room * 2 : 16;
        uint32_t *items = realloc(l->items, room * sizeof *items);
        if (!items) return false;
        l->items = items;
        l->room = room;
    }
    l->items[l->count++] = b;
    return true;
}

static bool find_filter(question *q, unsigned side_number, const char *name, block_list *blocks,
                        bool *missing) {
    const request *r = q->request;
    for (size_t i = 0; i < r->count; i++) {
        if (strcmp(r->parameters[i].name, name) != 0) continue;
        const char *text = r->parameters[i].value;
        uint32_t b = find_block(q->generation->sides[side_number], NULL, text);
        if (b == NO_ROW && !find_counterpart(q, side_number, text, &b)) return false;
        if (b == NO_ROW) *missing = true;
        if (b != NO_ROW && !add_block(blocks, b)) return false;
    }
    return true;
}

// All blocks that match; `group`: with their number before them.
static bool add_matching(question *q, const profile *p, const char *expression, bool group,
                         block_list *blocks) {
    error e = {0};
    uint32_t count;
    name_pattern *what = ouro__pattern_new(expression, &e);
    uint8_t *match = what ? ouro__matching_pattern(p, what, &count, &e) : NULL;
    bool ok = match && (!group || add_block(blocks, count));
    for (uint32_t b = 0; ok && b < p->block_count; b++) ok = !match[b] || add_block(blocks, b);
    if (!match) ouro__refuse_error(q, 400, "bad-pattern", &e);
    ouro__pattern_free(what);
    free(match);
    return ok;
}

static bool find_matching(question *q, unsigned side_number, const char *name, bool group,
                          block_list *blocks) {
    const request *r = q->request;
    const profile *p = q->generation->sides[side_number]->profile;
    for (size_t i = 0; i < r->count; i++) {
        if (strcmp(r->parameters[i].name, name) == 0 &&
            !add_matching(q, p, r->parameters[i].value, group, blocks))
            return false;
    }
    return true;
}

// Two files: a label that only the other has holds for no sample of this one.
static bool find_label(question *q, unsigned side_number, const char *text, label_condition *c) {
    error e = {0};
    label_condition unused;
    if (ouro__find_label(q->generation->sides[side_number]->profile, text, c, &e)) return true;
    if (e.code == EINVAL) return ouro__refuse_error(q, 400, "bad-label", &e);
    for (unsigned i = 0; i < q->generation->side_count; i++) {
        if (ouro__find_label(q->generation->sides[i]->profile, text, &unused, NULL)) return true;
    }
    return ouro__refuse_error(q, 404, "no-such-label", &e);
}

static bool find_labels(question *q, unsigned side_number, filter *f) {
    const request *r = q->request;
    error e = {0};
    label_condition *found = malloc((ouro__request_count(r, "label") + 1) * sizeof *found);
    if (!found) return false;
    f->labels = found;
    for (size_t i = 0; i < r->count; i++) {
        if (strcmp(r->parameters[i].name, "label") != 0) continue;
        if (!find_label(q, side_number, r->parameters[i].value, &found[f->label_count]))
            return false;
        f->label_count++;
    }
    return ouro__labels_are_few(f, &e) || ouro__refuse_error(q, 400, "too-many-labels", &e);
}

void ouro__question_filter_free(filter *f) {
    free((void *)(uintptr_t)f->select);
    free((void *)(uintptr_t)f->exclude);
    free((void *)(uintptr_t)f->fold);
    free((void *)(uintptr_t)f->any);
    free((void *)(uintptr_t)f->labels);
}

bool ouro__question_filter(question *q, unsigned side_number, filter *f, bool *nothing) {
    block_list select = {0}, exclude = {0}, fold = {0}, any = {0};
    unsigned file = ouro__question_file(q, side_number);
    bool unused = false;
    *f = (filter){0};
    *nothing = false;
    bool ok = find_filter(q, file, "select", &select, nothing) &&
              find_filter(q, file, "exclude", &exclude, &unused) &&
              find_filter(q, file, "fold", &fold, &unused) &&
              find_matching(q, file, "select-match", true, &any) &&
              find_matching(q, file, "exclude-match", false, &exclude) &&
              find_matching(q, file, "fold-match", false, &fold) && find_labels(q, file, f) &&
              ouro__question_slices(q, side_number, f);
    f->select = select.items;
    f->select_count = select.count;
    f->exclude = exclude.items;
    f->exclude_count = exclude.count;
    f->fold = fold.items;
    f->fold_count = fold.count;
    f->any = any.items;
    f->any_count = any.count;
    if (!ok) ouro__question_filter_free(f);
    return ok;
}

view *ouro__question_view(question *q, unsigned side_number) {
    filter f;
    bool nothing;
    view_when w;
    error e = {0};
    unsigned file = ouro__question_file(q, side_number);
    if (!ouro__question_filter(q, side_number, &f, &nothing)) return NULL;
    view *v = ouro__question_when(q, side_number, &w)
                  ? ouro__cache_view(q->api->cache, q->generation, file, &f, nothing, &w, &e)
                  : NULL;
    if (!v && !q->refused) ouro__refuse_error(q, 503, "cannot-filter", &e);
    ouro__question_filter_free(&f);
    return v;
}

// ---------------------------------------------------------------- metrics and searches

bool ouro__question_metric(question *q, const profile *p, uint32_t *m) {
    const char *name = ouro__request_value(q->request, "metric");
    *m = name ? ouro__profile_find_metric(p, name) : p->default_metric;
    if (p->metric_count == 0)
        return ouro__refuse(q, 404, "no-metric", "the profile has no metrics");
    return *m != NO_ROW || ouro__refuse(q, 404, "no-such-metric", "no metric is called %s", name);
}

uint8_t *ouro__question_matching(question *q, const char *text, uint32_t *count) {
    error e = {0};
    uint8_t *match = ouro__matching(q->p, text, count, &e);
    if (!match) ouro__refuse_error(q, 400, "bad-pattern", &e);
    return match;
}

uint8_t *ouro__question_search(question *q, bool *ok) {
    const char *text = ouro__request_value(q->request, "search");
    uint32_t count;
    *ok = true;
    if (!text || !*text) return NULL;
    uint8_t *match = ouro__question_matching(q, text, &count);
    *ok = match != NULL;
    return match;
}
