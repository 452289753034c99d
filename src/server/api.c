// SPDX-License-Identifier: MIT
//
// From a request to its answer: finds the question, the generation, the side, the filters and the
// metric, lets the question write its members, and puts around them what every answer has. The
// table of blocks comes last, because only then it is known which blocks the rows have named.

#include "api.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char csv_type[] = "text/csv; charset=utf-8";

static const struct {
    const char *path;
    answering *answer;
    bool needs_view;
    bool table;  // can be CSV
    bool beyond; // looks at more than the profile: the generation does not tell whether it changed
} questions[] = {
    {"profile", ouro__api_profile, false, false, false},
    {"overview", ouro__api_overview, true, false, false},
    {"blocks", ouro__api_blocks, true, true, false},
    {"sequences", ouro__api_sequences, true, true, false},
    {"around", ouro__api_around, true, true, false},
    {"flame", ouro__api_flame, true, false, false},
    {"tree", ouro__api_tree, true, true, false},
    {"knots", ouro__api_knots, true, true, false},
    {"files", ouro__api_files, true, true, true},
    {"source", ouro__api_source, true, true, true},
    {"compare", ouro__api_compare, false, true, false},
    {"find", ouro__api_find, true, true, false},
    {"total", ouro__api_total, true, false, false},
    {"export", ouro__api_export, true, false, false},
};

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

bool ouro__refuse_memory(question *q) {
    return ouro__refuse(q, 503, "out-of-memory", "out of memory");
}

static bool refuse_block(question *q, const char *text) {
    enum { CANDIDATES = 20 };
    uint32_t found[CANDIDATES];
    uint32_t count = ouro__label_candidates(&q->side->labels, text, found, CANDIDATES);
    bool ambiguous = count > 1 && strcmp(ouro__block_name(q->side->profile, found[0]), text) == 0;
    output *out = ouro__output_memory();
    q->refused = true;
    if (!out) return ouro__refuse_memory(q);
    ouro__print(out, "{\"error\":{\"code\":\"%s\",\"message\":",
                ambiguous ? "ambiguous-block" : "no-such-block");
    char *message = NULL;
    if (asprintf(&message, ambiguous ? "several blocks are called %s" : "no block is called %s",
                 text) < 0)
        message = NULL;
    ouro__put_json(out, message ? message : "no such block");
    free(message);
    ouro__put_text(out, ",\"candidates\":[");
    for (uint32_t i = 0; i < count; i++) {
        char *label = ouro__label(&q->side->labels, found[i]);
        if (i) ouro__put_text(out, ",");
        ouro__put_json(out, label ? label : "");
        free(label);
    }
    ouro__put_text(out, "]}}\n");
    ouro__answer_from(q->answer, ambiguous ? 400 : 404, NULL, out);
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

char *ouro__view_label(const side *s, const profile *p, uint32_t block) {
    if (block == NO_BLOCK || block < s->profile->block_count) return ouro__label(&s->labels, block);
    return strdup(ouro__block_name(p, block));
}

uint32_t *ouro__question_blocks(question *q, const char *name, size_t *count) {
    const request *r = q->request;
    uint32_t *blocks = malloc((ouro__request_count(r, name) + 1) * sizeof *blocks);
    *count = 0;
    if (!blocks) ouro__refuse_memory(q);
    for (size_t i = 0; blocks && i < r->count; i++) {
        if (strcmp(r->parameters[i].name, name) != 0) continue;
        uint32_t b = find_block(q->side, q->p, r->parameters[i].value);
        if (b != NO_ROW) {
            blocks[(*count)++] = b;
            continue;
        }
        refuse_block(q, r->parameters[i].value);
        free(blocks);
        return NULL;
    }
    return blocks;
}

bool ouro__question_node(question *q, uint32_t *node) {
    size_t count;
    uint32_t *path = ouro__question_blocks(q, "at", &count);
    if (!path) return false;
    *node = ouro__node_at(q->p, path, count);
    free(path);
    return *node != NO_NODE ||
           ouro__refuse(q, 404, "no-such-path", "what the filters leave has no such path");
}

// Two files: a block that only the other side has selects nothing here, and needs no excluding.
static bool known_elsewhere(const question *q, unsigned side_number, const char *text) {
    for (unsigned i = 0; i < q->generation->side_count; i++) {
        if (i != side_number && find_block(q->generation->sides[i], NULL, text) != NO_ROW)
            return true;
    }
    return false;
}

static bool find_filter(question *q, unsigned side_number, const char *name, uint32_t *blocks,
                        size_t *count, bool *missing) {
    const request *r = q->request;
    *count = 0;
    for (size_t i = 0; i < r->count; i++) {
        if (strcmp(r->parameters[i].name, name) != 0) continue;
        const char *text = r->parameters[i].value;
        uint32_t b = find_block(q->generation->sides[side_number], NULL, text);
        if (b != NO_ROW) {
            blocks[(*count)++] = b;
        } else if (known_elsewhere(q, side_number, text)) {
            *missing = true;
        } else {
            return refuse_block(q, text);
        }
    }
    return true;
}

view *ouro__question_view(question *q, unsigned side_number) {
    uint32_t *blocks = malloc((q->request->count + 1) * sizeof *blocks);
    if (!blocks) {
        ouro__refuse_memory(q);
        return NULL;
    }
    filter f = {.select = blocks};
    bool nothing = false, unused = false;
    bool ok = find_filter(q, side_number, "select", blocks, &f.select_count, &nothing);
    f.exclude = blocks + f.select_count;
    ok = ok &&
         find_filter(q, side_number, "exclude", blocks + f.select_count, &f.exclude_count, &unused);
    f.fold = f.exclude + f.exclude_count;
    ok = ok && find_filter(q, side_number, "fold", blocks + f.select_count + f.exclude_count,
                           &f.fold_count, &unused);
    error e = {0};
    view *v =
        ok ? ouro__cache_view(q->api->cache, q->generation, side_number, &f, nothing, &e) : NULL;
    if (ok && !v) ouro__refuse(q, 503, "cannot-filter", "%s", e.message);
    free(blocks);
    return v;
}

bool ouro__question_metric(question *q, const profile *p, uint32_t *m) {
    const char *name = ouro__request_value(q->request, "metric");
    *m = name ? ouro__profile_find_metric(p, name) : p->default_metric;
    if (p->metric_count == 0)
        return ouro__refuse(q, 404, "no-metric", "the profile has no metrics");
    return *m != NO_ROW || ouro__refuse(q, 404, "no-such-metric", "no metric is called %s", name);
}

// ---------------------------------------------------------------- around every answer

static const char *mark_of(const char *name) {
    static const char *const marks[][2] = {
        {"[pruned]", "pruned"},       {"[lost]", "lost"},           {"(folded)", "folded"},
        {"[truncated]", "truncated"}, {"(truncated)", "truncated"}, {"(root)", "root"}};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        if (strcmp(name, marks[i][0]) == 0) return marks[i][1];
    }
    return NULL;
}

