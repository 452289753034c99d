// SPDX-License-Identifier: MIT
//
// Callers and callees of a sequence, and knots.

#include "table.h"

#include <stdlib.h>
#include <string.h>

enum { LISTED = 20 };

// ---------------------------------------------------------------- callers and callees

typedef struct {
    const neighbour *rows;
    int64_t self;     // of the sequence itself; of neighbours NOT_KNOWN
    const char *role; // CSV has all roles in one table
} neighbour_rows;

static int64_t neighbour_block(void *of, uint32_t i) {
    return ((neighbour_rows *)of)->rows[i].block;
}
static int64_t neighbour_self(void *of, uint32_t i) {
    (void)i;
    return ((neighbour_rows *)of)->self;
}
static int64_t neighbour_overall(void *of, uint32_t i) {
    return ((neighbour_rows *)of)->rows[i].overall;
}
static int64_t neighbour_calls(void *of, uint32_t i) {
    return ((neighbour_rows *)of)->rows[i].calls;
}
static const char *neighbour_role(void *of, uint32_t i) {
    (void)i;
    return ((neighbour_rows *)of)->role;
}

// They are sorted by overall already.
static const column neighbour_columns[] = {
    {"block", COLUMN_BLOCK, IN_JSON | IN_CSV, .number = neighbour_block},
    {"self", COLUMN_VALUE, IN_CSV, .number = neighbour_self},
    {"overall", COLUMN_VALUE, IN_JSON | IN_CSV, .number = neighbour_overall},
    {"calls", COLUMN_COUNT, IN_JSON | IN_CSV, .number = neighbour_calls},
    {"role", COLUMN_TEXT, IN_CSV, .text = neighbour_role},
    {0},
};

static table neighbour_table(question *q, neighbour_rows *rows, uint32_t count) {
    return (table){.columns = neighbour_columns,
                   .usual = &neighbour_columns[2],
                   .of = rows,
                   .count = count,
                   .decimals = q->p->metrics[q->metric].decimals};
}

// keep[i]: the search finds the block. NULL with *ok: it finds all.
static uint8_t *keep_found(const neighbour *rows, uint32_t count, const uint8_t *match, bool *ok) {
    uint8_t *keep = match ? malloc((size_t)count + 1) : NULL;
    *ok = !match || keep;
    for (uint32_t i = 0; keep && i < count; i++)
        keep[i] = rows[i].block != NO_BLOCK && match[rows[i].block];
    return keep;
}

static bool write_neighbours(question *q, const char *name, const char *prefix,
                             neighbour_rows *rows, uint32_t count, const uint8_t *match) {
    bool ok;
    page p;
    table t = neighbour_table(q, rows, count);
    uint8_t *keep = keep_found(rows->rows, count, match, &ok);
    t.keep = keep;
    ok = ok && ouro__table_page(q, &t, prefix, &p);
    if (ok) {
        if (!q->csv) ouro__write_object(&q->json, name);
        ouro__table_rows(q, "rows", &t, p.rows, p.count);
        ouro__table_foot(q, p.kept, p.offset);
        if (!q->csv) ouro__write_end(&q->json);
        free(p.rows);
    }
    free(keep);
    return ok;
}

static void write_sequence(question *q, const around *a, const uint32_t *sequence, size_t length) {
    ouro__write_array(&q->json, "sequence");
    for (size_t i = 0; i < length; i++) ouro__write_block(q, NULL, sequence[i]);
    ouro__write_end(&q->json);
    ouro__write_integer(&q->json, "self", a->self);
    ouro__write_integer(&q->json, "overall", a->overall);
    ouro__write_known(q, "calls", a->calls);
    ouro__write_bool(&q->json, "recursive", a->recursive);
}

// CSV has the sequence as a row like its neighbours.
static void write_sequence_row(question *q, const around *a, uint32_t block) {
    neighbour itself = {block, a->overall, a->calls};
    neighbour_rows rows = {&itself, a->self, "block"};
    table t = neighbour_table(q, &rows, 1);
    ouro__table_head(q, t.columns);
    ouro__table_rows(q, NULL, &t, NULL, 1);
}

static bool write_around(question *q, const around *a, const uint32_t *sequence, size_t length,
                         const uint8_t *match) {
    neighbour_rows callers = {a->callers, NOT_KNOWN, "caller"};
    neighbour_rows callees = {a->callees, NOT_KNOWN, "callee"};
    if (q->csv) write_sequence_row(q, a, sequence[length - 1]);
    if (!q->csv) write_sequence(q, a, sequence, length);
    return write_neighbours(q, "callers", "in_", &callers, a->caller_count, match) &&
           write_neighbours(q, "callees", "out_", &callees, a->callee_count, match);
}

bool ouro__api_around(question *q) {
    size_t length;
    uint32_t *sequence = ouro__question_blocks(q, "block", &length);
    if (!sequence) return false;
    around a = {0};
    bool ok = length > 0 || ouro__refuse(q, 400, "no-block", "around needs block=");
    uint8_t *match = ok ? ouro__question_search(q, &ok) : NULL;
    ok = ok && ouro__around(q->p, q->metric, sequence, length, &a) &&
         write_around(q, &a, sequence, length, match);
    ouro__around_free(&a);
    free(match);
    free(sequence);
    return ok;
}

