// SPDX-License-Identifier: MIT
//
// Which functions are so small that recording a call costs more than the call: those that make no
// call, have no loop and at most TINY_CODE_BYTES of code. Told by the machine code. What cannot be
// decoded is not tiny.

#ifndef OURO_NATIVE_TINY_CODE_H
#define OURO_NATIVE_TINY_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { TINY_CODE_BYTES = 160, SLED_BYTES = 5 };

// The code of a function from behind its sled to where the next one begins.
bool ouro_native_is_tiny(const unsigned char *code, size_t size);

// endbr64: a function that may be jumped to begins with it, and its sled is behind that.
enum { LANDING_BYTES = 4 };
static inline bool is_landing(const unsigned char *code) {
    return memcmp(code, "\xf3\x0f\x1e\xfa", LANDING_BYTES) == 0;
}

// Five nops, as compilers write them.
bool ouro_native_is_sled(const unsigned char *code);

#endif
