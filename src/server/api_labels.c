// SPDX-License-Identifier: MIT
//
// The labels of samples: which keys there are, and what the values of one have. The filters on the
// key itself do not count for its values, so that a chooser shows what could be chosen besides.
//
// The value "" stands for the samples without the label, as KEY= does in a filter.

#include "pattern.h"
#include "table.h"

#include <stdlib.h>
#include <string.h>

static const tags none = {.key_count = 0};

typedef struct {
    const profile *profile;
    const tags *tags;
    label_amounts amounts;
    uint32_t key;
    uint32_t *values; // tags of the key; the last row is NO_ROW: without it
    uint32_t count;
} label_rows;

// ---------------------------------------------------------------- keys

static const char *key_text(void *of, uint32_t row) {
    const label_rows *l = of;
    return ouro__text(&l->profile->texts, l->tags->keys[row]);
}
static int64_t key_values(void *of, uint32_t row) {
    return ((label_rows *)of)->amounts.counts[row];
}
static int64_t key_without(void *of, uint32_t row) {
    return ((label_rows *)of)->amounts.without[row];
}
// As they stand in the file.
static int64_t key_order(void *of, uint32_t row) {
    (void)of;
    return -(int64_t)row;
}

static const column key_columns[] = {
    {"key", COLUMN_TEXT, IN_JSON | IN_CSV | SORTS, {.text = key_text}},
    {"values", COLUMN_COUNT, IN_JSON | IN_CSV | SORTS, {.number = key_values}},
    {"without", COLUMN_VALUE, IN_JSON | IN_CSV | SORTS, {.number = key_without}},
    {.name = NULL}};
static const column usual_key = {.kind = COLUMN_COUNT, .number = key_order};

static bool answer_keys(question *q, label_rows *l) {
    table t = {.columns = key_columns,
               .usual = &usual_key,
               .of = l,
               .count = l->tags->key_count,
               .decimals = q->p->metrics[q->metric].decimals};
    return ouro__table_answer(q, &t);
}

// ---------------------------------------------------------------- values

static const char *value_text(void *of, uint32_t row) {
    const label_rows *l = of;
    uint32_t number = l->values[row];
    return number == NO_ROW ? "" : ouro__text(&l->profile->texts, l->tags->tags[number].value);
}
static int64_t value_amount(void *of, uint32_t row) {
    const label_rows *l = of;
    uint32_t number = l->values[row];
    return number == NO_ROW ? l->amounts.without[l->key] : l->amounts.tags[number];
}

static const column value_columns[] = {
    {"value", COLUMN_TEXT, IN_JSON | IN_CSV | SORTS, {.text = value_text}},
    {"amount", COLUMN_VALUE, IN_JSON | IN_CSV | SORTS, {.number = value_amount}},
    {.name = NULL}};

static bool collect_values(label_rows *l) {
    const tags *t = l->tags;
    l->values = malloc(((size_t)l->amounts.counts[l->key] + 1) * sizeof *l->values);
    for (uint32_t i = 0; l->values && i < t->tag_count; i++) {
        if (t->tags[i].key == l->key) l->values[l->count++] = i;
    }
    if (l->values && l->amounts.without[l->key]) l->values[l->count++] = NO_ROW;
    return l->values != NULL;
}

// keep[row] for the `search` parameter, NULL with *ok if there is none.
static uint8_t *search_values(question *q, label_rows *l, bool *ok) {
    const char *text = ouro__request_value(q->request, "search");
    error e = {0};
    *ok = true;
    if (!text || !*text) return NULL;
    struct name_pattern *what = ouro__pattern_of_search(text, &e);
    uint8_t *keep = what ? malloc((size_t)l->count + 1) : NULL;
    for (uint32_t i = 0; keep && i < l->count; i++)
        keep[i] = ouro__pattern_matches(what, value_text(l, i));
    *ok = keep && !ouro__pattern_gave_up(what, &e);
    if (e.code) ouro__refuse_error(q, 400, "bad-pattern", &e);
    ouro__pattern_free(what);
    return keep;
}

static bool answer_values(question *q, label_rows *l) {
    bool ok;
    if (!collect_values(l)) return false;
    uint8_t *keep = search_values(q, l, &ok);
    table t = {.columns = value_columns,
               .usual = &value_columns[1],
               .of = l,
               .count = l->count,
               .keep = keep,
               .decimals = q->p->metrics[q->metric].decimals};
    ok = ok && ouro__table_answer(q, &t);
    free(keep);
    return ok;
}

// ---------------------------------------------------------------- the question

static bool find_key(question *q, const char *text, label_rows *l) {
    uint32_t found = ouro__texts_find(&l->profile->texts, text, strlen(text));
    l->key = found == NO_ROW ? NO_ROW : ouro__tags_key(l->tags, found);
    return l->key != NO_ROW || ouro__refuse(q, 404, "no-such-label", "no label is called %s", text);
}

bool ouro__api_labels(question *q) {
    const char *key = ouro__request_value(q->request, "key");
    const profile *p = q->side->profile;
    label_rows l = {.profile = p, .tags = p->tags ? p->tags : &none};
    filter f;
    bool nothing;
    if (key && !find_key(q, key, &l)) return false;
    if (!ouro__question_filter(q, q->side_number, &f, &nothing)) return false;
    bool ok = ouro__label_amounts(p, q->metric, &f, &l.amounts);
    ok = ok && (key ? answer_values(q, &l) : answer_keys(q, &l));
    ouro__label_amounts_free(&l.amounts);
    ouro__question_filter_free(&f);
    free(l.values);
    return ok;
}
