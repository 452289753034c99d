// SPDX-License-Identifier: MIT
//
// Filters by the labels of samples, and what each label has.
//
// A filter looks at every set once, not at every sample: the keys that it names are bits of a word,
// and for a set the bits are found of those that it fails. So it is also known which sets fail by
// one key alone. A chooser needs that: beside the value that is filtered it shows the others of the
// same key.

#include "questions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const tags no_tags = {.set_count = 1, .set_end = (uint32_t[]){0}};

static const tags *tags_of(const profile *p) { return p->tags ? p->tags : &no_tags; }

// ---------------------------------------------------------------- conditions

typedef struct {
    size_t key_length;
    const char *value;
    uint32_t key; // NO_ROW: no sample has it
    bool unwanted;
} split;

static uint32_t find_key(const profile *p, const char *text, size_t length) {
    uint32_t found = ouro__texts_find(&p->texts, text, length);
    return found == NO_ROW || !p->tags ? NO_ROW : ouro__tags_key(p->tags, found);
}

// KEY=VALUE or KEY!=VALUE. A key may hold these signs too, so the first = counts before which a
// known key stands, and the first of all if there is none.
static bool split_label(const profile *p, const char *text, split *s) {
    const char *first = strchr(text, '=');
    for (const char *at = first; at; at = strchr(at + 1, '=')) {
        size_t length = (size_t)(at - text);
        *s = (split){length, at + 1, find_key(p, text, length), false};
        if (s->key != NO_ROW) return true;
        if (length == 0 || at[-1] != '!') continue;
        *s = (split){length - 1, at + 1, find_key(p, text, length - 1), true};
        if (s->key != NO_ROW) return true;
    }
    if (!first || first == text) return false;
    bool unwanted = first[-1] == '!';
    *s = (split){(size_t)(first - text) - unwanted, first + 1, NO_ROW, unwanted};
    return s->key_length > 0;
}

// Conditions on the same unknown key belong together, so it has a number too, above all rows.
static uint32_t unknown_key(const char *text, size_t length) {
    return ouro__hash_bytes(text, length) | UNKNOWN_KEY;
}

bool ouro__find_label(const profile *p, const char *text, label_condition *c, error *e) {
    split s;
    if (!split_label(p, text, &s))
        return ouro__fail(e, EINVAL, "%s: a label is KEY=VALUE or KEY!=VALUE", text);
    uint32_t key = s.key != NO_ROW ? s.key : unknown_key(text, s.key_length);
    *c = (label_condition){key, *s.value ? NO_SUCH_TAG : NO_TAG, s.unwanted};
    if (!p->tags) return ouro__fail(e, ENOENT, "%s: the profile has no labels", text);
    if (s.key == NO_ROW)
        return ouro__fail(e, ENOENT, "no label is called %.*s", (int)s.key_length, text);
    if (!*s.value) return true;
    uint32_t value = ouro__texts_find(&p->texts, s.value, strlen(s.value));
    uint32_t found = value == NO_ROW ? NO_ROW : ouro__tags_find(p->tags, s.key, value);
    if (found == NO_ROW)
        return ouro__fail(e, ENOENT, "the label %.*s has no value %s", (int)s.key_length, text,
                          s.value);
    c->tag = found;
    return true;
}

// ---------------------------------------------------------------- judging sets

enum { WANTED = 1, UNWANTED = 2 };

typedef struct {
    uint32_t keys[LABEL_KEYS_MOST]; // by bit's number
    uint8_t *bit_of;                // by key: its bit's number, or LABEL_KEYS_MOST
    uint8_t *role;                  // by tag: WANTED, UNWANTED
    uint32_t key_count;
    uint32_t wanted;              // keys of which one value must be there
    uint32_t may_lack, must_have; // KEY= and KEY!=
} judgement;

static uint32_t take_bit(const tags *t, judgement *j, uint32_t key) {
    uint32_t k = 0;
    while (k < j->key_count && j->keys[k] != key) k++;
    if (k == LABEL_KEYS_MOST) return 0;
    if (k == j->key_count) j->keys[j->key_count++] = key;
    if (key < t->key_count) j->bit_of[key] = (uint8_t)k;
    return UINT32_C(1) << k;
}

