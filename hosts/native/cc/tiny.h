// SPDX-License-Identifier: MIT
//
// Which functions of a source file are so small that a hook would cost more than they do.

#ifndef OURO_NATIVE_TINY_H
#define OURO_NATIVE_TINY_H

#include <stdbool.h>

// The tiny functions of some source files, with commas, as gcc takes them
// (-finstrument-functions-exclude-function-list); freed by the caller. NULL: there are none, or
// nobody knows. `words` is the compiler and all its arguments, ended by NULL. Each source among
// them is compiled without hooks, into a folder that is removed again.
char *tiny_functions(char *const *words, bool cxx);

#endif
