// SPDX-License-Identifier: MIT
//
// From a function's simple instructions to the words that run. All branches go forward, since loops
// are tail calls, so one pass from the end to the beginning finds everything:
//   - which slots are live at each call and each allocation, for the collector;
//   - how many bytes are allocated up to the next call or choice: HEAP makes room for all of them at
//     once, so nothing in between can move;
//   - how many instructions a stretch has, which is what profiles charge.
// A stretch begins at the function's entry and where a branch leads.

#include "emit.h"
#include "vm/machine.h"

#include <string.h>

struct bits {
    uint64_t *at;
    uint32_t words;
};

struct encoder {
    struct emitter *e;
    struct function *f;
    struct facts *facts;
    struct bits live;
    uint64_t bytes;
    uint32_t instructions;
    fble_value *globals;
    uint64_t *out;
    struct fble_list spots;
};

static void set(struct bits *bits, uint32_t slot) {
    bits->at[slot / 64] |= (uint64_t)1 << slot % 64;
}

static void clear(struct bits *bits, uint32_t slot) {
    bits->at[slot / 64] &= ~((uint64_t)1 << slot % 64);
}

static struct fble_site *make_site(struct encoder *n, const struct ins *ins,
                                   const struct bits *live, bool without_a) {
    uint32_t words = live->words;
    while (words && !live->at[words - 1]) words--;
    struct fble_site *site = fble_alloc(n->e->arena, sizeof *site + 8 * (size_t)words);
    site->code = n->f->code;
    site->line = ins->loc.line;
    site->column = ins->loc.column;
    site->slots = 64 * words;
    memcpy(site->live, live->at, 8 * (size_t)words);
    if (without_a && ins->a / 64 < words) site->live[ins->a / 64] &= ~((uint64_t)1 << ins->a % 64);
    return site;
}

// ---------------------------------------------------------------- what instructions do

static uint64_t bytes_of(const struct ins *ins) {
    switch (ins->op) {
    case FBLE_OP_STRUCT:
    case FBLE_OP_CELL:
        return 8 + 8 * (uint64_t)ins->c;
    case FBLE_OP_STRUCT_ONE:
    case FBLE_OP_UNION:
    case FBLE_OP_PLACEHOLDER:
        return 16;
    case FBLE_OP_COPY:
        return 8 + 8 * ins->word;
    case FBLE_OP_FUNC:
    case FBLE_OP_FUNC_ALLOC:
        return 16 + 8 * (uint64_t)ins->c;
    case FBLE_OP_LIST:
        return 24 * (uint64_t)ins->c;
    case FBLE_OP_LITERAL:
        return 24 * (uint64_t)((struct fble_literal *)ins->pointer)->count;
    default:
        return 0;
    }
}

static bool is_call(const struct ins *ins) {
    return ins->op == FBLE_OP_CALL || ins->op == FBLE_OP_CALL_CODE;
}

static bool is_profiling(const struct ins *ins) {
    return ins->op == FBLE_OP_ENTER || ins->op == FBLE_OP_EXIT || ins->op == FBLE_OP_REPLACE;
}

static bool ends_function(const struct ins *ins) {
    return ins->op == FBLE_OP_RETURN || ins->op == FBLE_OP_TAIL || ins->op == FBLE_OP_TAIL_CODE;
}

static bool writes_a(const struct ins *ins) {
    switch (ins->op) {
    case FBLE_OP_SET_GLOBAL:
    case FBLE_OP_SWITCH:
    case FBLE_OP_JUMP:
    case FBLE_OP_RETURN:
    case FBLE_OP_TAIL:
    case FBLE_OP_TAIL_CODE:
    case FBLE_OP_FUNC_FILL:
    case FBLE_OP_RESOLVE:
    case FBLE_OP_EXIT:
    case FBLE_OP_REPLACE:
        return false;
    default:
        return true;
    }
}

static bool reads_a(const struct ins *ins) {
    return ins->op == FBLE_OP_SET_GLOBAL || ins->op == FBLE_OP_RETURN ||
           ins->op == FBLE_OP_FUNC_FILL || ins->op == FBLE_OP_EXIT;
}

