// SPDX-License-Identifier: MIT
//
// What the files of the emitter share. emit*.c walk the checked tree and make functions of simple
// instructions (instructions.h); analyse.c then looks at them. From outside only fble_emit is used.
//
// Where a variable is. A function's own variables are in slots of its frame. The module's body runs
// once, so its variables are globals if inner functions use them. Functions that are defined in it
// capture nothing: their code is known, and called directly, also from other modules. Variables of
// functions in between are captured. A function that mentions itself uses fp[2].
//
// Every value gets a slot of its own. An expression leaves its value in a new slot or in the slot
// of a variable. Afterwards slots.c lets values share slots that are not needed at the same time.

#ifndef FBLE_EMIT_H
#define FBLE_EMIT_H

#include "instructions.h"

struct emit_variable {
    struct emit_function *owner;
    uint32_t slot;
    uint32_t global;                   // its number, once an inner function uses it; 0: none
    struct fble_code *known;           // it is this function, which captures nothing
    const struct fble_emitted *module; // it is the value of this module
    struct emit_function *definition;  // the function being emitted that this variable is
};

struct emitter {
    struct fble_program *program;
    struct fble_module *module;
    struct fble_arena *arena;
    struct emit_function *function; // being emitted
    struct fble_list variables;     // by fble_declaration.slot - 1
    struct fble_list functions;     // all of the module
    struct fble_list foreign;       // struct emit_foreign *
    uint32_t *call_sites;           // of each label, so far
    struct fble_pairs captured;     // (function, variable) -> index + 1
    struct fble_pairs letters;      // (letter, type) -> value
    uint32_t globals;
    bool all_blocks; // also lets and branches
    ouro_block first_block;
    struct fble_loc near; // the expression being emitted
    const char *problem;  // what does not fit, NULL: all is well
    struct fble_loc problem_loc;
};

// Where the value of an expression is wanted.
enum emit_want_kind { EMIT_ANYWHERE, EMIT_IN_SLOT, EMIT_AS_RESULT };
struct emit_want {
    enum emit_want_kind kind;
    uint32_t slot;
};

// ---------------------------------------------------------------- emit.c

struct emit_ins *emit_add(struct emitter *e, unsigned op, uint32_t a, uint32_t b, uint32_t c);
void emit_add_list(struct emitter *e, struct emit_ins *ins, const struct fble_list *slots);
uint32_t emit_add_target(struct emitter *e);
void emit_push_slot(struct emitter *e, struct fble_list *slots, uint32_t slot);
uint32_t emit_slot_at(const struct fble_list *slots, uint32_t i);

uint32_t emit_new_slot(struct emitter *e);
uint32_t emit_result_slot(struct emitter *e, struct emit_want want);
// Brings a value that is in a slot to where it is wanted.
uint32_t emit_bring(struct emitter *e, uint32_t value, struct emit_want want);
uint32_t emit_constant(struct emitter *e, fble_value value, struct emit_want want);
void emit_too_large(struct emitter *e, struct fble_loc loc, const char *what);

struct emit_variable *emit_new_variable(struct emitter *e, struct fble_declaration *declaration);
struct emit_variable *emit_variable_of(const struct emitter *e,
                                       const struct fble_declaration *declaration);
uint32_t emit_variable_slot(struct emitter *e, struct emit_variable *variable);
// The module whose value an expression is, without its suffixes; NULL: it is something else.
const struct fble_emitted *emit_module_of(const struct emitter *e, const struct fble_expr *expr);
// The function that a field of its value is known to be, or NULL; `module` may be NULL.
struct fble_code *emit_exported(const struct fble_emitted *module, uint32_t field);

bool emit_is_type(const struct fble_type *type);
// Struct, union or function, without poly brackets.
struct fble_type *emit_shape_of(struct emitter *e, struct fble_type *type);
bool emit_is_unit(struct emitter *e, struct fble_type *type);

// ---------------------------------------------------------------- emit_function.c

struct fble_code *emit_new_code(struct emitter *e, const struct fble_label *label, uint32_t arity);
void emit_open_function(struct emitter *e, struct fble_code *code, const struct fble_label *label);
struct emit_function *emit_close_function(struct emitter *e);
// The literal that an expression is, if it is nothing else: its value needs no evaluation.
struct fble_expr *emit_function_literal(struct fble_expr *expr);
uint32_t emit_chain_arity(const struct fble_func *func);
// Parameters of a chain; the body that has code.
struct fble_expr *emit_open_params(struct emitter *e, struct fble_func *func);
struct emit_function *emit_function(struct emitter *e, struct fble_expr *literal,
                                    struct fble_code *code, struct emit_variable *variable);
uint32_t emit_closure(struct emitter *e, const struct emit_function *function,
                      struct emit_want want);
void emit_fill_closure(struct emitter *e, const struct emit_function *function, uint32_t slot);

// ---------------------------------------------------------------- emit_expr.c, emit_call.c

uint32_t emit_expr(struct emitter *e, struct fble_expr *expr, struct emit_want want);
// The parts of a struct that is made here and now; false: it is none.
bool emit_parts(struct emitter *e, struct fble_expr *expr, struct fble_list *slots);
uint32_t emit_struct(struct emitter *e, const struct fble_list *slots, struct emit_want want);

// A call about to be made.
struct emit_call {
    uint32_t callee; // slot, if the function is not known
    struct fble_code *known;
    struct fble_list slots; // arguments
    struct fble_loc loc;
};
uint32_t emit_call(struct emitter *e, struct emit_call *call, struct emit_want want);
void emit_add_arguments(struct emitter *e, struct emit_call *call, struct fble_suffix *suffix,
                        struct fble_type *function_type);
// Emits all of a callee but the call that its last brackets are, which a bind adds to.
void emit_callee(struct emitter *e, struct fble_expr *expr, struct emit_call *call);

// ---------------------------------------------------------------- emit_body.c, emit_select.c

uint32_t emit_body(struct emitter *e, struct fble_body *body, struct emit_want want);
uint32_t emit_select(struct emitter *e, struct fble_suffix *select, uint32_t value,
                     struct emit_want want, struct fble_loc loc);
// SWITCH and the arms. Jumps at the ends of arms go to `jumps`. Tags without an arm lead to the
// instruction after the last arm. `open`: tokens of blocks that the arms' ends leave, or NULL.
void emit_arms(struct emitter *e, struct fble_suffix *select, uint32_t value, struct emit_want want,
               struct fble_loc loc, struct fble_list *jumps, const struct fble_list *open);
void emit_land_jumps(struct emitter *e, const struct fble_list *jumps);
// Blocks finer than functions. Tokens are for the exits, which come in the opposite order.
void emit_enter(struct emitter *e, const struct fble_label *label, struct emit_want want,
                struct fble_list *tokens);
void emit_exits(struct emitter *e, const struct fble_list *tokens);

// ---------------------------------------------------------------- slots.c, analyse.c

// After all functions of the module were emitted: the slots of the frame.
void emit_share_slots(struct emitter *e, struct emit_function *function);
// Then makes function->facts.
void emit_analyse(struct emitter *e, struct emit_function *function);

#endif
