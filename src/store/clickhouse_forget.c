// SPDX-License-Identifier: MIT
//
// What is remembered of slices that are forgotten. Of a recording that goes on, the table
// ouro_forgotten has the sum of all slices below a number, `upto`. The rest of the recording are
// its slices from that number on, whether older ones are still there or not. So nothing has to
// happen at one moment: sums are written under a new id, `part`, then one row of ouro_meta makes
// them count, and then slices are dropped.
//
// A part has all recordings that go on, also what older parts had of them; these are dropped when
// it counts. If two processes forget at once, both parts are right: for a recording the largest
// `upto` counts, and sums up to the same number are the same. Whoever reads looks afterwards
// whether a part has come meanwhile, because slices may have been dropped then, and reads again.

#include "clickhouse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

enum { PARTS_MOST = 100, TRIES = 5, RANDOM_BITS = 20, ROWS_AT_ONCE = 4000000, MOST_AT_ONCE = 2000 };

// ---------------------------------------------------------------- parts

// Ids begin with the time, so the last ones are the largest.
bool ouro__clickhouse_parts(clickhouse *c, char **parts, error *e) {
    http_answer a;
    size_t size;
    if (!ouro__clickhouse_runf(c, (statement){0}, &a, e,
                               "SELECT DISTINCT toUInt64OrZero(value) AS part FROM ouro_meta%s"
                               " WHERE name = 'forgotten' ORDER BY part DESC LIMIT %d"
                               " FORMAT RowBinary",
                               ouro__clickhouse_suffix(c), PARTS_MOST))
        return false;
    row_reader r = ouro__binary_of(&a);
    FILE *to = open_memstream(parts, &size);
    if (to) fprintf(to, "0"); // a list is never empty
    while (to && ouro__binary_left(&r))
        fprintf(to, ", %llu", (unsigned long long)ouro__binary_get_u64(&r));
    ouro__http_answer_free(&a);
    bool ok = to && fclose(to) == 0;
    return r.damaged ? ouro__clickhouse_damaged(e) : ok || ouro__fail_memory(e);
}

bool ouro__clickhouse_same_parts(clickhouse *c, const char *parts, bool *same, error *e) {
    char *now = NULL;
    bool ok = ouro__clickhouse_parts(c, &now, e);
    *same = ok && strcmp(parts, now) == 0;
    free(now);
    return ok;
}

static uint64_t part_of_time(uint64_t seconds) { return seconds * 1000 << RANDOM_BITS; }

// The largest of a list, which is the first behind "0, ".
static uint64_t last_part(const char *parts) {
    return parts[1] == ',' ? strtoull(parts + 2, NULL, 10) : 0;
}

// Larger than those before, even if the clock was set back: of two that have the same sums, the
// older one may be dropped while it is read.
static bool new_part(const char *parts, uint64_t *part, error *e) {
    uint32_t dice;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (getrandom(&dice, sizeof dice, 0) != sizeof dice)
        return ouro__fail(e, EIO, "the system gives no random numbers");
    uint64_t time = part_of_time((uint64_t)now.tv_sec), last = last_part(parts) + 1;
    *part = (time > last ? time : last) + (dice & ((1u << RANDOM_BITS) - 1));
    return true;
}

// ---------------------------------------------------------------- recordings that go on

typedef struct {
    clickhouse *c;
    uint64_t since, part;
    char *parts; // that count already
    key *recordings;
    uint32_t *upto;
    uint64_t *rows; // about how many have to be summed up
    size_t count;
} summing;

static void summing_free(summing *s) {
    free(s->parts);
    free(s->recordings);
    free(s->upto);
    free(s->rows);
}

// Those that lose slices, and those that did before.
static bool ask_recordings(const summing *s, http_answer *a, error *e) {
    const char *all = ouro__clickhouse_suffix(s->c);
    unsigned long long since = s->since;
    return ouro__clickhouse_runf(
        s->c, (statement){0}, a, e,
        "SELECT recording, max(n), sum(w) FROM"
        " (SELECT recording, toUInt64(maxIf(number, ended < %llu) + 1) AS n,"
        " toUInt64(sumIf(samples, ended < %llu)) AS w FROM ouro_slices%s GROUP BY recording"
        " HAVING max(ended) >= %llu AND min(ended) < %llu"
        " UNION ALL SELECT recording, toUInt64(max(upto)) AS n, toUInt64(count()) AS w"
        " FROM ouro_forgotten%s WHERE part IN (%s) AND recording GLOBAL IN"
        " (SELECT DISTINCT recording FROM ouro_slices%s WHERE ended >= %llu) GROUP BY recording)"
        " GROUP BY recording ORDER BY recording FORMAT RowBinary",
        since, since, all, since, since, all, s->parts, all, since);
}

