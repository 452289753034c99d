// SPDX-License-Identifier: MIT
//
// A slice is written under a new random id: first the names that the store does not have, then the
// samples, then the one row that makes them count. Until then nobody sees them, and what a push
// that failed left behind goes with its day. A commit may be sent twice; samples are never sent
// twice under one id. Many slices share these statements, as a server takes few of them per second.

#include "clickhouse.h"

#include "keys.h"
#include "packed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { HOURS_OF_DAY = 24, DAYS_MOST = 50 };

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
static uint64_t put_sorted(row_writer *rows, const written_slice *o, const order *nodes,
                           const metric_column *metrics) {
    uint64_t service = ouro__service_id(o->s->labels), count = 0;
    uint32_t hour = hour_of(o->s), metric_count = o->s->profile->metric_count;
    for (size_t i = 0; i < nodes->count; i++) {
        uint32_t n = nodes->nodes[i];
        for (uint32_t m = 0; m < metric_count; m++) {
            if (!metrics[m].values[n]) continue;
            ouro__binary_u64(rows, service);
            ouro__binary_u64(rows, metrics[m].id);
            ouro__binary_u32(rows, hour);
            ouro__binary_key(rows, o->s->keys->nodes[n]);
            ouro__binary_u64(rows, o->id);
            ouro__binary_u64(rows, (uint64_t)metrics[m].values[n]);
            count++;
        }
    }
    return count;
}

static bool put_samples(row_writer *rows, written_slice *o) {
    const profile *p = o->s->profile;
    metric_column metrics[METRICS_MAX];
    order nodes = {0};
    uint64_t *numbers = node_numbers(o->s);
    bool ok = numbers && ouro__order_make(&nodes, o->needed, numbers, p->node_count);
    for (uint32_t m = 0; m < p->metric_count; m++)
        metrics[m] = (metric_column){ouro__short_id(ouro__metric_key_of(p, m)), p->values[m]};
    qsort(metrics, p->metric_count, sizeof *metrics, by_id);
    if (ok) o->samples = put_sorted(rows, o, &nodes, metrics);
    ouro__order_free(&nodes);
    free(numbers);
    return ok;
}

