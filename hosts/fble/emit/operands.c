// SPDX-License-Identifier: MIT
//
// The table of roles, and the order of an instruction's words. Only calls differ from the rule that
// the first word is followed by the word, the number of the call site and the list.

#include "operands.h"

#define ROLES(name, a, b, c, list, word) \
    {FBLE_ROLE_##a, FBLE_ROLE_##b, FBLE_ROLE_##c, FBLE_ROLE_##list, FBLE_ROLE_##word},
const struct fble_operands fble_operands[FBLE_OPCODE_COUNT] = {FBLE_OPCODES(ROLES)};
#undef ROLES

static uint32_t list_count(unsigned op, uint32_t x, uint32_t c) {
    switch (fble_operands[op].list) {
    case FBLE_ROLE_SLOTS:
    case FBLE_ROLE_BRANCHES:
        return c;
    case FBLE_ROLE_FIELDS:
    case FBLE_ROLE_PAIRS:
        return 2 * c;
    case FBLE_ROLE_ARGS:
        return x > fble_first_arguments(op) ? x - fble_first_arguments(op) : 0;
    default:
        return 0;
    }
}

struct fble_layout fble_layout(unsigned op, uint32_t x, uint32_t c) {
    const struct fble_operands *roles = fble_operands + op;
    struct fble_layout at = {.list_count = list_count(op, x, c)};
    bool call = fble_op_is_call(op);
    uint32_t next = 1;
    uint32_t list_words =
        roles->list == FBLE_ROLE_BRANCHES ? at.list_count : fble_list_words(at.list_count);
    if (call) {
        at.list = next;
        next += list_words;
    }
    if (roles->word) at.word = next++;
    if (!call && fble_op_has_call_site(op)) at.call_site = next++;
    if (call) {
        at.back = next;
        next += 3;
    } else {
        at.list = next;
        next += list_words;
    }
    at.words = next;
    return at;
}