static bool reads_b(const struct ins *ins) {
    switch (ins->op) {
    case FBLE_OP_MOVE:
    case FBLE_OP_FIELD:
    case FBLE_OP_FIELD_ONLY:
    case FBLE_OP_STRUCT_ONE:
    case FBLE_OP_UNION:
    case FBLE_OP_PAYLOAD:
    case FBLE_OP_COPY:
    case FBLE_OP_SWITCH:
    case FBLE_OP_CALL:
    case FBLE_OP_TAIL:
    case FBLE_OP_LIST:
        return true;
    default:
        return false;
    }
}

static void read_and_write(struct encoder *n, const struct ins *ins) {
    if (writes_a(ins)) clear(&n->live, ins->a);
    if (reads_a(ins)) set(&n->live, ins->a);
    if (reads_b(ins)) set(&n->live, ins->b);
    if (ins->op == FBLE_OP_CAPTURE) set(&n->live, FBLE_FP_SELF);
    uint32_t first = ins->op == FBLE_OP_COPY ? 1 : 0; // a list of index, slot
    for (uint32_t i = first; i < ins->list_count; i += 1 + first)
        set(&n->live, n->f->lists[ins->list + i]);
}

// ---------------------------------------------------------------- backwards

static void join_targets(struct encoder *n, const struct ins *ins) {
    memset(n->live.at, 0, 8 * (size_t)n->live.words);
    for (uint32_t t = 0; t < ins->target_count; t++) {
        const uint64_t *live = n->facts[n->f->targets[ins->targets + t]].live;
        for (uint32_t w = 0; w < n->live.words; w++) n->live.at[w] |= live[w];
    }
}

// What is allocated from i on, up to the next call or choice, is known.
static void make_room(struct encoder *n, uint32_t i) {
    struct facts *facts = n->facts + i;
    if (n->bytes > UINT32_MAX / 2) {
        too_large(n->e, "a function allocates too much at once", n->f->label->loc);
        n->bytes = 0;
    }
    if (!n->bytes) return;
    facts->bytes = (uint32_t)n->bytes;
    facts->heap = make_site(n, n->f->ins + i, &n->live, false);
    n->instructions++; // HEAP itself
    n->bytes = 0;
}

// The stretch that begins at i is complete.
static void begin_stretch(struct encoder *n, uint32_t i) {
    n->facts[i].charge = n->instructions;
    n->instructions = 0;
}

static void look_at(struct encoder *n, uint32_t i) {
    struct ins *ins = n->f->ins + i;
    struct facts *facts = n->facts + i;
    if (facts->dropped) return;
    if (ins->op == FBLE_OP_SWITCH || ins->op == FBLE_OP_JUMP) join_targets(n, ins);
    if (ends_function(ins)) memset(n->live.at, 0, 8 * (size_t)n->live.words);
    if (is_call(ins)) facts->site = make_site(n, ins, &n->live, true);
    if (is_profiling(ins)) {
        facts->after = n->instructions;
        n->instructions = 0;
    }
    read_and_write(n, ins);
    n->bytes += bytes_of(ins);
    n->instructions += fble_counts[ins->op];
}

static void look_backwards(struct encoder *n) {
    for (uint32_t i = n->f->count; i-- > 0;) {
        look_at(n, i);
        bool first = i == 0 || n->facts[i].target;
        bool begins = first || is_call(n->f->ins + i - 1);
        if (begins) make_room(n, i);
        if (first) begin_stretch(n, i);
        if (begins) {
            n->facts[i].live = fble_alloc(n->e->arena, 8 * (size_t)n->live.words);
            memcpy(n->facts[i].live, n->live.at, 8 * (size_t)n->live.words);
        }
    }
}

static void mark_targets(struct encoder *n) {
    for (uint32_t i = 0; i < n->f->count; i++) {
        const struct ins *ins = n->f->ins + i;
        n->facts[i].dropped = ins->op == FBLE_OP_SET_GLOBAL && !ins->variable->global;
        for (uint32_t t = 0; t < ins->target_count; t++)
            n->facts[n->f->targets[ins->targets + t]].target = true;
    }
}

