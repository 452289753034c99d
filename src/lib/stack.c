// SPDX-License-Identifier: MIT
//
// The cold half of ouro_stack: memory for tokens.

#include "ouro.h"

#include <stdlib.h>

// False if there is none; the frame is then counted, and the next push asks again once it
// was popped.
bool ouro_stack_grow_(ouro_stack *stack) {
    if (stack->unsaved_) return false;
    size_t capacity = stack->capacity_ ? stack->capacity_ * 2 : 64;
    ouro_position *tokens = realloc(stack->tokens_, capacity * sizeof *tokens);
    if (!tokens) return false;
    stack->tokens_ = tokens;
    stack->capacity_ = capacity;
    return true;
}

void ouro_stack_clear(ouro_stack *stack) {
    ouro_stack_unwind(stack, 0);
    free(stack->tokens_);
    ouro_stack_init(stack, stack->thread);
}
