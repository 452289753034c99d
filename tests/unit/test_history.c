// SPDX-License-Identifier: MIT
//
// What happened between looks at a live file, against a naive model: a list of charges, each with
// its time and its path. The model prunes as the recorder does: a path goes away, and what it had
// is in [pruned] below its caller.

#include "builder.h"
#include "history.h"
#include "questions.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

enum { LETTERS = 4, LONGEST = 5, CHARGES = 400, ROUNDS = 150, METRICS = 2, PRUNED = LETTERS };

typedef struct {
    int length;
    uint8_t letters[LONGEST + 1];
} path;

typedef struct {
    path path;
    int64_t values[METRICS];
    double time;
} charge;

typedef struct {
    charge charges[CHARGES];
    int count;
    path gone[16]; // they do not come again: then their old charges would count as theirs
    int gone_count;
} model;

static bool same_path(const path *a, const path *b) {
    return a->length == b->length && memcmp(a->letters, b->letters, (size_t)a->length) == 0;
}

static bool begins_with(const path *p, const path *start) {
    return p->length >= start->length &&
           memcmp(p->letters, start->letters, (size_t)start->length) == 0;
}

static path random_path(void) {
    path p = {.length = 1 + (int)random_below(LONGEST)};
    for (int i = 0; i < p.length; i++) p.letters[i] = (uint8_t)random_below(LETTERS);
    return p;
}

// The blocks in an order of their own, as a profile that is read again may have them.
static profile *profile_of(const model *m, uint32_t turn) {
    profile *p = ouro__profile_new();
    uint32_t blocks[LETTERS + 1];
    ouro__profile_add_metric(p, "calls", "count");
    ouro__profile_add_metric(p, "time", "count");
    for (uint32_t i = 0; i <= LETTERS; i++) {
        uint32_t letter = (i + turn) % (LETTERS + 1);
        char name[] = {(char)('a' + letter), '\0'};
        blocks[letter] = ouro__profile_add_named(p, letter == PRUNED ? "[pruned]" : name,
                                                 letter == PRUNED ? 8 : 1);
    }
    builder *b = ouro__builder_new(p, RULE_NONE, 0);
    for (int i = 0; i < m->count; i++) {
        uint32_t node = 0;
        for (int j = 0; j < m->charges[i].path.length; j++)
            node = ouro__builder_enter(b, node, blocks[m->charges[i].path.letters[j]]);
        for (uint32_t v = 0; v < METRICS; v++) ouro__charge(p, v, node, m->charges[i].values[v]);
    }
    ouro__builder_free(b);
    error e;
    CHECK(ouro__profile_finish(p, &e));
    return p;
}

static bool is_gone(const model *m, const path *p) {
    for (int i = 0; i < m->gone_count; i++) {
        if (begins_with(p, &m->gone[i])) return true;
    }
    return false;
}

static void charge_some(model *m, double time) {
    for (uint32_t i = random_below(6); i-- > 0 && m->count < CHARGES;) {
        charge *c = &m->charges[m->count];
        *c = (charge){.path = random_path(), .time = time};
        if (is_gone(m, &c->path)) continue;
        m->count++;
        for (int v = 0; v < METRICS; v++) c->values[v] = 1 + random_below(9);
    }
}

// A path and all below it goes to [pruned] of its caller.
static void prune_one(model *m) {
    path gone = random_path();
    if (gone.length < 2 || m->gone_count == 16) return;
    m->gone[m->gone_count++] = gone;
    for (int i = 0; i < m->count; i++) {
        path *p = &m->charges[i].path;
        if (!begins_with(p, &gone)) continue;
        p->length = gone.length;
        p->letters[gone.length - 1] = PRUNED;
    }
}

static int64_t value_at(const profile *p, const path *of, uint32_t m) {
    uint32_t blocks[LONGEST + 1];
    for (int i = 0; i < of->length; i++) {
        uint8_t letter = of->letters[i];
        for (uint32_t b = 0; b < p->block_count; b++) {
            const char *name = ouro__block_name(p, b);
            if (letter == PRUNED ? name[0] == '[' : name[0] == 'a' + letter) blocks[i] = b;
        }
    }
    uint32_t node = ouro__path_node(p, blocks, (size_t)of->length);
    return node == NO_NODE ? 0 : p->values[m][node];
}

static void check_window(const profile *got, const model *m, double from) {
    int64_t all = 0;
    for (int i = 0; i < m->count; i++) {
        const charge *c = &m->charges[i];
        for (uint32_t v = 0; v < METRICS; v++) {
            int64_t sum = 0;
            for (int j = 0; j < m->count; j++) {
                if (same_path(&m->charges[j].path, &c->path) && m->charges[j].time > from)
                    sum += m->charges[j].values[v];
            }
            CHECK_EQUAL(value_at(got, &c->path, v), sum);
        }
        if (c->time > from) all += c->values[0];
    }
    CHECK_EQUAL(ouro__total(got, 0), all);
}

