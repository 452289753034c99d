// SPDX-License-Identifier: MIT
//
// Only for programs with shared libraries. dlclose: forgets the functions of an unloaded library,
// because another library may be loaded at the same addresses.

#include "interpose.h"

DECLARE(dlclose);
REAL_OF(dlclose)

extern const char ouro_native_part_longjmp, ouro_native_part_context, ouro_native_part_exception,
    ouro_native_part_signal;

// Named on the linker's command line (-u), so that a static library brings its interposers along
// even if another library has functions of the same names.
extern INTERPOSED const char *const ouro_native_interposed_[];
const char *const ouro_native_interposed_[] = {&ouro_native_part_longjmp, &ouro_native_part_context,
                                               &ouro_native_part_exception,
                                               &ouro_native_part_signal};

int dlclose(void *handle) {
    int result = real_dlclose()(handle);
    if (ouro_native_self.started) ouro_native_forget_unloaded();
    return result;
}

// Never unloaded: it knows of gates.
void *ouro_native_unwinder(const char *name) {
    void *library = dlopen("libgcc_s.so.1", RTLD_LAZY | RTLD_LOCAL);
    return library ? dlsym(library, name) : NULL;
}
