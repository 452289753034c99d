// SPDX-License-Identifier: MIT
//
// The result of emit: functions of simple instructions, with slots of a frame as operands, and the
// facts that analyse.c found out about each instruction. encode.c makes bytecode of them, for the
// interpreter; to_c makes C.

#ifndef FBLE_INSTRUCTIONS_H
#define FBLE_INSTRUCTIONS_H

#include "operands.h"
#include "program/labels.h"

// A simple instruction. The roles of a, b, c and the list are in vm/opcodes.h, also for calls.
struct emit_ins {
    uint8_t op, x;
    ouro_site call_site; // of instructions that enter blocks: a number within the block they are in
    uint32_t label;      // of the block that it runs in
    uint32_t a, b, c;
    uint32_t list, list_count;      // in function->lists
    uint32_t targets, target_count; // of branches, in function->targets
    uint64_t word;                  // constant, block, number of a global, of COPY: all fields
    struct emit_variable *variable; // of the module's own globals
    void *pointer;                  // code, foreign use, literal, other module; of RESOLVE: the let
    struct fble_loc loc;            // of an instruction that can fail: where
    struct fble_loc near;           // the expression that it was made for
};

// Found out by analyse.c.
struct emit_facts {
    bool dropped; // it need not run
    bool target;  // a branch leads to it
    // The slots that are live before it. Known where a stretch begins, after calls, and sometimes
    // in between.
    uint64_t *live;
    uint32_t rest;          // there: bytes that are allocated from here on, made room for before
    uint32_t bytes;         // to make room for here: all up to the next call or branch
    uint32_t charge;        // if a stretch begins here: its instructions
    uint32_t after;         // of instructions for the profile: those that follow in the stretch
    uint32_t spot;          // its first in code->spots; they end where the next one's begin
    struct fble_site *site; // of calls
    struct fble_site *heap; // if there are bytes
};

struct emit_function {
    struct emit_function *outer; // NULL: the module's body
    struct fble_code *code;
    const struct fble_label *label;
    struct emit_ins *ins;
    struct emit_facts *facts;
    uint32_t count, capacity;
    uint32_t *lists;
    uint32_t list_count, list_capacity;
    uint32_t *targets; // indices of instructions
    uint32_t target_count, target_capacity;
    struct fble_list captures; // struct emit_variable *
    uint32_t slots;            // given out while it is emitted, each for one value
    uint32_t most;             // of the frame, once values that do not meet share slots
    bool uses_self;            // fp[2] as a value
    uint32_t block;            // label of the block that the next instruction is in
};

struct emit_foreign {
    struct fble_foreign_use use;
    const struct fble_label *label;
};

// What a module became. Everything is in the program's arena.
struct fble_emitted {
    struct fble_module *module;
    struct fble_code *main;     // no arguments, the result is the module's value
    struct fble_list codes;     // struct fble_code *, of all functions
    struct fble_list functions; // struct emit_function *, in the same order
    struct fble_list foreign;   // struct emit_foreign *
    uint32_t *call_sites;       // how many each label has
    fble_value *globals;        // the first is the module's value
    uint32_t global_count;
    // The functions that the fields of the module's value are known to be; NULL: not known. None
    // of them captures anything.
    struct fble_code **exports;
    uint32_t export_count;
};

// A function that a module exports, as others see it.
struct emit_export {
    const struct fble_emitted *emitted;
    uint32_t field;
};

// Emits and analyses a module, which must have been checked and labelled, after its dependencies.
// NULL, after a message: something is too large.
struct fble_emitted *fble_emit(struct fble_program *program, struct fble_module *module,
                               ouro_block first_block, bool all_blocks);

// The same for all modules of a program, if all have a value. False, after a message.
bool fble_emit_program(struct fble_program *program, ouro_block first_block, bool all_blocks);

// Writes the words of all functions, for the interpreter.
void fble_encode(struct fble_arena *arena, const struct fble_emitted *emitted);

#endif
