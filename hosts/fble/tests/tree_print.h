// SPDX-License-Identifier: MIT

#ifndef FBLE_TREE_PRINT_H
#define FBLE_TREE_PRINT_H

#include "syntax/tree.h"

// Writes a syntax tree back as source, which parses to an equal tree: sugar and implicit slots are
// kept as they were written, comments and blanks are not.
void fble_print_body(struct fble_text *text, const struct fble_body *body);

// Do two trees differ in their locations only?
bool fble_same_body(const struct fble_body *a, const struct fble_body *b);

#endif
