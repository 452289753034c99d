// SPDX-License-Identifier: MIT
//
// What a page needs to choose from a store: what there is to choose, and how a metric is spread
// over time. Neither asks for a profile, so both are cheap however much is chosen.

#include "ouro.h"

#include "api.h"
#include "shared.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES_USUAL = 12, VALUES_OFFERED = 20, STEPS_USUAL = 120 };

// ---------------------------------------------------------------- parameters

// The choice of the parameter `where`; without it, everything.
static const char *where_of(const question *q) {
    const char *where = ouro__request_value(q->request, "where");
    return where ? where : "";
}

// false: refused.
static bool read_choice(question *q, choice *c) {
    error e = {0};
    return ouro__choice_parse(where_of(q), ouro__choices_now(), c, &e) ||
           ouro__refuse_error(q, 400, "bad-choice", &e);
}

static bool refuse_store(question *q, const error *e) {
    return ouro__refuse_error(q, e->code == EINVAL ? 400 : 503, "no-store", e);
}

// Milliseconds since 1970; 0: the parameter is not there. false: refused.
static bool read_time(question *q, const char *name, uint64_t *time) {
    const char *text = ouro__request_value(q->request, name);
    char *end = NULL;
    *time = 0;
    if (!text) return true;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    bool ok = *text >= '0' && *text <= '9' && !*end && !errno && number <= INT64_MAX / 2;
    *time = number;
    return ok || ouro__refuse(q, 400, "bad-number", "%s is in milliseconds since 1970", name);
}

static void write_time(question *q, const char *name, uint64_t time) {
    if (time) ouro__write_integer(&q->json, name, (int64_t)time);
    if (!time) ouro__write_null(&q->json, name);
}

// ---------------------------------------------------------------- what can be chosen

static void write_store_metric(question *q, const store_metric *m) {
    ouro__write_text(&q->json, "name", m->name);
    ouro__write_text(&q->json, "unit", m->unit);
    ouro__write_integer(&q->json, "decimals", m->decimals);
}

static void write_store_metrics(question *q, const store_offer *o) {
    ouro__write_array(&q->json, "metrics");
    for (size_t i = 0; i < o->metric_count; i++) {
        ouro__write_object(&q->json, NULL);
        write_store_metric(q, &o->metrics[i]);
        ouro__write_end(&q->json);
    }
    ouro__write_end(&q->json);
}

// The values of a label from row i on; returns where the next label begins. One label alone is
// listed in full.
static size_t write_label(question *q, const store_offer *o, size_t i, size_t most) {
    json_writer *w = &q->json;
    const label_count *l = o->labels;
    size_t end = i;
    while (end < o->label_count && strcmp(l[end].name, l[i].name) == 0) end++;
    ouro__write_object(w, NULL);
    ouro__write_text(w, "name", l[i].name);
    ouro__write_integer(w, "values", (int64_t)(end - i));
    ouro__write_bool(w, "more", end - i == LABELS_LISTED);
    ouro__write_rows(w, "rows");
    for (size_t at = i; at < end && at - i < most; at++) {
        ouro__write_object(w, NULL);
        ouro__write_text(w, "value", l[at].value);
        ouro__write_integer(w, "slices", (int64_t)l[at].slices);
        ouro__write_end(w);
    }
    ouro__write_end(w);
    ouro__write_end(w);
    return end;
}

static void write_labels(question *q, const store_offer *o) {
    const char *only = ouro__request_value(q->request, "name");
    ouro__write_rows(&q->json, "labels");
    for (size_t i = 0; i < o->label_count;) {
        if (only && strcmp(o->labels[i].name, only) != 0) {
            i++;
        } else {
            i = write_label(q, o, i, only ? LABELS_LISTED : VALUES_OFFERED);
        }
    }
    ouro__write_end(&q->json);
}

// What can be chosen, or without a choice the metrics; released by ouro__shared_release. NULL:
// refused.
static const shared *ask_offer(question *q, const char *where) {
    error e = {0};
    const shared *s = ouro__choices_offer(q->api->shelf->choices, where, &e);
    if (!s) refuse_store(q, &e);
    return s;
}

bool ouro__api_offer(question *q) {
    choice c;
    if (!read_choice(q, &c)) return false;
    const shared *s = ask_offer(q, where_of(q));
    if (s) {
        const store_offer *o = &s->offer;
        write_time(q, "now", ouro__choices_now());
        write_time(q, "since", c.since);
        write_time(q, "until", c.until);
        ouro__write_integer(&q->json, "slices", (int64_t)o->slices);
        write_time(q, "first", o->first);
        write_time(q, "last", o->last);
        ouro__write_text(&q->json, "missing", o->missing);
        write_store_metrics(q, o);
        write_labels(q, o);
        ouro__shared_release(q->api->shelf->choices, s);
    }
    ouro__choice_free(&c);
    return s != NULL;
}

// ---------------------------------------------------------------- a chart

// The shortest step, a length that people count in, with which the stretch takes at most so many.
static uint64_t step_for(uint64_t length, uint32_t steps) {
    static const uint32_t seconds[] = {1,   2,   5,    10,   15,   30,    60,    120,   300,
                                       600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400};
    uint64_t day = 86400000, step = day;
    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++) {
        step = (uint64_t)seconds[i] * 1000;
        if (length / step + 2 <= steps) return step;
    }
    while (length / step + 2 > steps) step += day;
    return step;
}

