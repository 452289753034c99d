// SPDX-License-Identifier: MIT
//
// Compilers copy and split functions, and name the clones after them: `f.isra.0`,
// `f.constprop.0.isra.0`, `f.part.0`, `f.cold`.

#ifndef OURO_CLONE_NAME_H
#define OURO_CLONE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static inline bool ouro__clone_is_cold(const char *name, size_t cut) {
    return strncmp(name + cut, ".cold", 5) == 0;
}

// Returns the length of the first `length` bytes of `name` without the last addition of a compiler,
// or 0 if there is none. A number must follow the word, except after `.cold`.
static inline size_t ouro__clone_cut(const char *name, size_t length) {
    static const char *const additions[] = {".isra",       ".constprop", ".part", ".cold",
                                            ".localalias", ".lto_priv",  ".llvm", ".__part"};
    size_t end = length;
    while (end && name[end - 1] >= '0' && name[end - 1] <= '9') end--;
    bool has_number = end < length && end && name[end - 1] == '.';
    end = has_number ? end - 1 : length;
    for (size_t i = 0; i < sizeof additions / sizeof *additions; i++) {
        size_t size = strlen(additions[i]);
        if (end <= size || memcmp(name + end - size, additions[i], size) != 0) continue;
        return has_number || ouro__clone_is_cold(name, end - size) ? end - size : 0;
    }
    return 0;
}

#endif
