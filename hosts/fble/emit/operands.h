// SPDX-License-Identifier: MIT
//
// The roles of operands, as the table of vm/opcodes.h gives them, and what follows from them: which
// instructions are calls or branches, and where the parts of an instruction are among its words.
// Analysis, encoding, disassembly and translation all read them here.

#ifndef FBLE_OPERANDS_H
#define FBLE_OPERANDS_H

#include "vm/code.h"

// NO: the instruction has no such operand.
enum fble_role {
    FBLE_ROLE_NO,
    // Of a, b and c.
    FBLE_ROLE_OUT,
    FBLE_ROLE_IN,
    FBLE_ROLE_CAPTURED,
    FBLE_ROLE_FIELD,
    FBLE_ROLE_TAG,
    FBLE_ROLE_COUNT,
    // Of the list.
    FBLE_ROLE_SLOTS,
    FBLE_ROLE_FIELDS,
    FBLE_ROLE_PAIRS,
    FBLE_ROLE_ARGS,
    FBLE_ROLE_BRANCHES,
    // Of the word.
    FBLE_ROLE_VALUE,
    FBLE_ROLE_GLOBAL,
    FBLE_ROLE_CODE,
    FBLE_ROLE_FOREIGN,
    FBLE_ROLE_LITERAL,
    FBLE_ROLE_SITE,
    FBLE_ROLE_BRANCH,
    FBLE_ROLE_BLOCK,
    FBLE_ROLE_CHARGE,
};

struct fble_operands {
    uint8_t a, b, c, list, word; // enum fble_role
};

extern const struct fble_operands fble_operands[FBLE_OPCODE_COUNT];

// A call that returns here, not a tail call.
static inline bool fble_op_is_call(unsigned op) {
    return fble_operands[op].list == FBLE_ROLE_ARGS && fble_operands[op].a == FBLE_ROLE_OUT;
}

static inline bool fble_op_is_tail_call(unsigned op) {
    return fble_operands[op].list == FBLE_ROLE_ARGS && fble_operands[op].a == FBLE_ROLE_NO;
}

static inline bool fble_op_ends_function(unsigned op) {
    return op == FBLE_OP_RETURN || fble_op_is_tail_call(op);
}

// It is never followed by the next instruction, but by one of its targets.
static inline bool fble_op_is_branch(unsigned op) {
    return fble_operands[op].list == FBLE_ROLE_BRANCHES ||
           fble_operands[op].word == FBLE_ROLE_BRANCH;
}

// The next instruction follows it, at once.
static inline bool fble_op_goes_on(unsigned op) {
    return !fble_op_is_call(op) && !fble_op_ends_function(op) && !fble_op_is_branch(op);
}

// It changes the position of the profile within a function.
static inline bool fble_op_is_profiling(unsigned op) {
    return fble_operands[op].word == FBLE_ROLE_BLOCK || fble_operands[op].word == FBLE_ROLE_CHARGE;
}

// It enters another block.
static inline bool fble_op_has_call_site(unsigned op) {
    return fble_operands[op].list == FBLE_ROLE_ARGS || fble_operands[op].word == FBLE_ROLE_BLOCK;
}

// How many arguments of a call, tail call or not, are in its first word: after the function, if
// that is a slot.
static inline uint32_t fble_first_arguments(unsigned op) {
    return fble_operands[op].b == FBLE_ROLE_IN ? 2 : 3;
}

// Where the parts of an instruction begin, in words from the first; 0: it has no such part.
struct fble_layout {
    uint32_t list, list_count; // of calls: without those in the first word
    uint32_t word;
    uint32_t call_site;
    uint32_t back;  // of calls: the three words before the return pc, which also have the call site
    uint32_t words; // of the whole instruction
};

// Of an instruction with these numbers.
struct fble_layout fble_layout(unsigned op, uint32_t x, uint32_t c);

#endif
