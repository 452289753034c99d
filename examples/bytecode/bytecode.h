// SPDX-License-Identifier: MIT
//
// A stack machine with calls, tail calls, errors and green threads: small, but with every kind of
// control flow that a profiler has to follow. demo.c is the program, assembler.c translates it,
// machine.c runs and records it (the file to read: it shows everything about embedding Ouro), and
// report.c prints the profile.

#ifndef BYTECODE_H
#define BYTECODE_H

#include <ouro.h>

// The kind of operand that follows an instruction in the text.
typedef enum { NOTHING, NUMBER, LOCAL, LABEL, FUNCTION, NATIVE, CHANNEL } operand_kind;

// One list makes the opcodes, their names and their operands.
#define OPCODES(X)                                                                    \
    X(PUSH, "push", NUMBER)     /* -> number */                                       \
    X(GET, "get", LOCAL)        /* -> value */                                        \
    X(SET, "set", LOCAL)        /* value -> */                                        \
    X(DUP, "dup", NOTHING)      /* a -> a a */                                        \
    X(DROP, "drop", NOTHING)    /* a -> */                                            \
    X(ADD, "add", NOTHING)      /* a b -> a + b */                                    \
    X(SUB, "sub", NOTHING)      /* a b -> a - b */                                    \
    X(MUL, "mul", NOTHING)      /* a b -> a * b */                                    \
    X(DIV, "div", NOTHING)      /* a b -> a / b */                                    \
    X(MOD, "mod", NOTHING)      /* a b -> a % b */                                    \
    X(LESS, "less", NOTHING)    /* a b -> a < b */                                    \
    X(JUMP, "jump", LABEL)      /* -> */                                              \
    X(IFZERO, "ifzero", LABEL)  /* a -> and a jump if a is 0 */                       \
    X(CALL, "call", FUNCTION)   /* arguments -> result */                             \
    X(TAIL, "tail", FUNCTION)   /* arguments -> and this frame is the callee's now */ \
    X(TRY, "try", FUNCTION)     /* arguments -> result, or what was thrown */         \
    X(THROW, "throw", NOTHING)  /* a -> and back to the last try */                   \
    X(RET, "ret", NOTHING)      /* result -> and back to the caller */                \
    X(NATIVE, "native", NATIVE) /* arguments -> result */                             \
    X(SPAWN, "spawn", FUNCTION) /* arguments -> and a green thread more */            \
    X(YIELD, "yield", NOTHING)  /* -> and the next green thread's turn */             \
    X(SEND, "send", CHANNEL)    /* a -> waits while the channel is full */            \
    X(RECV, "recv", CHANNEL)    /* -> a, waits while the channel is empty */          \
    X(OUT, "out", NOTHING)      /* a -> an answer of the program */

typedef enum {
#define X(opcode, name, operand) OP_##opcode,
    OPCODES(X)
#undef X
        OPCODE_COUNT
} opcode;

enum {
    NAME_MAX_LENGTH = 24,
    FUNCTIONS_MAX = 32,
    CODE_MAX = 1024,
    CHANNELS_MAX = 8,
    ANSWERS_MAX = 8
};

typedef struct {
    int32_t opcode;
    int32_t operand;
} instruction;

typedef struct {
    char name[NAME_MAX_LENGTH];
    uint32_t line;
    int parameters;
    int start; // its first instruction
    ouro_block block;
} function;

typedef struct {
    const char *file;
    function functions[FUNCTIONS_MAX];
    int function_count;
    instruction code[CODE_MAX];
} program;

// A function in C. It charges `cost` instructions.
typedef struct {
    const char *name;
    int parameters;
    int64_t (*function)(const int64_t *arguments);
    uint64_t cost;
    bool has_block; // else it is phantom: its cost is charged to its caller
    ouro_block block;
} native;

extern native natives[];
extern const int native_count;

// The machine's own counts of a run.
typedef struct {
    int64_t answers[ANSWERS_MAX];
    int answer_count;
    uint64_t instructions, calls, tail_calls;
    uint64_t unwound; // frames that errors unwound
    int green_threads;
} result;

// demo.c: the program, where its text begins, and whether its answers are right.
extern const char demo_file[], demo_text[];
extern const uint32_t demo_line;
bool demo_check(const result *result);

// Each prints what is wrong, with file and line, and returns false.
bool assemble(program *program, const char *file, uint32_t first_line, const char *text);
bool machine_run(program *program, ouro_profile *profile, result *result);

// Prints the tree. Returns false if there is no memory for it.
bool report_print(ouro_profile *profile);
const char *grouped(uint64_t n, char text[32]); // 1234567 as 1,234,567

#endif
