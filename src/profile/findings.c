// SPDX-License-Identifier: MIT
//
// Findings: the few facts that a reader of a profile should see first, as data and as sentences.
//
// Each kind has a function that looks for one fact and says nothing where the fact is trivial: that
// main has everything, that a profile of one block spends it there. Shares are of what is left.
// Every function is a pass or two over columns. The sentences are made here, in parts, so that the
// terminal and the pages say the same.

#include "questions.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// In percent of the total: what is worth a sentence, and what is nearly all.
enum { CUT_LEAST = 5, SELF_LEAST = 20, UNDER_LEAST = 15, GROUP_LEAST = 10, PATH_LEAST = 10 };
enum { NEARLY_ALL = 90, RECURSION_LEAST = 1, FLAT_MOST = 10, SPREAD_MOST = 40, PATH_NEXT = 80 };
enum { FEW_SAMPLES = 100, DEEP_LEAST = 10, FLAT_BLOCKS = 20, SPREAD_CALLEES = 5 };

typedef struct {
    const profile *profile;
    uint32_t metric;
    const totals *totals;
    const knots *knots;
    const recursion *recursed;
    int64_t *running;
    int64_t *sums;   // by block, for one question at a time
    uint32_t *until; // the same
    findings *to;
    bool ok;
} search;

static bool at_least(int64_t part, int64_t whole, int percent) {
    return (double)part * 100 >= (double)whole * percent;
}

static void find(search *s, finding f) {
    if (s->to->count < FINDINGS_MOST) s->to->rows[s->to->count++] = f;
}

static bool is_named(const profile *p, uint32_t b, const char *name) {
    return strcmp(ouro__block_name(p, b), name) == 0;
}

// What stands for no code of the program.
static bool is_mark(const profile *p, uint32_t b) {
    static const char *const marks[] = {"[pruned]",    "[lost]",   "[truncated]",
                                        "(truncated)", "(folded)", "(root)"};
    bool mark = b == NO_BLOCK;
    for (size_t i = 0; !mark && i < sizeof marks / sizeof *marks; i++)
        mark = is_named(p, b, marks[i]);
    return mark;
}

// The block with the most that is no mark; NO_BLOCK: none has anything.
static uint32_t largest(const profile *p, const int64_t *values) {
    uint32_t best = NO_BLOCK;
    for (uint32_t b = 0; b < p->block_count; b++) {
        if (values[b] > 0 && (best == NO_BLOCK || values[b] > values[best]) && !is_mark(p, b))
            best = b;
    }
    return best;
}

// ---------------------------------------------------------------- how much to trust it

static uint64_t common_divisor(const profile *p, uint32_t m) {
    uint64_t divisor = 0;
    for (uint32_t n = 0; n < p->node_count; n++) {
        uint64_t value = (uint64_t)p->values[m][n];
        while (value) {
            uint64_t rest = divisor % value;
            divisor = value;
            value = rest;
        }
    }
    return divisor;
}

// The recorder's clock adds 1/hz seconds per tick, in whole nanoseconds; mostly at 997 Hz. 0: the
// values are not made of ticks.
static uint64_t tick_of(const profile *p, uint32_t m) {
    enum { USUAL_HZ = 997, HZ_MOST = 10000, SECOND = 1000000000 };
    uint64_t divisor = ouro__counts_calls(p) ? common_divisor(p, m) : 0;
    if (divisor < SECOND / HZ_MOST) return 0;
    if (divisor % (SECOND / USUAL_HZ) == 0) return SECOND / USUAL_HZ;
    uint64_t hz = SECOND / divisor;
    return hz && (SECOND / hz == divisor || SECOND / (hz + 1) == divisor) ? divisor : 0;
}

static void find_few(search *s) {
    const profile *p = s->profile;
    bool time = strcmp(ouro__metric_unit(p, s->metric), "nanoseconds") == 0;
    uint32_t samples = ouro__profile_find_metric(p, "samples");
    uint64_t count = 0, tick = 0;
    if (samples != NO_ROW && p->metrics[samples].decimals == 0 && (time || samples == s->metric)) {
        int64_t sum = ouro__total(p, samples);
        count = sum > 0 ? (uint64_t)sum : 0;
    } else if (time && (tick = tick_of(p, s->metric)) != 0) {
        count = (uint64_t)s->totals->total / tick;
    }
    if (count && count < FEW_SAMPLES)
        find(s, (finding){.kind = FINDING_FEW,
                          .block = NO_BLOCK,
                          .other = NO_BLOCK,
                          .count = count,
                          .ticks = tick != 0});
}

