// SPDX-License-Identifier: MIT
//
// Filters by labels and by regular expressions against a naive model: a list of samples, each with
// its path and its labels, looked at one by one. The model knows no sets, no rows and no bits.

#include "builder.h"
#include "pattern.h"
#include "questions.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 60, LONGEST = 6, LETTERS = 5, KEYS = 3, VALUES = 3, METRICS = 2, ROUNDS = 400 };

static const char *const keys[KEYS] = {"thread", "a=b", "bytes"};
static const char *const values[VALUES] = {"main", "4096 bytes", "x=y"};

typedef struct {
    uint8_t length, letters[LONGEST];
    bool has[KEYS][VALUES];
    int64_t values[METRICS];
} sample;

static void random_sample(sample *s) {
    *s = (sample){.length = (uint8_t)(1 + random_below(LONGEST))};
    for (int i = 0; i < s->length; i++) s->letters[i] = (uint8_t)random_below(LETTERS);
    for (int k = 0; k < KEYS; k++) {
        while (random_below(3) == 0) s->has[k][random_below(VALUES)] = true;
    }
    for (int m = 0; m < METRICS; m++) s->values[m] = (int64_t)random_below(9) - (m ? 3 : 0);
}

// Blocks are named a1 to e1, in the files A.c and B.c.
static uint32_t add_block(profile *p, uint8_t letter) {
    char name[] = {(char)('a' + letter), '1', '\0'};
    block_info info = {.name = ouro__profile_add_text(p, name),
                       .file = ouro__profile_add_text(p, letter % 2 ? "A.c" : "B.c")};
    return ouro__profile_add_block(p, &info);
}

static uint32_t put_labels(profile *p, const sample *s) {
    for (int k = KEYS; k-- > 0;) {
        for (int v = 0; v < VALUES; v++) {
            uint32_t key = ouro__profile_add_text(p, keys[k]);
            if (s->has[k][v]) ouro__tags_put(p, key, ouro__profile_add_text(p, values[v]));
        }
    }
    return ouro__tags_close(p);
}

static profile *profile_of(const sample *samples, int count) {
    profile *p = ouro__profile_new();
    error e;
    for (int m = 0; m < METRICS; m++) ouro__profile_add_metric(p, m ? "other" : "time", "count");
    builder *b = ouro__builder_new(p, RULE_NONE, 0);
    for (uint8_t l = 0; l < LETTERS; l++) add_block(p, l);
    for (int i = 0; i < count; i++) {
        uint32_t node = 0, set = put_labels(p, &samples[i]);
        for (int j = 0; j < samples[i].length; j++)
            node = ouro__builder_enter(b, node, samples[i].letters[j]);
        for (uint32_t m = 0; m < METRICS; m++) {
            ouro__charge(p, m, node, samples[i].values[m]);
            ouro__tags_charge(p, m, node, set, samples[i].values[m]);
        }
    }
    ouro__builder_free(b);
    CHECK(ouro__profile_finish(p, &e));
    return p;
}

// ---------------------------------------------------------------- the model

typedef struct {
    int key, value; // value VALUES: the key is missing
    bool unwanted;
} condition;

static bool lacks(const sample *s, int key) {
    for (int v = 0; v < VALUES; v++) {
        if (s->has[key][v]) return false;
    }
    return true;
}

static bool holds(const sample *s, const condition *c) {
    return c->value == VALUES ? lacks(s, c->key) : s->has[c->key][c->value];
}

// Without the conditions on the key `but`.
static bool passes(const sample *s, const condition *c, int count, int but) {
    for (int k = 0; k < KEYS; k++) {
        bool asked = false, found = false;
        for (int i = 0; i < count; i++) {
            if (c[i].key != k || k == but) continue;
            if (c[i].unwanted && holds(s, &c[i])) return false;
            asked |= !c[i].unwanted;
            found |= !c[i].unwanted && holds(s, &c[i]);
        }
        if (asked && !found) return false;
    }
    return true;
}

