// SPDX-License-Identifier: MIT
//
// The instructions. An instruction is one or more 64-bit words. The first is
// op (8 bits) | x (8) | a (16) | b (16) | c (16); then come the word and the list, if it has them.
//
// One table makes the enumeration, the names, the dispatch of the interpreter, and what the
// compilers know of operands (emit/operands.h). Its columns are the roles of operands:
//
//   a, b, c   OUT        the slot that gets the result
//             IN         a slot that is read
//             CAPTURED   number of a value that the function in fp[2] captured
//             FIELD      number of a field
//             TAG        tag of a union, which takes x bits in an immediate
//             COUNT      how many the list has
//   list      SLOTS      c slots that are read, four to a word
//             FIELDS     c pairs: number of a field, slot of its value
//             PAIRS      c pairs of slots: a placeholder, its value, which RESOLVE may change
//             ARGS       x slots that are read, see below
//             BRANCHES   c words, as BRANCH; the offsets count from the words
//   word      VALUE      a value
//             GLOBAL     address of a value
//             CODE, FOREIGN, LITERAL, SITE   pointer to one, see code.h
//             BRANCH     offset from the first word (32 bits) | charge (32)
//             BLOCK      block (32) | charge of what follows (32); then the number of the call site
//             CHARGE     the same without a block and call site
//
// Calls put their operands elsewhere. The first word has the called function (IN), if its code is
// not known, and then two or three arguments; the list has the other arguments. A call is: first
// word, list, word, and the three words before its return pc (code.h), where OUT and the call site
// are. A tail call is: first word, word, call site, list.

#ifndef FBLE_VM_OPCODES_H
#define FBLE_VM_OPCODES_H

// clang-format off
#define FBLE_OPCODES(_)                                                                            \
    /* name         a    b         c      list      word */                                        \
    _(MOVE,        OUT, IN,       NO,    NO,       NO)      /* a = b */                            \
    _(CONST,       OUT, NO,       NO,    NO,       VALUE)   /* a = word */                         \
    _(GLOBAL,      OUT, NO,       NO,    NO,       GLOBAL)  /* a = *word */                        \
    _(SET_GLOBAL,  IN,  NO,       NO,    NO,       GLOBAL)  /* *word = a */                        \
    _(CAPTURE,     OUT, CAPTURED, NO,    NO,       NO)      /* a = captured value b */             \
    _(FIELD,       OUT, IN,       FIELD, NO,       NO)      /* a = field c of struct b */          \
    _(FIELD_ONLY,  OUT, IN,       NO,    NO,       NO)      /* a = the only field of struct b */   \
    _(STRUCT,      OUT, NO,       COUNT, SLOTS,    NO)      /* a = struct of list, two or more */  \
    _(STRUCT_ONE,  OUT, IN,       NO,    NO,       NO)      /* a = struct of b */                  \
    _(UNION,       OUT, IN,       TAG,   NO,       NO)      /* a = tag c around b, x bits */       \
    _(CELL,        OUT, TAG,      COUNT, SLOTS,    NO)      /* a = tag b around struct of list */  \
    _(PAYLOAD,     OUT, IN,       TAG,   NO,       NO)      /* a = what is in union b of tag c */  \
    _(COPY,        OUT, IN,       COUNT, FIELDS,   NO)      /* a = struct b with other fields */   \
    _(SWITCH,      NO,  IN,       COUNT, BRANCHES, NO)      /* on the tag of b, x bits */          \
    _(JUMP,        NO,  NO,       NO,    NO,       BRANCH)                                         \
    _(RETURN,      IN,  NO,       NO,    NO,       NO)                                             \
    _(CALL,        OUT, IN,       NO,    ARGS,     NO)      /* a = function b of list */           \
    _(CALL_CODE,   OUT, NO,       NO,    ARGS,     CODE)    /* a = code of list */                 \
    _(TAIL,        NO,  IN,       NO,    ARGS,     NO)      /* as CALL, in this frame */           \
    _(TAIL_CODE,   NO,  NO,       NO,    ARGS,     CODE)    /* as CALL_CODE, in this frame */      \
    _(FUNC,        OUT, NO,       COUNT, SLOTS,    CODE)    /* a = function that captures list */  \
    _(FUNC_ALLOC,  OUT, NO,       COUNT, NO,       CODE)    /* a = function, captures not set */   \
    _(FUNC_FILL,   IN,  NO,       COUNT, SLOTS,    NO)      /* the captures of a = list */         \
    _(PLACEHOLDER, OUT, NO,       NO,    NO,       NO)      /* a = a new placeholder */            \
    _(RESOLVE,     NO,  NO,       COUNT, PAIRS,    NO)      /* placeholders get their values */    \
    _(FOREIGN,     OUT, NO,       NO,    NO,       FOREIGN) /* a = the foreign value */            \
    _(LIST,        OUT, IN,       COUNT, SLOTS,    NO)      /* a = list's elements, then b */      \
    _(LITERAL,     OUT, NO,       NO,    NO,       LITERAL) /* a = list of the letters */          \
    _(HEAP,        NO,  NO,       NO,    NO,       SITE)    /* room for w >> 32 bytes */           \
    _(ENTER,       OUT, NO,       NO,    NO,       BLOCK)   /* a = token for EXIT */               \
    _(EXIT,        IN,  NO,       NO,    NO,       CHARGE)  /* back to token a */                  \
    _(REPLACE,     NO,  NO,       NO,    NO,       BLOCK)                                          \
    _(NATIVE,      NO,  NO,       NO,    NO,       NO)      /* call a C function, see natives.c */ \
    _(COMPILED,    NO,  NO,       NO,    NO,       NO)      /* the code goes on in C */            \
    _(RESUME,      NO,  NO,       NO,    NO,       NO)      /* return the result of a native */    \
    _(APPLY,       NO,  NO,       NO,    NO,       NO)      /* tail call of fp[2] with fp[4]... */ \
    _(REST_ENTER,  NO,  NO,       NO,    NO,       NO)      /* call with arguments that wait */    \
    _(REST_TAIL,   NO,  NO,       NO,    NO,       NO)      /* tail call with such arguments */    \
    _(BARRIER,     NO,  NO,       NO,    NO,       NO)      /* frames below were collected */      \
    _(UNDERFLOW,   NO,  NO,       NO,    NO,       NO)      /* the caller is in another chunk */   \
    _(SLICE_END,   NO,  NO,       NO,    NO,       NO)      /* a call that was a slice is over */  \
    _(HALT,        NO,  NO,       NO,    NO,       NO)      /* the result is there */              \
    _(THREAD_END,  NO,  NO,       NO,    NO,       NO)      /* a green thread has its result */
// clang-format on

#define FBLE_OPCODE_ENUM(name, ...) FBLE_OP_##name,
enum fble_opcode { FBLE_OPCODES(FBLE_OPCODE_ENUM) FBLE_OPCODE_COUNT };
#undef FBLE_OPCODE_ENUM

extern const char *const fble_opcode_names[FBLE_OPCODE_COUNT];

#endif