static bool insert_samples(clickhouse_writer *w, error *e) {
    row_writer rows = {0};
    for (size_t i = 0; i < w->count && !rows.failed; i++)
        rows.failed = !w->slices[i].there && !put_samples(&rows, &w->slices[i]);
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

static void put_commit(row_writer *rows, const written_slice *o) {
    const slice *s = o->s;
    ouro__binary_key(rows, s->recording);
    ouro__binary_u64(rows, s->number);
    ouro__binary_u64(rows, o->id);
    ouro__binary_u32(rows, hour_of(s));
    ouro__binary_u64(rows, s->from);
    ouro__binary_u64(rows, s->until);
    ouro__binary_u64(rows, ouro__service_id(s->labels));
    ouro__binary_key(rows, o->labels);
    ouro__binary_u64(rows, o->samples);
    put_totals(rows, s->profile);
}

static bool commit(clickhouse_writer *w, error *e) {
    row_writer rows = {0};
    for (size_t i = 0; i < w->count; i++) {
        if (!w->slices[i].there) put_commit(&rows, &w->slices[i]);
    }
    return ouro__clickhouse_insert(
        w->c, "slices",
        "recording, number, slice, hour, began, ended, service, label_set, samples,"
        " metrics, totals",
        &rows, false, e);
}

// ---------------------------------------------------------------- slices

static void mark_there(clickhouse_writer *w, key recording, uint64_t number) {
    for (size_t i = 0; i < w->count; i++) {
        const slice *s = w->slices[i].s;
        if (s->number == number && memcmp(&s->recording, &recording, sizeof recording) == 0)
            w->slices[i].there = true;
    }
}

static bool ask_committed(clickhouse_writer *w, const key *recordings, const uint32_t *numbers,
                          error *e) {
    http_answer a;
    statement how = {.keys = recordings, .numbers = numbers, .key_count = w->count};
    if (!ouro__clickhouse_runf(w->c, how, &a, e,
                               "SELECT DISTINCT recording, number FROM ouro_slices%s"
                               " WHERE recording GLOBAL IN (SELECT k FROM keys) AND"
                               " (recording, number) GLOBAL IN (SELECT k, toUInt64(n) FROM keys)"
                               " FORMAT RowBinary",
                               ouro__clickhouse_suffix(w->c)))
        return false;
    row_reader r = ouro__binary_of(&a);
    while (ouro__binary_left(&r)) {
        key recording = ouro__binary_get_key(&r);
        uint64_t number = ouro__binary_get_u64(&r);
        if (!r.damaged) mark_there(w, recording, number);
    }
    ouro__http_answer_free(&a);
    return !r.damaged || ouro__clickhouse_damaged(e);
}

static bool find_committed(clickhouse_writer *w, error *e) {
    key *recordings = malloc(w->count * sizeof *recordings);
    uint32_t *numbers = malloc(w->count * sizeof *numbers);
    bool ok = (recordings && numbers) || ouro__fail_memory(e);
    for (size_t i = 0; ok && i < w->count; i++) {
        recordings[i] = w->slices[i].s->recording;
        numbers[i] = (uint32_t)w->slices[i].s->number;
        if (w->slices[i].s->number > UINT32_MAX)
            ok = ouro__fail(e, E2BIG, "a recording has too many slices");
    }
    ok = ok && ask_committed(w, recordings, numbers, e);
    free(recordings);
    free(numbers);
    return ok;
}

// The smallest id of two commits counts, so an id is nothing that anybody can choose to be first.
static bool new_ids(clickhouse_writer *w, error *e) {
    for (size_t i = 0; i < w->count; i++) {
        uint64_t *id = &w->slices[i].id;
        if (getrandom(id, sizeof *id, 0) != sizeof *id)
            return ouro__fail(e, EIO, "the system gives no random numbers");
    }
    return true;
}

static bool are_there(const clickhouse_writer *w) {
    size_t i = 0;
    while (i < w->count && w->slices[i].there) i++;
    return i == w->count;
}

static bool put_once(clickhouse_writer *w, error *e) {
    return find_committed(w, e) &&
           (are_there(w) || (ouro__clickhouse_send_names(w, e) && new_ids(w, e) &&
                             insert_samples(w, e) && commit(w, e)));
}

// What passes by itself is tried again, under other ids. A commit that arrived although its answer
// did not is found by the question that comes first.
static bool put_patiently(clickhouse_writer *w, bool *known, error *e) {
    bool ok = put_once(w, e);
    uint32_t waited = 0;
    for (size_t i = 0; i < w->count; i++) known[i] = w->slices[i].there;
    for (unsigned i = 1; !ok && waited < w->c->patience && ouro__clickhouse_passing(e->code); i++) {
        ouro__clickhouse_forget_names(w->c);
        waited += ouro__clickhouse_pause(i);
        ok = put_once(w, e);
    }
    if (!ok) ouro__clickhouse_forget_names(w->c);
    return ok;
}

static bool prepare(written_slice *o, const slice *s) {
    *o = (written_slice){.s = s,
                         .needed = calloc(s->profile->node_count, 1),
                         .used = calloc((size_t)s->profile->block_count + 1, 1),
                         .labels = ouro__label_set_key(s->labels)};
    if (o->needed) ouro__mark_needed(s->profile, o->needed);
    return o->needed && o->used;
}

static bool put_part(clickhouse *c, const slice *slices, size_t count, bool *known, error *e) {
    clickhouse_writer w = {.c = c, .slices = calloc(count, sizeof *w.slices)};
    bool ok = w.slices != NULL;
    while (ok && w.count < count) {
        ok = prepare(&w.slices[w.count], &slices[w.count]);
        w.count++;
    }
    ok = ok ? put_patiently(&w, known, e) : ouro__fail_memory(e);
    for (size_t i = 0; i < w.count; i++) {
        const slice *s = &slices[i];
        if (!ok && s->known) memset(s->known, 0, s->profile->node_count * sizeof *s->known);
        free(w.slices[i].needed);
        free(w.slices[i].used);
    }
    free(w.slices);
    return ok;
}

// How many of the slices go into one statement: a server refuses rows of too many partitions.
static size_t part_of(const slice *slices, size_t count) {
    uint32_t days[DAYS_MOST];
    size_t known = 0, n = 0;
    for (; n < count; n++) {
        uint32_t day = hour_of(&slices[n]) / HOURS_OF_DAY;
        size_t i = 0;
        while (i < known && days[i] != day) i++;
        if (i == DAYS_MOST) break;
        if (i == known) days[known++] = day;
    }
    return n;
}

bool ouro__clickhouse_put(void *opened, const slice *slices, size_t count, bool *known, error *e) {
    error last = {0};
    bool ok = true;
    for (size_t done = 0, part; ok && done < count; done += part) {
        part = part_of(slices + done, count - done);
        ok = put_part(opened, slices + done, part, known + done, &last);
    }
    if (!ok && e) *e = last;
    return ok;
}
