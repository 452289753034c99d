// SPDX-License-Identifier: MIT
//
// What has to be known of a function before it can be encoded or translated. All branches go
// forward, since loops are tail calls, so one pass from the end to the beginning finds everything:
//   - which slots are live at each call and each allocation, for the collector;
//   - how many bytes are allocated up to the next call or branch: HEAP makes room for all of them
//     at once, so nothing in between can move;
//   - how many instructions a stretch has, which is what profiles charge.
// A stretch begins at the function's entry and where a branch leads.

#include "emit.h"
#include "vm/machine.h"

#include <string.h>

enum { LIVE_EVERY = 128 }; // instructions

struct bits {
    uint64_t *at;
    uint32_t words;
};

struct analysis {
    struct emitter *e;
    struct emit_function *f;
    struct emit_facts *facts;
    // Of what follows the instruction that is being looked at:
    struct bits live;
    uint64_t bytes;
    struct fble_loc allocates; // the first that does
    uint32_t instructions;
};

static void set(struct bits *bits, uint32_t slot) {
    bits->at[slot / 64] |= (uint64_t)1 << slot % 64;
}

static void clear(struct bits *bits, uint32_t slot) {
    bits->at[slot / 64] &= ~((uint64_t)1 << slot % 64);
}

static struct fble_site *make_site(struct analysis *n, struct fble_loc loc,
                                   const struct bits *live) {
    uint32_t words = live->words;
    while (words && !live->at[words - 1]) words--;
    struct fble_site *site = fble_alloc(n->e->arena, sizeof *site + 8 * (size_t)words);
    site->code = n->f->code;
    site->line = loc.line;
    site->column = loc.column;
    site->slots = 64 * words;
    memcpy(site->live, live->at, 8 * (size_t)words);
    return site;
}

// ---------------------------------------------------------------- what instructions do

static uint64_t bytes_of(const struct emit_ins *ins) {
    switch (ins->op) {
    case FBLE_OP_STRUCT:
    case FBLE_OP_CELL:
        return fble_bytes_of_words(ins->c);
    case FBLE_OP_STRUCT_ONE:
    case FBLE_OP_UNION:
    case FBLE_OP_PLACEHOLDER:
        return fble_bytes_of_words(1);
    case FBLE_OP_COPY:
        return fble_bytes_of_words(ins->word);
    case FBLE_OP_FUNC:
    case FBLE_OP_FUNC_ALLOC:
        return fble_bytes_of_words(1 + (uint64_t)ins->c);
    case FBLE_OP_LIST:
        return FBLE_LIST_CELL_BYTES * (uint64_t)ins->c;
    case FBLE_OP_LITERAL:
        return FBLE_LIST_CELL_BYTES * (uint64_t)((struct fble_literal *)ins->pointer)->count;
    default:
        return 0;
    }
}

// The slots that are live before the instruction, from those that are live after it.
static void read_and_write(struct analysis *n, const struct emit_ins *ins) {
    const struct fble_operands *roles = fble_operands + ins->op;
    if (roles->a == FBLE_ROLE_OUT) clear(&n->live, ins->a);
    if (roles->a == FBLE_ROLE_IN) set(&n->live, ins->a);
    if (roles->b == FBLE_ROLE_IN) set(&n->live, ins->b);
    if (roles->b == FBLE_ROLE_CAPTURED) set(&n->live, FBLE_FP_SELF);
    bool fields = roles->list == FBLE_ROLE_FIELDS; // every second is the number of a field
    for (uint32_t i = fields; i < ins->list_count; i += 1 + fields)
        set(&n->live, n->f->lists[ins->list + i]);
}

// ---------------------------------------------------------------- backwards

static void join_targets(struct analysis *n, const struct emit_ins *ins) {
    for (uint32_t t = 0; t < ins->target_count; t++) {
        const uint64_t *live = n->facts[n->f->targets[ins->targets + t]].live;
        for (uint32_t w = 0; w < n->live.words; w++) n->live.at[w] |= live[w];
    }
}

// All bytes that are allocated from i on, up to the next call or branch, have been counted.
static void make_room(struct analysis *n, uint32_t i) {
    struct emit_facts *facts = n->facts + i;
    if (n->bytes > UINT32_MAX / 2) {
        emit_too_large(n->e, n->f->ins[i].near, "a function allocates too much at once");
        n->bytes = 0;
    }
    if (!n->bytes) return;
    facts->bytes = (uint32_t)n->bytes;
    facts->heap = make_site(n, n->allocates, &n->live);
    n->instructions++; // HEAP itself
    n->bytes = 0;
}