// From the beginning of a step to the end of one. `first` and `last` are in it.
static void fit_steps(series_question *s, uint64_t first, uint64_t last, uint32_t steps) {
    if (last < first) last = first;
    s->step = step_for(last - first, steps);
    s->from = (first ? first - 1 : 0) / s->step * s->step;
    s->steps = (uint32_t)((last - s->from + s->step - 1) / s->step);
    if (!s->steps) s->steps = 1;
    if (s->steps > steps) s->steps = steps;
}

static bool read_series(question *q, const store_offer *o, series_question *s) {
    uint64_t from, until;
    uint32_t steps, values;
    const char *name = ouro__request_value(q->request, "metric");
    if (!read_time(q, "from", &from) || !read_time(q, "until", &until)) return false;
    if (!ouro__request_number(q->request, "steps", 3, SERIES_STEPS, STEPS_USUAL, &steps))
        return ouro__refuse(q, 400, "bad-number", "steps is a number from 3 to %d", SERIES_STEPS);
    if (!ouro__request_number(q->request, "values", 0, SERIES_VALUES, VALUES_USUAL, &values))
        return ouro__refuse(q, 400, "bad-number", "values is a number up to %d", SERIES_VALUES);
    *s = (series_question){.metric = ouro__offer_metric(o, name && *name ? name : NULL),
                           .label = ouro__request_value(q->request, "by"),
                           .most = values};
    if (s->label && !*s->label) s->label = NULL;
    if (name && *name && !s->metric)
        return ouro__refuse(q, 404, "no-such-metric", "no metric is called %s", name);
    uint64_t first = from ? from + 1 : o->first, last = until ? until : o->last;
    fit_steps(s, first, last, steps);
    return true;
}

static void write_sums(question *q, const series *s, const series_row *row) {
    ouro__write_integer(&q->json, "total", row->total);
    ouro__write_array(&q->json, "sums");
    for (uint32_t i = 0; i < s->steps; i++) ouro__write_integer(&q->json, NULL, row->sums[i]);
    ouro__write_end(&q->json);
}

static void write_series(question *q, const series_question *asked, const series *s) {
    json_writer *w = &q->json;
    ouro__write_text(w, "metric", asked->metric ? asked->metric->name : NULL);
    ouro__write_text(w, "unit", asked->metric ? asked->metric->unit : "");
    ouro__write_integer(w, "decimals", asked->metric ? asked->metric->decimals : 0);
    ouro__write_text(w, "by", asked->label);
    ouro__write_integer(w, "from", (int64_t)asked->from);
    ouro__write_integer(w, "step", (int64_t)asked->step);
    ouro__write_integer(w, "steps", asked->steps);
    ouro__write_text(w, "missing", s->missing);
    ouro__write_rows(w, "rows");
    for (uint32_t i = 0; i < s->row_count; i++) {
        ouro__write_object(w, NULL);
        ouro__write_text(w, "value", s->rows[i].value);
        write_sums(q, s, &s->rows[i]);
        ouro__write_end(w);
    }
    ouro__write_end(w);
    if (!s->others) return ouro__write_null(w, "other");
    ouro__write_object(w, "other");
    ouro__write_integer(w, "values", (int64_t)s->others);
    write_sums(q, s, &s->other);
    ouro__write_end(w);
}

// A store without metrics has an empty chart.
static bool answer_series(question *q, const series_question *asked) {
    error e = {0};
    choices *from = q->api->shelf->choices;
    if (!asked->metric) {
        write_series(q, asked, &(series){.steps = asked->steps});
        return true;
    }
    const shared *s = ouro__choices_series(from, where_of(q), asked, &e);
    if (!s) return refuse_store(q, &e);
    write_series(q, asked, &s->series);
    ouro__shared_release(from, s);
    return true;
}

bool ouro__api_series(question *q) {
    choice c;
    series_question asked;
    bool timed =
        ouro__request_value(q->request, "from") && ouro__request_value(q->request, "until");
    if (!read_choice(q, &c)) return false;
    ouro__choice_free(&c);
    const shared *s = ask_offer(q, timed ? NULL : where_of(q));
    if (!s) return false;
    bool ok = read_series(q, &s->offer, &asked) && answer_series(q, &asked);
    ouro__shared_release(q->api->shelf->choices, s);
    return ok;
}

// ---------------------------------------------------------------- what is open

// In the place of a file, for a page that looks at no profile yet.
static void write_whole(question *q, const store_offer *o) {
    json_writer *w = &q->json;
    const char *title = q->api->shelf->options.store_title;
    const store_metric *usual = ouro__offer_metric(o, NULL);
    ouro__write_object(w, NULL);
    ouro__write_text(w, "path", title);
    ouro__write_text(w, "title", title);
    ouro__write_text(w, "choice", NULL);
    ouro__write_text(w, "format", "store");
    ouro__write_bool(w, "live", false);
    ouro__write_bool(w, "running", false);
    ouro__write_integer(w, "label_count", 0);
    ouro__write_text(w, "default_metric", usual ? usual->name : NULL);
    write_store_metrics(q, o);
    ouro__write_null(w, "part");
    ouro__write_end(w);
}

bool ouro__api_store(question *q) {
    const shared *s = ask_offer(q, "");
    if (!s) return false;
    ouro__write_text(&q->json, "version", OURO_VERSION);
    ouro__write_bool(&q->json, "compare", false);
    ouro__write_array(&q->json, "files");
    write_whole(q, &s->offer);
    ouro__write_end(&q->json);
    ouro__write_source(q);
    ouro__write_store(q);
    ouro__shared_release(q->api->shelf->choices, s);
    return true;
}
