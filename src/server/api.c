// SPDX-License-Identifier: MIT
//
// From a request to its answer: finds the question, the generation, the side, the filters and the
// metric, lets the question write its members, and puts around them what every answer has. The
// table of blocks comes last, because only then it is known which blocks the rows have named.

#include "choices.h"
#include "compare.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char csv_type[] = "text/csv; charset=utf-8";

enum {
    VIEW = 1,    // looks at a view
    TABLE = 2,   // can be CSV
    EXPORT = 4,  // is a file of some format, not JSON
    COMMON = 16, // its metric is one that both files have
    STORE = 32,  // is about a store, not about one profile of it
    BEYOND = 8,  // looks at more than the profile: the generation does not tell whether it changed
};

typedef struct {
    const char *path;
    answering *answer;
    unsigned flags;
} known_question;

static const known_question questions[] = {
    {"profile", ouro__api_profile, 0},
    {"overview", ouro__api_overview, VIEW},
    {"blocks", ouro__api_blocks, VIEW | TABLE},
    {"sequences", ouro__api_sequences, VIEW | TABLE},
    {"around", ouro__api_around, VIEW | TABLE},
    {"neighbourhood", ouro__api_neighbourhood, VIEW},
    {"flame", ouro__api_flame, VIEW},
    {"sandwich", ouro__api_sandwich, VIEW},
    {"tree", ouro__api_tree, VIEW | TABLE},
    {"matches", ouro__api_matches, VIEW | TABLE},
    {"knots", ouro__api_knots, VIEW | TABLE},
    {"files", ouro__api_files, VIEW | TABLE | BEYOND},
    {"source", ouro__api_source, VIEW | TABLE | BEYOND},
    {"compare", ouro__api_compare, TABLE},
    {"difference", ouro__api_difference, VIEW | COMMON},
    {"find", ouro__api_find, VIEW | TABLE},
    {"total", ouro__api_total, VIEW},
    {"history", ouro__api_history, BEYOND},
    {"slices", ouro__api_slices, 0},
    {"labels", ouro__api_labels, VIEW | TABLE},
    {"export", ouro__api_export, VIEW | EXPORT},
    {"offer", ouro__api_offer, STORE | BEYOND},
    {"series", ouro__api_series, STORE | BEYOND},
};

// ---------------------------------------------------------------- blocks of an answer

// What is not code of the program.
static const char *mark_of(const char *name) {
    static const char *const marks[][2] = {
        {"[pruned]", "pruned"},       {"[lost]", "lost"},           {"(folded)", "folded"},
        {"[truncated]", "truncated"}, {"(truncated)", "truncated"}, {"(root)", "root"},
    };
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        if (strcmp(name, marks[i][0]) == 0) return marks[i][1];
    }
    return NULL;
}

// Blocks that a filter added stand behind the side's own; their name is their label.
static char *label_of(const side *s, const profile *p, uint32_t block) {
    if (block < s->profile->block_count) return ouro__label(&s->labels, block);
    return strdup(ouro__block_name(p, block));
}

static void write_count(question *q, const char *name, uint64_t count, bool known) {
    if (known) ouro__write_integer(&q->json, name, (int64_t)count);
    if (!known) ouro__write_null(&q->json, name);
}

void ouro__write_recursion(question *q, const char *name, const recursion *r) {
    if (!r || !ouro__recurses(r)) return ouro__write_null(&q->json, name);
    ouro__write_object(&q->json, name);
    bool is_sampled = ouro__is_sampled(q->p);
    write_count(q, "direct", r->direct, !r->direct || !is_sampled);
    write_count(q, "through", r->through, !r->through || !is_sampled);
    write_count(q, "deepest", r->deepest, r->deepest);
    ouro__write_end(&q->json);
}

// A flame graph has thousands of blocks: what most of them do not have is left out.
void ouro__write_block_info(question *q, const side *s, const profile *p, uint32_t b) {
    const char *mark = mark_of(ouro__block_name(p, b));
    char *label = label_of(s, p, b);
    if (!label) ouro__output_fail_memory(q->out);
    ouro__write_text(&q->json, "label", label);
    ouro__write_text(&q->json, "name", ouro__block_name(p, b));
    ouro__write_text(&q->json, "file", ouro__block_file(p, b));
    ouro__write_integer(&q->json, "line", p->blocks[b].line);
    if (p->blocks[b].column) ouro__write_integer(&q->json, "column", p->blocks[b].column);
    if (mark) ouro__write_text(&q->json, "mark", mark);
    free(label);
}