static bool contains(const sample *s, uint32_t letters) {
    for (int i = 0; i < s->length; i++) {
        if (letters >> s->letters[i] & 1) return true;
    }
    return false;
}

static int64_t sum_of(const profile *p, const sample *path, int length, uint32_t m) {
    uint32_t blocks[LONGEST];
    for (int i = 0; i < length; i++) blocks[i] = path->letters[i];
    uint32_t node = ouro__path_node(p, blocks, (size_t)length);
    return node == NO_NODE ? 0 : p->values[m][node];
}

static bool same_path(const sample *a, const sample *b) {
    return a->length == b->length && memcmp(a->letters, b->letters, a->length) == 0;
}

// ---------------------------------------------------------------- filters

typedef struct {
    condition conditions[5];
    int count;
    uint32_t any[2], any_count; // letters as bits
    uint32_t excluded;          // letters as bits
    label_condition labels[5];
    uint32_t words[2 * (LETTERS + 1)], exclude[LETTERS];
    filter filter;
} asked;

static bool is_known(const profile *p, int key) {
    uint32_t text = ouro__texts_find(&p->texts, keys[key], strlen(keys[key]));
    return p->tags && text != NO_ROW && ouro__tags_key(p->tags, text) != NO_ROW;
}

static void ask_labels(asked *a, const profile *p) {
    a->count = (int)random_below(6);
    for (int i = 0; i < a->count; i++) {
        condition *c = &a->conditions[i];
        *c = (condition){(int)random_below(KEYS), (int)random_below(VALUES + 1), random_below(2)};
        // An unknown key ends at the first =.
        if (c->key == 1 && !is_known(p, 1)) c->key = 0;
        char text[64];
        snprintf(text, sizeof text, "%s%s%s", keys[c->key], c->unwanted ? "!=" : "=",
                 c->value == VALUES ? "" : values[c->value]);
        error e = {0};
        if (!ouro__find_label(p, text, &a->labels[i], &e)) CHECK_EQUAL(e.code, ENOENT);
    }
    a->filter.labels = a->labels;
    a->filter.label_count = (size_t)a->count;
}

static void ask_blocks(asked *a) {
    a->any_count = random_below(3);
    for (uint32_t g = 0; g < a->any_count; g++) {
        a->any[g] = random_below(1 << LETTERS);
        uint32_t *size = &a->words[a->filter.any_count++];
        for (*size = 0; *size < LETTERS;) {
            uint32_t next = 0, rank = *size;
            while (next < LETTERS && (!(a->any[g] >> next & 1) || rank-- > 0)) next++;
            if (next == LETTERS) break;
            a->words[a->filter.any_count++] = next;
            ++*size;
        }
    }
    a->filter.any = a->words;
    a->excluded = random_below(3) ? 0 : 1u << random_below(LETTERS);
    for (uint32_t l = 0; l < LETTERS; l++) {
        if (a->excluded >> l & 1) a->exclude[a->filter.exclude_count++] = l;
    }
    a->filter.exclude = a->exclude;
}

static bool path_is_kept(const asked *a, const sample *s) {
    for (uint32_t g = 0; g < a->any_count; g++) {
        if (!contains(s, a->any[g])) return false;
    }
    return !contains(s, a->excluded);
}

static void check_paths(const profile *left, const asked *a, const sample *samples, int count) {
    for (int i = 0; i < count; i++) {
        for (uint32_t m = 0; m < METRICS; m++) {
            int64_t sum = 0;
            for (int j = 0; j < count; j++) {
                if (same_path(&samples[i], &samples[j]) && path_is_kept(a, &samples[j]) &&
                    passes(&samples[j], a->conditions, a->count, -1))
                    sum += samples[j].values[m];
            }
            CHECK_EQUAL(sum_of(left, &samples[i], samples[i].length, m), sum);
        }
    }
}

