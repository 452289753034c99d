// SPDX-License-Identifier: MIT
// For test_tiny.py, linked with instruction.c and tiny_code.c. Reads code in hexadecimal, one piece
// per line: an instruction and what is behind it, or (argument "tiny") a function: its
// address and its code.
#include "instruction.h"
#include "tiny_code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FUNCTIONS_MOST = 1 << 14, CODE_MOST = 1 << 10 };
static unsigned char codes[FUNCTIONS_MOST][CODE_MOST];
static tiny_code functions[FUNCTIONS_MOST];
static size_t count;

static size_t read_code(const char *text, unsigned char *code) {
    size_t size = 0;
    unsigned byte;
    for (; size < CODE_MOST && sscanf(text, "%2x", &byte) == 1 && *text != '\n'; text += 2)
        code[size++] = (unsigned char)byte;
    return size;
}

static bool find(const void *user, uint64_t address, tiny_code *found) {
    (void)user;
    for (size_t i = 0; i < count; i++)
        if (functions[i].address == address) return *found = functions[i], true;
    return false;
}

static void read_function(const char *line) {
    char *code;
    unsigned long long address = strtoull(line, &code, 16);
    if (count == FUNCTIONS_MOST) abort();
    functions[count] = (tiny_code){address, codes[count], read_code(code + 1, codes[count])};
    count++;
}

static void tell_instruction(const char *line) {
    unsigned char code[CODE_MOST];
    instruction i = ouro_native_instruction(code, read_code(line, code));
    printf("%d %zu %d\n", (int)i.kind, i.size, (int)i.distance);
}

int main(int argc, char **argv) {
    static char line[4 * CODE_MOST];
    bool whole = argc > 1 && strcmp(argv[1], "tiny") == 0;
    while (fgets(line, sizeof line, stdin)) whole ? read_function(line) : tell_instruction(line);
    for (size_t i = 0; i < count; i++)
        printf("%d\n", ouro_native_is_tiny(&functions[i], find, NULL));
    return 0;
}
