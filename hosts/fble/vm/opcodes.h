// SPDX-License-Identifier: MIT
//
// The instructions. An instruction is one or more 64-bit words; the first is
// op (8 bits) | x (8) | a (16) | b (16) | c (16). a, b and c are slots of the frame unless said
// otherwise. `list` is a list of slots, four to a word. A call ends in three words that belong to
// the place it returns to, see code.h. Calls and blocks have a word for the profile's hint: before
// those three, before the list of tail calls, at the end of ENTER and REPLACE.
//
// One list makes the enumeration, the names and the dispatch table.

#ifndef FBLE_VM_OPCODES_H
#define FBLE_VM_OPCODES_H

#define FBLE_OPCODES(_)                                                           \
    _(MOVE)        /* a = b */                                                    \
    _(CONST)       /* a = word */                                                 \
    _(GLOBAL)      /* a = *word */                                                \
    _(SET_GLOBAL)  /* *word = a */                                                \
    _(CAPTURE)     /* a = captured value number b */                              \
    _(FIELD)       /* a = field c of struct b */                                  \
    _(FIELD_ONLY)  /* a = the field of struct b, which has one */                 \
    _(STRUCT)      /* a = struct of list, c fields, two or more */                \
    _(STRUCT_ONE)  /* a = struct of b */                                          \
    _(UNION)       /* a = tag c around b, x bits */                               \
    _(CELL)        /* a = tag b around a struct of list, c fields, two or more */ \
    _(PAYLOAD)     /* a = what is in union b if its tag is c, x bits */           \
    _(COPY)        /* a = struct b with c fields replaced: list of index, slot */ \
    _(SWITCH)      /* on the tag of b, x bits: c words of (offset, charge) */     \
    _(JUMP)        /* word of (offset, charge) */                                 \
    _(RETURN)      /* a */                                                        \
    _(CALL)        /* function a with x arguments: b, c, list of the rest */      \
    _(CALL_CODE)   /* code in word with x arguments: a, b, c, list */             \
    _(TAIL)        /* as CALL, in place of this frame */                          \
    _(TAIL_CODE)   /* as CALL_CODE, in place of this frame */                     \
    _(FUNC)        /* a = function of code in word, captures list, c of them */   \
    _(FUNC_ALLOC)  /* a = function of code in word, room for c captures */        \
    _(FUNC_FILL)   /* the captures of a = list, c of them */                      \
    _(PLACEHOLDER) /* a = a new placeholder */                                    \
    _(RESOLVE)     /* c placeholders get their values: list of them, values */    \
    _(FOREIGN)     /* a = the foreign value in word */                            \
    _(LIST)        /* a = list of c elements in front of list b */                \
    _(LITERAL)     /* a = list of the immediates in word */                       \
    _(HEAP)        /* room for c << 16 | b bytes, or collect; word: site */       \
    _(ENTER)       /* word: block; its token into a */                            \
    _(EXIT)        /* back to token a */                                          \
    _(REPLACE)     /* word: block */                                              \
    _(NATIVE)      /* the C function in word does it all */                       \
    _(COMPILED)    /* leave the interpreter: the code goes on in C */             \
    _(RESUME)      /* this frame's native has its result: return it */            \
    _(APPLY)       /* tail call of fp[2] with the arguments from fp[4] on */      \
    _(REST_ENTER)  /* call the value returned with the arguments that wait */     \
    _(REST_TAIL)   /* the same, as a tail call of the function that waited */     \
    _(BARRIER)     /* the frame below was not looked at by the last collection */ \
    _(UNDERFLOW)   /* the frame below is in another chunk of the stack */         \
    _(HALT)        /* the result is what was asked for */                         \
    _(THREAD_END)  /* the green thread has its result */

#define FBLE_OPCODE_ENUM(name) FBLE_OP_##name,
enum fble_opcode { FBLE_OPCODES(FBLE_OPCODE_ENUM) FBLE_OPCODE_COUNT };
#undef FBLE_OPCODE_ENUM

extern const char *const fble_opcode_names[FBLE_OPCODE_COUNT];

#endif