static void find_callers_only(search *s) {
    const char *format = s->profile->format;
    if (format && strcmp(format, "pstats") == 0)
        find(s, (finding){.kind = FINDING_CALLERS, .block = NO_BLOCK, .other = NO_BLOCK});
}

static void find_cut(search *s) {
    static const char *const cuts[] = {"[pruned]", "[lost]", "[truncated]", "(truncated)"};
    const profile *p = s->profile;
    const totals *t = s->totals;
    uint32_t worst = NO_BLOCK;
    for (uint32_t b = 0; b < p->block_count; b++) {
        bool cut = false;
        for (size_t i = 0; t->overall[b] > 0 && !cut && i < sizeof cuts / sizeof *cuts; i++)
            cut = is_named(p, b, cuts[i]);
        if (cut && (worst == NO_BLOCK || t->overall[b] > t->overall[worst])) worst = b;
    }
    if (worst != NO_BLOCK && at_least(t->overall[worst], t->total, CUT_LEAST))
        find(s, (finding){.kind = FINDING_CUT,
                          .block = worst,
                          .other = NO_BLOCK,
                          .value = t->overall[worst]});
}

// ---------------------------------------------------------------- blocks that stand out

// Of all blocks that call X, the one whose step is on paths with the most; NO_BLOCK: there is none.
// *others: what is on the paths of the others, with the root. X itself is none of them.
static uint32_t strongest_caller(search *s, uint32_t x, int64_t *value, int64_t *others) {
    const profile *p = s->profile;
    memset(s->sums, 0, ((size_t)p->block_count + 1) * sizeof *s->sums);
    memset(s->until, 0, ((size_t)p->block_count + 1) * sizeof *s->until);
    for (uint32_t n = 1; n < p->node_count; n++) {
        uint32_t up = p->block[p->parent[n]];
        if (p->block[n] != x || up == x) continue;
        uint32_t slot = up == NO_BLOCK ? p->block_count : up;
        if (n < s->until[slot]) continue;
        s->until[slot] = p->end[n];
        s->sums[slot] += ouro__inclusive(p, s->running, n);
    }
    uint32_t best = NO_BLOCK;
    int64_t all = 0;
    for (uint32_t b = 0; b <= p->block_count; b++) {
        if (s->sums[b] <= 0) continue;
        all += s->sums[b];
        if (b < p->block_count && (best == NO_BLOCK || s->sums[b] > s->sums[best])) best = b;
    }
    *value = best == NO_BLOCK ? 0 : s->sums[best];
    *others = all - *value;
    return best;
}

// The one of several callers that nearly all of the block's overall is due to; else NO_BLOCK. Where
// callers call each other, one path has the steps of several, and each may have nearly all.
static uint32_t main_caller(search *s, uint32_t b) {
    int64_t value, others;
    uint32_t caller = strongest_caller(s, b, &value, &others);
    bool main = others > 0 && at_least(value, s->totals->overall[b], NEARLY_ALL) &&
                at_least(value, value + others, NEARLY_ALL);
    return main && !is_mark(s->profile, caller) ? caller : NO_BLOCK;
}

// Returns the block, for the others not to say the same.
static uint32_t find_self(search *s) {
    const totals *t = s->totals;
    uint32_t b = largest(s->profile, t->self), some = 0;
    for (uint32_t i = 0; i < s->profile->block_count; i++) some += t->overall[i] > 0;
    if (b == NO_BLOCK || some < 2 || !at_least(t->self[b], t->total, SELF_LEAST)) return NO_BLOCK;
    find(s, (finding){
                .kind = FINDING_SELF, .block = b, .other = main_caller(s, b), .value = t->self[b]});
    return b;
}

// The heaviest child of a node; 0: it has none.
static uint32_t heaviest_child(const search *s, uint32_t node) {
    const profile *p = s->profile;
    uint32_t best = 0;
    int64_t most = 0;
    for (uint32_t n = node + 1; n < p->end[node]; n = p->end[n]) {
        int64_t value = ouro__inclusive(p, s->running, n);
        if (value > most) best = n;
        if (value > most) most = value;
    }
    return best;
}

// From where the block spends most, down to what nearly all of that is spent in: what stands
// between only leads there.
static uint32_t end_of_chain(const search *s, uint32_t b) {
    const profile *p = s->profile;
    uint32_t at = 0;
    int64_t most = 0, whole = s->totals->overall[b];
    for (uint32_t n = 1; n < p->node_count; n++) {
        int64_t value = p->block[n] == b ? ouro__inclusive(p, s->running, n) : 0;
        if (value > most) at = n;
        if (value > most) most = value;
    }
    for (uint32_t child; at && (child = heaviest_child(s, at)) != 0; at = child) {
        int64_t value = ouro__inclusive(p, s->running, child);
        uint32_t next = p->block[child];
        if (!at_least(value, whole, NEARLY_ALL) || is_mark(p, next)) break;
        if (!at_least(s->totals->overall[next], s->totals->total, NEARLY_ALL)) b = next;
    }
    return b;
}

