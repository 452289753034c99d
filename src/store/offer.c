// SPDX-License-Identifier: MIT
//
// What can be chosen: an engine tells labels in any order and as often as it finds them; here they
// are counted, sorted and cut to what a page can list.

#include "engine.h"

#include <stdlib.h>
#include <string.h>

struct offering {
    store_offer *to;
    size_t label_room;
    lookup lookup; // of labels, by name and value
};

static uint32_t hash_of(const char *name, const char *value) {
    return ouro__hash_bytes(name, strlen(name)) * 31 + ouro__hash_bytes(value, strlen(value));
}

static label_count *find_label(offering *o, uint32_t hash, const char *name, const char *value) {
    uint32_t row;
    for (uint64_t i = ouro__lookup_first(&o->lookup, hash);
         (row = ouro__lookup_next(&o->lookup, hash, &i)) != NO_ROW;) {
        label_count *l = &o->to->labels[row];
        if (strcmp(l->name, name) == 0 && strcmp(l->value, value) == 0) return l;
    }
    return NULL;
}

static bool add_label(offering *o, uint32_t hash, const char *name, const char *value,
                      uint64_t slices) {
    store_offer *to = o->to;
    if (to->label_count == o->label_room) {
        size_t room = o->label_room * 2 + 64;
        label_count *labels = realloc(to->labels, room * sizeof *labels);
        if (!labels) return false;
        to->labels = labels;
        o->label_room = room;
    }
    label_count *l = &to->labels[to->label_count];
    *l = (label_count){strdup(name), strdup(value), slices};
    to->label_count++;
    return l->name && l->value && ouro__lookup_add(&o->lookup, hash, (uint32_t)to->label_count - 1);
}

bool ouro__offering_label(offering *o, const char *name, const char *value, uint64_t slices) {
    uint32_t hash = hash_of(name, value);
    label_count *known = find_label(o, hash, name, value);
    if (!known) return add_label(o, hash, name, value, slices);
    known->slices += slices;
    return true;
}

void ouro__offering_slices(offering *o, uint64_t slices, uint64_t first, uint64_t last) {
    store_offer *to = o->to;
    if (!slices) return;
    if (!to->slices || first < to->first) to->first = first;
    if (last > to->last) to->last = last;
    to->slices += slices;
}

bool ouro__offering_metric(offering *o, const char *name, const char *unit, uint32_t decimals) {
    store_offer *to = o->to;
    store_metric *metrics = realloc(to->metrics, (to->metric_count + 1) * sizeof *metrics);
    if (!metrics) return false;
    to->metrics = metrics;
    store_metric *m = &metrics[to->metric_count++];
    *m = (store_metric){strdup(name), strdup(unit), decimals};
    return m->name && m->unit;
}

bool ouro__offering_missing(offering *o, const char *words) {
    free(o->to->missing);
    return (o->to->missing = strdup(words)) != NULL;
}

// ---------------------------------------------------------------- the whole

static int by_name(const void *a, const void *b) {
    const label_count *x = a, *y = b;
    int way = strcmp(x->name, y->name);
    if (way) return way;
    if (x->slices != y->slices) return x->slices > y->slices ? -1 : 1;
    return strcmp(x->value, y->value);
}

// Leaves the first LABELS_LISTED of each name.
static void cut_labels(store_offer *o) {
    size_t kept = 0, of_name = 0;
    o->label_values = o->label_count;
    for (size_t i = 0; i < o->label_count; i++) {
        label_count l = o->labels[i];
        of_name = kept && strcmp(o->labels[kept - 1].name, l.name) == 0 ? of_name + 1 : 1;
        if (of_name <= LABELS_LISTED) {
            o->labels[kept++] = l;
        } else {
            free(l.name);
            free(l.value);
        }
    }
    o->label_count = kept;
}

bool ouro__offer_make(const engine *how, void *opened, const choice *c, store_offer *to, error *e) {
    offering o = {.to = to};
    *to = (store_offer){0};
    bool ok = how->offer(opened, c, &o, e) && how->metrics(opened, &o, e);
    ouro__lookup_free(&o.lookup);
    if (!ok) {
        ouro__store_offer_free(to);
        return false;
    }
    if (to->label_count) qsort(to->labels, to->label_count, sizeof *to->labels, by_name);
    cut_labels(to);
    return true;
}

bool ouro__offer_metrics(const engine *how, void *opened, store_offer *to, error *e) {
    offering o = {.to = to};
    *to = (store_offer){0};
    bool ok = how->metrics(opened, &o, e);
    if (!ok) ouro__store_offer_free(to);
    return ok;
}

void ouro__store_offer_free(store_offer *o) {
    for (size_t i = 0; i < o->label_count; i++) {
        free(o->labels[i].name);
        free(o->labels[i].value);
    }
    for (size_t i = 0; i < o->metric_count; i++) {
        free(o->metrics[i].name);
        free(o->metrics[i].unit);
    }
    free(o->labels);
    free(o->metrics);
    free(o->missing);
    *o = (store_offer){0};
}

static const store_metric *find_metric(const store_offer *o, const char *name) {
    for (size_t i = 0; i < o->metric_count; i++) {
        if (strcmp(o->metrics[i].name, name) == 0) return &o->metrics[i];
    }
    return NULL;
}

// The same order as that of a profile's usual metric.
const store_metric *ouro__offer_metric(const store_offer *o, const char *name) {
    static const char *const usual[] = {"time", "cpu", "samples"};
    if (name) return find_metric(o, name);
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        const store_metric *found = find_metric(o, usual[i]);
        if (found) return found;
    }
    return o->metric_count ? &o->metrics[0] : NULL;
}
