// SPDX-License-Identifier: MIT
//
// Every question about a finished profile. Each is a pass or two over columns: loops, no recursion.
//
// All share one trick. Rows are in preorder, so "is a node of this kind above me?" is "am I before
// the end of the last topmost one?": one word of memory per kind (see topmost in totals.c).
//
// A function that can fail returns false or NULL. It fills *e if it has one, else it ran out
// of memory.

#ifndef OURO_QUESTIONS_H
#define OURO_QUESTIONS_H

#include "builder.h"

// ---------------------------------------------------------------- sums

// Prefix sums of a metric: running[n] is the sum of the rows before n, for n up to node_count.
// Freed by the caller.
int64_t *ouro__running(const profile *p, uint32_t m);

static inline int64_t ouro__inclusive(const profile *p, const int64_t *running, uint32_t node) {
    return running[p->end[node]] - running[node];
}

int64_t ouro__total(const profile *p, uint32_t m);

// The metric `calls`, which counts entries. NO_ROW: calls are not known, because there is none, or
// because it had only zeros before any filter, as in samples.
uint32_t ouro__calls_metric(const profile *p);
// The calls of a node, or NOT_COUNTED. A 0 is only a number where the block is counted.
int64_t ouro__calls_of(const profile *p, uint32_t node);

// Self and overall of groups of blocks. Overall counts each path once, so it is never above the
// total of a profile without negative values.
typedef struct {
    uint32_t count;
    int64_t total;
    int64_t *self, *overall;
    int64_t *calls; // NOT_COUNTED: of no block of the group; NULL if the profile counts none
} totals;

// group[b] < count is the group of block b; NULL: each block is its own group, and count is not
// looked at.
bool ouro__totals(const profile *p, uint32_t m, const uint32_t *group, uint32_t count, totals *t);
void ouro__totals_free(totals *t);

// The indices of the `top` largest values that are not 0, largest first, then by index. Returns how
// many; `out` has room for min(top, count).
uint32_t ouro__rank(const int64_t *values, uint32_t count, uint32_t top, uint32_t *out);
// A page of the rows with keep[i] (NULL: of all), also those with the value 0: *used rows, freed by
// the caller. The largest or the smallest come first, equals by index. NULL: out of memory.
uint32_t *ouro__order(const int64_t *values, uint32_t count, const uint8_t *keep, bool ascending,
                      uint32_t offset, uint32_t limit, uint32_t *used);

// ---------------------------------------------------------------- blocks by name

// The block that a user means by NAME, NAME@FILE:LINE, NAME@FILE:LINE:COLUMN or FILE:LINE. The
// error lists candidates.
bool ouro__find_block(const profile *p, const char *text, uint32_t *found, error *e);
// NAME if that is enough to find it again, else with @FILE:LINE and so on. Freed by the caller.
char *ouro__block_label(const profile *p, uint32_t b);

// Does the text contain the part, without regard to case?
bool ouro__contains(const char *text, const char *part);
// match[b]: the name or the file of block b has a match of the pattern; *count: of how many. Freed
// by the caller. NULL with *e filled: out of memory, or the pattern gave up.
struct name_pattern; // pattern.h
uint8_t *ouro__matching_pattern(const profile *p, struct name_pattern *what, uint32_t *count,
                                error *e);
// The same for what is typed into a search field, see ouro__pattern_of_search.
uint8_t *ouro__matching(const profile *p, const char *text, uint32_t *count, error *e);
// What was charged to paths that contain a matching block, each path once.
int64_t ouro__matched(const profile *p, const int64_t *running, const uint8_t *match);
// The node of a path of blocks, root first; NO_NODE: there is none. An empty path is the root.
uint32_t ouro__path_node(const profile *p, const uint32_t *path, size_t length);
// The node of the longest prefix of the path that there is; *found: its length.
uint32_t ouro__path_nearest(const profile *p, const uint32_t *path, size_t length, size_t *found);

