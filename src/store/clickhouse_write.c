// SPDX-License-Identifier: MIT
//
// A slice is written under a new random id: first the names that the store does not have, then the
// samples, then the one row that makes them count. Until then nobody sees them, and what a push
// that failed left behind goes with its day. A commit may be sent twice; samples are never sent
// twice under one id.

#include "clickhouse.h"

#include "keys.h"
#include "packed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

// ---------------------------------------------------------------- ids

uint64_t ouro__short_id(key k) {
    uint64_t id = 0;
    for (int i = 7; i >= 0; i--) id = id << 8 | k.bytes[i];
    return id;
}

static key text_key(const char *text) {
    sha256 s;
    ouro__sha256_init(&s);
    ouro__sha256_add(&s, text, strlen(text));
    return ouro__key_end(&s);
}

uint64_t ouro__service_id(const label_set *l) {
    const char *service = ouro__label_set_get(l, "service");
    return ouro__short_id(text_key(service ? service : ""));
}

key ouro__metric_key(const char *name, const char *unit, uint32_t decimals) {
    sha256 s;
    unsigned char number[4] = {(unsigned char)decimals, (unsigned char)(decimals >> 8),
                               (unsigned char)(decimals >> 16), (unsigned char)(decimals >> 24)};
    ouro__sha256_init(&s);
    ouro__sha256_add(&s, name, strlen(name) + 1);
    ouro__sha256_add(&s, unit, strlen(unit) + 1);
    ouro__sha256_add(&s, number, sizeof number);
    return ouro__key_end(&s);
}

key ouro__metric_key_of(const profile *p, uint32_t m) {
    return ouro__metric_key(ouro__metric_name(p, m), ouro__metric_unit(p, m),
                            p->metrics[m].decimals);
}

void ouro__key_hex(key k, char hex[static 33]) {
    for (int i = 0; i < 16; i++) snprintf(hex + 2 * i, 3, "%02X", (unsigned)k.bytes[i]);
}

// ---------------------------------------------------------------- samples

static uint32_t hour_of(const slice *s) {
    uint64_t hour = s->until / MILLISECONDS_OF_HOUR;
    return hour < UINT32_MAX ? (uint32_t)hour : UINT32_MAX;
}

typedef struct {
    uint64_t id;
    const int64_t *values;
} metric_column;

