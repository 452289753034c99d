// SPDX-License-Identifier: MIT
//
// A finished profile in memory: a tree of paths in columns.
//
// WORDS
//   node        one position of the tree: a row of the columns. Node 0 is the root, whose block is
//               NO_BLOCK
//   self        values[m][n]: what was charged to node n itself, in metric m
//   inclusive   what was charged to a node and to all nodes below it
//
// INVARIANTS of a finished profile (ouro__profile_is_valid):
//   parent[n] < n. Nodes are in preorder: node n and all below it are the rows n .. end[n] - 1.
//   The sum of all |values| of a metric fits into 63 bits, so no sum of some of them overflows.
//   Two children of a node have different blocks.
//
// A builder makes profiles (builder.h); the functions of questions.h answer questions about them.

#ifndef OURO_PROFILE_H
#define OURO_PROFILE_H

#include "budget.h"
#include "error.h"
#include "tags.h"
#include "texts.h"

#include <errno.h>

#define NO_BLOCK UINT32_MAX
#define NO_NODE UINT32_MAX
#define NOT_COUNTED INT64_MIN // instead of a number of calls

enum {
    METRICS_MAX = 256, // columns of values
    DECIMALS_MOST = 18 // of a metric: 10^18 is the largest power of ten in 63 bits
};

typedef struct {
    uint32_t name, file;   // texts
    uint32_t line, column; // 0 = not known
} block_info;

typedef struct {
    uint32_t name, unit; // texts
    uint32_t decimals;   // values are in units of 10^-decimals: 1.25 is 125 with 2; DECIMALS_MOST
} metric;

// How often a block recursed, in the stacks before they were compacted (docs/file-formats.md).
typedef struct {
    uint64_t direct;  // it called itself
    uint64_t through; // it was entered by another block while it was on the stack
    uint32_t deepest; // most occurrences on one stack; 0 = not known
} recursion;

// The message that a profile was read from. It is kept to write the profile again with
// everything that the tree does not hold: labels, mappings, addresses, call sites. Only the
// format reads the bytes.
typedef struct {
    unsigned char *bytes;
    size_t size;
    uint32_t sample_count;
    uint64_t *sample_offset; // of each sample's record in the bytes
    uint32_t *sample_node;   // NO_NODE: it was filtered out
    uint32_t *sample_set;    // of each sample's labels, see tags.h; NULL: none has any
} origin;

typedef struct {
    texts texts;
    block_info *blocks;
    uint32_t block_count, block_room;
    lookup block_lookup;

    metric *metrics;
    int64_t **values; // a column per metric
    uint32_t metric_count;
    uint32_t default_metric; // shown unless another is asked for

    // By block, counted while stacks are read; those behind the end never recursed. The metrics
    // `recursions` and `direct` tell the rest, node by node, unless recursion_told: then nodes were
    // moved together, and all that the metrics told before is in here. See ouro__recursion.
    recursion *recursed;
    uint32_t recursed_room;
    bool recursion_told;

    // By block, when finished: has any path of the whole profile a call of it? A filter keeps what
    // the whole says, so that 0 calls in a part of it are known from calls that nothing counted.
    uint8_t *counted;
    uint32_t counted_room;

    uint32_t *parent, *block, *end; // end: only when finished
    uint32_t node_count, node_room;

    int rule, edge_length;         // how paths were compacted, as in ouro_options
    uint64_t start_time, duration; // nanoseconds since 1970; nanoseconds; 0 = not known
    const char *format;            // name of the one it was read from; NULL: made here
    bool running;                  // read from a live file whose program was still running
    bool no_space;                 // the live file could not grow: pruned before its cap
    char *missing;                 // of a store: which part did not answer; NULL: none
    unsigned char recording[16];   // of a live file: the id of the run; else zeros
    uint32_t resets;               // of a live file: how often it began to count again
    uint64_t process;              // of a live file: the id of the process that wrote it; else 0
    char *program;                 // and its program; NULL: not known
    char *title;                   // the program, as the file has it; NULL: it does not say
    origin *origin;                // NULL: the tree says it all
    tags *tags;                    // NULL: no sample has a label
    struct slices *slices;         // of the recording, see sliced.h; NULL: it had none
    budget budget;                 // what building it, and what is made of it, may cost
    int failed;                    // errno: it could not be built completely
} profile;

// The rules of ouro.h, and one more: paths are kept as the file has them.
enum { RULE_LOOPS = 0, RULE_CYCLES = 1, RULE_EDGES = 2, RULE_NONE = 3, RULE_AS_IT_IS = 4 };

// With a root and no metrics. NULL: out of memory.
profile *ouro__profile_new(void);
void ouro__profile_free(profile *p);

