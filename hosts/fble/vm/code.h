// SPDX-License-Identifier: MIT
//
// Code and frames: what the bytecode compiler writes, the interpreter runs, and compiled C shares.
//
// Frame. A function runs in a window of 64-bit slots of its thread's stack:
//
//   fp[0]   return pc: the instruction of the caller that comes next
//   fp[1]   the caller's fp
//   fp[2]   the function value, for its captures
//   fp[3]   while the frame waits for a callee: where it stands in the profile, an ouro_here;
//           untouched without a profile
//   fp[4..] the arguments, then everything else
//
// A call puts the callee's frame at fp + frame_slots of the caller. Slots hold values or garbage.
// While a frame waits, its site says which slots are live.
//
// Return. The three words before a return pc say how to return there:
//
//   pc[-3]  dst slot (16 bits) | slots of the caller's frame (16) | number of the call site (16):
//           the result goes to fp[dst]
//   pc[-2]  struct fble_site *
//   pc[-1]  fble_step *: goes on at pc, for compiled code; fble_interpret for bytecode
//
// So bytecode returns into compiled code (where *pc is COMPILED) and the reverse, and nothing is
// kept on the C stack.
//
// Steps. Compiled code is made of steps, C functions with one signature that end by jumping to the
// next step (compiled.h).
//   - The step before a return pc goes on there. Its fp is the frame that has returned, `a` is the
//     result, `b` is the pc.
//   - The step of a code (code->enter) begins it. `a`, `b` and `c` are the first three arguments,
//     which need not be in the frame.
// The interpreter is a step, too. It returns the step that goes on in compiled code to a trampoline
// (machine.c). So does C that cannot jump.
//
// Charges. Instructions are counted per stretch: code that runs from its first to its last
// instruction without a branch. The charge of a stretch is in code->charge, in the branches of
// SWITCH and in JUMP. A call does not end a stretch: the instructions after it are charged before
// it, to the same position, since the call will return. (If the program fails in the call, they
// were charged nevertheless.) A profile of instructions costs one addition per stretch; no profile
// costs nothing.

#ifndef FBLE_VM_CODE_H
#define FBLE_VM_CODE_H

#include "opcodes.h"
#include "value.h"

#include <ouro_site.h>

struct fble_machine;
struct fble_code;

enum {
    FBLE_FP_RETURN = 0,
    FBLE_FP_CALLER = 1,
    FBLE_FP_SELF = 2,
    FBLE_FP_HERE = 3,
    FBLE_FP_ARGS = 4,
    FBLE_MOST_SLOTS = 65535,   // of a frame
    FBLE_MOST_ARGUMENTS = 250, // of a call; one with more is several calls
};

typedef void (*fble_any_step)(void);
typedef fble_any_step fble_step(struct fble_machine *machine, uint64_t *fp, char *hp, fble_value a,
                                fble_value b, fble_value c);

// Where a frame waits: for a callee, or for the collector.
struct fble_site {
    const struct fble_code *code; // NULL: the end of the stack
    uint32_t line, column;
    uint32_t slots;  // that the map covers; FBLE_SITE_REST: see apply.c
    uint64_t live[]; // bit i: fp[i] is a value that is still needed
};

// Counts of slots with a meaning of their own: collect.c, scan_frame.
#define FBLE_SITE_REST UINT32_MAX
#define FBLE_SITE_ARGS (UINT32_MAX - 1)

// The location of an instruction that can fail. An instruction may have several spots, one after
// the other.
struct fble_spot {
    uint64_t word; // of bytecode: the instruction
    uint32_t line, column;
};

struct fble_module_image;

struct fble_code {
    const uint64_t *start;
    fble_step *enter;     // for compiled callers
    uint32_t frame_slots; // the four of the header included
    uint32_t charge;      // of the first stretch
    ouro_block block;     // entered by a call
    uint16_t arity;
    uint16_t captures;
    // The function value, for code that captures nothing.
    struct {
        uint64_t header;
        const struct fble_code *code;
    } self;
    // For messages.
    const char *name, *file;
    uint32_t line, column;
    uint32_t label; // the block, counted from the module's first
    // Of bytecode. Compiled code has none: its pc, when it fails, is the address of a spot.
    uint64_t *words;
    uint32_t word_count;
    struct fble_spot *spots; // in the order of the code
    uint32_t spot_count;
};

// What call sites know a call by. A machine keeps its code while its profile records, so no other
// code comes to have the address.
static inline ouro_key fble_key(const struct fble_code *code) { return (uintptr_t)code; }

// A foreign declaration. Its value is looked up when the module is loaded.
struct fble_foreign_use {
    const char *module, *name;
    fble_value value; // 0: not supplied
};

// The letters of a literal, all immediate.
struct fble_literal {
    uint32_t count;
    fble_value letters[];
};

static inline unsigned fble_op(uint64_t word) { return word & 0xff; }
static inline unsigned fble_x(uint64_t word) { return word >> 8 & 0xff; }
static inline unsigned fble_a(uint64_t word) { return word >> 16 & 0xffff; }
static inline unsigned fble_b(uint64_t word) { return word >> 32 & 0xffff; }
static inline unsigned fble_c(uint64_t word) { return (unsigned)(word >> 48); }

static inline uint64_t fble_instruction(unsigned op, unsigned x, unsigned a, unsigned b,
                                        unsigned c) {
    return (uint64_t)op | (uint64_t)x << 8 | (uint64_t)a << 16 | (uint64_t)b << 32 |
           (uint64_t)c << 48;
}

// The call site of a block for functions that it got from a call and that its other arguments wait
// for; its calls have sites from the next number on. In compiled code the last three are shared.
enum { FBLE_REST_SITE, FBLE_SHARED_SITES = OURO_SITES_MOST - 3 };

// pc[-3] of a return pc, and its parts.
static inline uint64_t fble_return_word(unsigned dst, unsigned frame_slots, ouro_site call_site) {
    return (uint64_t)dst | (uint64_t)frame_slots << 16 | (uint64_t)call_site << 32;
}
static inline unsigned fble_return_slot(const uint64_t *pc) { return pc[-3] & 0xffff; }
static inline unsigned fble_return_frame(const uint64_t *pc) { return pc[-3] >> 16 & 0xffff; }
static inline ouro_site fble_return_call_site(const uint64_t *pc) {
    return (ouro_site)(pc[-3] >> 32);
}
static inline fble_step *fble_return_step(const uint64_t *pc) {
    return (fble_step *)(uintptr_t)pc[-1];
}

// A word of SWITCH and JUMP: where to, and what the stretch there charges.
static inline int32_t fble_branch_offset(uint64_t word) { return (int32_t)word; }
static inline uint32_t fble_branch_charge(uint64_t word) { return (uint32_t)(word >> 32); }

static inline const struct fble_site *fble_site_of(const uint64_t *pc) {
    return (const struct fble_site *)(uintptr_t)pc[-2];
}

// Words that a list of n slots takes.
static inline uint32_t fble_list_words(uint32_t n) { return (n + 3) / 4; }

#endif
