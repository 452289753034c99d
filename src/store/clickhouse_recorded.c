// SPDX-License-Identifier: MIT
//
// What there is of a recording, for who follows it: its slices, and what was forgotten before them.

#include "clickhouse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    char hex[33]; // its id
    char *parts;  // of what was forgotten
    uint64_t upto, part;
    char *where; // the hours and services that its slices have, so that the index can be used
} recorded;

// Which part remembers it.
static bool read_upto(clickhouse *c, recorded *of, error *e) {
    http_answer a;
    if (strcmp(of->parts, "0") == 0) return true; // nothing was ever forgotten
    if (!ouro__clickhouse_runf(c, (statement){0}, &a, e,
                               "SELECT upto, max(part) FROM ouro_forgotten%s WHERE part IN (%s)"
                               " AND recording = toFixedString(unhex('%s'), 16) GROUP BY upto"
                               " ORDER BY upto DESC LIMIT 1 FORMAT RowBinary",
                               ouro__clickhouse_suffix(c), of->parts, of->hex))
        return false;
    row_reader r = ouro__binary_of(&a);
    if (ouro__binary_left(&r)) {
        of->upto = ouro__binary_get_u64(&r);
        of->part = ouro__binary_get_u64(&r);
    }
    ouro__http_answer_free(&a);
    return !r.damaged || ouro__clickhouse_damaged(e);
}

static bool read_extent(clickhouse *c, recorded *of, uint64_t *next, error *e) {
    http_answer a;
    size_t size;
    if (!ouro__clickhouse_runf(c, (statement){0}, &a, e,
                               "SELECT count(), max(number), min(hour), max(hour),"
                               " groupUniqArray(service) FROM ouro_slices%s"
                               " WHERE recording = toFixedString(unhex('%s'), 16) FORMAT RowBinary",
                               ouro__clickhouse_suffix(c), of->hex))
        return false;
    row_reader r = ouro__binary_of(&a);
    uint64_t count = ouro__binary_get_u64(&r), last = ouro__binary_get_u64(&r);
    uint32_t from = ouro__binary_get_u32(&r), until = ouro__binary_get_u32(&r);
    uint64_t services = ouro__binary_get_length(&r);
    FILE *to = open_memstream(&of->where, &size);
    *next = count ? last + 1 : 0;
    if (*next < of->upto) *next = of->upto;
    if (to) fprintf(to, "hour >= %u AND hour <= %u AND service IN (0", from, until);
    for (uint64_t i = 0; to && i < services; i++)
        fprintf(to, ", %llu", (unsigned long long)ouro__binary_get_u64(&r));
    if (to) fprintf(to, ")");
    ouro__http_answer_free(&a);
    bool ok = to && fclose(to) == 0;
    return r.damaged ? ouro__clickhouse_damaged(e) : ok || ouro__fail_memory(e);
}

static bool run_recorded(clickhouse *c, const recorded *of, http_answer *a, error *e) {
    const char *all = ouro__clickhouse_suffix(c);
    return ouro__clickhouse_runf(
        c, (statement){0}, a, e,
        "SELECT metric, node, sum(value) AS total, sum(toFloat64(value)) AS about"
        " FROM ouro_samples%s WHERE %s AND slice GLOBAL IN (SELECT min(slice) FROM ouro_slices%s"
        " WHERE recording = toFixedString(unhex('%s'), 16) AND number >= %llu GROUP BY number)"
        " GROUP BY metric, node FORMAT RowBinary",
        all, of->where, all, of->hex, (unsigned long long)of->upto);
}

static bool run_forgotten(clickhouse *c, const recorded *of, http_answer *a, error *e) {
    return ouro__clickhouse_runf(
        c, (statement){0}, a, e,
        "SELECT metric, node, sum(value) AS total, sum(toFloat64(value)) AS about"
        " FROM ouro_forgotten%s WHERE part = %llu AND upto = %llu"
        " AND recording = toFixedString(unhex('%s'), 16) GROUP BY metric, node FORMAT RowBinary",
        ouro__clickhouse_suffix(c), (unsigned long long)of->part, (unsigned long long)of->upto,
        of->hex);
}

// Its slices, and what was forgotten before them. *same: nothing was forgotten meanwhile.
static bool read_recorded(clickhouse *c, recorded *of, uint64_t *next, http_answer answers[2],
                          bool *same, error *e) {
    return ouro__clickhouse_parts(c, &of->parts, e) && read_upto(c, of, e) &&
           read_extent(c, of, next, e) && run_recorded(c, of, &answers[0], e) &&
           (!of->upto || run_forgotten(c, of, &answers[1], e)) &&
           ouro__clickhouse_same_parts(c, of->parts, same, e);
}

bool ouro__clickhouse_recorded(void *opened, key recording, uint64_t *next, answer *to, error *e) {
    enum { TRIES = 5 };
    clickhouse *c = opened;
    bool ok = true, same = false;
    for (int i = 0; ok && !same && i < TRIES; i++) {
        recorded of = {0};
        http_answer answers[2] = {0};
        ouro__key_hex(recording, of.hex);
        ok = read_recorded(c, &of, next, answers, &same, e);
        if (ok && same) ok = ouro__clickhouse_tell(c, to, answers, e);
        for (int b = 0; b < 2; b++) ouro__http_answer_free(&answers[b]);
        free(of.parts);
        free(of.where);
    }
    return ok && (same || ouro__fail(e, EAGAIN, "another process forgets slices of this store"));
}