static void put_block_info(question *q, uint32_t b) {
    const profile *p = q->p;
    char *label = ouro__view_label(q->side, p, b);
    const char *mark = mark_of(ouro__block_name(p, b));
    ouro__put_text(q->out, "{\"label\":");
    ouro__put_json(q->out, label ? label : "");
    ouro__put_text(q->out, ",\"name\":");
    ouro__put_json(q->out, ouro__block_name(p, b));
    ouro__put_text(q->out, ",\"file\":");
    ouro__put_json(q->out, ouro__block_file(p, b));
    ouro__put_member(q, "line", p->blocks[b].line);
    ouro__put_member(q, "column", p->blocks[b].column);
    ouro__print(q->out, mark ? ",\"mark\":\"%s\"}" : ",\"mark\":null}", mark);
    free(label);
}

void ouro__put_block(question *q, uint32_t b) {
    if (b == NO_BLOCK) {
        ouro__put_text(q->out, "null");
        return;
    }
    if (!q->place_of[b]) {
        q->blocks[q->block_count++] = b;
        q->place_of[b] = q->block_count;
    }
    ouro__put_number(q->out, q->place_of[b] - 1);
}

static void put_head(question *q) {
    ouro__print(q->out, "{\"generation\":%llu", (unsigned long long)q->generation->number);
    if (!q->view) return;
    ouro__put_text_member(q, "metric", ouro__metric_name(q->p, q->metric));
    ouro__put_text_member(q, "unit", ouro__metric_unit(q->p, q->metric));
    ouro__put_member(q, "decimals", q->p->metrics[q->metric].decimals);
    ouro__put_member(q, "total", q->total);
    ouro__put_member(q, "left", q->left);
}