static void look_at(struct analysis *n, uint32_t i) {
    const struct emit_ins *ins = n->f->ins + i;
    struct emit_facts *facts = n->facts + i;
    if (facts->dropped) return;
    if (fble_op_is_branch(ins->op) || fble_op_ends_function(ins->op)) {
        memset(n->live.at, 0, 8 * (size_t)n->live.words);
        n->instructions = 0; // a stretch that runs into a target goes on there
    }
    join_targets(n, ins);
    if (fble_op_is_call(ins->op)) {
        clear(&n->live, ins->a); // while the call runs
        facts->site = make_site(n, ins->loc, &n->live);
    }
    if (fble_op_is_profiling(ins->op)) {
        facts->after = n->instructions;
        n->instructions = 0;
    }
    read_and_write(n, ins);
    uint64_t bytes = bytes_of(ins);
    if (bytes) n->allocates = ins->near;
    n->bytes += bytes;
    n->instructions += fble_counts[ins->op];
}

static void look_backwards(struct analysis *n) {
    for (uint32_t i = n->f->count; i-- > 0;) {
        look_at(n, i);
        bool first = i == 0 || n->facts[i].target;
        bool begins = first || fble_op_is_call(n->f->ins[i - 1].op);
        if (begins) make_room(n, i);
        if (first) n->facts[i].charge = n->instructions;
        if (begins || i % LIVE_EVERY == 0) {
            n->facts[i].rest = (uint32_t)n->bytes;
            n->facts[i].live = fble_alloc(n->e->arena, 8 * (size_t)n->live.words);
            memcpy(n->facts[i].live, n->live.at, 8 * (size_t)n->live.words);
        }
    }
}

// ---------------------------------------------------------------- forwards

// Which variables of the module's body are globals is known by now.
static void number_global(struct analysis *n, uint32_t i) {
    struct emit_ins *ins = n->f->ins + i;
    if (!ins->variable) return;
    ins->word = ins->variable->global;
    n->facts[i].dropped = !ins->variable->global;
}

static void mark_targets(struct analysis *n, const struct emit_ins *ins) {
    for (uint32_t t = 0; t < ins->target_count; t++)
        n->facts[n->f->targets[ins->targets + t]].target = true;
}

// A let that is resolved can fail at each of its variables.
static uint32_t count_spots(const struct emit_ins *ins) {
    uint32_t count = 0;
    if (ins->op != FBLE_OP_RESOLVE) return ins->loc.line != 0;
    for (const struct fble_definition *d = ins->pointer; d; d = d->next)
        count += !emit_is_type(d->declaration->type);
    return count;
}

static void write_spots(struct fble_spot *spots, const struct emit_ins *ins) {
    if (ins->op != FBLE_OP_RESOLVE) {
        *spots = (struct fble_spot){.line = ins->loc.line, .column = ins->loc.column};
        return;
    }
    for (const struct fble_definition *d = ins->pointer; d; d = d->next)
        if (!emit_is_type(d->declaration->type))
            *spots++ = (struct fble_spot){.line = d->name.loc.line, .column = d->name.loc.column};
}

static void find_spots(struct analysis *n) {
    struct fble_code *code = n->f->code;
    for (uint32_t i = 0; i < n->f->count; i++) {
        n->facts[i].spot = code->spot_count;
        if (!n->facts[i].dropped) code->spot_count += count_spots(n->f->ins + i);
    }
    n->facts[n->f->count].spot = code->spot_count;
    code->spots = fble_alloc(n->e->arena, (code->spot_count + 1) * sizeof *code->spots);
    for (uint32_t i = 0; i < n->f->count; i++)
        if (n->facts[i].spot < n->facts[i + 1].spot)
            write_spots(code->spots + n->facts[i].spot, n->f->ins + i);
}

void emit_analyse(struct emitter *e, struct emit_function *f) {
    struct analysis n = {.e = e, .f = f};
    f->facts = n.facts = fble_alloc(e->arena, (f->count + 1) * sizeof *n.facts);
    n.live.words = (f->most + 63) / 64;
    n.live.at = fble_alloc(e->arena, 8 * (size_t)n.live.words);
    for (uint32_t i = 0; i < f->count; i++) {
        number_global(&n, i);
        mark_targets(&n, f->ins + i);
    }
    find_spots(&n);
    look_backwards(&n);
    f->code->frame_slots = f->most;
    f->code->charge = n.facts[0].charge;
}
