// SPDX-License-Identifier: MIT
//
// What a store has: what can be chosen, and counts. Read from slices only, which are few.

#include "clickhouse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------- what can be chosen

static int by_key(const void *a, const void *b) {
    return memcmp(((const chosen_set *)a)->key.bytes, ((const chosen_set *)b)->key.bytes,
                  sizeof(key));
}

static bool offer_set(const selection *s, row_reader *r, offering *to, error *e) {
    chosen_set wanted = {.key = ouro__binary_get_key(r)};
    uint64_t slices = ouro__binary_get_u64(r), first = ouro__binary_get_u64(r);
    uint64_t last = ouro__binary_get_u64(r);
    if (r->damaged) return ouro__clickhouse_damaged(e);
    const chosen_set *set =
        s->set_count ? bsearch(&wanted, s->sets, s->set_count, sizeof *set, by_key) : NULL;
    if (!set) return true;
    ouro__offering_slices(to, slices, first, last);
    bool ok = true;
    for (size_t i = 0; ok && i < set->labels.count; i++)
        ok =
            ouro__offering_label(to, set->labels.items[i].name, set->labels.items[i].value, slices);
    return ok || ouro__fail_memory(e);
}

bool ouro__clickhouse_metrics(void *opened, offering *to, error *e) {
    http_answer a;
    bool ok = ouro__clickhouse_runf(opened, (statement){0}, &a, e,
                                    "SELECT name, unit, decimals FROM ouro_metrics"
                                    " ORDER BY name, unit, decimals LIMIT 1 BY metric"
                                    " FORMAT RowBinary");
    if (!ok) return false;
    row_reader r = ouro__binary_of(&a);
    while (ok && ouro__binary_left(&r)) {
        char *name = ouro__binary_get_text(&r), *unit = ouro__binary_get_text(&r);
        uint32_t decimals = ouro__binary_get_u32(&r);
        ok = !r.damaged || ouro__clickhouse_damaged(e);
        ok = ok && ((name && unit && ouro__offering_metric(to, name, unit, decimals)) ||
                    ouro__fail_memory(e));
        free(name);
        free(unit);
    }
    ouro__http_answer_free(&a);
    return ok;
}

static bool offer_sets(clickhouse *c, selection *s, offering *to, error *e) {
    http_answer a;
    statement how = {.keys = s->keys, .key_count = s->key_count, .skip = s->skip};
    if (!ouro__clickhouse_runf(c, how, &a, e,
                               "SELECT labels, count(), min(last), max(last) FROM (%s)"
                               " GROUP BY labels FORMAT RowBinary",
                               s->slices))
        return false;
    row_reader r = ouro__binary_of(&a);
    if (s->set_count) qsort(s->sets, s->set_count, sizeof *s->sets, by_key);
    bool ok = true;
    while (ok && ouro__binary_left(&r)) ok = offer_set(s, &r, to, e);
    ouro__http_answer_free(&a);
    return ok;
}

static bool offer_choice(clickhouse *c, const choice *of, bool skip, offering *to, error *e) {
    selection s;
    if (!ouro__select(c, of, NULL, true, skip, &s, e)) return false;
    bool ok = offer_sets(c, &s, to, e);
    ouro__selection_free(&s);
    return ok;
}

bool ouro__clickhouse_offer(void *opened, const choice *of, offering *to, error *e) {
    error first = {0};
    char *missing = NULL;
    bool ok = offer_choice(opened, of, false, to, &first);
    if (!ok && ouro__clickhouse_goes_without(opened, of->strict, &missing, &first))
        ok = offer_choice(opened, of, true, to, &first);
    if (ok && missing) ok = ouro__offering_missing(to, missing) || ouro__fail_memory(&first);
    free(missing);
    if (!ok && e) *e = first;
    return ok;
}

// ---------------------------------------------------------------- counts

static bool read_counts(clickhouse *c, statement how, store_summary *to, error *e) {
    http_answer a;
    if (!ouro__clickhouse_runf(
            c, how, &a, e,
            "SELECT uniqExact(recording), count(), sum(rows), min(first), max(last) FROM"
            " (SELECT recording, argMin(samples, slice) AS rows, argMin(began, slice) AS first,"
            " argMin(ended, slice) AS last FROM ouro_slices%s GROUP BY recording, number)"
            " FORMAT RowBinary",
            ouro__clickhouse_suffix(c)))
        return false;
    row_reader r = ouro__binary_of(&a);
    uint64_t *fields[] = {&to->recordings, &to->slices, &to->rows, &to->from, &to->until};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        *fields[i] = ouro__binary_get_u64(&r);
    ouro__http_answer_free(&a);
    return !r.damaged || ouro__clickhouse_damaged(e);
}

static bool read_bytes(clickhouse *c, statement how, uint64_t *bytes, error *e) {
    char from[320] = "system.parts";
    if (c->url.cluster) snprintf(from, sizeof from, "cluster('%s', system.parts)", c->url.cluster);
    return ouro__clickhouse_number(
        c, how, bytes, e,
        "SELECT sum(bytes_on_disk) FROM %s WHERE active AND database = '%s'"
        " AND substring(table, 1, 5) = 'ouro_' FORMAT RowBinary",
        from, c->url.database);
}

// Labels as an offer of everything counts them.
static bool count_labels(void *opened, bool skip, store_summary *to, error *e) {
    store_offer all;
    if (!ouro__offer_make(&ouro__clickhouse, opened, &(choice){.strict = !skip}, &all, e))
        return false;
    to->labels = all.labels;
    to->label_count = all.label_count;
    to->label_values = all.label_values;
    all.labels = NULL;
    all.label_count = 0;
    ouro__store_offer_free(&all);
    return true;
}

// Names are on every shard.
static bool summarise(clickhouse *c, bool skip, store_summary *to, error *e) {
    statement how = {.skip = skip};
    return read_counts(c, how, to, e) &&
           ouro__clickhouse_number(c, how, &to->paths, e,
                                   "SELECT uniqExact(node) FROM ouro_nodes FORMAT RowBinary") &&
           ouro__clickhouse_number(c, how, &to->blocks, e,
                                   "SELECT uniqExact(block) FROM ouro_blocks FORMAT RowBinary") &&
           read_bytes(c, how, &to->bytes, e) && count_labels(c, skip, to, e);
}

bool ouro__clickhouse_summary(void *opened, bool strict, store_summary *to, error *e) {
    error first = {0};
    bool ok = summarise(opened, false, to, &first);
    if (!ok && ouro__clickhouse_goes_without(opened, strict, &to->missing, &first))
        ok = summarise(opened, true, to, &first);
    if (!ok && e) *e = first;
    return ok;
}
