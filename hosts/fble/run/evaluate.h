// SPDX-License-Identifier: MIT
//
// From a checked program to values: each module becomes bytecode and is evaluated, after the
// modules that it depends on.

#ifndef FBLE_EVALUATE_H
#define FBLE_EVALUATE_H

#include "emit/instructions.h"
#include "vm/machine.h"

struct fble_evaluation {
    struct fble_program *program;
    struct fble_machine *machine;
    bool all_blocks;           // profiles have blocks of lets and branches, too
    struct fble_list compiled; // const struct fble_compiled_module *, used in place of sources
};

// Evaluates all modules; the last is the main one. 0: an error, which is in the program's
// diagnostics (code that does not fit) or the machine's. The program must outlive the machine.
fble_ref fble_evaluate(struct fble_evaluation *evaluation);

#endif
