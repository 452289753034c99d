// SPDX-License-Identifier: MIT
//
// Programs of one module, run: for tests that have the source at hand. Every test starts from the
// same prelude: U@, u, Flag@, on, off, as in the language reference.

#ifndef FBLE_RUN_TEXT_H
#define FBLE_RUN_TEXT_H

#include "one_file.h"
#include "run/evaluate.h"

struct text_run {
    struct fble_program program;
    struct fble_arena source; // of the text, which lives as long as the program
    const char *text;
    struct fble_machine *machine;
    ouro_profile *profile; // NULL: none
    fble_ref value;        // of the module; 0: it failed
};

extern const char run_prelude[];

// What a run looks like.
struct run_how {
    fble_machine_options options;
    bool profile, all_blocks;
    void (*prepare)(struct fble_machine *machine); // before anything is evaluated
};

// Checks and evaluates the prelude, which is line 1, and the text. False: a compile error
// was shown.
bool run_text(struct text_run *run, const char *text, const struct run_how *how);
// Evaluates a program that was checked.
void run_program(struct text_run *run, const struct run_how *how);
// The same, with modules that were compiled: const struct fble_compiled_module *.
void run_program_with(struct text_run *run, const struct run_how *how,
                      const struct fble_list *compiled);
void run_end(struct text_run *run);

#endif
