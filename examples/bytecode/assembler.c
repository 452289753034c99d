// SPDX-License-Identifier: MIT
//
// Text to code, one word at a time. `fn NAME PARAMETER...` on a line of its own begins a function,
// `WORD:` is a label in it, `;` begins a comment; everything else is an instruction and, if it has
// one, its operand. The same loop makes two passes: the first finds functions and labels, the
// second makes the code.

#include "bytecode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LABELS_MAX = 64, PARAMETERS_MAX = 8 };

typedef char name[NAME_MAX_LENGTH];

typedef struct {
    name name;
    int function, address;
} label;

typedef struct {
    program *program;
    const char *at;
    uint32_t line;
    bool second_pass;
    int function; // the one being assembled
    int size;     // of the code so far
    name parameters[PARAMETERS_MAX];
    label labels[LABELS_MAX];
    int label_count;
    name channels[CHANNELS_MAX];
    int channel_count;
} assembler;

static const struct {
    const char *name;
    operand_kind operand;
} opcodes[] = {
#define X(opcode, name, operand) {name, operand},
    OPCODES(X)
#undef X
};

static bool fail(const assembler *a, const char *what, const char *word) {
    fprintf(stderr, "%s:%u: %s `%.*s`\n", a->program->file, a->line, what, NAME_MAX_LENGTH, word);
    return false;
}

// The next word; "" at the end of the text, or of the line if asked to stay on it.
static bool next_word(assembler *a, bool stay_on_line, name word) {
    size_t length = 0;
    for (;; a->at++) {
        if (*a->at == ';') a->at += strcspn(a->at, "\n");
        if (*a->at == '\n' && stay_on_line) break;
        if (*a->at == '\n') a->line++;
        if (*a->at == '\0' || !strchr(" \n", *a->at)) break;
    }
    if (*a->at != '\n') length = strcspn(a->at, " \n;");
    if (length >= NAME_MAX_LENGTH) return fail(a, "too long a word:", a->at);
    memcpy(word, a->at, length);
    word[length] = '\0';
    a->at += length;
    return true;
}

// The machine does not check for the end of a function, so code must not run past it.
static bool ends_well(const assembler *a) {
    if (a->function < 0) return true;
    const function *f = &a->program->functions[a->function];
    int last = a->size > f->start ? a->program->code[a->size - 1].opcode : OP_PUSH;
    bool leaves = last == OP_RET || last == OP_TAIL || last == OP_THROW || last == OP_JUMP;
    for (int i = 0; i < a->label_count; i++)
        leaves &= a->labels[i].address != a->size || a->labels[i].function != a->function;
    return leaves || fail(a, "no ret, tail, throw or jump ends", f->name);
}

static bool begin_function(assembler *a) {
    program *p = a->program;
    if (!ends_well(a)) return false;
    if (++a->function == FUNCTIONS_MAX) return fail(a, "too many functions:", "fn");
    function *f = &p->functions[a->function];
    f->line = a->line;
    f->start = a->size;
    f->parameters = 0;
    if (!next_word(a, true, f->name)) return false;
    for (;;) {
        name parameter;
        if (!next_word(a, true, parameter)) return false;
        if (!*parameter) return true;
        if (f->parameters == PARAMETERS_MAX) return fail(a, "too many parameters:", parameter);
        memcpy(a->parameters[f->parameters++], parameter, sizeof parameter);
    }
}

static bool add_label(assembler *a, name word) {
    if (a->second_pass) return true;
    if (a->label_count == LABELS_MAX) return fail(a, "too many labels:", word);
    label *l = &a->labels[a->label_count++];
    *l = (label){.function = a->function, .address = a->size};
    memcpy(l->name, word, strlen(word) - 1); // without the colon
    return true;
}

// -1 if there is none, as in the functions below.
static int find_number(const char *word) {
    char *end;
    long number = strtol(word, &end, 10);
    return *word && !*end && number >= 0 && number <= INT32_MAX ? (int)number : -1;
}

static int find_local(const assembler *a, const char *word) {
    for (int i = 0; i < a->program->functions[a->function].parameters; i++) {
        if (!strcmp(a->parameters[i], word)) return i;
    }
    return -1;
}

static int find_label(const assembler *a, const char *word) {
    for (int i = 0; i < a->label_count; i++) {
        const label *l = &a->labels[i];
        if (l->function == a->function && !strcmp(l->name, word)) return l->address;
    }
    return -1;
}

static int find_function(const assembler *a, const char *word) {
    for (int i = 0; i < a->program->function_count; i++) {
        if (!strcmp(a->program->functions[i].name, word)) return i;
    }
    return -1;
}

static int find_native(const char *word) {
    for (int i = 0; i < native_count; i++) {
        if (!strcmp(natives[i].name, word)) return i;
    }
    return -1;
}

// A channel exists from its first mention on.
static int find_channel(assembler *a, const char *word) {
    for (int i = 0; i < a->channel_count; i++) {
        if (!strcmp(a->channels[i], word)) return i;
    }
    if (a->channel_count == CHANNELS_MAX) return -1;
    strcpy(a->channels[a->channel_count], word); // a word is never longer than a name
    return a->channel_count++;
}

// clang-format off
static int find_operand(assembler *a, operand_kind kind, const char *word) {
    switch (kind) {
    case NOTHING:  break;
    case NUMBER:   return find_number(word);
    case LOCAL:    return find_local(a, word);
    case LABEL:    return find_label(a, word);
    case FUNCTION: return find_function(a, word);
    case NATIVE:   return find_native(word);
    case CHANNEL:  return find_channel(a, word);
    }
    return 0;
}
// clang-format on

static bool add_instruction(assembler *a, const char *word) {
    int op = 0;
    while (op < OPCODE_COUNT && strcmp(opcodes[op].name, word)) op++;
    if (op == OPCODE_COUNT) return fail(a, "no such instruction:", word);
    if (a->function < 0) return fail(a, "outside of a function:", word);
    if (a->size == CODE_MAX) return fail(a, "too much code:", word);
    instruction *made = &a->program->code[a->size++];
    *made = (instruction){.opcode = op};
    if (opcodes[op].operand == NOTHING) return true;
    name operand;
    if (!next_word(a, true, operand)) return false;
    made->operand = find_operand(a, opcodes[op].operand, operand);
    if (made->operand < 0 && a->second_pass) return fail(a, "what is", operand);
    return true;
}

static bool pass(assembler *a, const char *text, uint32_t first_line) {
    a->at = text;
    a->line = first_line;
    a->function = -1;
    a->size = 0;
    for (;;) {
        name word;
        if (!next_word(a, false, word)) return false;
        if (!*word) return ends_well(a);
        bool ok;
        if (!strcmp(word, "fn")) {
            ok = begin_function(a);
        } else if (word[strlen(word) - 1] == ':') {
            ok = add_label(a, word);
        } else {
            ok = add_instruction(a, word);
        }
        if (!ok) return false;
    }
}

bool assemble(program *program, const char *file, uint32_t first_line, const char *text) {
    assembler a = {.program = program};
    program->file = file;
    if (!pass(&a, text, first_line)) return false;
    program->function_count = a.function + 1;
    if (a.function < 0) return fail(&a, "no functions in", file);
    a.second_pass = true;
    return pass(&a, text, first_line);
}