TEST(a_window_has_what_was_charged_in_it_wherever_it_is_now) {
    for (int round = 0; round < ROUNDS && !test_failures(); round++) {
        history *h = ouro__history_new(1 << 20);
        model *m = calloc(1, sizeof *m);
        profile *p = NULL;
        uint64_t look = 0;
        charge_some(m, 0);
        for (uint32_t time = 1; time <= 12; time++) {
            ouro__profile_free(p);
            p = profile_of(m, time);
            look = ouro__history_add(h, p, time);
            CHECK_EQUAL(look, time);
            if (time == 12) break;
            // A path that is pruned and comes again before the next look is a case of its own.
            if (random_below(3) == 0)
                prune_one(m);
            else
                charge_some(m, time + 0.5);
        }
        for (uint32_t from = 1; from <= 12; from++) {
            history_span span = {from, 1e9};
            error e = {0};
            profile *got = ouro__history_profile(h, p, look, &span, &e);
            if (CHECK(got)) check_window(got, m, from);
            if (from < 12) CHECK(span.from == from && span.until == 12);
            ouro__profile_free(got);
        }
        ouro__profile_free(p);
        free(m);
        ouro__history_free(h);
    }
}

static model *one_charge(const char *letters, int64_t value) {
    model *m = calloc(1, sizeof *m);
    m->count = 1;
    m->charges[0].path.length = (int)strlen(letters);
    for (size_t i = 0; letters[i]; i++)
        m->charges[0].path.letters[i] =
            letters[i] == '*' ? (uint8_t)PRUNED : (uint8_t)(letters[i] - 'a');
    m->charges[0].values[0] = value;
    return m;
}

static uint64_t look_at(history *h, const model *m, double now, profile **p) {
    ouro__profile_free(*p);
    *p = profile_of(m, 0);
    return ouro__history_add(h, *p, now);
}

TEST(a_path_that_was_pruned_and_came_again_has_what_is_new) {
    history *h = ouro__history_new(1 << 20);
    profile *p = NULL;
    model *before = one_charge("ab", 10), *after = one_charge("ab", 3);
    look_at(h, before, 1, &p);
    model *rest = one_charge("a*", 10);
    after->charges[after->count++] = rest->charges[0];
    free(rest);
    uint64_t look = look_at(h, after, 2, &p);
    history_span span = {1, 1e9};
    error e;
    profile *got = ouro__history_profile(h, p, look, &span, &e);
    CHECK_EQUAL(ouro__total(got, 0), 3);
    CHECK_EQUAL(value_at(got, &after->charges[0].path, 0), 3);
    CHECK_EQUAL(value_at(got, &after->charges[1].path, 0), 0);
    ouro__profile_free(got);
    ouro__profile_free(p);
    free(before);
    free(after);
    ouro__history_free(h);
}

TEST(a_program_that_counts_anew_has_all_that_it_has_since_the_last_look) {
    history *h = ouro__history_new(1 << 20);
    profile *p = NULL;
    model *before = one_charge("ab", 10), *after = one_charge("ac", 3);
    look_at(h, before, 1, &p);
    uint64_t look = look_at(h, after, 2, &p);
    history_span span = {1, 1e9};
    error e;
    profile *got = ouro__history_profile(h, p, look, &span, &e);
    CHECK_EQUAL(ouro__total(got, 0), 3);
    CHECK_EQUAL(got->node_count, 3);
    ouro__profile_free(got);
    ouro__profile_free(p);
    free(before);
    free(after);
    ouro__history_free(h);
}

TEST(slices_stay_within_their_memory_and_the_oldest_leave) {
    enum { MOST = 4096 };
    history *h = ouro__history_new(MOST);
    model *m = calloc(1, sizeof *m);
    profile *p = NULL;
    uint64_t look = 0;
    for (int i = 0; i < 300; i++) {
        m->count = m->count < CHARGES ? m->count + 1 : m->count;
        m->charges[m->count - 1] = (charge){.path = random_path(), .values = {1, 1}, .time = i};
        look = look_at(h, m, i, &p);
        CHECK(ouro__history_bytes(h) <= MOST);
    }
    slice_totals slices[200];
    uint32_t count = ouro__history_totals(h, look, -1, slices, 200, METRICS);
    CHECK(count > 10 && count < 100);
    CHECK_EQUAL(slices[count - 1].number, look);
    for (uint32_t i = 0; i < count; i++)
        CHECK(slices[i].totals[0] == 1 && slices[i].to == slices[i].from + 1);
    free(slices[0].totals);
    uint32_t few = ouro__history_totals(h, look, -1, slices, 5, METRICS);
    CHECK(few == 5 && slices[4].number == look);
    free(slices[0].totals);
    ouro__profile_free(p);
    free(m);
    ouro__history_free(h);
}