void ouro__write_block(question *q, const char *name, uint32_t b) {
    if (b == NO_BLOCK) return ouro__write_null(&q->json, name);
    if (!q->place_of[b]) {
        q->blocks[q->block_count++] = b;
        q->place_of[b] = q->block_count;
    }
    ouro__write_integer(&q->json, name, q->place_of[b] - 1);
}

// ---------------------------------------------------------------- around every answer

void ouro__write_metric(question *q, const char *name, const profile *p, uint32_t m,
                        uint32_t decimals) {
    ouro__write_text(&q->json, name, ouro__metric_name(p, m));
    ouro__write_text(&q->json, "unit", ouro__metric_unit(p, m));
    ouro__write_integer(&q->json, "decimals", decimals);
}

static void write_seconds(question *q, const char *name, double seconds) {
    char text[40];
    snprintf(text, sizeof text, "%.6f", seconds);
    ouro__write_number(&q->json, name, isfinite(seconds) ? text : NULL);
}

// The seconds that were looked at: the time between two looks at a live file is not cut.
static void write_stretch(question *q) {
    const side *s = q->side;
    const view *v = q->view;
    double end = s->profile->running ? q->generation->time : s->seen,
           opened = q->api->shelf->files[q->file].opened;
    if (v->when.last) return write_seconds(q, "last", end - v->span.from);
    ouro__write_array(&q->json, "during");
    write_seconds(q, NULL, v->span.from - opened);
    write_seconds(q, NULL, v->span.until - opened);
    ouro__write_end(&q->json);
}

static void write_head(question *q) {
    ouro__write_object(&q->json, NULL);
    if (q->generation) ouro__write_integer(&q->json, "generation", (int64_t)q->generation->number);
    if (!q->view) return;
    ouro__write_metric(q, "metric", q->p, q->metric, q->p->metrics[q->metric].decimals);
    ouro__write_integer(&q->json, "total", q->total);
    ouro__write_integer(&q->json, "left", q->left);
    if (q->side->profile->missing) ouro__write_text(&q->json, "missing", q->side->profile->missing);
    if (ouro__is_stretch(&q->view->when)) write_stretch(q);
    ouro__write_slice_counts(q, "slices", &q->slices[q->side_number]);
}

static void write_foot(question *q) {
    if (q->view) ouro__write_rows(&q->json, "blocks");
    for (uint32_t i = 0; i < q->block_count; i++) {
        ouro__write_object(&q->json, NULL);
        ouro__write_block_info(q, q->side, q->p, q->blocks[i]);
        ouro__write_recursion(q, "recursion", &q->recursed[q->blocks[i]]);
        ouro__write_end(&q->json);
    }
    if (q->view) ouro__write_end(&q->json);
    ouro__write_end(&q->json);
    ouro__put_text(q->out, "\n");
}

// ---------------------------------------------------------------- answering

static bool find_side(question *q) {
    const char *name = ouro__request_value(q->request, "side");
    if (name && strcmp(name, "before") != 0 && strcmp(name, "after") != 0)
        return ouro__refuse(q, 400, "bad-side", "side is before or after");
    q->side_number = name && strcmp(name, "after") == 0;
    if (!ouro__question_times(q)) return false;
    q->file = ouro__question_file(q, q->side_number);
    if (q->file >= q->generation->side_count)
        return ouro__refuse(q, 404, "no-such-side", "only one file is open");
    q->side = q->generation->sides[q->file];
    return true;
}

static bool find_metric(question *q, bool common) {
    uint32_t metrics[2];
    if (!common) return ouro__question_metric(q, q->side->profile, &q->metric);
    if (!ouro__find_common(q, metrics)) return false;
    q->metric = metrics[q->side_number];
    return true;
}

static bool find_view(question *q, bool common) {
    if (!find_metric(q, common)) return false;
    if (!(q->view = ouro__question_view(q, q->side_number))) return false;
    q->p = q->view->profile;
    q->recursions = ouro__profile_find_metric(q->p, "recursions");
    q->recursed = ouro__view_recursed(q->view);
    q->total = ouro__view_all(q->view)[q->metric];
    q->left = ouro__view_left(q->view, q->metric);
    q->place_of = calloc((size_t)q->p->block_count + 1, sizeof *q->place_of);
    q->blocks = malloc(((size_t)q->p->block_count + 1) * sizeof *q->blocks);
    return q->recursed && q->place_of && q->blocks;
}

// Files spell out every path and every name: where there are files, they do not go through memory.
static bool write_answer(question *q, const known_question *k) {
    bool members = !q->csv && !(k->flags & EXPORT);
    error e = {0};
    q->out = q->json.out =
        members || q->api->no_files ? ouro__output_memory() : ouro__output_temporary(&e);
    if (!q->out) return e.code && ouro__refuse_error(q, 500, "cannot-write", &e);
    if (q->side) ouro__output_limit(q->out, &q->side->profile->budget);
    if (members) write_head(q);
    if (!k->answer(q)) return false;
    if (members) write_foot(q);
    return true;
}