static bool judgement_init(const tags *t, const filter *f, judgement *j) {
    *j = (judgement){.bit_of = malloc((size_t)t->key_count + 1),
                     .role = calloc((size_t)t->tag_count + 1, 1)};
    if (!j->bit_of || !j->role) return false;
    memset(j->bit_of, LABEL_KEYS_MOST, (size_t)t->key_count + 1);
    for (size_t i = 0; i < f->label_count; i++) {
        const label_condition *c = &f->labels[i];
        uint32_t bit = take_bit(t, j, c->key);
        if (!c->unwanted) j->wanted |= bit;
        if (c->tag == NO_TAG && !c->unwanted) j->may_lack |= bit;
        if (c->tag == NO_TAG && c->unwanted) j->must_have |= bit;
        if (c->tag < t->tag_count) j->role[c->tag] |= c->unwanted ? UNWANTED : WANTED;
    }
    return true;
}

static void judgement_free(judgement *j) {
    free(j->bit_of);
    free(j->role);
}

// The keys by which a set fails; 0: it passes.
static uint32_t failed_keys(const tags *t, const judgement *j, uint32_t set) {
    uint32_t has = 0, hit = 0, bad = 0;
    for (uint32_t i = ouro__set_first(t, set); i < t->set_end[set]; i++) {
        uint32_t number = t->set_tags[i], bit_number = j->bit_of[t->tags[number].key];
        uint32_t bit = bit_number < LABEL_KEYS_MOST ? UINT32_C(1) << bit_number : 0;
        has |= bit;
        if (j->role[number] & WANTED) hit |= bit;
        if (j->role[number] & UNWANTED) bad |= bit;
    }
    return (j->wanted & ~(hit | (j->may_lack & ~has))) | bad | (j->must_have & ~has);
}

static uint32_t *judge_sets(const tags *t, const judgement *j) {
    uint32_t *failed = malloc(t->set_count * sizeof *failed);
    for (uint32_t s = 0; failed && s < t->set_count; s++) failed[s] = failed_keys(t, j, s);
    return failed;
}

bool ouro__labels_are_few(const filter *f, error *e) {
    uint32_t keys[LABEL_KEYS_MOST];
    size_t count = 0;
    for (size_t i = 0; i < f->label_count; i++) {
        size_t k = 0;
        while (k < count && keys[k] != f->labels[i].key) k++;
        if (k == LABEL_KEYS_MOST)
            return ouro__fail(e, EINVAL, "filters on more than %d labels", LABEL_KEYS_MOST);
        if (k == count) keys[count++] = f->labels[i].key;
    }
    return true;
}

uint32_t *ouro__label_failures(const profile *p, const filter *f) {
    const tags *t = tags_of(p);
    judgement j;
    uint32_t *failed = judgement_init(t, f, &j) ? judge_sets(t, &j) : NULL;
    judgement_free(&j);
    return failed;
}

// ---------------------------------------------------------------- values

// Starts from all or from nothing, by what becomes of the samples without labels.
int64_t *ouro__label_values(const profile *p, uint32_t m, const uint32_t *failed, error *e) {
    const tags *t = tags_of(p);
    const int64_t *rows = m < t->metric_count ? t->row_values[m] : NULL;
    int64_t *values = calloc(p->node_count, sizeof *values);
    bool fits = true;
    if (!values) ouro__error_memory(e);
    if (values && !failed[0]) memcpy(values, p->values[m], p->node_count * sizeof *values);
    for (uint32_t r = 0; values && rows && fits && r < t->row_count; r++) {
        int64_t *value = &values[t->row_node[r]];
        bool passes = !failed[t->row_set[r]];
        if (!failed[0] && !passes) fits = !__builtin_sub_overflow(*value, rows[r], value);
        if (failed[0] && passes) fits = !__builtin_add_overflow(*value, rows[r], value);
    }
    if (fits) return values;
    ouro__error_set(e, EOVERFLOW, "the values of a label add up to more than 63 bits hold");
    free(values);
    return NULL;
}

