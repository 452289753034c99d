// SPDX-License-Identifier: MIT
//
// Parameters that ask for a part of the time: `slices` and `against` for slices that the program
// named, `last` and `during` for what a live file got while it was watched.
//
// A choice of slices is a filter by labels. So it is added to the filter, and all questions about
// what filters leave answer it.

#include "api.h"

#include "slice_choice.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SECONDS_MOST = 1000000 };

unsigned ouro__question_file(const question *q, unsigned side_number) {
    return q->versus ? 0 : side_number;
}

bool ouro__question_times(question *q) {
    const request *r = q->request;
    bool sliced = ouro__request_value(r, "slices"), against = ouro__request_value(r, "against");
    bool stretch = ouro__request_value(r, "last") || ouro__request_value(r, "during");
    if (sliced && stretch)
        return ouro__refuse(q, 400, "bad-slices",
                            "slices cannot be asked for together with last or during");
    if (against && !sliced)
        return ouro__refuse(q, 400, "bad-slices", "against needs slices to compare with");
    if (against && q->generation->side_count == 2)
        return ouro__refuse(q, 400, "bad-slices",
                            "against compares slices of one file, and two are open");
    q->versus = against;
    return true;
}

// ---------------------------------------------------------------- slices

// What the label filters say of slices holds too: of both, what both have.
static void intersect(filter *f, size_t own, const label_condition *chosen, size_t count) {
    label_condition *all = (label_condition *)(uintptr_t)f->labels;
    size_t used = 0, wanted = 0;
    for (size_t i = 0; i < own; i++) wanted += all[i].key == chosen[0].key && !all[i].unwanted;
    for (size_t c = 0; c < count; c++) {
        bool both = !wanted;
        for (size_t i = 0; i < own && !both; i++)
            both = all[i].key == chosen[c].key && !all[i].unwanted && all[i].tag == chosen[c].tag;
        if (both) all[own + used++] = chosen[c];
    }
    if (!used) all[own + used++] = (label_condition){chosen[0].key, NO_SUCH_TAG, 0};
    f->label_count = 0;
    for (size_t i = 0; i < own + used; i++) {
        if (i >= own || all[i].key != chosen[0].key || all[i].unwanted)
            all[f->label_count++] = all[i];
    }
}

static bool add_conditions(filter *f, const label_condition *chosen, size_t count) {
    size_t own = f->label_count;
    label_condition *all = realloc((void *)(uintptr_t)f->labels, (own + count + 1) * sizeof *all);
    if (!all) return false;
    f->labels = all;
    intersect(f, own, chosen, count);
    return true;
}

// Slices have the entries by kind first, and then the program's own metrics.
static int64_t rest_of(const profile *p, const chosen_slices *c, uint32_t m) {
    const slices *s = p->slices;
    uint32_t at = m < s->own ? m : 3 + m - s->own;
    bool known = m >= s->own || s->own == 3;
    return known && at < s->width && !p->metrics[m].decimals ? (int64_t)c->rest[at] : 0;
}

bool ouro__question_slices(question *q, unsigned side_number, filter *f) {
    const char *text =
        ouro__request_value(q->request, q->versus && !side_number ? "against" : "slices");
    const profile *p = q->generation->sides[ouro__question_file(q, side_number)]->profile;
    slice_counts *counts = &q->slices[side_number];
    slice_choice choice;
    chosen_slices chosen;
    error e = {0};
    if (!text) return true;
    if (!ouro__slice_choice_parse(text, &choice, &e))
        return ouro__refuse_error(q, 400, "bad-slices", &e);
    bool any = false;
    for (unsigned i = 0; i < q->generation->side_count; i++)
        any |= q->generation->sides[i]->profile->slices != NULL;
    if (!any) return ouro__refuse(q, 404, "no-slices", "the profile has no slices");
    *counts = (slice_counts){.asked = true, .exact = true};
    // Two files: slices that only the other has hold for no sample of this one.
    if (!p->slices) return add_conditions(f, &(label_condition){UNKNOWN_KEY, NO_SUCH_TAG, 0}, 1);
    if (!ouro__choose_slices(p, &choice, &chosen)) return false;
    counts->count = chosen.count;
    counts->kept = chosen.kept;
    counts->exact = chosen.exact;
    counts->rest = q->metric < p->metric_count ? rest_of(p, &chosen, q->metric) : 0;
    bool ok = add_conditions(f, chosen.labels, chosen.label_count);
    ouro__chosen_free(&chosen);
    return ok;
}

void ouro__write_slice_counts(question *q, const char *name, const slice_counts *c) {
    json_writer *w = &q->json;
    if (!c->asked) return;
    ouro__write_object(w, name);
    ouro__write_integer(w, "count", (int64_t)c->count);
    ouro__write_bool(w, "exact", c->exact);
    ouro__write_integer(w, "kept", (int64_t)c->kept);
    ouro__write_integer(w, "rest", c->rest);
    ouro__write_end(w);
}

// ---------------------------------------------------------------- the time that was watched

// FROM-UNTIL in seconds; UNTIL may be missing.
static bool parse_during(const char *text, view_when *w) {
    char *end;
    if (*text < '0' || *text > '9') return false;
    w->from = strtod(text, &end);
    if (*end++ != '-' || !isfinite(w->from)) return false;
    w->until = INFINITY;
    if (!*end) return w->from >= 0;
    if (*end < '0' || *end > '9') return false;
    w->until = strtod(end, &end);
    return !*end && isfinite(w->until) && w->from < w->until;
}

bool ouro__question_when(question *q, unsigned side_number, view_when *w) {
    const char *during = ouro__request_value(q->request, "during");
    *w = (view_when){0};
    if (!ouro__request_number(q->request, "last", 1, SECONDS_MOST, 0, &w->last))
        return ouro__refuse(q, 400, "bad-number", "last is a number of seconds from 1 to %d",
                            SECONDS_MOST);
    if (during && w->last)
        return ouro__refuse(q, 400, "bad-number", "last and during cannot be asked for together");
    if (during && !parse_during(during, w))
        return ouro__refuse(q, 400, "bad-number", "during is FROM-UNTIL in seconds, as 12.5-20");
    const slice_counts *c = &q->slices[side_number];
    if (q->versus) w->slices = c->kept ? c->kept : 1;
    return true;
}