// Random samples, their profile, and a filter of it.
static profile *random_question(sample samples[SAMPLES], int *count, asked *a) {
    *count = 1 + (int)random_below(SAMPLES);
    for (int i = 0; i < *count; i++) random_sample(&samples[i]);
    profile *p = profile_of(samples, *count);
    *a = (asked){.count = 0};
    ask_labels(a, p);
    ask_blocks(a);
    return p;
}

TEST(filters_by_labels_leave_what_a_look_at_every_sample_leaves) {
    for (int round = 0; round < ROUNDS && !test_failures(); round++) {
        sample samples[SAMPLES];
        int count;
        asked a;
        profile *p = random_question(samples, &count, &a);
        error e = {0};
        profile *left = ouro__filter(p, &a.filter, &e);
        if (CHECK(left)) check_paths(left, &a, samples, count);
        ouro__profile_free(left);
        ouro__profile_free(p);
    }
}

// ---------------------------------------------------------------- amounts

static void check_key(const profile *p, const label_amounts *l, const asked *a,
                      const sample *samples, int count, int k) {
    int64_t without = 0, of[VALUES] = {0};
    for (int i = 0; i < count; i++) {
        const sample *s = &samples[i];
        if (!path_is_kept(a, s) || !passes(s, a->conditions, a->count, k)) continue;
        if (lacks(s, k)) without += s->values[0];
        for (int v = 0; v < VALUES; v++) of[v] += s->has[k][v] ? s->values[0] : 0;
    }
    uint32_t text = ouro__texts_find(&p->texts, keys[k], strlen(keys[k]));
    uint32_t key = p->tags && text != NO_ROW ? ouro__tags_key(p->tags, text) : NO_ROW;
    if (key == NO_ROW) return;
    CHECK_EQUAL(l->without[key], without);
    for (int v = 0; v < VALUES; v++) {
        text = ouro__texts_find(&p->texts, values[v], strlen(values[v]));
        uint32_t found = text == NO_ROW ? NO_ROW : ouro__tags_find(p->tags, key, text);
        CHECK_EQUAL(found == NO_ROW ? 0 : l->tags[found], of[v]);
    }
}

TEST(what_each_label_has_is_what_its_samples_have) {
    for (int round = 0; round < ROUNDS && !test_failures(); round++) {
        sample samples[SAMPLES];
        int count;
        asked a;
        profile *p = random_question(samples, &count, &a);
        label_amounts l;
        CHECK(ouro__label_amounts(p, 0, &a.filter, &l));
        for (int k = 0; k < KEYS; k++) check_key(p, &l, &a, samples, count, k);
        ouro__label_amounts_free(&l);
        ouro__profile_free(p);
    }
}

// ---------------------------------------------------------------- labels that are carried on

static bool has_letter(const sample *s, int letter) {
    for (int i = 0; i < s->length; i++) {
        if (s->letters[i] == letter) return true;
    }
    return false;
}

// What the samples with a label have, and of those only the ones on paths with a letter, if it is
// one. `but`: samples with this letter are gone.
static int64_t labelled_sum(const sample *samples, int count, int m, int k, int v, int letter,
                            int but) {
    int64_t sum = 0;
    for (int i = 0; i < count; i++) {
        if (!samples[i].has[k][v] || has_letter(&samples[i], but)) continue;
        if (letter == LETTERS || has_letter(&samples[i], letter)) sum += samples[i].values[m];
    }
    return sum;
}

static int64_t filtered_sum(profile *p, int m, int k, int v, int letter) {
    char text[64];
    uint32_t block = (uint32_t)letter;
    label_condition c;
    error e = {0};
    snprintf(text, sizeof text, "%s=%s", keys[k], values[v]);
    ouro__find_label(p, text, &c, &e);
    filter f = {.labels = &c, .label_count = 1, .select = &block, .select_count = letter < LETTERS};
    profile *left = ouro__filter(p, &f, &e);
    int64_t sum = left ? ouro__total(left, (uint32_t)m) : -1;
    CHECK(left);
    ouro__profile_free(left);
    return sum;
}

