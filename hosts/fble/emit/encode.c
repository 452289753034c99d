// SPDX-License-Identifier: MIT
//
// From a function's simple instructions to the words that the interpreter runs, in two passes: the
// first finds out where each instruction will be, the second writes. operands.h says which words an
// instruction has.

#include "instructions.h"
#include "vm/machine.h"

struct encoder {
    struct fble_arena *arena;
    const struct fble_emitted *emitted;
    const struct emit_function *f;
    uint32_t *offsets; // per instruction: its first word, or the first word of its HEAP
    uint64_t *words;   // the whole function
};

enum { HEAP_WORDS = 2 };

static struct fble_layout layout_of(const struct emit_ins *ins) {
    return fble_layout(ins->op, ins->x, ins->c);
}

static uint32_t find_offsets(struct encoder *n) {
    uint32_t next = 0;
    for (uint32_t i = 0; i < n->f->count; i++) {
        n->offsets[i] = next;
        if (n->f->facts[i].heap) next += HEAP_WORDS;
        if (!n->f->facts[i].dropped) next += layout_of(n->f->ins + i).words;
    }
    return next;
}

// ---------------------------------------------------------------- parts

static uint64_t branch_word(const struct encoder *n, uint32_t target, const uint64_t *from) {
    int64_t offset = n->words + n->offsets[target] - from;
    return (uint32_t)(int32_t)offset | (uint64_t)n->f->facts[target].charge << 32;
}

static const fble_value *global_of(const struct encoder *n, const struct emit_ins *ins) {
    const struct fble_emitted *other = ins->pointer;
    return (other ? other : n->emitted)->globals + ins->word;
}

static uint64_t word_of(const struct encoder *n, uint32_t i, const uint64_t *first) {
    const struct emit_ins *ins = n->f->ins + i;
    switch (fble_operands[ins->op].word) {
    case FBLE_ROLE_VALUE:
        return ins->word;
    case FBLE_ROLE_GLOBAL:
        return fble_pointer(global_of(n, ins));
    case FBLE_ROLE_BRANCH:
        return branch_word(n, n->f->targets[ins->targets], first);
    case FBLE_ROLE_BLOCK:
    case FBLE_ROLE_CHARGE:
        return ins->word | (uint64_t)n->f->facts[i].after << 32;
    default:
        return fble_pointer(ins->pointer);
    }
}

// The function, if it is in a slot, and then arguments. The interpreter reads all three operands,
// so those without an argument repeat the first.
static uint64_t call_word(const struct encoder *n, const struct emit_ins *ins) {
    const uint32_t *arguments = n->f->lists + ins->list;
    uint32_t in[3], count = 0, first = fble_first_arguments(ins->op);
    if (first < 3) in[count++] = ins->b;
    for (uint32_t i = 0; i < first; i++) in[count++] = arguments[i < ins->list_count ? i : 0];
    return fble_instruction(ins->op, ins->x, in[0], in[1], in[2]);
}

static void write_list(const struct encoder *n, const struct emit_ins *ins, uint32_t from,
                       uint64_t *to) {
    for (uint32_t i = from; i < ins->list_count; i++)
        ((uint16_t *)(void *)to)[i - from] = (uint16_t)n->f->lists[ins->list + i];
}

static void write_branches(const struct encoder *n, const struct emit_ins *ins, uint64_t *to) {
    for (uint32_t t = 0; t < ins->target_count; t++)
        to[t] = branch_word(n, n->f->targets[ins->targets + t], to + t);
}

// The three words before the pc that a call returns to.
static void write_return(const struct encoder *n, uint32_t i, uint64_t *to) {
    to[0] = fble_return_word(n->f->ins[i].a, n->f->most, n->f->ins[i].call_site);
    to[1] = fble_pointer(n->f->facts[i].site);
    to[2] = (uint64_t)(uintptr_t)fble_interpret;
}

// ---------------------------------------------------------------- all

static void write_ins(const struct encoder *n, uint32_t i, uint64_t *to) {
    const struct emit_ins *ins = n->f->ins + i;
    struct fble_layout at = layout_of(ins);
    uint8_t list = fble_operands[ins->op].list;
    to[0] = list == FBLE_ROLE_ARGS ? call_word(n, ins)
                                   : fble_instruction(ins->op, ins->x, ins->a, ins->b, ins->c);
    if (at.word) to[at.word] = word_of(n, i, to);
    if (list == FBLE_ROLE_BRANCHES)
        write_branches(n, ins, to + at.list);
    else
        write_list(n, ins, list == FBLE_ROLE_ARGS ? fble_first_arguments(ins->op) : 0,
                   to + at.list);
    if (at.call_site) to[at.call_site] = ins->call_site;
    if (at.back) write_return(n, i, to + at.back);
}

static void write_heap(const struct emit_facts *facts, uint64_t *to) {
    to[0] = (uint64_t)FBLE_OP_HEAP | (uint64_t)facts->bytes << 32;
    to[1] = fble_pointer(facts->heap);
}

static void write_all(struct encoder *n) {
    for (uint32_t i = 0; i < n->f->count; i++) {
        const struct emit_facts *facts = n->f->facts + i;
        uint32_t offset = n->offsets[i];
        if (facts->heap) write_heap(facts, n->words + offset);
        if (facts->heap) offset += HEAP_WORDS;
        if (facts->dropped) continue;
        write_ins(n, i, n->words + offset);
        for (uint32_t s = facts->spot; s < facts[1].spot; s++) n->f->code->spots[s].word = offset;
    }
}

static void encode(struct encoder *n) {
    struct fble_code *code = n->f->code;
    n->offsets = fble_alloc(n->arena, (n->f->count + 1) * sizeof *n->offsets);
    code->word_count = find_offsets(n);
    code->start = code->words = n->words = fble_alloc(n->arena, 8 * (size_t)code->word_count);
    write_all(n);
}

void fble_encode(struct fble_arena *arena, const struct fble_emitted *emitted) {
    struct encoder n = {.arena = arena, .emitted = emitted};
    for (uint32_t i = 0; i < emitted->functions.count; i++) {
        n.f = emitted->functions.at[i];
        encode(&n);
    }
}