// Below the trunk, which has nearly everything, the block with the most.
static void find_under(search *s, uint32_t told) {
    const profile *p = s->profile;
    const totals *t = s->totals;
    uint32_t b = NO_BLOCK;
    for (uint32_t i = 0; i < p->block_count; i++) {
        if (at_least(t->overall[i], t->total, NEARLY_ALL) || is_mark(p, i)) continue;
        if (t->overall[i] > 0 && (b == NO_BLOCK || t->overall[i] > t->overall[b])) b = i;
    }
    if (b != NO_BLOCK) b = end_of_chain(s, b);
    if (b == NO_BLOCK || b == told || !at_least(t->overall[b], t->total, UNDER_LEAST)) return;
    if (at_least(t->self[b], t->overall[b], NEARLY_ALL)) return; // there is nothing under it
    find(s, (finding){.kind = FINDING_UNDER,
                      .block = b,
                      .other = main_caller(s, b),
                      .value = t->overall[b]});
}

// ---------------------------------------------------------------- recursion

static void find_group(search *s) {
    for (uint32_t i = 0; i < s->knots->count; i++) {
        const knot *k = &s->knots->knots[i];
        if (k->block_count < 2) continue;
        if (!at_least(k->overall, s->totals->total, GROUP_LEAST)) return;
        find(s, (finding){.kind = FINDING_GROUP,
                          .block = k->blocks[0],
                          .other = k->blocks[1],
                          .value = k->overall,
                          .count = k->block_count});
        return;
    }
}

static uint64_t times_of(const recursion *r) { return r->direct + r->through; }

// The deepest of those that have a share; where depths are not known, the one that recursed most.
static void find_recursion(search *s) {
    const totals *t = s->totals;
    uint32_t best = NO_BLOCK;
    for (uint32_t b = 0; b < s->profile->block_count; b++) {
        const recursion *r = &s->recursed[b], *than = best == NO_BLOCK ? NULL : &s->recursed[best];
        if (!ouro__recurses(r) || !at_least(t->overall[b], t->total, RECURSION_LEAST)) continue;
        if ((r->deepest ? r->deepest : times_of(r)) < DEEP_LEAST || t->overall[b] <= 0) continue;
        bool more = !than || r->deepest > than->deepest ||
                    (r->deepest == than->deepest && times_of(r) > times_of(than));
        if (more) best = b;
    }
    if (best == NO_BLOCK) return;
    const recursion *r = &s->recursed[best];
    find(s, (finding){.kind = FINDING_RECURSION,
                      .block = best,
                      .other = NO_BLOCK,
                      .value = t->overall[best],
                      .deep = r->deepest != 0,
                      .count = r->deepest ? r->deepest : times_of(r)});
}

// ---------------------------------------------------------------- paths

static void find_path(search *s, uint32_t told) {
    const profile *p = s->profile;
    const int64_t *values = p->values[s->metric];
    uint32_t best = 0, length = 0;
    int64_t most = 0, next = 0; // the two largest
    for (uint32_t n = 1; n < p->node_count; n++) {
        if (values[n] <= next) continue;
        next = values[n] > most ? most : values[n];
        if (values[n] > most) best = n;
        most = values[best];
    }
    if (!best || !at_least(most, s->totals->total, PATH_LEAST)) return;
    if (at_least(next, most, PATH_NEXT)) return; // it does not stand out
    uint32_t b = p->block[best];
    // A block that has one path says it all.
    if (is_mark(p, b) || (b == told && at_least(values[best], s->totals->self[b], NEARLY_ALL)))
        return;
    for (uint32_t n = best; n; n = p->parent[n]) length++;
    if (length > 1)
        find(s, (finding){.kind = FINDING_PATH,
                          .block = b,
                          .other = NO_BLOCK,
                          .value = values[best],
                          .count = length});
}

// The last node of the trunk.
static uint32_t trunk_end(const search *s) {
    const profile *p = s->profile;
    uint32_t end = 0;
    for (uint32_t n = 1; n < p->end[end];) {
        bool trunk = at_least(ouro__inclusive(p, s->running, n), s->totals->total, NEARLY_ALL);
        if (trunk) end = n;
        n = trunk ? n + 1 : p->end[n];
    }
    return end;
}

