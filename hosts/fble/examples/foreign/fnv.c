// SPDX-License-Identifier: MIT
//
// A function in C for Fble programs: the FNV-1a hash of a text. The shared object registers it for
// the module that declares it, Fnv.fble:
//
//     fble run -p std --foreign libfnv.so hosts/fble/examples/foreign/Fnv.fble -- text

#include <fble.h>

#include <stdlib.h>

// String@ -> Int@. Strings are taken as UTF-8; the hash has 32 bits, so it is never too large.
static fble_ref fnv(fble_machine *machine, const fble_ref *arguments) {
    size_t length;
    char *text = fble_get_string(machine, arguments[0], &length);
    if (!text) return 0; // it failed, and that is said
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    free(text);
    return fble_make_int(machine, hash);
}

FBLE_API void fble_register_foreign(fble_machine *machine) {
    fble_register(machine,
                  &(fble_foreign){.module = "/Fnv%", .name = "Fnv", .arity = 1, .function = fnv});
}