// `gone`: a letter whose block is not there, LETTERS: none.
static void check_labels(profile *p, const sample *samples, int count, int gone, int but) {
    for (int m = 0; m < METRICS; m++) {
        for (int k = 0; k < KEYS; k++) {
            for (int v = 0; v < VALUES; v++) {
                for (int l = 0; l <= LETTERS; l++) {
                    if (l == gone && l < LETTERS) continue;
                    CHECK_EQUAL(filtered_sum(p, m, k, v, l),
                                labelled_sum(samples, count, m, k, v, l, but));
                }
            }
        }
    }
}

enum { CARRY_ROUNDS = 12 };

TEST(folded_and_selected_samples_keep_their_labels) {
    for (int round = 0; round < CARRY_ROUNDS; round++) {
        sample samples[SAMPLES];
        for (int i = 0; i < SAMPLES; i++) random_sample(&samples[i]);
        profile *p = profile_of(samples, SAMPLES);
        uint32_t fold = (uint32_t)random_below(LETTERS), but = (uint32_t)random_below(LETTERS);
        error e;
        filter f = {.fold = &fold, .fold_count = 1, .keep_labels = true};
        profile *folded = ouro__filter(p, &f, &e);
        check_labels(folded, samples, SAMPLES, (int)fold, LETTERS);
        f = (filter){.exclude = &but, .exclude_count = 1, .keep_labels = true};
        profile *rest = ouro__filter(p, &f, &e);
        check_labels(rest, samples, SAMPLES, (int)but, (int)but);
        f.keep_labels = false;
        profile *bare = ouro__filter(p, &f, &e);
        CHECK(!bare->tags);
        ouro__profile_free(bare);
        ouro__profile_free(rest);
        ouro__profile_free(folded);
        ouro__profile_free(p);
    }
}

TEST(a_filter_by_labels_leaves_the_labels_of_what_passes) {
    sample samples[SAMPLES], passing[SAMPLES];
    int count = 0;
    for (int i = 0; i < SAMPLES; i++) {
        random_sample(&samples[i]);
        if (samples[i].has[0][0]) passing[count++] = samples[i];
    }
    profile *p = profile_of(samples, SAMPLES);
    label_condition c;
    error e;
    CHECK(ouro__find_label(p, "thread=main", &c, &e));
    filter f = {.labels = &c, .label_count = 1, .keep_labels = true};
    profile *left = ouro__filter(p, &f, &e);
    check_labels(left, passing, count, LETTERS, LETTERS);
    ouro__profile_free(left);
    ouro__profile_free(p);
}

TEST(a_sum_has_the_labels_of_its_profiles) {
    for (int round = 0; round < CARRY_ROUNDS; round++) {
        sample samples[SAMPLES];
        for (int i = 0; i < SAMPLES; i++) random_sample(&samples[i]);
        int half = (int)random_below(SAMPLES);
        profile *parts[] = {profile_of(samples, half), profile_of(samples + half, SAMPLES - half)};
        merger *m = ouro__merger_new(RULE_NONE, 0);
        error e;
        for (int i = 0; i < 2; i++) {
            CHECK(ouro__merger_add(m, parts[i], &e));
            ouro__profile_free(parts[i]);
        }
        profile *sum = ouro__merger_end(m, &e);
        check_labels(sum, samples, SAMPLES, LETTERS, LETTERS);
        ouro__profile_free(sum);
    }
}