// ---------------------------------------------------------------- callers and callees

typedef struct {
    uint32_t block;         // NO_BLOCK: the root
    int64_t overall, calls; // calls: or NOT_COUNTED
} neighbour;

// The neighbours of a sequence. Each row is a sequence that is one block longer, at the front
// (callers) or at the end (callees), so it can be asked about again: X, then Y -> X, then
// Z -> Y -> X.
typedef struct {
    int64_t total, self, overall, calls; // calls: or NOT_COUNTED
    bool has_calls;                      // of any block
    bool recursive;                      // a path has it twice, or had before it was compacted
    recursion recursion;                 // of its last block
    neighbour *callers, *callees;        // by overall, then calls
    uint32_t caller_count, callee_count;
} around;

bool ouro__around(const profile *p, uint32_t m, const uint32_t *sequence, size_t length, around *a);
void ouro__around_free(around *a);

// The call graph around a block, for a picture: what the paths that contain it spend, and the calls
// on them.
typedef struct {
    uint32_t block;
    int layer;     // 0 is the block, -1 its callers, -2 theirs, 1 its callees, 2 theirs
    int64_t value; // of the paths that contain both
} nearby;

typedef struct {
    uint32_t from, to; // rows of `blocks`
    int64_t value;     // of the paths that contain the block and this step
} flow;

typedef struct {
    nearby *blocks; // the block, then layers -1, 1, -2, 2, in each the strongest first
    uint32_t block_count;
    flow *flows; // the strongest first; none has the value 0
    uint32_t flow_count;
    uint32_t caller_count, callee_count; // that there are, without itself and the root
} neighbourhood;

// At most `most` blocks per layer, none with the value 0. A block is in one layer: the nearest, and
// of both sides the one to which more flows.
bool ouro__neighbourhood(const profile *p, uint32_t m, uint32_t block, uint32_t most,
                         neighbourhood *h);
void ouro__neighbourhood_free(neighbourhood *h);
// ---------------------------------------------------------------- recursion

// By block, freed by the caller: zeros for a block that never recursed. Of a profile that was read
// from stacks, the counts are those of all its stacks, whatever a filter left. NULL: out of memory.
recursion *ouro__recursion(const profile *p);
// Adds p's recursion to `to`, which is made of p by moving nodes together: there the metrics no
// longer tell it. block_of[b] is block b of p there, NULL: the same. `to` has none of p's yet.
bool ouro__tell_recursion(const profile *p, profile *to, const uint32_t *block_of);
// The same if `to` is made of p alone, by ouro__profile_like_with_blocks.
bool ouro__retell_recursion(const profile *p, profile *to);
// Has the profile the recorder's metrics of calls and recursions? Otherwise its recursions are
// steps of stacks.
bool ouro__counts_calls(const profile *p);
// Is it listed among the metrics? Not `recursions` and `direct` of the recorder, which say where
// compaction led back, not how often a block recursed; and not its `calls` if none was counted.
bool ouro__is_listed(const profile *p, uint32_t m);
// Has it these metrics, but no call? Then the recorder took samples: it is known what recursed and
// how deep, but not how often, and 1 stands for that.
bool ouro__is_sampled(const profile *p);

// ---------------------------------------------------------------- knots

// A step from one block of a knot to another.
typedef struct {
    uint32_t from, to; // blocks
    int64_t value;     // what was charged to paths with the step, each once
    int64_t calls;     // or NOT_COUNTED
} knot_edge;

enum { EDGES_KEPT = 60 };

// A group of blocks that call each other in a circle, or a block that recursed alone.
typedef struct {
    uint32_t *blocks, block_count; // by overall
    int64_t self, overall, calls;  // of the whole group; calls: entries from outside
    recursion recursion;           // sums over the blocks; the largest deepest, 0 = not known
    neighbour *in, *out;           // by overall: callers and callees outside the group
    uint32_t in_count, out_count;
    knot_edge *edges;    // the strongest EDGES_KEPT, by value; NULL until they are asked for
    uint32_t edge_count; // of all
} knot;

