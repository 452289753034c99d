// SPDX-License-Identifier: MIT
//
// From the checked tree to bytecode, in two stages. emit*.c walks the tree and makes functions of
// simple instructions (struct ins) with slots of a frame as operands; encode.c finds out what is
// live where, sums up stretches, and writes the words that vm/code.h describes.
//
// Where a variable is. A function's own variables are in slots of its frame. The module's body runs
// once, so what inner functions use of it becomes a global, and functions that are defined there
// capture nothing: they are known, and called without looking. Variables of functions in between are
// captured. A function that mentions itself uses fp[2].
//
// Order: slots are given out like a stack. An expression leaves its value in a slot of its own or in
// that of a variable; whatever it needed above is free again.

#ifndef FBLE_EMIT_H
#define FBLE_EMIT_H

#include "program/labels.h"
#include "vm/code.h"

struct fble_emitted;

struct variable {
    struct function *owner;
    uint32_t slot;
    uint32_t global;             // index + 1, once an inner function uses it
    struct fble_code *known;     // it is this function, which captures nothing
    struct function *definition; // the function being emitted that this variable is
};

// A simple instruction. What a, b, c and the list mean is said in vm/opcodes.h.
struct ins {
    uint8_t op, x;
    ouro_site call_site; // of calls, ENTER and REPLACE: a number within the function
    uint32_t a, b, c;
    uint32_t list, list_count;      // in function->lists
    uint32_t targets, target_count; // of SWITCH and JUMP, in function->targets
    uint64_t word;                  // constant, or number of fields of COPY
    struct variable *variable;      // of GLOBAL and SET_GLOBAL
    void *pointer;                  // code, foreign use, literal, module
    struct fble_loc loc;
};

// What encode.c finds out about an instruction. First ones begin a stretch.
struct facts {
    bool dropped, target;
    uint64_t *live;         // of first ones, and after calls: at the instruction's beginning
    uint32_t bytes;         // what is allocated from here to the next call or choice
    uint32_t charge;        // of first ones: instructions up to the next choice, or ENTER
    uint32_t after;         // of ENTER and the like: the same, for what comes after it
    struct fble_site *site; // of calls
    struct fble_site *heap; // if there are bytes
    uint32_t word;          // where it stands, with HEAP
    uint32_t place;         // and without, as spots say
};

struct function {
    struct function *outer; // NULL: the module's body
    struct fble_code *code;
    const struct fble_label *label;
    struct ins *ins;
    struct facts *facts;
    uint32_t count, capacity;
    uint16_t *lists;
    uint32_t list_count, list_capacity;
    uint32_t *targets; // indices of instructions
    uint32_t target_count, target_capacity;
    struct fble_list captures; // struct variable *
    uint32_t top, most;        // slots in use
    bool uses_self;            // fp[2] as a value
    uint32_t call_sites;       // numbers given out
};

struct emitter {
    struct fble_program *program;
    struct fble_module *module;
    struct fble_arena *arena;
    struct function *function;  // being emitted
    struct fble_list variables; // by fble_declaration.slot - 1
    struct fble_list functions; // all of the module
    struct fble_list foreign;   // struct foreign_declaration *
    struct function **owners;   // of each label: the function whose block it is
    struct fble_pairs captured; // (function, variable) -> index + 1
    struct fble_pairs letters;  // (letter, type) -> value
    uint32_t globals;
    bool all_blocks; // also lets and branches
    ouro_block first_block;
    const char *problem; // what does not fit, NULL: all is well
    struct fble_loc problem_loc;
};

struct foreign_declaration {
    struct fble_foreign_use use;
    const struct fble_label *label;
};

// Where the value of an expression is wanted.
enum want_kind { ANYWHERE, IN_SLOT, AS_RESULT };
struct want {
    enum want_kind kind;
    uint32_t slot;
};

// What a module became. Everything is in the program's arena; the sources may go on being read.
struct fble_emitted {
    struct fble_module *module;
    struct fble_code *main;     // no arguments, the result is the module's value
    struct fble_list codes;     // struct fble_code *, all of it
    struct fble_list functions; // struct function *, the same in simple instructions
    struct fble_list foreign;   // struct foreign_declaration *
    uint32_t *call_sites;       // of each label, those of its function
    fble_value *globals;        // the first is the module's value
    uint32_t global_count;
    const char *problem;
    struct fble_loc problem_loc;
};