// ---------------------------------------------------------------- words

static uint32_t rest_words(const struct ins *ins, uint32_t in_first_word) {
    return ins->list_count > in_first_word ? fble_list_words(ins->list_count - in_first_word) : 0;
}

static uint32_t words_of(const struct ins *ins) {
    switch (ins->op) {
    case FBLE_OP_CONST:
    case FBLE_OP_GLOBAL:
    case FBLE_OP_SET_GLOBAL:
    case FBLE_OP_JUMP:
    case FBLE_OP_FUNC_ALLOC:
    case FBLE_OP_FOREIGN:
    case FBLE_OP_LITERAL:
    case FBLE_OP_EXIT:
        return 2;
    case FBLE_OP_ENTER:
    case FBLE_OP_REPLACE:
        return 3;
    case FBLE_OP_FUNC:
        return 2 + fble_list_words(ins->list_count);
    case FBLE_OP_SWITCH:
        return 1 + ins->target_count;
    case FBLE_OP_CALL:
        return 4 + rest_words(ins, 2);
    case FBLE_OP_CALL_CODE:
        return 5 + rest_words(ins, 3);
    case FBLE_OP_TAIL:
        return 2 + rest_words(ins, 2);
    case FBLE_OP_TAIL_CODE:
        return 3 + rest_words(ins, 3);
    default:
        return 1 + fble_list_words(ins->list_count);
    }
}

static uint32_t place_all(struct encoder *n) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < n->f->count; i++) {
        n->facts[i].word = at;
        if (n->facts[i].heap) at += 2;
        if (!n->facts[i].dropped) at += words_of(n->f->ins + i);
    }
    return at;
}

static void write_list(const struct encoder *n, const struct ins *ins, uint32_t from,
                       uint64_t *to) {
    for (uint32_t i = from; i < ins->list_count; i++)
        ((uint16_t *)(void *)to)[i - from] = n->f->lists[ins->list + i];
}

static uint32_t argument(const struct encoder *n, const struct ins *ins, uint32_t i) {
    return n->f->lists[ins->list + (i < ins->list_count ? i : 0)];
}

static uint64_t branch_word(const struct encoder *n, uint32_t target, const uint64_t *from) {
    const struct facts *facts = n->facts + target;
    int64_t offset = (n->out + facts->word) - from;
    return (uint32_t)(int32_t)offset | (uint64_t)facts->charge << 32;
}

// The three words before the place that a call returns to.
static void write_return(const struct encoder *n, uint32_t i, uint64_t *to) {
    to[0] = fble_return_word(n->f->ins[i].a, n->f->most, n->f->ins[i].call_site);
    to[1] = fble_pointer(n->facts[i].site);
    to[2] = (uint64_t)(uintptr_t)fble_interpret;
}

static uint64_t plain_word(const struct ins *ins) {
    return fble_instruction(ins->op, ins->x, ins->a, ins->b, ins->c);
}

static void write_call(const struct encoder *n, uint32_t i, uint64_t *to) {
    const struct ins *ins = n->f->ins + i;
    bool known = ins->op == FBLE_OP_CALL_CODE || ins->op == FBLE_OP_TAIL_CODE;
    bool tail = !is_call(ins);
    if (known)
        *to++ = fble_instruction(ins->op, ins->x, argument(n, ins, 0), argument(n, ins, 1),
                                 argument(n, ins, 2));
    else
        *to++ = fble_instruction(ins->op, ins->x, ins->b, argument(n, ins, 0), argument(n, ins, 1));
    uint32_t in_first_word = known ? 3 : 2;
    if (known && tail) *to++ = fble_pointer(ins->pointer);
    if (tail) *to++ = ins->call_site;
    write_list(n, ins, in_first_word, to);
    if (tail) return;
    to += rest_words(ins, in_first_word);
    if (known) *to++ = fble_pointer(ins->pointer);
    write_return(n, i, to);
}

static fble_value *global_of(const struct encoder *n, const struct ins *ins) {
    return ins->variable ? n->globals + ins->variable->global
                         : ((struct fble_emitted *)ins->pointer)->globals;
}