typedef struct {
    knot *knots; // by overall
    uint32_t count;
    bool has_calls;
} knots;

bool ouro__knots(const profile *p, uint32_t m, knots *k);
// The edges of all knots, for drawing them. Asked once; in a profile that is one knot they cost as
// much as all the rest.
bool ouro__knot_edges(const profile *p, uint32_t m, knots *k);
void ouro__knots_free(knots *k);
// How often a block of r, a knot or a member of one, stood on one stack at most. A knot can be a
// circle of calls without a stack that has a block of it twice: then it is 1. 0: not known.
uint32_t ouro__deepest(const recursion *r);

// ---------------------------------------------------------------- findings

typedef enum {
    FINDING_EMPTY,     // the profile has no value at all; nothing else is found then
    FINDING_FEW,       // too few samples or ticks: `count`
    FINDING_CUT,       // `value` is below the mark `block`: [pruned], [lost] or [truncated]
    FINDING_SELF,      // `block` spends `value` itself, nearly all of it called by `other`
    FINDING_UNDER,     // `block` and what it calls spend `value`, the same
    FINDING_GROUP,     // `count` blocks call each other, `block` and `other` the first
    FINDING_RECURSION, // `block` recurses: `count` deep, or so many times
    FINDING_PATH,      // one path of `count` blocks, ending in `block`, spends `value` itself
    FINDING_SPREAD,    // `block` hands out `value` to `count` callees, at most `most` to `other`
    FINDING_FLAT,      // no self is above that of `block`; `count` blocks make half
    FINDING_CALLERS,   // the file has who called whom, and no paths
} finding_kind;

typedef struct {
    finding_kind kind;
    uint32_t block, other; // NO_BLOCK: none
    int64_t value, most;
    uint64_t count;
    bool ticks; // few: counted in ticks of the clock, not samples
    bool deep;  // recursion: `count` is a depth
} finding;

enum { FINDINGS_MOST = 5, FINDING_PARTS = 8, FINDING_ROOM = 160 };

typedef struct {
    finding rows[FINDINGS_MOST]; // the most important first
    uint32_t count;
    int64_t total; // what shares are of
} findings;

// Has it no value at all, in any metric?
bool ouro__is_empty(const profile *p);
// The facts to look at first. The totals, knots and recursion are those of the profile and metric.
bool ouro__findings(const profile *p, uint32_t m, const totals *t, const knots *k,
                    const recursion *recursed, findings *to);

// A sentence in parts: texts, and blocks, which a page makes links of.
typedef struct {
    uint32_t block; // NO_BLOCK: it is a text
    char text[FINDING_ROOM];
} finding_part;

// Returns how many parts there are.
uint32_t ouro__finding_parts(const profile *p, const finding *f, int64_t total,
                             finding_part parts[static FINDING_PARTS]);
const char *ouro__finding_kind(const finding *f); // few, cut, self ...

// ---------------------------------------------------------------- filters

// A condition on the labels of samples, see tags.h. Of the conditions on one key that are not
// unwanted, one must hold; of all others, each.
typedef struct {
    uint32_t key; // from UNKNOWN_KEY on: no sample has it
    uint32_t tag; // or NO_TAG: the key is missing; NO_SUCH_TAG: no sample has the value
    uint32_t unwanted;
} label_condition;

#define UNKNOWN_KEY (UINT32_C(1) << 31)
#define NO_SUCH_TAG UINT32_MAX
#define NO_TAG (UINT32_MAX - 1)
enum { LABEL_KEYS_MOST = 32 }; // keys in one filter

typedef struct {
    const uint32_t *select, *exclude, *fold; // blocks
    size_t select_count, exclude_count, fold_count;
    // Groups of which a path must have a block: how many blocks, the blocks, how many, ...
    const uint32_t *any;
    size_t any_count; // of words
    const label_condition *labels;
    size_t label_count;
    bool keep_labels; // the result has the labels of its samples, too; no condition
} filter;