TEST(pruned_paths_keep_the_labels_of_their_samples) {
    for (int round = 0; round < CARRY_ROUNDS; round++) {
        sample samples[SAMPLES];
        for (int i = 0; i < SAMPLES; i++) random_sample(&samples[i]);
        for (int i = 0; i < SAMPLES; i++) samples[i].values[1] = 0; // which may be negative
        profile *p = profile_of(samples, SAMPLES);
        error e;
        profile *small = ouro__pruned(p, 0.02 * (double)random_below(10), &e);
        CHECK(small && small->node_count <= p->node_count + 1);
        for (int k = 0; k < KEYS; k++) {
            for (int v = 0; v < VALUES; v++)
                CHECK_EQUAL(filtered_sum(small, 0, k, v, LETTERS),
                            labelled_sum(samples, SAMPLES, 0, k, v, LETTERS, LETTERS));
        }
        ouro__profile_free(small);
        ouro__profile_free(p);
    }
}

// ---------------------------------------------------------------- the rest

TEST(a_profile_without_labels_has_no_memory_for_them) {
    sample s = {.length = 1, .values = {1}};
    profile *p = profile_of(&s, 1);
    CHECK(!p->tags);
    label_condition c;
    error e = {0};
    CHECK(!ouro__find_label(p, "thread=main", &c, &e) && e.code == ENOENT);
    filter f = {.labels = &c, .label_count = 1};
    profile *left = ouro__filter(p, &f, &e);
    CHECK(left && ouro__total(left, 0) == 0);
    ouro__profile_free(left);
    ouro__profile_free(p);
}

TEST(what_is_no_label_is_refused) {
    sample s = {.length = 1, .values = {1}, .has = {{true}}};
    profile *p = profile_of(&s, 1);
    static const char *const wrong[] = {"thread", "", "=", "=main", "!=main"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        label_condition c;
        error e = {0};
        CHECK(!ouro__find_label(p, wrong[i], &c, &e) && e.code == EINVAL);
    }
    label_condition many[LABEL_KEYS_MOST + 1];
    for (uint32_t i = 0; i <= LABEL_KEYS_MOST; i++) many[i] = (label_condition){i, NO_TAG, 0};
    error e = {0};
    CHECK(ouro__labels_are_few(&(filter){.labels = many, .label_count = LABEL_KEYS_MOST}, &e));
    CHECK(!ouro__labels_are_few(&(filter){.labels = many, .label_count = LABEL_KEYS_MOST + 1}, &e));
    ouro__profile_free(p);
}

TEST(more_groups_than_a_word_has_bits_are_all_looked_for) {
    sample samples[2] = {{.length = 2, .letters = {0, 1}, .values = {1}},
                         {.length = 1, .letters = {0}, .values = {2}}};
    profile *p = profile_of(samples, 2);
    uint32_t words[2 * 130];
    for (int i = 0; i < 130; i++) {
        words[2 * i] = 1;
        words[2 * i + 1] = i == 100;
    }
    error e;
    profile *left = ouro__filter(p, &(filter){.any = words, .any_count = 260}, &e);
    CHECK_EQUAL(ouro__total(left, 0), 1);
    ouro__profile_free(left);
    ouro__profile_free(p);
}

TEST(a_pattern_finds_the_blocks_whose_name_or_file_matches) {
    sample s = {.length = 1, .values = {1}};
    profile *p = profile_of(&s, 1);
    static const struct {
        const char *expression;
        uint32_t letters;
    } cases[] = {{"^[ab]", 0x1f}, {"(?-i)^[ab]", 3}, {"(?-i)^A", 0x0a}, {"^.1$", 0x1f}, {"z", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        error e;
        uint32_t count, found = 0;
        name_pattern *what = ouro__pattern_new(cases[i].expression, &e);
        uint8_t *match = ouro__matching_pattern(p, what, &count, &e);
        for (uint32_t b = 0; b < LETTERS; b++) found |= (uint32_t)match[b] << b;
        CHECK_EQUAL(found, cases[i].letters);
        CHECK_EQUAL(count, __builtin_popcount(found));
        free(match);
        ouro__pattern_free(what);
    }
    ouro__profile_free(p);
}