// The module must have been checked and labelled, its dependencies emitted.
struct fble_emitted *fble_emit(struct fble_program *program, struct fble_module *module,
                               ouro_block first_block, bool all_blocks);

// ---------------------------------------------------------------- emit.c

struct ins *add_ins(struct emitter *e, unsigned op, uint32_t a, uint32_t b, uint32_t c);
void add_list(struct emitter *e, struct ins *ins, const struct fble_list *slots);
uint32_t add_target(struct emitter *e);
void push_slot(struct emitter *e, struct fble_list *slots, uint32_t slot);
uint32_t slot_at(const struct fble_list *slots, uint32_t i);

uint32_t new_slot(struct emitter *e);
uint32_t target_slot(struct emitter *e, struct want want);
// The value is in a slot: brings it to where it is wanted.
uint32_t place(struct emitter *e, uint32_t value, struct want want);
uint32_t emit_constant(struct emitter *e, fble_value value, struct want want);
void too_large(struct emitter *e, const char *what, struct fble_loc loc);

struct variable *new_variable(struct emitter *e, struct fble_declaration *declaration);
struct variable *variable_of(const struct emitter *e, const struct fble_declaration *declaration);
uint32_t variable_slot(struct emitter *e, struct variable *variable);

bool is_type(const struct fble_type *type);
// Struct, union or function, without poly brackets.
struct fble_type *shape_of(struct emitter *e, struct fble_type *type);
bool is_unit(struct emitter *e, struct fble_type *type);

// ---------------------------------------------------------------- emit_function.c

struct fble_code *new_code(struct emitter *e, const struct fble_label *label, uint32_t arity);
void open_function(struct emitter *e, struct fble_code *code, const struct fble_label *label);
struct function *close_function(struct emitter *e);
// The literal that an expression is, if it is nothing else: its value needs no evaluation.
struct fble_expr *function_literal(struct fble_expr *expr);
uint32_t chain_arity(const struct fble_func *func);
// Parameters of a chain; the body that has code.
struct fble_expr *open_params(struct emitter *e, struct fble_func *func);
struct function *emit_function(struct emitter *e, struct fble_expr *literal, struct fble_code *code,
                               struct variable *variable);
uint32_t emit_closure(struct emitter *e, const struct function *function, struct want want);
void fill_closure(struct emitter *e, const struct function *function, uint32_t slot);

// ---------------------------------------------------------------- emit_expr.c, emit_call.c

uint32_t emit_expr(struct emitter *e, struct fble_expr *expr, struct want want);
// The parts of a struct that is made here and now; false: it is none.
bool emit_parts(struct emitter *e, struct fble_expr *expr, struct fble_list *slots);
uint32_t emit_struct(struct emitter *e, const struct fble_list *slots, uint32_t base,
                     struct want want);

// A call about to be made.
struct call {
    uint32_t callee; // slot, if the function is not known
    struct fble_code *known;
    struct fble_list slots; // arguments
    struct fble_loc loc;
    uint32_t base; // slots from here on are free after the call
};
uint32_t emit_call(struct emitter *e, struct call *call, struct want want);
void add_arguments(struct emitter *e, struct call *call, struct fble_suffix *suffix,
                   struct fble_type *function_type);
// Emits all of a callee but the call that its last brackets are, which a bind adds to.
void emit_callee(struct emitter *e, struct fble_expr *expr, struct call *call);

// ---------------------------------------------------------------- emit_body.c, emit_select.c

uint32_t emit_body(struct emitter *e, struct fble_body *body, struct want want);
uint32_t emit_select(struct emitter *e, struct fble_suffix *select, uint32_t value, uint32_t base,
                     struct want want, struct fble_loc loc);
// SWITCH and the arms. Jumps at the ends of arms go to `jumps`. Tags without an arm lead to the
// instruction after the last arm. `open`: tokens of blocks that the arms' ends leave, or NULL.
void emit_arms(struct emitter *e, struct fble_suffix *select, uint32_t value, struct want want,
               struct fble_loc loc, struct fble_list *jumps, const struct fble_list *open);
void land(struct emitter *e, const struct fble_list *jumps);
// Blocks finer than functions. Tokens are for the exits, which come in the opposite order.
void emit_enter(struct emitter *e, const struct fble_label *label, struct want want,
                struct fble_list *tokens);
void emit_exits(struct emitter *e, const struct fble_list *tokens);

// ---------------------------------------------------------------- encode.c

void fble_encode(struct emitter *e, struct function *function, fble_value *globals);

#endif