static bool read_recordings(summing *s, error *e) {
    enum { ROW_BYTES = 32 };
    http_answer a;
    if (!ask_recordings(s, &a, e)) return false;
    row_reader r = ouro__binary_of(&a);
    size_t most = a.size / ROW_BYTES;
    uint64_t upto = 0;
    s->recordings = malloc((most + 1) * sizeof *s->recordings);
    s->upto = malloc((most + 1) * sizeof *s->upto);
    s->rows = malloc((most + 1) * sizeof *s->rows);
    bool ok = s->recordings && s->upto && s->rows;
    for (; ok && s->count < most && upto <= UINT32_MAX; s->count++) {
        s->recordings[s->count] = ouro__binary_get_key(&r);
        upto = ouro__binary_get_u64(&r);
        s->upto[s->count] = (uint32_t)upto;
        s->rows[s->count] = ouro__binary_get_u64(&r);
    }
    ouro__http_answer_free(&a);
    if (upto > UINT32_MAX) return ouro__fail(e, E2BIG, "a recording has too many slices");
    return ok || ouro__fail_memory(e);
}

// ---------------------------------------------------------------- sums

// How many recordings from the first on are summed up at once.
static size_t batch_size(const summing *s, size_t first) {
    uint64_t rows = 0;
    size_t count = 0;
    while (first + count < s->count && count < MOST_AT_ONCE && (!count || rows < ROWS_AT_ONCE))
        rows += s->rows[first + count++];
    return count;
}

static statement of_batch(const summing *s, size_t first, size_t count) {
    return (statement){
        .keys = s->recordings + first, .numbers = s->upto + first, .key_count = count};
}

// The slices that are to be summed up: those that no part has yet, below the number.
static char *slices_select(const summing *s) {
    const char *all = ouro__clickhouse_suffix(s->c);
    char *sql = NULL;
    if (asprintf(&sql,
                 "SELECT slice, recording, upto, hour FROM (SELECT slice, recording, upto, number,"
                 " hour FROM (SELECT min(slice) AS slice, any(hour) AS hour, recording, number"
                 " FROM ouro_slices%s WHERE recording GLOBAL IN (SELECT k FROM keys)"
                 " GROUP BY recording, number) AS slices"
                 " ALL INNER JOIN (SELECT k AS recording, toUInt64(n) AS upto FROM keys) AS wanted"
                 " USING recording) AS old ALL LEFT JOIN (SELECT recording, max(upto) AS had"
                 " FROM ouro_forgotten%s WHERE part IN (%s) GROUP BY recording) AS before"
                 " USING recording WHERE number >= had AND number < upto",
                 all, all, s->parts) < 0)
        return NULL;
    return sql;
}

static bool read_hours(const summing *s, statement of, const char *slices, uint32_t *first,
                       uint32_t *last, error *e) {
    http_answer a;
    if (!ouro__clickhouse_runf(s->c, of, &a, e,
                               "SELECT min(hour), max(hour) FROM (%s) FORMAT RowBinary", slices))
        return false;
    row_reader r = ouro__binary_of(&a);
    *first = ouro__binary_get_u32(&r);
    *last = ouro__binary_get_u32(&r);
    ouro__http_answer_free(&a);
    return !r.damaged || ouro__clickhouse_damaged(e);
}

