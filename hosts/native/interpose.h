// SPDX-License-Identifier: MIT
//
// Interposed functions of the C library. In a program with shared libraries ours has the real name
// and finds the real function with dlsym. In a static program the linker (--wrap) redirects calls
// to ours, __wrap_NAME, and offers the real function as __real_NAME. Each file that includes this
// is compiled for both.

#ifndef OURO_NATIVE_INTERPOSE_H
#define OURO_NATIVE_INTERPOSE_H

#include "native.h"

#define INTERPOSED __attribute__((visibility("default")))

// A symbol per file, by which the linker takes the file out of the static library.
#define PART(name)                                                                   \
    __attribute__((visibility("hidden"))) extern const char ouro_native_part_##name; \
    const char ouro_native_part_##name = 1;

#ifdef OURO_NATIVE_WRAP
#define OURS(name) __wrap_##name
#define REAL_OF(name)                      \
    extern __typeof__(name) __real_##name; \
    static __typeof__(name) *real_##name(void) { return __real_##name; }
#define DECLARE(name) INTERPOSED __typeof__(name) __wrap_##name
#else
#include <dlfcn.h>
#define OURS(name) name
#define REAL_OF(name)                                                         \
    static __typeof__(name) *found_##name;                                    \
    static __typeof__(name) *real_##name(void) {                              \
        if (!found_##name) *(void **)&found_##name = dlsym(RTLD_NEXT, #name); \
        return found_##name;                                                  \
    }
#define DECLARE(name) INTERPOSED extern __typeof__(name) name
#endif

#endif