static int by_id(const void *a, const void *b) {
    const metric_column *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

// A key as a number that is sorted as the key is.
static uint64_t *node_numbers(const slice *s) {
    uint32_t count = s->profile->node_count;
    uint64_t *numbers = calloc(count, sizeof *numbers);
    for (uint32_t n = 1; numbers && n < count; n++) {
        for (int i = 0; i < 8; i++) numbers[n] = numbers[n] << 8 | s->keys->nodes[n].bytes[i];
    }
    return numbers;
}

// Rows come in the order of the table, which saves the server to sort them: half of its work.
static uint64_t put_samples(row_writer *rows, const clickhouse_writer *w, const order *nodes,
                            const metric_column *metrics, uint64_t id) {
    uint64_t service = ouro__service_id(w->s->labels), count = 0;
    uint32_t hour = hour_of(w->s), metric_count = w->s->profile->metric_count;
    for (size_t i = 0; i < nodes->count; i++) {
        uint32_t n = nodes->nodes[i];
        for (uint32_t m = 0; m < metric_count; m++) {
            if (!metrics[m].values[n]) continue;
            ouro__binary_u64(rows, service);
            ouro__binary_u64(rows, metrics[m].id);
            ouro__binary_u32(rows, hour);
            ouro__binary_key(rows, w->s->keys->nodes[n]);
            ouro__binary_u64(rows, id);
            ouro__binary_u64(rows, (uint64_t)metrics[m].values[n]);
            count++;
        }
    }
    return count;
}

static bool insert_samples(clickhouse_writer *w, uint64_t id, uint64_t *count, error *e) {
    const profile *p = w->s->profile;
    metric_column metrics[METRICS_MAX];
    row_writer rows = {0};
    order nodes = {0};
    uint64_t *numbers = node_numbers(w->s);
    bool ok = numbers && ouro__order_make(&nodes, w->needed, numbers, p->node_count);
    for (uint32_t m = 0; m < p->metric_count; m++)
        metrics[m] = (metric_column){ouro__short_id(ouro__metric_key_of(p, m)), p->values[m]};
    qsort(metrics, p->metric_count, sizeof *metrics, by_id);
    if (ok) *count = put_samples(&rows, w, &nodes, metrics, id);
    ouro__order_free(&nodes);
    free(numbers);
    if (!ok) return ouro__fail_memory(e);
    return ouro__clickhouse_insert(w->c, "samples", "service, metric, hour, node, slice, value",
                                   &rows, true, e);
}

// The sum of a metric is in the row, so that charts need no samples.
static void put_totals(row_writer *rows, const profile *p) {
    ouro__binary_length(rows, p->metric_count);
    for (uint32_t m = 0; m < p->metric_count; m++)
        ouro__binary_u64(rows, ouro__short_id(ouro__metric_key_of(p, m)));
    ouro__binary_length(rows, p->metric_count);
    for (uint32_t m = 0; m < p->metric_count; m++) {
        int64_t total = 0;
        for (uint32_t n = 1; n < p->node_count; n++) total += p->values[m][n];
        ouro__binary_u64(rows, (uint64_t)total);
    }
}

static bool commit(clickhouse_writer *w, uint64_t id, uint64_t count, error *e) {
    const slice *s = w->s;
    row_writer rows = {0};
    ouro__binary_key(&rows, s->recording);
    ouro__binary_u64(&rows, s->number);
    ouro__binary_u64(&rows, id);
    ouro__binary_u32(&rows, hour_of(s));
    ouro__binary_u64(&rows, s->from);
    ouro__binary_u64(&rows, s->until);
    ouro__binary_u64(&rows, ouro__service_id(s->labels));
    ouro__binary_key(&rows, w->labels);
    ouro__binary_u64(&rows, count);
    put_totals(&rows, s->profile);
    return ouro__clickhouse_insert(
        w->c, "slices",
        "recording, number, slice, hour, began, ended, service, label_set, samples,"
        " metrics, totals",
        &rows, false, e);
}

// ---------------------------------------------------------------- slices

static bool is_committed(clickhouse *c, const slice *s, bool *known, error *e) {
    char hex[33];
    uint64_t count;
    ouro__key_hex(s->recording, hex);
    bool ok =
        ouro__clickhouse_number(c, (statement){0}, &count, e,
                                "SELECT count() FROM ouro_slices%s WHERE recording ="
                                " toFixedString(unhex('%s'), 16) AND number = %llu"
                                " FORMAT RowBinary",
                                ouro__clickhouse_suffix(c), hex, (unsigned long long)s->number);
    *known = ok && count > 0;
    return ok;
}

// The smallest id of two commits counts, so an id is nothing that anybody can choose to be first.
static bool new_id(uint64_t *id, error *e) {
    return getrandom(id, sizeof *id, 0) == sizeof *id ||
           ouro__fail(e, EIO, "the system gives no random numbers");
}

static bool put_once(clickhouse_writer *w, bool *known, error *e) {
    uint64_t id, count;
    if (!is_committed(w->c, w->s, known, e)) return false;
    return *known || (ouro__clickhouse_send_names(w, e) && new_id(&id, e) &&
                      insert_samples(w, id, &count, e) && commit(w, id, count, e));
}

// What passes by itself is tried again, under another id. A commit that arrived although its answer
// did not is found by the question that comes first.
static bool put_patiently(clickhouse_writer *w, bool *known, error *e) {
    bool was_there = false, ok = put_once(w, &was_there, e);
    uint32_t waited = 0;
    *known = was_there;
    for (unsigned i = 1; !ok && waited < w->c->patience && ouro__clickhouse_passing(e->code); i++) {
        waited += ouro__clickhouse_pause(i);
        ok = put_once(w, &was_there, e); // there now: by the attempt before
    }
    return ok;
}

bool ouro__clickhouse_put(void *opened, const slice *s, bool *known, error *e) {
    error last = {0};
    size_t nodes = s->profile->node_count;
    clickhouse_writer w = {.c = opened,
                           .s = s,
                           .needed = calloc(nodes, 1),
                           .used = calloc((size_t)s->profile->block_count + 1, 1),
                           .labels = ouro__label_set_key(s->labels)};
    bool ok = (w.needed && w.used) || ouro__fail_memory(&last);
    if (ok) ouro__mark_needed(s->profile, w.needed);
    ok = ok && put_patiently(&w, known, &last);
    if (!ok && s->known) memset(s->known, 0, nodes * sizeof *s->known);
    free(w.needed);
    free(w.used);
    if (!ok && e) *e = last;
    return ok;
}
