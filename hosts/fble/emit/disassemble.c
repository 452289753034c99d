// SPDX-License-Identifier: MIT
//
// Shows bytecode: a line per instruction, with slots as s4. What its operands are is read from the
// table of vm/opcodes.h. Charges are shown in parentheses where they are charged, live slots at
// calls and at HEAP.

#include "disassemble.h"

#include "printable.h"

struct reader {
    FILE *to;
    const struct fble_code *code;
    const uint64_t *at; // the instruction
};

// ---------------------------------------------------------------- operands

static void show_operand(FILE *to, unsigned role, unsigned operand) {
    static const char *const formats[] = {
        [FBLE_ROLE_OUT] = " s%u =",           [FBLE_ROLE_IN] = " s%u",
        [FBLE_ROLE_CAPTURED] = " capture %u", [FBLE_ROLE_FIELD] = " field %u",
        [FBLE_ROLE_TAG] = " tag %u",
    };
    if (role != FBLE_ROLE_NO && role != FBLE_ROLE_COUNT) fprintf(to, formats[role], operand);
}

static void show_slots(FILE *to, const uint64_t *list, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        fprintf(to, " s%u", (unsigned)((const uint16_t *)(const void *)list)[i]);
}

static void show_fields(FILE *to, const uint64_t *list, uint32_t count) {
    const uint16_t *pairs = (const uint16_t *)(const void *)list;
    for (uint32_t i = 0; i < count; i += 2)
        fprintf(to, " field %u s%u", (unsigned)pairs[i], (unsigned)pairs[i + 1]);
}

static void show_branch(const struct reader *r, const uint64_t *from, uint64_t word) {
    fprintf(r->to, " %u (%u)", (unsigned)(from - r->code->words + (int32_t)word),
            (unsigned)(word >> 32));
}

static void show_list(const struct reader *r, unsigned op, const struct fble_layout *at) {
    const uint64_t *list = r->at + at->list;
    switch (fble_operands[op].list) {
    case FBLE_ROLE_FIELDS:
        show_fields(r->to, list, at->list_count);
        break;
    case FBLE_ROLE_BRANCHES:
        for (uint32_t i = 0; i < at->list_count; i++) show_branch(r, list + i, list[i]);
        break;
    default:
        show_slots(r->to, list, at->list_count);
    }
}

// ---------------------------------------------------------------- words

static void show_site(FILE *to, uint64_t word) {
    const struct fble_site *site = (const struct fble_site *)(uintptr_t)word;
    fputs("  live", to);
    for (uint32_t i = 0; i < site->slots; i++)
        if (site->live[i / 64] >> i % 64 & 1) fprintf(to, " s%u", (unsigned)i);
}

static void show_code_name(FILE *to, uint64_t word) {
    const struct fble_code *code = (const struct fble_code *)(uintptr_t)word;
    fputc(' ', to);
    ouro__print_foreign(to, code->name);
    fprintf(to, ":%u:%u", (unsigned)code->line, (unsigned)code->column);
}

static void show_value(FILE *to, fble_value value) {
    if (fble_is_immediate(value))
        fprintf(to, " %#llx", (unsigned long long)value);
    else
        show_code_name(to, fble_object(value)->words[0]);
}

static void show_word(const struct reader *r, unsigned op, const uint64_t *at) {
    switch (fble_operands[op].word) {
    case FBLE_ROLE_VALUE:
        show_value(r->to, *at);
        break;
    case FBLE_ROLE_GLOBAL:
        fputs(" global", r->to);
        break;
    case FBLE_ROLE_CODE:
        show_code_name(r->to, *at);
        break;
    case FBLE_ROLE_FOREIGN:
        fputc(' ', r->to);
        ouro__print_foreign(r->to, ((const struct fble_foreign_use *)(uintptr_t)*at)->name);
        break;
    case FBLE_ROLE_LITERAL:
        fprintf(r->to, " %u letters",
                (unsigned)((const struct fble_literal *)(uintptr_t)*at)->count);
        break;
    case FBLE_ROLE_SITE:
        fprintf(r->to, " %u bytes", (unsigned)(*r->at >> 32));
        show_site(r->to, *at);
        break;
    case FBLE_ROLE_BRANCH:
        show_branch(r, r->at, *at);
        break;
    case FBLE_ROLE_BLOCK:
        fprintf(r->to, " block %u", (unsigned)(uint32_t)*at);
        // fall through
    case FBLE_ROLE_CHARGE:
        fprintf(r->to, " (%u)", (unsigned)(*at >> 32));
        break;
    }
}

// ---------------------------------------------------------------- instructions

// The function, if it is in a slot, and the arguments, as call_word of encode.c puts them.
static void show_call(const struct reader *r, uint64_t w, const struct fble_layout *at) {
    unsigned op = fble_op(w), first = fble_first_arguments(op);
    unsigned operands[] = {fble_a(w), fble_b(w), fble_c(w)};
    if (first < 3) fprintf(r->to, " s%u", operands[0]);
    if (at->word) show_word(r, op, r->at + at->word);
    fputs(" (", r->to);
    for (unsigned i = 0; i < fble_x(w) && i < first; i++)
        fprintf(r->to, " s%u", operands[3 - first + i]);
    show_list(r, op, at);
    fputs(" )", r->to);
    if (!at->back) return;
    fprintf(r->to, " -> s%u", fble_return_slot(r->at + at->back + 3));
    show_site(r->to, r->at[at->back + 1]);
}

static void show_plain(const struct reader *r, uint64_t w, const struct fble_layout *at) {
    const struct fble_operands *roles = fble_operands + fble_op(w);
    show_operand(r->to, roles->a, fble_a(w));
    show_operand(r->to, roles->b, fble_b(w));
    if (roles->b && (roles->c || roles->list)) fputs(",", r->to);
    show_operand(r->to, roles->c, fble_c(w));
    if (at->word) show_word(r, fble_op(w), r->at + at->word);
    show_list(r, fble_op(w), at);
}

// Gives the number of words.
static uint32_t show(const struct reader *r) {
    uint64_t w = *r->at;
    unsigned op = fble_op(w);
    struct fble_layout at = fble_layout(op, fble_x(w), fble_c(w));
    fprintf(r->to, "%6u  %-12s", (unsigned)(r->at - r->code->words), fble_opcode_names[op]);
    if (fble_operands[op].list == FBLE_ROLE_ARGS)
        show_call(r, w, &at);
    else
        show_plain(r, w, &at);
    fputs("\n", r->to);
    return at.words;
}

void fble_disassemble(FILE *to, const struct fble_emitted *emitted) {
    for (uint32_t i = 0; i < emitted->codes.count; i++) {
        struct reader r = {to, emitted->codes.at[i], NULL};
        if (i) fputc('\n', to);
        ouro__say_to(to, "%s  %s:%u:%u  %u arguments, %u captures, %u slots, charge %u",
                     r.code->name, r.code->file, (unsigned)r.code->line, (unsigned)r.code->column,
                     (unsigned)r.code->arity, (unsigned)r.code->captures,
                     (unsigned)r.code->frame_slots, (unsigned)r.code->charge);
        for (r.at = r.code->words; r.at < r.code->words + r.code->word_count;) r.at += show(&r);
    }
}
