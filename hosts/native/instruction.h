// SPDX-License-Identifier: MIT
//
// Instructions of x86-64: how long they are, and where they lead to. Those that compilers put into
// small functions; others are not known.

#ifndef OURO_NATIVE_INSTRUCTION_H
#define OURO_NATIVE_INSTRUCTION_H

#include <stddef.h>
#include <stdint.h>

typedef enum {
    INSTRUCTION_UNKNOWN, // also calls and jumps through pointers, and what repeats
    INSTRUCTION_PLAIN,   // the next one follows
    INSTRUCTION_END,     // none follows: a return
    INSTRUCTION_JUMP,    // another follows
    INSTRUCTION_BRANCH,  // another, or the next one
    INSTRUCTION_CALL     // the next one follows, behind a function
} instruction_kind;

typedef struct {
    instruction_kind kind;
    size_t size;
    int32_t distance; // of a jump, branch or call, from the end of the instruction
} instruction;

// The instruction at `code`, of which `left` bytes are there.
instruction ouro_native_instruction(const unsigned char *code, size_t left);

#endif