// ---------------------------------------------------------------- knots

typedef struct {
    question *q;
    const knots *knots;
    const totals *totals;
    const knot *looked_at; // the knot whose members or edges are listed
    neighbour_rows listed; // the list that was looked at last
} knot_rows;

static const knot *knot_of(void *of, uint32_t i) { return &((knot_rows *)of)->knots->knots[i]; }

static uint32_t at_most_listed(uint32_t count) { return count < LISTED ? count : LISTED; }

static block_list knot_blocks(void *of, uint32_t i) {
    return (block_list){knot_of(of, i)->blocks, knot_of(of, i)->block_count, 0};
}
static block_list knot_members(void *of, uint32_t i) {
    return (block_list){knot_of(of, i)->blocks, at_most_listed(knot_of(of, i)->block_count), 0};
}
static int64_t knot_self(void *of, uint32_t i) { return knot_of(of, i)->self; }
static int64_t knot_overall(void *of, uint32_t i) { return knot_of(of, i)->overall; }
static int64_t knot_calls(void *of, uint32_t i) { return knot_of(of, i)->calls; }
static int64_t deepest_of(const recursion *r) {
    uint32_t deepest = ouro__deepest(r);
    return deepest ? (int64_t)deepest : NOT_KNOWN;
}
static int64_t times_of(const knot_rows *k, uint64_t times) {
    return times && ouro__is_sampled(k->q->p) ? NOT_KNOWN : (int64_t)times;
}
static int64_t knot_deepest(void *of, uint32_t i) { return deepest_of(&knot_of(of, i)->recursion); }
static int64_t knot_direct(void *of, uint32_t i) {
    return times_of(of, knot_of(of, i)->recursion.direct);
}
static int64_t knot_through(void *of, uint32_t i) {
    return times_of(of, knot_of(of, i)->recursion.through);
}
static table listed(knot_rows *k, const neighbour *rows, uint32_t count) {
    k->listed = (neighbour_rows){.rows = rows};
    return neighbour_table(k->q, &k->listed, at_most_listed(count));
}
static table knot_in(void *of, uint32_t i) {
    return listed(of, knot_of(of, i)->in, knot_of(of, i)->in_count);
}
static table knot_out(void *of, uint32_t i) {
    return listed(of, knot_of(of, i)->out, knot_of(of, i)->out_count);
}

static uint32_t member_of(void *of, uint32_t i) { return ((knot_rows *)of)->looked_at->blocks[i]; }
static const recursion *member_recursion(void *of, uint32_t i) {
    return &((knot_rows *)of)->q->recursed[member_of(of, i)];
}
static int64_t member_block(void *of, uint32_t i) { return member_of(of, i); }
static int64_t member_self(void *of, uint32_t i) {
    return ((knot_rows *)of)->totals->self[member_of(of, i)];
}
static int64_t member_overall(void *of, uint32_t i) {
    return ((knot_rows *)of)->totals->overall[member_of(of, i)];
}
static int64_t member_calls(void *of, uint32_t i) {
    const totals *t = ((knot_rows *)of)->totals;
    return t->calls ? t->calls[member_of(of, i)] : NOT_KNOWN;
}
static int64_t member_direct(void *of, uint32_t i) {
    return times_of(of, member_recursion(of, i)->direct);
}
static int64_t member_through(void *of, uint32_t i) {
    return times_of(of, member_recursion(of, i)->through);
}
static int64_t member_deepest(void *of, uint32_t i) { return deepest_of(member_recursion(of, i)); }

static const column member_columns[] = {
    {"block", COLUMN_BLOCK, IN_JSON, .number = member_block},
    {"self", COLUMN_VALUE, IN_JSON, .number = member_self},
    {"overall", COLUMN_VALUE, IN_JSON, .number = member_overall},
    {"calls", COLUMN_COUNT, IN_JSON, .number = member_calls},
    {"direct", COLUMN_COUNT, IN_JSON, .number = member_direct},
    {"through", COLUMN_COUNT, IN_JSON, .number = member_through},
    {"deepest", COLUMN_COUNT, IN_JSON, .number = member_deepest},
    {0},
};
static table knot_member_rows(void *of, uint32_t i) {
    knot_rows *k = of;
    k->looked_at = knot_of(of, i);
    return (table){
        .columns = member_columns, .of = of, .count = at_most_listed(k->looked_at->block_count)};
}

static const knot_edge *edge_of(void *of, uint32_t i) {
    return &((knot_rows *)of)->looked_at->edges[i];
}
static int64_t edge_from(void *of, uint32_t i) { return edge_of(of, i)->from; }
static int64_t edge_to(void *of, uint32_t i) { return edge_of(of, i)->to; }
static int64_t edge_value(void *of, uint32_t i) { return edge_of(of, i)->value; }
static int64_t edge_calls(void *of, uint32_t i) { return edge_of(of, i)->calls; }