// These never fail on the spot: when memory runs out, `failed` is set, 0 is returned, and
// ouro__profile_finish tells it.
uint32_t ouro__profile_add_text(profile *p, const char *text);
// Finds the block if it is there.
uint32_t ouro__profile_add_block(profile *p, const block_info *b);
// A block that is only a name.
uint32_t ouro__profile_add_named(profile *p, const char *name, size_t length);
// Always a new column.
uint32_t ouro__profile_add_metric(profile *p, const char *name, const char *unit);
// Shows time first, if there is a metric of time that has anything: for readers whose files do not
// say what to show.
void ouro__profile_prefer_time(profile *p);
// Always a new row.
uint32_t ouro__profile_add_node(profile *p, uint32_t parent, uint32_t block);

// The counts of a block that recursed, to be added to. NULL: out of memory, and `failed` is set.
recursion *ouro__profile_recursed(profile *p, uint32_t block);
static inline bool ouro__recurses(const recursion *r) { return r->direct || r->through; }
// Adds the counts of `count` blocks of another profile; block_of[b] is its block b here, NULL: it
// is the same.
bool ouro__profile_add_recursed(profile *p, const recursion *rows, uint32_t count,
                                const uint32_t *block_of);
// Adds them up: the deepest is known if both are.
static inline void ouro__recursion_add(recursion *to, const recursion *r) {
    bool known = (!ouro__recurses(to) || to->deepest) && (!ouro__recurses(r) || r->deepest);
    to->direct += r->direct;
    to->through += r->through;
    if (r->deepest > to->deepest) to->deepest = r->deepest;
    if (!known) to->deepest = 0;
}

// Makes room for so many nodes at once, if the caller knows how many will come. Columns that grow
// step by step touch twice the memory.
void ouro__profile_reserve(profile *p, uint32_t nodes);

// Gives the values of a metric more decimals, for a reader that meets a longer fraction. false:
// they would not fit.
bool ouro__profile_rescale(profile *p, uint32_t m, uint32_t decimals);

static inline void ouro__charge(profile *p, uint32_t m, uint32_t node, int64_t n) {
    int64_t *value = &p->values[m][node];
    if (__builtin_add_overflow(*value, n, value)) p->failed = EOVERFLOW; // finishing tells it
}

// The labels of a sample, see tags.h: each is put, by its key's and value's texts, then closed to
// the number of the set. What the sample is charged with ouro__charge is charged to the set too.
void ouro__tags_put(profile *p, uint32_t key, uint32_t value);
uint32_t ouro__tags_close(profile *p);
void ouro__tags_charge(profile *p, uint32_t m, uint32_t node, uint32_t set, int64_t n);
// The labels of p in a profile that was made of it and is not finished. place[n]: where what was
// charged to n went, NO_NODE: nowhere. `failed`: by set, not 0: its samples are gone; NULL: all are
// there. `column`: by metric of p, its metric there; NULL: the same.
void ouro__tags_carry(const profile *p, const uint32_t *place, const uint32_t *failed,
                      const uint32_t *column, profile *to);
// The same into a sum, in which the lanes of p's slices have numbers that are higher by `lanes`.
void ouro__tags_carry_to_sum(const profile *p, const uint32_t *place, const uint32_t *column,
                             uint32_t lanes, profile *sum);

// Steps of work, see budget.h. What takes too many fails, and finishing tells it.
static inline void ouro__spend(profile *p, uint64_t steps) {
    p->budget.spent += steps;
    if (p->budget.spent > p->budget.work && !p->failed) p->failed = ETIME;
}

// Puts the nodes into preorder and checks the sums. false with *e filled: the profile is only good
// for freeing.
bool ouro__profile_finish(profile *p, error *e);
bool ouro__profile_is_valid(const profile *p);
// About the memory that a finished profile takes.
size_t ouro__profile_bytes(const profile *p);

// Are the calls of the block counted? Not if no path of the whole profile has one.
static inline bool ouro__is_counted(const profile *p, uint32_t b) {
    return b < p->counted_room && p->counted[b];
}

// An empty profile with the same metrics and header as p, to be filled by a filter.
profile *ouro__profile_like(const profile *p);
// The same blocks too, with the same numbers.
profile *ouro__profile_like_with_blocks(const profile *p);
void ouro__origin_free(origin *o);

// Column number by name; NO_ROW if there is none.
uint32_t ouro__profile_find_metric(const profile *p, const char *name);

static inline const char *ouro__block_name(const profile *p, uint32_t b) {
    return b == NO_BLOCK ? "(root)" : ouro__text(&p->texts, p->blocks[b].name);
}
static inline const char *ouro__block_file(const profile *p, uint32_t b) {
    return b == NO_BLOCK ? "" : ouro__text(&p->texts, p->blocks[b].file);
}
static inline const char *ouro__metric_name(const profile *p, uint32_t m) {
    return ouro__text(&p->texts, p->metrics[m].name);
}
static inline const char *ouro__metric_unit(const profile *p, uint32_t m) {
    return ouro__text(&p->texts, p->metrics[m].unit);
}

#endif
