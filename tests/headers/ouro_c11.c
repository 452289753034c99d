// SPDX-License-Identifier: MIT
// The header alone, as strict C11 with all warnings as errors.
#include <ouro.h>

int main(void) {
    ouro_stack stack;
    ouro_stack_init(&stack, NULL);
    ouro_exit(NULL, ouro_enter(NULL, OURO_PHANTOM));
    return (int)ouro_stack_depth(&stack);
}
