// SPDX-License-Identifier: MIT
//
// Shows bytecode: a line per instruction, with slots as s4, the length of each instruction taken
// from the same rules as in encode.c. Charges are shown where they are charged, live slots at calls
// and at HEAP.

#include "disassemble.h"

struct reader {
    FILE *to;
    const struct fble_code *code;
    const uint64_t *at;
};

static void show_list(FILE *to, const uint64_t *at, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        fprintf(to, " s%u", (unsigned)((const uint16_t *)(const void *)at)[i]);
}

static void show_site(FILE *to, uint64_t word) {
    const struct fble_site *site = (const struct fble_site *)(uintptr_t)word;
    fputs("  live", to);
    for (uint32_t i = 0; i < site->slots; i++)
        if (site->live[i / 64] >> i % 64 & 1) fprintf(to, " s%u", (unsigned)i);
}

static void show_code_name(FILE *to, uint64_t word) {
    const struct fble_code *code = (const struct fble_code *)(uintptr_t)word;
    fprintf(to, " %s:%u:%u", code->name, (unsigned)code->line, (unsigned)code->column);
}

static uint32_t show_return(const struct reader *r, const uint64_t *at) {
    fprintf(r->to, " -> s%u", (unsigned)(at[0] & 0xffff));
    show_site(r->to, at[1]);
    return 3;
}

static uint32_t rest(uint32_t count, uint32_t shown) {
    return count > shown ? fble_list_words(count - shown) : 0;
}

static uint32_t show_call(const struct reader *r, uint64_t w) {
    unsigned n = fble_x(w), shown = n < 2 ? n : 2;
    bool tail = fble_op(w) == FBLE_OP_TAIL;
    uint32_t words = 1 + tail + rest(n, 2);
    fprintf(r->to, " s%u (", fble_a(w));
    fprintf(r->to, shown > 1 ? " s%u s%u" : " s%u", fble_b(w), fble_c(w));
    if (n > 2) show_list(r->to, r->at + (tail ? 2 : 1), n - 2);
    fputs(" )", r->to);
    return tail ? words : words + show_return(r, r->at + words);
}

static uint32_t show_call_code(const struct reader *r, uint64_t w) {
    unsigned n = fble_x(w);
    bool tail = fble_op(w) == FBLE_OP_TAIL_CODE;
    uint32_t words = 2 + tail + rest(n, 3), list = tail ? 3 : 1;
    show_code_name(r->to, r->at[tail ? 1 : words - 1]);
    fputs(" (", r->to);
    for (unsigned i = 0; i < n && i < 3; i++)
        fprintf(r->to, " s%u", i == 0 ? fble_a(w) : i == 1 ? fble_b(w) : fble_c(w));
    if (n > 3) show_list(r->to, r->at + list, n - 3);
    fputs(" )", r->to);
    return tail ? words : words + show_return(r, r->at + words);
}

static void show_branch(const struct reader *r, const uint64_t *at) {
    fprintf(r->to, " %u (%u)", (unsigned)(at - r->code->words + (int32_t)*at),
            (unsigned)(*at >> 32));
}

static uint32_t show_switch(const struct reader *r, uint64_t w) {
    fprintf(r->to, " s%u:", fble_b(w));
    for (unsigned i = 0; i < fble_c(w); i++) show_branch(r, r->at + 1 + i);
    return 1 + fble_c(w);
}

// Instructions of one word and a list.
static uint32_t show_listed(const struct reader *r, uint64_t w, uint32_t count) {
    show_list(r->to, r->at + 1, count);
    return 1 + fble_list_words(count);
    (void)w;
}

static uint32_t show_plain(const struct reader *r, uint64_t w) {
    switch (fble_op(w)) {
    case FBLE_OP_STRUCT:
    case FBLE_OP_FUNC_FILL:
        fprintf(r->to, " s%u =", fble_a(w));
        return show_listed(r, w, fble_c(w));
    case FBLE_OP_CELL:
        fprintf(r->to, " s%u = tag %u,", fble_a(w), fble_b(w));
        return show_listed(r, w, fble_c(w));
    case FBLE_OP_LIST:
        fprintf(r->to, " s%u = before s%u,", fble_a(w), fble_b(w));
        return show_listed(r, w, fble_c(w));
    case FBLE_OP_COPY:
        fprintf(r->to, " s%u = s%u, fields and slots", fble_a(w), fble_b(w));
        return show_listed(r, w, 2 * fble_c(w));
    case FBLE_OP_RESOLVE:
        return show_listed(r, w, 2 * fble_c(w));
    case FBLE_OP_UNION:
    case FBLE_OP_PAYLOAD:
        fprintf(r->to, " s%u = s%u, tag %u", fble_a(w), fble_b(w), fble_c(w));
        return 1;
    case FBLE_OP_FIELD:
        fprintf(r->to, " s%u = s%u, field %u", fble_a(w), fble_b(w), fble_c(w));
        return 1;
    case FBLE_OP_CAPTURE:
        fprintf(r->to, " s%u = capture %u", fble_a(w), fble_b(w));
        return 1;
    case FBLE_OP_RETURN:
    case FBLE_OP_PLACEHOLDER:
        fprintf(r->to, " s%u", fble_a(w));
        return 1;
    default:
        fprintf(r->to, " s%u = s%u", fble_a(w), fble_b(w));
        return 1;
    }
}

