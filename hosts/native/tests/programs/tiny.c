// SPDX-License-Identifier: MIT
// For test_tiny.py, linked with instruction.c and tiny_code.c. Reads code in hexadecimal, one piece
// per line: an instruction and what is behind it, or (argument "tiny") a function.
#include "instruction.h"
#include "tiny_code.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    static char line[1 << 16];
    static unsigned char code[1 << 14];
    while (fgets(line, sizeof line, stdin)) {
        size_t size = 0;
        unsigned byte;
        for (const char *at = line; sscanf(at, "%2x", &byte) == 1 && *at != '\n'; at += 2)
            code[size++] = (unsigned char)byte;
        if (argc > 1 && strcmp(argv[1], "tiny") == 0) {
            printf("%d\n", ouro_native_is_tiny(code, size));
        } else {
            instruction i = ouro_native_instruction(code, size);
            printf("%d %zu %d\n", (int)i.kind, i.size, (int)i.distance);
        }
    }
    return 0;
}