// Where the trunk ends, among many callees of which none stands out.
static void find_spread(search *s) {
    const profile *p = s->profile;
    uint32_t end = trunk_end(s), best = 0, count = 0;
    int64_t most = 0, sum = 0;
    for (uint32_t n = end + 1; n < p->end[end]; n = p->end[n]) {
        int64_t value = ouro__inclusive(p, s->running, n);
        if (value <= 0) continue;
        count++;
        sum += value;
        if (value > most) best = n;
        if (value > most) most = value;
    }
    bool spread = end && count >= SPREAD_CALLEES && !at_least(most, sum, SPREAD_MOST) &&
                  at_least(sum, s->totals->total, 100 - SPREAD_MOST);
    if (spread && !is_mark(p, p->block[end]) && !is_mark(p, p->block[best]))
        find(s, (finding){.kind = FINDING_SPREAD,
                          .block = p->block[end],
                          .other = p->block[best],
                          .value = sum,
                          .most = most,
                          .count = count});
}

static void find_flat(search *s) {
    const profile *p = s->profile;
    const totals *t = s->totals;
    uint32_t b = largest(p, t->self), some = 0;
    for (uint32_t i = 0; i < p->block_count; i++) some += t->self[i] > 0;
    if (b == NO_BLOCK || some < FLAT_BLOCKS || at_least(t->self[b], t->total, FLAT_MOST)) return;
    uint32_t *ranked = malloc(((size_t)p->block_count + 1) * sizeof *ranked), half = 0;
    s->ok = ranked != NULL;
    uint32_t used = ranked ? ouro__rank(t->self, p->block_count, p->block_count, ranked) : 0;
    for (int64_t sum = 0; half < used && sum < t->total - sum; half++) sum += t->self[ranked[half]];
    free(ranked);
    find(s, (finding){.kind = FINDING_FLAT,
                      .block = b,
                      .other = NO_BLOCK,
                      .value = t->self[b],
                      .count = half});
}

// ---------------------------------------------------------------- all of them

// Shares of a sum with negative parts mean nothing.
static bool has_shares(const profile *p, uint32_t m, const totals *t) {
    bool ok = t->total > 0;
    for (uint32_t n = 0; ok && n < p->node_count; n++) ok = p->values[m][n] >= 0;
    return ok;
}

bool ouro__is_empty(const profile *p) {
    bool empty = true;
    for (uint32_t m = 0; empty && m < p->metric_count; m++) {
        for (uint32_t n = 0; empty && n < p->node_count; n++) empty = p->values[m][n] == 0;
    }
    return empty;
}

bool ouro__findings(const profile *p, uint32_t m, const totals *t, const knots *k,
                    const recursion *recursed, findings *to) {
    *to = (findings){.total = t->total};
    if (ouro__is_empty(p)) {
        to->rows[to->count++] =
            (finding){.kind = FINDING_EMPTY, .block = NO_BLOCK, .other = NO_BLOCK};
        return true;
    }
    if (!has_shares(p, m, t)) return true;
    size_t blocks = (size_t)p->block_count + 1;
    search s = {.profile = p,
                .metric = m,
                .totals = t,
                .knots = k,
                .recursed = recursed,
                .running = ouro__running(p, m),
                .sums = malloc(blocks * sizeof *s.sums),
                .until = malloc(blocks * sizeof *s.until),
                .to = to,
                .ok = true};
    s.ok = s.running && s.sums && s.until;
    if (s.ok) {
        find_callers_only(&s);
        find_few(&s);
        find_cut(&s);
        uint32_t told = find_self(&s);
        find_under(&s, told);
        find_group(&s);
        find_recursion(&s);
        find_path(&s, told);
        if (told == NO_BLOCK) find_spread(&s);
        find_flat(&s);
    }
    free(s.running);
    free(s.sums);
    free(s.until);
    return s.ok;
}

// ---------------------------------------------------------------- sentences

enum { SHARE_ROOM = 16, COUNT_ROOM = 32 };

typedef struct {
    finding_part *parts;
    uint32_t count;
} sentence;

__attribute__((format(printf, 2, 3))) static void say(sentence *s, const char *pattern, ...) {
    finding_part *part = &s->parts[s->count++];
    va_list arguments;
    va_start(arguments, pattern);
    part->block = NO_BLOCK;
    vsnprintf(part->text, sizeof part->text, pattern, arguments);
    va_end(arguments);
}

static void name(sentence *s, uint32_t block) {
    s->parts[s->count++] = (finding_part){.block = block};
}

