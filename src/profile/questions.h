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
// because it has only zeros: of what was sampled.
uint32_t ouro__calls_metric(const profile *p);

// Self and overall of groups of blocks. Overall counts each path once, so it is never above the
// total of a profile without negative values.
typedef struct {
    uint32_t count;
    int64_t total;
    int64_t *self, *overall;
    int64_t *calls; // NULL: the profile does not know
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
// match[b]: the name or the file of block b contains the text, without regard to case; *count: of
// how many. Freed by the caller. NULL: out of memory.
uint8_t *ouro__matching(const profile *p, const char *text, uint32_t *count);
// What was charged to paths that contain a matching block, each path once.
int64_t ouro__matched(const profile *p, const int64_t *running, const uint8_t *match);
// The node of a path of blocks, root first; NO_NODE: there is none. An empty path is the root.
uint32_t ouro__path_node(const profile *p, const uint32_t *path, size_t length);

// ---------------------------------------------------------------- callers and callees

typedef struct {
    uint32_t block; // NO_BLOCK: the root
    int64_t overall, calls;
} neighbour;

// The neighbours of a sequence. Each row is a sequence that is one block longer, at the front
// (callers) or at the end (callees), so it can be asked about again: X, then Y -> X, then
// Z -> Y -> X.
typedef struct {
    int64_t total, self, overall, calls;
    bool has_calls;
    bool recursive;               // a path has it twice, or had before it was compacted
    recursion recursion;          // of its last block
    neighbour *callers, *callees; // by overall, then calls
    uint32_t caller_count, callee_count;
} around;

bool ouro__around(const profile *p, uint32_t m, const uint32_t *sequence, size_t length, around *a);
void ouro__around_free(around *a);

// ---------------------------------------------------------------- recursion

// By block, freed by the caller: zeros for a block that never recursed. Of a profile that was read
// from stacks, the counts are those of all its stacks, whatever a filter left. NULL: out of memory.
recursion *ouro__recursion(const profile *p);
// Adds p's recursion to `to`, which is made of p by moving nodes together: there the metrics no
// longer tell it. block_of[b] is block b of p there, NULL: the same. `to` has none of p's yet.
bool ouro__tell_recursion(const profile *p, profile *to, const uint32_t *block_of);
// The same if `to` is made of p alone, by ouro__profile_like_with_blocks.
bool ouro__retell_recursion(const profile *p, profile *to);
// Does the profile count calls and recursions? Else its recursions are steps of stacks.
bool ouro__counts_calls(const profile *p);

// ---------------------------------------------------------------- knots

// A step from one block of a knot to another.
typedef struct {
    uint32_t from, to; // blocks
    int64_t value;     // what was charged to paths with the step, each once
    int64_t calls;
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

typedef struct {
    const uint32_t *select, *exclude, *fold; // blocks
    size_t select_count, exclude_count, fold_count;
} filter;

// A new profile with the same block numbers. Select and exclude look at unfolded paths; after
// folding, paths are compacted again by the rule of the profile (`loops` if it came as it is). The
// origin moves to the result if it still fits.
profile *ouro__filter(profile *p, const filter *f, error *e);
// The same paths, compacted by a rule.
profile *ouro__compacted(const profile *p, int rule, int edge_length, error *e);

// For smaller files. Divides all values by n and carries the remainder to the next node, so that
// only the total is rounded. Nodes that are left without values are dropped.
profile *ouro__divided(const profile *p, int64_t n, error *e);
// Subtrees below `share` (0 to 1) of the total in every metric go to a [pruned] block below
// their caller.
profile *ouro__pruned(const profile *p, double share, error *e);

// ---------------------------------------------------------------- several profiles

typedef struct merger merger;
merger *ouro__merger_new(int rule, int edge_length);
// Adds a profile: paths are the same by their blocks, metrics by name and unit. Needs no more
// memory than the result.
bool ouro__merger_add(merger *m, const profile *p, error *e);
// The sum, finished; frees the merger in any case.
profile *ouro__merger_end(merger *m, error *e);
void ouro__merger_free(merger *m);

typedef struct {
    char *name, *file; // file: only where the name alone stands for several
    bool in_before, in_after;
    uint32_t block_before, block_after; // the first block of that name; NO_BLOCK: there is none
    int64_t self_before, self_after, overall_before, overall_after;
} difference;

typedef struct {
    int64_t total_before, total_after;
    difference *rows; // the largest change of self first
    uint32_t count;
} comparison;

// By name: blocks that moved to another line are the same. `before` and `after` are metric numbers.
// Every row is of a block that a path of a side has.
bool ouro__compare(const profile *a, uint32_t before, const profile *b, uint32_t after,
                   comparison *c);
void ouro__comparison_free(comparison *c);

// ---------------------------------------------------------------- the tree, for drawing

typedef struct {
    uint32_t node, parent; // parent: a row of the flame tree
    uint32_t depth;        // the root's is 0
    int64_t value;         // inclusive
    int64_t left;          // the sum of what is drawn left of it: its x
} flame;

// Nodes with at least `share` of the total, preorder, the widest child first. Row 0 is the root.
bool ouro__flame_tree(const profile *p, uint32_t m, double share, flame **rows, uint32_t *count);
// The widest nodes at and below `node`, at most `limit` of them (1 or more). Parents come before
// children, and the widest child first. Row 0 is the node itself, at depth 0 and with left 0.
bool ouro__flame_below(const profile *p, const int64_t *running, uint32_t node, uint32_t limit,
                       flame **rows, uint32_t *count);

#endif
