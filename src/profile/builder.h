// SPDX-License-Identifier: MIT
//
// Builds the tree of a profile from stacks, compacted by one of the four rules on the way in.

#ifndef OURO_BUILDER_H
#define OURO_BUILDER_H

#include "profile.h"

typedef struct builder builder;

// For a profile that has only its root. `rule` is a RULE_*, `edge_length` 1, 2 or 3 (0 = 2). The
// profile stays the caller's and must outlive the builder. NULL: out of memory.
builder *ouro__builder_new(profile *p, int rule, int edge_length);
void ouro__builder_free(builder *b);
// Every node but the root is in its parent's list once, the newest first; a back edge leads to a
// node with the block that is entered, no deeper than where it starts.
bool ouro__builder_is_valid(const builder *b);

// The node that is reached by entering `block` at the node `at`. When memory runs out,
// profile.failed is set.
uint32_t ouro__builder_enter(builder *b, uint32_t at, uint32_t block);

// The node of a whole stack, root first. The part that it shares with the last stack is not
// walked again.
uint32_t ouro__builder_stack(builder *b, const uint32_t *blocks, size_t length);

#endif
