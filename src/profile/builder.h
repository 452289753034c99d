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
// node with the block that is entered, no deeper than where it starts; each block of the stack
// stands on it.
bool ouro__builder_is_valid(const builder *b);

// The node that is reached by entering `block` at the node `at`, for what is compacted already: no
// recursion is counted. When memory runs out, profile.failed is set.
uint32_t ouro__builder_enter(builder *b, uint32_t at, uint32_t block);

// The stack that is being read, before it is compacted. A block that is pushed while it is on the
// stack recurses: profile.recursed counts it. Of two stacks in a row, readers leave the part that
// they share where it is, so it counts once.
//
// Enters a block; returns the node that is reached. When memory runs out, profile.failed is set.
uint32_t ouro__builder_push(builder *b, uint32_t block);
// Leaves all but so many blocks.
void ouro__builder_pop_to(builder *b, size_t depth);
size_t ouro__builder_depth(const builder *b);
// Where the stack stands: 0 if it is empty.
uint32_t ouro__builder_node(const builder *b);
// No recursion is counted from here on, because metrics of the file tell it.
void ouro__builder_count_none(builder *b);

// The node of a whole stack, root first. The part that it shares with the last stack is not
// walked again.
uint32_t ouro__builder_stack(builder *b, const uint32_t *blocks, size_t length);

#endif