static void put_foot(question *q) {
    if (q->view) {
        ouro__put_text(q->out, ",\"blocks\":[");
        for (uint32_t i = 0; i < q->block_count; i++) {
            if (i) ouro__put_text(q->out, ",\n");
            put_block_info(q, q->blocks[i]);
        }
        ouro__put_text(q->out, "]");
    }
    ouro__put_text(q->out, "}\n");
}

// ---------------------------------------------------------------- answering

static bool find_side(question *q) {
    const char *name = ouro__request_value(q->request, "side");
    if (name && strcmp(name, "before") != 0 && strcmp(name, "after") != 0)
        return ouro__refuse(q, 400, "bad-side", "side is before or after");
    q->side_number = name && strcmp(name, "after") == 0;
    if (q->side_number >= q->generation->side_count)
        return ouro__refuse(q, 404, "no-such-side", "only one file is open");
    q->side = q->generation->sides[q->side_number];
    return true;
}

static bool find_view(question *q) {
    if (!ouro__question_metric(q, q->side->profile, &q->metric)) return false;
    if (!(q->view = ouro__question_view(q, q->side_number))) return false;
    q->p = q->view->profile;
    q->calls = ouro__profile_find_metric(q->p, "calls");
    q->recursions = ouro__profile_find_metric(q->p, "recursions");
    const totals *t = ouro__view_totals(q->view, q->metric);
    filter none = {0};
    error e;
    view *all = ouro__cache_view(q->api->cache, q->generation, q->side_number, &none, false, &e);
    const totals *whole = all ? ouro__view_totals(all, q->metric) : NULL;
    if (t) q->left = t->total;
    if (whole) q->total = whole->total;
    if (all) ouro__cache_release(q->api->cache, all);
    q->place_of = calloc((size_t)q->p->block_count + 1, sizeof *q->place_of);
    q->blocks = malloc(((size_t)q->p->block_count + 1) * sizeof *q->blocks);
    return (t && whole && q->place_of && q->blocks) || ouro__refuse_memory(q);
}

static void answer_question(question *q, answering *ask, bool needs_view) {
    bool ok = find_side(q) && (!needs_view || find_view(q));
    q->out = ok ? ouro__output_memory() : NULL;
    if (ok && !q->out) ok = ouro__refuse_memory(q);
    if (ok && !q->csv) put_head(q);
    ok = ok && ask(q);
    if (ok && q->out && !q->csv) put_foot(q);
    if (ok && q->out) ouro__answer_from(q->answer, 200, q->csv ? csv_type : NULL, q->out);
    if (!ok && q->out) ouro__output_close(q->out, false, NULL);
    if (!ok && !q->refused) ouro__refuse_memory(q);
    if (q->view) ouro__cache_release(q->api->cache, q->view);
    free(q->place_of);
    free(q->blocks);
}

static void answer_fresh(api *a, const request *r, size_t which, generation *g, answer *to) {
    const char *format = ouro__request_value(r, "format");
    question q = {.api = a, .request = r, .generation = g, .answer = to};
    q.csv = format && strcmp(format, "csv") == 0;
    if (format && !q.csv && strcmp(format, "json") != 0) {
        ouro__refuse(&q, 400, "bad-format", "format is json or csv");
    } else if (q.csv && !questions[which].table) {
        ouro__refuse(&q, 400, "not-a-table", "/%s has no table", questions[which].path);
    } else {
        answer_question(&q, questions[which].answer, questions[which].needs_view);
    }
}

// An answer depends on the generation and the target alone, so the generation is its ETag.
void ouro__api_answer(api *a, const request *r, const char *known_etag, answer *to) {
    const char *path = r->path + strlen("/api/v1/");
    size_t count = sizeof questions / sizeof *questions, which = 0;
    while (which < count && strcmp(questions[which].path, path) != 0) which++;
    if (which == count) {
        ouro__answer_error(to, 404, "no-such-question",
                           "there is no such question; see docs/api.md");
        return;
    }
    generation *g = ouro__shelf_generation(a->shelf);
    char etag[64];
    snprintf(etag, sizeof etag, "\"%s-%llu\"", a->instance, (unsigned long long)g->number);
    bool lasting = !questions[which].beyond;
    if (lasting && known_etag && strcmp(known_etag, etag) == 0) {
        *to = (answer){.status = 304, .lasting = ""};
    } else {
        answer_fresh(a, r, which, g, to);
    }
    if (lasting && (to->status == 200 || to->status == 304)) memcpy(to->etag, etag, sizeof etag);
    ouro__generation_release(a->shelf, g);
}