static bool sum_slices(const summing *s, statement of, error *e) {
    const char *all = ouro__clickhouse_suffix(s->c);
    http_answer a;
    uint32_t first, last;
    char *slices = slices_select(s);
    bool ok = slices || ouro__fail_memory(e);
    ok = ok && read_hours(s, of, slices, &first, &last, e);
    of.once = true;
    ok = ok && ouro__clickhouse_runf(
                   s->c, of, &a, e,
                   "INSERT INTO ouro_forgotten%s (part, recording, upto, metric, node, value)"
                   " SELECT toUInt64(%llu), recording, upto, metric, node, sum(value)"
                   " FROM ouro_samples%s GLOBAL ALL INNER JOIN (SELECT slice, recording, upto"
                   " FROM (%s)) AS old USING slice WHERE hour >= %u AND hour <= %u"
                   " GROUP BY recording, upto, metric, node",
                   all, (unsigned long long)s->part, all, slices, first, last);
    if (ok) ouro__http_answer_free(&a);
    free(slices);
    return ok;
}

// What the parts before have of the recordings is theirs from now on up to the new number. Of two
// parts that have the same, the newer one is read: the other may be dropped at this moment.
static bool copy_sums(const summing *s, statement of, error *e) {
    const char *all = ouro__clickhouse_suffix(s->c);
    http_answer a;
    of.once = true;
    if (!ouro__clickhouse_runf(
            s->c, of, &a, e,
            "INSERT INTO ouro_forgotten%s (part, recording, upto, metric, node, value)"
            " SELECT toUInt64(%llu), recording, new, metric, node, sum(value)"
            " FROM ouro_forgotten%s GLOBAL ALL INNER JOIN (SELECT recording, last AS part, new"
            " FROM (SELECT recording, last FROM (SELECT recording, upto, max(part) AS last"
            " FROM ouro_forgotten%s WHERE part IN (%s) GROUP BY recording, upto)"
            " ORDER BY recording, upto DESC LIMIT 1 BY recording) AS newest"
            " ALL INNER JOIN (SELECT k AS recording, toUInt64(n) AS new FROM keys) AS wanted"
            " USING recording) AS taken USING recording, part GROUP BY recording, new, metric, "
            "node",
            all, (unsigned long long)s->part, all, all, s->parts))
        return false;
    ouro__http_answer_free(&a);
    return true;
}

static bool sum_all(const summing *s, error *e) {
    bool ok = true;
    for (size_t i = 0, count; ok && i < s->count; i += count) {
        count = batch_size(s, i);
        statement of = of_batch(s, i, count);
        ok = sum_slices(s, of, e) && copy_sums(s, of, e);
    }
    return ok;
}

static bool commit(const summing *s, error *e) {
    char value[24];
    http_answer a;
    row_writer row = {0};
    snprintf(value, sizeof value, "%llu", (unsigned long long)s->part);
    ouro__binary_text(&row, "forgotten");
    ouro__binary_text(&row, value);
    bool ok = !row.failed || ouro__fail_memory(e);
    ok = ok && ouro__clickhouse_runf(s->c, (statement){.rows = &row}, &a, e,
                                     "INSERT INTO ouro_meta%s (name, value) FORMAT RowBinary",
                                     ouro__clickhouse_suffix(s->c));
    if (ok) ouro__http_answer_free(&a);
    ouro__binary_free(&row);
    return ok;
}

// *same false: another process was faster, and may have dropped what was to be summed up.
static bool try_to_sum(summing *s, bool *same, error *e) {
    *same = false;
    return ouro__clickhouse_parts(s->c, &s->parts, e) && new_part(s->parts, &s->part, e) &&
           read_recordings(s, e) && sum_all(s, e) &&
           ouro__clickhouse_same_parts(s->c, s->parts, same, e) && (!*same || commit(s, e));
}

bool ouro__clickhouse_remember(clickhouse *c, uint64_t since, remembered *done, error *e) {
    bool ok = true, same = false;
    *done = (remembered){0};
    for (int i = 0; ok && !same && i < TRIES; i++) {
        summing s = {.c = c, .since = since};
        ok = try_to_sum(&s, &same, e);
        if (same) *done = (remembered){s.part, s.parts};
        if (same) s.parts = NULL;
        summing_free(&s);
    }
    return ok && (same || ouro__fail(e, EAGAIN, "another process forgets slices of this store"));
}

// What a process that was killed left is dropped a day later.
uint64_t ouro__clickhouse_stale_part(const remembered *r) {
    const uint64_t day = part_of_time(86400);
    return r->part > day ? r->part - day : 0;
}
