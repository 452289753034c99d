// SPDX-License-Identifier: MIT
//
// Labels: the blocks of a program that a profiler charges. Each has a kind, a location and a path
// of steps through the definitions, function bodies and branches around it. Two schemes of names
// are read off that path:
//   function level   /M%.Outer.Inner      the let variables around it
//   finer (older)    /M%.Outer!.tag.Inner!  also ! for each function body, the tag of each select
//                                         branch, and : for a default
// Function-level profiles have a block per FBLE_LABEL_MODULE, _FUNCTION, _BIND and _FOREIGN; finer
// ones also per _LET and _BRANCH. Names are not unique; a label's identity is its index.

#ifndef FBLE_LABELS_H
#define FBLE_LABELS_H

#include "loader.h"

enum fble_label_kind {
    FBLE_LABEL_MODULE,   // the body of a module; line 1, column 0
    FBLE_LABEL_FUNCTION, // the body of a chain of function literals; loc: the innermost body
    FBLE_LABEL_BIND,     // the body of a bind, which is a function's; loc: the statement after it
    FBLE_LABEL_FOREIGN,  // a foreign declaration; loc: the name
    FBLE_LABEL_LET,      // the evaluation of a let variable's definition; loc: the definition
    FBLE_LABEL_BRANCH,   // the arm or default of a select, or the rest of a body after a guard
};

enum fble_step_kind { FBLE_STEP_VARIABLE, FBLE_STEP_FUNCTION, FBLE_STEP_TAG, FBLE_STEP_DEFAULT };

// One step inwards; the chain of steps ends at the module's body, which is NULL.
struct fble_step {
    const struct fble_step *outer;
    enum fble_step_kind kind;
    struct fble_name name; // of variables and tags
};

struct fble_label {
    enum fble_label_kind kind;
    uint32_t index; // in the module's list
    const struct fble_module *module;
    const struct fble_unit *unit; // the file
    const struct fble_step *step;
    struct fble_loc loc;
};

// Labels everything in the module's value. The tree must have been checked without errors.
void fble_label_module(struct fble_program *program, struct fble_module *module);

// The next literal of a chain of function literals: the body is one, perhaps in braces or poly
// brackets, without more. NULL: the body has code.
struct fble_expr *fble_chained(struct fble_expr *body);

const char *fble_label_name(struct fble_arena *arena, const struct fble_label *label);
const char *fble_label_fine_name(struct fble_arena *arena, const struct fble_label *label);

#endif