static inline bool ouro__filter_is_empty(const filter *f) {
    return !f->select_count && !f->exclude_count && !f->fold_count && !f->any_count &&
           !f->label_count;
}

// A new profile with the same block numbers. Select and exclude look at unfolded paths; after
// folding, paths are compacted again by the rule of the profile (`loops` if it came as it is). The
// origin moves to the result if it still fits.
profile *ouro__filter(profile *p, const filter *f, error *e);
// By node: do select and exclude leave its values? Freed by the caller. NULL: out of memory.
uint8_t *ouro__kept(const profile *p, const filter *f);
// The same paths, compacted by a rule.
profile *ouro__compacted(const profile *p, int rule, int edge_length, error *e);

// For smaller files. Divides all values by n and carries the remainder to the next node, so that
// only the total is rounded. Nodes that are left without values are dropped.
profile *ouro__divided(const profile *p, int64_t n, error *e);
// Subtrees below `share` (0 to 1) of the total in every metric go to a [pruned] block below
// their caller.
profile *ouro__pruned(const profile *p, double share, error *e);

// ---------------------------------------------------------------- labels of samples

// What a user means by KEY=VALUE, KEY!=VALUE, and KEY= for samples without the key. false with *e
// filled: EINVAL if it is none of these, ENOENT if no sample has the key or the value; *c is good
// then too, and holds for no sample.
bool ouro__find_label(const profile *p, const char *text, label_condition *c, error *e);
// false with *e filled: the filter has too many keys.
bool ouro__labels_are_few(const filter *f, error *e);
// By set: 0 if the filter leaves its samples. Freed by the caller. NULL: out of memory.
uint32_t *ouro__label_failures(const profile *p, const filter *f);
// A column: what the samples of these sets have. Freed by the caller. NULL with *e filled.
int64_t *ouro__label_values(const profile *p, uint32_t m, const uint32_t *failed, error *e);

// What each label has of a metric. For the values of a key, the conditions on the key itself do not
// count, so that those are seen that could be chosen besides.
typedef struct {
    int64_t *tags;    // by tag
    int64_t *without; // by key: of samples that do not have it
    uint32_t *counts; // by key: of its values
} label_amounts;

bool ouro__label_amounts(const profile *p, uint32_t m, const filter *f, label_amounts *a);
void ouro__label_amounts_free(label_amounts *a);

// ---------------------------------------------------------------- several profiles

typedef struct merger merger;
merger *ouro__merger_new(int rule, int edge_length);
// Adds a profile: paths are the same by their blocks, metrics by name and unit. Needs no more
// memory than the result.
bool ouro__merger_add(merger *m, const profile *p, error *e);
// Slices of some profile are not in the sum: they have other metrics than those before.
bool ouro__merger_lost_slices(const merger *m);
// The sum, finished; frees the merger in any case.
profile *ouro__merger_end(merger *m, error *e);
void ouro__merger_free(merger *m);

// ---------------------------------------------------------------- two profiles compared

// By what a block before and a block after were found to be the same.
typedef enum {
    MATCH_NONE, // one side does not have it
    MATCH_NAME, // the name alone
    MATCH_PATH, // of several of the name, the one with the longest common end of the path
    MATCH_LINE, // of several that are equally close by path, the one of the nearest line
} match_how;

typedef struct {
    uint32_t before, after; // NO_BLOCK: that side does not have it
    match_how how;
} block_pair;

// Every block of both tables is in one pair. The first pairs are those of the blocks before, in
// their order: the pair of a block before has its number.
typedef struct {
    block_pair *pairs;
    uint32_t count;
    uint32_t *pair_of_after;
} matching;

bool ouro__match_blocks(const profile *before, const profile *after, matching *m);
void ouro__matching_free(matching *m);