static void answer_question(question *q, const known_question *k) {
    bool ok = (!q->generation || find_side(q)) &&
              (!(k->flags & VIEW) || find_view(q, k->flags & COMMON)) && write_answer(q, k);
    if (ok) {
        const char *type = q->csv ? csv_type : k->flags & EXPORT ? q->type : NULL;
        if (type && !q->api->no_files) {
            ouro__answer_from_file(q->answer, type, q->out);
        } else {
            ouro__answer_from(q->answer, 200, type, q->out);
        }
        if (q->answer->status == 200)
            memcpy(q->answer->file_name, q->file_name, sizeof q->file_name);
    } else {
        if (q->out) ouro__output_close(q->out, false, NULL);
        if (!q->refused) ouro__answer_memory(q->answer);
    }
    if (q->view) ouro__cache_release(q->api->cache, q->view);
    free(q->place_of);
    free(q->blocks);
}

static void answer_fresh(api *a, const request *r, const known_question *k, generation *g,
                         answer *to) {
    const char *format = ouro__request_value(r, "format");
    question q = {.api = a, .request = r, .generation = g, .answer = to};
    q.csv = format && strcmp(format, "csv") == 0;
    if (format && !q.csv && strcmp(format, "json") != 0) {
        ouro__refuse(&q, 400, "bad-format", "format is json or csv");
    } else if (q.csv && !(k->flags & TABLE)) {
        ouro__refuse(&q, 400, "not-a-table", "/%s has no table", k->path);
    } else {
        answer_question(&q, k);
    }
}

static const known_question *find_question(const char *path) {
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        if (strcmp(questions[i].path, path) == 0) return &questions[i];
    }
    return NULL;
}

// ---------------------------------------------------------------- which profile

static const known_question whole_store = {"profile", ouro__api_store, STORE | BEYOND};

// A store is open: the parameters say which choice is meant, and how old an answer may be.
static generation *find_choice(api *a, const request *r, answer *to) {
    enum { FRESH_MOST = 1000000 };
    uint32_t fresh;
    error e = {0};
    chosen_sides asked = {ouro__request_value(r, "where"), ouro__request_value(r, "with"), -1};
    if (!asked.where) {
        ouro__answer_error(to, 400, "no-choice",
                           "say which profiles are meant: where=service=web, or where= for all");
        return NULL;
    }
    if (!ouro__request_number(r, "fresh", 0, FRESH_MOST, FRESH_MOST, &fresh)) {
        ouro__answer_error(to, 400, "bad-number", "fresh is a whole number of seconds");
        return NULL;
    }
    if (fresh < FRESH_MOST) asked.fresh = fresh;
    generation *g = ouro__choices_generation(a->shelf->choices, a->cache, &asked, &e);
    if (g) return g;
    if (e.code == ENOMEM) ouro__answer_memory(to);
    if (e.code != ENOMEM)
        ouro__answer_error(to, e.code == EINVAL ? 400 : 503,
                           e.code == EINVAL ? "bad-choice" : "no-store", e.message);
    return NULL;
}

static void answer_of(api *a, const request *r, const known_question *k, generation *g,
                      const char *known_etag, answer *to) {
    char etag[64];
    snprintf(etag, sizeof etag, "\"%s-%llu\"", a->instance, (unsigned long long)g->number);
    bool lasting = !(k->flags & BEYOND);
    if (lasting && known_etag && strcmp(known_etag, etag) == 0) {
        *to = (answer){.status = 304, .lasting = ""};
    } else {
        answer_fresh(a, r, k, g, to);
    }
    if (lasting && (to->status == 200 || to->status == 304)) memcpy(to->etag, etag, sizeof etag);
}

// An answer depends on the generation and the target alone, so the generation is its ETag.
void ouro__api_answer(api *a, const request *r, const char *known_etag, answer *to) {
    const known_question *k = find_question(r->path + strlen(API_PATH));
    bool store = a->shelf->choices != NULL;
    if (!k || (k->flags & STORE && !store))
        return ouro__answer_error(to, 404, "no-such-question",
                                  "there is no such question; see docs/api.md");
    if (store && k->answer == ouro__api_profile && !ouro__request_value(r, "where"))
        k = &whole_store;
    if (k->flags & STORE) return answer_fresh(a, r, k, NULL, to);
    generation *g = store ? find_choice(a, r, to) : ouro__shelf_generation(a->shelf);
    if (!g) return;
    answer_of(a, r, k, g, known_etag, to);
    ouro__generation_release(a->shelf, g);
}