// ---------------------------------------------------------------- what each label has

void ouro__label_amounts_free(label_amounts *a) {
    free(a->tags);
    free(a->without);
    free(a->counts);
    *a = (label_amounts){0};
}

static uint64_t kept_sum(const profile *p, uint32_t m, const uint8_t *kept) {
    uint64_t sum = 0;
    for (uint32_t n = 0; n < p->node_count; n++) sum += kept[n] ? (uint64_t)p->values[m][n] : 0;
    return sum;
}

// What fails nothing, and what fails by one key alone, by that key's bit.
typedef struct {
    uint64_t good, only[LABEL_KEYS_MOST];
} shares;

static void share_out(shares *s, uint32_t failed, uint64_t value) {
    if (!failed) s->good += value;
    if (failed && !(failed & (failed - 1))) s->only[__builtin_ctz(failed)] += value;
}

// Does a row with these failed keys count for a key with this bit?
static bool counts_for(uint32_t failed, uint32_t bit_number) {
    return !failed || (bit_number < LABEL_KEYS_MOST && failed == UINT32_C(1) << bit_number);
}

// `seen`: by key, 1 + the last row that counted for it, so that a row with two values counts once.
static void add_row(const tags *t, const judgement *j, uint32_t row, uint32_t failed,
                    uint64_t value, label_amounts *a, uint32_t *seen) {
    uint32_t set = t->row_set[row];
    for (uint32_t i = ouro__set_first(t, set); i < t->set_end[set]; i++) {
        uint32_t number = t->set_tags[i], key = t->tags[number].key;
        if (!counts_for(failed, j->bit_of[key])) continue;
        a->tags[number] = (int64_t)((uint64_t)a->tags[number] + value);
        if (seen[key] == row + 1) continue;
        seen[key] = row + 1;
        a->without[key] = (int64_t)((uint64_t)a->without[key] - value);
    }
}

static void sum_up(const profile *p, uint32_t m, const uint8_t *kept, const judgement *j,
                   const uint32_t *failed, label_amounts *a, uint32_t *seen) {
    const tags *t = tags_of(p);
    const int64_t *rows = m < t->metric_count ? t->row_values[m] : NULL;
    shares s = {0};
    uint64_t bare = kept_sum(p, m, kept);
    for (uint32_t r = 0; rows && r < t->row_count; r++) {
        if (!kept[t->row_node[r]] || !rows[r]) continue;
        uint32_t fails = failed[t->row_set[r]];
        bare -= (uint64_t)rows[r];
        share_out(&s, fails, (uint64_t)rows[r]);
        add_row(t, j, r, fails, (uint64_t)rows[r], a, seen);
    }
    share_out(&s, failed[0], bare);
    for (uint32_t k = 0; k < t->key_count; k++) {
        uint32_t bit = j->bit_of[k];
        uint64_t all = s.good + (bit < LABEL_KEYS_MOST ? s.only[bit] : 0);
        a->without[k] = (int64_t)((uint64_t)a->without[k] + all);
    }
    for (uint32_t i = 0; i < t->tag_count; i++) a->counts[t->tags[i].key]++;
}

bool ouro__label_amounts(const profile *p, uint32_t m, const filter *f, label_amounts *a) {
    const tags *t = tags_of(p);
    uint8_t *kept = ouro__kept(p, f);
    uint32_t *seen = calloc((size_t)t->key_count + 1, sizeof *seen), *failed = NULL;
    *a = (label_amounts){.tags = calloc((size_t)t->tag_count + 1, sizeof *a->tags),
                         .without = calloc((size_t)t->key_count + 1, sizeof *a->without),
                         .counts = calloc((size_t)t->key_count + 1, sizeof *a->counts)};
    judgement j = {0};
    bool ok = kept && seen && a->tags && a->without && a->counts && judgement_init(t, f, &j) &&
              (failed = judge_sets(t, &j));
    if (ok) sum_up(p, m, kept, &j, failed, a, seen);
    judgement_free(&j);
    free(kept);
    free(seen);
    free(failed);
    if (!ok) ouro__label_amounts_free(a);
    return ok;
}
