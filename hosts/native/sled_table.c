// SPDX-License-Identifier: MIT
//
// Linked by `ouro cc` into each program and each shared library: tells the recorder, if there is
// one, where the sleds are: those that the linker has listed, and in which module. Before other
// constructors, so that they are recorded.

#include <stdint.h>

#define BOUND __attribute__((weak, visibility("hidden")))
BOUND extern const uintptr_t __start___patchable_function_entries[];
BOUND extern const uintptr_t __stop___patchable_function_entries[];

__attribute__((weak, visibility("default"))) void ouro_native_sleds_(const uintptr_t *from,
                                                                     const uintptr_t *to);

// Named on the linker's command line (-u), and found by `ouro run`, also in a stripped program.
__attribute__((visibility("hidden"))) extern const char ouro_sled_table_[];
const char ouro_sled_table_[] = "ouro_sled_table";

__attribute__((constructor(101))) static void ouro_native_tell(void) {
    if (ouro_native_sleds_)
        ouro_native_sleds_(__start___patchable_function_entries,
                           __stop___patchable_function_entries);
    __asm__ volatile(""); // no tail call: the recorder asks where it was called from
}
