// SPDX-License-Identifier: MIT
//
// From a module's simple instructions to C. translate.c writes the file and its tables;
// translate_step.c cuts functions into steps and decides which slots are in locals where;
// translate_ins.c writes single instructions; leaf.c says which functions are computed in place,
// alike.c which branches become one; place.c numbers calls and returns for profiles.
// vm/compiled.h is what the C is written in.

#ifndef FBLE_TRANSLATE_H
#define FBLE_TRANSLATE_H

#include "emit/instructions.h"

#include <stdio.h>

// Modules are emitted with this as their first block, so that blocks can be told from their labels.
enum { FBLE_RELATIVE_BLOCK = 1 };

// What is known of a slot at a point of a step.
enum {
    C_IN_LOCAL = 1,  // its local has the value
    C_IN_FRAME = 2,  // so has the frame
    C_IS_STRUCT = 4, // and it is a struct, not a placeholder
};

struct c_slots {
    uint8_t *flags;
    uint16_t *tags;    // + 1: it is a union with this tag, no placeholder; 0: not known
    uint32_t charge;   // instructions that were not charged yet
    uint32_t arrivals; // of targets: how many branches lead there
};

enum c_step_kind { C_ENTERING, C_AFTER_CALL, C_AT_JOIN, C_WRAPPING, C_AS_LEAF };

// Code from an entry, the return of a call or a join up to the next calls, as one C function.
struct c_step {
    uint32_t start;
    enum c_step_kind kind;
};

struct translator {
    struct fble_arena *arena;
    struct fble_program *program;
    const struct fble_emitted *emitted;
    FILE *steps, *tables, *leaves, *code;
    bool *is_leaf;             // per function: see leaf.c
    struct c_places *places;   // per label: see place.c
    struct fble_pairs indices; // of codes and foreign uses, + 1
    // So many were written.
    uint32_t sites, returns, lists, literals, spots, branches, choices, alike;
    const char *file; // of the last #line
    uint32_t line;

    // The function.
    const struct emit_function *f;
    uint32_t index;      // among the module's
    uint32_t first_spot; // in the module's table
    uint32_t *mark;      // per instruction: the step that it was last seen in, + 1
    bool *join;          // per instruction: it begins a step of its own
    bool *long_select;   // per instruction: all its branches begin steps
    bool *on_after;      // per instruction: a call of a leaf, and the step goes on after it
    uint64_t *need;      // per instruction: bytes, of most_bytes
    bool *covered;       // per instruction: the table of a select before covers this one
    uint32_t marks;      // so many were used
    uint32_t wrap_bits;  // of results that the step C_WRAPPING wraps; 0: there are none
    struct c_step *all;
    uint32_t count;

    // The step.
    const struct c_step *step;
    uint32_t *members, member_count; // its instructions, in the order of the code
    bool rare;                       // a leaf gave up before it: other calls of leaves end it
    bool hoisted;                    // all its memory is reserved at its beginning
    bool quiet;                      // the first pass: nothing is written
    bool *used;                      // per slot: it has a local
    struct c_slots now;
    // Known of the result of the instruction that is being written.
    uint8_t result_flags;
    uint16_t result_tag;
    struct c_slots *at; // per target: what is known there; flags NULL: not reached yet
};

// The name of a module in C identifiers.
const char *fble_c_name(struct fble_arena *arena, const char *path);
void fble_write_c_string(FILE *to, const char *text);

// The module as C. `source` is a hash of its text.
void fble_translate(FILE *to, struct fble_program *program, const struct fble_emitted *emitted,
                    const char *source, bool all_blocks);

// ---------------------------------------------------------------- translate_step.c

void c_write_function(struct translator *t, uint32_t index);
void c_out(struct translator *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Loads a slot into its local, if it is not there.
void c_use(struct translator *t, uint32_t slot);
// The slot's local has the result of the instruction.
void c_define(struct translator *t, uint32_t slot);
// Charges what was not charged yet.
void c_charge(struct translator *t);
void c_store(struct translator *t, uint32_t slot); // to the frame, if it is not there
// Does the next instruction follow in the same step?
bool c_goes_on(const struct translator *t, uint32_t i);
// What is stored in between only happens on a way that leaves the step.
uint8_t *c_keep_flags(const struct translator *t);
void c_restore_flags(struct translator *t, uint8_t *before);
bool c_is_live(const uint64_t *live, uint32_t slots, uint32_t slot);
// Do all branches of a select leave the step, and are there many of them?
bool c_branches_by_table(const struct translator *t, const struct emit_ins *ins);
// Stores what the target expects in the frame.
void c_store_for(struct translator *t, uint32_t target);
// Jumps to an instruction of this step, or to the step that begins there.
void c_jump_to(struct translator *t, uint32_t target);
uint32_t c_write_site(struct translator *t, const struct fble_site *site);

// ---------------------------------------------------------------- leaf.c

void c_find_leaves(struct translator *t);
// The leaf that this instruction calls; NULL: it is no call of one.
const struct emit_function *c_called_leaf(struct translator *t, const struct emit_ins *ins);

// ---------------------------------------------------------------- place.c

// The number of a place, and what is charged by it.
struct c_place {
    uint32_t site, charge;
};

void c_begin_places(struct translator *t);
// Where the instruction enters a block, after instructions that are not charged yet. If there are
// no more numbers, they are charged here, and the place charges nothing.
struct c_place c_place_of(struct translator *t, const struct emit_ins *ins, uint32_t charge);
// Where the block of the instruction returns. If there are no more numbers, the place charges
// nothing, and the caller does that.
struct c_place c_return_place(struct translator *t, const struct emit_ins *ins, uint32_t charge);
void c_write_places(struct translator *t);

// ---------------------------------------------------------------- alike.c

// Of branches that are alike and wrap their results: how many bits the tag has; 0: there are none.
uint32_t c_find_wraps(struct translator *t);
// Before the select i: makes one call of such branches.
void c_join_alike(struct translator *t, uint32_t i);

// ---------------------------------------------------------------- translate_ins.c

void c_write_ins(struct translator *t, uint32_t i);
// The words of a return from the call i, which goes on with the step after the call `as`.
void c_write_return(struct translator *t, uint32_t i, uint32_t as);
uint32_t c_index_of(struct translator *t, const void *code_or_foreign);
// The export that it is, of another module; NULL: it is this one's.
const struct emit_export *c_import_of(struct translator *t, const struct fble_code *code);
const char *c_global_of(struct translator *t, const struct emit_ins *ins);

// ---------------------------------------------------------------- translate_choice.c

// Before the select i: returns by a table, if it is a tree of selects with constant results.
// False: it is not, or it is part of one that has a table.
bool c_choose_by_table(struct translator *t, uint32_t i);
// Where a branch of the select i leads in the end. Adds what it charges.
uint32_t c_follow(const struct translator *t, uint32_t i, uint32_t tag, uint32_t *charge);
bool c_is_choice(const struct translator *t, uint32_t i);

#endif