// Nearly all must not look like all, and a little not like nothing.
static void share_text(char text[static SHARE_ROOM], int64_t part, int64_t whole) {
    double percent = 100 * (double)part / (double)whole;
    const char *pattern = part < whole && percent >= 99.95 ? ">99.9%%"
                          : part > 0 && percent < 0.05     ? "<0.1%%"
                                                           : "%.1f%%";
    snprintf(text, SHARE_ROOM, pattern, percent);
}

// With commas between thousands.
static const char *count_text(char text[static COUNT_ROOM], uint64_t count) {
    char *at = text + COUNT_ROOM - 1;
    *at = '\0';
    for (int digits = 0; count || !digits; count /= 10, digits++) {
        if (digits && digits % 3 == 0) *--at = ',';
        *--at = (char)('0' + count % 10);
    }
    return at;
}

static void say_few(sentence *s, const finding *f) {
    const char *what = f->ticks ? "tick" : "sample", *more = f->count == 1 ? "" : "s";
    say(s, "%s %u %s%s: too few to trust the shares.", f->ticks ? "The time is" : "Only",
        (unsigned)f->count, what, more);
}

static void say_cut(sentence *s, const profile *p, const finding *f, const char *share) {
    if (is_named(p, f->block, "[pruned]")) {
        say(s, "%s is on paths that were pruned: what they called is not known.", share);
    } else if (is_named(p, f->block, "[lost]")) {
        say(s, "%s was lost: there was no path to charge it to.", share);
    } else {
        say(s, "%s is on stacks that were cut off: their first callers are not known.", share);
    }
}

static void say_caller(sentence *s, uint32_t caller) {
    if (caller != NO_BLOCK) say(s, ", nearly all of it called by ");
    if (caller != NO_BLOCK) name(s, caller);
    say(s, ".");
}

static void say_group(sentence *s, const finding *f, const char *share, const char *count) {
    if (f->count > 2) say(s, "One group of %s blocks that call each other, ", count);
    name(s, f->block);
    if (f->count > 2) say(s, " among them, holds %s.", share);
    if (f->count > 2) return;
    say(s, " and ");
    name(s, f->other);
    say(s, " call each other and hold %s.", share);
}

static void say_spread(sentence *s, const finding *f, const char *share, const char *most,
                       const char *count) {
    name(s, f->block);
    say(s, " hands out %s to %s callees; the largest part, %s, to ", share, count, most);
    name(s, f->other);
    say(s, ".");
}

uint32_t ouro__finding_parts(const profile *p, const finding *f, int64_t total,
                             finding_part parts[static FINDING_PARTS]) {
    sentence s = {parts, 0};
    char share[SHARE_ROOM], most[SHARE_ROOM], digits[COUNT_ROOM];
    const char *count = count_text(digits, f->count);
    share_text(share, f->value, total);
    share_text(most, f->most, total);
    switch (f->kind) {
    case FINDING_EMPTY:
        say(&s, "There is nothing to show: no path was charged anything.");
        break;
    case FINDING_FEW:
        say_few(&s, f);
        break;
    case FINDING_CUT:
        say_cut(&s, p, f, share);
        break;
    case FINDING_SELF:
        say(&s, "%s is spent in ", share);
        name(&s, f->block);
        say(&s, " itself");
        say_caller(&s, f->other);
        break;
    case FINDING_UNDER:
        say(&s, "%s is spent under ", share);
        name(&s, f->block);
        say_caller(&s, f->other);
        break;
    case FINDING_GROUP:
        say_group(&s, f, share, count);
        break;
    case FINDING_RECURSION:
        name(&s, f->block);
        say(&s, f->deep ? " recurses %s deep and holds %s." : " recursed %s times and holds %s.",
            count, share);
        break;
    case FINDING_PATH:
        say(&s, "The hottest path ends in ");
        name(&s, f->block);
        say(&s, ": it is %s blocks long and takes %s.", count, share);
        break;
    case FINDING_SPREAD:
        say_spread(&s, f, share, most, count);
        break;
    case FINDING_FLAT:
        say(&s, "No block stands out: ");
        name(&s, f->block);
        say(&s, " spends the most itself, %s; it takes %s blocks to make half.", share, count);
        break;
    case FINDING_CALLERS:
        say(&s, "The file has callers only, no paths: overall ends after one step. The metric "
                "cumulative has the sums of pstats.");
    }
    return s.count;
}

const char *ouro__finding_kind(const finding *f) {
    static const char *const names[] = {"empty",     "few",  "cut",    "self", "under",  "group",
                                        "recursion", "path", "spread", "flat", "callers"};
    return names[f->kind];
}