// Both have the metric's name, in the same unit.
bool ouro__comparable(const profile *a, uint32_t m, const profile *b, uint32_t n);
// The metric that `a` shows first if both have it, else the first that both have. false: none.
bool ouro__common_metric(const profile *a, const profile *b, uint32_t *m, uint32_t *n);

// A block of either side. Texts are the profiles'.
typedef struct {
    const char *name, *file;
    uint32_t line;
    bool several;                       // other rows have the name too
    bool in_before, in_after;           // a path of that side has it
    uint32_t block_before, block_after; // NO_BLOCK: that side does not know it
    match_how how;
    int64_t self_before, self_after, overall_before, overall_after;
} difference;

typedef struct {
    int64_t total_before, total_after;
    difference *rows; // the largest change of self first
    uint32_t count;
    uint32_t changed; // rows whose self changed: they come first
    uint32_t leading; // of these, the few that tell most of the change
} comparison;

enum { LEADING_MOST = 3 };

// `before` and `after` are metric numbers. Every row is of a block that a path of a side has. Both
// sides count in the unit of the metric with more decimals.
bool ouro__compare(const profile *a, uint32_t before, const profile *b, uint32_t after,
                   comparison *c, error *e);
void ouro__comparison_free(comparison *c);

// The same of what is known already: the totals of all blocks, and by block whether a path has it.
typedef struct {
    const profile *p;
    uint32_t metric;
    const totals *totals;
    const uint8_t *present;
} measured;

bool ouro__compare_measured(const measured *a, const measured *b, comparison *c, error *e);

// ---------------------------------------------------------------- the tree, for drawing

typedef struct {
    uint32_t node, parent; // parent: a row of the flame tree
    uint32_t depth;        // the root's is 0
    int64_t value;         // inclusive
    int64_t left;          // the sum of what is drawn left of it: its x
    uint32_t path_end;     // upside down: a node whose path goes through this box; else 0
} flame;

// Nodes with at least `share` of the total, preorder, the widest child first. Row 0 is the root.
bool ouro__flame_tree(const profile *p, uint32_t m, double share, flame **rows, uint32_t *count);
// The widest nodes at and below `node`, at most `limit` of them (1 or more). Parents come before
// children, and the widest child first. Row 0 is the node itself, at depth 0 and with left 0.
bool ouro__flame_below(const profile *p, const int64_t *running, uint32_t node, uint32_t limit,
                       flame **rows, uint32_t *count);

// Where the boxes of a flame graph of one profile are in another one: by box, the node whose path
// has the blocks that match, or NO_NODE. `after`: the boxes are of the side after. Freed by the
// caller. NULL: out of memory.
uint32_t *ouro__counterparts(const profile *p, const flame *boxes, uint32_t count,
                             const profile *other, const matching *m, bool after);

// What a cut leaves out, as far as it was looked at.
typedef struct {
    uint32_t boxes, wide; // not sent; of these, those that are not narrow
    bool cut;             // there are more below, which were too much work
} flame_rest;

#define FLAME_NARROW 0.0005 // of row 0: a narrower box is hardly seen

// The tree upside down: below row 0 the blocks at the end of paths, below each its callers. A path
// that ends at node n counts weight[n], mostly values[m][n]. Row 0 is everything, or, from level 1
// on, the last `level` blocks of the path to `end`, which has so many. A box's node is the caller
// that it stands for on the path to its path_end.
bool ouro__inverted(const profile *p, const int64_t *weight, uint32_t end, uint32_t level,
                    uint32_t limit, flame **rows, uint32_t *count, flame_rest *rest);

// The callers and the callees of a block, of all paths that contain it, each once. Row 0 is
// the block.
bool ouro__flame_callers(const profile *p, const int64_t *running, uint32_t block, uint32_t limit,
                         flame **rows, uint32_t *count, flame_rest *rest);
bool ouro__flame_callees(const profile *p, const int64_t *running, uint32_t block, uint32_t limit,
                         flame **rows, uint32_t *count, flame_rest *rest);

#endif
