// SPDX-License-Identifier: MIT
//
// From a module's simple instructions to C. translate.c writes the file and its tables;
// translate_step.c cuts functions into steps and decides what is in locals where;
// translate_ins.c writes single instructions. vm/compiled.h is what the C is written in.

#ifndef FBLE_TRANSLATE_H
#define FBLE_TRANSLATE_H

#include "emit/emit.h"

#include <stdio.h>

// Modules are emitted with this as their first block, so that blocks can be told from their labels.
enum { FBLE_RELATIVE_BLOCK = 1 };

// What is known of a slot where a step is.
enum {
    IN_LOCAL = 1,  // its local has the value
    IN_FRAME = 2,  // so has the frame
    IS_STRUCT = 4, // and it is a struct, not a placeholder
};

struct slots {
    uint8_t *flags;
    uint16_t *tags;  // + 1: it is a union with this tag, no placeholder; 0: not known
    uint32_t charge; // instructions that were not charged yet
    uint32_t ways;   // of targets: how many lead there
};

enum step_kind { ENTERING, AFTER_CALL, AT_JOIN };

// Code from an entry, the return of a call or a join up to the next calls, as one C function.
struct step {
    uint32_t start;
    enum step_kind kind;
};

struct translator {
    struct fble_arena *arena;
    const struct fble_emitted *emitted;
    FILE *steps, *tables, *code;
    struct fble_pairs indices; // of codes and foreign uses, + 1
    uint32_t sites, returns, lists, literals, places;
    const char *file; // of the last #line
    uint32_t line;

    // The function.
    const struct function *f;
    uint32_t index, first_place;
    uint32_t *mark; // per instruction: the step that it was last seen in, + 1
    bool *join;     // per instruction: it begins a step of its own
    struct step *all;
    uint32_t count;

    // The step.
    const struct step *step;
    uint32_t last; // its last instruction
    bool hoisted;  // all its memory was made sure of at its beginning
    bool quiet;    // only finding out what is where
    bool *used;    // per slot: it has a local
    struct slots now;
    struct slots *at; // per target: what is known there; flags NULL: not reached yet
};

// The name of a module in C identifiers.
const char *fble_c_name(struct fble_arena *arena, const char *path);
void fble_write_c_string(FILE *to, const char *text);

// The module as C. `source` is a hash of its text.
void fble_translate(FILE *to, struct fble_program *program, const struct fble_emitted *emitted,
                    const char *source, bool all_blocks);

// ---------------------------------------------------------------- translate_step.c

void translate_function(struct translator *t, uint32_t index);
void out(struct translator *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Has the value of a slot in its local.
void use(struct translator *t, uint32_t slot);
// The local gets a new value.
void define(struct translator *t, uint32_t slot);
// Charges what was not charged yet.
void charge(struct translator *t);
void store(struct translator *t, uint32_t slot); // to the frame, if it is not there
bool is_live(const uint64_t *live, uint32_t slots, uint32_t slot);
// Ends a path: jumps to an instruction of this step, or to the step that begins there.
void jump_to(struct translator *t, uint32_t target);
uint32_t write_site(struct translator *t, const struct fble_site *site);
bool is_call(const struct ins *ins);
bool ends_function(const struct ins *ins);

// ---------------------------------------------------------------- translate_ins.c

void translate_ins(struct translator *t, uint32_t i);
uint32_t index_of(struct translator *t, const void *code_or_foreign);

#endif