static void write_ins(const struct encoder *n, uint32_t i, uint64_t *to) {
    const struct ins *ins = n->f->ins + i;
    switch (ins->op) {
    case FBLE_OP_CALL:
    case FBLE_OP_CALL_CODE:
    case FBLE_OP_TAIL:
    case FBLE_OP_TAIL_CODE:
        write_call(n, i, to);
        return;
    case FBLE_OP_CONST:
        to[1] = ins->word;
        break;
    case FBLE_OP_GLOBAL:
    case FBLE_OP_SET_GLOBAL:
        to[1] = fble_pointer(global_of(n, ins));
        break;
    case FBLE_OP_JUMP:
        to[1] = branch_word(n, n->f->targets[ins->targets], to);
        break;
    case FBLE_OP_SWITCH:
        for (uint32_t t = 0; t < ins->target_count; t++)
            to[1 + t] = branch_word(n, n->f->targets[ins->targets + t], to + 1 + t);
        break;
    case FBLE_OP_FUNC:
        to[1] = fble_pointer(ins->pointer);
        write_list(n, ins, 0, to + 2);
        break;
    case FBLE_OP_FUNC_ALLOC:
    case FBLE_OP_FOREIGN:
    case FBLE_OP_LITERAL:
        to[1] = fble_pointer(ins->pointer);
        break;
    case FBLE_OP_ENTER:
    case FBLE_OP_REPLACE:
        to[2] = ins->call_site; // fall through
    case FBLE_OP_EXIT:
        to[1] = ins->word | (uint64_t)n->facts[i].after << 32;
        break;
    default:
        write_list(n, ins, 0, to + 1);
    }
    to[0] = plain_word(ins);
}

static void add_spot(struct encoder *n, uint64_t word, struct fble_loc loc) {
    struct fble_spot *spot = fble_alloc(n->e->arena, sizeof *spot);
    *spot = (struct fble_spot){(uint32_t)word, loc.line, loc.column};
    fble_push(n->e->arena, &n->spots, spot);
}

static void add_spots(struct encoder *n, const struct ins *ins, uint64_t word) {
    if (ins->op == FBLE_OP_RESOLVE) {
        for (struct fble_definition *d = ins->pointer; d; d = d->next)
            if (!is_type(d->declaration->type)) add_spot(n, word, d->name.loc);
    } else if (ins->loc.line) {
        add_spot(n, word, ins->loc);
    }
}

static void write_all(struct encoder *n) {
    for (uint32_t i = 0; i < n->f->count; i++) {
        struct facts *facts = n->facts + i;
        uint64_t *to = n->out + facts->word;
        if (facts->heap) {
            *to++ = (uint64_t)FBLE_OP_HEAP | (uint64_t)facts->bytes << 32;
            *to++ = fble_pointer(facts->heap);
        }
        if (facts->dropped) continue;
        facts->place = (uint32_t)(to - n->out);
        write_ins(n, i, to);
        add_spots(n, n->f->ins + i, (uint64_t)(to - n->out));
    }
}

void fble_encode(struct emitter *e, struct function *f, fble_value *globals) {
    struct encoder n = {.e = e, .f = f, .globals = globals};
    f->facts = n.facts = fble_alloc(e->arena, (f->count + 1) * sizeof *n.facts);
    n.live.words = (f->most + 63) / 64;
    n.live.at = fble_alloc(e->arena, 8 * (size_t)n.live.words);
    mark_targets(&n);
    look_backwards(&n);
    uint32_t words = place_all(&n);
    n.out = fble_alloc(e->arena, 8 * (size_t)words);
    write_all(&n);
    struct fble_code *code = f->code;
    code->start = code->words = n.out;
    code->word_count = words;
    code->frame_slots = f->most;
    code->charge = n.facts[0].charge;
    code->spot_count = n.spots.count;
    code->spots = fble_alloc(e->arena, (n.spots.count + 1) * sizeof *code->spots);
    for (uint32_t i = 0; i < n.spots.count; i++)
        code->spots[i] = *(struct fble_spot *)n.spots.at[i];
}
