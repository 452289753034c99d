// SPDX-License-Identifier: MIT
//
// Which functions are so small that recording a call costs more than the call. They have no loop
// and at most TINY_CODE_BYTES of code, and make no call but of functions of this kind that make
// none. What they run, callees included, is at most TINY_CODE_STEPS instructions: enter and leave
// take as many. Told by the machine code. What cannot be decoded is not tiny.

#ifndef OURO_NATIVE_TINY_CODE_H
#define OURO_NATIVE_TINY_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { TINY_CODE_BYTES = 160, TINY_CODE_STEPS = 62, SLED_BYTES = 5 };

// The code of a function from behind its sled to where the next one begins, and its address.
typedef struct {
    uint64_t address;
    const unsigned char *code;
    size_t size;
} tiny_code;

// Finds the function that is called at an address, which may be before its sled. False: there is
// none that is known.
typedef bool tiny_find(const void *user, uint64_t address, tiny_code *found);

bool ouro_native_is_tiny(const tiny_code *function, tiny_find *find, const void *user);

// endbr64: a function that may be jumped to begins with it, and its sled is behind that.
enum { LANDING_BYTES = 4 };
static inline bool is_landing(const unsigned char *code) {
    return memcmp(code, "\xf3\x0f\x1e\xfa", LANDING_BYTES) == 0;
}

// Five nops, as compilers write them.
bool ouro_native_is_sled(const unsigned char *code);

#endif
