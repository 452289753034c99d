// SPDX-License-Identifier: MIT
//
// Which slices a choice means. The sets of labels that slices have are few, and they are judged
// here, by the same function as everywhere; the keys of those that fit go to the server as data.
// Of two commits of one slice of a recording, the smallest id counts. They can lie some time apart,
// so this is decided among the slices of a day more on both sides.

#include "clickhouse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DAY = 24, SERVICES_MOST = 500 };

// The hours of a choice, widened on both sides.
static void put_hours(FILE *to, const choice *c, uint64_t wider) {
    uint64_t first = c->since / MILLISECONDS_OF_HOUR, last = c->until / MILLISECONDS_OF_HOUR;
    first = first > wider ? first - wider : 0;
    fprintf(to, "hour >= %llu", (unsigned long long)(first < UINT32_MAX ? first : UINT32_MAX));
    last += wider;
    if (c->until && last < UINT32_MAX) fprintf(to, " AND hour <= %llu", (unsigned long long)last);
}

static int by_number(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

// The services of the sets, if they are few: the index is sorted by them.
static bool put_services(FILE *to, const selection *s) {
    if (s->all) return true;
    uint64_t *ids = malloc((s->set_count + 1) * sizeof *ids);
    if (!ids) return false;
    size_t count = 0;
    for (size_t i = 0; i < s->set_count; i++) ids[i] = ouro__service_id(&s->sets[i].labels);
    qsort(ids, s->set_count, sizeof *ids, by_number);
    for (size_t i = 0; i < s->set_count; i++) {
        if (!count || ids[count - 1] != ids[i]) ids[count++] = ids[i];
    }
    if (count == 0) fprintf(to, " AND 0");
    for (size_t i = 0; count <= SERVICES_MOST && i < count; i++)
        fprintf(to, "%s%llu", i ? ", " : " AND service IN (", (unsigned long long)ids[i]);
    if (count && count <= SERVICES_MOST) fprintf(to, ")");
    free(ids);
    return true;
}

static char *samples_where(const selection *s) {
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (!to) return NULL;
    put_hours(to, s->choice, 0);
    bool ok = put_services(to, s);
    if (fclose(to) == 0 && ok) return text;
    free(text);
    return NULL;
}

static char *slices_select(const clickhouse *c, const selection *s) {
    const choice *of = s->choice;
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (!to) return NULL;
    fprintf(to,
            "SELECT first, last, labels%s FROM (SELECT min(slice) AS first,"
            " argMin(ended, slice) AS last, argMin(label_set, slice) AS labels",
            s->sum ? ", value" : "");
    if (s->sum) fprintf(to, ", argMin(%s, slice) AS value", s->sum);
    fprintf(to, " FROM ouro_slices%s WHERE ", ouro__clickhouse_suffix(c));
    put_hours(to, of, of->since || of->until ? DAY : 0);
    bool ok = put_services(to, s);
    fprintf(to, " GROUP BY recording, number) WHERE last > %llu", (unsigned long long)of->since);
    if (of->until) fprintf(to, " AND last <= %llu", (unsigned long long)of->until);
    if (!s->all) fprintf(to, " AND labels IN (SELECT k FROM keys)");
    if (fclose(to) == 0 && ok) return text;
    free(text);
    return NULL;
}

// ---------------------------------------------------------------- label sets

static bool read_labels(row_reader *r, label_set *l) {
    uint64_t count = ouro__binary_get_length(r);
    char **names = calloc(count + 1, sizeof *names);
    bool ok = names != NULL;
    for (uint64_t i = 0; ok && i < count; i++) ok = (names[i] = ouro__binary_get_text(r)) != NULL;
    ok = ok && ouro__binary_get_length(r) == count;
    for (uint64_t i = 0; ok && i < count; i++) {
        char *value = ouro__binary_get_text(r);
        ok = value && ouro__label_set_put(l, names[i], value);
        free(value);
    }
    for (uint64_t i = 0; names && i < count; i++) free(names[i]);
    free(names);
    return ok;
}

// Keeps the set if it fits the choice.
static bool read_set(row_reader *r, selection *s, size_t *room) {
    chosen_set set = {.key = ouro__binary_get_key(r)};
    choice labels = *s->choice;
    labels.since = labels.until = 0;
    bool ok = read_labels(r, &set.labels), fits = ok && ouro__choice_holds(&labels, &set.labels, 0);
    if (fits && s->set_count == *room) {
        *room = *room * 2 + 64;
        chosen_set *sets = realloc(s->sets, *room * sizeof *sets);
        key *list = sets ? realloc(s->keys, *room * sizeof *list) : NULL;
        if (sets) s->sets = sets;
        if (list) s->keys = list;
        ok = sets && list;
    }
    if (!ok || !fits) {
        ouro__label_set_free(&set.labels);
        return ok;
    }
    s->keys[s->set_count] = set.key;
    s->sets[s->set_count++] = set;
    return true;
}

static bool choose_sets(clickhouse *c, selection *s, error *e) {
    const char *all = ouro__clickhouse_suffix(c);
    char hours[96] = "";
    FILE *to = fmemopen(hours, sizeof hours, "w");
    http_answer a;
    size_t room = 0;
    if (!to) return ouro__fail_memory(e);
    put_hours(to, s->choice, 0);
    fclose(to);
    if (!ouro__clickhouse_runf(c, (statement){.skip = s->skip}, &a, e,
                               "SELECT label_set, names, texts FROM ouro_label_sets WHERE"
                               " label_set IN (SELECT DISTINCT label_set FROM ouro_slices%s"
                               " WHERE %s) LIMIT 1 BY label_set FORMAT RowBinary",
                               all, hours))
        return false;
    row_reader r = ouro__binary_of(&a);
    bool ok = true;
    while (ok && ouro__binary_left(&r)) ok = read_set(&r, s, &room);
    ouro__http_answer_free(&a);
    if (r.damaged) return ouro__clickhouse_damaged(e);
    return ok || ouro__fail_memory(e);
}

bool ouro__select(clickhouse *c, const choice *of, const char *sum, bool labels, bool skip,
                  selection *s, error *e) {
    *s = (selection){.choice = of, .sum = sum, .skip = skip, .all = of->term_count == 0 && !labels};
    s->keys = malloc(sizeof *s->keys); // an empty table is a table
    bool ok = s->keys || ouro__fail_memory(e);
    ok = ok && (s->all || choose_sets(c, s, e));
    s->key_count = s->set_count;
    if (ok) {
        s->slices = slices_select(c, s);
        s->samples_where = samples_where(s);
        ok = (s->slices && s->samples_where) || ouro__fail_memory(e);
    }
    if (!ok) ouro__selection_free(s);
    return ok;
}

void ouro__selection_free(selection *s) {
    for (size_t i = 0; i < s->set_count; i++) ouro__label_set_free(&s->sets[i].labels);
    free(s->sets);
    free(s->keys);
    free(s->slices);
    free(s->samples_where);
    *s = (selection){0};
}