// Instructions with a word of their own.
static uint32_t show_worded(const struct reader *r, uint64_t w) {
    uint64_t word = r->at[1];
    switch (fble_op(w)) {
    case FBLE_OP_CONST:
        fprintf(r->to, " s%u = ", fble_a(w));
        if (word & 1)
            fprintf(r->to, "%#llx", (unsigned long long)word);
        else
            show_code_name(r->to, fble_object(word)->words[0]);
        return 2;
    case FBLE_OP_FUNC:
    case FBLE_OP_FUNC_ALLOC:
        fprintf(r->to, " s%u =", fble_a(w));
        show_code_name(r->to, word);
        if (fble_op(w) == FBLE_OP_FUNC_ALLOC) return 2;
        show_list(r->to, r->at + 2, fble_c(w));
        return 2 + fble_list_words(fble_c(w));
    case FBLE_OP_FOREIGN:
        fprintf(r->to, " s%u = %s", fble_a(w),
                ((const struct fble_foreign_use *)(uintptr_t)word)->name);
        return 2;
    case FBLE_OP_LITERAL:
        fprintf(r->to, " s%u = %u letters", fble_a(w),
                (unsigned)((const struct fble_literal *)(uintptr_t)word)->count);
        return 2;
    case FBLE_OP_HEAP:
        fprintf(r->to, " %u bytes", (unsigned)(w >> 32));
        show_site(r->to, word);
        return 2;
    case FBLE_OP_JUMP:
        fprintf(r->to, " %u (%u)", (unsigned)(r->at - r->code->words + (int32_t)word),
                (unsigned)(word >> 32));
        return 2;
    default: // globals
        fprintf(r->to, " s%u", fble_a(w));
        return 2;
    }
}

static uint32_t show(const struct reader *r) {
    uint64_t w = *r->at;
    fprintf(r->to, "%6u  %-12s", (unsigned)(r->at - r->code->words), fble_opcode_names[fble_op(w)]);
    switch (fble_op(w)) {
    case FBLE_OP_CALL:
    case FBLE_OP_TAIL:
        return show_call(r, w);
    case FBLE_OP_CALL_CODE:
    case FBLE_OP_TAIL_CODE:
        return show_call_code(r, w);
    case FBLE_OP_SWITCH:
        return show_switch(r, w);
    case FBLE_OP_CONST:
    case FBLE_OP_GLOBAL:
    case FBLE_OP_SET_GLOBAL:
    case FBLE_OP_FUNC:
    case FBLE_OP_FUNC_ALLOC:
    case FBLE_OP_FOREIGN:
    case FBLE_OP_LITERAL:
    case FBLE_OP_HEAP:
    case FBLE_OP_JUMP:
    case FBLE_OP_ENTER:
    case FBLE_OP_EXIT:
    case FBLE_OP_REPLACE:
        return show_worded(r, w);
    default:
        return show_plain(r, w);
    }
}

void fble_disassemble(FILE *to, const struct fble_emitted *emitted) {
    for (uint32_t i = 0; i < emitted->codes.count; i++) {
        struct reader r = {to, emitted->codes.at[i], NULL};
        fprintf(to, "%s%s  %s:%u:%u  %u arguments, %u captures, %u slots, charge %u\n",
                i ? "\n" : "", r.code->name, r.code->file, (unsigned)r.code->line,
                (unsigned)r.code->column, (unsigned)r.code->arity, (unsigned)r.code->captures,
                (unsigned)r.code->frame_slots, (unsigned)r.code->charge);
        for (r.at = r.code->words; r.at < r.code->words + r.code->word_count;) {
            r.at += show(&r);
            fputs("\n", to);
        }
    }
}
