// SPDX-License-Identifier: MIT

#ifndef FBLE_GENERATE_H
#define FBLE_GENERATE_H

#include "syntax/arena.h"

#include <stdbool.h>

// Writes a program of `modules` modules with about `lines` lines in all below `folder`; its main
// module is /Main%. Gives the number of lines written, 0 if that failed.
unsigned long generate_program(const char *folder, unsigned modules, unsigned long lines);
void remove_program(const char *folder, unsigned modules);

// A literal of so many letters, as the text of one module.
void generate_literal(struct fble_text *text, unsigned long letters);

// A program that compares two types of size n for equality. Each kind stresses something else.
enum equality_kind {
    EQUAL_CHAIN,    // two chains of n structs
    EQUAL_DIAMONDS, // n structs with two fields of the same type: 2^n paths
    EQUAL_CYCLES,   // two cycles of n and n + 1 unions: n * (n + 1) pairs
    EQUAL_POLY,     // n nested instances of a recursive poly type
    EQUAL_KINDS
};
extern const char *const equality_names[EQUAL_KINDS];
void generate_equality(struct fble_text *text, enum equality_kind kind, unsigned n);

#endif