static const column edge_columns[] = {
    {"from", COLUMN_BLOCK, IN_JSON, .number = edge_from},
    {"to", COLUMN_BLOCK, IN_JSON, .number = edge_to},
    {"value", COLUMN_VALUE, IN_JSON, .number = edge_value},
    {"calls", COLUMN_COUNT, IN_JSON, .number = edge_calls},
    {0},
};
static table knot_edges(void *of, uint32_t i) {
    knot_rows *k = of;
    k->looked_at = knot_of(of, i);
    uint32_t count = k->looked_at->edge_count;
    return (table){
        .columns = edge_columns, .of = of, .count = count < EDGES_KEPT ? count : EDGES_KEPT};
}

static int64_t knot_edge_count(void *of, uint32_t i) { return knot_of(of, i)->edge_count; }
static int64_t knot_member_count(void *of, uint32_t i) { return knot_of(of, i)->block_count; }
static int64_t knot_in_count(void *of, uint32_t i) { return knot_of(of, i)->in_count; }
static int64_t knot_out_count(void *of, uint32_t i) { return knot_of(of, i)->out_count; }

// Of a row in the first page, and of the whole.
// clang-format off
#define ROW_COLUMNS \
    {"blocks", COLUMN_BLOCKS, IN_CSV, .blocks = knot_blocks}, \
    {"members", COLUMN_BLOCKS, IN_JSON, .blocks = knot_members}, \
    {"self", COLUMN_VALUE, IN_JSON | IN_CSV, .number = knot_self}, \
    {"overall", COLUMN_VALUE, IN_JSON | IN_CSV | SORTS, .number = knot_overall}, \
    {"calls", COLUMN_COUNT, IN_JSON | IN_CSV, .number = knot_calls}, \
    {"deepest", COLUMN_COUNT, IN_JSON | IN_CSV, .number = knot_deepest}, \
    {"in", COLUMN_ROWS, IN_JSON, .rows = knot_in}, \
    {"out", COLUMN_ROWS, IN_JSON, .rows = knot_out}, \
    {"member_count", COLUMN_COUNT, IN_JSON, .number = knot_member_count}, \
    {"in_count", COLUMN_COUNT, IN_JSON, .number = knot_in_count}, \
    {"out_count", COLUMN_COUNT, IN_JSON, .number = knot_out_count}, \
    {"direct", COLUMN_COUNT, IN_JSON | IN_CSV, .number = knot_direct}, \
    {"through", COLUMN_COUNT, IN_JSON | IN_CSV, .number = knot_through}, \
    {"member_rows", COLUMN_ROWS, IN_JSON, .rows = knot_member_rows},
// clang-format on

static const column brief_columns[] = {ROW_COLUMNS{0}};
static const column knot_columns[] = {
    ROW_COLUMNS{"edges", COLUMN_ROWS, IN_JSON, .rows = knot_edges},
    {"edge_count", COLUMN_COUNT, IN_JSON, .number = knot_edge_count},
    {0},
};

// false: out of memory. `rows` stays the caller's, and must live as long.
static bool knot_table(question *q, knot_rows *rows, bool drawn, table *t) {
    *rows = (knot_rows){.q = q,
                        .knots = drawn ? ouro__view_drawn_knots(q->view, q->metric)
                                       : ouro__view_knots(q->view, q->metric),
                        .totals = ouro__view_totals(q->view, q->metric)};
    if (!rows->knots || !rows->totals) return false;
    const column *columns = drawn ? knot_columns : brief_columns;
    *t = (table){.columns = columns,
                 .usual = &columns[3],
                 .of = rows,
                 .count = rows->knots->count,
                 .decimals = q->p->metrics[q->metric].decimals};
    return true;
}

// The first of them, and how many there are.
bool ouro__write_knots(question *q, uint32_t most) {
    knot_rows rows;
    table t;
    if (!knot_table(q, &rows, false, &t)) return false;
    ouro__table_rows(q, "knots", &t, NULL, t.count < most ? t.count : most);
    ouro__write_integer(&q->json, "knot_count", t.count);
    return true;
}

static bool knot_matches(const knot *k, const uint8_t *match) {
    bool found = false;
    for (uint32_t i = 0; !found && i < k->block_count; i++) found = match[k->blocks[i]];
    return found;
}

bool ouro__api_knots(question *q) {
    knot_rows rows;
    table t;
    bool ok;
    uint8_t *match = ouro__question_search(q, &ok), *keep = NULL;
    ok = ok && knot_table(q, &rows, true, &t) && (!match || (keep = malloc((size_t)t.count + 1)));
    for (uint32_t i = 0; ok && keep && i < t.count; i++)
        keep[i] = knot_matches(knot_of(&rows, i), match);
    if (ok) t.keep = keep;
    ok = ok && ouro__table_answer(q, &t);
    free(match);
    free(keep);
    return ok;
}
